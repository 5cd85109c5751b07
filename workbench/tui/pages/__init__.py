"""What the detail shows, drawn from plain data: one kind of page a file, no widget and no reading in any."""
