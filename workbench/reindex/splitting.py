"""Cutting a text that is too long: at paragraphs, else at sentences, else at words, else where it must, with overlap.

Lengths and offsets are in UTF-16 code units, as the ceiling is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from workbench.core.text import utf16_length

OVERLAP_SHARE = 0.1
"""How much of a piece stands again at the beginning of the next, at most."""

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+")
_WORD = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: where it begins and ends in it (UTF-16 code units), and the part itself."""

    start: int
    end: int
    text: str


def split(text: str, most: int, fits: Callable[[str], bool] | None = None) -> tuple[Piece, ...]:
    """Cut a text into pieces of at most ``most`` code units that together cover it; one piece when it fits whole.

    ``fits`` is asked as well where the embedder's tokens can be counted: a piece that does not fit is made shorter.
    """
    if most < 1:
        raise ValueError(f"pieces must have at least 1 character, not {most}")
    pieces: list[Piece] = []
    start, units = 0, 0  # both name the same place: in code points, and in code units
    while start < len(text):
        end = _end_of_piece(text, start, most, fits)
        cut = text[start:end]
        length = utf16_length(cut)
        pieces.append(Piece(units, units + length, cut))
        if end >= len(text):
            break
        again = _overlap_from(text, start, end, int(most * OVERLAP_SHARE))
        units += utf16_length(text[start:again])
        start = again
    return tuple(pieces) or (Piece(0, 0, text),)


def _end_of_piece(text: str, start: int, most: int, fits: Callable[[str], bool] | None) -> int:
    """Find where a piece that begins at ``start`` ends, in code points: as late as fits, at the best place there."""
    limit = _reach(text, start, most)
    while True:
        end = len(text) if limit >= len(text) else _best_cut(text, start, limit)
        if fits is None or end - start <= 1 or fits(text[start:end]):
            return end
        limit = start + max(1, (end - start) * 3 // 4)
        if limit >= len(text):
            limit = len(text) - 1


def _reach(text: str, start: int, most: int) -> int:
    """Give how far ``most`` code units reach, never through a character of two of them; at least one character."""
    end = min(len(text), start + most)
    while end > start + 1 and utf16_length(text[start:end]) > most:
        end -= max(1, (utf16_length(text[start:end]) - most) // 2)
    return end


def _best_cut(text: str, start: int, limit: int) -> int:
    """Give the last end of a paragraph in the second half of the piece, else of a sentence, a word, else the limit."""
    half = start + (limit - start) // 2
    for kind in (_PARAGRAPH, _SENTENCE, _WORD):
        ends = [found.end() for found in kind.finditer(text, half, limit) if found.end() > start]
        if ends:
            return ends[-1]
    return limit


def _overlap_from(text: str, start: int, end: int, overlap: int) -> int:
    """Give where the next piece begins: at a word within the overlap before the end, always further than this one."""
    earliest = max(start + 1, end - overlap)
    if earliest >= end:
        return end
    found = _SENTENCE.search(text, earliest, end) or _WORD.search(text, earliest, end)
    return end if found is None else found.end()
