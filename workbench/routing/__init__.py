"""The routing log of a two-leg embedding provider: its format, foreign logs, replay, and the contamination ledger."""
