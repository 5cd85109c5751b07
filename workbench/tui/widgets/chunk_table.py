"""A table of any length: only what is seen is drawn, what is not read yet is asked for, the last pages are kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from textual import events
from textual.message import Message
from textual.strip import Strip

from workbench.index.model import ChunkRow
from workbench.tui.draw import Line, Tone
from workbench.tui.pages.chunks import Columns, coming_line
from workbench.tui.pages.parts import Frame
from workbench.tui.widgets.lines import Bar, LineList, look_of, strip_of

PAGE = 200
"""Rows that are read at once."""

_KEPT_PAGES = 48
_KEPT_STRIPS = 1_000
LEFT = 2
RIGHT = 2

DrawRow = Callable[[ChunkRow, Frame, bool], Line]


class Pages:
    """Rows by page, the last ones looked at; a page that is asked for anew takes the place of the oldest."""

    def __init__(self) -> None:
        self._pages: OrderedDict[int, dict[int, ChunkRow]] = OrderedDict()

    def row(self, place: int) -> ChunkRow | None:
        """Give a row that is there."""
        page = self._pages.get(place // PAGE)
        return page.get(place) if page is not None else None

    def has(self, page: int) -> bool:
        """Whether a page is there; looking keeps it."""
        if page in self._pages:
            self._pages.move_to_end(page)
            return True
        return False

    def put(self, page: int, rows: Iterable[ChunkRow]) -> None:
        """Keep a page."""
        self._pages[page] = {row.position: row for row in rows}
        while len(self._pages) > _KEPT_PAGES:
            self._pages.popitem(last=False)


class ChunkTable(LineList):
    """The rows; which they are, and how one looks, its view says."""

    class Wanted(Message):
        """Pages are on the screen that are not there."""

        def __init__(self, pages: tuple[int, ...]) -> None:
            super().__init__()
            self.pages = pages

    def __init__(self, draw_row: DrawRow, columns: Callable[[int], Columns], nothing: Callable[[], str]) -> None:
        super().__init__(id="chunks-table")
        self.total = 0
        self.pages = Pages()
        self._draw_row = draw_row
        self._columns = columns
        self._nothing = nothing
        self._drawn: dict[tuple[int, bool, str], Strip] = {}

    def show(self, total: int, pages: Pages, cursor: int, top: int | None = None) -> None:
        """Show other rows, with the cursor on one of them; ``top`` is the first one in view."""
        self.total, self.pages, self.cursor = total, pages, cursor
        self.rows_changed()
        if top is not None:
            self.scroll_to(y=top, animate=False)
        else:
            self.move_to(cursor)
        self.want()

    def row_count(self) -> int:
        """One a chunk."""
        return self.total

    @property
    def frame(self) -> Frame:
        """The room of a row."""
        _, signs = look_of(self)
        return Frame(max(20, self.size.width - LEFT - RIGHT), max(1, self.size.height), signs, self.has_focus)

    def draw(self, index: int, width: int) -> Line:
        """One row, or a sign that it is coming."""
        frame, here = self.frame, index == self.cursor
        row = self.pages.row(index)
        line = (
            self._draw_row(row, frame, here)
            if row is not None
            else coming_line(self._columns(frame.width), frame, here=here)
        )
        if not here:
            return Line().add(" " * LEFT).extend(line.spans)
        sign = Line(line.ground, inset=LEFT - 1).add(frame.signs.cursor, Tone.ACCENT if frame.focused else Tone.FAINT)
        return sign.extend(line.spans).add(" ")

    def rows_changed(self) -> None:
        """Forget how rows were drawn: they, the room, or the focus are others."""
        self._drawn.clear()
        super().rows_changed()

    def render_line(self, y: int) -> Strip:
        """Draw a row, as it was drawn the last time where nothing has changed; where there is none, say why."""
        index = int(self.scroll_offset.y) + y
        if index < self.total:
            drawn = (index, index == self.cursor, self.app.theme)
            strip = self._drawn.get(drawn)
            if strip is None:
                if len(self._drawn) > _KEPT_STRIPS:
                    self._drawn.clear()
                strip = self._drawn[drawn] = super().render_line(y)
            return strip
        if self.total or y != 0:
            return super().render_line(y)
        line = Line().add(" " * LEFT).add(self._nothing(), Tone.FAINT, italic=True)
        return strip_of(line, self.size.width, self)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for what has come into view."""
        super().watch_scroll_y(old_value, new_value)
        self.want()

    def on_resize(self, event: events.Resize) -> None:
        """More rows may be in view."""
        super().on_resize(event)
        self.want()

    def want(self) -> None:
        """Ask for the pages in view that are not there."""
        if not self.total or not self.size.height:
            return
        first = int(self.scroll_offset.y)
        last = min(first + self.size.height, self.total) - 1
        missing = tuple(page for page in range(first // PAGE, last // PAGE + 1) if not self.pages.has(page))
        if missing:
            self.post_message(self.Wanted(missing))

    def action_outward(self) -> None:
        """Back to the sources."""
        self.post_message(self.Left())


class TableHead(Bar):
    """Rows above the table that do not scroll; a click on the last one sorts."""

    class Clicked(Message):
        """The head was clicked, in cells from the sign column on."""

        def __init__(self, cell: int) -> None:
            super().__init__()
            self.cell = cell

    def __init__(self, rows: Callable[[int], list[Line]]) -> None:
        super().__init__(id="chunks-head")
        self._rows = rows

    def line(self, width: int) -> Line:
        """Give the first row."""
        return self.lines(width)[0]

    def lines(self, width: int) -> list[Line]:
        """Give all its rows between the margins of the detail."""
        rows = self._rows(max(20, width - LEFT - RIGHT))
        return [Line().add(" " * LEFT).extend(row.spans) for row in rows]

    def render_line(self, y: int) -> Strip:
        """One of them."""
        rows = self.lines(self.size.width)
        return strip_of(rows[y] if y < len(rows) else Line(), self.size.width, self)

    def on_click(self, event: events.Click) -> None:
        """Sort by what was clicked."""
        if event.y == len(self.lines(self.size.width)) - 1:
            self.post_message(self.Clicked(event.x - LEFT))
