"""What tells one producer's layout from another's: one adapter a file."""
