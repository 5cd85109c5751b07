"""Every verdict, one concern a file: what ``check`` prints and the screens show."""
