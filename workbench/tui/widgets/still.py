"""Rows that are only looked at: as many as there is room for, without a cursor."""

from __future__ import annotations

from collections.abc import Callable

from textual.strip import Strip
from textual.widget import Widget

from workbench.tui.draw import Ground, Line
from workbench.tui.widgets.lines import strip_of
from workbench.tui.widgets.rows import LEFT, RIGHT


class StillRows(Widget):
    """Drawn by a function of width and height, between the margins of the detail."""

    def __init__(self, rows: Callable[[int, int], list[Line]], *, id: str) -> None:
        super().__init__(id=id)
        self._rows = rows

    def render_line(self, y: int) -> Strip:
        """One of them; the ground of lost text ends where the text does."""
        width = self.size.width
        rows = self._rows(max(20, width - LEFT - RIGHT), self.size.height)
        if y >= len(rows):
            return strip_of(Line(), width, self)
        row = rows[y]
        made = Line(row.ground).add(" " * LEFT, plain=True).extend(row.spans)
        if row.ground is Ground.LOST:
            made.add(" " * max(0, width - made.cells), plain=True)
        return strip_of(made, width, self)
