"""What tells one state of a file from the next, without opening it."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stamp:
    """Device, inode, size and time of a file, and size and time of each log beside it, None without one."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    logs: tuple[tuple[int, int] | None, ...]

    @classmethod
    def of(cls, real: str, *logs: str) -> Stamp | None:
        """Stat a file and its logs, in their order; None when the file is gone."""
        try:
            found = os.stat(real)
        except (OSError, ValueError):
            return None
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, tuple(_log(log) for log in logs))

    @property
    def newest_ns(self) -> int:
        """When the file or one of its logs was last written, in nanoseconds since the epoch."""
        return max([self.mtime_ns, *(log[1] for log in self.logs if log is not None)])


def _log(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    # An empty log says nothing; one comes and goes whenever another program merely opens a SQLite file.
    return (found.st_size, found.st_mtime_ns) if found.st_size else None
