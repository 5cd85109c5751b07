"""What tells one state of a file from the next, without opening it."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stamp:
    """Device, inode, size and time of a file, and size and time of each log that may lie beside it."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    logs: tuple[tuple[int, int] | None, ...]

    @classmethod
    def of(cls, real: str, log_suffixes: tuple[str, ...]) -> Stamp | None:
        """Stat a file and the logs beside it, in the order of the suffixes; None when the file is gone."""
        try:
            found = os.stat(real)
        except (OSError, ValueError):
            return None
        logs = tuple(_log(real + suffix) for suffix in log_suffixes)
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, logs)


def _log(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
