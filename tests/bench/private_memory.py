"""The most private memory of a process and its children while it runs: what no other holds and no file gives back."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_PRIVATE = re.compile(r"^Private_Dirty:\s+(\d+) kB", re.M)
"""Pages of a mapped file count as private too when nobody else maps it, but as clean: the kernel takes them at will."""
_EVERY_SECONDS = 0.01


def most_private_bytes(command: Sequence[str]) -> int:
    """Run a command to its end and give the most that it and its children held together. Only Linux tells it."""
    most = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            most = max(most, sum(_private_bytes(pid) for pid in _family(process.pid)))
            time.sleep(_EVERY_SECONDS)
    if process.returncode:
        raise RuntimeError(f"{command[:3]} ended with {process.returncode}")
    return most


def _private_bytes(pid: int) -> int:
    with suppress(OSError):
        return 1024 * sum(map(int, _PRIVATE.findall(Path(f"/proc/{pid}/smaps_rollup").read_text("ascii"))))
    return 0


def _family(pid: int) -> list[int]:
    with suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        return [pid, *(each for child in children for each in _family(int(child)))]
    return [pid]
