"""Spans as plain objects: printed by the OpenTelemetry SDKs of Python and JavaScript, or listed by Phoenix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.recordings.model import Document, Head, Node, Note, Reading
from workbench.recordings.readers.lenient import as_list, as_object, as_text, nanoseconds
from workbench.recordings.readers.otlp import hex_id
from workbench.recordings.readers.trace_spans import Attributes, RawSpan, SpanEvent
from workbench.recordings.readers.tracing import read_spans

_ERRORS = ("ERROR", "StatusCode.ERROR", 2)
_OKS = ("OK", "StatusCode.OK", 1)


class ConsoleSpansReader:
    """Output of a console or in-memory span exporter."""

    format = "otel-console"

    def detect(self, head: Head) -> str | None:
        """Recognise a span by its context (Python, JavaScript) and its attributes."""
        for value in head.values[:20]:
            first = value[0] if isinstance(value, list) and value else value
            if not isinstance(first, dict) or not isinstance(first.get("attributes", {}), dict):
                continue
            context = first.get("context")
            if isinstance(context, dict) and str(context.get("trace_id", "")).startswith("0x"):
                return "spans as the OpenTelemetry SDK prints them: context.trace_id begins with 0x"
            if isinstance(first.get("spanContext"), dict) and "attributes" in first:
                return "spans as the OpenTelemetry SDK for JavaScript gives them: spanContext and attributes"
            if isinstance(first.get("traceId"), str) and "id" in first and "duration" in first and "timestamp" in first:
                return "spans as the OpenTelemetry SDK for JavaScript prints them: traceId, id, timestamp, duration"
        return None

    def read(self, document: Document) -> Reading:
        """Read every span; what is none is counted and said."""
        notes: list[Note] = []
        return read_spans(_spans(document, notes), _span, notes)


class PhoenixReader:
    """The listing of spans that a Phoenix server gives."""

    format = "phoenix"

    def detect(self, head: Head) -> str | None:
        """Recognise a page of spans by the context of the first."""
        listed = head.first.get("data")
        first = listed[0] if isinstance(listed, list) and listed else None
        if isinstance(first, dict) and isinstance(first.get("context"), dict) and "span_id" in first["context"]:
            return "data[0].context.span_id: spans listed by Phoenix"
        return None

    def read(self, document: Document) -> Reading:
        """Read every span of every page; what is none is counted and said."""
        notes: list[Note] = []
        return read_spans(_spans(document, notes), _span, notes)


def _spans(document: Document, notes: list[Note]) -> Iterator[RawSpan]:
    strangers = 0
    first: Node | None = None
    for root in document.roots():
        listed = root.get("data") if root.kind == "object" else root
        listed = listed if listed is not None and listed.kind == "array" else None
        for node in [root] if listed is None else [child for _, child in listed.children()]:
            span = _span(node)
            if span is not None:
                yield span
                continue
            strangers += 1
            first = first or node
    if first is not None:
        what = "value is no span" if strangers == 1 else "values are no spans"
        notes.append(Note(f"{strangers:,} {what} and stand in no step", byte=first.span.start))


def _span(node: Node) -> RawSpan | None:
    value = node.value()
    if not isinstance(value, dict):
        return None
    context = as_object(value.get("context")) or as_object(value.get("spanContext"))
    trace = hex_id(context.get("trace_id") or context.get("traceId") or value.get("traceId"))
    own = hex_id(context.get("span_id") or context.get("spanId") or value.get("id"))
    if own is None:
        return None
    parent = value.get("parent_id") or value.get("parentId") or value.get("parentSpanId")
    parent = parent or as_object(value.get("parentSpanContext")).get("spanId")
    start, end = _times(value)
    status = as_object(value.get("status"))
    code = value.get("status_code") or status.get("status_code", status.get("code"))
    attributes = as_object(value.get("attributes"))
    kind = value.get("span_kind")
    if isinstance(kind, str) and kind != "UNKNOWN":
        attributes.setdefault("openinference.span.kind", kind)
    return RawSpan(
        trace=trace,
        id=own,
        parent=hex_id(parent),
        name=as_text(value.get("name")) or "",
        start_ns=start,
        end_ns=end,
        attributes=Attributes(attributes),
        node=node,
        failed=True if code in _ERRORS else False if code in _OKS else None,
        message=as_text(value.get("status_message"))
        or as_text(status.get("description"))
        or as_text(status.get("message")),
        events=tuple(_events(value.get("events"))),
        resource=_resource(value.get("resource")),
    )


def _times(value: Mapping[str, object]) -> tuple[int | None, int | None]:
    """Read ISO texts, pairs of seconds and nanoseconds, or JavaScript's printed microseconds."""
    start = nanoseconds(value.get("start_time") or value.get("startTime"))
    end = nanoseconds(value.get("end_time") or value.get("endTime"))
    stamp, duration = value.get("timestamp"), value.get("duration")
    if start is None and isinstance(stamp, int | float):
        start = int(stamp) * 1_000
        end = start + int(duration * 1_000) if isinstance(duration, int | float) else None
    return start, end


def _events(events: object) -> Iterator[SpanEvent]:
    for event in as_list(events):
        if isinstance(event, dict):
            yield SpanEvent(as_text(event.get("name")) or "", Attributes(as_object(event.get("attributes"))))


def _resource(value: object) -> Mapping[str, str]:
    service = as_text(as_object(as_object(value).get("attributes")).get("service.name"))
    return {} if service is None else {"service.name": service}
