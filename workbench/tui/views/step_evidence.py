"""The evidence of a step that searched, beside its payload, and where there is room the chunk at its cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.job import Job
from workbench.tui.draw import Line, Tone, clip_middle, number, titled_rule
from workbench.tui.pages.cut import cut_lines, cut_text, text_width
from workbench.tui.pages.evidence import (
    Evidence,
    candidate_line,
    candidate_page,
    evidence_head,
    evidence_of,
    no_candidates,
)
from workbench.tui.pages.parts import ROOMY, Frame
from workbench.tui.widgets.lines import look_of
from workbench.tui.widgets.rows import HeadRows, RowList
from workbench.tui.widgets.still import StillRows

if TYPE_CHECKING:
    from workbench.crosscheck.joining import JoinedChunk
    from workbench.index.model import Chunk
    from workbench.recordings.model import Candidate
    from workbench.tui.recorded import Recorded
    from workbench.tui.views.steps import Steps

Wanted = tuple[str, str, str]
"""A chunk by the path of its index, its namespace and its id."""


class StepEvidence:
    """Head and candidates of the retrieval under the cursor; ``chunk`` is the one of the candidate under theirs."""

    def __init__(self, view: Steps) -> None:
        self._view = view
        self.head = HeadRows(self._head, id="step-evidence-head")
        self.list = RowList(
            self._draw, self._count, id="step-evidence-list", nothing=self._nothing, stops_at=self._stops
        )
        self.chunk = StillRows(self._chunk_rows, id="step-chunk")
        self.lead = 1
        """Rows of air above the title, so that it stands beside the one to its left."""
        self._made: tuple[Recorded, int, Evidence] | None = None
        self._asked: Wanted | None = None
        self._read: Chunk | None = None
        self._reading: Job | None = None

    @property
    def evidence(self) -> Evidence | None:
        """That of the retrieval which the step under the cursor made."""
        recorded, here = self._view.recorded, self._view.here
        if recorded is None or here is None or here.retrieval is None:
            return None
        if self._made is None or self._made[0] is not recorded or self._made[1] != here.retrieval:
            anew = self._made is None or self._made[1] != here.retrieval
            self._made = (recorded, here.retrieval, evidence_of(recorded.retrievals[here.retrieval]))
            if anew:
                self.list.cursor = 0
        return self._made[2]

    @property
    def found(self) -> tuple[Candidate, JoinedChunk | None] | None:
        """The candidate under the cursor, and what the open indexes know of it."""
        evidence = self.evidence
        return evidence.candidate(self.list.cursor) if evidence is not None else None

    # --- drawing -----------------------------------------------------------------------------------------------

    def redraw(self) -> None:
        """Draw anew what is seen."""
        self.head.draw_anew()
        self.list.rows_changed()
        self.chunk.refresh()

    def _head(self, width: int) -> list[Line]:
        evidence, recorded, here = self.evidence, self._view.recorded, self._view.here
        if evidence is None or recorded is None or here is None or here.retrieval is None:
            return [Line()]
        rows = evidence_head(
            evidence,
            here.retrieval,
            len(recorded.retrievals),
            width,
            look_of(self.head)[1],
            focused=self.list.has_focus,
        )
        if self._view.app.size.height < ROOMY:
            return rows
        return [*([Line()] * self.lead), *rows, Line()]

    def _count(self) -> int:
        return len(self.evidence.rows) if self.evidence is not None else 0

    @property
    def rows(self) -> int:
        """How many rows the candidates take."""
        return max(1, self._count())

    def _stops(self) -> tuple[int, ...]:
        return self.evidence.stops if self.evidence is not None else ()

    def _nothing(self) -> str:
        return no_candidates(self.evidence) if self.evidence is not None else ""

    def _draw(self, index: int, frame: Frame, here: bool) -> Line:
        evidence = self.evidence
        assert evidence is not None
        return candidate_line(evidence, index, frame.width, frame.signs, here=here)

    # --- the chunk at its cut ----------------------------------------------------------------------------------

    @property
    def _wanted(self) -> Wanted | None:
        found = self.found
        if found is None or found[0].id is None or found[1] is None:
            return None
        source, namespace = found[1].source, found[1].namespace
        return None if source is None or namespace is None else (source, namespace, found[0].id)

    def read(self) -> None:
        """Read the chunk of the candidate under the cursor from the index that has it, unless it is there."""
        wanted = self._wanted
        if wanted == self._asked:
            return
        if self._reading is not None:
            self._reading.cancel()
        self._asked, self._read, self._reading = wanted, None, None
        if wanted is None:
            return

        def then(chunk: Chunk | None) -> None:
            if self._asked == wanted:
                self._read = chunk
                self.chunk.refresh()

        self._reading = self._view.desk.read_chunk(*wanted, then)

    def forget(self) -> None:
        """Be about another recording, or not looked at any more."""
        if self._reading is not None:
            self._reading.cancel()
        self._asked, self._read, self._reading = None, None, None

    def _chunk_rows(self, width: int, height: int) -> list[Line]:
        evidence, found = self.evidence, self.found
        if evidence is None or found is None:
            return []
        signs = look_of(self.chunk)[1]
        text = self._read.text if self._read is not None and self._wanted == self._asked else None
        joined = found[1]
        if text is None or joined is None or joined.ceiling is None:
            return candidate_page(evidence, self.list.cursor, Frame(width, height, signs)).lines[:height]
        cut = cut_text(text, joined.ceiling, text_width(len(text), width))
        fact = Line().add(f"{number(cut.units)} chars", Tone.MUTED)
        if cut.lost:
            fact.add(", ", Tone.MUTED).add(f"{number(cut.units - joined.ceiling)} never read", Tone.ERROR, bold=True)
        else:
            fact.add(", all of it read", Tone.MUTED)
        if width >= 70:
            fact.add("   ").add("enter", Tone.ACCENT, bold=True).add(" go to chunk", Tone.MUTED)
        name = clip_middle(found[0].id or "", max(8, width - fact.cells - 6), signs.more)
        rows = [Line(), titled_rule(name, width, signs.rule, fact=fact)]
        room = height - len(rows)
        top = cut.around_cut(room) if cut.lost else cut.first
        return [*rows, *cut_lines(cut, top, room, width, signs)]

    # --- keys --------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Go to the chunk in the index that has it."""
        wanted = self._wanted
        if wanted is None:
            self._view.desk.say("no open index has this chunk")
        elif not self._view.desk.open_chunk(*wanted):
            self._view.desk.say("the index that has this chunk is not open any more")

    def copy_id(self) -> None:
        """Copy the id of the candidate under the cursor."""
        found = self.found
        if found is not None and found[0].id is not None:
            self._view.desk.copy(found[0].id, "the id")
