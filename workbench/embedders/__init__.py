"""What is known about embedders."""
