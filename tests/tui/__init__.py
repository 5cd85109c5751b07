"""Tests of the terminal program: pure drawing, the app over fake readers, and pictures of its screens."""
