"""One scale of lengths for a whole screen: which cell a length stands in, in histogram, rule, ticks and bars alike."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

_NICE = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
_STEPS = (1, 2, 5, 10)
_MOST_TICKS = 5
_OUTLIER = 10
"""A chunk this many times longer than what matters would flatten the rest: it stands beyond the right edge."""

_STEPS_ACROSS = 100


def nice_end(longest: int) -> int:
    """Round up to a number that people like at the end of an axis: 7,420 becomes 8,000."""
    power = 1
    while power * 100 < longest * 10:
        power *= 10
    return next(-(-each * power // 10) for each in _NICE if each * power >= longest * 10)


def nice_step(amount: float) -> int:
    """Round up to 1, 2 or 5 times a power of ten, at least 1."""
    power = 1
    while power * 10 < amount:
        power *= 10
    return next(each * power for each in _STEPS if each * power >= amount)


@dataclass(frozen=True)
class Scale:
    """Lengths on cells. The ceiling has a cell of its own between two columns and belongs to none.

    Attributes:
        cells: cells across; one of them is for the ceiling.
        end: the length at the right edge, in code units.
        ceiling: where the embedder stops reading; may be beyond the right edge.
        longest: the longest chunk; may be beyond the right edge too.
    """

    cells: int
    end: int
    ceiling: int
    longest: int

    @property
    def columns(self) -> int:
        """Cells that hold lengths."""
        return self.cells - 1

    @cached_property
    def cut(self) -> int | None:
        """Say how many columns stand before the ceiling, which is also its cell; None when it is beyond the edge.

        At least one column lies left of it, and one right of it when a chunk is longer: neither side is ever hidden.
        """
        if self.ceiling > self.end:
            return None
        most = self.columns - 1 if self.longest > self.ceiling else self.columns
        return min(max(1, round(self.ceiling * self.columns / self.end)), most)

    @cached_property
    def edges(self) -> tuple[int, ...]:
        """Give where columns meet: column ``i`` holds the lengths over ``edges[i]``, up to and with ``edges[i + 1]``.

        Length 0 is in column 0, whatever is beyond the right edge in the last one. The edge at the ceiling is the
        ceiling itself, so that a chunk of just that length is left of the line and one more character is right of it;
        no other edge depends on the ceiling, so that columns stand still while it moves.
        """
        edges = [place * self.end // self.columns for place in range(self.columns + 1)]
        if self.cut is not None:
            edges[self.cut] = self.ceiling
        return tuple(edges)

    def column(self, length: int) -> int:
        """Give the column of a length."""
        return min(max(0, bisect_left(self.edges, length) - 1), self.columns - 1)

    def cell(self, length: int) -> int:
        """Give the cell of a length: the ceiling's own cell is never it."""
        column = self.column(length)
        return column + (self.cut is not None and column >= self.cut)

    def length_at(self, cell: int) -> int:
        """Give the length at the right edge of a cell as if no line were drawn: what a click there asks for."""
        return max(1, min(self.end, round(min(max(cell, 0), self.columns) * self.end / self.columns)))

    def beyond(self, length: int) -> bool:
        """Whether a length is beyond the right edge."""
        return length > self.end

    @property
    def step(self) -> int:
        """By how much a key moves the ceiling: about a hundredth of the scale, a number that people like."""
        return nice_step(self.end / _STEPS_ACROSS)

    @property
    def fine(self) -> int:
        """By how much a key moves the ceiling finely."""
        return max(1, self.step // 10)

    @property
    def top(self) -> int:
        """The largest ceiling that keys lead to: from there on nothing is clipped."""
        return -(-max(self.end, self.longest) // self.step) * self.step

    def moved(self, by: int) -> int:
        """Give the next multiple of ``by`` above the ceiling, or below it for a negative one."""
        size = abs(by)
        there = (self.ceiling // size + 1) * size if by > 0 else (-(-self.ceiling // size) - 1) * size
        return min(max(1, there), max(self.top, self.ceiling) if by > 0 else self.ceiling)

    @cached_property
    def ticks(self) -> tuple[int, ...]:
        """Give at most five lengths to be named on the axis: 0, round ones, and the ceiling unless it is beyond."""
        step = nice_step(self.end / (_MOST_TICKS - 1))
        ticks = list(range(0, self.end + 1, step))
        if self.cut is None or self.ceiling in ticks:
            return tuple(ticks)
        if len(ticks) == _MOST_TICKS:
            ticks.remove(min(ticks[1:], key=lambda tick: abs(tick - self.ceiling)))
        return tuple(sorted([*ticks, self.ceiling]))

    def tick_cell(self, length: int) -> int:
        """Give the cell under which a tick is named."""
        if self.cut is not None and length == self.ceiling:
            return self.cut
        return 0 if length <= 0 else self.cell(length)


def scale_for(cells: int, longest: int, resolved: int, ceiling: int, usual: int) -> Scale:
    """Choose a scale that does not change while the ceiling is moved.

    It reaches to the longest chunk, and to the resolved ceiling where that is not far beyond; a few chunks that are
    much longer than ``usual`` (the 95th percentile) and the ceiling stay beyond its right edge.
    """
    shown = max(longest, 1)
    pivot = resolved if resolved <= 2 * shown else 0
    shown = min(shown, _OUTLIER * max(pivot, usual, 1))
    end = max(nice_end(max(shown, pivot)), cells - 1, 1)
    return Scale(max(3, cells), end, ceiling, longest)
