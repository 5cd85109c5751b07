"""A re-index from its first row to the swap: begun, built, brought up to date, verified, swapped, or kept for later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.fingerprint import Fingerprint, fingerprint_conflict, fingerprint_text, parse_fingerprint
from workbench.embedders.failures import EmbedderError
from workbench.index.model import Problem, SourceError
from workbench.reindex import copying, reporting, sibling
from workbench.reindex.as_json import outcome_as_json
from workbench.reindex.building import CONCURRENCY, Builder, Limits, Stop
from workbench.reindex.generations import generations
from workbench.reindex.model import Outcome, Progress, ReindexError, Resumable, RunState, Settings, Verification
from workbench.reindex.sibling import Sibling
from workbench.reindex.swapping import ChangedMeanwhile, Swapped, Way, swap
from workbench.reindex.verifying import verify

if TYPE_CHECKING:
    from workbench.embedders.protocol import BuildingProvider
    from workbench.index.job import Job
    from workbench.reindex.planning import Target

ROUNDS = 8
"""How often a source that goes on changing is brought up to date before the run ends and says so."""

PROBE = "One sentence, so that the first answer is looked at before anything else is sent."


@dataclass(frozen=True, slots=True)
class Controls:
    """What a caller decides of a run and hears from it; the callbacks come from the working thread."""

    limits: Limits = field(default_factory=Limits)
    swap: bool = True
    on_progress: Callable[[Progress], None] | None = None
    on_step: Callable[[str], None] | None = None
    stop: Stop | None = None
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000


def unfinished(index: str, namespace: str | None = None) -> tuple[tuple[str, Settings, RunState], ...]:
    """Find the unfinished re-indexes of an index, of one namespace or all; raises SourceError for one in use."""
    found = [(path, said) for path in sibling.siblings_of(index) if (said := sibling.peek(path)) is not None]
    return tuple((path, *said) for path, said in found if namespace is None or said[0].namespace == namespace)


def begin(index: str, namespace: str, target: Target, *, resplit: bool, now_ms: int, job: Job | None = None) -> str:
    """Make the sibling file and copy the namespace's rows into it; gives its path. Nothing is sent.

    Raises:
        ReindexError: one is under way already.
        SourceError: a writer holds the index.
    """
    under_way = unfinished(index, namespace)
    if under_way:
        raise ReindexError(
            f"a re-index of '{namespace}' is under way in {under_way[0][0]}; go on with --resume, or drop it with "
            "--discard"
        )
    path = sibling.new_path(index)
    settings = target.settings(namespace, resplit=resplit)
    sibling.create(path, settings, now_ms).close()
    try:
        copying.bring(index, path, settings, job)
    except BaseException:
        sibling.remove(path)
        raise
    return path


def check_settings(settings: Settings, target: Target) -> None:
    """Refuse to go on with another embedder than the one that the build was begun with; raises ReindexError."""
    now = target.settings(settings.namespace, resplit=settings.resplit)
    if now != settings:
        differs = ", ".join(
            f"{name} was {getattr(settings, name)!r} and is {getattr(now, name)!r}"
            for name in ("fingerprint", "max_chunk_chars", "document_prefix", "query_prefix", "host", "tokenizer")
            if getattr(settings, name) != getattr(now, name)
        )
        raise ReindexError(
            f"the build was begun with other settings ({differs or 'the embedder has another name'}); restore them and "
            "resume, or drop the build with --discard"
        )


async def run(index: str, path: str, target: Target, controls: Controls) -> Outcome:
    """Build what is missing, verify, and swap; everything that was paid for is kept whatever happens.

    The outcome says how it ended: swapped, verified, paused (resumable) or failed (the gate did not let it pass).

    Raises:
        ReindexError: it cannot go on as asked, and nothing was sent.
        SourceError: the index or the build cannot be read.
    """
    with Sibling(path) as open_sibling:
        check_settings(open_sibling.settings, target)
    try:
        return await _run(index, path, target, controls)
    except Resumable as error:
        return _outcome(path, RunState.PAUSED, None, None, str(error))
    except GateClosed as error:
        return _outcome(path, RunState.FAILED, None, error.verification, str(error))


async def _run(index: str, path: str, target: Target, controls: Controls) -> Outcome:
    step = controls.on_step or (lambda _: None)
    with Sibling(path) as open_sibling:
        settings = open_sibling.settings
        if len(open_sibling.pending()):
            step("probing")
            await _probe(target.provider, settings)
    for _ in range(ROUNDS):
        await _build(path, settings, target, controls)
        try:
            found = await asyncio.to_thread(copying.bring, index, path, settings)
            if not found.none:
                step(f"{found.changed:,} chunks were written and {found.gone:,} deleted meanwhile")
                continue
            step("verifying")
            verification = await _verify(path, target)
            if not controls.swap:
                return _outcome(path, RunState.VERIFIED, None, verification, "verified; --swap puts it in place")
            step("swapping")
            return await swap_in(index, path, verification, controls)
        except ChangedMeanwhile:
            continue
        except SourceError as error:
            if error.problem is not Problem.LOCKED:
                raise
            verification = await _verify(path, target)
            return _outcome(path, RunState.VERIFIED, None, verification, f"{error}; --swap puts it in place then")
    raise Resumable(
        f"the index was written to during each of {ROUNDS} looks; what was built is kept: pause its writer and --resume"
    )


async def swap_in(index: str, path: str, verification: Verification | None, controls: Controls) -> Outcome:
    """Swap a verified build in and remove the sibling. Raises ChangedMeanwhile, SourceError, ReindexError."""
    with Sibling(path) as open_sibling:
        settings, state = open_sibling.settings, open_sibling.state()
    if state is not RunState.VERIFIED:
        raise ReindexError("the build is not verified yet; go on with --resume")
    before = _fingerprint_of(index, settings.namespace)
    swapped: Swapped = await asyncio.to_thread(swap, index, path, settings, controls.now_ms())
    note = "" if swapped.way is Way.IN_PLACE else f" {swapped.way.value}; the old file is {swapped.kept_file}"
    outcome = _outcome(path, RunState.SWAPPED, swapped.generation, verification, f"swapped{note}")
    _remember(path, settings)
    sibling.remove(path)
    report = {"from": before, "to": settings.fingerprint, "at_ms": controls.now_ms(), **outcome_as_json(outcome)}
    return replace(outcome, report=reporting.save(index, report, controls.now_ms()))


def _fingerprint_of(index: str, namespace: str) -> str | None:
    """Say what the living namespace is stamped with."""
    found = next((each for each in generations(index) if each.namespace == namespace), None)
    active = None if found is None else next((g for g in found.generations if g.generation == found.active), None)
    return None if active is None else active.fingerprint


def _remember(path: str, settings: Settings) -> None:
    with Sibling(path) as open_sibling:
        _, _, chars, seconds = open_sibling.journal_totals()
    # Requests overlap: together they took less than one after the other.
    reporting.remember_speed(settings.embedder, settings.fingerprint, chars, seconds / CONCURRENCY)


class GateClosed(ReindexError):
    """A build did not pass its checks; it is kept to be looked at, and never swapped."""

    def __init__(self, message: str, verification: Verification) -> None:
        super().__init__(message)
        self.verification = verification


async def _probe(provider: BuildingProvider, settings: Settings) -> None:
    """Send one text and look at what comes, before anything else is sent."""
    try:
        vector = await provider.embed(PROBE, purpose="document")
    except EmbedderError as error:
        raise Resumable(f"the first request failed: {error}; nothing else was sent") from error
    if vector is None:
        raise Resumable("the first request came back without a vector; nothing else was sent")
    row = np.asarray(vector, np.float64)
    expected = parse_fingerprint(settings.fingerprint)
    came = Fingerprint(expected.id, int(row.size))
    if fingerprint_conflict(expected, came) or not np.isfinite(row).all() or not row.any():
        raise ReindexError(
            f"the first answer was {fingerprint_text(came)} where {settings.fingerprint} was planned"
            f"{'' if row.any() else ', all zeros'}; nothing else was sent: mend the configuration and plan again"
        )


async def _build(path: str, settings: Settings, target: Target, controls: Controls) -> None:
    with Sibling(path) as open_sibling:
        if settings.resplit:
            await asyncio.to_thread(copying.resplit, open_sibling, settings.max_chunk_chars)
        open_sibling.say(state=RunState.BUILDING.value)
        builder = Builder(
            open_sibling,
            target.provider,
            controls.limits,
            on_progress=controls.on_progress,
            now_ms=controls.now_ms,
            stop=controls.stop,
        )
        try:
            await builder.run()
        except Resumable:
            open_sibling.say(state=RunState.PAUSED.value)
            raise


async def _verify(path: str, target: Target) -> Verification:
    with Sibling(path) as open_sibling:
        try:
            verification = await verify(open_sibling, target.provider)
        except EmbedderError as error:
            open_sibling.say(state=RunState.PAUSED.value)
            raise Resumable(f"everything is built, and verifying stopped: {error}; --resume goes on") from error
        open_sibling.say(state=(RunState.VERIFIED if verification.ok else RunState.FAILED).value)
    if not verification.ok:
        failed = "; ".join(f"{check.name}: {check.detail}" for check in verification.checks if not check.ok)
        raise GateClosed(f"the build did not pass its checks and was not swapped ({failed})", verification)
    return verification


def _outcome(
    path: str, state: RunState, generation: int | None, verification: Verification | None, message: str
) -> Outcome:
    with Sibling(path) as open_sibling:
        reused = open_sibling.reused()
        _, vectors, _ = open_sibling.counts()
        requests, _, _, _ = open_sibling.journal_totals()
        return Outcome(
            namespace=open_sibling.settings.namespace,
            state=state,
            generation=generation,
            embedded=vectors - reused,
            reused=reused,
            requests=requests,
            quarantined=open_sibling.quarantined(),
            verification=verification,
            report=None,
            message=message,
        )
