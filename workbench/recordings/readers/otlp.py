"""OTLP/JSON traces, as exporters and collectors write them: batches or single spans, one document or one a line."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping

from workbench.recordings.model import Document, Head, Node, Note, Reading
from workbench.recordings.readers.lenient import as_list, as_object, as_text, as_whole, nanoseconds
from workbench.recordings.readers.trace_spans import Attributes, RawSpan, SpanEvent
from workbench.recordings.readers.tracing import read_spans

_RESOURCE_SPANS = ("resourceSpans", "resource_spans")
_SCOPE_SPANS = (
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "instrumentation_library_spans",
)
_SPAN_IDS = ("spanId", "span_id")
_TRACE_IDS = ("traceId", "trace_id")
_STARTS = ("startTimeUnixNano", "start_time_unix_nano")
_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{16}|[0-9a-fA-F]{32})")
_ERROR_STATUS = (2, "2", "STATUS_CODE_ERROR", "ERROR")
_OK_STATUS = (1, "1", "STATUS_CODE_OK", "OK")
_DEEPEST = 64  # how far lists and maps within one attribute are followed
_LOST = ("droppedAttributesCount", "dropped_attributes_count", "droppedEventsCount", "dropped_events_count")
_ONLY_OTHER_SIGNALS = ("resourceLogs", "resourceMetrics", "resource_logs", "resource_metrics")


class OtlpReader:
    """Traces in OTLP/JSON, with the attributes of OpenInference, OTel GenAI or none."""

    format = "otlp"

    def detect(self, head: Head) -> str | None:
        """Recognise a batch by its top key, and a single span by its ids and its time."""
        for value in head.values[:20]:
            first = value[0] if isinstance(value, list) and value else value
            if not isinstance(first, dict):
                continue
            if isinstance(first.get("data"), list) and first["data"] and isinstance(first["data"][0], dict):
                first = first["data"][0]
            for key in _RESOURCE_SPANS:
                if isinstance(first.get(key), list):
                    return f"top key {key}{_conventions(head.text)}"
            scopes = next((key for key in _SCOPE_SPANS if isinstance(first.get(key), list)), None)
            if scopes is not None:
                return f"a batch of spans under {scopes}{_conventions(head.text)}"
            if _looks_like_span(first):
                return f"spans with {', '.join(key for key in first if key in _MARKS)}{_conventions(head.text)}"
        return None

    def read(self, document: Document) -> Reading:
        """Read every span; what is no span is counted and said."""
        notes: list[Note] = []
        return read_spans(_spans(document, notes), _again, notes)


_MARKS = (*_TRACE_IDS, *_SPAN_IDS, *_STARTS)


def _conventions(head: bytes) -> str:
    names = [
        name
        for mark, name in ((b"openinference.span.kind", "OpenInference"), (b"gen_ai.operation.name", "OTel GenAI"))
        if mark in head
    ]
    return f", with attributes of {' and '.join(names)}" if names else ""


def _looks_like_span(value: Mapping[str, object]) -> bool:
    has_id = any(isinstance(value.get(key), str) for key in _SPAN_IDS)
    return has_id and any(key in value for key in _STARTS)


def _spans(document: Document, notes: list[Note]) -> Iterator[RawSpan]:
    strangers = 0
    first: Node | None = None
    for root in document.roots():
        found = False
        for node, resource in _span_nodes(root):
            span = read_span(node, resource)
            if span is not None:
                found = True
                yield span
                continue
            strangers += 1
            first = first or node
        if not found and not _carries_no_span(root):
            strangers += 1
            first = first or root
    if first is not None:
        what = "value is no span" if strangers == 1 else "values are no spans"
        notes.append(Note(f"{strangers:,} {what} and stand in no step", byte=first.span.start))


def _carries_no_span(root: Node) -> bool:
    """Say whether a root may well be without spans: an empty batch, or another signal in the same file."""
    if root.kind != "object":
        return False
    return any(root.get(key) is not None for key in (*_RESOURCE_SPANS, *_ONLY_OTHER_SIGNALS))


def _span_nodes(root: Node) -> Iterator[tuple[Node, Mapping[str, str]]]:
    """Walk from a root to its spans, whichever of the known wrappings it has."""
    if root.kind == "array":
        for _, child in root.children():
            yield from _span_nodes_of_object(child)
    else:
        yield from _span_nodes_of_object(root)


def _span_nodes_of_object(node: Node) -> Iterator[tuple[Node, Mapping[str, str]]]:
    if node.kind != "object":
        return
    for batches in (_child(node, _RESOURCE_SPANS), node.get("batches"), node.get("data")):
        if batches is not None and batches.kind == "array":
            for _, batch in batches.children():
                if _child(batch, _SCOPE_SPANS) is not None:
                    yield from _batch(batch)
                elif _child(batch, _SPAN_IDS) is not None:
                    yield batch, {}
            return
    if _child(node, _SCOPE_SPANS) is not None:
        yield from _batch(node)
    elif _child(node, _SPAN_IDS) is not None:
        yield node, {}


def _batch(batch: Node) -> Iterator[tuple[Node, Mapping[str, str]]]:
    resource = batch.get("resource", "attributes")
    service = None if resource is None else attributes_of(resource.value()).text("service.name")
    labels = {} if service is None else {"service.name": service}
    scopes = _child(batch, _SCOPE_SPANS)
    for _, scope in () if scopes is None else scopes.children():
        spans = scope.get("spans")
        for _, span in () if spans is None else spans.children():
            yield span, labels


def _child(node: Node, keys: tuple[str, ...]) -> Node | None:
    if node.kind != "object":
        return None
    return next((found for key in keys if (found := node.get(key)) is not None), None)


def _again(node: Node) -> RawSpan | None:
    return read_span(node, {})


def read_span(node: Node, resource: Mapping[str, str]) -> RawSpan | None:
    """Read one span in either spelling of its keys; None when it is no object."""
    value = node.value()
    if not isinstance(value, dict):
        return None
    status = as_object(value.get("status"))
    code = status.get("code", status.get("status_code"))
    return RawSpan(
        trace=hex_id(_pick(value, *_TRACE_IDS)),
        id=hex_id(_pick(value, *_SPAN_IDS)),
        parent=hex_id(_pick(value, "parentSpanId", "parent_span_id", "parent_id")),
        name=as_text(value.get("name")) or "",
        start_ns=nanoseconds(_pick(value, *_STARTS)),
        end_ns=nanoseconds(_pick(value, "endTimeUnixNano", "end_time_unix_nano")),
        attributes=attributes_of(value.get("attributes")),
        node=node,
        failed=True if code in _ERROR_STATUS else False if code in _OK_STATUS else None,
        message=as_text(status.get("message")),
        events=tuple(_events(value.get("events"))),
        lost=sum(as_whole(value.get(key)) or 0 for key in _LOST),
        resource=resource,
    )


def _events(events: object) -> Iterator[SpanEvent]:
    for event in as_list(events):
        if isinstance(event, dict):
            yield SpanEvent(as_text(event.get("name")) or "", attributes_of(event.get("attributes")))


def _pick(value: Mapping[str, object], *keys: str) -> object:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def hex_id(value: object) -> str | None:
    """Give an id as hex in lower case, also when the producer wrote base64; zeros and nothing are none."""
    text = as_text(value)
    if text is None:
        return None
    match = _HEX.fullmatch(text)
    if match is not None:
        text = match[1].lower()
    elif len(text) in (12, 24) and text.endswith("="):
        try:
            text = base64.b64decode(text, validate=True).hex()
        except (binascii.Error, ValueError):
            return text
    return text if text.strip("0") else None


def attributes_of(value: object) -> Attributes:
    """Read a list of keys and values; of a repeated key the last counts. A plain object is taken as it is."""
    if isinstance(value, dict):
        return Attributes(value)
    raw: dict[str, object] = {}
    for each in as_list(value):
        if isinstance(each, dict) and isinstance(each.get("key"), str):
            raw[str(each["key"])] = each.get("value")
    return Attributes(raw, any_value, _items)


def _items(value: object) -> list[object]:
    """Give the items of an array as they are, or of one that is JSON in a string."""
    if not isinstance(value, dict):
        return []
    array = value.get("arrayValue", value.get("array_value"))
    if isinstance(array, dict):
        return as_list(array.get("values"))
    return as_list(value.get("stringValue", value.get("string_value")))


def any_value(value: object, depth: int = 0) -> object:
    """Give the plain value of an OTLP ``AnyValue`` in either spelling; None when it is empty or too deep."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    for key, kind in _KINDS.items():
        held = value.get(key)
        if held is None:
            continue
        if kind == "array":
            return [any_value(each, depth + 1) for each in as_list(as_object(held).get("values"))]
        if kind == "map":
            pairs = as_list(as_object(held).get("values"))
            return {
                str(pair.get("key")): any_value(pair.get("value"), depth + 1)
                for pair in pairs
                if isinstance(pair, dict)
            }
        if kind == "int":
            return as_whole(held)
        return held
    return None


_KINDS = {
    "stringValue": "plain",
    "intValue": "int",
    "doubleValue": "plain",
    "boolValue": "plain",
    "arrayValue": "array",
    "kvlistValue": "map",
    "bytesValue": "plain",
    "string_value": "plain",
    "int_value": "int",
    "double_value": "plain",
    "bool_value": "plain",
    "array_value": "array",
    "kvlist_value": "map",
    "bytes_value": "plain",
}
