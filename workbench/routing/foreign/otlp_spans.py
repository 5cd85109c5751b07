"""The embedding spans of OTLP/JSON: their ids, times and attributes, without building a vector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from workbench.routing.foreign.bodies import as_text, as_whole, decoded, width_of

_MOST_IDS = 100_000
_ERROR_STATUS = (2, "2", "STATUS_CODE_ERROR", "ERROR")
_EMBEDDING_OPERATIONS = ("embeddings", "embedding")


class _AnyValue(msgspec.Struct, gc=False):
    stringValue: Any = None
    intValue: Any = None
    arrayValue: msgspec.Raw = msgspec.Raw()


class _KeyValue(msgspec.Struct, gc=False):
    key: Any = None
    value: _AnyValue | None = None


class _Event(msgspec.Struct, gc=False):
    name: Any = None
    attributes: list[_KeyValue] | None = None


class _Status(msgspec.Struct, gc=False):
    code: Any = None


class _Span(msgspec.Struct, gc=False):
    traceId: Any = None
    spanId: Any = None
    parentSpanId: Any = None
    startTimeUnixNano: Any = None
    endTimeUnixNano: Any = None
    attributes: list[_KeyValue] | None = None
    events: list[_Event] | None = None
    status: _Status | None = None


class _Scope(msgspec.Struct, gc=False):
    name: Any = None


class _ScopeSpans(msgspec.Struct, gc=False):
    scope: _Scope | None = None
    spans: list[_Span] | None = None


class _Resource(msgspec.Struct, gc=False):
    attributes: list[_KeyValue] | None = None


class _ResourceSpans(msgspec.Struct, gc=False):
    resource: _Resource | None = None
    scopeSpans: list[_ScopeSpans] | None = None


class _Batch(msgspec.Struct, gc=False):
    resourceSpans: list[_ResourceSpans] | None = None
    resourceLogs: msgspec.Raw = msgspec.Raw()
    resourceMetrics: msgspec.Raw = msgspec.Raw()


class _Array(msgspec.Struct, gc=False):
    values: list[msgspec.Raw] | None = None


class _Texts(msgspec.Struct, gc=False):
    values: list[_AnyValue] | None = None


class Attributes:
    """Attributes by key, each read only when it is asked for."""

    def __init__(self, pairs: list[_KeyValue] | None) -> None:
        self._values = {
            pair.key: pair.value for pair in pairs or () if isinstance(pair.key, str) and pair.value is not None
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def any_of(self, keys: tuple[str, ...]) -> bool:
        """Say whether one of these is there at all."""
        return not self._values.keys().isdisjoint(keys)

    def text(self, *keys: str) -> str | None:
        """Give the first of these that says something, numbers too."""
        for key in keys:
            value = self._values.get(key)
            found = None if value is None else as_text(value.stringValue) or as_text(value.intValue)
            if found is not None:
                return found
        return None

    def whole(self, *keys: str) -> int | None:
        """Give the first of these that is a count."""
        for key in keys:
            value = self._values.get(key)
            found = (
                None if value is None else as_whole(value.intValue if value.intValue is not None else value.stringValue)
            )
            if found is not None:
                return found
        return None

    def json(self, key: str) -> dict[str, Any] | None:
        """Give an object that is kept as JSON in a string."""
        value = self._values.get(key)
        if value is None or not isinstance(value.stringValue, str):
            return None
        return decoded(value.stringValue.encode("utf-8", "replace"), dict[str, Any])

    def texts(self, key: str) -> list[str | None]:
        """Give the items of a list of texts."""
        value = self._values.get(key)
        array = None if value is None or not bytes(value.arrayValue) else decoded(bytes(value.arrayValue), _Texts)
        return [] if array is None else [as_text(each.stringValue) for each in array.values or ()]

    def hash_of(self, key: str) -> int:
        """Give a hash of a text, which is not kept."""
        value = self._values.get(key)
        return hash(value.stringValue) if value is not None and isinstance(value.stringValue, str) else 0

    def width(self, key: str) -> int | None:
        """Count the numbers of a vector, kept as a list or as JSON in a string; None when there are none."""
        value = self._values.get(key)
        if value is None:
            return None
        if isinstance(value.stringValue, str):
            return width_of(value.stringValue.encode("utf-8", "replace"))
        array = decoded(bytes(value.arrayValue), _Array) if bytes(value.arrayValue) else None
        return None if array is None else len(array.values or ()) or None


class FoundSpan(NamedTuple):
    """One embedding span; times are nanoseconds since 1970, and ``instance`` is the process that it is of."""

    trace: str | None
    id: str | None
    parent: str | None
    start_ns: int | None
    end_ns: int | None
    failed: bool
    exception: str | None
    attributes: Attributes
    scope: str | None
    instance: str | None


def spans_of(data: bytes) -> list[FoundSpan] | None:
    """Give the embedding spans of one batch; None when it is no batch of OTLP at all."""
    batch = decoded(data, _Batch)
    if batch is None:
        return None
    if batch.resourceSpans is None:
        # Logs and metrics may stand in the same file.
        return [] if bytes(batch.resourceLogs) or bytes(batch.resourceMetrics) else None
    found: list[FoundSpan] = []
    for resource_spans in batch.resourceSpans:
        instance = _instance(Attributes(resource_spans.resource.attributes)) if resource_spans.resource else None
        for scope_spans in resource_spans.scopeSpans or ():
            scope = as_text(scope_spans.scope.name) if scope_spans.scope else None
            found += (_found(span, scope, instance) for span in scope_spans.spans or () if _is_embedding(span))
    return found


def _is_embedding(span: _Span) -> bool:
    for pair in span.attributes or ():
        if pair.value is None:
            continue
        if pair.key == "openinference.span.kind":
            return bool(pair.value.stringValue == "EMBEDDING")
        if pair.key == "gen_ai.operation.name":
            return pair.value.stringValue in _EMBEDDING_OPERATIONS
    return False


def _found(span: _Span, scope: str | None, instance: str | None) -> FoundSpan:
    exceptions = (Attributes(each.attributes) for each in span.events or () if each.name == "exception")
    return FoundSpan(
        trace=_id(span.traceId),
        id=_id(span.spanId),
        parent=_id(span.parentSpanId),
        start_ns=_nanoseconds(span.startTimeUnixNano),
        end_ns=_nanoseconds(span.endTimeUnixNano),
        failed=span.status is not None and span.status.code in _ERROR_STATUS,
        exception=next((kind for each in exceptions if (kind := each.text("exception.type")) is not None), None),
        attributes=Attributes(span.attributes),
        scope=scope,
        instance=instance,
    )


def _instance(resource: Attributes) -> str | None:
    """Name the process: by its own id, else by service, host and number as far as the trace says."""
    own = resource.text("service.instance.id")
    parts = (resource.text(key) for key in ("service.name", "host.name", "process.pid"))
    return own or "/".join(part for part in parts if part) or None


def _id(value: object) -> str | None:
    text = as_text(value)
    return text if text is not None and text.strip("0") else None


def _nanoseconds(value: object) -> int | None:
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) <= 20 else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


class Nesting:
    """Which embedding spans only wrap others: where two instrumentations see one request, the inner one was it.

    Bounded: of spans far apart in a file it is not told.
    """

    def __init__(self) -> None:
        self._outer: set[int] = set()
        self._recent: tuple[set[int], set[int]] = (set(), set())
        self._older: tuple[set[int], set[int]] = (set(), set())

    def see(self, span: FoundSpan) -> None:
        """Take a span in."""
        ids, parents = self._recent
        own, above = hash((span.trace, span.id)), hash((span.trace, span.parent))
        if span.id is not None:
            ids.add(own)
            if own in parents or own in self._older[1]:
                self._remember(own)
        if span.parent is not None:
            parents.add(above)
            if above in ids or above in self._older[0]:
                self._remember(above)
        if len(ids) > _MOST_IDS:
            self._older, self._recent = self._recent, (set(), set())

    def wraps(self, span: FoundSpan) -> bool:
        """Say whether another embedding span stands within this one."""
        return hash((span.trace, span.id)) in self._outer

    def _remember(self, span: int) -> None:
        if len(self._outer) < 10 * _MOST_IDS:
            self._outer.add(span)
