"""Where the vectors of a JSON text are by the seed's rule: by their key's bytes, or token by token where that errs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import NamedTuple, cast

import orjson

from workbench.core.summary import EmbeddingSummary, summarize_vector
from workbench.recordings import values
from workbench.recordings.scanner import Token, blanks_end, tokens


class Replacement(NamedTuple):
    """A vector's bytes, from ``start`` to ``end``, its shape, and the rule that found it."""

    start: int
    end: int
    dims: int
    norm: float
    rule: str

    @property
    def text(self) -> bytes:
        """What stands in its place, as JSON."""
        return summary_text(self.dims, self.norm)


SINGLE = "embedding"
BATCH = "embeddings"

_KEY = re.compile(rb'"embedding(s?)"[ \t\r\n]*+:[ \t\r\n]*+\[')
_NEXT = re.compile(rb"[ \t\r\n]*+([,\]])[ \t\r\n]*+")
_BEGINS_NUMBER = frozenset(b"-0123456789NI")
_PATIENCE = 1 << 20


def summary_text(dims: int, norm: float) -> bytes:
    """Write a vector's shape; a norm that is not finite is null, as JSON has no other word for it."""
    return b'{"dims":%d,"norm":%b}' % (dims, repr(norm).encode() if isfinite(norm) else b"null")


def replaced(
    data: bytes, found: Sequence[Replacement], around: tuple[bytes, bytes] = (b"", b""), start: int = 0, end: int = -1
) -> bytes:
    """Give the bytes of a range with every replacement made, between the two that are to stand around them."""
    parts: list[bytes | memoryview] = [around[0]]
    view = memoryview(data)
    at = start
    for begin, stop, dims, norm, _rule in found:
        parts += (view[at:begin], summary_text(dims, norm))
        at = stop
    parts += (view[at : len(data) if end < 0 else end], around[1])
    return b"".join(parts)


def find_vectors(data: bytes, start: int = 0, end: int = -1) -> list[Replacement]:
    """Find the vectors by the seed's rule in a range, as long as no key of theirs is spelled with escapes.

    Nothing is proven of the text: what is found holds if the text with the replacements made is JSON. Then a quote
    that opens a string stands behind no backslash, so the key's bytes behind none are the key.
    """
    found: list[Replacement] = []
    end = len(data) if end < 0 else end
    wasted, patience = 0, _PATIENCE + 4 * (end - start)
    search, find = _KEY.search, data.find
    with memoryview(data) as view:
        key = search(data, start, end)
        while key is not None:
            opened = key.end() - 1
            at = opened + 1
            if data[key.start() - 1] == 0x5C:
                pass
            elif key.group(1):
                at = _batch(data, view, opened, end, found)
            else:
                close = find(b"]", opened, end) + 1
                summary = _summary(data, view, opened, close)
                if summary is not None:
                    found.append(Replacement(opened, close, summary.dims, summary.norm, SINGLE))
                    at = close
                else:
                    wasted += close - opened
                    if wasted > patience:  # brackets made to be looked at again and again: one careful pass instead
                        return find_by_token(data, start, end)
            key = search(data, at, end)
    return found


def _summary(data: bytes, view: memoryview, start: int, end: int) -> EmbeddingSummary | None:
    """Summarise the array in a range when it holds only numbers; ``end`` is behind the first closing bracket."""
    if end <= start or (
        data[start + 1] not in _BEGINS_NUMBER and data[blanks_end(data, start + 1, end)] not in _BEGINS_NUMBER
    ):
        return None
    # "true", "false" and "null" have one of these, and no number has.
    if data.find(b"u", start, end) >= 0 or data.find(b"l", start, end) >= 0:
        return None
    try:
        vector = orjson.loads(view[start:end])
    except orjson.JSONDecodeError:
        if not _is_numbers(data, start, end):
            return None
        vector = values.numbers(data[start:end])
    try:
        return summarize_vector(cast("list[float]", vector))
    except TypeError:  # it holds strings
        return None


def _is_numbers(data: bytes, start: int, end: int) -> bool:
    kind, _begin, stop = next(iter(tokens(data, start, end)))
    return kind == Token.NUMBERS and stop == end


def _batch(data: bytes, view: memoryview, opened: int, end: int, found: list[Replacement]) -> int:
    """Replace the vectors of a list under ``embeddings``; give the place from which to go on."""
    simple: list[Replacement] = []
    at = blanks_end(data, opened + 1, end)
    if data[at : at + 1] == b"]":
        return at
    while at < end and data[at] == 0x5B:
        close = data.find(b"]", at, end) + 1
        summary = _summary(data, view, at, close)
        following = _NEXT.match(data, close, end) if summary is not None else None
        if summary is None or following is None:
            break
        simple.append(Replacement(at, close, summary.dims, summary.norm, BATCH))
        at = following.end()
        if following.group(1) == b"]":
            found += simple
            return at
    # Something else is among them, and may hold vectors of its own.
    at = opened
    for each, stop in _walk(data, opened, end, batch=True):
        at = stop
        if each is not None:
            found.append(each)
    return at


def find_by_token(data: bytes, start: int = 0, end: int = -1) -> list[Replacement]:
    """Find the same in one value of any depth, those too whose keys are spelled with escapes. Raises Damage."""
    end = len(data) if end < 0 else end
    return [each for each, _stop in _walk(data, start, end, batch=False) if each is not None]


def _walk(data: bytes, start: int, end: int, *, batch: bool) -> Iterator[tuple[Replacement | None, int]]:
    """Walk one value token by token; ``batch`` says that it is the list under ``embeddings``."""
    rule: str | None = BATCH if batch else None
    batches: list[bool] = []
    for kind, begin, stop in tokens(data, start, end):
        if kind == Token.KEY:
            rule = _rule_of(data[begin:stop])
            continue
        each = None
        if kind == Token.NUMBERS:
            taken = SINGLE if rule == SINGLE else BATCH if batches and batches[-1] else None
            if taken is not None:
                summary = summarize_vector(values.numbers(data[begin:stop]))
                each = Replacement(begin, stop, summary.dims, summary.norm, taken)
        elif kind in (Token.ARRAY, Token.OBJECT):
            batches.append(kind == Token.ARRAY and rule == BATCH)
        elif kind == Token.END:
            batches.pop()
        rule = None
        yield each, stop


def _rule_of(key: bytes) -> str | None:
    if b"\\" in key:
        name = values.loads_string(key)
        return name if name in (SINGLE, BATCH) else None
    return SINGLE if key == b'"embedding"' else BATCH if key == b'"embeddings"' else None
