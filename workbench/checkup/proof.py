"""Proving what was never read: who can be asked for a namespace, and at which rank lost texts find their chunks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.checkup.incoming import held_against, refusal
from workbench.core.coroutines import run_in_job
from workbench.core.fingerprint import Fingerprint, fingerprint_text
from workbench.core.job import Job
from workbench.core.text import utf16_length
from workbench.embedders.configured import LocalEmbedder, RoutedEmbedder, hosts_of
from workbench.embedders.failures import EmbedderError
from workbench.embedders.opening import open_embedder
from workbench.embedders.tokens import counter_of
from workbench.index.model import SourceError
from workbench.reindex.proving import LostText, Rank, embed_queries, lost_text, rank_of

if TYPE_CHECKING:
    from workbench.checkup.report import NamespaceReport
    from workbench.embedders.configured import Configured
    from workbench.embedders.protocol import BuildingProvider
    from workbench.index.model import Namespace
    from workbench.trust import Configuration

_AT_ONCE = 16
"""Texts that are sent together, so that an answer is seen before all of them are."""


class NobodyToAsk(Exception):
    """No embedder is at hand that makes the vectors of a namespace: one sentence that says why, and the way out."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of one chunk: its rank and the passage that was asked with, or why there is none."""

    id: str
    rank: Rank | None = None
    query: str = ""
    why: str = ""


def embedder_for(namespace: Namespace, report: NamespaceReport, configuration: Configuration) -> Configured:
    """Find the embedder that made a namespace's vectors: one of the same fingerprint, those of this machine first.

    Nobody is asked. An auto-fallback is never taken, since another model may answer for it.

    Raises:
        NobodyToAsk: none is configured or installed, or nothing names it.
    """
    made_by = held_against(namespace, report.fingerprints)
    if made_by is None or made_by.id is None:
        raise NobodyToAsk(
            "nothing names the embedder of these vectors, so nobody can be asked; say it once with workbench label"
        )
    found = [
        each
        for each in configuration.embedders.values()
        if not isinstance(each, RoutedEmbedder) and Fingerprint(each.model_id, each.dimensions) == made_by
    ]
    if not found:
        waiting = configuration.inert[0].path if configuration.inert else None
        raise NobodyToAsk(
            f"no embedder at hand makes {fingerprint_text(made_by)}; configure it in workbench.toml"
            + ("" if waiting is None else f" ({waiting} counts only once it was accepted)")
        )
    return min(found, key=lambda each: (not isinstance(each, LocalEmbedder), len(hosts_of(each))))


def prove(
    namespace: Namespace,
    report: NamespaceReport,
    ids: Sequence[str],
    ceiling: int,
    embedder: Configured,
    job: Job,
    tell: Callable[[Proof], None],
) -> None:
    """Search for what was never read of each chunk, with its own embedder; each outcome is told as it comes.

    Only after consent where ``hosts_of`` the embedder names any: a passage of each lost text is sent. ``ceiling`` holds
    where the model's tokens cannot be counted. ``job`` counts chunks.

    Raises:
        NobodyToAsk: the embedder is not the namespace's, is not installed, or gave no vector.
        SourceError, Cancelled: as a search does.
    """
    refused = refusal(namespace, report.fingerprints, Fingerprint(embedder.model_id, embedder.dimensions))
    if refused is not None:
        raise NobodyToAsk(str(refused))
    try:
        provider = open_embedder(embedder)
        run_in_job(lambda: _whole(namespace, report, ids, ceiling, provider, job, tell), job)
    except EmbedderError as error:
        raise NobodyToAsk(str(error)) from None


async def _whole(
    namespace: Namespace,
    report: NamespaceReport,
    ids: Sequence[str],
    ceiling: int,
    provider: BuildingProvider,
    job: Job,
    tell: Callable[[Proof], None],
) -> None:
    health = report.vectors.health
    of = health.count - health.missing - health.unusable
    try:
        for start in range(0, len(ids), _AT_ONCE):
            job.progress(start, len(ids))
            lost = [_lost(namespace, report, id, ceiling, job) for id in ids[start : start + _AT_ONCE]]
            asked = [each for each in lost if isinstance(each, LostText)]
            for each in lost:
                if isinstance(each, Proof):
                    tell(each)
            vectors = await embed_queries(provider, [each.query for each in asked]) if asked else []
            for place, (each, vector) in enumerate(zip(asked, vectors, strict=True)):
                job.progress(start + place, len(ids))
                now_ms = time.time_ns() // 1_000_000
                quiet = _Quiet()
                with job.watching(quiet):
                    rank = rank_of(
                        namespace, each.id, vector, of=of, now_ms=now_ms, model=provider.model_id, job=quiet.job
                    )
                tell(Proof(each.id, rank, each.query))
        job.progress(len(ids), len(ids))
    finally:
        await provider.dispose()


class _Quiet:
    """A job for one search among several: stopped with them, its rows not counted as chunks."""

    def __init__(self) -> None:
        self.job = Job()

    def interrupt(self) -> None:
        """Stop it."""
        self.job.cancel()


def _lost(namespace: Namespace, report: NamespaceReport, id: str, ceiling: int, job: Job) -> LostText | Proof:
    """Read a chunk and find what was lost of it; a sentence where that is nothing."""
    try:
        chunk = namespace.chunk(id, job)
    except SourceError as error:
        return Proof(id, why=error.message)
    if chunk is None or chunk.text is None:
        return Proof(id, why="its text is not there any more")
    model = report.fingerprints.model
    counter = None if model is None else counter_of(model)
    lost = lost_text(id, chunk.text, ceiling, counter)
    if lost is not None:
        return lost
    if counter is not None and utf16_length(chunk.text) > ceiling:
        return Proof(id, why=f"counted in tokens ({counter.name}) it was read to its end: nothing to search for")
    return Proof(id, why="nothing of it was lost")
