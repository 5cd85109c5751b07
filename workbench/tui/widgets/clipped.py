"""The canvas of the Ceiling view: shows its page and turns keys, clicks, drags and the wheel into what they ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.strip import Strip
from textual.widget import Widget

from workbench.tui.actions import MOTION_BINDINGS
from workbench.tui.draw import Ground, Line, Tone
from workbench.tui.pages.ceiling import Drawn
from workbench.tui.pages.parts import FRAME_ROWS, Frame
from workbench.tui.widgets.lines import LineList, look_of, strip_of

if TYPE_CHECKING:
    from workbench.tui.views.ceiling import Ceiling

_LEFT = 2
_RIGHT = 2
_WHEEL_ROWS = 3

_KEYS = {"-": "lower", "+": "raise", "0": "reset", "enter": "open_text"}
"""What a click on a key that stands on the page does."""


class ClippedCanvas(Widget, can_focus=True):
    """Draws the page of the view it is in, anew for each size; two columns of air on both sides."""

    BINDINGS: ClassVar[list[BindingType]] = [*MOTION_BINDINGS]

    def __init__(self, draw: Callable[[Frame], Drawn]) -> None:
        super().__init__(id="ceiling-page")
        self._draw = draw
        self.drawn = Drawn()
        self._dragging = False

    @property
    def _view(self) -> Ceiling:
        from workbench.tui.views.ceiling import Ceiling

        assert isinstance(self.parent, Ceiling)
        return self.parent

    @property
    def frame(self) -> Frame:
        """The room there is."""
        _, signs = look_of(self)
        above = max(0, self.screen.size.height - FRAME_ROWS - self.size.height)
        width = max(20, self.size.width - _LEFT - _RIGHT)
        return Frame(width, max(1, self.size.height), signs, self.has_focus, 0, above)

    @property
    def text(self) -> str:
        """What can be read on the page, all of it."""
        return "\n".join(line.text for line in self.drawn.page.lines)

    def repaint(self) -> None:
        """Draw the page for what is known now."""
        if self.is_mounted and self.size.width:
            self.drawn = self._draw(self.frame)
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a row between its margins; the cursor row reaches one column past the text on both sides."""
        lines, width = self.drawn.page.lines, self.size.width
        if y >= len(lines):
            return strip_of(Line(), width, self)
        line = lines[y]
        if line.ground in (Ground.PLAIN, Ground.LOST):
            made = Line(line.ground).add(" " * _LEFT, plain=True).extend(line.spans)
            return strip_of(made.add(" " * max(0, width - made.cells), plain=True), width, self)
        cursor = line.ground in (Ground.CURSOR, Ground.CURSOR_BLURRED)
        tone = Tone.ACCENT if self.has_focus else Tone.FAINT
        here = look_of(self)[1].cursor if cursor else " "
        return strip_of(Line(line.ground, inset=_LEFT - 1).add(here, tone).extend(line.spans), width, self)

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.repaint()

    def on_focus(self) -> None:
        """Draw anew: the cursor looks another way where the focus is."""
        self.repaint()

    def on_blur(self) -> None:
        """Draw anew: the cursor looks another way where the focus is not."""
        self.repaint()

    # --- motions -----------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """One row."""
        self._view.move(by)

    def action_page(self, by: int) -> None:
        """One page."""
        self._view.turn_page(by)

    def action_first(self) -> None:
        """To the first row."""
        self._view.to_end(last=False)

    def action_last(self) -> None:
        """To the last row."""
        self._view.to_end(last=True)

    def action_inward(self) -> None:
        """Open the chunk under the cursor."""
        self._view.action_open_text()

    def action_outward(self) -> None:
        """Back to the list, from there to the sources."""
        if self._view.back():
            self._view.desk.frame_changed()
        else:
            self.post_message(LineList.Left())

    # --- the mouse ---------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of the ceiling in the chart."""
        if event.y in self.drawn.chart and self._on_plot(event.x):
            self._dragging = True
            self.capture_mouse()
            self.focus()
            self._ceiling_to(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the ceiling."""
        if self._dragging:
            self._ceiling_to(event.x)

    def on_mouse_up(self) -> None:
        """Let go of it."""
        if self._dragging:
            self._dragging = False
            self.release_mouse()

    def _on_plot(self, x: int) -> bool:
        """Whether a column is one of the scale, and not of the amounts and percentiles beside it."""
        scale, at = self.drawn.scale, x - _LEFT - self.drawn.plot_at
        return scale is not None and 0 <= at < scale.cells

    def _ceiling_to(self, x: int) -> None:
        scale = self.drawn.scale
        if scale is not None:
            there = scale.length_at(x - _LEFT - self.drawn.plot_at)
            self._view.set_ceiling(max(1, min(scale.end, round(there / scale.step) * scale.step)))

    def on_click(self, event: events.Click) -> None:
        """Go to a chunk, open the one under the cursor, open its text, or press a key that stands on the page."""
        drawn = self.drawn
        self.focus()
        if event.y in drawn.chart:
            return
        if event.y in drawn.listed:
            place = drawn.top + event.y - drawn.listed.start
            stops = drawn.page.stops
            if event.y in stops and drawn.page.lines[event.y].ground in (Ground.CURSOR, Ground.CURSOR_BLURRED):
                self._view.action_open_text()
            else:
                self._view.move_cursor(place)
        elif event.y in drawn.text:
            self._view.action_open_text()
        elif event.y < len(drawn.page.lines):
            self._press(drawn.page.lines[event.y], event.x - _LEFT)

    def _press(self, line: Line, x: int) -> None:
        at = 0
        for span in line:
            if at <= x < at + span.cells:
                if span.tone is Tone.ACCENT and span.bold and span.text in _KEYS:
                    getattr(self._view, f"action_{_KEYS[span.text]}")()
                return
            at += span.cells

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll what is under the mouse."""
        self._wheel(event.y, _WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll what is under the mouse."""
        self._wheel(event.y, -_WHEEL_ROWS)

    def _wheel(self, y: int, by: int) -> None:
        if y in self.drawn.text:
            self._view.scroll_text(by)
        elif y in self.drawn.listed:
            self._view.move(by)
