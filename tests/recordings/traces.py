"""Traces made for tests, in the spelling of OTLP/JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

TRACE = "5b8efff798038103d269b633813fc60c"
START = 1_795_972_792_487_387_551
"""Nanoseconds that no float of milliseconds can hold."""


def value(plain: object) -> dict[str, object]:
    """Spell a plain value as OTLP does: whole numbers as strings."""
    if isinstance(plain, bool):
        return {"boolValue": plain}
    if isinstance(plain, int):
        return {"intValue": str(plain)}
    if isinstance(plain, float):
        return {"doubleValue": plain}
    if isinstance(plain, list):
        return {"arrayValue": {"values": [value(each) for each in plain]}}
    return {"stringValue": plain}


def span(
    id: str,
    name: str = "step",
    *,
    parent: str | None = None,
    start: object = str(START),
    end: object = str(START + 1_000_000),
    attributes: Mapping[str, object] | None = None,
    **more: object,
) -> dict[str, Any]:
    """Make one span; ``id`` and ``parent`` are filled up to sixteen hex digits."""
    return {
        "traceId": TRACE,
        "spanId": id.rjust(16, "0"),
        **({} if parent is None else {"parentSpanId": parent.rjust(16, "0")}),
        "name": name,
        "startTimeUnixNano": start,
        "endTimeUnixNano": end,
        "attributes": [{"key": key, "value": value(each)} for key, each in (attributes or {}).items()],
        **more,
    }


def batch(*spans: Mapping[str, object], service: str = "demo") -> dict[str, Any]:
    """Wrap spans as an exporter does."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
                "scopeSpans": [{"scope": {"name": "tests"}, "spans": list(spans)}],
            }
        ]
    }


def write_lines(path: Path, values: Iterable[object]) -> Path:
    """Write JSON Lines."""
    path.write_text("".join(f"{json.dumps(each)}\n" for each in values), "utf-8")
    return path


def write(path: Path, document: object) -> Path:
    """Write one JSON document."""
    path.write_text(json.dumps(document), "utf-8")
    return path


def snake(document: object) -> object:
    """Spell every key of a trace with underscores, as the protobuf names are."""
    if isinstance(document, list):
        return [snake(each) for each in document]
    if isinstance(document, dict):
        return {
            "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key): snake(each)
            for key, each in document.items()
        }
    return document


def documents(*given: Mapping[str, object], prefix: str = "retrieval.documents") -> dict[str, object]:
    """Give documents their numbers, as OpenInference does."""
    return {
        f"{prefix}.{number}.document.{key}": part
        for number, document in enumerate(given)
        for key, part in document.items()
    }
