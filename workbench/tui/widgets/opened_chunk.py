"""The opened chunk: its page, and the places on it that keys go to."""

from __future__ import annotations

import re

from textual.timer import Timer

from workbench.core.text import utf16_length, utf16_split
from workbench.tui.pages.chunk import PART, Landmarks, OpenChunk, chunk_page
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.widgets.detail import Detail

_SETTLES = 0.3


class OpenedChunk(Detail):
    """Shows one chunk; long texts in parts."""

    def __init__(self) -> None:
        super().__init__(id="chunk-page")
        self.opened: OpenChunk | None = None
        self.landmarks = Landmarks()
        self.cut_due = False
        self._match_due = False
        self._settled: Timer | None = None

    def open(self, opened: OpenChunk | None) -> None:
        """Show a chunk from its beginning, or at the first place with what was searched for, or at its cut."""
        self.opened, self.landmarks = opened, Landmarks()
        if opened is not None:
            opened.part = _part_with(opened.chunk.text or "", opened.needle)
            if self.cut_due:
                opened.part = _part_of_cut(opened)
            self._match_due = bool(opened.needle)
            self.show(self._page_of, keep=False)

    def rows_changed(self) -> None:
        """Draw the page; once there is room, go to the first place with what was searched for, or to the cut."""
        super().rows_changed()
        if (self.cut_due or self._match_due) and self.opened is not None and self.size.height > 1 and self.size.width:
            # The pane takes its size in steps, so the page is drawn, and gone to where it should be, for each of them.
            self.call_after_refresh(self._go_where_due)
            if self._settled is None:
                self._settled = self.set_timer(_SETTLES, self._stay)

    def _go_where_due(self) -> None:
        if self.cut_due:
            self.go_to(self.landmarks.cut)
        elif self._match_due and self.landmarks.matches:
            self.go_to(self.landmarks.matches[0])

    def _stay(self) -> None:
        """From now on the page stays where the user puts it."""
        self.cut_due, self._match_due, self._settled = False, False, None

    def _page_of(self, frame: Frame) -> Page:
        # Drawn also before there is room: which keys mean something here is known from it.
        if self.opened is None:
            return Page()
        page, self.landmarks = chunk_page(self.opened, frame)
        return page

    def go_to(self, row: int) -> None:
        """Show a row of the page with a third of the room above it."""
        if row >= 0:
            self.scroll_to(y=max(0, row - self.size.height // 3), animate=False)

    def go_to_match(self, by: int) -> None:
        """Go to the next match, or the one before; after the last one comes the first."""
        matches = self.landmarks.matches
        if not matches:
            return
        seen = int(self.scroll_offset.y) + self.size.height // 3
        ahead = [row for row in matches if row > seen] if by > 0 else [row for row in matches if row < seen][::-1]
        self.go_to(ahead[0] if ahead else matches[0 if by > 0 else -1])

    def turn(self, by: int) -> bool:
        """Show another part of a long text; False when there is none."""
        opened = self.opened
        if opened is None or not 0 <= opened.part + by < opened.parts:
            return False
        opened.part += by
        self.show(self._page_of, keep=False)
        return True


def _part_of_cut(opened: OpenChunk) -> int:
    """Give the part of a long text in which the embedder stopped, the first part where it read all of it."""
    text, ceiling = opened.chunk.text or "", opened.ceiling
    if ceiling is None or len(text) <= PART or utf16_length(text) <= ceiling:
        return 0
    return len(utf16_split(text, ceiling)[0]) // PART


def _part_with(text: str, needle: str) -> int:
    """Give the part of a long text in which the needle first stands, the first part where it does not."""
    if not needle or len(text) <= PART:
        return 0
    match = re.search(re.escape(needle), text, re.IGNORECASE)
    return match.start() // PART if match is not None else 0
