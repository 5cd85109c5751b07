"""The proof that a text was never read: searched for by its own words, at which rank does its own chunk come back?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.text import utf16_length, utf16_split
from workbench.embedders.failures import EmbedderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.embedders.protocol import EmbeddingProvider
    from workbench.embedders.tokens import TokenCounter
    from workbench.index.job import Job
    from workbench.index.model import Namespace

FIRST = 1_000
"""How many of the nearest chunks are looked through for the own one."""

MOST_SENT = 2_000
"""UTF-16 code units of a lost text that are sent as a query at most: what lies behind the ceiling may be megabytes."""

SAME = 1e-9
"""Scores that lie nearer to each other than this are equal: no chunk is ahead of another by a rounding error."""


@dataclass(frozen=True, slots=True)
class LostText:
    """What lies behind the ceiling of one chunk: where it begins, in UTF-16 code units, and the query that it makes."""

    id: str
    cut: int
    query: str


@dataclass(frozen=True, slots=True)
class Rank:
    """Where a search for a lost text finds its own chunk.

    Attributes:
        id: the chunk whose text it is.
        rank: from 1; chunks that score alike share it. None when it is not among the ``first`` nearest.
        first: how many were looked through; ``of`` is how many vectors a search can rank.
    """

    id: str
    rank: int | None
    first: int
    of: int


def lost_text(id: str, text: str, ceiling: int, counter: TokenCounter | None = None) -> LostText | None:
    """Give what the embedder never read of a chunk; None when it read all, or what it left is blank.

    The cut is the one that ``counter`` counts exactly, else the ceiling, in UTF-16 code units.
    """
    cut = _cut(text, ceiling, counter)
    if cut is None:
        return None
    _, lost = utf16_split(text, cut)
    query, rest = utf16_split(lost.strip(), MOST_SENT)
    if rest and not rest[0].isspace():
        head, blank, _ = query.rpartition(" ")
        query = head if blank else query
    return LostText(id, cut, query) if query else None


def _cut(text: str, ceiling: int, counter: TokenCounter | None) -> int | None:
    if counter is not None:
        return counter.cut_at(text)
    return ceiling if utf16_length(text) > ceiling else None


async def embed_queries(provider: EmbeddingProvider, texts: Sequence[str]) -> list[NDArray[np.float64]]:
    """Embed texts as queries, in their order. Only after consent where the provider asks a server.

    Raises:
        EmbedderError: there is no vector for one of them.
    """
    vectors = await provider.embed_batch(texts, purpose="query")
    made: list[NDArray[np.float64]] = []
    for vector in vectors:
        if vector is None:
            raise EmbedderError(
                provider.last_error or f"'{provider.model_id}' gave no vector for a text that was lost"
            )
        made.append(np.asarray(vector, np.float64))
    return made


def rank_of(
    namespace: Namespace,
    id: str,
    vector: NDArray[np.float64],
    *,
    of: int,
    now_ms: int,
    pieces: Collection[str] = (),
    model: str | None = None,
    job: Job | None = None,
) -> Rank:
    """Search exactly and say at which rank the chunk, or the first of its ``pieces``, comes back.

    ``of`` is how many vectors can rank; ``model`` is the id of the query's embedder, as for a search. The caller has
    held the fingerprints against each other.

    Raises:
        ValueError: the vector has another length than the namespace's.
        SourceError, Cancelled: as a search does.
    """
    own = {id, *pieces}
    first = min(FIRST, max(1, of))
    found = namespace.search(vector, k=first, now_ms=now_ms, model=model, with_text=False, job=job)
    score = next((hit.score for hit in found.hits if hit.id in own), None)
    if score is None:
        return Rank(id, None, first, of)
    return Rank(id, 1 + sum(hit.score > score + SAME for hit in found.hits), first, of)
