"""The JSON objects of a log in bounded memory, each with its line: JSON Lines, an array, or documents in a row."""

from __future__ import annotations

import io
import itertools
import json
import math
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import msgspec

from workbench.routing.log_lines import LineBlock, line_blocks
from workbench.routing.model import LogProblem

LONGEST_VALUE_BYTES = 64 << 20
"""Longer than a line of our own log: a payload carries all vectors of its batch."""

_LONGEST_LENIENT_BYTES = 16 << 20
_BLOCK_BYTES = 1 << 20
_LINES_LOOKED_AT = 50
# Atomic groups and possessive repeats: a string is either whole or none, and no byte is looked at twice.
_TOKEN = re.compile(rb'"(?>[^"\\]++|\\.)*+"|[{}\[\]]', re.DOTALL)
_NOT_BLANK = re.compile(rb"\S")
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_EMPTY_OBJECT = len("{}\r")
_OPENING = b"{["
_QUOTE = ord('"')


class FoundValue(NamedTuple):
    """One object or array as it stands in the file, on the line where it begins."""

    line: int
    data: bytes


def json_values(file: BinaryIO, *, longest_bytes: int = LONGEST_VALUE_BYTES) -> Iterator[FoundValue | LogProblem]:
    """Give the values of a file that stands at its beginning; those of an outermost array one by one.

    Nothing is parsed here. A value that is cut off or longer than ``longest_bytes`` is a problem, and what follows it
    is read where that can be told from it, which is at the next line in JSON Lines.
    """
    blocks = line_blocks(file, block_bytes=_BLOCK_BYTES, longest_bytes=longest_bytes)
    first = next(blocks, None)
    if first is None:
        return
    rest = itertools.chain((first,), blocks)
    if _is_json_lines(first.data):
        yield from _lines(rest)
    else:
        yield from _documents(rest, longest_bytes)


def in_utf8(head: bytes) -> bytes:
    """Give the beginning of a file as it is read, whatever a shell that redirected it made of it."""
    return b"".join(block.data for block in line_blocks(io.BytesIO(head)))


def strict_json(data: bytes) -> bytes | None:
    """Spell a value again that only a lenient parser reads; None when it is no JSON, or too long to be built whole.

    NaN and infinities become null, halves of characters (a text cut within an emoji) and bytes that are no UTF-8 become
    question marks.
    """
    if len(data) > _LONGEST_LENIENT_BYTES:
        return None
    try:
        value = json.loads(data.decode("utf-8", "replace"), parse_constant=lambda _: None, parse_float=_finite)
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _is_json_lines(data: bytes) -> bool:
    """Say whether the beginning of a file has a line that is an object by itself, also where others are damaged."""
    first = _NOT_BLANK.search(data)
    if first is None or first[0] == b"[":
        return False
    for line in data.split(b"\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT]:
        # What is indented stands within another object.
        if line[:1] == b"{" and len(line) > _EMPTY_OBJECT and (_parses(line) or strict_json(line) is not None):
            return True
    return first[0] != b"{"


def _parses(line: bytes) -> bool:
    """Say whether a line is an object, of which nothing is built."""
    try:
        _OBJECT.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return True


def _lines(blocks: Iterator[LineBlock]) -> Iterator[FoundValue | LogProblem]:
    for block in blocks:
        if block.too_long:
            yield _too_long(block.first)
            continue
        for number, line in enumerate(block.data.split(b"\n"), block.first):
            stripped = line.strip()
            if stripped:
                yield FoundValue(number, stripped)


def _documents(blocks: Iterator[LineBlock], longest_bytes: int) -> Iterator[FoundValue | LogProblem]:
    """Split where brackets close, whatever the lines are."""
    splitter = _Splitter()
    for block in blocks:
        if block.too_long:
            yield _too_long(block.first)
            return
        yield from splitter.values(block.data, block.first)
        if splitter.held > longest_bytes:
            yield _too_long(splitter.line)
            return
    if splitter.depth:
        yield LogProblem(splitter.line, f"the document that begins on line {splitter.line:,} is not finished")


def _too_long(line: int) -> LogProblem:
    return LogProblem(
        line,
        f"line {line:,} holds more than is read at once ({LONGEST_VALUE_BYTES >> 20} MiB) and was passed over; "
        "write the log as JSON Lines",
    )


class _Splitter:
    """Where the values of a text begin and end, over blocks of it; an outermost array is looked through.

    Attributes:
        line: where the value begins that is being read.
        depth: how many brackets are open in it; 0 between values.
    """

    def __init__(self) -> None:
        self.line = 1
        self.depth = 0
        self._text = bytearray()
        self._scanned = 0

    @property
    def held(self) -> int:
        """How many bytes of an unfinished value are held."""
        return len(self._text)

    def values(self, data: bytes, line: int) -> Iterator[FoundValue]:
        """Take one more block in, which begins on a line, and give the values that it completes."""
        if not self.depth:
            self._text.clear()
            self._scanned, self.line = 0, line
        text = self._text
        text += data
        begin, at, counted = 0, self._scanned, 0
        while (token := _TOKEN.search(text, at)) is not None:
            at = token.end()
            byte = text[token.start()]
            if byte in _OPENING:
                if not self.depth:
                    if byte == _OPENING[1]:
                        continue
                    self.line += text.count(b"\n", counted, token.start())
                    begin = counted = token.start()
                self.depth += 1
            elif byte != _QUOTE and self.depth:
                self.depth -= 1
                if not self.depth:
                    yield FoundValue(self.line, bytes(text[begin:at]))
        # A string may be cut by the end of the block; it is looked at again with what follows.
        quote = text.find(b'"', at)
        self._scanned = (len(text) if quote < 0 else quote) - begin
        del text[:begin]
