"""Building a namespace again with one embedder: planned, priced, resumable, verified, swapped at once, reversible."""
