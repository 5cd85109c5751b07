"""The base of everything drawn here: lines from plain data by the line API, and a list with a cursor on top of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from workbench.tui.actions import MOTION_BINDINGS
from workbench.tui.draw import Line
from workbench.tui.signs import ASCII, Signs
from workbench.tui.theme import Palette, ThemedApp

_PLAIN = str.maketrans("…–—·›→←↑↓⟨⟩“”", '~--./><^v<>""')
"""Typographic signs inside sentences, for terminals that get ASCII signs: one cell for one cell."""


def look_of(widget: Widget) -> tuple[Palette, Signs]:
    """Give the styles and signs of the app that a widget is in."""
    app = widget.app
    assert isinstance(app, ThemedApp)
    return app.palette, app.signs


def strip_of(line: Line, width: int, widget: Widget) -> Strip:
    """Turn a line into cells of exactly ``width``, on the widget's own background."""
    palette, signs = look_of(widget)
    plain = signs is ASCII
    segments = [
        Segment(span.text.translate(_PLAIN) if plain else span.text, palette.style(span, span.ground or line.ground))
        for span in line
    ]
    strip = Strip(segments).adjust_cell_length(width - 2 * line.inset, palette.ground(line.ground))
    if line.inset:
        margin = Strip([Segment(" " * line.inset)], line.inset)
        strip = Strip.join([margin, strip, margin])
    return strip.apply_style(widget.rich_style)


class Bar(Widget):
    """One row drawn from one line."""

    def line(self, width: int) -> Line:
        """Give the row at this width."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """Draw the row; a bar has no other."""
        width = self.size.width
        return strip_of(self.line(width) if y == 0 else Line(), width, self)


class LineList(ScrollView, can_focus=True):
    """Rows with a cursor. Subclasses say how many there are, draw one, and name the rows the cursor can stand on.

    Only visible rows are ever drawn, so any number of them costs the same.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*MOTION_BINDINGS]

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, sender: LineList, cursor: int) -> None:
            super().__init__()
            self.sender = sender
            self.cursor = cursor

    class Chosen(Message):
        """The row under the cursor was clicked once more, or opened."""

        def __init__(self, sender: LineList) -> None:
            super().__init__()
            self.sender = sender

    class Left(Message):
        """The list was left to the left."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.cursor = 0

    def row_count(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    def draw(self, index: int, width: int) -> Line:
        """One row."""
        raise NotImplementedError

    def stops(self) -> Iterable[int] | None:
        """Give the rows that the cursor can stand on, in order; None for all."""
        return None

    def rows_changed(self) -> None:
        """Rows were replaced: keep the cursor within them and draw again."""
        self.cursor = min(self.cursor, max(0, self._places() - 1))
        self.virtual_size = Size(self.size.width, self.row_count())
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the row at a height of the viewport."""
        width = self.size.width
        index = self.scroll_offset.y + y
        line = self.draw(index, width) if index < self.row_count() else Line()
        return strip_of(line, width, self)

    def on_resize(self, event: events.Resize) -> None:
        """Draw anew: the rows may be others at another width."""
        self.rows_changed()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Draw anew: the cursor looks another way where the focus is, which at ``on_focus`` is not yet known."""
        super().watch_has_focus(_has_focus)
        if self.is_mounted:
            self.rows_changed()

    def move_to(self, place: int) -> None:
        """Put the cursor on the n-th row that it can stand on, and bring it into view."""
        places = self._places()
        if places == 0:
            return
        moved = min(max(0, place), places - 1)
        changed = moved != self.cursor
        self.cursor = moved
        self.show_cursor()
        self.refresh()
        if changed:
            self.post_message(self.Moved(self, moved))

    def show_cursor(self) -> None:
        """Bring the row of the cursor into view."""
        row = self._row_of(self.cursor)
        if row is None:
            return
        # The first stop brings what stands above it into view as well.
        top = 0 if self.cursor == 0 else row
        self.scroll_to_region(Region(0, top, 1, row - top + 1 if row - top < self.size.height else 1), animate=False)

    def _row_of(self, place: int) -> int | None:
        stops = self.stops()
        if stops is None:
            return place if place < self.row_count() else None
        rows = list(stops)
        return rows[place] if place < len(rows) else None

    def _places(self) -> int:
        stops = self.stops()
        return self.row_count() if stops is None else len(list(stops))

    def action_move(self, by: int) -> None:
        """One row up or down; where no row can be stood on, scroll."""
        if self._places() == 0:
            self.scroll_relative(y=by, animate=False)
        else:
            self.move_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        """One page up or down."""
        if self._places() == 0 or self.stops() is not None:
            self.scroll_relative(y=by * max(1, self.size.height - 1), animate=False)
        else:
            self.move_to(self.cursor + by * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """To the first row."""
        self.move_to(0)
        self.scroll_home(animate=False)

    def action_last(self) -> None:
        """To the last row."""
        self.move_to(self._places() - 1)

    def action_inward(self) -> None:
        """Open; lists that hold nothing do nothing."""

    def action_outward(self) -> None:
        """Close or leave; lists that hold nothing do nothing."""

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the row that was clicked; a click on the row under the cursor opens it."""
        row = self.scroll_offset.y + event.y
        stops = self.stops()
        rows = list(stops) if stops is not None else range(self.row_count())
        if row not in rows:
            return
        place = rows.index(row)
        if place == self.cursor and self.has_focus:
            self.post_message(self.Chosen(self))
        self.focus()
        self.move_to(place)
