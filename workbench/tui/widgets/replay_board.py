"""The replay as one surface: a page of lines with a cursor in time, moved by keys and by the mouse."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from workbench.tui.actions import MOTION_BINDINGS
from workbench.tui.draw import Ground, Line, Tone
from workbench.tui.pages.parts import FRAME_ROWS, Frame
from workbench.tui.pages.replay import Painted
from workbench.tui.pages.replay_lanes import LABEL
from workbench.tui.widgets.lines import look_of, strip_of

LEFT = 2
RIGHT = 2


class ReplayBoard(Widget, can_focus=True):
    """Left and right go through the calls, up and down through the namespaces of the ledger."""

    BINDINGS: ClassVar[list[BindingType]] = [*MOTION_BINDINGS]

    class Stepped(Message):
        """Another call is wanted: ``by`` calls on, or ``cells`` cells on, or an end (-1, 1)."""

        def __init__(self, *, by: int = 0, cells: int = 0, end: int = 0) -> None:
            super().__init__()
            self.by, self.cells, self.end = by, cells, end

    class Pointed(Message):
        """A cell of the lanes was clicked, or the mouse is drawn over them."""

        def __init__(self, cell: int) -> None:
            super().__init__()
            self.cell = cell

    class Wanted(Message):
        """A call is wanted by its number."""

        def __init__(self, n: int) -> None:
            super().__init__()
            self.n = n

    class Chose(Message):
        """A row of the ledger: by its place, or so many rows on; opened when it was chosen already."""

        def __init__(self, place: int | None, by: int = 0) -> None:
            super().__init__()
            self.place, self.by = place, by

    def __init__(self, paint: Callable[[Frame], Painted], *, id: str) -> None:
        super().__init__(id=id)
        self._paint = paint
        self._painted = Painted()
        self._dragging = False
        self._strips: dict[int, tuple[object, Line, Strip]] = {}

    @property
    def inner(self) -> int:
        """How many cells there are between the margins."""
        return max(20, self.size.width - LEFT - RIGHT)

    @property
    def text(self) -> str:
        """What can be read on it."""
        return "\n".join(line.text for line in self._painted.lines)

    def draw_anew(self) -> None:
        """Draw the page for what is known now."""
        if not self.is_attached or not self.size.width:
            return
        above = max(0, self.screen.size.height - FRAME_ROWS - self.container_height)
        frame = Frame(self.inner, self.container_height, look_of(self)[1], self.has_focus, 0, above)
        self._painted = self._paint(frame)
        self.refresh()

    @property
    def container_height(self) -> int:
        """How many rows the view has, also while only the upper ones are the board's."""
        parent = self.parent
        return parent.size.height if isinstance(parent, Widget) else self.size.height

    @property
    def rows(self) -> int:
        """How many rows the page has."""
        return len(self._painted.lines)

    def render_line(self, y: int) -> Strip:
        """One row; those that are as they were are not made anew, so that scrubbing costs what it changes."""
        width = self.size.width
        lines = self._painted.lines
        line = lines[y] if y < len(lines) else Line()
        palette, _ = look_of(self)
        look = (palette, width, self.has_focus)
        kept = self._strips.get(y)
        if kept is None or kept[0] != look or kept[1] != line:
            kept = self._strips[y] = (look, line, self._strip(line, width))
        return kept[2]

    def _strip(self, line: Line, width: int) -> Strip:
        """Put a row between its margins; a tinted one reaches one column past the text on both sides."""
        if line.ground is Ground.PLAIN:
            return strip_of(Line().add(" " * LEFT).extend(line.spans), width, self)
        cursor = line.ground in (Ground.CURSOR, Ground.CURSOR_BLURRED)
        tone = Tone.ACCENT if self.has_focus else Tone.FAINT
        lead = look_of(self)[1].cursor if cursor else " "
        return strip_of(Line(line.ground, inset=LEFT - 1).add(lead, tone).extend(line.spans), width, self)

    def on_resize(self) -> None:
        """Draw for another room."""
        self.draw_anew()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Draw anew: the cursor looks another way where the focus is."""
        super().watch_has_focus(_has_focus)
        self.draw_anew()

    def action_move(self, by: int) -> None:
        """Another namespace."""
        self.post_message(self.Chose(None, by))

    def action_page(self, by: int) -> None:
        """Whole cells."""
        self.post_message(self.Stepped(cells=by))

    def action_first(self) -> None:
        """To the first call."""
        self.post_message(self.Stepped(end=-1))

    def action_last(self) -> None:
        """To the last call."""
        self.post_message(self.Stepped(end=1))

    def action_inward(self) -> None:
        """One call on."""
        self.post_message(self.Stepped(by=1))

    def action_outward(self) -> None:
        """One call back."""
        self.post_message(self.Stepped(by=-1))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Go where the mouse points to."""
        self.focus()
        painted = self._painted
        if event.y in painted.lanes:
            self._dragging = True
            self.capture_mouse()
            self._point(event.x)
        elif event.y in painted.warnings and event.x - LEFT >= painted.warnings_at:
            self.post_message(self.Wanted(painted.warnings[event.y]))
        elif event.y in painted.entries:
            self.post_message(self.Chose(painted.entries[event.y]))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Scrub while the button is held."""
        if self._dragging:
            self._point(event.x)

    def on_mouse_up(self) -> None:
        """Stop scrubbing."""
        if self._dragging:
            self._dragging = False
            self.release_mouse()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """One cell on."""
        event.stop()
        self.post_message(self.Stepped(cells=1))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """One cell back."""
        event.stop()
        self.post_message(self.Stepped(cells=-1))

    def _point(self, x: int) -> None:
        self.post_message(self.Pointed(max(0, x - LEFT - LABEL)))
