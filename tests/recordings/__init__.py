"""Tests of recordings: bytes, readers, summaries."""
