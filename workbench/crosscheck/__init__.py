"""Joins between what was recorded and what is indexed: one place for the commands and the screens."""
