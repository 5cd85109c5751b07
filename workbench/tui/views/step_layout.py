"""How the parts of the steps share the room: one below the other, evidence beside payload, or three columns."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Vertical

if TYPE_CHECKING:
    from workbench.tui.views.steps import Steps

BESIDE = 84
"""From so many columns on evidence and payload stand beside each other."""

THREE = 126
"""From so many columns on both stand beside the steps, and the chunk at its cut below these."""


class Shape(StrEnum):
    """Which of the three, as the style sheet calls them."""

    ONE = "-one"
    BESIDE = "-beside"
    THREE = "-three"


class StepsBody(Container):
    """Steps, evidence, chunk and payload; which of them are seen goes by the room and by what the step is."""

    def __init__(self, view: Steps) -> None:
        super().__init__(id="steps-body")
        self._of = view
        self._shared = ""

    def compose(self) -> ComposeResult:
        """In the order in which the cells of the grid are filled."""
        view = self._of
        with Vertical(id="steps-box"):
            yield view.head
            yield view.list
        with Vertical(id="step-evidence-box"):
            yield view.evidence.head
            yield view.evidence.list
        yield view.evidence.chunk
        with Vertical(id="payload-box"):
            yield view.payload.head
            yield view.payload.list

    @property
    def shape(self) -> Shape:
        """By the width there is."""
        width = self.size.width
        return Shape.THREE if width >= THREE else Shape.BESIDE if width >= BESIDE else Shape.ONE

    @property
    def shows_evidence(self) -> bool:
        """Whether the step under the cursor searched, and there is room to see what it found."""
        if self._of.evidence.evidence is None or self._of.payload.says:
            return False
        return self.shape is not Shape.ONE or not self._of.payload.list.has_focus

    @property
    def shows_chunk(self) -> bool:
        """Whether the chunk of the candidate under the cursor is seen at its cut."""
        return self.shape is Shape.THREE and self.shows_evidence

    def share(self, head_rows: int, steps: int) -> None:
        """Share the room anew; ``head_rows`` and ``steps`` are the rows that stand above each other at the left."""
        shape, evidence = self.shape, self.shows_evidence
        for each in Shape:
            self.set_class(each is shape, str(each))
        self.set_class(evidence, "-evidence")
        needed = head_rows + max(1, steps)
        if shape is Shape.THREE and evidence:
            needed = max(needed, self._of.evidence.head.lines_now + self._of.evidence.rows)
        most = max(3, self.size.height * 55 // 100)
        rows = "1fr" if shape is Shape.THREE and not evidence else f"{min(needed, most)} 1fr"
        if rows != self._shared:
            self._shared = rows
            self.styles.grid_rows = rows

    def on_resize(self) -> None:
        """Share other room."""
        self._of.redraw()
