"""One screen a file, its stylesheet beside it."""
