"""A chunk opened at its cut: its text wrapped by cells, with offsets, read above the line and lost below it.

Only what is looked at is wrapped: a text of many megabytes opens as fast as a short one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from rich.cells import cell_len, split_graphemes

from workbench.core.text import inert, utf16_length, utf16_split
from workbench.tui.draw import Ground, Line, Tone, clip, number
from workbench.tui.signs import Signs

_BLOCK = 4_000
"""Characters that are wrapped at once; a longer line without a break gets one short row after so many."""

_TAB = "    "
_TOKENS = re.compile(r"[ \t]+|[^ \t]+")


class Kind(StrEnum):
    """What a row of the opened chunk is."""

    READ = "read"
    CUT = "cut"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class TextRow:
    """One row: where it begins in the chunk, in code units, and its text, inert and at most the width in cells."""

    offset: int
    text: str
    kind: Kind


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A row by its block and its place in it; rows of blocks that nobody looks at are never counted."""

    block: int
    row: int


@dataclass(frozen=True, slots=True)
class _Block:
    """A piece of the text; the cut is a block of its own without text."""

    start: int
    text: str
    kind: Kind


class CutText:
    """A text with the line where the embedder stopped reading, wrapped to a width.

    Attributes:
        units: its length, in code units.
        read, lost: both parts; together they are the text. A character that straddles the cut is lost whole.
    """

    def __init__(self, text: str, ceiling: int, width: int) -> None:
        self.read, self.lost = utf16_split(text, ceiling)
        self.width = max(1, width)
        self._blocks = list(_blocks_of(self.read, 0, Kind.READ))
        read_units = utf16_length(self.read)
        self.units = read_units + utf16_length(self.lost)
        self.cut: Position | None = None
        if self.lost:
            self.cut = Position(len(self._blocks), 0)
            self._blocks.append(_Block(ceiling, "", Kind.CUT))
            self._blocks += _blocks_of(self.lost, read_units, Kind.LOST)
        if not self._blocks:
            self._blocks.append(_Block(0, "", Kind.READ))

    @property
    def first(self) -> Position:
        """The first row."""
        return Position(0, 0)

    @property
    def last(self) -> Position:
        """The last row."""
        block = len(self._blocks) - 1
        return Position(block, len(self._rows(block)) - 1)

    def moved(self, position: Position, by: int) -> Position:
        """Go so many rows down, or up for a negative number; never beyond the ends."""
        block, row = position.block, position.row + by
        while row < 0:
            if block == 0:
                return self.first
            block -= 1
            row += len(self._rows(block))
        while row >= len(self._rows(block)):
            if block == len(self._blocks) - 1:
                return self.last
            row -= len(self._rows(block))
            block += 1
        return Position(block, row)

    def top(self, wanted: Position, height: int) -> Position:
        """Give the first row to show so that it exists and the last page is full."""
        block = min(wanted.block, len(self._blocks) - 1)
        there = Position(block, min(wanted.row, len(self._rows(block)) - 1))
        return min(there, self.moved(self.last, 1 - height))

    def around_cut(self, height: int) -> Position:
        """Give the first row to show so that the cut is seen, with two fifths of the rows above it."""
        cut = self.cut if self.cut is not None else self.last
        return self.top(self.moved(cut, -max(0, (height - 1) * 2 // 5)), height)

    def rows(self, top: Position, height: int) -> list[TextRow]:
        """Give the rows to show."""
        rows: list[TextRow] = []
        block, skip = top.block, top.row
        while len(rows) < height and block < len(self._blocks):
            rows += self._rows(block)[skip : skip + height - len(rows)]
            block, skip = block + 1, 0
        return rows

    def _rows(self, place: int) -> list[TextRow]:
        block = self._blocks[place]
        if block.kind is Kind.CUT:
            return [TextRow(block.start, "", Kind.CUT)]
        return [TextRow(block.start + at, text, block.kind) for at, text in _wrapped(block.text, self.width)]


@lru_cache(maxsize=8)
def cut_text(text: str, ceiling: int, width: int) -> CutText:
    """Cut and wrap a text, or give it as it was the last time: cutting one of many megabytes takes a moment."""
    return CutText(text, ceiling, width)


def _blocks_of(text: str, start: int, kind: Kind) -> list[_Block]:
    """Cut a part into pieces, each after a line feed where one is near, else after a blank, else between characters."""
    blocks: list[_Block] = []
    at = 0
    while at < len(text):
        end = at + _BLOCK
        if end < len(text):
            broken = text.rfind("\n", at, end) + 1 or text.rfind(" ", at + _BLOCK // 2, end) + 1
            end = broken or _between_characters(text, end)
        piece = text[at:end]
        blocks.append(_Block(start, piece, kind))
        start += utf16_length(piece)
        at = end
    return blocks


def _between_characters(text: str, end: int) -> int:
    """Move back from the middle of a character that is made of several."""
    for back in range(32):
        if not _joins(text[end - back]):
            return end - back
    return end


def _joins(character: str) -> bool:
    """Whether a character is drawn on the one before it."""
    return unicodedata.category(character) in ("Mn", "Me", "Mc") or character in "\u200c\u200d\ufe0f\ufe0e"


@lru_cache(maxsize=256)
def _wrapped(text: str, width: int) -> tuple[tuple[int, str], ...]:
    """Wrap a text: where each row begins, in code units from the start of the text, and the row."""
    rows: list[tuple[int, str]] = []
    at = 0
    for hard in text.removesuffix("\n").split("\n"):
        rows += _wrap_line(hard.removesuffix("\r"), at, width)
        at += utf16_length(hard) + 1
    return tuple(rows)


def _wrap_line(line: str, at: int, width: int) -> list[tuple[int, str]]:
    """Break one line between words; a word that is longer than the width, or wide, between its characters."""
    rows: list[tuple[int, str]] = []
    start, row, used = at, "", 0
    for token in _TOKENS.findall(line):
        units = utf16_length(token)
        blank = token[0] in " \t"
        shown = token.replace("\t", _TAB) if blank else inert(token)
        size = cell_len(shown)
        if not row and not blank and _joins(token[0]):
            shown, size = _Pieces.alone(shown)
        if blank and used + size > width:
            if row:
                rows.append((start, row))
                start, row, used = at + units, "", 0
        elif blank and not row and rows:
            start = at + units
        elif used + size <= width:
            row, used = row + shown, used + size
        elif size <= width and size == len(shown):
            rows.append((start, row.rstrip()))
            start, row, used = at, shown, size
        else:
            place = at
            for piece, piece_units in _Pieces.of(token):
                taken = cell_len(piece)
                if row and used + taken > width:
                    rows.append((start, row.rstrip()))
                    start, row, used = place, "", 0
                if not row and _joins(piece[0]):
                    piece, taken = _Pieces.alone(piece)
                row, used = row + clip(piece, width), used + min(taken, width)
                place += piece_units
        at += units
    if row or not rows:
        rows.append((start, row.rstrip() if rows else row))
    return rows


class _Pieces:
    """What must not be broken: a character with all that is drawn on it."""

    @staticmethod
    def of(word: str) -> list[tuple[str, int]]:
        """Give the pieces of a word as they are drawn, and the code units of each."""
        spans, _ = split_graphemes(word)
        return [(inert(word[start:end]), utf16_length(word[start:end])) for start, end, _ in spans]

    @staticmethod
    def alone(piece: str) -> tuple[str, int]:
        """Let what is drawn on the character before it, which stands elsewhere, stand on a dotted circle."""
        shown = "◌" + piece.lstrip("\u200c\u200d\ufe0e\ufe0f")
        return shown, cell_len(shown)


def cut_lines(
    text: CutText, top: Position, height: int, width: int, signs: Signs, *, start: int = 0, units: int | None = None
) -> list[Line]:
    """Draw rows of an opened chunk: offset, gutter, text; the cut as a line of its own.

    A part of a longer text begins at ``start`` of ``units``.
    """
    gutter = gutter_of(text.units if units is None else units)
    cut = -1
    lines: list[Line] = []
    for row in text.rows(top, height):
        if row.kind is Kind.CUT:
            cut = row.offset
            lines.append(_cut_line(start + row.offset, gutter, width, signs))
        elif row.kind is Kind.READ:
            line = Line().add(number(start + row.offset).rjust(gutter), Tone.FAINT).add("  ")
            lines.append(line.add(signs.read_gutter, Tone.DATA).add(" ").add(row.text))
        else:
            named = "" if lines and row.offset == cut else number(start + row.offset)
            line = Line(Ground.LOST).add(named.rjust(gutter) + "  ", Tone.FAINT, plain=True)
            lines.append(line.add(signs.lost_gutter, Tone.ERROR).add(" ").add(row.text).to(width))
    return lines


def gutter_of(units: int) -> int:
    """Give the width of the offsets of a text of that length."""
    return max(5, len(number(units)))


def text_width(units: int, width: int) -> int:
    """Give the cells that are left for the text beside offsets and gutter."""
    return max(8, width - gutter_of(units) - 4)


def _cut_line(offset: int, gutter: int, width: int, signs: Signs) -> Line:
    line = Line().add(number(offset).rjust(gutter), Tone.WARN, bold=True).add("  ").add(signs.cut * 2 + " ", Tone.WARN)
    line.add(signs.clipped, Tone.WARN).add(" ").add("the embedder stopped reading here", Tone.WARN, bold=True).add(" ")
    return line.rule_to(width, signs.cut, Tone.WARN).cut(width, signs.more)
