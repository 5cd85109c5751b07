"""The two kinds of rows in agentfootprint's files: events with a prefix, and boundaries without one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from workbench.recordings import values
from workbench.recordings.model import Document, Node, Span
from workbench.recordings.readers.lenient import as_list, as_number, as_object, as_text
from workbench.recordings.scanner import Damage

_PREFIX = "agentfootprint."
_FAMILIES = ("run", "subflow", "llm", "tool", "composition", "fork", "decision", "loop", "context")


class _Meta(msgspec.Struct):
    wallClockMs: float | None = None
    runtimeStageId: str | None = None
    runId: str | None = None


class _FastEvent(msgspec.Struct):
    """Only what every event is asked for: payloads are not built."""

    type: str = ""
    meta: _Meta | None = None


_EVENTS: msgspec.json.Decoder[_FastEvent] = msgspec.json.Decoder(_FastEvent)


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its type without the prefix, when, where in the chart, of which run, and its bytes."""

    type: str
    ms: float | None
    stage: str
    run_id: str | None
    span: Span

    def payload(self, document: Document) -> dict[str, object]:
        """Parse what it carries."""
        try:
            return as_object(as_object(values.loads(document.read(self.span))).get("payload"))
        except Damage:
            return {}


@dataclass(frozen=True, slots=True)
class Row:
    """One boundary: its type, where in the chart, when, its small facts, and its bytes.

    ``path`` are the subflows around it; ``facts`` are the fields that are text or truth, and the tokens that a model
    used, without payloads.
    """

    type: str
    stage: str
    path: tuple[str, ...]
    ts: float | None
    facts: dict[str, object]
    span: Span

    @property
    def family(self) -> str:
        """The word before the point: run, subflow, llm, tool, …."""
        return self.type.partition(".")[0]

    def field(self, document: Document, name: str) -> object:
        """Parse one of its fields."""
        try:
            return as_object(values.loads(document.read(self.span))).get(name)
        except Damage:
            return None


def events_of(document: Document, node: Node | None) -> Iterator[Event]:
    """Give the events of a list; what is no event is passed over."""
    if node is None or node.kind != "array":
        return
    for _index, item in node.children():
        data = document.read(item.span)
        try:
            fast = _EVENTS.decode(data)
            kind, meta = fast.type, fast.meta or _Meta()
            ms, stage, run_id = meta.wallClockMs, meta.runtimeStageId, meta.runId
        except (msgspec.DecodeError, RecursionError):
            fields = as_object(item.value())
            kind = as_text(fields.get("type")) or ""
            slow = as_object(fields.get("meta"))
            ms, stage, run_id = (
                as_number(slow.get("wallClockMs")),
                as_text(slow.get("runtimeStageId")),
                as_text(slow.get("runId")),
            )
        if kind:
            yield Event(kind.removeprefix(_PREFIX), ms, stage or "", run_id, item.span)


def rows_of(document: Document, node: Node | None) -> Iterator[Row]:
    """Give the boundaries of a list; nothing when it holds something else, as a narrative does."""
    if node is None or node.kind != "array":
        return
    for _index, item in node.children():
        fields = as_object(item.value())
        kind = as_text(fields.get("type")) or ""
        if kind.partition(".")[0] not in _FAMILIES or "." not in kind:
            continue
        facts: dict[str, object] = {
            key: each for key, each in fields.items() if isinstance(each, str | bool | int | float)
        }
        if kind == "llm.end":
            facts["usage"] = as_object(fields.get("usage"))
        path = tuple(each for each in as_list(fields.get("subflowPath")) if isinstance(each, str))
        if kind == "run.exit":
            error = as_text(as_object(fields.get("payload")).get("error"))
            if error is not None:
                facts["error"] = error
        if kind == "tool.end" and facts.get("error") is True:
            facts["error"] = as_text(fields.get("result")) or "the tool failed"
        yield Row(
            kind, as_text(fields.get("runtimeStageId")) or "", path, as_number(fields.get("ts")), facts, item.span
        )
