"""What a recording says once joined: scored in a wrong space, read only in part, refused, incomplete, not slim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.checkup.ceiling import ceiling_of as ceiling_of_namespace
from workbench.checkup.findings import Code, Finding, worst_first
from workbench.checkup.fingerprints import judge_fingerprints
from workbench.checkup.incoming import held_against
from workbench.checkup.options import CheckOptions
from workbench.checkup.wording import counted, of_all, verb
from workbench.core.fingerprint import conflict_reason, fingerprint_conflict, fingerprint_text
from workbench.crosscheck.indexed import IndexedNamespace
from workbench.crosscheck.joining import ceiling_of
from workbench.crosscheck.spaces import Against, same_model
from workbench.recordings.secrets import mask_text

if TYPE_CHECKING:
    from workbench.checkup.recording_report import VectorTotals
    from workbench.core.job import Job
    from workbench.crosscheck.joining import Joined, JoinedChunk, JoinedRetrieval
    from workbench.crosscheck.spaces import WrongSpace
    from workbench.index.model import IndexSource
    from workbench.recordings.model import Candidate, IndexReport, Note, RecordedError, Run

_LISTED = 3
_REINDEX = "search with the embedder that built what is searched, or re-index that with the query's"


def indexed_namespaces(
    source: IndexSource, options: CheckOptions | None = None, job: Job | None = None
) -> tuple[IndexedNamespace, ...]:
    """Give the namespaces of an opened index as recordings are held against them.

    Raises SourceError when the index cannot be read, Cancelled when the job was given up.
    """
    asked = options or CheckOptions()
    found = []
    for namespace in source.namespaces():
        if not asked.wants(namespace.name):
            continue
        known = judge_fingerprints(namespace, job)
        found.append(
            IndexedNamespace(
                source=source.path,
                name=namespace.name,
                fingerprint=held_against(namespace, known),
                ceiling=ceiling_of_namespace(namespace, known, asked),
                count=known.count,
                chunks=namespace,
            )
        )
    return tuple(found)


def judge_joined(joined: Joined) -> tuple[Finding, ...]:
    """Find what is wrong with retrievals, and what reports and refusals inside the recording say; worst first."""
    findings = [
        *_wrong_spaces(joined.retrievals),
        *_retrieved_clipped(joined.retrievals),
        *_reports(joined.reports),
        *_mismatches(joined.errors),
    ]
    return worst_first(_masked(finding) for finding in findings)


def _masked(finding: Finding) -> Finding:
    """Mask what of a recording's words is a secret."""
    return replace(finding, message=mask_text(finding.message))


def judge_recording(
    run: Run, notes: Sequence[Note], joined: Joined, vectors: VectorTotals | None = None
) -> tuple[Finding, ...]:
    """Give every finding about a recording, worst first."""
    own = (_incomplete(run, notes), None if vectors is None else _not_summarised(vectors))
    return worst_first([*judge_joined(joined), *(finding for finding in own if finding is not None)])


def _wrong_spaces(retrievals: Sequence[JoinedRetrieval]) -> Iterable[Finding]:
    """Make one finding of the retrievals that went wrong in the same way."""
    groups: dict[tuple[object, ...], list[tuple[int, WrongSpace, str | None, IndexedNamespace | None]]] = {}
    for each in retrievals:
        if each.space is not None:
            name = each.namespace.name if each.namespace is not None else each.retrieval.namespace
            where = None if each.beside is None else each.beside.source
            key = (each.space.against, each.space.query, each.space.other, each.space.empty, name, where)
            groups.setdefault(key, []).append((each.retrieval.n, each.space, name, each.beside))
    for group in groups.values():
        numbers = [number for number, _, _, _ in group]
        _, space, name, beside = group[0]
        chunks = sum(each.count for _, each, _, _ in group)
        yield Finding(
            Code.WRONG_SPACE_RETRIEVAL, _wrong_space(numbers, space, name, chunks, beside), _fix(space, beside)
        )


def _wrong_space(
    numbers: Sequence[int], space: WrongSpace, name: str | None, chunks: int, beside: IndexedNamespace | None
) -> str:
    who = _retrievals(numbers)
    where = "the index" if name is None else f"namespace '{name}'"
    query = fingerprint_text(space.query)
    if space.other is None:
        return (
            f"{who} asked {where} with '{query}' and got nothing, as if it were empty. Some stores skip entries of "
            "another embedder without refusing, so either it is empty, or its entries are of another embedder"
            + _of_that_name(space, beside)
        )
    other = fingerprint_text(space.other)
    said = {
        Against.INDEX: f"{where} was indexed with '{other}'",
        Against.CHUNKS: f"{counted(chunks, 'chunk')} it got from {where} {verb(chunks, 'is', 'are')} of '{other}'",
        Against.ENTRIES: f"{counted(chunks, 'entry', 'entries')} it loaded {verb(chunks, 'is', 'are')} of '{other}'",
    }[space.against]
    reason = f" ({space.conflict}: {conflict_reason(space.conflict)})" if space.conflict is not None else ""
    message = f"{who} asked with '{query}', and {said}{reason}"
    if space.empty:
        message += ". It got nothing and was not refused: the store skipped what is of another embedder"
    if space.same_model:
        message += ". The model table lists both names as one space: it may be the same model under another name"
    return message


def _of_that_name(space: WrongSpace, beside: IndexedNamespace | None) -> str:
    """Tell of an opened namespace of the same usual name, which may or may not be the one that was searched."""
    if beside is None or beside.fingerprint is None or fingerprint_conflict(beside.fingerprint, space.query) is None:
        return ""
    other = fingerprint_text(beside.fingerprint)
    return (
        f". The namespace of that name in {beside.source} was indexed with '{other}': if that is what it searched, the "
        "store skipped all of it"
    )


def _fix(space: WrongSpace, beside: IndexedNamespace | None) -> str:
    if beside is not None:
        return "find out whether that is the index it searched, and search it with the embedder that built it"
    if space.other is None:
        return "open the index beside the recording (show --index): its fingerprint tells which of the two it is"
    return _REINDEX


def _retrieved_clipped(retrievals: Sequence[JoinedRetrieval]) -> Iterable[Finding]:
    clipped: dict[tuple[str | None, str | None], tuple[Candidate, JoinedChunk]] = {}
    total: set[tuple[str | None, str | None]] = set()
    numbers: list[int] = []
    for each in retrievals:
        for candidate, chunk in zip(each.retrieval.candidates or (), each.chunks, strict=True):
            key = (chunk.namespace if chunk is not None else None, candidate.id)
            total.add(key)
            if chunk is not None and chunk.clipped:
                clipped.setdefault(key, (candidate, chunk))
                if each.retrieval.n not in numbers:
                    numbers.append(each.retrieval.n)
    if not clipped:
        return
    listed = "; ".join(_read_in_part(candidate, chunk) for candidate, chunk in list(clipped.values())[:_LISTED])
    more = f"; and {len(clipped) - _LISTED:,} more" if len(clipped) > _LISTED else ""
    message = (
        f"{of_all(len(clipped), len(total), 'retrieved chunk')} {verb(len(clipped), 'was', 'were')} read by the "
        f"embedder only in part and ranked by that ({_retrievals(numbers)}): {listed}{more}"
    )
    yield Finding(
        Code.RETRIEVED_CLIPPED,
        message,
        "split these chunks below the ceiling and index them again: what stands behind it counts for no search",
    )


def _read_in_part(candidate: Candidate, chunk: JoinedChunk) -> str:
    name = candidate.id or "a chunk without id"
    if candidate.admitted is False:
        name += f" (rejected{f': {candidate.reason}' if candidate.reason else ''})"
    if chunk.lost is not None and chunk.chars is not None:
        return f"{name}, {chunk.lost:,} of its {counted(chunk.chars, 'character')} never read{_only_there(chunk)}"
    return f"{name}, longer than what the embedder reads"


def _only_there(chunk: JoinedChunk) -> str:
    """Say which words of the question stand only in what was never read: that is why the chunk ranked as it did."""
    if chunk.unread is None or not chunk.unread.words:
        return ""
    words = ", ".join(f"'{word}'" for word in chunk.unread.words)
    many = len(chunk.unread.words)
    return f", and only there {verb(many, 'stands', 'stand')} {words} of the question"


def _reports(reports: Sequence[IndexReport]) -> Iterable[Finding]:
    for report in reports:
        count = report.clipped_count
        if count <= 0:
            continue
        total = counted(count, "chunk") if report.chunks is None else of_all(count, report.chunks, "chunk")
        ceiling = ceiling_of(report)
        reads = "its embedder reads" if ceiling is None else f"the {counted(ceiling, 'character')} its embedder reads"
        embedder = "" if report.fingerprint is None else f" ('{fingerprint_text(report.fingerprint)}')"
        where = "" if report.namespace is None else f" of namespace '{report.namespace}'"
        longest = sorted(report.clipped, key=lambda each: -(each.chars or 0))[:_LISTED]
        named = ", ".join(
            f"{each.id} ({counted(each.chars, 'character')})" if each.chars is not None else str(each.id)
            for each in longest
        )
        message = (
            f"an indexing report in the recording says that {total}{where} {verb(count, 'is', 'are')} longer than "
            f"{reads}{embedder}: what stands behind was never read, and no search can find it"
        )
        yield Finding(
            Code.CLIPPED_CHUNKS,
            f"{message}{f'. The longest: {named}' if named else ''}",
            "split these chunks below the ceiling and index them again",
        )


def _mismatches(errors: Sequence[RecordedError]) -> Iterable[Finding]:
    seen: set[tuple[object, ...]] = set()
    for error in errors:
        refused = error.mismatch
        if refused is None or (key := (refused.namespace, refused.indexed, refused.incoming)) in seen:
            continue
        seen.add(key)
        where = "an index" if refused.namespace is None else f"namespace '{refused.namespace}'"
        problem = refused.problem
        reason = "" if problem is None else f" ({problem}: {conflict_reason(problem)})"
        message = (
            f"the run was refused by {where}: it was indexed with '{fingerprint_text(refused.indexed)}', and the "
            f"incoming embedder was '{fingerprint_text(refused.incoming)}'{reason}"
        )
        if problem == "model" and same_model(refused.indexed, refused.incoming):
            message += ". The model table lists both names as one space: it may be the same model under another name"
        yield Finding(Code.EMBEDDER_MISMATCH, message, _REINDEX)


def _incomplete(run: Run, notes: Sequence[Note]) -> Finding | None:
    parts = []
    if run.complete is False:
        parts.append("the producer says that the run did not come to its end")
    if run.dropped_events:
        parts.append(f"{counted(run.dropped_events, 'event')} {verb(run.dropped_events, 'was', 'were')} dropped")
    damaged = sum(note.left_out for note in notes)
    if damaged:
        parts.append(f"{counted(damaged, 'damaged part')} of the file {verb(damaged, 'was', 'were')} left out")
    if not parts:
        return None
    return Finding(
        Code.INCOMPLETE_RECORDING,
        f"the recording is incomplete: {', and '.join(parts)}. What is not in it may have happened all the same",
        "record the run again, with room for all of its events, before concluding from what is missing",
    )


def _not_summarised(vectors: VectorTotals) -> Finding | None:
    if not vectors.count and not vectors.likely:
        return None
    parts = []
    if vectors.count:
        parts.append(f"{counted(vectors.count, 'vector')} {verb(vectors.count, 'stands', 'stand')} in full")
        saved = 0 if vectors.bytes_after is None else vectors.bytes_before - vectors.bytes_after
        if saved > 0:
            parts[0] += f", {counted(saved, 'byte')} of {vectors.bytes_before:,} that nobody reads"
    if vectors.likely:
        likely = counted(vectors.likely, "likely vector")
        parts.append(f"{likely} that only the wide rules take {verb(vectors.likely, 'is', 'are')} not summarised")
    wide = " --wide" if vectors.likely else ""
    fix = f"workbench summarize{wide} writes a copy with every vector as its length and norm"
    if vectors.bytes_after is None:
        fix = "no copy without them can be written of this file as it is: record it again"
    return Finding(Code.VECTORS_NOT_SUMMARISED, "; ".join(parts), fix)


def _retrievals(numbers: Sequence[int]) -> str:
    listed = ", ".join(str(number) for number in numbers[:_LISTED])
    more = f" and {len(numbers) - _LISTED:,} more" if len(numbers) > _LISTED else ""
    return f"retrieval{'' if len(numbers) == 1 else 's'} {listed}{more}"
