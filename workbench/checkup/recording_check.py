"""An opened recording judged: joined with indexes, its vectors counted, every finding about it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.checkup.recording_report import RecordingReport, VectorTotals
from workbench.checkup.recordings import judge_joined, judge_recording
from workbench.crosscheck.joining import join
from workbench.recordings.cassette_copy import slim_cassette
from workbench.recordings.cassette_text import interaction_text
from workbench.recordings.far_summary import count_far
from workbench.recordings.model import Note, RecordingError, Unreadable
from workbench.recordings.readers.vcr import VcrReader, interactions_of
from workbench.recordings.slim import Options, slimmed
from workbench.recordings.summarize import Summary, summarize_to
from workbench.recordings.watch import READINGS

_MOST_AT_ONCE = 64 << 20
_FAR_BYTES = 64 << 20
_DEEPEST = 32  # a damaged value is read again by each that it stands in
_ALONE = 4  # so many levels a damaged value counts that stands in another with nothing whole beside it

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.crosscheck.indexed import IndexedNamespace
    from workbench.recordings.opening import Recording


def report_on(
    recording: Recording, indexes: Sequence[IndexedNamespace] = (), job: Job | None = None
) -> RecordingReport:
    """Judge a recording, joined with the namespaces of opened indexes.

    Raises RecordingError and SourceError when a file cannot be read to its end, Cancelled when the job was given up.
    """
    joined = join(recording, indexes, job)
    vectors, more = vector_totals(recording, job)
    notes = _once([*recording.notes, *more])
    return RecordingReport(
        path=recording.path,
        format=recording.format,
        why=recording.why,
        run=recording.run,
        steps=recording.steps,
        errors=recording.errors,
        joined=joined,
        vectors=vectors,
        notes=notes,
        findings=judge_recording(recording.run, notes, joined, vectors),
        join_findings=judge_joined(joined),
        indexes=tuple(dict.fromkeys(each.source for each in indexes)),
    )


def joined_anew(
    report: RecordingReport, recording: Recording, indexes: Sequence[IndexedNamespace], job: Job | None = None
) -> RecordingReport:
    """Hold a recording that was judged before against other indexes; nothing of the recording is read again.

    Gives what ``report_on`` would. Raises SourceError when an index cannot be read, Cancelled.
    """
    joined = join(recording, indexes, job)
    return replace(
        report,
        joined=joined,
        findings=judge_recording(report.run, report.notes, joined, report.vectors),
        join_findings=judge_joined(joined),
        indexes=tuple(dict.fromkeys(each.source for each in indexes)),
    )


def _once(notes: Sequence[Note]) -> tuple[Note, ...]:
    """Leave out what is said twice, since the file is read twice; the second reading may say less."""
    said: dict[tuple[str, int | None, bool], Note] = {}
    for note in notes:
        what = note.message.replace(f" (line {note.line})", "").partition(";")[0]
        said.setdefault((what, note.byte, note.left_out), note)
    return tuple(said.values())


def vector_totals(recording: Recording, job: Job | None = None) -> tuple[VectorTotals, tuple[Note, ...]]:
    """Count the vectors of a recording, and say what was odd on the way. Nothing is written.

    Of a cassette in YAML the vectors are those in its bodies. Of a recording of which only the beginning was read,
    those in the beginning are counted.
    """
    if recording.document.form == "text":
        if recording.format == VcrReader.format:
            return _of_cassette(recording, job), ()
        return VectorTotals(0, 0, recording.file_size, None), ()
    if recording.limited:
        return _of_what_is_left(recording, job), ()

    def progress(done: int, total: int) -> None:
        if job is not None:  # the way to here was the first of the readings
            job.progress((READINGS - 1) * total + done, READINGS * total)

    try:
        found = _counted(recording, progress, job)
    except RecordingError as error:
        if error.problem is Unreadable.BEING_WRITTEN:
            raise
        return _of_what_is_left(recording, job), ()
    totals = VectorTotals(
        found.vectors, found.unsummarised_likely, found.bytes_before, found.bytes_after, dict(found.by_rule)
    )
    return totals, found.notes


def _counted(recording: Recording, progress: Callable[[int, int], None], job: Job | None) -> Summary:
    """Count what the seed's rule takes; of a big recording in another process, which holds up no screen."""
    found = count_far(recording.path, progress, job) if recording.file_size > _FAR_BYTES else None
    if found is not None:
        return found
    with open(os.devnull, "wb") as nowhere:
        return summarize_to(recording.path, nowhere, Options(), progress)


def _of_what_is_left(recording: Recording, job: Job | None) -> VectorTotals:
    """Count in the whole values of a damaged document, of which no slim copy is written."""
    by_rule: Counter[str] = Counter()
    likely = 0
    waiting = [(root, 0) for root in recording.document.roots()]
    while waiting:
        node, level = waiting.pop()
        if job is not None:
            job.checkpoint()
        if not node.whole or node.span.size > _MOST_AT_ONCE:
            if level < _DEEPEST:
                inside = [child for _, child in node.children()]
                below = level + (1 if len(inside) > 1 else _ALONE)
                waiting += [(child, below) for child in inside]
            continue
        found = slimmed(recording.document.read(node.span), Options())
        if found is not None:
            by_rule.update(found.by_rule)
            likely += found.likely
    return VectorTotals(by_rule.total(), likely, recording.file_size, None, dict(by_rule))


def _of_cassette(recording: Recording, job: Job | None) -> VectorTotals:
    """Count the vectors of a cassette in YAML: those in its bodies, by the rules that see what a reader sees."""
    by_rule: Counter[str] = Counter()
    likely: Counter[str] = Counter()
    notes: list[Note] = []
    for value, _ in interactions_of(recording.document, notes):
        if job is not None:
            job.checkpoint()
        text = interaction_text(value)
        strict, wide = slimmed(text, Options()), slimmed(text, Options(wide=True))
        if strict is not None and wide is not None:
            by_rule.update(strict.by_rule)
            likely.update(Counter(wide.by_rule) - Counter(strict.by_rule))
    after: int | None = None if any(note.left_out for note in notes) else recording.file_size
    if by_rule and after is not None:
        try:
            after = len(slim_cassette(recording.document, Options()).text)
        except RecordingError:  # a value that cannot be replaced by itself
            after = None
    return VectorTotals(
        by_rule.total(), likely.total(), recording.file_size, after, dict(by_rule), likely_by_rule=dict(likely)
    )
