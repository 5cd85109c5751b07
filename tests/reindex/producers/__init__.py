"""Programs that run with the producers' own packages, and without this one."""
