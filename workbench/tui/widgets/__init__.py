"""Widgets: they get plain data and emit messages, and never query."""
