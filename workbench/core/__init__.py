"""What the seeds define, and nothing that touches a file, a database, a screen, a clock or a network."""
