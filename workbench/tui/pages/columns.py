"""Chunks by length as columns on a scale: heights logarithmic, nothing too few to be seen, the ceiling a line through.

What is left of the line was read, what is right of it has its own colour and its own fill.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import ceil, log10
from typing import TYPE_CHECKING

from workbench.tui.draw import Line, Tone, number
from workbench.tui.signs import Signs

if TYPE_CHECKING:
    from workbench.tui.clipping import Column
    from workbench.tui.pages.scale import Scale

_LEAST_APART = 1.6
"""Rows between two names on the count axis: nearer ones would stand at uneven distances."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart in parts that stand in one scale.

    Attributes:
        rows: from the top, each at most the cells of the scale.
        marks: what the count axis names beside each row, empty where nothing.
        axis: the rule below, with the foot of the ceiling; heavy dashes under columns with possibly clipped chunks.
        ticks: lengths by name.
        doubtful: whether there are such columns.
    """

    rows: tuple[Line, ...]
    marks: tuple[str, ...]
    axis: Line
    ticks: Line
    doubtful: bool


def lengths_chart(columns: tuple[Column, ...], scale: Scale, rows: int, signs: Signs) -> Chart:
    """Draw columns that were counted between the edges of ``scale``."""
    most = max((column.count for column in columns), default=0)
    heights = [_height(column.count, most, rows, len(signs.columns)) for column in columns]
    drawn = tuple(_row(heights, scale, rows - 1 - row, signs) for row in range(rows))
    return Chart(
        drawn,
        _marks(most, rows, len(signs.columns)),
        _axis(columns, scale, signs),
        _ticks(scale),
        any(column.possible for column in columns),
    )


def _apart(most: int, rows: int) -> tuple[float, float]:
    """Give the height of one chunk, and of each ten times as many more, in rows; the highest column fills them all."""
    foot = min(0.5, rows / 4)
    return foot, (rows - foot) / max(1.0, log10(max(most, 1)))


def _height(count: int, most: int, rows: int, levels: int) -> int:
    """Give the height of a column in parts of a cell."""
    if count <= 0:
        return 0
    foot, each = _apart(most, rows)
    return max(1, round((foot + log10(count) * each) * levels))


def _marks(most: int, rows: int, levels: int) -> tuple[str, ...]:
    """Name 1, 10, 100 beside the rows that columns of so many end in; where rows are few only each second power."""
    marks = [""] * rows
    _, each = _apart(most, rows)
    for power in range(0, len(str(max(1, most))), max(1, ceil(_LEAST_APART / each))):
        row = rows - 1 - min(rows - 1, (_height(10**power, most, rows, levels) - 1) // levels)
        marks[row] = marks[row] or number(10**power)
    return tuple(marks)


def _row(heights: list[int], scale: Scale, level: int, signs: Signs) -> Line:
    """One row of cells, in runs of one look; a full cell of what was read has its own colour behind it: no seams."""
    cut = scale.columns if scale.cut is None else scale.cut
    line = _run(heights[:cut], level, signs.columns, signs.columns[-1], (Tone.DATA, Tone.DATA))
    if scale.cut is None:
        return line
    line.add(signs.ceiling, Tone.WARN)
    lost = _run(heights[cut:], level, signs.columns, signs.lost_column, (Tone.ERROR_FILL, Tone.HATCH))
    return line.extend(lost.spans)


def _run(heights: list[int], level: int, partial: str, whole: str, tones: tuple[Tone, Tone]) -> Line:
    """Draw the columns of one side: tops in the first tone, full cells in the second."""
    levels = len(partial)
    line = Line()
    filled = [min(levels, max(0, height - level * levels)) for height in heights]
    solid = tones[0] == tones[1] and not whole.isascii()
    for full, cells in groupby(filled, lambda each: each == levels):
        tops = "".join(partial[each - 1] if each else " " for each in cells)
        if full:
            line.add(whole * len(tops), tones[1], solid=solid)
        else:
            line.add(tops, tones[0])
    return line


def _axis(columns: tuple[Column, ...], scale: Scale, signs: Signs) -> Line:
    line = Line()
    cut = scale.columns if scale.cut is None else scale.cut
    for possible, cells in groupby(columns[:cut], lambda column: column.possible > 0):
        size = len(list(cells))
        line.add((signs.lost_bar if possible else signs.rule) * size, Tone.WARN if possible else Tone.RULE)
    if scale.cut is not None:
        line.add(signs.foot, Tone.WARN)
    return line.rule_to(scale.cells, signs.rule)


def _ticks(scale: Scale) -> Line:
    """Put each name under its length; the ceiling's is bold and in its colour, and others give way to it."""
    taken: list[tuple[int, int, int]] = []
    here = scale.ceiling if scale.cut is not None else None
    for tick in sorted(scale.ticks, key=lambda each: (each != here, each not in (0, scale.end), each)):
        size = len(number(tick))
        start = min(max(0, scale.tick_cell(tick) - size // 2), max(0, scale.cells - size))
        if all(start > end + 1 or start + size < begin - 1 for begin, end, _ in taken):
            taken.append((start, start + size - 1, tick))
    line = Line()
    for start, _, tick in sorted(taken):
        mark = tick == here
        line.to(start).add(number(tick), Tone.WARN if mark else Tone.FAINT, bold=mark)
    return line
