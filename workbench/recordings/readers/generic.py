"""Any JSON: a tree that is never refused, with steps where it holds records that look like events."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec

from workbench.recordings import values
from workbench.recordings.model import Document, Head, Node, Note, Reading, Span
from workbench.recordings.readers.lenient import as_object, as_text, milliseconds, nanoseconds
from workbench.recordings.scanner import Damage
from workbench.recordings.step_table import finish_stream
from workbench.recordings.steps import RawStep

_LISTS = ("events", "steps", "spans", "records", "entries", "runs", "messages", "calls", "logs", "observations")
_KINDS = ("type", "kind", "event", "event_type", "span_kind", "run_type", "op", "op_name", "role", "level")
_NAMES = ("name", "title", "runtimeStageId", "id", "uuid", "custom_id")
_TIMES = ("timestamp", "time", "ts", "start_time", "started_at", "startTime", "start", "created_at")
_ENDS = ("end_time", "ended_at", "endTime", "end")
_UNITS = ((10**17, 10**6), (10**14, 10**3), (10**11, 1), (10**8, 1e-3))
_KEYS = ("uuid", "span_id", "spanId")
_PARENTS = ("parentUuid", "parent_uuid", "parent_id", "parentId", "parent_span_id", "parentSpanId")
_WANTED = frozenset((*_KINDS, *_NAMES, *_TIMES, *_ENDS, *_KEYS, *_PARENTS))
_LONGEST_FACT = 4_096
_LONGEST_AT_ONCE = 16 << 20
"""A longer record is not read to find its fields: that would hold up every other thread."""
_AHEAD = 256 << 10
_BUNDLE = "agentfootprint-corpus-v1"
_NO_RECORDING = Note(
    f"it is a corpus bundle ({_BUNDLE}): the chunks of an index with their vectors, not the recording of a run; it is "
    "read as a JSON tree"
)
_FACTS: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NOT_PLAIN = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class GenericReader:
    """Takes whatever parses."""

    format = "json"

    def detect(self, head: Head) -> str | None:
        """Take every text that begins with a value."""
        if head.first.get("format") == _BUNDLE:
            return f'"format" is "{_BUNDLE}"'
        return "it is JSON, of no format that is known by name" if head.values else None

    def read(self, document: Document) -> Reading:
        """Give the records of a document as steps; those of a corpus bundle are chunks, and none."""
        if document.head.first.get("format") == _BUNDLE:
            for _ in document.roots():
                pass  # so that damage is noted
            return Reading(notes=(_NO_RECORDING,))
        ahead = _Ahead(document)
        steps, notes = finish_stream(_step(ahead, record) for record in _records(document))
        return Reading(steps=steps, notes=notes)


def _records(document: Document) -> Iterator[Node]:
    roots = document.roots()
    first = next(roots, None)
    if first is None:
        return
    second = next(roots, None)
    if second is not None:
        yield first
        yield second
        yield from roots
        return
    listed = first
    if first.kind == "object":
        inner = next((node for name in _LISTS if (node := first.get(name)) is not None and node.kind == "array"), None)
        if inner is None:
            return
        listed = inner
    if listed.kind == "array":
        # One after the other: a list of them all would take a while to be let go of, and hold up every other thread.
        for place, (_name, node) in enumerate(listed.children()):
            if not place and node.kind != "object":
                return
            yield node


class _Ahead:
    """Reads records that follow each other many at a time: each by itself costs a call of the system."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._begin, self._data = 0, b""

    def read(self, span: Span) -> bytes:
        """Give the bytes of a record."""
        at = span.start - self._begin
        if at < 0 or span.end - self._begin > len(self._data):
            if span.size > _AHEAD:
                return self._document.read(span)
            # never behind the text's end, which is what is known to be there
            end = max(span.end, min(span.start + _AHEAD, self._document.span.end))
            self._begin, self._data, at = span.start, self._document.read(Span(span.start, end)), 0
        return self._data[at : at + span.size]


def _step(ahead: _Ahead, record: Node) -> RawStep:
    facts = _facts(ahead, record)
    kind = _text(facts, _KINDS) or "record"
    return RawStep(
        key=_text(facts, _KEYS),
        parent=_text(facts, _PARENTS),
        kind=kind.lower(),
        name=_text(facts, _NAMES) or kind,
        start_ms=_time_ms(facts, _TIMES),
        end_ms=_time_ms(facts, _ENDS),
        spans=(record.span,),
    )


def _facts(ahead: _Ahead, record: Node) -> dict[str, object]:
    """Read the few fields of a record that a step needs, without building the others."""
    if record.span.size > _LONGEST_AT_ONCE:
        return {
            name: node.value()
            for name, node in record.children()
            if isinstance(name, str) and name in _WANTED and node.span.size < _LONGEST_FACT
        }
    data = ahead.read(record.span)
    if len(data) < _LONGEST_FACT:
        with contextlib.suppress(Damage):
            return as_object(values.loads(data))
    try:
        fields = _FACTS.decode(data)
    except _NOT_PLAIN:
        return as_object(record.value())
    facts: dict[str, object] = {}
    for name, raw in fields.items():
        if name in _WANTED:
            text = bytes(raw)
            if text[:1] not in (b"{", b"[") and len(text) < _LONGEST_FACT:
                with contextlib.suppress(Damage):
                    facts[name] = values.loads(text)
    return facts


def _text(facts: dict[str, object], names: tuple[str, ...]) -> str | None:
    for name in names:
        if name in facts:
            text = as_text(facts[name])
            if text is not None:
                return text
    return None


def _time_ms(facts: dict[str, object], names: tuple[str, ...]) -> float | None:
    """Read the first time there is; a bare number says by its size whether it counts ns, us, ms or s since 1970."""
    for name in names:
        value = facts.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            for least, unit in _UNITS:
                if value >= least:
                    return float(value) / unit
        elif isinstance(value, str) and (time := milliseconds(nanoseconds(value))) is not None:
            return time
    return None
