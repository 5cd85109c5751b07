"""What happened in a recording: its steps in time, and below them the values of the one under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from workbench.tui.actions import Action, bindings_of
from workbench.tui.draw import Line, number, titled_rule
from workbench.tui.pages.parts import ROOMY, Frame
from workbench.tui.pages.recording import worst_lines
from workbench.tui.pages.steps import StepLook, axis_line, hidden_fact, step_line
from workbench.tui.recorded import Recorded, StepRow
from workbench.tui.views import Desk, Subject
from workbench.tui.views import step_actions as can
from workbench.tui.views.recording import RecordingView
from workbench.tui.views.step_finding import StepFinding
from workbench.tui.views.step_payload import PAYLOAD, StepPayload
from workbench.tui.widgets.lines import LineList, look_of
from workbench.tui.widgets.rows import HeadRows, RowList

if TYPE_CHECKING:
    from workbench.recordings.finding import Hit
    from workbench.tui.step_tree import Choice, Flags, Seen

Key = tuple[int, int, int]


@dataclass(slots=True)
class _Left:
    """How a recording was left: what was chosen to be seen, the step with the cursor, the first row in view."""

    choice: Choice
    place: int = 0
    top: float | None = None


@dataclass(slots=True)
class _Laid:
    """The rows that are seen of a recording."""

    recorded: Recorded
    seen: Seen
    folded: Flags


class Steps(RecordingView):
    """Two lists: steps, and the payload of one of them or all that is said of the recording."""

    ACTIONS: ClassVar[tuple[Action, ...]] = can.ALL
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(ACTIONS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="steps")
        self.head = HeadRows(self._head, id="steps-head")
        self.list = RowList(
            self._draw_step, self._count, id="steps-list", nothing=self._nothing, opens=self._opens, closes=self._closes
        )
        self.finding = StepFinding(self)
        self.payload = StepPayload(self)
        self._left: dict[Key, _Left] = {}
        self._laid: _Laid | None = None

    def compose(self) -> ComposeResult:
        """Put the steps above, the payload below."""
        yield self.head
        yield self.list
        yield self.payload.head
        yield self.payload.list

    # --- what is shown -----------------------------------------------------------------------------------------

    @property
    def _state(self) -> _Left:
        from workbench.tui.step_tree import Choice

        key = self.subject.key if self.subject is not None else (0, 0, 0)
        return self._left.setdefault(key, _Left(Choice()))

    @property
    def filters(self) -> bool:
        """Whether steps are left out."""
        return self._state.choice.filters

    def _lay_out(self) -> None:
        """Find the rows that are seen, after something was chosen or more was recorded."""
        recorded = self.recorded
        if recorded is None or recorded.tree is None:
            self._laid = None
            return
        choice = self._state.choice
        self._laid = _Laid(recorded, recorded.tree.seen(choice), recorded.tree.folded(choice))

    @property
    def _seen(self) -> _Laid | None:
        if self._laid is None or self._laid.recorded is not self.recorded:
            self._lay_out()
        return self._laid

    def _count(self) -> int:
        return len(self._seen.seen.places) if self._seen is not None else 0

    def _place(self, row: int) -> int | None:
        """Give the place among all rows of one that is seen."""
        laid = self._seen
        return int(laid.seen.places[row]) if laid is not None and row < len(laid.seen.places) else None

    @property
    def place_here(self) -> int | None:
        """The place of the step under the cursor among all rows."""
        return self._place(self.list.cursor)

    @property
    def here(self) -> StepRow | None:
        """The step under the cursor."""
        place, recorded = self.place_here, self.recorded
        return recorded.rows[place] if place is not None and recorded is not None else None

    @property
    def at_last(self) -> bool:
        """Whether the cursor stands on the last step that is seen."""
        return self._count() == self.list.cursor + 1

    def to_last(self) -> None:
        """Go to the last step that is seen."""
        if self.is_mounted:
            self.list.move_to(self._count() - 1)

    @property
    def step_here(self) -> int | None:
        """Its number."""
        return self.here.step.n if self.here is not None else None

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
        self.payload.read()

    def redraw(self) -> None:
        """Draw anew what is seen."""
        self.payload.read()
        self.head.draw_anew()
        # As high as its rows where there is room; the payload begins right below.
        self.list.styles.height = max(1, self._count())
        self.list.rows_changed()
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
        if found is None:
            self.desk.say(
                "every failed step is hidden: f chooses what is seen" if recorded.any_failed else "no step failed"
            )
        else:
            self._go_to_place(found)

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
        recorded = self.recorded
        tree = recorded.tree if recorded is not None else None
        count = len(hits)
        if tree is None or not self.filters:
            return list(range(count))
        fits = tree.fits(self._state.choice)
        places = (tree.place_of(hits[at].step) for at in range(count))
        return [at for at, place in enumerate(places) if place is not None and fits[place]]

    def show_hit(self, hit: Hit) -> None:
        """Go to the step, and to the value in its payload with the way to it unfolded."""
        if self.go_to(hit.step) and hit.part in ("key", "value"):
            self.payload.reveal(hit.span, hit.way.steps() if hit.way is not None else ())

    def action_next_hit(self) -> None:
        """Go to the next place."""
        self.finding.go(1)

    def action_previous_hit(self) -> None:
        """Go to the place before."""
        self.finding.go(-1)

    # --- filtering and folding ---------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Choose which steps are seen."""
        from workbench.tui.screens.kinds import KindsMenu

        recorded = self.recorded
        if recorded is None or recorded.tree is None:
            self.desk.say("no step is recorded")
            return
        choice, tree = self._state.choice, recorded.tree

        def changed(hidden: frozenset[str], errors_only: bool) -> str:
            number_here = self.step_here
            choice.hidden, choice.errors_only = hidden, errors_only
            self._chosen_anew(number_here)
            return f"{number(self._count())} of {number(len(recorded.rows))}"

        failed = int(tree.failed.sum())
        self.app.push_screen(KindsMenu(tree.kinds, failed, choice.hidden, choice.errors_only, changed))

    def _chosen_anew(self, number_here: int | None) -> None:
        """Lay out anew, with the cursor on the same step, else on what it is folded in, else where it stood."""
        recorded = self.recorded
        self._lay_out()
        laid, tree = self._seen, recorded.tree if recorded is not None else None
        row = None
        place = tree.place_of(number_here) if tree is not None and number_here is not None else None
        while laid is not None and tree is not None and place is not None and row is None:
            row = laid.seen.row_of(place)
            above = int(tree.parent[place])
            place = above if above >= 0 else None
        self.redraw()
        self.list.put(row if row is not None else min(self.list.cursor, max(0, self._count() - 1)))
        self.redraw()
        self.desk.frame_changed()

    def action_errors_first(self) -> None:
        """Failed steps on top, with the cursor on the first of them; or all in their order, on the same step."""
        choice, number_here, recorded = self._state.choice, self.step_here, self.recorded
        if number_here is None or recorded is None:
            return
        choice.errors_first = not choice.errors_first
        self._chosen_anew(number_here)
        if choice.errors_first and recorded.any_failed:
            self.list.put(0)
            self.redraw()
        elif choice.errors_first:
            self.desk.say("no step failed")

    def _fold_here(self, *, folded: bool) -> bool:
        recorded, place = self.recorded, self.place_here
        tree = recorded.tree if recorded is not None else None
        if tree is None or place is None or not tree.is_parent[place]:
            return False
        if bool(tree.folded(self._state.choice)[place]) == folded:
            return False
        tree.set_folded(self._state.choice, place, folded=folded)
        self._chosen_anew(self.step_here)
        return True

    def action_fold(self) -> None:
        """Fold or unfold what is under the cursor."""
        if self.payload.list.has_focus:
            self.payload.toggle()
        elif not (self._fold_here(folded=True) or self._fold_here(folded=False)):
            self.desk.say("nothing is part of this step")

    def action_fold_all(self) -> None:
        """Fold everything."""
        self._fold_all(folded=True)

    def action_unfold_all(self) -> None:
        """Unfold everything."""
        self._fold_all(folded=False)

    def _fold_all(self, *, folded: bool) -> None:
        recorded = self.recorded
        if self.payload.list.has_focus:
            if folded:
                self.payload.fold_all()
            else:
                self.payload.unfold_all()
        elif recorded is not None and recorded.tree is not None:
            recorded.tree.fold_all(self._state.choice, folded=folded)
            self._chosen_anew(self.step_here)

    def _opens(self) -> bool:
        """Go right: unfold, or go to the first step that is part of this one; False where none is."""
        here = self.here
        if here is None or not here.is_parent or self._state.choice.errors_only:
            return False
        if not self._fold_here(folded=False):
            self.list.move_to(self.list.cursor + 1)
        return True

    def _closes(self) -> bool:
        """Go left: fold, or go to what the step is part of; False at the top, where the steps are left."""
        if self._fold_here(folded=True):
            return True
        recorded, place = self.recorded, self.place_here
        if recorded is None or recorded.tree is None or place is None:
            return False
        above = int(recorded.tree.parent[place])
        row = self._seen.seen.row_of(above) if above >= 0 and self._seen is not None else None
        if row is not None:
            self.list.move_to(row)
        return row is not None

    # --- keys --------------------------------------------------------------------------------------------------

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        """Another step, or another value of it."""
        message.stop()
        if message.sender is self.list:
            self.payload.says = False
            self.redraw()
        self.payload.head.refresh()
        self.desk.frame_changed()

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """Open the row that was clicked a second time."""
        message.stop()
        self.action_open_step()

    def on_line_list_left(self, message: LineList.Left) -> None:
        """From the payload back to the steps; from these to the sources."""
        if self.payload.list.has_focus:
            message.stop()
            self.list.focus()

    def on_descendant_focus(self) -> None:
        """Draw the titles anew: that of the list with the focus is marked."""
        self.head.refresh()
        self.payload.head.refresh()

    def actions_here(self) -> tuple[Action, ...]:
        """Give what can be done in the list that has the focus."""
        actions = can.IN_PAYLOAD if self.payload.list.has_focus else can.IN_STEPS
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
        return "steps" if self.payload.list.has_focus else "sources"

    def back(self) -> bool:
        """Stop a reading that is named, search for nothing any more, go from the payload to the steps."""
        if super().back():
            self.redraw()
            return True
        if self.finding.needle:
            self.finding.forget()
            self.redraw()
            return True
        if self.payload.list.has_focus:
            self.list.focus()
            return True
        if self.payload.says:
            self.action_said()
            return True
        return False

    def take_focus(self) -> None:
        """Give the focus to the steps."""
        self.list.focus()

    def action_open_step(self) -> None:
        """Go to the retrieval that the step made; fold or unfold it; else go into its payload."""
        here = self.here
        if self.payload.list.has_focus:
            self.payload.toggle()
        elif here is None:
            return
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
        """From the steps to the payload, from there to the sources."""
        if self.list.has_focus:
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
        if self.payload.list.has_focus and not self.payload.says:
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
