"""The page below the embedder that is typed; it says what was clicked on it and which of its lists is to be turned."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from workbench.tui.draw import Ground, Line, Tone
from workbench.tui.incoming import Typed
from workbench.tui.pages.incoming import Drawn, Shown, Window, incoming_page
from workbench.tui.pages.parts import FRAME_ROWS, Frame
from workbench.tui.state import Node
from workbench.tui.widgets.lines import look_of, strip_of

_MARGIN = 2
_TURN = 3
"""Rows that one notch of the wheel moves a list."""


class VerdictPage(Widget):
    """Two lists in view at a time, and above them the verdict."""

    class EffectPicked(Message):
        """A namespace was clicked."""

        def __init__(self, node: Node) -> None:
            super().__init__()
            self.node = node

    class OfferPicked(Message):
        """An embedder was clicked."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    class Turned(Message):
        """A list is to be moved by some rows."""

        def __init__(self, *, offers: bool, by: int) -> None:
            super().__init__()
            self.offers = offers
            self.by = by

    def __init__(self) -> None:
        super().__init__(id="verdict-page")
        self._shown = Shown(Typed(""))
        self._drawn: Drawn | None = None

    def show(self, shown: Shown) -> None:
        """Draw other data."""
        self._shown, self._drawn = shown, None
        self.refresh()

    @property
    def drawn(self) -> Drawn:
        """The page for the room there is now."""
        if self._drawn is None:
            signs = look_of(self)[1]
            above = self.app.size.height - self.size.height - FRAME_ROWS
            frame = Frame(max(20, self.size.width - 2 * _MARGIN), self.size.height, signs, above=above)
            self._drawn = incoming_page(self._shown, frame)
        return self._drawn

    @property
    def text(self) -> str:
        """What can be read on it."""
        return "\n".join(line.text for line in self.drawn.lines)

    def on_resize(self) -> None:
        """Lay out anew."""
        self._drawn = None

    def render_line(self, y: int) -> Strip:
        """Draw one row between its margins; a tinted one reaches one column past the text on both sides."""
        lines, width = self.drawn.lines, self.size.width
        line = lines[y] if y < len(lines) else Line()
        if line.ground is Ground.PLAIN:
            return strip_of(Line().add(" " * _MARGIN).extend(line.spans), width, self)
        lead = look_of(self)[1].cursor if line.ground is Ground.CURSOR else " "
        tinted = Line(line.ground, inset=_MARGIN - 1).add(lead, Tone.ACCENT)
        return strip_of(tinted.extend(line.spans), width, self)

    def on_click(self, event: events.Click) -> None:
        """Pick what was clicked."""
        event.stop()
        effect, offer = self.drawn.effects.at(event.y), self.drawn.offers.at(event.y)
        if effect is not None:
            self.post_message(self.EffectPicked(self._shown.effects[effect].node))
        elif offer is not None:
            self.post_message(self.OfferPicked(offer))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Turn the list under the mouse."""
        self._turn(event, _TURN)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Turn it back."""
        self._turn(event, -_TURN)

    def _turn(self, event: events.MouseEvent, by: int) -> None:
        event.stop()
        offers = self.drawn.offers
        over_offers = offers.rows > 0 and (_holds(offers, event.y) or not _holds(self.drawn.effects, event.y))
        self.post_message(self.Turned(offers=over_offers, by=by))


def _holds(window: Window, y: int) -> bool:
    """Whether a row is in a list, its title included."""
    return window.top - 1 <= y < window.top + window.rows
