"""What a recording found: one retrieval at a time with its evidence, and the chunk behind each candidate."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from workbench.tui.actions import Action, bindings_of
from workbench.tui.draw import Line
from workbench.tui.pages.evidence import (
    Evidence,
    candidate_line,
    candidate_page,
    evidence_head,
    evidence_of,
    no_candidates,
)
from workbench.tui.pages.parts import ROOMY, Frame, Page
from workbench.tui.recorded import Recorded
from workbench.tui.views import Desk, Subject
from workbench.tui.views.recording import (
    EVERYWHERE,
    FIND,
    NEXT_ERROR,
    PREVIOUS_ERROR,
    WRITE,
    RecordingView,
    action_of,
)
from workbench.tui.widgets.detail import Detail
from workbench.tui.widgets.lines import LineList, look_of
from workbench.tui.widgets.rows import HeadRows, RowList

_OPEN = action_of("open_candidate", "enter", "enter", "go to chunk", "open the chunk in the index that has it")
_STEP = action_of("to_step", "s", "s", "its step", "go to the step that made it")
_PART = action_of("next_part", "tab", "tab", "passage", "go to what is known of a candidate, then to the sources")
_COPY = action_of("copy_id", "y", "y", "copy id", "copy the id under the cursor")


class Retrievals(RecordingView):
    """Head, candidates with the threshold among them, and what is known of the one under the cursor."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (_OPEN, *EVERYWHERE, _STEP, _PART, _COPY)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(ACTIONS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="retrievals")
        self.head = HeadRows(self._head, id="evidence-head")
        self.list = RowList(
            self._draw_row, self._count, id="candidates-list", nothing=self._nothing, stops_at=self._stops
        )
        self.page = Detail(id="evidence-page")
        self._places: dict[tuple[int, int, int], int] = {}
        self._made: tuple[Recorded, int, Evidence] | None = None

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield self.head
        yield self.list
        yield self.page

    @property
    def place(self) -> int:
        """Which retrieval is shown, from 0."""
        return self._places.get(self.subject.key, 0) if self.subject is not None else 0

    @property
    def evidence(self) -> Evidence | None:
        """The one that is shown."""
        recorded, place = self.recorded, self.place
        if recorded is None or place >= len(recorded.retrievals):
            return None
        if self._made is None or self._made[0] is not recorded or self._made[1] != place:
            self._made = (recorded, place, evidence_of(recorded.retrievals[place]))
        return self._made[2]

    def show(self, subject: Subject | None) -> None:
        """Be about a recording; another one begins with its first candidate."""
        before = self.subject.key if self.subject is not None else None
        super().show(subject)
        if subject is not None and subject.key != before and self.is_mounted:
            self.list.put(0, 0)

    def redraw(self) -> None:
        """Draw anew what is seen."""
        self.head.draw_anew()
        # The list is as high as its rows where there is room; what is known of one of them begins right below.
        self.list.styles.height = max(1, self._count())
        self.list.rows_changed()
        self.page.show(self._page, keep=True)

    def go_to(self, place: int) -> None:
        """Show another retrieval; the steps lead here."""
        if self.subject is not None:
            self._places[self.subject.key] = place
        if self.is_mounted:
            self.list.put(0, 0)
            self.redraw()

    def _head(self, width: int) -> list[Line]:
        recorded, evidence = self.recorded, self.evidence
        if recorded is None or evidence is None:
            return [Line()]
        signs = look_of(self)[1]
        rows = evidence_head(evidence, self.place, len(recorded.retrievals), width, signs, focused=self.list.has_focus)
        return [*rows, Line()] if self.app.size.height >= ROOMY else rows

    def _count(self) -> int:
        return len(self.evidence.rows) if self.evidence is not None else 0

    def _stops(self) -> tuple[int, ...]:
        return self.evidence.stops if self.evidence is not None else ()

    def _nothing(self) -> str:
        return no_candidates(self.evidence) if self.evidence is not None else "nothing was searched in this recording"

    def _draw_row(self, index: int, frame: Frame, here: bool) -> Line:
        evidence = self.evidence
        assert evidence is not None
        return candidate_line(evidence, index, frame.width, frame.signs, here=here)

    def _page(self, frame: Frame) -> Page:
        evidence = self.evidence
        return Page() if evidence is None else candidate_page(evidence, self.list.cursor, frame)

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        """Say more of another candidate."""
        message.stop()
        if message.sender is self.list:
            self.page.show(self._page, keep=False)

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """Open the row that was clicked a second time."""
        message.stop()
        self.action_open_candidate()

    def on_descendant_focus(self) -> None:
        """Draw the title anew."""
        self.head.refresh()

    def actions_here(self) -> tuple[Action, ...]:
        """Nothing can be done where nothing was searched."""
        return self.ACTIONS if self.evidence is not None else (NEXT_ERROR, PREVIOUS_ERROR, FIND, WRITE)

    @property
    def step_here(self) -> int | None:
        """The step that made the retrieval."""
        return self.evidence.joined.retrieval.step if self.evidence is not None else None

    def take_focus(self) -> None:
        """Give the focus to the candidates."""
        self.list.focus()

    def action_open_candidate(self) -> None:
        """Go to the chunk in the index that has it."""
        found = self.evidence.candidate(self.list.cursor) if self.evidence is not None else None
        if found is None:
            return
        candidate, chunk = found
        if candidate.id is None or chunk is None or chunk.source is None or chunk.namespace is None:
            self.desk.say("no open index has this chunk")
        elif not self.desk.open_chunk(chunk.source, chunk.namespace, candidate.id):
            self.desk.say("the index that has this chunk is not open any more")

    def action_next_part(self) -> None:
        """From the candidates to what is known of one, from there to the sources."""
        if self.list.has_focus:
            self.page.focus()
        else:
            self.desk.act("other_pane")

    @property
    def back_title(self) -> str:
        """Where ``esc`` leads."""
        return "candidates" if self.page.has_focus else "sources"

    def back(self) -> bool:
        """From what is known of a candidate to the candidates."""
        if super().back():
            return True
        if self.page.has_focus:
            self.list.focus()
            return True
        return False

    def on_line_list_left(self, message: LineList.Left) -> None:
        """Go the same way by an arrow."""
        if self.page.has_focus:
            message.stop()
            self.list.focus()

    def action_next_retrieval(self) -> None:
        """Go to the next retrieval; after the last one comes the first."""
        self._by(1)

    def action_previous_retrieval(self) -> None:
        """Go to the one before."""
        self._by(-1)

    def _by(self, by: int) -> None:
        recorded = self.recorded
        if recorded is not None and recorded.retrievals:
            self.go_to((self.place + by) % len(recorded.retrievals))

    def action_to_step(self) -> None:
        """Go to the step that made this retrieval."""
        from workbench.tui.views.steps import Steps

        number = self.evidence.joined.retrieval.step if self.evidence is not None else None
        if number is None:
            self.desk.say("the step that made it is not recorded")
            return
        view = self.desk.choose_view("steps")
        if isinstance(view, Steps):
            view.go_to(number)

    def action_copy_id(self) -> None:
        """Copy the id under the cursor, exactly."""
        found = self.evidence.candidate(self.list.cursor) if self.evidence is not None else None
        if found is not None and found[0].id is not None:
            self.desk.copy(found[0].id, "the id")
