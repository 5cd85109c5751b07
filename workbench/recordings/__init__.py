"""Recordings of runs: any of them opened as one model, its vectors as their shape, its slim copy."""
