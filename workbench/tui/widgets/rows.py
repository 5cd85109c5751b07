"""A list of rows that its view draws: any number of them costs the same, since only the seen are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.strip import Strip

from workbench.tui.draw import Ground, Line, Tone
from workbench.tui.pages.parts import Frame
from workbench.tui.widgets.lines import Bar, LineList, look_of, strip_of

LEFT = 2
RIGHT = 2

DrawRow = Callable[[int, Frame, bool], Line]


class HeadRows(Bar):
    """Rows above a list that do not scroll with it."""

    def __init__(self, rows: Callable[[int], list[Line]], *, id: str) -> None:
        super().__init__(id=id)
        self._rows = rows

    def draw_anew(self) -> None:
        """Take as many rows as there are now."""
        self.styles.height = len(self.lines(self.size.width or 80))
        self.refresh()

    def lines(self, width: int) -> list[Line]:
        """Give all its rows between the margins of the detail."""
        rows = self._rows(max(20, width - LEFT - RIGHT))
        return [Line().add(" " * LEFT).extend(row.spans) for row in rows]

    @property
    def lines_now(self) -> int:
        """How many rows there are at the width it has."""
        return len(self.lines(self.size.width or 80))

    def line(self, width: int) -> Line:
        """Give the first row."""
        return self.lines(width)[0]

    def render_line(self, y: int) -> Strip:
        """One of them."""
        width = self.size.width
        rows = self.lines(width)
        return strip_of(rows[y] if y < len(rows) else Line(), width, self)

    def on_resize(self) -> None:
        """Take as many rows as there are at this width."""
        self.styles.height = len(self.lines(self.size.width))


class RowList(LineList):
    """Rows between two columns of air; ``stops_at`` names those the cursor can stand on, all without it.

    ``opens`` and ``closes`` are a tree's motions to the right and left; they say whether they did anything.
    """

    def __init__(
        self,
        draw_row: DrawRow,
        count: Callable[[], int],
        *,
        id: str,
        nothing: Callable[[], str] = str,
        stops_at: Callable[[], Sequence[int] | None] = lambda: None,
        opens: Callable[[], bool] = lambda: False,
        closes: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(id=id)
        self._draw_row = draw_row
        self._count = count
        self._nothing = nothing
        self._stops_at = stops_at
        self._opens = opens
        self._closes = closes

    @property
    def inner(self) -> int:
        """How many cells a row has between the margins."""
        return max(20, self.size.width - LEFT - RIGHT)

    def row_count(self) -> int:
        """Give the rows; where there are none, the one that says so."""
        return self._count() or 1

    def stops(self) -> Sequence[int] | None:
        """Give the rows that can be chosen."""
        return self._stops_at() if self._count() else ()

    def draw(self, index: int, width: int) -> Line:
        """Draw one row; the one with the cursor reaches one column past the text on both sides."""
        _, signs = look_of(self)
        if not self._count():
            return Line().add(" " * LEFT).add(self._nothing(), Tone.MUTED).cut(width, signs.more)
        stops = self.stops()
        at = stops[self.cursor] if stops is not None and self.cursor < len(stops) else self.cursor
        here = index == at
        frame = Frame(self.inner, max(1, self.size.height), signs, self.has_focus, self.cursor)
        line = self._draw_row(index, frame, here).cut(self.inner, signs.more)
        if not here:
            return Line().add(" " * LEFT).extend(line.spans)
        ground = Ground.CURSOR if self.has_focus else Ground.CURSOR_BLURRED
        tone = Tone.ACCENT if self.has_focus else Tone.FAINT
        return Line(ground, inset=LEFT - 1).add(signs.cursor, tone).extend(line.spans)

    def put(self, cursor: int, top: float | None = None) -> None:
        """Stand on a row, with it in view; ``top`` says which row is the first one in view."""
        self.cursor = cursor
        self.rows_changed()
        if top is not None:
            self.scroll_to(y=top, animate=False)
        else:
            self.show_cursor()

    def action_inward(self) -> None:
        """Unfold the row where it has something folded, else choose it."""
        if not self._opens():
            self.post_message(self.Chosen(self))

    def action_outward(self) -> None:
        """Fold the row or go to what it is part of, else leave the list."""
        if not self._closes():
            self.post_message(self.Left())
