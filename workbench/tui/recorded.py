"""A recording as the screens keep it: its report, the steps in the order of their rows, and what stands on its row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from workbench.checkup.findings import Code, Severity
from workbench.checkup.wording import duration_text
from workbench.tui.draw import Tone, number
from workbench.tui.signs import Signs
from workbench.tui.state import State

if TYPE_CHECKING:
    from workbench.checkup.recording_report import RecordingReport
    from workbench.core.job import Job
    from workbench.crosscheck.joining import JoinedRetrieval
    from workbench.recordings.browsing import RootedText
    from workbench.recordings.heaviest import Heaviest
    from workbench.recordings.model import Step
    from workbench.tui.step_tree import StepTree


class OpenRecording(Protocol):
    """What is asked of an open recording beside its report: the bytes behind a step."""

    @property
    def document(self) -> RootedText:
        """Its text, by range. Reading raises RecordingError when the file changed."""
        ...

    def heaviest(self, watch: Job) -> Heaviest:
        """Find which places hold the most vector bytes. Raises RecordingError, Cancelled."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step as a row: how deep it stands, whether others are part of it, and its retrieval when it made one."""

    step: Step
    depth: int
    is_parent: bool = False
    retrieval: int | None = None

    @property
    def failed(self) -> bool:
        """Whether it ended in an error."""
        return self.step.status == "error" or self.step.error is not None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording that was read.

    Attributes:
        report: what ``show --json`` says.
        rows: its steps in the order of the tree.
        tree: how the rows hang together, for folding and filtering them; None where there are none.
        clipped: retrieved chunks of which the embedder read only a part; wrong: retrievals in a wrong space.
        began_ms, ended_ms: from the first beginning to the last end of a step; both 0 when no time is recorded.
    """

    report: RecordingReport
    rows: tuple[StepRow, ...] = ()
    tree: StepTree | None = None
    clipped: int = 0
    wrong: int = 0
    began_ms: float = 0.0
    ended_ms: float = 0.0

    @property
    def retrievals(self) -> tuple[JoinedRetrieval, ...]:
        """Its searches, with what the open indexes know of them."""
        return self.report.joined.retrievals

    @property
    def any_failed(self) -> bool:
        """Whether a step failed."""
        return self.tree is not None and bool(self.tree.failed.any())

    @property
    def duration_ms(self) -> float | None:
        """How long the run took: as the run says, else as its steps do."""
        run = self.report.run
        if run.started_ms is not None and run.ended_ms is not None and run.ended_ms >= run.started_ms:
            return run.ended_ms - run.started_ms
        return self.ended_ms - self.began_ms if self.ended_ms > self.began_ms else None


def arrange(report: RecordingReport) -> Recorded:
    """Put the steps into the order of their rows. It takes time by their number: not for the event loop."""
    from workbench.recordings.steps import in_tree_order
    from workbench.tui.step_tree import StepTree

    parents = {step.parent for step in report.steps}
    made = {each.retrieval.step: place for place, each in enumerate(report.joined.retrievals) if each.retrieval.step}
    ordered = in_tree_order(report.steps)
    rows = tuple(StepRow(step, depth, step.n in parents, made.get(step.n)) for step, depth in ordered)
    began, ended = _times(report.steps)
    return Recorded(
        report,
        rows,
        StepTree(rows) if rows else None,
        _clipped(report.joined.retrievals),
        sum(each.space is not None for each in report.joined.retrievals),
        began,
        ended,
    )


def _times(steps: Sequence[Step]) -> tuple[float, float]:
    began, ended = math.inf, -math.inf
    for step in steps:
        if step.start_ms is not None and math.isfinite(step.start_ms):
            began = min(began, step.start_ms)
            ended = max(ended, step.start_ms + (step.duration_ms or 0.0))
    return (began, ended) if began <= ended and math.isfinite(ended) else (0.0, 0.0)


def _clipped(retrievals: Sequence[JoinedRetrieval]) -> int:
    """Count the retrieved chunks of which the embedder read only a part, each once, as ``retrieved-clipped`` does."""
    clipped = set()
    for each in retrievals:
        for candidate, chunk in zip(each.retrieval.candidates or (), each.chunks, strict=True):
            if chunk is not None and chunk.clipped:
                clipped.add((chunk.namespace, candidate.id))
    return len(clipped)


def recording_state(recorded: Recorded) -> State:
    """Give the worst of a recording."""
    report = recorded.report
    if report.errors or any(each.severity is Severity.ERROR for each in report.findings):
        return State.BAD
    wrong = any(each.severity is Severity.WARNING for each in report.findings)
    return State.WARN if wrong or report.damaged else State.OK


def recording_tag(recorded: Recorded, signs: Signs) -> tuple[str, Tone]:
    """Give the worst thing about it in one word."""
    report = recorded.report
    codes = {each.code for each in report.findings}
    wrong, clipped = recorded.wrong, recorded.clipped
    if report.errors:
        return f"{number(len(report.errors))} err", Tone.ERROR
    if wrong or Code.EMBEDDER_MISMATCH in codes:
        return f"{signs.differs} {wrong}" if wrong else f"{signs.differs} space", Tone.WARN
    if clipped:
        return f"{signs.clipped} {number(clipped)}", Tone.WARN
    if Code.CLIPPED_CHUNKS in codes:
        return f"{signs.clipped} index", Tone.WARN
    if report.damaged:
        return "damaged", Tone.WARN
    if Code.INCOMPLETE_RECORDING in codes:
        return "partial", Tone.WARN
    return ("vectors", Tone.WARN) if Code.VECTORS_NOT_SUMMARISED in codes else ("", Tone.MUTED)


def recording_took(recorded: Recorded) -> str:
    """Give how long it took, as its row says it."""
    took = recorded.duration_ms
    return "" if took is None else duration_text(took)
