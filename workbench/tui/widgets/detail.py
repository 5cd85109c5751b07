"""The detail: the page of whatever is under the cursor, with a cursor of its own on the rows that can be chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.geometry import Region

from workbench.tui.draw import Ground, Line, Tone
from workbench.tui.pages.parts import FRAME_ROWS, Frame, Page
from workbench.tui.widgets.lines import LineList, look_of

_LEFT = 2
_RIGHT = 2

Paint = Callable[[Frame], Page]


class Detail(LineList):
    """Shows a page, drawn anew for each size; two columns of air on both sides."""

    def __init__(self, *, id: str = "detail") -> None:
        super().__init__(id=id)
        self._paint: Paint = lambda frame: Page()
        self._page = Page()

    def show(self, paint: Paint, *, keep: bool) -> None:
        """Show another page; ``keep`` leaves cursor and scroll where they are, because it is the same one anew."""
        self._paint = paint
        if not keep:
            self.cursor = 0
            self.scroll_home(animate=False)
        self.rows_changed()

    def put(self, cursor: int, scroll: float) -> None:
        """Put cursor and scroll where they were left."""
        self.cursor = cursor
        self.rows_changed()
        self.scroll_to(y=scroll, animate=False)

    def rows_changed(self) -> None:
        """Draw the page for the room there is now; before there is any, nothing."""
        if not self.is_attached:
            return
        _, signs = look_of(self)
        width = max(20, self.size.width - _LEFT - _RIGHT)
        above = max(0, self.screen.size.height - FRAME_ROWS - self.size.height)
        frame = Frame(width, max(1, self.size.height), signs, self.has_focus, self.cursor, above)
        self._page = self._paint(frame)
        super().rows_changed()

    def move_to(self, place: int) -> None:
        """Draw the page anew: it may say more about the row under the cursor."""
        super().move_to(place)
        self.rows_changed()
        row = self._row_of(self.cursor)
        if self._page.told and row is not None:
            self.scroll_to_region(Region(0, row, 1, 1 + self._page.told), animate=False)

    def action_outward(self) -> None:
        """Back to the sources."""
        self.post_message(self.Left())

    @property
    def text(self) -> str:
        """What can be read on the page, all of it."""
        return "\n".join(line.text for line in self._page.lines)

    def row_count(self) -> int:
        """Give the lines of the page."""
        return len(self._page.lines)

    def stops(self) -> Iterable[int]:
        """Give the rows that can be chosen."""
        return self._page.stops

    def draw(self, index: int, width: int) -> Line:
        """Give a line of the page between its margins; a tinted one reaches one column past the text on both sides."""
        _, signs = look_of(self)
        line = self._page.lines[index]
        if line.ground is Ground.PLAIN:
            return Line().add(" " * _LEFT).extend(line.spans)
        here = signs.cursor if line.ground is Ground.CURSOR else " "
        # What was lost is tinted from its gutter on; its offsets stand in the margin's colour.
        plain = line.ground is Ground.LOST
        return Line(line.ground, inset=_LEFT - 1).add(here, Tone.ACCENT, plain=plain).extend(line.spans)
