"""Proving for the Ceiling view: who is asked, whether they may be, and what came of it, chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.tui.draw import number
from workbench.tui.pages.proof import summary
from workbench.tui.screens.menu import Choice, Menu

if TYPE_CHECKING:
    from workbench.checkup.proof import Proof
    from workbench.checkup.report import NamespaceReport
    from workbench.core.job import Job
    from workbench.embedders.configured import Configured
    from workbench.index.model import Namespace
    from workbench.tui.views import View

FINDING, PROVING = "embedder", "proof"
_Key = tuple[tuple[int, int, int], str, int]


@dataclass(slots=True)
class _Run:
    """What is being proved: these chunks, at this ceiling, of this namespace."""

    key: tuple[int, int, int]
    ids: tuple[str, ...]
    ceiling: int
    outcomes: list[Proof] = field(default_factory=list)


class Proofs:
    """Keeps the proofs of all namespaces that were looked at; reads and asks through the view that it is made for."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._kept: dict[_Key, Proof] = {}
        self._run: _Run | None = None
        self._agreed: set[str] = set()

    def of(self, id: str, ceiling: int) -> Proof | None:
        """Give what came of a chunk of the namespace that is shown."""
        subject = self._view.subject
        return None if subject is None else self._kept.get((subject.key, id, ceiling))

    def asking(self, id: str) -> str:
        """Say what is being done about a chunk; empty when nothing is."""
        run = self._run
        if run is None or id not in run.ids or not {FINDING, PROVING} & self._view.asked.keys():
            return ""
        if any(each.id == id for each in run.outcomes):
            return ""
        return "searching for its lost text"

    @property
    def busy(self) -> bool:
        """Whether something is being proved."""
        return bool({FINDING, PROVING} & self._view.asked.keys())

    def begin(self, ids: Sequence[str], ceiling: int) -> None:
        """Find the embedder, ask where that sends texts, and search; several chunks are always asked about."""
        subject = self._view.subject
        report = subject.space.report if subject is not None else None
        if subject is None or report is None or not ids:
            return
        run = self._run = _Run(subject.key, tuple(ids), ceiling)

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
                self._stopped(run, found)
            else:
                self._ask(run, report, found)

        self._view.ask(FINDING, work, then, what="looking for its embedder")

    def _ask(self, run: _Run, report: NamespaceReport, embedder: Configured) -> None:
        from workbench.embedders.configured import hosts_of

        hosts = hosts_of(embedder)
        if not hosts or (len(run.ids) == 1 and embedder.name in self._agreed):
            self._search(run, report, embedder)
            return
        many = len(run.ids)
        what = "a passage of one lost text" if many == 1 else f"a passage of each of {number(many)} lost texts"

        def chosen(key: str | None) -> None:
            if key == "y":
                self._agreed.add(embedder.name)
                self._search(run, report, embedder)
            else:
                self._view.desk.say("nothing was sent")

        choices = (Choice("y", "send", f"{what}, to {embedder.name}"), Choice("n", "send nothing", ""))
        self._view.app.push_screen(Menu(f"Send to {' and '.join(hosts)}?", choices), chosen)

    def _search(self, run: _Run, report: NamespaceReport, embedder: Configured) -> None:
        if self._view.subject is None or self._view.subject.key != run.key:
            return

        def tell(proof: Proof) -> None:
            run.outcomes.append(proof)
            self._kept[run.key, proof.id, run.ceiling] = proof

        def work(namespace: Namespace, job: Job) -> str:
            from workbench.checkup.proof import NobodyToAsk, prove

            try:
                prove(namespace, report, run.ids, run.ceiling, embedder, job, tell)
            except NobodyToAsk as error:
                return str(error)
            return ""

        def then(why: str) -> None:
            if why:
                self._stopped(run, why)
            elif len(run.ids) > 1:
                self._view.desk.say(summary(run.outcomes))

        self._view.ask(PROVING, work, then, what="searching for what was lost")

    def _stopped(self, run: _Run, why: str) -> None:
        """Say at the first chunk that has no answer why there is none."""
        from workbench.checkup.proof import Proof

        done = {each.id for each in run.outcomes}
        for id in run.ids:
            if id not in done:
                self._kept[run.key, id, run.ceiling] = Proof(id, why=why)

    def failed(self, slot: str, why: str) -> bool:
        """Take notice of a search that could not be done; False when it was none of these."""
        if slot not in (FINDING, PROVING):
            return False
        if self._run is not None:
            self._stopped(self._run, why)
        return True
