"""Which other program holds an index file at this moment, asked of the system without taking any lock."""

from __future__ import annotations

import os
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from workbench.index import leases, sniffing
from workbench.index.model import LockHolder

_FLOCK = "hhqqi4x"
"""Type, whence, start, length and process, as Linux lays them out on 64 bits."""


@dataclass(frozen=True, slots=True)
class Held:
    """Another program that has the file open; ``writes`` when it may write it."""

    holder: LockHolder
    writes: bool


def held_by_another(path: str | os.PathLike[str]) -> Held | None:
    """Name one program that holds the file; None when nobody does, or the system does not say.

    Raises SourceError when there is no such file, or this process reads it just now.
    """
    if not sys.platform.startswith("linux"):
        return None
    import fcntl

    located = sniffing.locate(path)
    # Closing any descriptor of a file drops the locks of this process on it, so its own lease is given back first.
    with leases.borrowed(located.key) as lease, lease.lent(located):
        descriptor = os.open(located.real, os.O_RDONLY)
        try:
            asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, _, _, process = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
        except OSError:
            return None
        finally:
            os.close(descriptor)
    if kind == fcntl.F_UNLCK or process == os.getpid():
        return None
    return Held(LockHolder(_program(process), process), kind == fcntl.F_WRLCK)


def _program(process: int) -> str:
    """Give the command line of a process, as far as this user may see it."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "another program"
    said = " ".join([os.path.basename(os.fsdecode(words[0])), *map(os.fsdecode, words[1:])]).strip()
    return said[:200] or "another program"
