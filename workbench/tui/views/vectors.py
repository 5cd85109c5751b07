"""The vectors of a namespace: what is unusable, row by row, and what each row would do to a search."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from workbench.core.job import Job
from workbench.index.model import MAX_LISTED, Namespace, UnusableRow
from workbench.tui.actions import Action, Place, bindings_of
from workbench.tui.pages.overview import overview
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.pages.vectors import Kind, Listing, choices, vectors_page
from workbench.tui.views import Desk, PageView, Subject

_ROWS = "rows"


class Vectors(PageView):
    """Counts, spaces and norms from the report; the rows by id are looked up when the view is first looked at."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action(
            "choose",
            ("enter",),
            "enter",
            "open chunk",
            "open the chunk of the row under the cursor; on a kind, go to its first row",
            frozenset({Place.NAMESPACE}),
        ),
        Action(
            "look_up",
            ("r",),
            "r",
            "look up",
            "look up which rows are unusable, again",
            frozenset({Place.NAMESPACE}),
            in_footer=False,
        ),
        Action("copy_id", ("y",), "y", "copy id", "copy the id under the cursor", frozenset({Place.NAMESPACE})),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(ACTIONS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="vectors")
        self._rows: dict[tuple[int, int, int], tuple[UnusableRow, ...]] = {}
        self._why = ""

    @property
    def _listing(self) -> Listing:
        rows = self._rows.get(self.subject.key) if self.subject is not None else None
        return Listing(rows, _ROWS in self.asked, self._why)

    def page(self, frame: Frame) -> Page:
        """Draw what the report says, and the rows as far as they are known."""
        if self.subject is None:
            return Page()
        space = self.subject.space
        return overview(space, frame) if space.report is None else vectors_page(space.report, self._listing, frame)

    def show(self, subject: Subject | None) -> None:
        """Begin to look up the rows as soon as it is known that there are any."""
        super().show(subject)
        if self._wanting:
            self.action_look_up()

    def subject_changed(self) -> None:
        """Forget why the rows of another namespace could not be looked up."""
        self._why = ""

    @property
    def _wanting(self) -> bool:
        """Whether there are rows to look up, and nobody has begun or given up."""
        if self.subject is None or self.subject.space.report is None:
            return False
        health = self.subject.space.report.vectors.health
        listing = self._listing
        known = listing.rows is not None or listing.reading or bool(listing.why)
        return bool(health.unusable + health.missing) and not known

    def action_look_up(self) -> None:
        """Look up the first rows that never rank."""
        subject = self.subject
        if subject is None or subject.space.report is None:
            return
        self._why = ""

        def work(namespace: Namespace, job: Job) -> tuple[UnusableRow, ...]:
            return namespace.unusable_rows(MAX_LISTED, job)

        def then(rows: tuple[UnusableRow, ...]) -> None:
            self._rows[subject.key] = rows

        self.ask(_ROWS, work, then, what="looking up unusable rows")
        self.redraw()

    def failed(self, slot: str, why: str) -> None:
        """Say in the place of the rows why they are not there."""
        self._why = why

    def back(self) -> bool:
        """Stop looking up rows before anything else."""
        if not super().back():
            return False
        self._why = "looking up was stopped"
        self.redraw()
        return True

    @property
    def _here(self) -> Kind | UnusableRow | None:
        """What is under the cursor."""
        report = self.subject.space.report if self.subject is not None else None
        if report is None:
            return None
        found = choices(report, self._listing)
        return found[self.list.cursor] if self.list.cursor < len(found) else None

    def actions_here(self) -> tuple[Action, ...]:
        """Open and copy where a row is under the cursor; a kind only leads to its first row."""
        choose, look_up, copy_id = self.ACTIONS
        here = self._here
        if here is None:
            return (look_up,) if self._why else ()
        return (choose, copy_id, look_up) if isinstance(here, UnusableRow) else (choose, look_up)

    def chosen(self, place: int) -> None:
        """Open a row's chunk; from a kind go to the first row of that kind."""
        here = self._here
        if isinstance(here, UnusableRow):
            self._open(here)
            return
        report = self.subject.space.report if self.subject is not None else None
        if here is None or report is None:
            return
        for at, each in enumerate(choices(report, self._listing)):
            if isinstance(each, UnusableRow) and each.reason is here.kind:
                self.list.move_to(at)
                return

    def _open(self, row: UnusableRow) -> None:
        """Show the chunk of a row in the view of chunks."""
        from workbench.tui.views.chunks import Chunks

        view = self.desk.choose_view("chunks")
        if isinstance(view, Chunks):
            view.open_id(row.id)

    def action_copy_id(self) -> None:
        """Copy the id under the cursor, exactly."""
        here = self._here
        if isinstance(here, UnusableRow):
            self.desk.copy(here.id, "the id")
