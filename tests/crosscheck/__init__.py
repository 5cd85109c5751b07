"""Tests of the joins between recordings and indexes."""
