"""A recording as it is shown: what its reader understood, joined with indexes, and every finding about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.checkup.report import SourceReport
from workbench.checkup.wording import counted

if TYPE_CHECKING:
    from workbench.checkup.findings import Finding
    from workbench.crosscheck.joining import Joined
    from workbench.recordings.model import Note, RecordedError, Run, Step


RECORDING = "recording"
"""The container of a recording in ``check --json``."""

_GENERIC = "json"


@dataclass(frozen=True, slots=True)
class VectorTotals:
    """What of a recording are vectors.

    Attributes:
        count: vectors that stand in full, by the seed's rule.
        likely: further ones that only the wide rules would take.
        bytes_before, bytes_after: the recording as it is, and with the vectors of ``count`` as their shape; after is
            None where no slim copy can be written.
        by_rule: the vectors of ``count``, by the rule that took them.
        likely_by_rule: those of ``likely`` by the rule that would take them; empty where they were only counted.
    """

    count: int
    likely: int
    bytes_before: int
    bytes_after: int | None
    by_rule: Mapping[str, int] = field(default_factory=dict)
    likely_by_rule: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordingReport:
    """Everything that ``show`` says of a recording.

    Attributes:
        path: as given.
        format, why: its format, and how it was recognised.
        run: its header.
        steps, errors: what happened.
        joined: its retrievals, with what the indexes know of them.
        vectors: what of it are vectors.
        notes: what is odd or damaged.
        findings: worst first.
        join_findings: those of them that come from the join; with an index they decide the exit code.
        indexes: paths of the indexes it was joined with.
    """

    path: str
    format: str
    why: str
    run: Run
    steps: Sequence[Step]
    errors: tuple[RecordedError, ...]
    joined: Joined
    vectors: VectorTotals
    notes: tuple[Note, ...]
    findings: tuple[Finding, ...]
    join_findings: tuple[Finding, ...] = ()
    indexes: tuple[str, ...] = ()

    @property
    def damaged(self) -> bool:
        """Whether parts of the file were left out."""
        return any(note.left_out for note in self.notes)


def as_source(report: RecordingReport, *notes: str) -> SourceReport:
    """Give a recording as one of the sources of a check."""
    retrievals = counted(len(report.joined.retrievals), "retrieval")
    held = f"{counted(len(report.steps), 'step')}, {retrievals}, {counted(len(report.errors), 'error')}"
    return SourceReport(
        report.path,
        RECORDING,
        report.format,
        notes=(f"{report.why}; {held}", *notes, *(note.message for note in report.notes)),
        findings=report.findings,
    )


def holds_nothing(report: RecordingReport) -> bool:
    """Say whether some JSON holds nothing that a check could judge: neither steps nor vectors."""
    return report.format == _GENERIC and not report.steps and not report.vectors.count and not report.vectors.likely
