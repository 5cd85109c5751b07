"""The overview: the verdicts of a namespace; and the one page of whatever else is under the cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from workbench.tui.actions import Action, Place, bindings_of
from workbench.tui.pages.overview import overview
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.verdicts import concerns
from workbench.tui.views import Desk, PageView
from workbench.tui.widgets.lines import look_of

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.index.model import Namespace
    from workbench.reindex.generations import NamespaceGenerations

_VIEWS = {"1": "overview", "2": "chunks", "3": "ceiling", "4": "vectors"}


class Overview(PageView):
    """Concerns worst first; ``enter`` on one goes where its key goes."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (
        Action(
            "choose",
            ("enter",),
            "enter",
            "go there",
            "go where the key of the row under the cursor goes",
            frozenset({Place.NAMESPACE}),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(ACTIONS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="overview")
        self._paint: Callable[[Frame], Page] = lambda frame: Page()
        self._generations: NamespaceGenerations | None = None

    def show_page(self, paint: Callable[[Frame], Page], *, keep: bool) -> None:
        """Show the page of what is no namespace: a folder, a source, what to press first."""
        self._paint = paint
        self.show(None)
        if not keep:
            self.list.put(0, 0)

    def subject_changed(self) -> None:
        """Look for generations that are kept beside the one that answers."""
        self._generations = None
        subject = self.subject
        if subject is None or subject.source.container != "duckdb":
            return
        path, name = subject.source.path, subject.space.name

        def work(namespace: Namespace, job: Job) -> NamespaceGenerations | None:
            from workbench.reindex.origins import namespaces

            return next((each for each in namespaces(path) if each.namespace == name), None)

        self.ask("generations", work, self._generations_found)

    def _generations_found(self, found: NamespaceGenerations | None) -> None:
        self._generations = found

    def failed(self, slot: str, why: str) -> None:
        """Say nothing: whatever keeps the registry from being read, the verdicts say."""

    def page(self, frame: Frame) -> Page:
        """Draw the verdicts, or the page that was given."""
        return (
            overview(self.subject.space, frame, self._generations) if self.subject is not None else self._paint(frame)
        )

    def actions_here(self) -> tuple[Action, ...]:
        """Nothing can be chosen where there is no report."""
        read = self.subject is not None and self.subject.space.report is not None
        return self.ACTIONS if read else ()

    def chosen(self, place: int) -> None:
        """Go where the key of the concern under the cursor goes."""
        report = self.subject.space.report if self.subject is not None else None
        if report is None:
            return
        rows = concerns(report, look_of(self)[1])
        key = rows[place].key if place < len(rows) else ""
        if key in _VIEWS:
            self.desk.choose_view(_VIEWS[key])
        elif key == "i":
            self.desk.act("incoming")
