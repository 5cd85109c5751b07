"""One file a command; output.py alone writes to stdout."""
