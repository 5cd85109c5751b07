"""agentfootprint's recordings: bare or in an envelope of version 1, and the trace that only looks like one."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.recordings.model import Document, Head, Node, Note, Reading, RecordingError, Run, Unreadable
from workbench.recordings.readers.agentfootprint_errors import find_errors
from workbench.recordings.readers.agentfootprint_evidence import find_reports, find_retrievals
from workbench.recordings.readers.agentfootprint_rows import Event, Row, events_of, rows_of
from workbench.recordings.readers.agentfootprint_steps import steps_of_events, steps_of_rows, steps_of_tree
from workbench.recordings.readers.lenient import as_list, as_object, as_text, as_whole, milliseconds, nanoseconds
from workbench.recordings.steps import RawStep, finish_steps

ENVELOPE = "agentfootprint.recording.v1"
_ANY_ENVELOPE = "agentfootprint.recording."
_PREFIX = "agentfootprint."
_SNAPSHOT_KEYS = ("commitLog", "executionTree", "sharedState", "subflowResults")


class AgentfootprintReader:
    """The recording of a run: ``{snapshot, events, structure}``, by itself or under ``recording`` in an envelope."""

    format = "agentfootprint"

    def detect(self, head: Head) -> str | None:
        """Recognise the envelope by its format, the bare recording by the keys of its snapshot or its events."""
        first = head.first
        stated = first.get("format")
        if isinstance(stated, str) and stated.startswith(_ANY_ENVELOPE):
            return f'"format" is "{stated[:80]}"'
        inner = first.get("recording")
        recording = inner if isinstance(inner, dict) else first
        snapshot = recording.get("snapshot")
        if isinstance(snapshot, dict) and any(key in snapshot for key in _SNAPSHOT_KEYS) and "version" not in first:
            return 'a bare recording: its "snapshot" is one of the agentfootprint engine'
        events = recording.get("events")
        if (
            isinstance(events, list)
            and events
            and (as_text(as_object(events[0]).get("type")) or "").startswith(_PREFIX)
        ):
            return "a bare recording: its events are agentfootprint's"
        return None

    def read(self, document: Document) -> Reading:
        """Read a recording. Raises RecordingError for an envelope of another version."""
        root = next(iter(document.roots()))
        stated = _value(root.get("format"))
        _check_format(document.name, stated)
        envelope = stated == ENVELOPE
        recording = (root.get("recording") or root) if envelope or root.get("snapshot") is None else root
        snapshot = recording.get("snapshot")
        events = list(events_of(document, recording.get("events")))
        rows, mode = _boundary_rows(document, snapshot)
        run = _envelope_run(root, events) if envelope else _bare_run(events)
        run = _with_gaps(run, recording, events, rows, mode)
        return _reading(document, snapshot, events, rows, run)


class AgentfootprintTraceReader:
    """The trace of local observability, which holds a snapshot too but whose events are of another vocabulary."""

    format = "agentfootprint-trace"

    def detect(self, head: Head) -> str | None:
        """Recognise it by its version, and by events that carry no prefix."""
        first = head.first
        events = as_list(first.get("events"))
        kind = as_text(as_object(events[0]).get("type")) if events else None
        if as_whole(first.get("version")) == 1 and kind in ("run.entry", "subflow.entry", "llm.start"):
            return "an agentfootprint trace, not a recording: its events are boundaries without a prefix"
        return None

    def read(self, document: Document) -> Reading:
        """Read the boundaries and the snapshot of a trace."""
        root = next(iter(document.roots()))
        rows = list(rows_of(document, root.get("events")))
        gaps = ["a trace keeps boundaries only: no events, so no retrieval is recorded as one"]
        redaction = as_text(_value(root.get("redaction")))
        run = Run(
            started_ms=rows[0].ts if rows else None,
            ended_ms=rows[-1].ts if rows and rows[-1].type == "run.exit" else None,
            not_recorded=tuple(gaps),
            manifest=(("redaction", redaction),) if redaction else (),
        )
        return _reading(document, root.get("snapshot"), [], rows, run)


def _reading(document: Document, snapshot: Node | None, events: list[Event], rows: list[Row], run: Run) -> Reading:
    raw = _raw_steps(snapshot, events, rows)
    steps, notes = finish_steps(raw)
    numbers = {step.key: step.n for step in steps if step.key is not None}
    retrievals = find_retrievals(document, snapshot, events, rows, numbers)
    errors = find_errors(document, snapshot, events, rows, numbers)
    reports = find_reports(document, snapshot, events, numbers)
    runs = len({event.run_id for event in events if event.run_id})
    if runs > 1:
        notes = (*notes, Note(f"its events are of {runs:,} runs, its steps of the last one"))
    return Reading(run, steps, retrievals, errors, reports, notes)


def _raw_steps(snapshot: Node | None, events: list[Event], rows: list[Row]) -> list[RawStep]:
    tree = snapshot.get("executionTree") if snapshot is not None else None
    if rows:
        return steps_of_rows(rows, tree)
    if tree is not None and tree.kind == "object":
        return steps_of_tree(tree)
    return steps_of_events(events)


def _check_format(name: str, stated: object) -> None:
    if isinstance(stated, str) and stated != ENVELOPE and stated.startswith(_ANY_ENVELOPE):
        raise RecordingError(
            Unreadable.TOO_NEW,
            f"{name} is a recording of format {stated}, and only {ENVELOPE} is known; upgrade workbench, or record it "
            "again with a producer that writes the known one",
        )


def _boundary_rows(document: Document, snapshot: Node | None) -> tuple[list[Row], str | None]:
    """Give the rows of the fullest boundary recorder: several of one run hold the same."""
    best: list[Row] = []
    best_mode: str | None = None
    for recorder in _items(snapshot.get("recorders") if snapshot is not None else None):
        data = recorder.get("data")
        rows = list(rows_of(document, data))
        mode = as_text(_value(recorder.get("meta", "mode")))
        fuller = (mode == "full", len(rows)) > (best_mode == "full", len(best))
        if rows and (fuller or not best):
            best, best_mode = rows, mode
    return best, best_mode


def _envelope_run(root: Node, events: list[Event]) -> Run:
    stated = as_object(_value(root.get("run")))
    complete = stated.get("complete")
    first_kept = as_whole(stated.get("firstRetainedEventIndex"))
    named = [
        ("session", as_text(stated.get("sessionId"))),
        ("principal", as_text(stated.get("principal"))),
        ("tenant", as_text(stated.get("tenant"))),
        ("agent", as_text(_value(root.get("configuration", "manifest", "agentId")))),
        ("first kept event", None if not first_kept else str(first_kept)),
        ("producer", as_text(_value(root.get("producer", "agentfootprintVersion")))),
    ]
    for memory in as_list(_value(root.get("configuration", "manifest", "memories"))):
        fields = as_object(memory)
        named.append((f"memory {as_text(fields.get('id')) or '?'}", as_text(fields.get("embedderId"))))
    return Run(
        id=as_text(stated.get("runId")),
        started_ms=milliseconds(nanoseconds(as_text(stated.get("startedAt")))),
        ended_ms=milliseconds(nanoseconds(as_text(stated.get("endedAt")))),
        complete=complete if isinstance(complete, bool) else None,
        dropped_events=as_whole(stated.get("droppedEvents")),
        manifest=tuple((label, value) for label, value in named if value is not None),
    )


def _bare_run(events: list[Event]) -> Run:
    ids = list(dict.fromkeys(event.run_id for event in events if event.run_id))
    times = [event.ms for event in events if event.ms is not None]
    return Run(
        id=ids[0] if len(ids) == 1 else None,
        started_ms=min(times, default=None),
        ended_ms=max(times, default=None),
    )


def _with_gaps(run: Run, recording: Node, events: list[Event], rows: list[Row], mode: str | None) -> Run:
    gaps: list[str] = []
    if not events:
        gaps.append("no events are recorded, so no retrieval is told from them")
    if not rows:
        gaps.append("no boundaries are recorded, so steps have no times")
    elif mode == "lean":
        gaps.append("the boundaries are lean: what went in and out of each step is not recorded")
    if run.dropped_events:
        gaps.append(f"{run.dropped_events:,} events were dropped before the first that was kept")
    elif run.dropped_events is None:
        gaps.append("how many events were dropped is not recorded")
    if recording.get("structure") is None:
        gaps.append("the structure of the chart is not recorded")
    return Run(run.id, run.started_ms, run.ended_ms, run.complete, run.dropped_events, tuple(gaps), run.manifest)


def _items(node: Node | None) -> Iterator[Node]:
    if node is not None and node.kind == "array":
        for _index, item in node.children():
            yield item


def _value(node: Node | None) -> object:
    return None if node is None else node.value()
