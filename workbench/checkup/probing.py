"""One question to one namespace, by a text or by a stored chunk: the exact nearest chunks, or the refusal."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.checkup.incoming import refusal
from workbench.checkup.proof import NobodyToAsk
from workbench.core.coroutines import run_in_job
from workbench.core.fingerprint import Fingerprint, fingerprint_text, parse_fingerprint
from workbench.embedders.failures import EmbedderError
from workbench.embedders.opening import open_embedder
from workbench.reindex.proving import embed_queries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.checkup.report import NamespaceReport
    from workbench.core.job import Job
    from workbench.embedders.configured import Configured
    from workbench.index.model import Namespace, SearchResult

HITS = 10


@dataclass(frozen=True, slots=True)
class Answered:
    """What a search found, and whose vector asked: a fingerprint as text, None when nothing names it."""

    result: SearchResult
    asked_with: str | None


def ask_text(namespace: Namespace, report: NamespaceReport, text: str, embedder: Configured, job: Job) -> Answered:
    """Embed a text as a query with the namespace's own embedder and search. Only after consent where it is served.

    Raises:
        NobodyToAsk: the embedder is another one, is not installed, or gives no vector: one sentence.
        SourceError, Cancelled: as a search does.
    """
    incoming = Fingerprint(embedder.model_id, embedder.dimensions)
    refused = refusal(namespace, report.fingerprints, incoming)
    if refused is not None:
        raise NobodyToAsk(str(refused))
    try:
        provider = open_embedder(embedder)

        async def ask() -> NDArray[np.float64]:
            try:
                return (await embed_queries(provider, [text]))[0]
            finally:
                await provider.dispose()

        vector = run_in_job(ask, job)
    except EmbedderError as error:
        raise NobodyToAsk(str(error)) from None
    return Answered(_search(namespace, vector, incoming.id, None, job), fingerprint_text(incoming))


def ask_like(namespace: Namespace, report: NamespaceReport, id: str, job: Job) -> Answered:
    """Search with the vector of a stored chunk, which is left out of the answer.

    Raises:
        NobodyToAsk: there is no such chunk, or its vector cannot ask: one sentence.
        SourceError, Cancelled: as a search does.
    """
    chunk = namespace.chunk(id, job)
    if chunk is None:
        raise NobodyToAsk(f"there is no chunk {id} here")
    vector = namespace.vector(id, job)
    if vector is None or vector.size == 0:
        raise NobodyToAsk(f"chunk {id} has no vector to search with")
    if not np.isfinite(vector).all() or not vector.any():
        wrong = "is zero in every element" if np.isfinite(vector).all() else "holds a NaN, an infinity or a NULL"
        raise NobodyToAsk(f"the vector of chunk {id} {wrong}: nothing can be compared with it")
    said = None if chunk.fingerprint is None else parse_fingerprint(chunk.fingerprint).id
    named = report.fingerprints.model
    model = said if said is not None else None if named is None else named.id
    asked_with = None if model is None else fingerprint_text(Fingerprint(model, int(vector.size)))
    return Answered(_search(namespace, vector, model, id, job), asked_with)


def _search(
    namespace: Namespace, vector: NDArray[np.float64], model: str | None, without: str | None, job: Job
) -> SearchResult:
    now_ms = time.time_ns() // 1_000_000
    try:
        return namespace.search(vector, k=HITS, now_ms=now_ms, without=without, model=model, job=job)
    except ValueError as error:
        raise NobodyToAsk(f"it cannot be searched with this vector: {error}") from None
