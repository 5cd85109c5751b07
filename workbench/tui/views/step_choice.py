"""Which steps of a recording are seen: what is chosen by kind and failure, what is folded, what is on top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.tui.draw import number
from workbench.tui.recorded import Recorded, StepRow
from workbench.tui.views import Desk
from workbench.tui.views.recording import RecordingView
from workbench.tui.widgets.rows import RowList

if TYPE_CHECKING:
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


class ChosenSteps(RecordingView):
    """A view with a list of steps of which some are seen; how they are drawn is another's affair."""

    list: RowList

    def __init__(self, desk: Desk, *, id: str) -> None:
        super().__init__(desk, id=id)
        self._left: dict[Key, _Left] = {}
        self._laid: _Laid | None = None

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

    def fold_here(self) -> bool:
        """Fold or unfold the step under the cursor; False when nothing is part of it."""
        return self._fold_here(folded=True) or self._fold_here(folded=False)

    def fold_steps(self, *, folded: bool) -> None:
        """Fold or unfold all steps."""
        recorded = self.recorded
        if recorded is not None and recorded.tree is not None:
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
