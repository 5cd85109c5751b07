"""Asking a namespace: by a text, where its own embedder is at hand, or by one of its chunks; hits open as chunks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from workbench.tui.actions import Action, Place, bindings_of
from workbench.tui.pages.overview import overview
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.pages.probe import Asked, probe_page
from workbench.tui.screens.menu import Choice, Menu
from workbench.tui.views import Desk, PageView
from workbench.tui.widgets.typed import Question

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.checkup.probing import Answered
    from workbench.checkup.report import NamespaceReport
    from workbench.core.job import Job
    from workbench.embedders.configured import Configured
    from workbench.index.model import Namespace

_ASKING, _FINDING = "asking", "embedder"


def _action(id: str, key: str, title: str, help: str) -> Action:
    return Action(id, (key,), key, title, help, frozenset({Place.NAMESPACE}))


ASK = _action("ask_text", "t", "ask", "search with a text, embedded by the namespace's own embedder")
LIKE = _action("ask_chunk", "c", "by chunk", "search with the vector of a chunk, by its id")
OPEN = _action("choose", "enter", "open chunk", "open the chunk under the cursor")
NEAR = _action("ask_near", "b", "its neighbours", "search with the chunk under the cursor")
COPY = _action("copy_id", "y", "copy id", "copy the id under the cursor")


class Probe(PageView):
    """One question for each namespace is kept, with what it found."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (ASK, LIKE, OPEN, NEAR, COPY)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(ACTIONS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="probe")
        self._questions: dict[tuple[int, int, int], Asked] = {}
        self._agreed: set[str] = set()

    @property
    def _asked(self) -> Asked | None:
        return None if self.subject is None else self._questions.get(self.subject.key)

    @property
    def _report(self) -> NamespaceReport | None:
        return None if self.subject is None else self.subject.space.report

    def page(self, frame: Frame) -> Page:
        """Draw the question and what it found."""
        report = self._report
        if self.subject is None:
            return Page()
        if report is None:
            return overview(self.subject.space, frame)
        ceiling = None if report.ceiling.clipped is None else int(report.ceiling.ceiling.chars)
        return probe_page(self._asked, ceiling, bool(self.asked), frame)

    def actions_here(self) -> tuple[Action, ...]:
        """Nothing can be asked before the verdict, nothing opened before an answer."""
        if self._report is None:
            return ()
        return self.ACTIONS if self._id_here is not None else (ASK, LIKE)

    @property
    def _id_here(self) -> str | None:
        asked = self._asked
        hits = asked.answer.result.hits if asked is not None and asked.answer is not None else ()
        return hits[self.list.cursor].id if self.list.cursor < len(hits) else None

    # --- asking ------------------------------------------------------------------------------------------------

    def action_ask_text(self) -> None:
        """Ask for the words."""
        if self._report is not None:
            asked = self._asked
            start = asked.text if asked is not None and asked.text is not None else ""
            self.desk.type_line(Question("ask", "words; enter searches", start, done=self.ask_with))

    def action_ask_chunk(self) -> None:
        """Ask for the id."""
        if self._report is not None:
            self.desk.type_line(Question("like", "the id of a chunk; enter searches", done=self.ask_like))

    def action_ask_near(self) -> None:
        """Go on from the hit under the cursor."""
        if self._id_here is not None:
            self.ask_like(self._id_here)

    def ask_with(self, text: str) -> None:
        """Find who can embed it, ask whether it may be sent, and search."""
        report = self._report
        if report is None or not text.strip():
            return
        asked = self._keep(Asked(text=text))
        if report.incoming is not None and report.incoming.conflict is not None:
            self._keep(replace(asked, why=report.incoming.message))
            return

        def work(namespace: Namespace, _: Job) -> Configured | str:
            from workbench.checkup.proof import NobodyToAsk, embedder_for
            from workbench.config_reading import ConfigurationError
            from workbench.trust import load_configuration

            try:
                return embedder_for(namespace, report, load_configuration())
            except (NobodyToAsk, ConfigurationError) as error:
                return str(error)

        def then(found: Configured | str) -> None:
            if isinstance(found, str):
                self._keep(replace(asked, why=found))
            else:
                self._may_send(asked, report, found)

        self.ask(_FINDING, work, then, what="looking for its embedder")
        self.redraw()

    def _may_send(self, asked: Asked, report: NamespaceReport, embedder: Configured) -> None:
        from workbench.embedders.configured import hosts_of

        hosts = hosts_of(embedder)
        if not hosts or embedder.name in self._agreed:
            self._embed_and_search(asked, report, embedder)
            return

        def chosen(key: str | None) -> None:
            if key == "y":
                self._agreed.add(embedder.name)
                self._embed_and_search(asked, report, embedder)
            else:
                self._keep(replace(asked, why="nothing was sent"))

        choices = (Choice("y", "send", f"this text, and those asked later, to {embedder.name}"), Choice("n", "do not"))
        self.app.push_screen(Menu(f"Send to {' and '.join(hosts)}?", choices), chosen)

    def _embed_and_search(self, asked: Asked, report: NamespaceReport, embedder: Configured) -> None:
        from workbench.checkup.probing import ask_text

        text = asked.text or ""
        self._search(asked, lambda namespace, job: ask_text(namespace, report, text, embedder, job))

    def ask_like(self, id: str) -> None:
        """Search with the vector of a stored chunk; other views lead here."""
        report = self._report
        if report is None or not id.strip():
            return
        from workbench.checkup.probing import ask_like

        asked = self._keep(Asked(like=id.strip()))
        self._search(asked, lambda namespace, job: ask_like(namespace, report, id.strip(), job))

    def _search(self, asked: Asked, ask: Callable[[Namespace, Job], Answered]) -> None:
        def work(namespace: Namespace, job: Job) -> Answered | str:
            from workbench.checkup.proof import NobodyToAsk

            try:
                return ask(namespace, job)
            except NobodyToAsk as error:
                return str(error)

        def then(found: Answered | str) -> None:
            self._keep(replace(asked, why=found) if isinstance(found, str) else replace(asked, answer=found))
            self.list.put(0, 0)

        self.ask(_ASKING, work, then, what="searching")
        self.redraw()

    def _keep(self, asked: Asked) -> Asked:
        if self.subject is not None:
            self._questions[self.subject.key] = asked
            self._redraw_shown()
        return asked

    def failed(self, slot: str, why: str) -> None:
        """Say it where the answer would stand."""
        asked = self._asked
        if asked is not None:
            self._keep(replace(asked, why=why))

    def back(self) -> bool:
        """Stop the search."""
        stopped = super().back()
        if stopped:
            self.redraw()
        return stopped

    # --- hits --------------------------------------------------------------------------------------------------

    def chosen(self, place: int) -> None:
        """Open the chunk of the hit."""
        from workbench.tui.views.chunks import Chunks

        id = self._id_here
        if id is None:
            return
        view = self.desk.choose_view("chunks")
        if isinstance(view, Chunks):
            view.open_id(id)

    def action_copy_id(self) -> None:
        """Copy the id of the hit."""
        id = self._id_here
        if id is not None:
            self.desk.copy(id, "the id")
