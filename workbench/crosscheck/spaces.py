"""Whether a retrieval was scored in the space of its query: the index, the loaded entries, an answer of nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from workbench.core.fingerprint import Conflict, Fingerprint, fingerprint_conflict, fingerprint_text, parse_fingerprint
from workbench.embedders.models import model_table

if TYPE_CHECKING:
    from workbench.crosscheck.indexed import IndexedNamespace
    from workbench.index.model import Chunk
    from workbench.recordings.model import LoadedEntry, Retrieval


class Against(StrEnum):
    """What the query's embedder was held against."""

    INDEX = "index"
    CHUNKS = "chunks"
    ENTRIES = "entries"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class WrongSpace:
    """A retrieval whose scores compare vectors of two embedders, or that came back empty because of that.

    Attributes:
        against: what says so: the index's fingerprint, chunks of it, entries that were loaded, or an empty answer.
        query: the embedder of the query.
        other: the embedder of what was searched; None when nothing names it (an empty answer).
        conflict: ``dimensions``, ``model``, or None for an empty answer whose cause is not known.
        count: how many chunks or entries; 0 when the index as a whole decides.
        same_model: the model table lists both names as one space.
        empty: the search gave nothing at all, without a word of refusal.
    """

    against: Against
    query: Fingerprint
    other: Fingerprint | None
    conflict: Conflict | None
    count: int = 0
    same_model: bool = False
    empty: bool = False


def wrong_space(
    retrieval: Retrieval, namespace: IndexedNamespace | None, chunks: Sequence[Chunk | None]
) -> WrongSpace | None:
    """Say in which wrong space a retrieval was scored; None when nothing speaks against it.

    Loaded entries decide first, since they were there; then the index, then single chunks in it.
    """
    query = retrieval.fingerprint
    if query is None:
        return None
    empty = not retrieval.candidates and retrieval.corpus_empty is True
    by_entries = _most_frequent(query, [_of_entry(entry, query) for entry in retrieval.entries])
    if by_entries is not None:
        return _verdict(Against.ENTRIES, query, by_entries[0], by_entries[1], empty=empty)
    if namespace is not None and namespace.fingerprint is not None:
        held = [chunk for chunk in chunks if chunk is not None]
        said = [parse_fingerprint(each.fingerprint) for each in held if each.fingerprint]
        by_chunks = _most_frequent(query, said)
        # in a namespace of several models the chunks know better than the whole
        all_fit = by_chunks is None and bool(held) and len([each for each in said if each.id is not None]) == len(held)
        if fingerprint_conflict(namespace.fingerprint, query) is not None and not all_fit:
            if loaded_otherwise(retrieval, namespace.fingerprint):
                return None  # the index was built again since
            return _verdict(Against.INDEX, query, namespace.fingerprint, 0, empty=empty)
        if by_chunks is not None:
            return _verdict(Against.CHUNKS, query, by_chunks[0], by_chunks[1], empty=empty)
    unknown = namespace is None or (namespace.fingerprint is None and namespace.count > 0)
    if empty and unknown:
        return WrongSpace(Against.NOTHING, query, None, None, empty=True)
    return None


def loaded_otherwise(retrieval: Retrieval, index: Fingerprint) -> bool:
    """Say whether the entries that a retrieval loaded are of its query's own embedder, and the index is of another."""
    query = retrieval.fingerprint
    if query is None or fingerprint_conflict(index, query) is None:
        return False
    named = [entry for entry in retrieval.entries if entry.model is not None]
    return bool(named) and all(fingerprint_conflict(_of_entry(each, query), query) is None for each in named)


def _of_entry(entry: LoadedEntry, query: Fingerprint) -> Fingerprint:
    """Give an entry's embedder; a length that was not recorded speaks neither for nor against."""
    return Fingerprint(entry.model, query.dims if entry.dims is None else entry.dims)


def _most_frequent(query: Fingerprint, others: Sequence[Fingerprint]) -> tuple[Fingerprint, int] | None:
    """Give the most frequent of the embedders that conflict with the query, and how many conflict in all."""
    wrong = Counter(other for other in others if fingerprint_conflict(other, query) is not None)
    return (wrong.most_common(1)[0][0], wrong.total()) if wrong else None


def _verdict(against: Against, query: Fingerprint, other: Fingerprint, count: int, *, empty: bool) -> WrongSpace:
    return WrongSpace(
        against,
        query,
        other,
        fingerprint_conflict(other, query),
        count,
        same_model=same_model(query, other),
        empty=empty,
    )


def same_model(one: Fingerprint, other: Fingerprint) -> bool:
    """Say whether the model table lists two different names as one space."""
    if one.id is None or other.id is None or one.id == other.id or one.dims != other.dims:
        return False
    return model_table().same_space(one.id, other.id)


def space_text(fingerprint: Fingerprint | None) -> str | None:
    """Write a fingerprint, None when there is none."""
    return None if fingerprint is None else fingerprint_text(fingerprint)
