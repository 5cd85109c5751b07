"""Tests of building a namespace again."""
