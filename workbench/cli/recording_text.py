"""A recording as text for people: header and findings first, then steps, retrievals with their evidence, errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from workbench.checkup.findings import Severity
from workbench.checkup.wording import counted, duration_text, size_text
from workbench.cli.output import Sign, Style
from workbench.core.fingerprint import fingerprint_text
from workbench.recordings.secrets import mask_text
from workbench.recordings.steps import in_tree_order

if TYPE_CHECKING:
    from workbench.checkup.recording_report import RecordingReport, VectorTotals
    from workbench.cli.output import Output
    from workbench.crosscheck.joining import JoinedChunk, JoinedRetrieval
    from workbench.recordings.model import Candidate, LoadedEntry, Run, Step

MOST_STEPS = 1_000
"""How many steps stand in the text; the rest are counted, and ``--json`` has them all."""

_SIGNS = {Severity.ERROR: Sign.ERROR, Severity.WARNING: Sign.WARNING, Severity.INFO: Sign.UNKNOWN}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DEEPEST_INDENT = 8
_NAME = 24
_KIND = 16
_ID = 40
_QUERY = 300
_MESSAGE = 600
_EMBEDDERS = 3


def write_recording(out: Output, report: RecordingReport) -> None:
    """Write everything, and one line of totals at the end."""
    out.row(report.path, report.format)
    _header(out, report)
    for finding in report.findings:
        out.verdict(_SIGNS[finding.severity], mask_text(finding.message))
        out.paragraph(finding.fix, indent=5, style=Style.FAINT)
    for note in report.notes:
        place = f" (line {note.line:,})" if note.line is not None and "line" not in note.message else ""
        out.verdict(Sign.WARNING if note.left_out else Sign.NOTE, f"{note.message}{place}")
    _steps(out, report.steps)
    for joined in report.joined.retrievals:
        _retrieval(out, joined, with_index=bool(report.indexes))
    _errors(out, report)
    out.line()
    out.line(_totals(report), Style.BOLD)


def _header(out: Output, report: RecordingReport) -> None:
    out.paragraph(report.why, indent=2, style=Style.FAINT)
    said = _run(report.run)
    if said:
        out.paragraph(said, indent=2)
    for label, value in report.run.manifest:
        out.paragraph(f"{label}: {mask_text(value)}", indent=2, style=Style.FAINT)
    out.paragraph(_vectors(report.vectors), indent=2)
    for missing in report.run.not_recorded:
        out.verdict(Sign.UNKNOWN, mask_text(missing))


def _run(run: Run) -> str:
    parts = []
    if run.id is not None:
        parts.append(f"run {mask_text(run.id)}")
    if run.started_ms is not None:
        parts.append(_moment(run.started_ms))
    if run.started_ms is not None and run.ended_ms is not None and run.ended_ms >= run.started_ms:
        parts.append(duration_text(run.ended_ms - run.started_ms))
    if run.complete is not None:
        parts.append("complete" if run.complete else "incomplete")
    if run.dropped_events is not None:
        parts.append("no event dropped" if run.dropped_events == 0 else f"{run.dropped_events:,} events dropped")
    return ", ".join(parts)


def _vectors(vectors: VectorTotals) -> str:
    if not vectors.count and not vectors.likely:
        return f"no vector in full, {size_text(vectors.bytes_before)}"
    said = []
    if vectors.count:
        said.append(f"{counted(vectors.count, 'vector')} in full{_rules(vectors.by_rule)}")
    if vectors.likely:
        said.append(f"{counted(vectors.likely, 'likely vector')} in full{_rules(vectors.likely_by_rule)}")
    said.append(size_text(vectors.bytes_before))
    if vectors.bytes_after is not None and vectors.bytes_after < vectors.bytes_before:
        said.append(f"{size_text(vectors.bytes_after)} without them")
    return ", ".join(said)


def _rules(by_rule: Mapping[str, int]) -> str:
    return f" ({', '.join(f'{count:,} by {rule}' for rule, count in by_rule.items())})" if by_rule else ""


def _steps(out: Output, steps: Sequence[Step]) -> None:
    if not steps:
        return
    out.line()
    out.row("Steps", counted(len(steps), "step"))
    for step, depth in islice(in_tree_order(steps), MOST_STEPS):
        took = "" if step.duration_ms is None else duration_text(step.duration_ms)
        status = step.status if step.status in ("error", "unfinished") else None
        right = " · ".join(part for part in (status, took) if part)
        left = f"{step.n:>4}  {'  ' * min(depth, _DEEPEST_INDENT)}"
        if step.kind not in ("span", step.name):
            left += f"{cut(mask_text(step.kind), _KIND)} "
        name = " ".join(mask_text(step.name).split())
        if step.orphan:
            name += " (its parent is not recorded)"
        out.row(left + cut(name, max(_NAME, out.width - len(left) - len(right) - 2)), right, Style.PLAIN)
    if len(steps) > MOST_STEPS:
        out.line(f"      and {len(steps) - MOST_STEPS:,} more; show --json lists every one", Style.FAINT)


def _retrieval(out: Output, joined: JoinedRetrieval, *, with_index: bool) -> None:
    retrieval = joined.retrieval
    out.line()
    step = "" if retrieval.step is None else f"step {retrieval.step}"
    out.row(f"Retrieval {retrieval.n}", step)
    if retrieval.query is not None:
        out.paragraph(f"“{cut(mask_text(retrieval.query), _QUERY)}”", indent=2)
    else:
        out.paragraph("its question is not recorded", indent=2, style=Style.FAINT)
    out.paragraph(_space(joined), indent=2)
    if retrieval.entries:
        out.paragraph(_entries(retrieval.entries), indent=2)
    for candidate, chunk in zip(retrieval.candidates or (), joined.chunks, strict=True):
        _candidate(out, candidate, chunk, with_index=with_index and joined.namespace is not None)
    if retrieval.candidates is None:
        out.verdict(Sign.UNKNOWN, "which chunks were considered is not recorded")
    elif not retrieval.candidates:
        out.verdict(Sign.EMPTY, "nothing was found" if not retrieval.corpus_empty else "there was nothing to search")
    if joined.note is not None:
        out.verdict(Sign.UNKNOWN, mask_text(joined.note))
    if retrieval.complete is False:
        out.verdict(Sign.NOTE, "not every rejected candidate is recorded")
    if retrieval.note:
        out.verdict(Sign.NOTE, mask_text(retrieval.note))
    if retrieval.passages:
        out.verdict(Sign.NOTE, f"the model got {counted(len(retrieval.passages), 'passage')} of it")


def _space(joined: JoinedRetrieval) -> str:
    retrieval = joined.retrieval
    known = retrieval.fingerprint
    parts = ["embedder not recorded" if known is None else mask_text(fingerprint_text(known))]
    if retrieval.namespace is not None:
        parts.append(f"namespace {mask_text(retrieval.namespace)}")
    if retrieval.threshold is not None:
        parts.append(f"threshold {retrieval.threshold:g}")
    if retrieval.top_k is not None:
        parts.append(f"top {retrieval.top_k:,}")
    if joined.namespace is not None:
        found = "its ids are in" if joined.searched else "joined with"
        parts.append(f"{found} {joined.namespace.name} of {joined.namespace.source}")
    return ", ".join(parts)


def _entries(entries: tuple[LoadedEntry, ...]) -> str:
    """Name the embedders of the loaded entries, most of them the same."""
    counts: dict[str, int] = {}
    for entry in entries:
        model = "an unnamed embedder" if entry.model is None else entry.model
        text = model if entry.dims is None else f"{entry.model or '?'}@{entry.dims}"
        counts[text] = counts.get(text, 0) + 1
    listed = list(counts.items())
    named = ", ".join(f"{mask_text(text)} ({count:,})" for text, count in listed[:_EMBEDDERS])
    more = f" and {len(listed) - _EMBEDDERS:,} more" if len(listed) > _EMBEDDERS else ""
    return f"loaded entries of {named}{more}"


def _candidate(out: Output, candidate: Candidate, chunk: JoinedChunk | None, *, with_index: bool) -> None:
    rank = "" if candidate.rank is None else f"{candidate.rank}"
    score = "no score" if candidate.score is None else f"{candidate.score:.4f}"
    name = "no id" if candidate.id is None else cut(mask_text(candidate.id), _ID)
    if candidate.admitted:
        fate = "admitted"
    elif candidate.admitted is False:
        fate = mask_text(candidate.reason) if candidate.reason else "rejected"
    else:
        fate = mask_text(candidate.reason or "")
    out.row(f"{rank:>5}  {score:>8}  {name}", fate, Style.PLAIN)
    if chunk is not None and chunk.clipped:
        out.verdict(Sign.WARNING, _read(chunk), indent=17)
        if chunk.unread is not None:
            out.paragraph(f"“{mask_text(chunk.unread.excerpt)}”", indent=20, style=Style.FAINT)
    elif chunk is None and with_index:
        out.verdict(Sign.UNKNOWN, "not in the index", indent=17, style=Style.FAINT)
    if chunk is not None and chunk.changed:
        out.verdict(Sign.NOTE, "its text in the index is another one now", indent=17, style=Style.FAINT)


def _read(chunk: JoinedChunk) -> str:
    if chunk.lost is None or chunk.chars is None:
        return "clipped: longer than what its embedder reads"
    return f"{chunk.lost:,} of {counted(chunk.chars, 'character')} never read"


def _errors(out: Output, report: RecordingReport) -> None:
    if not report.errors:
        return
    out.line()
    out.row("Errors", counted(len(report.errors), "error"))
    for error in report.errors:
        where = "" if error.step is None else f"step {error.step}: "
        out.verdict(Sign.ERROR, f"{where}{cut(mask_text(error.message), _MESSAGE)}")


def _totals(report: RecordingReport) -> str:
    clipped = sum(chunk is not None and chunk.clipped for each in report.joined.retrievals for chunk in each.chunks)
    parts = [
        counted(len(report.steps), "step"),
        counted(len(report.joined.retrievals), "retrieval"),
        counted(len(report.errors), "error"),
        counted(len(report.findings), "finding"),
    ]
    if clipped:
        parts.append(f"{counted(clipped, 'retrieved chunk')} read in part")
    if report.joined.not_looked_up:
        parts.append(f"{report.joined.not_looked_up:,} ids not looked up")
    return ", ".join(parts)


def cut(text: str, longest: int) -> str:
    """Shorten text that has no end."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _moment(ms: float) -> str:
    try:
        return f"{(_EPOCH + timedelta(milliseconds=ms)).isoformat(sep=' ', timespec='seconds')[:19]} UTC"
    except (OverflowError, ValueError):
        return f"at {ms:g} ms"
