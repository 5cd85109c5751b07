"""Tests of routing: the log, foreign logs, replay, what-if, ledger."""
