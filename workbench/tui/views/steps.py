"""What happened in a recording: its steps in time, and below them the values of the one under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from workbench.tui.actions import Action, bindings_of
from workbench.tui.draw import Line, titled_rule
from workbench.tui.pages.parts import ROOMY, Frame
from workbench.tui.pages.recording import worst_lines
from workbench.tui.pages.steps import StepLook, axis_line, hidden_fact, step_line
from workbench.tui.views import Desk, Subject
from workbench.tui.views import step_actions as can
from workbench.tui.views.step_choice import ChosenSteps
from workbench.tui.views.step_evidence import StepEvidence
from workbench.tui.views.step_finding import StepFinding
from workbench.tui.views.step_layout import Shape, StepsBody
from workbench.tui.views.step_payload import PAYLOAD, StepPayload
from workbench.tui.widgets.lines import LineList, look_of
from workbench.tui.widgets.rows import HeadRows, RowList
from workbench.tui.widgets.typed import TypedLine

if TYPE_CHECKING:
    from workbench.recordings.finding import Hit


class Steps(ChosenSteps):
    """Two lists: steps, and the payload of one of them or all that is said of the recording."""

    ACTIONS: ClassVar[tuple[Action, ...]] = can.ALL
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(ACTIONS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="steps")
        self.head = HeadRows(self._head, id="steps-head")
        self.list = RowList(
            self._draw_step, self._count, id="steps-list", nothing=self._nothing, opens=self._opens, closes=self._closes
        )
        self._hits_seen: tuple[object, list[int]] | None = None
        self.finding = StepFinding(self)
        self.payload = StepPayload(self)
        self.evidence = StepEvidence(self)
        self.body = StepsBody(self)
        self._rows_above = 0

    def compose(self) -> ComposeResult:
        """See step_layout.py."""
        yield self.body

    # --- what is shown -----------------------------------------------------------------------------------------

    def show(self, subject: Subject | None) -> None:
        """Be about a recording, with the cursor where it was left there; about the same one, on the same step."""
        before, recorded = self.subject, self.recorded
        number = self.step_here
        if before is not None and self.is_mounted:
            state = self._state
            state.place, state.top = self.place_here or 0, self.list.scroll_y
        moved = (before.key if before is not None else None) != (subject.key if subject is not None else None)
        if moved:
            self.finding.forget()
        super().show(subject)
        if not self.is_mounted:
            return
        if moved:
            self._put_back()
        elif recorded is not self.recorded and number is not None:
            self._keep(number)

    def _keep(self, number: int) -> None:
        """Stay on a step when more of the recording is known."""
        recorded = self.recorded
        place = recorded.tree.place_of(number) if recorded is not None and recorded.tree is not None else None
        row = self._seen.seen.row_of(place) if place is not None and self._seen is not None else None
        if row is not None and row != self.list.cursor:
            self.list.put(row)

    def on_mount(self) -> None:
        """Show what is known since before there was room."""
        super().on_mount()
        self._put_back()

    def _put_back(self) -> None:
        state, laid = self._state, self._seen
        row = laid.seen.row_of(state.place) if laid is not None else None
        self.list.put(row or 0, state.top)
        self.payload.forget()
        self.evidence.forget()
        self.payload.read()

    def redraw(self) -> None:
        """Draw anew what is seen."""
        self.payload.read()
        self.head.draw_anew()
        self.list.rows_changed()
        self.evidence.lead = self._rows_above if self.body.shape is Shape.THREE else 1
        self.evidence.redraw()
        self.body.share(self.head.lines_now, self._count())
        if self.body.shows_chunk:
            self.evidence.read()
        self.payload.head.draw_anew()
        self.payload.list.rows_changed()

    def _nothing(self) -> str:
        recorded = self.recorded
        if recorded is not None and recorded.rows:
            return "every step is hidden: f chooses what is seen"
        return "no step is recorded"

    def _head(self, width: int) -> list[Line]:
        recorded = self.recorded
        if recorded is None:
            return [Line()]
        signs = look_of(self)[1]
        choice, fact = self._state.choice, self.finding.fact()
        if not fact.spans or choice.filters:
            fact.add("   " if fact.spans else "")
            fact.extend(hidden_fact(choice, self._count(), len(recorded.rows), recorded.any_failed).spans)
        fact.cut(max(8, width - 8), signs.more)
        rows = [titled_rule("Steps", width, signs.rule, fact=fact, focused=self.list.has_focus)]
        worst = worst_lines(recorded, signs, width)
        self._rows_above = len(worst) + bool(worst)
        if worst:
            rows = [*worst, Line(), *rows] if self.app.size.height >= ROOMY else [*worst, *rows]
        return [*rows, axis_line(recorded, width)] if self.app.size.height >= ROOMY else rows

    def _draw_step(self, index: int, frame: Frame, here: bool) -> Line:
        laid, place = self._seen, self._place(index)
        assert laid is not None
        assert place is not None
        row, choice = laid.recorded.rows[place], self._state.choice
        opened = None
        if row.is_parent and not choice.errors_only and not (choice.errors_first and row.failed):
            opened = not laid.folded[place]
        tree = laid.recorded.tree
        inside = tree.inside(place) if opened is False and tree is not None else (0, 0)
        look = StepLook(int(laid.seen.depths[index]), opened, inside, self.finding.pattern)
        return step_line(row, laid.recorded, frame.width, frame.signs, look, here=here)

    # --- going to a step ---------------------------------------------------------------------------------------

    def go_to(self, number: int) -> bool:
        """Put the cursor on a step by its number, unfolding what it is in; False when the filter hides it."""
        recorded = self.recorded
        place = recorded.tree.place_of(number) if recorded is not None and recorded.tree is not None else None
        if place is not None:
            return self._go_to_place(place)
        return False

    def _go_to_place(self, place: int) -> bool:
        recorded = self.recorded
        if recorded is None or recorded.tree is None:
            return False
        recorded.tree.reveal(self._state.choice, place)
        self._lay_out()
        row = self._seen.seen.row_of(place) if self._seen is not None else None
        if row is None:
            self.desk.say("this step is hidden: f chooses what is seen")
            self.redraw()
            return False
        if not self.is_mounted:
            self._state.place = place
            return True
        self.payload.says = False
        self.redraw()
        self.list.put(row)
        self.redraw()
        self.desk.frame_changed()
        return True

    def go_to_error(self, by: int, number: int | None) -> None:
        """Go to the next failed step behind one, or before it; other views lead here too."""
        recorded = self.recorded
        if recorded is None or recorded.tree is None:
            self.desk.say("no step failed")
            return
        place = recorded.tree.place_of(number) if number is not None else None
        # From nowhere the first one is next, the last one before.
        start = place if place is not None else (-1 if by > 0 else len(recorded.rows))
        found = recorded.tree.beside(recorded.tree.failed, self._state.choice, start, by)
        if found is not None:
            self._go_to_place(found)
        elif recorded.any_failed:
            self.desk.say("every failed step is hidden: f chooses what is seen")
        elif recorded.report.errors:
            self.payload.says = True
            self.redraw()
            self.desk.say("what failed belongs to no step that is recorded")
        else:
            self.desk.say("no step failed")

    def action_next_retrieval(self) -> None:
        """Go to the next step that searched."""
        self._go_to_retrieval(1)

    def action_previous_retrieval(self) -> None:
        """Go to the one before."""
        self._go_to_retrieval(-1)

    def _go_to_retrieval(self, by: int) -> None:
        recorded, here = self.recorded, self.place_here
        tree = recorded.tree if recorded is not None else None
        found = tree.beside(tree.searched, self._state.choice, here or 0, by) if tree is not None else None
        if found is not None:
            self._go_to_place(found)
        elif recorded is not None and recorded.retrievals:
            self.desk.say("no step that is seen searched: 2 shows the retrievals")
        else:
            self.desk.say("nothing was searched")

    # --- finding -----------------------------------------------------------------------------------------------

    def action_find_in(self) -> None:
        """Ask what to search for."""
        self.finding.ask()

    def progressed(self) -> None:
        """Show what was found so far."""
        if self.finding.needle:
            self.finding.came_on()

    def places_of(self, hits: Sequence[Hit]) -> list[int]:
        """Give which of the hits are in steps that the filter leaves."""
        recorded, choice = self.recorded, self._state.choice
        tree = recorded.tree if recorded is not None else None
        count = len(hits)
        if tree is None or not choice.filters:
            return list(range(count))
        asked = (id(hits), count, id(recorded), choice.hidden, choice.errors_only)
        if self._hits_seen is None or self._hits_seen[0] != asked:
            fits = tree.fits(choice)
            places = (tree.place_of(hits[at].step) for at in range(count))
            self._hits_seen = (asked, [at for at, place in enumerate(places) if place is not None and fits[place]])
        return self._hits_seen[1]

    def show_hit(self, hit: Hit) -> None:
        """Go to the step, and to the value in its payload with the way to it unfolded."""
        recorded = self.recorded
        alone = recorded is not None and not recorded.rows
        if not alone and not self.go_to(hit.step):
            return
        if hit.part in ("key", "value"):
            self.payload.reveal(hit)
        elif hit.part == "id":
            self.desk.say(f"found in its id: {hit.excerpt}")

    def action_next_hit(self) -> None:
        """Go to the next place."""
        self.finding.go(1)

    def action_previous_hit(self) -> None:
        """Go to the place before."""
        self.finding.go(-1)

    # --- keys --------------------------------------------------------------------------------------------------

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        """Another step, or another value of it."""
        message.stop()
        if message.sender is self.list:
            self.payload.says = False
            self.redraw()
        elif message.sender is self.evidence.list:
            self.redraw()
        self.payload.head.refresh()
        self.desk.frame_changed()

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """Open the row that was clicked a second time."""
        message.stop()
        self.action_open_step()

    def on_line_list_left(self, message: LineList.Left) -> None:
        """From the payload back to the steps; from these to the sources."""
        if not self.list.has_focus:
            message.stop()
            self.list.focus()

    def on_descendant_focus(self) -> None:
        """Draw the titles anew: that of the list with the focus is marked."""
        self.redraw()

    def actions_here(self) -> tuple[Action, ...]:
        """Give what can be done in the list that has the focus."""
        actions: tuple[Action, ...] = can.IN_PAYLOAD if self.payload.list.has_focus else can.IN_STEPS
        if self.evidence.list.has_focus:
            actions = can.IN_EVIDENCE
        return actions if self.finding.needle else tuple(each for each in actions if each not in can.MATCHES)

    def failed(self, slot: str, why: str) -> None:
        """Say why a payload cannot be shown, in its place."""
        if slot == PAYLOAD:
            self.payload.why = why
        else:
            super().failed(slot, why)

    @property
    def back_title(self) -> str:
        """Where ``esc`` leads."""
        if self.finding.needle:
            return "stop" if self.finding.searching else "found"
        return "steps" if self.payload.list.has_focus or self.evidence.list.has_focus else "sources"

    def back(self) -> bool:
        """Stop a reading that is named, search for nothing any more, go from the payload to the steps."""
        if super().back():
            self.redraw()
            return True
        if self.finding.needle:
            self.finding.forget()
            self.redraw()
            return True
        if self.payload.list.has_focus or self.evidence.list.has_focus:
            self.list.focus()
            return True
        if self.payload.says:
            self.action_said()
            return True
        return False

    def take_focus(self) -> None:
        """Give the focus to the steps, unless a line is being typed for them."""
        if not self.screen.query_one(TypedLine).asking:
            self.list.focus()

    def action_fold(self) -> None:
        """Fold or unfold what is under the cursor."""
        if self.payload.list.has_focus:
            self.payload.toggle()
        elif not self.fold_here():
            self.desk.say("nothing is part of this step")

    def action_fold_all(self) -> None:
        """Fold everything in the list with the focus."""
        if self.payload.list.has_focus:
            self.payload.fold_all()
        else:
            self.fold_steps(folded=True)

    def action_unfold_all(self) -> None:
        """Unfold everything in the list with the focus."""
        if self.payload.list.has_focus:
            self.payload.unfold_all()
        else:
            self.fold_steps(folded=False)

    def action_open_step(self) -> None:
        """Go to the retrieval that the step made; fold or unfold it; else go into its payload."""
        here = self.here
        if self.payload.list.has_focus:
            self.payload.toggle()
        elif self.evidence.list.has_focus:
            self.evidence.open()
        elif here is None:
            self.payload.list.focus()
        elif here.retrieval is not None:
            from workbench.tui.views.retrievals import Retrievals

            view = self.desk.choose_view("retrievals")
            if isinstance(view, Retrievals):
                view.go_to(here.retrieval)
        elif here.is_parent and not self._state.choice.errors_only:
            self.action_fold()
        else:
            self.payload.list.focus()

    def action_next_part(self) -> None:
        """From the steps to the evidence where there is some, to the payload, from there to the sources."""
        if self.list.has_focus and self.body.shows_evidence:
            self.evidence.list.focus()
        elif not self.payload.list.has_focus:
            self.payload.list.focus()
        else:
            self.desk.act("other_pane")

    def action_said(self) -> None:
        """Show all that is said of the recording below the steps, or the payload again."""
        self.payload.says = not self.payload.says
        self.payload.list.put(0, 0)
        self.redraw()

    def action_copy_value(self) -> None:
        """Copy the value under the cursor, of a step all that is recorded of it."""
        row, tree = self.payload.row, self.payload.tree
        if self.evidence.list.has_focus:
            self.evidence.copy_id()
        elif self.payload.list.has_focus and not self.payload.says:
            self.payload.copy([row.node] if row is not None else [])
        else:
            self.payload.copy(tree.tops if tree is not None else [], "the payload")

    def action_copy_path(self) -> None:
        """Copy the way to the value; of a step its id."""
        row, here = self.payload.row, self.here
        if self.payload.list.has_focus:
            if row is not None:
                self.desk.copy(row.node.path, "the path")
        elif here is not None:
            from workbench.recordings.secrets import mask_text

            self.desk.copy(mask_text(here.step.key or here.step.name), "the id" if here.step.key else "the name")
