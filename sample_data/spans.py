"""Spans in OTLP/JSON with OpenInference's attributes, a batch a line as the collector's file exporter writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

_MS = 1_000_000


@dataclass(slots=True)
class Trace:
    """One trace: its id in hexadecimal, and when it begins, in milliseconds since 1970."""

    id: str
    start_ms: int
    _spans: list[dict[str, object]] = field(default_factory=list)

    def span(
        self, name: str, kind: str, parent: str | None, start: int, end: int, attributes: Mapping[str, object]
    ) -> str:
        """Add a span from ``start`` to ``end`` in milliseconds of the trace, and give its id."""
        own = f"{len(self._spans) + 1:016x}"
        self._spans.append(
            {
                "traceId": self.id,
                "spanId": own,
                **({} if parent is None else {"parentSpanId": parent}),
                "name": name,
                "kind": 1,
                "startTimeUnixNano": str((self.start_ms + start) * _MS),
                "endTimeUnixNano": str((self.start_ms + end) * _MS),
                "attributes": [
                    {"key": key, "value": _value(value)}
                    for key, value in {"openinference.span.kind": kind, **attributes}.items()
                ],
                "status": {"code": 1},
            }
        )
        return own

    def lines(self) -> str:
        """Give the trace as JSON Lines: a span is written when it ends, and so before its parent."""
        ended = sorted(self._spans, key=lambda span: int(str(span["endTimeUnixNano"])))
        return "".join(f"{json.dumps(_batch(span), ensure_ascii=False)}\n" for span in ended)


def _batch(span: dict[str, object]) -> dict[str, object]:
    service = [{"key": "service.name", "value": {"stringValue": "museum-assistant"}}]
    scope = {"scope": {"name": "openinference.instrumentation"}, "spans": [span]}
    return {"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [scope]}]}


def _value(value: object) -> dict[str, object]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(each) for each in value]}}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": value}
