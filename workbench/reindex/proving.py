"""The proof that a text was never read: its own words are searched for, and the rank of its own chunk is said."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.text import utf16_length, utf16_split
from workbench.embedders.failures import EmbedderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.embedders.protocol import EmbeddingProvider
    from workbench.embedders.tokens import TokenCounter
    from workbench.index.model import Namespace

FIRST = 1_000
"""How many of the nearest chunks are looked through for the own one."""

PASSAGE = 150
"""Characters that a query has at least, where whole sentences allow it: as many as people ask with.

Not the whole lost text: it goes on about what was read, and that alone finds the chunk.
"""

MOST_SENT = 600
"""Characters that a query has at most."""

_WINDOW = 4_000
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n{2,}")

SAME = 1e-9
"""Scores that lie nearer to each other than this are equal: no chunk is ahead of another by a rounding error."""


@dataclass(frozen=True, slots=True)
class LostText:
    """What lies behind the ceiling of one chunk: where it begins, in UTF-16 code units, and a passage to ask with."""

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
    query = passage(lost)
    return LostText(id, cut, query) if query else None


def passage(lost: str) -> str:
    """Give the sentences in the middle of a text: at least 150 characters of them where there are, at most 600."""
    text = lost.strip()
    start = max(0, (len(text) - _WINDOW) // 2)
    window = text[start : start + _WINDOW].strip()
    sentences = [each.strip() for each in _SENTENCE_ENDS.split(window) if each and each.strip()]
    if not sentences:
        return ""
    first = last = _at_middle(sentences)
    while _chars(sentences[first : last + 1]) < PASSAGE and (first or last + 1 < len(sentences)):
        if last + 1 < len(sentences):
            last += 1
        else:
            first -= 1
    return _shortened(" ".join(sentences[first : last + 1]))


def _at_middle(sentences: Sequence[str]) -> int:
    half, so_far = _chars(sentences) / 2, 0
    for place, sentence in enumerate(sentences):
        so_far += len(sentence)
        if so_far > half:
            return place
    return len(sentences) - 1


def _chars(sentences: Sequence[str]) -> int:
    return sum(map(len, sentences))


def _shortened(text: str) -> str:
    if len(text) <= MOST_SENT:
        return text
    head, blank, _ = text[: MOST_SENT + 1].rpartition(" ")
    return head if blank else text[:MOST_SENT]


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
            raise EmbedderError(provider.last_error or f"'{provider.model_id}' gave no vector for a text that was lost")
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
