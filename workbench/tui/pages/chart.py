"""The length histogram with the ceiling as a line through it."""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p

from workbench.tui.draw import Line, Tone, number
from workbench.tui.signs import Signs
from workbench.tui.state import LengthShape


@dataclass(frozen=True, slots=True)
class Columns:
    """A shape fitted to cells: one count a column of ``chars`` code units; ``cut`` columns lie before the ceiling."""

    counts: tuple[int, ...]
    chars: int
    cut: int | None


def fit(shape: LengthShape, ceiling: int, width: int) -> Columns:
    """Add bins up into at most ``width - 1`` columns, so that the ceiling falls between two of them.

    The ceiling is drawn only where it is within the picture: one far beyond the longest chunk would flatten the rest.
    """
    room = max(1, width - 1)
    shown = max(shape.longest, 1)
    with_ceiling = ceiling <= 2 * shown
    if with_ceiling:
        shown = max(shown, ceiling)
    least = max(1, -(-shown // (shape.width * room)))
    step = least
    aligned = ceiling % shape.width == 0
    if with_ceiling and aligned:
        bins_to_ceiling = ceiling // shape.width
        step = next((k for k in range(least, bins_to_ceiling + 1) if bins_to_ceiling % k == 0), least)
        if step > 3 * least:
            step = least
    counts = tuple(sum(shape.bins[start : start + step]) for start in range(0, len(shape.bins), step))[:room]
    chars = step * shape.width
    cut = round(ceiling / chars) if with_ceiling else None
    return Columns(counts, chars, cut)


def histogram(
    shape: LengthShape, ceiling: int, width: int, rows: int, signs: Signs, *, quiet: bool = False
) -> list[Line]:
    """Columns, axis and ticks: ``rows + 2`` lines. Heights are logarithmic; no chunk is too few to be seen."""
    columns = fit(shape, ceiling, width)
    tones = (Tone.DATA_QUIET, Tone.ERROR_QUIET) if quiet else (Tone.DATA, Tone.ERROR_FILL)
    top = log1p(max(columns.counts, default=0)) or 1.0
    levels = len(signs.columns)
    heights = [max(1, round(log1p(count) / top * rows * levels)) if count else 0 for count in columns.counts]
    lines = [_row(heights, columns, rows - 1 - row, width, signs, tones) for row in range(rows)]
    axis = Line()
    if columns.cut is None or columns.cut >= width:
        axis.add(signs.rule * width, Tone.RULE)
    else:
        axis.add(signs.rule * columns.cut, Tone.RULE).add(signs.foot, Tone.WARN)
        axis.add(signs.rule * (width - columns.cut - 1), Tone.RULE)
    return [*lines, axis, _ticks(columns, ceiling, width)]


def _row(heights: list[int], columns: Columns, level: int, width: int, signs: Signs, tones: tuple[Tone, Tone]) -> Line:
    """One row of cells; the cell of the ceiling stands between the columns and belongs to none."""
    line = Line()
    levels = len(signs.columns)
    for place, height in enumerate(heights):
        if place == columns.cut:
            line.add(signs.ceiling, Tone.WARN)
        over = columns.cut is not None and place >= columns.cut
        filled = min(levels, max(0, height - level * levels))
        colour = tones[1] if over else tones[0]
        if filled == levels:
            line.add(signs.columns[-1], colour, solid=len(signs.columns[-1].encode()) > 1)
        else:
            line.add(signs.columns[filled - 1] if filled else " ", colour)
    if columns.cut is not None and len(heights) <= columns.cut < width:
        line.to(columns.cut).add(signs.ceiling, Tone.WARN)
    return line


def _ticks(columns: Columns, ceiling: int, width: int) -> Line:
    """0, the ceiling, and the right end; the ceiling wins where they would touch."""
    unit = " chars"
    end = number(columns.chars * (width - 1)) + unit
    line = Line().add("0", Tone.FAINT)
    if columns.cut is not None and columns.cut < width:
        mark = number(ceiling)
        at = min(max(2, columns.cut - len(mark) // 2), width - len(mark))
        line.to(at).add(mark, Tone.WARN, bold=True)
    if line.cells + 2 <= width - len(end):
        line.to(width - len(end)).add(end, Tone.FAINT)
    return line
