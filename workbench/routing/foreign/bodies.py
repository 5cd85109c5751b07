"""Parts of a payload in whatever types it gives them, decoded without building a vector or keeping a text."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from workbench.routing.foreign.values import strict_json

_LONGEST_WORD = 1_000
_MOST = 2**53

Kind = TypeVar("Kind")


@functools.cache
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cast(Any, kind))


def decoded(data: bytes, kind: type[Kind]) -> Kind | None:
    """Decode JSON as a type, also where it holds NaN or infinities; None when it is none."""
    decoder = cast(msgspec.json.Decoder[Kind], _decoder(cast(Hashable, kind)))
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        strict = strict_json(data)
    try:
        return None if strict is None else decoder.decode(strict)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def as_text(value: object) -> str | None:
    """Give a text that says something, cut where no name is so long; a number as its text."""
    if type(value) is not str:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        value = str(value)
    return value[:_LONGEST_WORD] or None


def as_whole(value: object) -> int | None:
    """Give a count or a code, also from its text."""
    if isinstance(value, str) and len(value) < 20 and value.strip().isascii() and value.strip().isdigit():
        value = int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _MOST:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else None


def as_keys(value: object) -> tuple[str, ...]:
    """Give a list of names; none at all when one of them is no name, since they stand in the order of the texts."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        return ()
    return tuple(value)


class Answer(NamedTuple):
    """What came back from an embedder, without it.

    Attributes:
        model: who it says that it is.
        widths: the length of each vector in the order of the answer; None where nothing came.
    """

    model: str | None
    widths: tuple[int | None, ...]

    @property
    def width(self) -> int | None:
        """The length of the first vector."""
        return next((width for width in self.widths if width is not None), None)

    @property
    def nulls(self) -> tuple[int, ...]:
        """Which are missing."""
        return tuple(index for index, width in enumerate(self.widths) if width is None)

    @property
    def uneven(self) -> bool:
        """Whether vectors of different lengths came."""
        return len({*self.widths} - {None}) > 1


class _Vector(msgspec.Struct, gc=False):
    embedding: msgspec.Raw = msgspec.Raw()


class _Response(msgspec.Struct, gc=False):
    model: Any = None
    data: list[_Vector] | None = None


def answer_of(response: bytes) -> Answer | None:
    """Measure a response in OpenAI's shape; None when it is not one."""
    found = decoded(response, _Response) if response[:1] == b"{" else None
    if found is None or not found.data:
        return None
    return Answer(as_text(found.model), tuple(width_of(bytes(each.embedding)) for each in found.data))


def width_of(vector: bytes) -> int | None:
    """Count the numbers of a vector in JSON, or in base64 of 32-bit floats; None when there are none."""
    body = vector.strip()
    if body[:1] == b"[":
        return body.count(b",") + 1 if body[1:-1].strip() else None
    if body[:1] == b'"':
        text = body.strip(b'"').rstrip(b"=")
        return len(text) * 3 // 4 // 4 or None
    return None


def texts_of(messages: bytes) -> tuple[int | None, int]:
    """Give a hash of the texts of a request and how many they are; None and 0 when they were not logged.

    The hash is of this process alone, and nothing of a text outlives it.
    """
    if messages[:1] == b"[":
        parts = decoded(messages, list[msgspec.Raw])
        return (hash(messages), len(parts)) if parts else (None, 0)
    # A word of the logger's stands there where it was told to keep the texts out.
    if messages[:1] == b'"' and b"redacted" not in messages:
        return hash(messages), 1
    return None, 0
