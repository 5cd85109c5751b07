"""A recording joined with indexes: each retrieved id to its chunk, what of it was read, and in which space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from workbench.core.fingerprint import fingerprint_conflict, fingerprint_text
from workbench.core.text import utf16_length
from workbench.crosscheck.indexed import IndexedNamespace, LookUps, named
from workbench.crosscheck.spaces import WrongSpace, loaded_otherwise, wrong_space
from workbench.crosscheck.unread import Unread, unread_of
from workbench.embedders.models import resolve_index_ceiling

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.index.model import Chunk
    from workbench.recordings.model import Candidate, IndexReport, RecordedError, Retrieval

_TRIED_IDS = 5  # of a retrieval that names no namespace, looked for in each
_USUAL_NAMES = frozenset(
    ("_/_/_global", "default", "_default", "main", "embeddings", "vectors", "documents", "chunks", "collection")
)
"""Names that programs give when nobody does: two that are equal say nothing."""


class Recorded(Protocol):
    """What of a recording is joined; an open ``Recording`` and a ``Reading`` both have it."""

    @property
    def retrievals(self) -> tuple[Retrieval, ...]:
        """Its searches."""
        ...

    @property
    def errors(self) -> tuple[RecordedError, ...]:
        """Its errors."""
        ...

    @property
    def reports(self) -> tuple[IndexReport, ...]:
        """Reports of indexing runs that stand in it."""
        ...


@dataclass(frozen=True, slots=True)
class JoinedChunk:
    """The chunk behind a retrieved id.

    Attributes:
        source: the index that holds it; None when an indexing report inside the recording speaks of it.
        namespace: where it is.
        chars: its length in UTF-16 code units; None where no text is stored.
        lost: how many of them the embedder never read; None when that is not known.
        ceiling: how many it reads; None when that is not known.
        clipped: whether it is longer than what is read.
        changed: the text that was retrieved is not what the index holds now; None when one of them is not at hand.
        unread: what stands behind the ceiling, and which words of the question; None where the text is not at hand.
    """

    source: str | None
    namespace: str | None
    chars: int | None
    lost: int | None
    ceiling: int | None = None
    clipped: bool = False
    changed: bool | None = None
    unread: Unread | None = None


@dataclass(frozen=True, slots=True)
class JoinedRetrieval:
    """One retrieval with what the indexes know of it.

    Attributes:
        retrieval: as recorded.
        namespace: where it searched, as far as an opened index has it.
        searched: the recording does not name that namespace (or no index has it): the ids were looked for.
        chunks: one for each candidate, None where no index has it.
        space: the wrong space that it was scored in, None when nothing speaks against it.
        beside: a namespace of its name in an opened index, which it is not joined with.
        note: why it is not joined with that, or why the index cannot speak for what was searched.
    """

    retrieval: Retrieval
    namespace: IndexedNamespace | None
    searched: bool
    chunks: tuple[JoinedChunk | None, ...]
    space: WrongSpace | None
    beside: IndexedNamespace | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Joined:
    """Everything that was joined; ``not_looked_up`` counts ids beyond the most that are looked up."""

    retrievals: tuple[JoinedRetrieval, ...]
    reports: tuple[IndexReport, ...]
    errors: tuple[RecordedError, ...]
    not_looked_up: int = 0


def join(recorded: Recorded, indexes: Sequence[IndexedNamespace] = (), job: Job | None = None) -> Joined:
    """Join a recording with the namespaces of opened indexes, none of which need to be there.

    Raises SourceError when an index cannot be read, Cancelled when the job was given up.
    """
    look_ups = LookUps(job)
    retrievals = []
    for retrieval in recorded.retrievals:
        if job is not None:
            job.checkpoint()
        retrievals.append(_joined(retrieval, recorded.reports, indexes, look_ups))
    return Joined(tuple(retrievals), recorded.reports, recorded.errors, look_ups.left_out)


def _joined(
    retrieval: Retrieval, reports: Sequence[IndexReport], indexes: Sequence[IndexedNamespace], look_ups: LookUps
) -> JoinedRetrieval:
    candidates = retrieval.candidates or ()
    namespace, searched = _namespace(retrieval, indexes, look_ups)
    found = _found(candidates, namespace, look_ups)
    why_not = None if namespace is None else _why_not(retrieval, namespace, found)
    beside = None if why_not is None or searched else namespace
    if why_not is not None:
        namespace, searched, found = None, False, _found(candidates, None, look_ups)
    chunks: list[JoinedChunk | None] = []
    for candidate, chunk in zip(candidates, found, strict=True):
        if chunk is not None and namespace is not None:
            chunks.append(_of_index(candidate, chunk, namespace, retrieval.query))
        else:
            chunks.append(_of_report(candidate, retrieval, reports))
    note = _note(beside, why_not) if beside is not None else _rebuilt(retrieval, namespace)
    space = wrong_space(retrieval, namespace, found)
    return JoinedRetrieval(retrieval, namespace, searched, tuple(chunks), space, beside, note)


def _found(
    candidates: Sequence[Candidate], namespace: IndexedNamespace | None, look_ups: LookUps
) -> list[Chunk | None]:
    return [None if namespace is None or each.id is None else look_ups.chunk(namespace, each.id) for each in candidates]


def _why_not(retrieval: Retrieval, namespace: IndexedNamespace, found: Sequence[Chunk | None]) -> str | None:
    """Say why a namespace that could be meant is not; None when something speaks for it.

    Ids speak for it, unless all their texts are other ones and the embedder is another one too; numbers that many
    programs count with do so only with their texts, the embedder, or a name that somebody chose. Without ids the
    embedder does, or such a name.
    """
    candidates = retrieval.candidates or ()
    if any(each.id is not None for each in candidates):
        if not any(found):
            return "none of its ids is there"
        texts = [
            candidate.text == chunk.text
            for candidate, chunk in zip(candidates, found, strict=True)
            if chunk is not None and chunk.text is not None and candidate.text is not None
        ]
        if texts and not any(texts) and _conflicts(retrieval, namespace):
            return "its ids are there, but with other texts and of another embedder"
        named = retrieval.namespace == namespace.name and namespace.name not in _USUAL_NAMES
        ids = [each.id for each, chunk in zip(candidates, found, strict=True) if chunk is not None and each.id]
        if not (named or any(texts) or _fits(retrieval, namespace)) and all(map(str.isdecimal, ids)):
            return "its ids are mere numbers, which many programs count with"
        return None
    if namespace.name in _USUAL_NAMES and not _fits(retrieval, namespace):
        return "only the name is the same, and many programs give that name"
    return None


def _note(beside: IndexedNamespace, why_not: str | None) -> str:
    return f"not joined with {beside.name} of {beside.source}: {why_not}"


def _rebuilt(retrieval: Retrieval, namespace: IndexedNamespace | None) -> str | None:
    """Say that the index was built again since, where the loaded entries prove it."""
    if namespace is None or namespace.fingerprint is None or retrieval.fingerprint is None:
        return None
    if not loaded_otherwise(retrieval, namespace.fingerprint):
        return None
    was, now = fingerprint_text(retrieval.fingerprint), fingerprint_text(namespace.fingerprint)
    return f"what it loaded was of '{was}' like its query, and the index is of '{now}': it was built again since"


def _namespace(
    retrieval: Retrieval, indexes: Sequence[IndexedNamespace], look_ups: LookUps
) -> tuple[IndexedNamespace | None, bool]:
    """Find where a retrieval may have searched: by its name, else where its ids are.

    Of several that could be it, the one with most of the ids wins, then the one whose embedder fits the query.
    """
    known = named(indexes, retrieval.namespace)
    if len(known) == 1:
        return known[0], False
    ids = [each.id for each in retrieval.candidates or () if each.id is not None][:_TRIED_IDS]
    best: IndexedNamespace | None = known[0] if known else None
    best_mark = (0, False)
    for namespace in known or indexes:
        held = sum(look_ups.chunk(namespace, id) is not None for id in ids)
        mark = (held, _fits(retrieval, namespace))
        if held and mark > best_mark:
            best, best_mark = namespace, mark
    return best, best is not None and not known


def _conflicts(retrieval: Retrieval, namespace: IndexedNamespace) -> bool:
    if retrieval.fingerprint is None or namespace.fingerprint is None:
        return False
    return fingerprint_conflict(namespace.fingerprint, retrieval.fingerprint) is not None


def _fits(retrieval: Retrieval, namespace: IndexedNamespace) -> bool:
    if retrieval.fingerprint is None or namespace.fingerprint is None:
        return False
    if retrieval.fingerprint.id is None or namespace.fingerprint.id is None:
        return False  # a length alone fits by chance
    return not _conflicts(retrieval, namespace)


def _of_index(candidate: Candidate, chunk: Chunk, namespace: IndexedNamespace, query: str | None) -> JoinedChunk:
    ceiling = namespace.ceiling.chars
    lost = None if chunk.chars is None else max(0, chunk.chars - ceiling)
    changed = None if candidate.text is None or chunk.text is None else candidate.text != chunk.text
    unread = unread_of(chunk.text, int(ceiling), query) if lost and chunk.text is not None else None
    return JoinedChunk(namespace.source, namespace.name, chunk.chars, lost, ceiling, bool(lost), changed, unread)


def _of_report(candidate: Candidate, retrieval: Retrieval, reports: Sequence[IndexReport]) -> JoinedChunk | None:
    """Find a chunk among those that an indexing report inside the recording lists as clipped.

    Where neither index nor report has it, the recorded text itself can be held against the model table.
    """
    for report in reports:
        if report.namespace is not None and retrieval.namespace not in (None, report.namespace):
            continue
        for clipped in report.clipped:
            if candidate.id is not None and clipped.id == candidate.id:
                ceiling = ceiling_of(report)
                lost = None if clipped.chars is None or ceiling is None else max(0, clipped.chars - ceiling)
                return JoinedChunk(None, report.namespace, clipped.chars, lost, ceiling, clipped=True)
    listed = resolve_index_ceiling(None, None, retrieval.fingerprint)
    if candidate.text is None or listed.source != "registry":
        return None
    chars = utf16_length(candidate.text)
    if chars <= listed.chars:
        return None
    return JoinedChunk(None, retrieval.namespace, chars, chars - listed.chars, listed.chars, clipped=True)


def ceiling_of(report: IndexReport) -> int | None:
    """Give the ceiling of an indexing report: its own, else the model table's, where that knows the embedder."""
    if report.ceiling is not None:
        return report.ceiling
    listed = resolve_index_ceiling(None, None, report.fingerprint)
    return listed.chars if listed.source == "registry" else None
