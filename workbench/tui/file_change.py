"""What happened to a file since it was read: grown, cut, written anew, replaced or gone, and in which words."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum

_LOOK_BYTES = 4 << 20
_HEAD_BYTES = 64 << 10
_IN_LINES = re.compile(rb"}\r?\n(?:\{|$)")
"""One value a line, or the first of them; a document that is indented never has a brace at the beginning of a line."""


class Change(StrEnum):
    """How a file differs from what was read of it."""

    NONE = "none"
    GROWN = "grown"
    SHORTER = "shorter"
    REWRITTEN = "rewritten"
    REPLACED = "replaced"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Which file it is, how many bytes it has, and when it was written last."""

    device: int
    inode: int
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class FileNews:
    """A change, and of lines that were added how many are whole; ``half`` when the last one is still being written.

    ``lines`` is None where the file does not consist of lines, or too many bytes were added to count.
    """

    change: Change
    before: int
    after: int
    lines: int | None = None
    half: bool = False


def stamp_of(path: str) -> FileStamp | None:
    """Look at a file without opening it; None when there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return FileStamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def news_of(path: str, before: FileStamp, now: FileStamp | None) -> FileNews:
    """Say what happened to a file between two looks. Reads at most a few MiB of what was added; never raises."""
    if now is None:
        return FileNews(Change.GONE, before.size, 0)
    if (now.device, now.inode) != (before.device, before.inode):
        return FileNews(Change.REPLACED, before.size, now.size)
    if now.size < before.size:
        return FileNews(Change.SHORTER, before.size, now.size)
    if now.size == before.size:
        changed = now.modified_ns != before.modified_ns
        return FileNews(Change.REWRITTEN if changed else Change.NONE, before.size, now.size)
    lines, half = _added_lines(path, before.size, now.size)
    return FileNews(Change.GROWN, before.size, now.size, lines, half)


def _added_lines(path: str, before: int, after: int) -> tuple[int | None, bool]:
    """Count the lines that became whole between two places, and say whether another one has begun."""
    try:
        with open(path, "rb") as file:
            head = file.read(min(_HEAD_BYTES, after))
            file.seek(before if after - before <= _LOOK_BYTES else after - 1)
            added = file.read(after - file.tell())
    except OSError:
        return None, True
    half = added[-1:] != b"\n"
    counts = _IN_LINES.search(head) is not None and len(added) == after - before
    return (added.count(b"\n") if counts else None), half


def news_text(news: FileNews) -> str:
    """Say it in a few words, without the name of the file."""
    from workbench.checkup.wording import counted, size_text

    if news.change is Change.GROWN:
        if news.lines:
            return counted(news.lines, "new line")
        return f"{size_text(news.after - news.before)} more"
    return {
        Change.SHORTER: f"the file got shorter: {size_text(news.after)}, it had {size_text(news.before)}",
        Change.REWRITTEN: "the file was written anew",
        Change.REPLACED: "the file was replaced",
        Change.GONE: "the file is gone; what is shown was read before",
        Change.NONE: "",
    }[news.change]
