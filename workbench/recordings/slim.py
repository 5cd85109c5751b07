"""Which bytes of a JSON value are vectors by the seed's rule, and what stands there instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import cast

import orjson

from workbench.core.summary import EmbeddingSummary, summarize_vector
from workbench.recordings import values
from workbench.recordings.edits import edited, string_text
from workbench.recordings.looks import look
from workbench.recordings.scanner import Damage, Token, blanks_end, tokens
from workbench.recordings.secrets import find_secrets
from workbench.recordings.wide import find_wide


@dataclass(frozen=True, slots=True)
class Options:
    """What is done to a text besides the seed's rule."""

    wide: bool = False
    redact: bool = False


@dataclass(frozen=True, slots=True)
class Replacement:
    """A vector's bytes, from ``start`` to ``end``, its shape, and the rule that found it."""

    start: int
    end: int
    dims: int
    norm: float
    rule: str
    encoding: str = "list"

    @property
    def text(self) -> bytes:
        """What stands in its place, as JSON."""
        return summary_text(self.dims, self.norm)


@dataclass(frozen=True, slots=True)
class Slimmed:
    """A text without its vectors.

    Attributes:
        text: the bytes.
        by_rule: how many vectors each rule took.
        likely: how many more the wide rules would take.
        masked: how many strings were masked.
        values: how many values a list has that is the text as a whole, else 1.
        found: the seed's vectors, by their places in the text as it was.
    """

    text: bytes
    by_rule: dict[str, int]
    likely: int = 0
    masked: int = 0
    values: int = 1
    found: tuple[Replacement, ...] = ()

    @property
    def count(self) -> int:
        """Vectors replaced."""
        return sum(self.by_rule.values())


SINGLE = "embedding"
BATCH = "embeddings"

_STEM = b'"embedding'
_REST_OF_KEY = re.compile(rb'(s?)"[ \t\r\n]*+:[ \t\r\n]*+\[')
_NEXT = re.compile(rb"[ \t\r\n]*+([,\]])[ \t\r\n]*+")
_PATIENCE = 1 << 20


def summary_text(dims: int, norm: float) -> bytes:
    """Write a summary as JSON; a norm that is not finite is null."""
    return b'{"dims":%d,"norm":%s}' % (dims, repr(norm).encode() if isfinite(norm) else b"null")


def replaced(data: bytes, found: Sequence[Replacement], shift: int = 0) -> bytes:
    """Give the bytes with every replacement made; their places count from ``shift`` bytes before ``data``."""
    if not found:
        return data
    parts: list[bytes] = []
    at = 0
    for each in found:
        parts += (data[at : each.start - shift], each.text)
        at = each.end - shift
    parts.append(data[at:])
    return b"".join(parts)


def find_vectors(data: bytes) -> list[Replacement]:
    """Find the vectors by the seed's rule in one value, as long as no key of theirs is spelled with escapes.

    Nothing is proven of the text: what is found holds if the text with the replacements made is JSON.
    """
    found: list[Replacement] = []
    wasted, patience = 0, _PATIENCE + 4 * len(data)
    at = data.find(_STEM)
    while at >= 0:
        key = _REST_OF_KEY.match(data, at + len(_STEM))
        if key is None or _escaped(data, at):
            at = data.find(_STEM, at + len(_STEM))
            continue
        opened = key.end() - 1
        at = opened + 1
        if key.group(1):
            at = _batch(data, opened, found)
        else:
            close = data.find(b"]", opened) + 1
            summary = _summary(data, opened, close)
            if summary is not None:
                found.append(Replacement(opened, close, summary.dims, summary.norm, SINGLE))
                at = close
            else:
                wasted += close - opened
                if wasted > patience:  # brackets made to be looked at again and again: one careful pass instead
                    return list(_by_token(data, 0, len(data)))
        at = data.find(_STEM, at)
    return found


def _escaped(data: bytes, quote: int) -> bool:
    """Say whether a quote stands inside a string. One that opens a string has no odd run of backslashes before it."""
    before = quote
    while before and data[before - 1] == 0x5C:
        before -= 1
    return bool((quote - before) & 1)


def _summary(data: bytes, start: int, end: int) -> EmbeddingSummary | None:
    """Summarise the array in a range when it holds only numbers; ``end`` is behind the first closing bracket."""
    first = blanks_end(data, start + 1, end)
    if data[first : first + 1] not in _BEGINS_NUMBER:
        return None
    part = data[start:end]
    # "true", "false" and "null" have one of these, and no number has.
    if b"u" in part or b"l" in part:
        return None
    try:
        vector = orjson.loads(part)
    except orjson.JSONDecodeError:
        if not _is_numbers(data, start, end):
            return None
        vector = values.numbers(part)
    if not isinstance(vector, list):
        return None
    try:
        return summarize_vector(cast("list[float]", vector))
    except TypeError:  # it holds strings
        return None


_BEGINS_NUMBER = frozenset(bytes([each]) for each in b"-0123456789NI")


def _is_numbers(data: bytes, start: int, end: int) -> bool:
    kind, _begin, stop = next(iter(tokens(data, start, end)))
    return kind == Token.NUMBERS and stop == end


def _batch(data: bytes, opened: int, found: list[Replacement]) -> int:
    """Replace the vectors of a list under ``embeddings``; give the place from which to go on."""
    simple: list[Replacement] = []
    at = blanks_end(data, opened + 1, len(data))
    if data[at : at + 1] == b"]":
        return at
    while data[at : at + 1] == b"[":
        close = data.find(b"]", at) + 1
        summary = _summary(data, at, close)
        following = _NEXT.match(data, close) if summary is not None else None
        if summary is None or following is None:
            break
        simple.append(Replacement(at, close, summary.dims, summary.norm, BATCH))
        at = following.end()
        if following.group(1) == b"]":
            found += simple
            return at
    # Something else is among them, and may hold vectors of its own.
    at = opened
    for each, stop in _walk(data, opened, len(data), batch=True):
        at = stop
        if each is not None:
            found.append(each)
    return at


def _by_token(data: bytes, start: int, end: int) -> Iterator[Replacement]:
    for each, _stop in _walk(data, start, end, batch=False):
        if each is not None:
            yield each


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


def slimmed(data: bytes, options: Options, *, level: int = 0, proven: bool = False) -> Slimmed | None:
    """Slim one value; None when it is no JSON by the letter, unless ``proven`` says that it is readable all the same.

    The bytes outside of vectors are those of ``data``. Raises Damage when it is not readable though proven.
    """
    value: object
    try:
        found = find_vectors(data)
        text = replaced(data, found)
        value = orjson.loads(text)
    except (orjson.JSONDecodeError, Damage):
        if not proven and level == 0:
            return None
        found = list(_by_token(data, 0, len(data)))
        text = replaced(data, found)
        value = values.loads(text)
    by_rule = _count(found)
    seen = look(value)
    if seen.left_over:  # a key that is spelled with escapes
        found = list(_by_token(data, 0, len(data)))
        text, by_rule = replaced(data, found), _count(found)
        value = values.loads(text)
        seen = look(value)
    likely = 0
    if seen.likely:
        vectors, texts = find_wide(value, level=level)
        if options.wide:
            edits = {each.path: summary_text(each.dims, each.norm) for each in vectors}
            edits |= {each.path: string_text(each.text) for each in texts}
            for each in vectors:
                by_rule[each.rule] = by_rule.get(each.rule, 0) + 1
            inside = sum(each.count for each in texts)
            if inside:
                by_rule["W2"] = by_rule.get("W2", 0) + inside
            text = edited(text, edits)
        else:
            likely = len(vectors) + sum(each.count for each in texts)
    masked = 0
    if options.redact:
        secrets = find_secrets(values.loads(text))
        masked = len(secrets)
        text = edited(text, {path: string_text(masked_text) for path, masked_text in secrets.items()})
    return Slimmed(text, by_rule, likely, masked, len(value) if isinstance(value, list) else 1, tuple(found))


def _count(found: Sequence[Replacement]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in found:
        counts[each.rule] = counts.get(each.rule, 0) + 1
    return counts
