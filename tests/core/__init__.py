"""Tests of the rules that the seeds define."""
