"""Values of recordings as writers spell them: numbers in strings, JSON in strings, times in four notations."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import orjson

_MOST_JSON_IN_A_STRING = 8 << 20
_MOST_WRAPPINGS = 3
_NO_JSON = object()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def as_text(value: object) -> str | None:
    """Give a string that is not empty, or a number as its text; None for anything else."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def as_number(value: object) -> float | None:
    """Give a finite number, also one that was written as a string."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    return None


def as_whole(value: object) -> int | None:
    """Give a whole number exactly, also one that was written as a string or as ``3.0``."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return None
    if isinstance(value, float) and math.isfinite(value) and value == math.floor(value):
        return int(value)
    return None


def as_object(value: object) -> dict[str, object]:
    """Give an object, also one that is stored as JSON in a string; an empty one for anything else."""
    value = unwrapped(value)
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Give a list, also one that is stored as JSON in a string; an empty one for anything else."""
    value = unwrapped(value)
    return value if isinstance(value, list) else []


def unwrapped(value: object) -> object:
    """Parse JSON that is stored in a string, doubly encoded too; whatever does not parse stays as it is."""
    for _ in range(_MOST_WRAPPINGS):
        if not isinstance(value, str) or not 1 < len(value) <= _MOST_JSON_IN_A_STRING:
            return value
        if value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        parsed = _parsed(value)
        if parsed is _NO_JSON:
            return value
        value = parsed
    return value


def _parsed(text: str) -> object:
    """Parse text that is JSON to its end; a number in brackets that begins a sentence is none."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _NO_JSON


def strings_in(value: object) -> Iterator[str]:
    """Give every string below a value, those of JSON in strings too; at any depth."""
    waiting = [unwrapped(value)]
    while waiting:
        at = waiting.pop()
        if isinstance(at, str):
            inner = unwrapped(at)
            if inner is at:
                yield at
            else:
                waiting.append(inner)
        elif isinstance(at, dict):
            waiting += reversed(list(at.values()))
        elif isinstance(at, list):
            waiting += reversed(at)


def nanoseconds(value: object) -> int | None:
    """Read a time as whole nanoseconds since 1970, never by way of a float.

    Takes a count (a number or its text), ISO 8601, or the pair of seconds and nanoseconds that JavaScript writes. 0 is
    "not set", as in OTLP.
    """
    if isinstance(value, list):
        parts = [as_whole(part) for part in value]
        if len(parts) == 2 and parts[0] is not None and parts[1] is not None:
            return parts[0] * 1_000_000_000 + parts[1]
        return None
    count = as_whole(value)
    if count is not None:
        return count or None
    return _iso(value) if isinstance(value, str) else None


def _iso(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - _EPOCH) // _MICROSECOND * 1_000
    except (ValueError, OverflowError):
        return None


def milliseconds(nanoseconds: int | None) -> float | None:
    """Give nanoseconds as milliseconds, rounded once."""
    if nanoseconds is None:
        return None
    try:
        return nanoseconds / 1_000_000
    except OverflowError:
        return None
