"""Tests of the index room."""
