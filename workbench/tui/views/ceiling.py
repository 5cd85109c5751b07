"""The ceiling of a namespace."""

from __future__ import annotations

from workbench.tui.draw import Line, Tone
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.views import Desk, PageView


class Ceiling(PageView):
    """Not there yet."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="ceiling")

    def page(self, frame: Frame) -> Page:
        """Say that there is nothing yet."""
        page = Page()
        page.gap(frame)
        page.add(Line().add("not built yet", Tone.MUTED))
        return page
