"""Whether bytes are JSON by the letter of the standard, and where a value ends, as fast as they can be read."""

from __future__ import annotations

import re
from enum import IntEnum

import msgspec

from workbench.recordings.scanner import Buffer

PLAIN_FAILURES = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)

_ANY: msgspec.json.Decoder[msgspec.Raw] = msgspec.json.Decoder(msgspec.Raw)
_TRAILING = re.compile(r"trailing characters \(byte ([0-9]+)\)")
_BLANK = b" \t\r\n"


class Plain(IntEnum):
    """Why the end of a value by the letter is not known."""

    CUT = -1
    """The text ends before it, as far as that can be told."""
    ODD = -2
    """It is no JSON by the letter, or too deep for that to be told."""


def plain_end(buffer: Buffer | memoryview, at: int, end: int) -> int:
    """Give where the value at ``at`` ends by the letter of the standard, else one of ``Plain``."""
    with memoryview(buffer) as view, view[at:end] as part:
        try:
            return at + len(memoryview(_ANY.decode(part)))
        except msgspec.DecodeError as error:
            words = str(error)
            trailing = _TRAILING.search(words)
            if trailing is None:
                return Plain.CUT if "truncated" in words else Plain.ODD
            stop = at + int(trailing.group(1)) - 1  # it has stepped over the first byte that follows
        except RecursionError:
            return Plain.ODD
    while buffer[stop - 1] in _BLANK:
        stop -= 1
    return stop


def is_plain(data: Buffer | memoryview) -> bool:
    """Say whether bytes are one JSON value by the letter of the standard (their UTF-8 is not looked at)."""
    try:
        _ANY.decode(data)
    except PLAIN_FAILURES:
        return False
    return True


def is_plain_range(buffer: Buffer, start: int, end: int) -> bool:
    """Say whether a range of a mapped text is one value of JSON by the letter."""
    with memoryview(buffer) as view, view[start:end] as part:
        return is_plain(part)
