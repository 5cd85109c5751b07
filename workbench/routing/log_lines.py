"""The lines of a log file in bounded memory, whatever wrote it: block by block, in UTF-8, with their numbers."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

BLOCK_BYTES = 1 << 18
LONGEST_LINE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines that follow one another.

    Attributes:
        first: the number of its first line, from 1.
        data: the lines in UTF-8 with their ends; only the last line of a file may be without one.
        too_long: it stands for one line that is longer than is held, and ``data`` is empty.
        count: how many lines it holds.
    """

    first: int
    data: bytes
    too_long: bool = False
    count: int = field(init=False)

    def __post_init__(self) -> None:
        # Counted once: the lines of a block are, where its bytes are not looked at otherwise, what costs most.
        lines = 1 if self.too_long else self.data.count(b"\n") + (not self.data.endswith(b"\n"))
        object.__setattr__(self, "count", lines)


def line_blocks(
    file: BinaryIO, *, block_bytes: int = BLOCK_BYTES, longest_bytes: int = LONGEST_LINE_BYTES
) -> Iterator[LineBlock]:
    """Give the lines of a file that stands at its beginning.

    Holds at most one line of ``longest_bytes`` and one block; a longer line is passed over and said.
    """
    number, held, dropping = 1, b"", False
    for block in _in_utf8(file, block_bytes):
        if dropping:
            _, end, block = block.partition(b"\n")
            if not end:
                continue
            yield LineBlock(number, b"", too_long=True)
            number, dropping = number + 1, False
        cut = block.rfind(b"\n") + 1
        if cut:
            whole = LineBlock(number, held + block[:cut])
            yield whole
            number, held = number + whole.count, block[cut:]
        else:
            held += block
        if len(held) > longest_bytes:
            held, dropping = b"", True
    if dropping:
        yield LineBlock(number, b"", too_long=True)
    elif held:
        yield LineBlock(number, held)


def _in_utf8(file: BinaryIO, block_bytes: int) -> Iterator[bytes]:
    """Give the file's blocks without a byte order mark, and UTF-16 (what a Windows shell redirects) turned to UTF-8."""
    block = file.read(block_bytes)
    encoding = _utf16(block[:2])
    decoder = None if encoding is None else codecs.getincrementaldecoder(encoding)(errors="replace")
    at_start = True
    while block:
        if decoder is not None:
            text = decoder.decode(block)
            block = (text.removeprefix("\ufeff") if at_start else text).encode("utf-8", "replace")
        elif at_start:
            block = block.removeprefix(codecs.BOM_UTF8)
        at_start = False
        yield block
        block = file.read(block_bytes)


def _utf16(start: bytes) -> str | None:
    """Name the byte order of UTF-16, marked or told by the zero beside an ASCII character."""
    if len(start) == 2 and (start == codecs.BOM_UTF16_LE or (start[1] == 0 and start[0] != 0)):
        return "utf-16-le"
    if len(start) == 2 and (start == codecs.BOM_UTF16_BE or (start[0] == 0 and start[1] != 0)):
        return "utf-16-be"
    return None
