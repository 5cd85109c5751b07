"""Keys that one object has twice: noticed by counting, since parsers keep the last of them and say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.recordings import scanner, values
from workbench.recordings.scanner import Token

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"(?:[ \t\n\r]*+(:))?+', re.DOTALL)
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Repeat:
    """A key that its object has had before.

    Attributes:
        key: as it is spelled, cut when it is long.
        at: the byte at which it stands again, counted from the beginning of what was searched.
    """

    key: str
    at: int


def has_repeats(text: bytes, keys: int) -> bool:
    """Say whether a text spells more keys than ``keys``, which is how many its parsed values have."""
    # Two passes at the speed of memory settle nearly every text; what they cannot tell (a text that begins with a
    # colon, a blank before one) takes the strings one by one.
    if text.count(b'":') - text.count(b'\\":') == keys:
        return False
    return sum(1 for found in _STRING.finditer(text) if found.lastindex) > keys


def repeats(data: bytes) -> Iterator[Repeat]:
    """Find the keys that repeat in values that follow each other. Damage ends the search."""
    end = len(data)
    at = scanner.blanks_end(data, 0, end)
    while at < end:
        seen: list[set[str]] = []
        try:
            for token, begin, stop in scanner.tokens(data, at, end):
                at = stop
                if token is Token.OBJECT or token is Token.ARRAY:
                    seen.append(set())
                elif token is Token.END:
                    seen.pop()
                elif token is Token.KEY:
                    key = values.loads_string(data[begin:stop])
                    if key in seen[-1]:
                        yield Repeat(key[:_LONGEST_NAME], begin)
                    seen[-1].add(key)
        except scanner.Damage:
            return
        at = scanner.blanks_end(data, at, end)
