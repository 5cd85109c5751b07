"""What a guided re-index does on its thread: the engine behind the five steps. Tests bring an engine of their own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from workbench.core.job import Job
from workbench.tui.guide import BuildWatch, Choice, Offer, Offered, Standing, Unfinished

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.embedders.configured import Configured
    from workbench.embedders.protocol import BuildingProvider
    from workbench.reindex.building import Stop
    from workbench.reindex.generations import RolledBack
    from workbench.reindex.model import Outcome, Plan, Settings, Verification
    from workbench.reindex.planning import Target
    from workbench.trust import Configuration, TrustQuestion


@dataclass(frozen=True, slots=True)
class Build:
    """What is built: anew as chosen, or on from ``path``; ``cap_usd`` pauses it."""

    index: str
    namespace: str
    choice: Choice
    path: str | None = None
    cap_usd: float | None = None


class Reindexer(Protocol):
    """The ways of the guide. All but ``clock`` may take long and run on a thread; all raise what the engine raises."""

    def clock(self) -> float:
        """Seconds from some beginning."""

    def offers(self, index: str, namespace: str, max_chunk_chars: int | None) -> Offered:
        """Find what can be chosen; nothing is sent."""

    def accept(self, question: TrustQuestion) -> None:
        """Remember that a file's content was accepted."""

    def plan(self, index: str, namespace: str, choice: Choice, job: Job) -> Plan:
        """Find what building would do; nothing is sent."""

    def run(self, build: Build, watch: BuildWatch, stop: Stop, job: Job) -> Outcome:
        """Build and verify; the living namespace is only read."""

    def standing(self, index: str, namespace: str) -> Standing:
        """Read the generations, and who holds the file."""

    def swap(self, index: str, path: str, verification: Verification | None, job: Job) -> Outcome:
        """Put a verified build in the place of the old generation."""

    def discard(self, index: str, path: str) -> None:
        """Drop a build."""

    def roll_back(self, index: str, namespace: str) -> RolledBack:
        """Let the generation before answer again."""

    def drop_old(self, index: str, namespace: str) -> int:
        """Drop the generations that do not answer."""


class EngineReindexer:
    """The real engine; ``configuration`` and ``opened`` say where embedders come from."""

    def __init__(
        self,
        configuration: Callable[[], Configuration] | None = None,
        opened: Callable[[Configured, Callable[[str], None]], BuildingProvider] | None = None,
    ) -> None:
        self._configuration = configuration or _configuration
        self._opened = opened or _opened

    def clock(self) -> float:
        """Measure with the clock that never goes back."""
        return time.monotonic()

    def offers(self, index: str, namespace: str, max_chunk_chars: int | None) -> Offered:
        """Read the configuration, and look for an unfinished re-index beside the index."""
        from workbench.config_reading import ConfigurationError
        from workbench.index.model import SourceError
        from workbench.reindex.model import ReindexError

        trouble = ""
        unfinished = None
        try:
            unfinished = _unfinished(index, namespace)
        except (SourceError, ReindexError) as error:
            trouble = f"a re-index of this file is under way elsewhere: {error}"
        try:
            configuration = self._configuration()
        except ConfigurationError as error:
            return Offered(unfinished=unfinished, trouble=str(error))
        offers = tuple(_offer(each, max_chunk_chars) for each in configuration.embedders.values())
        return Offered(offers, configuration.inert, unfinished, trouble)

    def accept(self, question: TrustQuestion) -> None:
        """Remember it in the user's own state."""
        from workbench.trust import accept

        accept(question)

    def plan(self, index: str, namespace: str, choice: Choice, job: Job) -> Plan:
        """Read the namespace."""
        from workbench.reindex.planning import plan

        return plan(index, namespace, self._target(choice, lambda _: None), resplit=choice.resplit, job=job)

    def run(self, build: Build, watch: BuildWatch, stop: Stop, job: Job) -> Outcome:
        """Run in a loop of this thread's own; a cancelled job ends it at once, and what is committed is kept."""
        from workbench.core.coroutines import run_in_job
        from workbench.reindex import running
        from workbench.reindex.building import Limits

        target = self._target(build.choice, watch.warned)
        provider = target.provider
        path = build.path
        if path is None:
            watch.step("copying the rows")
            path = running.begin(
                build.index, build.namespace, target, resplit=build.choice.resplit, now_ms=_now_ms(), job=job
            )
        watch.begun(path, _kept(path)[0] or 0)
        watch.route = lambda: str(getattr(provider, "routing_state", "") or "")
        entry = target.entry
        price = entry.price_usd if entry is not None and provider.host is not None else None
        controls = running.Controls(
            limits=Limits(max_cost_usd=build.cap_usd, price_usd=price),
            swap=False,
            on_progress=watch.progress,
            on_step=watch.step,
            on_activity=watch.activity,
            on_warning=watch.warned,
            stop=stop,
        )

        async def work() -> Outcome:
            try:
                return await running.run(build.index, path, target, controls)
            finally:
                await provider.dispose()

        try:
            return run_in_job(work, job)
        finally:
            watch.end()

    def standing(self, index: str, namespace: str) -> Standing:
        """Read the registry; of who holds the file only what the system says."""
        from workbench.index.holders import held_by_another
        from workbench.index.model import SourceError
        from workbench.reindex.origins import namespaces, written_since

        found = next((each for each in namespaces(index) if each.namespace == namespace), None)
        try:
            held = held_by_another(index)
        except SourceError:
            held = None
        if found is None:
            return Standing(held=held)
        return Standing(found.active, found.generations, held, written_since(index, namespace)[1])

    def swap(self, index: str, path: str, verification: Verification | None, job: Job) -> Outcome:
        """Swap in one transaction, or by a new file where readers hold the old one."""
        from workbench.core.coroutines import run_in_job
        from workbench.reindex import running

        return run_in_job(lambda: running.swap_in(index, path, verification, running.Controls()), job)

    def discard(self, index: str, path: str) -> None:
        """Remove the sibling file and what belongs to it."""
        from workbench.reindex.running import discard

        discard(index, path)

    def roll_back(self, index: str, namespace: str) -> RolledBack:
        """Move the pointer back."""
        from workbench.reindex.origins import roll_back

        return roll_back(index, namespace, _now_ms())

    def drop_old(self, index: str, namespace: str) -> int:
        """Drop their tables."""
        from workbench.reindex.origins import drop_retired

        return drop_retired(index, namespace)

    def _target(self, choice: Choice, warn: Callable[[str], None]) -> Target:
        from workbench.reindex.planning import Target

        found = self._configuration().find(choice.embedder)
        return Target(choice.embedder, self._opened(found, warn), choice.max_chunk_chars)


def choice_of(settings: Settings) -> Choice:
    """Give the choice that a build was begun with."""
    explicit = settings.max_chunk_chars if settings.ceiling_source == "explicit" else None
    return Choice(settings.embedder, explicit, settings.resplit)


def _configuration() -> Configuration:
    from workbench.trust import load_configuration

    return load_configuration()


def _opened(configured: Configured, warn: Callable[[str], None]) -> BuildingProvider:
    from workbench.embedders.opening import open_embedder

    return open_embedder(configured, warn=warn)


def _offer(configured: Configured, max_chunk_chars: int | None) -> Offer:
    """Say what an embedder declares; it is not opened for that."""
    from workbench.core.fingerprint import Fingerprint, fingerprint_text
    from workbench.embedders.configured import LocalEmbedder, RoutedEmbedder, hosts_of
    from workbench.embedders.models import model_table, resolve_index_ceiling
    from workbench.embedders.opening import is_installed
    from workbench.embedders.pairs import pair_conflict

    fingerprint = Fingerprint(configured.model_id, configured.dimensions)
    hosts = hosts_of(configured)
    entry = model_table().known(fingerprint) if hosts else None
    legs = (configured.primary, configured.fallback) if isinstance(configured, RoutedEmbedder) else (configured,)
    missing = next((leg.extra for leg in legs if isinstance(leg, LocalEmbedder) and not is_installed(leg)), "")
    conflict = pair_conflict(*legs) if len(legs) == 2 else None
    return Offer(
        configured.name,
        fingerprint_text(fingerprint),
        resolve_index_ceiling(max_chunk_chars, configured.max_input_chars, fingerprint),
        hosts,
        entry.price_usd if entry is not None else None,
        entry.price_read_on if entry is not None else None,
        missing,
        conflict.message if conflict is not None else "",
    )


def _unfinished(index: str, namespace: str) -> Unfinished | None:
    from workbench.reindex.running import unfinished

    found = unfinished(index, namespace)
    if not found:
        return None
    path, settings, state = found[0]
    return Unfinished(path, settings, state, *_kept(path))


def _kept(path: str) -> tuple[int | None, int | None]:
    """Count the vectors of a build and those it shall have; nothing when it cannot be opened now."""
    from workbench.index.model import SourceError
    from workbench.reindex.model import ReindexError
    from workbench.reindex.sibling import Sibling

    try:
        with Sibling(path) as sibling:
            total, done, _ = sibling.counts()
    except (SourceError, ReindexError):
        return None, None
    return done, total


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
