"""Folders of our own under the user's cache folder, named by process, so that what a killed one left is found."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import shutil
import sys
import threading
from pathlib import Path

import platformdirs

SPILL = "spill"
COPIES = "copies"

_numbers = itertools.count(1)
_lock = threading.Lock()
_own: set[Path] = set()
_swept = False


def reserve(kind: str) -> Path:
    """Return the path of a folder of our own that is not made yet, below a parent that is there if it can be made.

    What dead processes left behind is removed when a process asks for the first time.
    """
    global _swept
    root = _root()
    with _lock:
        if not _swept:
            _swept = True
            _sweep(root / SPILL)
            _sweep(root / COPIES)
        folder = root / kind / f"{os.getpid()}-{next(_numbers)}"
        _own.add(folder)
    with contextlib.suppress(OSError):  # DuckDB makes its folder only when it spills, and then says what is wrong
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def make(kind: str) -> Path:
    """Make a folder that only this user may enter; raises OSError when the cache folder cannot be written."""
    folder = reserve(kind)
    folder.mkdir(mode=0o700)
    return folder


def remove(folder: Path) -> None:
    """Remove a folder of ours and all it holds; harmless when it was never made."""
    shutil.rmtree(folder, ignore_errors=True)
    with _lock:
        _own.discard(folder)


def cache_folder() -> Path:
    """Return the user's cache folder for this program, made or not."""
    return platformdirs.user_cache_path("workbench", appauthor=False)


def _root() -> Path:
    # By machine: process numbers mean nothing on another one that shares the cache folder.
    node = os.uname().nodename if hasattr(os, "uname") else ""
    machine = "".join(c if c.isalnum() or c in "-." else "_" for c in node).strip(".")
    return cache_folder() / (machine or "local")


def _sweep(parent: Path) -> None:
    try:
        names = os.listdir(parent)
    except OSError:
        return
    for name in names:
        pid = name.partition("-")[0]
        # Nothing of ours exists yet, so a folder with our own number is of an earlier process that had it.
        if pid.isdecimal() and (int(pid) == os.getpid() or not alive(int(pid))):
            shutil.rmtree(parent / name, ignore_errors=True)


def alive(pid: int) -> bool:
    """Whether a process runs; where that cannot be asked, it does."""
    if sys.platform == "win32":  # signal 0 would end the process there
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


@atexit.register
def _remove_own() -> None:
    for folder in list(_own):
        remove(folder)
