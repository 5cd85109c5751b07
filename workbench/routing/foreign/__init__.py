"""Routing logs that other programs wrote, read as records of this one."""
