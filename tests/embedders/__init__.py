"""Tests of what is known about embedders."""
