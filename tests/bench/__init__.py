"""Benchmarks: a script for each promised ratio. Not part of the tests; run as ``python -m tests.bench.NAME``."""
