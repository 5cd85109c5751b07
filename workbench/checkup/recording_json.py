"""A shown recording as the plain values that `show --json` writes: every key of the contract, and a few more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.core.fingerprint import fingerprint_text
from workbench.recordings.secrets import mask_text

if TYPE_CHECKING:
    from workbench.checkup.recording_report import RecordingReport
    from workbench.crosscheck.joining import JoinedChunk, JoinedRetrieval
    from workbench.recordings.model import Candidate, Mismatch, Note, RecordedError, Step

JsonObject = dict[str, object]


def steps_as_json(report: RecordingReport) -> Iterator[JsonObject]:
    """Write one step after another: there may be a million."""
    return map(_step, report.steps)


def recording_as_json(report: RecordingReport, *, steps: bool = True) -> JsonObject:
    """Write the whole document, secrets masked; without ``steps`` their list is empty."""
    run = report.run
    document: JsonObject = {
        "path": report.path,
        "format": report.format,
        "why": report.why,
        "run": {
            "id": _masked(run.id),
            "started_ms": _finite(run.started_ms),
            "ended_ms": _finite(run.ended_ms),
            "complete": run.complete,
            "dropped_events": run.dropped_events,
            "not_recorded": list(run.not_recorded),
            "manifest": [{"label": label, "value": _masked(value)} for label, value in run.manifest],
        },
        "steps": list(steps_as_json(report)) if steps else [],
        "retrievals": [_retrieval(each) for each in report.joined.retrievals],
        "errors": [_error(error) for error in report.errors],
        "vectors": {
            "count": report.vectors.count,
            "by_rule": dict(report.vectors.by_rule),
            "likely": report.vectors.likely,
            "likely_by_rule": dict(report.vectors.likely_by_rule),
        },
        "bytes": {"before": report.vectors.bytes_before, "after": report.vectors.bytes_after},
        "findings": [
            {
                "code": finding.code.value,
                "severity": finding.severity.value,
                "message": _masked(finding.message),
                "fix": finding.fix,
            }
            for finding in report.findings
        ],
        "problems": [_problem(note) for note in report.notes],
    }
    return document


def _step(step: Step) -> JsonObject:
    return {
        "n": step.n,
        "parent": step.parent,
        "kind": _masked(step.kind),
        "name": _masked(step.name),
        "status": step.status,
        "start_ms": _finite(step.start_ms),
        "duration_ms": _finite(step.duration_ms),
        "error": _masked(step.error),
        "orphan": step.orphan,
    }


def _retrieval(joined: JoinedRetrieval) -> JsonObject:
    retrieval = joined.retrieval
    listed = retrieval.candidates
    space = joined.space
    return {
        "n": retrieval.n,
        "step": retrieval.step,
        "query": _masked(retrieval.query),
        "fingerprint": None if retrieval.fingerprint is None else _masked(fingerprint_text(retrieval.fingerprint)),
        "namespace": _masked(retrieval.namespace),
        "threshold": _finite(retrieval.threshold),
        "complete": retrieval.complete,
        "passages": len(retrieval.passages),
        "candidates": [_candidate(each, chunk) for each, chunk in zip(listed or (), joined.chunks, strict=True)],
        "candidates_recorded": listed is not None,
        "corpus_empty": retrieval.corpus_empty,
        "top_k": retrieval.top_k,
        "note": _masked(retrieval.note),
        "entries": [
            {"id": _masked(entry.id), "model": _masked(entry.model), "dims": entry.dims} for entry in retrieval.entries
        ],
        "joined": None
        if joined.namespace is None
        else {"source": joined.namespace.source, "namespace": joined.namespace.name, "searched": joined.searched},
        "join_note": _masked(joined.note),
        "wrong_space": None
        if space is None
        else {
            "against": space.against.value,
            "fingerprint": None if space.other is None else _masked(fingerprint_text(space.other)),
            "conflict": space.conflict,
            "count": space.count,
            "same_model": space.same_model,
            "empty": space.empty,
        },
    }


def _candidate(candidate: Candidate, chunk: JoinedChunk | None) -> JsonObject:
    return {
        "id": _masked(candidate.id),
        "rank": candidate.rank,
        "score": _finite(candidate.score),
        "admitted": candidate.admitted,
        "reason": _masked(candidate.reason),
        "document": _masked(candidate.document),
        "page": _masked(candidate.page),
        "heading": _masked(candidate.heading),
        "chunk": None
        if chunk is None
        else {
            "source": chunk.source,
            "namespace": chunk.namespace,
            "chars": chunk.chars,
            "lost": chunk.lost,
            "clipped": chunk.clipped,
            "changed": chunk.changed,
            "unread": None
            if chunk.unread is None
            else {"excerpt": _masked(chunk.unread.excerpt), "words": [_masked(word) for word in chunk.unread.words]},
        },
    }


def _error(error: RecordedError) -> JsonObject:
    return {
        "step": error.step,
        "message": _masked(error.message),
        "mismatch": None if error.mismatch is None else _mismatch(error.mismatch),
    }


def _mismatch(mismatch: Mismatch) -> JsonObject:
    return {
        "namespace": _masked(mismatch.namespace),
        "indexed": _masked(fingerprint_text(mismatch.indexed)),
        "incoming": _masked(fingerprint_text(mismatch.incoming)),
        "problem": mismatch.problem,
    }


def _problem(note: Note) -> JsonObject:
    return {"message": note.message, "line": note.line, "byte": note.byte, "left_out": note.left_out}


def _masked(text: str | None) -> str | None:
    return None if text is None else mask_text(text)


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else number
