"""Tests of re-index: plans, builds, crashes, swaps, cures of foreign files."""
