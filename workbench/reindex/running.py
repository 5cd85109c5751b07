"""A re-index from its first row to the swap: begun, built, brought up to date, verified, swapped, or kept for later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.core.ceiling import ChunkCeiling, truncation_warning
from workbench.embedders.activity import Observer, unobserved
from workbench.embedders.failures import EmbedderError
from workbench.embedders.pairs import EmbedderPairError, refuse_mixed_write
from workbench.index.model import Problem, SourceError
from workbench.index.writing import WriteError
from workbench.reindex import copying, leftovers, reporting, sibling
from workbench.reindex.as_json import outcome_as_json
from workbench.reindex.building import CONCURRENCY, Builder, Limits, Stop
from workbench.reindex.lost_indexes import HNSW_METRIC
from workbench.reindex.metering import Meter
from workbench.reindex.model import Outcome, Progress, ReindexError, Resumable, RunState, Settings, Verification
from workbench.reindex.origins import came_from, fingerprint_of, refuse_unasked, swap
from workbench.reindex.probing import Surprise, first_probe, same_model
from workbench.reindex.regaining import reported
from workbench.reindex.sibling import Sibling
from workbench.reindex.swapping import ChangedMeanwhile, NotNow, Swapped, Way, fold_in
from workbench.reindex.verifying import verify

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.reindex.planning import Target

_COMPARED = (
    "embedder",
    "fingerprint",
    "max_chunk_chars",
    "ceiling_source",
    "document_prefix",
    "query_prefix",
    "host",
    "tokenizer",
    "max_input_tokens",
)

ROUNDS = 8
"""How often a source that goes on changing is brought up to date before the run ends and says so."""


@dataclass(frozen=True, slots=True)
class Controls:
    """What a caller decides of a run and hears from it; the callbacks come from the working thread.

    ``on_activity`` is told of requests, waits and retries: a run watches the provider itself, so callers do not.
    ``on_warning`` gets what must be said once a run.
    """

    limits: Limits = field(default_factory=Limits)
    swap: bool = True
    on_progress: Callable[[Progress], None] | None = None
    on_step: Callable[[str], None] | None = None
    on_activity: Observer = unobserved
    on_warning: Callable[[str], None] | None = None
    stop: Stop | None = None
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000


def unfinished(index: str, namespace: str | None = None) -> tuple[tuple[str, Settings, RunState], ...]:
    """Find the unfinished re-indexes of an index, of one namespace or all; raises SourceError for one in use."""
    found = [(path, said) for path in sibling.siblings_of(index) if (said := sibling.peek(path)) is not None]
    return tuple((path, *said) for path, said in found if namespace is None or said[0].namespace == namespace)


def look(
    index: str,
) -> tuple[tuple[tuple[str, Settings, RunState], ...], tuple[tuple[str, str], ...]]:
    """Find the unfinished re-indexes of an index, and those that cannot be read now, each with the reason."""
    readable, others = [], []
    for path in sibling.siblings_of(index):
        try:
            said = sibling.peek(path)
        except SourceError as error:
            others.append((path, error.message))
            continue
        if said is None:
            others.append((path, f"{path} holds no re-index that can be gone on with; --discard removes an empty one"))
        else:
            readable.append((path, *said))
    return tuple(readable), tuple(others)


def discard(index: str, path: str) -> None:
    """Drop an unfinished build and all that it has beside the index; SourceError while another program has it."""
    with Sibling(path):
        leftovers.tidy(index, path)
        sibling.remove(path)


def begin(
    index: str,
    namespace: str,
    target: Target,
    *,
    resplit: bool,
    now_ms: int,
    hnsw_metric: str | None = None,
    job: Job | None = None,
) -> str:
    """Make the sibling file and copy the namespace's rows into it; gives its path. Nothing is sent.

    What an earlier beginning left half-made is removed. ``hnsw_metric`` is asked for where a swap loses such an index.

    Raises:
        ReindexError: one is under way already, or the target may not write.
        SourceError: a writer holds the index.
    """
    _may_write(target, namespace)
    leftovers.remove_half_made(index)
    _alone(index, namespace)
    refuse_unasked(index, hnsw_metric)
    path = sibling.new_path(index)
    settings = target.settings(namespace, resplit=resplit)
    try:
        with sibling.create(path, settings, now_ms) as made:
            made.say(**{HNSW_METRIC: hnsw_metric})
        _alone(index, namespace, path)
        copying.bring(index, path, settings, job)
    except WriteError as error:
        sibling.remove(path)
        raise ReindexError(f"the namespace could not be copied: {error}; the index is untouched") from error
    except BaseException:
        sibling.remove(path)
        raise
    return path


def _alone(index: str, namespace: str, own: str | None = None) -> None:
    """Refuse a second build of a namespace: asked before, and again beside the own one, for two that begin at once."""
    others = [path for path, _, _ in unfinished(index, namespace) if path != own]
    if others:
        raise ReindexError(
            f"a re-index of '{namespace}' is under way in {others[0]}; go on with --resume, or drop it with --discard"
        )


def _may_write(target: Target, namespace: str) -> None:
    """Refuse a pair of embedders whose vectors cannot live together; raises ReindexError."""
    try:
        refuse_mixed_write(target.provider, namespace)
    except EmbedderPairError as error:
        raise ReindexError(f"{error} Nothing was sent.") from error


def check_settings(settings: Settings, target: Target) -> None:
    """Refuse to go on with another embedder than the one that the build was begun with; raises ReindexError."""
    now = target.settings(settings.namespace, resplit=settings.resplit)
    if now != settings:
        differs = ", ".join(
            f"{name} was {getattr(settings, name)!r} and is {getattr(now, name)!r}"
            for name in _COMPARED
            if getattr(settings, name) != getattr(now, name)
        )
        raise ReindexError(
            f"the build was begun with other settings ({differs}); restore them and "
            "resume, or drop the build with --discard"
        )


async def run(index: str, path: str, target: Target, controls: Controls) -> Outcome:
    """Build what is missing, verify, and swap; everything that was paid for is kept whatever happens.

    The outcome says how it ended: swapped, verified, paused (resumable) or failed (the gate did not let it pass).

    Raises:
        ReindexError: it cannot go on as asked.
        SourceError: the index or the build cannot be read.
    """
    with Sibling(path) as open_sibling:
        settings = open_sibling.settings
        check_settings(settings, target)
        _may_write(target, settings.namespace)
        _say_tidied(leftovers.tidy(index, path), controls)
        # Only what was verified can have been swapped; what was not is tried again, quarantined chunks too.
        verified = open_sibling.state() is RunState.VERIFIED
        if not verified:
            open_sibling.forget_quarantined()
        swapped = came_from(index, settings, open_sibling.id, path, controls.now_ms()) if verified else None
    if swapped is not None:
        fold_in(index)
        return _finish(index, path, swapped, None, controls, None)
    meter = Meter(controls.on_activity, controls.limits.chars_per_token)
    target.provider.watch(meter)
    try:
        return await _Run(index, path, target, controls, meter).whole()
    except (Resumable, WriteError) as error:
        said = str(error) if isinstance(error, Resumable) else f"paused: {error}; what was built is kept"
        return _outcome(path, RunState.PAUSED, None, None, said)
    except GateClosed as error:
        return _outcome(path, RunState.FAILED, None, error.verification, str(error))
    except Surprise:
        with Sibling(path) as open_sibling:
            _, vectors, _ = open_sibling.counts()
            nothing_paid = vectors == open_sibling.reused()
        if nothing_paid:
            sibling.remove(path)
        raise
    finally:
        target.provider.watch(controls.on_activity)


class _Run:
    """One run of a build, from what the source has now to the swap."""

    def __init__(self, index: str, path: str, target: Target, controls: Controls, meter: Meter) -> None:
        self._index = index
        self._path = path
        self._target = target
        self._controls = controls
        self._meter = meter
        self._step = controls.on_step or (lambda _: None)
        self._probed = False
        self._changed = False

    async def whole(self) -> Outcome:
        """Bring up to date, build, verify and swap; again when the source was written meanwhile."""
        writer = await self._bring(first=True)
        for _ in range(ROUNDS):
            settings = await self._build()
            writer = await self._bring() if writer is None else writer
            if writer is None and (self._changed or self._pending()):
                continue
            self._go_on()
            self._step("verifying")
            verification = await self._verify()
            self._go_on()
            if writer is not None:
                return self._verified(verification, f"{writer}; --swap puts the build in place then")
            if not self._controls.swap:
                return self._verified(verification, "verified; --swap puts it in place")
            self._step("swapping")
            try:
                return await swap_in(self._index, self._path, verification, self._controls)
            except ChangedMeanwhile:
                self._step(f"'{settings.namespace}' was written to meanwhile")
                writer = await self._bring()
            except SourceError as error:
                if error.problem is not Problem.LOCKED:
                    raise
                return self._verified(verification, f"{error}; --swap puts the build in place then")
            except (WriteError, NotNow) as error:
                return self._verified(verification, f"not swapped: {error}; --swap puts the build in place then")
        raise Resumable(
            f"the index was written to during each of {ROUNDS} looks; what was built is kept: pause its writer and "
            "--resume"
        )

    def _go_on(self) -> None:
        """Stop between two steps, when that was asked for; raises Resumable."""
        stop = self._controls.stop
        if stop is not None and stop.reason is not None:
            raise Resumable(f"paused: {stop.reason}; everything that is built is kept, and --resume goes on")

    async def _bring(self, *, first: bool = False) -> SourceError | None:
        """Take in what the source has now; gives the refusal when another program writes it just now."""
        with Sibling(self._path) as open_sibling:
            settings, copied = open_sibling.settings, open_sibling.copied()
        try:
            found = await asyncio.to_thread(copying.bring, self._index, self._path, settings)
        except SourceError as error:
            if error.problem is not Problem.LOCKED or not copied or not _held(self._index):
                raise
            return None if first else error
        self._changed = not found.none
        if copied and not found.none:
            self._step(f"{found.changed:,} chunks were written and {found.gone:,} deleted meanwhile")
        return None

    def _pending(self) -> bool:
        with Sibling(self._path) as open_sibling:
            return bool(len(open_sibling.pending()))

    async def _build(self) -> Settings:
        controls, provider = self._controls, self._target.provider
        with Sibling(self._path) as open_sibling:
            settings = open_sibling.settings
            if settings.resplit:
                await asyncio.to_thread(copying.resplit, open_sibling, settings.max_chunk_chars, provider.counter)
            open_sibling.say(state=RunState.BUILDING.value)
            if not len(open_sibling.pending()):
                return settings
            try:
                await self._probe(open_sibling)
                await Builder(
                    open_sibling,
                    provider,
                    controls.limits,
                    meter=self._meter,
                    on_progress=controls.on_progress,
                    now_ms=controls.now_ms,
                    stop=controls.stop,
                ).run()
            except Resumable:
                # What was built is kept also where a full disk does not let this be said.
                with suppress(WriteError):
                    open_sibling.say(state=RunState.PAUSED.value)
                raise
        return settings

    async def _probe(self, open_sibling: Sibling) -> None:
        """Before the first text of this run goes out: what must be said once, and one request that is looked at."""
        if self._probed:
            return
        self._step("probing")
        try:
            await first_probe(open_sibling, self._target.provider)
        finally:
            open_sibling.write_down(self._controls.now_ms(), self._meter.take(0))
        self._probed = True
        clipped, total = open_sibling.clipped()
        if clipped and self._controls.on_warning is not None:
            self._controls.on_warning(clipping_warning(open_sibling.settings, clipped, total))

    async def _verify(self) -> Verification:
        with Sibling(self._path) as open_sibling:
            try:
                verification = await verify(open_sibling, self._target.provider)
                same_model(open_sibling, self._target.provider)
            except EmbedderError as error:
                open_sibling.say(state=RunState.PAUSED.value)
                raise Resumable(f"everything is built, and verifying stopped: {error}; --resume goes on") from error
            finally:
                with suppress(WriteError):
                    open_sibling.write_down(self._controls.now_ms(), self._meter.take(0))
            open_sibling.say(state=(RunState.VERIFIED if verification.ok else RunState.FAILED).value)
        if not verification.ok:
            failed = "; ".join(f"{check.name}: {check.detail}" for check in verification.checks if not check.ok)
            raise GateClosed(
                f"the build did not pass its checks and was not swapped ({failed}); the living namespace is as it "
                "was: --resume checks again, --discard drops the build",
                verification,
            )
        return await self._reported(verification)

    async def _reported(self, verification: Verification) -> Verification:
        """Say what comes back that was lost; nothing of it decides anything."""
        self._go_on()
        self._step("comparing")
        with Sibling(self._path) as open_sibling:
            settings = open_sibling.settings
        told = await reported(self._index, self._path, settings, self._target.provider, verification)
        with Sibling(self._path) as open_sibling, suppress(WriteError):
            open_sibling.write_down(self._controls.now_ms(), self._meter.take(0))
        return told

    def _verified(self, verification: Verification, message: str) -> Outcome:
        return _outcome(self._path, RunState.VERIFIED, None, verification, message)


def clipping_warning(settings: Settings, clipped: int, total: int) -> str:
    """Say that some texts are longer than the target reads, as the rest of the program says it."""
    return truncation_warning(
        caller="workbench reindex",
        count=clipped,
        total=total,
        noun="chunk",
        ceiling=ChunkCeiling(settings.max_chunk_chars, settings.ceiling_source),  # type: ignore[arg-type]
        embedder_id=settings.fingerprint,
        resplit_hint="cut them with --resplit",
    )


def _held(index: str) -> bool:
    """Whether it is the index that another program holds, and not the build."""
    with suppress(SourceError):
        from workbench.index.opening import attach

        attach(index).close()
        return False
    return True


async def swap_in(index: str, path: str, verification: Verification | None, controls: Controls) -> Outcome:
    """Swap a verified build in and remove the sibling. Raises ChangedMeanwhile, SourceError, WriteError, ReindexError.

    A build whose swap was done, and which was ended before it said so, is only finished.
    """
    with Sibling(path) as open_sibling:
        settings, state, run_id = open_sibling.settings, open_sibling.state(), open_sibling.id
        _say_tidied(leftovers.tidy(index, path), controls)
    swapped, before = came_from(index, settings, run_id, path, controls.now_ms()), None
    if swapped is None:
        if state is not RunState.VERIFIED:
            raise ReindexError("the build is not verified yet; go on with --resume")
        before = fingerprint_of(index, settings.namespace)
        swapped = await asyncio.to_thread(swap, index, path, settings, run_id, controls.now_ms())
    return _finish(index, path, swapped, verification, controls, before)


def _say_tidied(gone: tuple[str, ...], controls: Controls) -> None:
    if gone and controls.on_warning is not None:
        controls.on_warning(f"removed {', '.join(gone)}: a swap that was ended half-way had left it")


def _finish(
    index: str,
    path: str,
    swapped: Swapped,
    verification: Verification | None,
    controls: Controls,
    before: str | None,
) -> Outcome:
    """Say that it is swapped, keep the report, and remove the sibling."""
    with Sibling(path) as open_sibling:
        settings = open_sibling.settings
        _, _, chars, seconds = open_sibling.journal_totals()
    note = "" if swapped.way is Way.IN_PLACE else f" {swapped.way.value}; the old file is {swapped.kept_file}"
    if swapped.to_remake:
        note += (
            f"; indexes that could not be made here are left out, make them again with: {' '.join(swapped.to_remake)}"
        )
    outcome = _outcome(path, RunState.SWAPPED, swapped.generation, verification, f"swapped{note}")
    # Requests overlap: together they took less than one after the other.
    reporting.remember_speed(settings.embedder, settings.fingerprint, chars, seconds / CONCURRENCY)
    sibling.remove(path)
    report = {"from": before, "to": settings.fingerprint, "at_ms": controls.now_ms(), **outcome_as_json(outcome)}
    return replace(outcome, report=reporting.save(index, report, controls.now_ms()))


class GateClosed(ReindexError):
    """A build did not pass its checks; it is kept to be looked at, and never swapped."""

    def __init__(self, message: str, verification: Verification) -> None:
        super().__init__(message)
        self.verification = verification


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
