"""What a swap or a beginning leaves beside an index when its process is killed: recognised by name, and removed."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from contextlib import suppress

from workbench.index import leases
from workbench.index.model import SourceError
from workbench.reindex import sibling

AFTER = ".after-"
"""How a new file is named until it takes the old one's place: ``<name>.after-<token of the sibling>``."""

BEFORE = ".before-"
"""How the old file is named where the swap was a rename: ``<name>.before-<token of the sibling>``."""

_TOKEN = "[0-9a-f]" * 8


def after_path(index: str, path: str) -> str:
    """Name the new file that the swap of a sibling makes."""
    return f"{os.path.realpath(index)}{AFTER}{sibling.token_of(path)}"


def before_path(index: str, path: str) -> str:
    """Name what the swap of a sibling keeps the old file as."""
    return f"{os.path.realpath(index)}{BEFORE}{sibling.token_of(path)}"


def files_before(index: str) -> tuple[str, ...]:
    """Find the old files that swaps by rename have kept beside an index."""
    real = os.path.realpath(index)
    found = glob.glob(glob.escape(real) + BEFORE + _TOKEN)
    return tuple(sorted(each for each in found if not _same(each, real)))


def left_behind(index: str) -> tuple[str, ...]:
    """Find what swaps that were killed have left beside an index: new files, and second names of the index itself."""
    real = os.path.realpath(index)
    half = glob.glob(glob.escape(real) + AFTER + _TOKEN)
    names = [each for each in glob.glob(glob.escape(real) + BEFORE + _TOKEN) if _same(each, real)]
    return tuple(sorted([*half, *names]))


def tidy(index: str, path: str) -> tuple[str, ...]:
    """Remove what a killed swap of this sibling has left; says what. The caller holds the sibling for writing."""
    own = {after_path(index, path), before_path(index, path)}
    return _removed(each for each in left_behind(index) if each in own)


def tidy_orphans(index: str) -> tuple[str, ...]:
    """Remove what was left by swaps whose sibling is gone; says what."""
    known = {sibling.token_of(path) for path in sibling.siblings_of(index)}
    return _removed(each for each in left_behind(index) if each[-8:] not in known)


def remove_half_made(index: str) -> None:
    """Remove siblings that hold nothing at all: what made them was ended before it wrote a row."""
    for path in sibling.siblings_of(index):
        with suppress(SourceError):
            if sibling.is_half_made(path):
                sibling.remove(path)


def remove_file(path: str) -> None:
    """Remove a database file and its log."""
    for each in (leases.log_path(path, leases.WAL), path):
        if os.path.lexists(each):
            with suppress(FileNotFoundError):
                os.unlink(each)


def _removed(paths: Iterable[str]) -> tuple[str, ...]:
    gone = []
    for each in paths:
        remove_file(each)
        gone.append(each)
    return tuple(gone)


def _same(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:
        return False
