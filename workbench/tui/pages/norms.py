"""The norms of vectors as columns: where the lengths of the vectors lie, however few lie apart from the rest."""

from __future__ import annotations

from math import log1p

from workbench.index.model import NormBins
from workbench.tui.draw import Line, Tone
from workbench.tui.signs import Signs
from workbench.tui.verdicts import length_text


def norm_chart(bins: NormBins, width: int, rows: int, signs: Signs) -> list[Line]:
    """Columns, axis and both ends: ``rows + 2`` lines, none where all norms read the same. Heights are logarithmic."""
    low, high = length_text(bins.low), length_text(bins.high)
    if low == high:
        return []
    step = -(-len(bins.counts) // width)
    counts = [sum(bins.counts[start : start + step]) for start in range(0, len(bins.counts), step)]
    levels = len(signs.columns)
    top = log1p(max(counts)) or 1.0
    heights = [max(1, round(log1p(count) / top * rows * levels)) if count else 0 for count in counts]
    lines = [_row(heights, rows - 1 - row, signs) for row in range(rows)]
    end = Line().add(high, Tone.FAINT)
    ticks = Line().add(low, Tone.FAINT)
    scale = "log scale"
    at = (len(counts) - len(scale)) // 2
    if at > ticks.cells + 2 and at + len(scale) + 2 < len(counts) - end.cells:
        ticks.to(at).add(scale, Tone.FAINT)
    return [*lines, Line().add(signs.rule * len(counts), Tone.RULE), ticks.right(end, len(counts))]


def _row(heights: list[int], level: int, signs: Signs) -> Line:
    line = Line()
    levels = len(signs.columns)
    for height in heights:
        filled = min(levels, max(0, height - level * levels))
        solid = filled == levels and len(signs.columns[-1].encode()) > 1
        line.add(signs.columns[filled - 1] if filled else " ", Tone.DATA, solid=solid)
    return line
