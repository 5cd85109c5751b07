"""Folders of our own under the user's cache folder, named by process, so that what a killed one left is found."""

from __future__ import annotations

import atexit
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
_swept = False


def new_folder_name(kind: str) -> Path:
    """Return a path of our own below the cache folder, not made yet; its parent is there if it could be made.

    What dead processes left behind is removed when a process asks for the first time.
    """
    global _swept
    root = _root()
    with _lock:
        if not _swept:
            _swept = True
            _sweep(root / SPILL)
            _sweep(root / COPIES)
            atexit.register(_remove_own, root)
        parent = root / kind
        try:
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            # DuckDB asks for its folder only when it spills; whoever needs the folder at once is told by mkdir.
            pass
        return parent / f"{os.getpid()}-{next(_numbers)}"


def remove(folder: Path) -> None:
    """Remove a folder of ours and all it holds; harmless when it was never made."""
    shutil.rmtree(folder, ignore_errors=True)


def _root() -> Path:
    # By machine: process numbers mean nothing on another one that shares the cache folder.
    machine = (
        "".join(c if c.isalnum() or c in "-." else "_" for c in os.uname().nodename) if hasattr(os, "uname") else ""
    )
    return platformdirs.user_cache_path("workbench", appauthor=False) / (machine.strip(".") or "local")


def _sweep(parent: Path) -> None:
    try:
        names = os.listdir(parent)
    except OSError:
        return
    for name in names:
        pid = name.partition("-")[0]
        # Nothing of ours exists yet, so a folder with our own number is of an earlier process that had it.
        if pid.isdigit() and (int(pid) == os.getpid() or not _alive(int(pid))):
            remove(parent / name)


def _remove_own(root: Path) -> None:
    for kind in (SPILL, COPIES):
        for folder in (root / kind).glob(f"{os.getpid()}-*"):
            remove(folder)


def _alive(pid: int) -> bool:
    if sys.platform == "win32":  # signal 0 would end the process there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
