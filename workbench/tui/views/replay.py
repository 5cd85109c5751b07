"""The routing log replayed: what each call did, and the state as it was at any of them."""

from __future__ import annotations

from workbench.tui.draw import Line
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.views import Desk, PageView


class ReplayView(PageView):
    """One log."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="replay")

    def page(self, frame: Frame) -> Page:
        """Say how many calls there are."""
        routed = self.subject.routed if self.subject is not None else None
        return Page([Line().add(f"{routed.replay.count} calls" if routed is not None else "")])
