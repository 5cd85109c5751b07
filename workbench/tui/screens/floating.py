"""What floats above the main screen: the screen behind it dimmed, once for every look of it and not for every key."""

from __future__ import annotations

import time
from typing import TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.screen import ModalScreen
from textual.strip import Strip

T = TypeVar("T")

_FRESH_SECONDS = 0.25
"""What lies behind is dimmed anew when it is older than that."""


class Floating(ModalScreen[T]):
    """A screen above another one, which is seen through its background by as much as that is translucent.

    Textual's own way takes some 50 ms on a screen of 120x40, again and again: it mixes every colour of every cell.
    """

    def __init__(self) -> None:
        super().__init__()
        self._behind: list[Strip] = []
        self._behind_since = 0.0
        self._dimmed: dict[tuple[Style | None, Color], Style] = {}

    def behind_changed(self) -> None:
        """Dim anew what lies behind, now: it was drawn anew."""
        self._behind_since = 0.0
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Give a row of what lies behind, dimmed."""
        now = time.monotonic()
        if now - self._behind_since > _FRESH_SECONDS or len(self._behind) != self.size.height:
            self._behind, self._behind_since = self._look_behind(), now
        return self._behind[y] if y < len(self._behind) else Strip.blank(self.size.width, self.rich_style)

    def _look_behind(self) -> list[Strip]:
        stack = self.app.screen_stack
        place = stack.index(self) if self in stack else 0
        if place == 0:
            return []
        colour = self.styles.background
        return [
            Strip([Segment(text, self._dim(style, colour)) for text, style, control in strip if not control])
            for strip in stack[place - 1]._compositor.render_strips()
        ]

    def _dim(self, style: Style | None, over: Color) -> Style:
        """Mix the colours of a style with what lies over it; links and meta data are gone, so nothing is clicked."""
        found = self._dimmed.get((style, over))
        if found is None:
            plain = style.clear_meta_and_links() if style is not None else Style()
            if over.a == 0 or over.ansi is not None:  # colours of an ansi theme cannot be mixed
                self._dimmed[style, over] = plain
                return plain
            mixed = Style.from_color(
                (Color.from_rich_color(plain.color) + over).rich_color if plain.color is not None else None,
                (Color.from_rich_color(plain.bgcolor) + over).rich_color if plain.bgcolor is not None else None,
            )
            found = self._dimmed[style, over] = plain + mixed
        return found
