"""An interaction of a cassette as JSON text, bodies unpacked, so that rules about vectors see what a reader sees."""

from __future__ import annotations

import json

import orjson

from workbench.recordings.readers.lenient import as_object
from workbench.recordings.readers.vcr import body_of

_MOST_BYTES = 64 << 20
_MOST_VALUES = 4_000_000
_BODIES = ("request", "response")


def interaction_text(interaction: object) -> bytes:
    """Write one interaction as JSON; empty when it would be absurdly big, as aliases can make it."""
    value = dict(as_object(interaction))
    for side in _BODIES:
        message = as_object(value.get(side))
        if message.get("body") is not None:
            value[side] = {**message, "body": body_of({**message, "parsed_body": None}, {})}
    if _size(value) > _MOST_BYTES:
        return b""
    try:
        return orjson.dumps(value, default=_text_of)
    except TypeError:
        return json.dumps(value, default=_text_of).encode("ascii")


def _text_of(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _size(value: object) -> int:
    """Give about how long the text will be, each alias counted as often as it is written out; rings have no end."""
    size = visited = 0
    waiting = [value]
    while waiting and size <= _MOST_BYTES:
        at = waiting.pop()
        visited += 1
        if visited > _MOST_VALUES:
            return _MOST_BYTES + 1
        if isinstance(at, dict):
            size += sum(len(str(key)) + 4 for key in at)
            waiting += at.values()
        elif isinstance(at, list):
            size += len(at)
            waiting += at
        else:
            size += len(at) if isinstance(at, str | bytes) else 20
    return size
