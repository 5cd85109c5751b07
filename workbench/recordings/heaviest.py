"""Which places of a recording hold the most vector bytes: by the pattern of their paths, counted and measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import orjson

from workbench.recordings.looks import look
from workbench.recordings.scanner import Damage
from workbench.recordings.seed_vectors import BATCH, SINGLE, Replacement, find_by_token, find_vectors, summary_text
from workbench.recordings.values import loads
from workbench.recordings.wide import find_wide

if TYPE_CHECKING:
    from workbench.recordings.document import ByteNode
    from workbench.recordings.model import Span
    from workbench.recordings.watch import Watch

_AT_ONCE = 1 << 20
_MOST_VECTOR = 64 << 20
_MOST_PLACES = 10_000
_MARK = "\ue000vector "
"""Stands for a vector while the way to it is looked for; a private character, and only whole strings are compared."""

_PLAIN_KEY = re.compile(r'[^.\[\]"*]+')

Name = str | int
Place = tuple[Name, ...]


class Roots(Protocol):
    """A document, as far as it is walked here."""

    size: int

    def roots(self) -> Iterator[ByteNode]:
        """Give the values at the top."""
        ...

    def read(self, span: Span) -> bytes:
        """Give the bytes of a range."""
        ...


@dataclass(frozen=True, slots=True)
class HeavyPlace:
    """Vectors at paths that differ in their indexes only.

    Attributes:
        path: the way from a record to them, as ``summarize --path`` takes it (``events[].payload.embedding``).
        count: how many.
        size: their bytes as they stand.
        after: the bytes of their shapes; for likely ones in a string about as many.
        rule: the rule that takes them: the seed's, or W1 to W7.
    """

    path: str
    count: int
    size: int
    after: int
    rule: str


@dataclass(frozen=True, slots=True)
class Heaviest:
    """The places of a recording with vectors, most bytes first.

    Attributes:
        seed: what the seed's rule takes.
        likely: what only the wide rules take.
        size: bytes of the whole text.
        more: vectors at further places, which are too many to be listed.
    """

    seed: tuple[HeavyPlace, ...] = ()
    likely: tuple[HeavyPlace, ...] = ()
    size: int = 0
    more: int = 0


class _Sums:
    """Counts and bytes by pattern and rule."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], list[int]] = {}
        self.more = 0

    def add(self, place: Place, rule: str, size: int, after: int, count: int = 1) -> None:
        key = (_pattern(place), rule)
        sums = self.found.get(key)
        if sums is None:
            if len(self.found) >= _MOST_PLACES:
                self.more += count
                return
            sums = self.found[key] = [0, 0, 0]
        sums[0] += count
        sums[1] += size
        sums[2] += after

    def places(self, *, wide: bool) -> tuple[HeavyPlace, ...]:
        found = [
            HeavyPlace(path, count, size, after, rule)
            for (path, rule), (count, size, after) in self.found.items()
            if rule.startswith("W") == wide
        ]
        return tuple(sorted(found, key=lambda each: (-each.size, each.path)))


def heaviest_of(document: Roots, watch: Watch | None = None) -> Heaviest:
    """Measure the vectors of a document, a piece of at most a MiB at a time. Raises RecordingError, Cancelled."""
    sums = _Sums()
    waiting: list[tuple[ByteNode, Place]] = []
    for root in document.roots():
        waiting.append((root, ()))
        while waiting:
            node, place = waiting.pop()
            if watch is not None:
                watch.progress(min(node.span.start, document.size), document.size)
            if _is_piece(node, place):
                _measure(document.read(node.span), place, sums)
            else:
                inside = [(child, (*place, name)) for name, child in node.children()]
                waiting += reversed(inside)
    return Heaviest(sums.places(wide=False), sums.places(wide=True), document.size, sums.more)


def _is_piece(node: ByteNode, place: Place) -> bool:
    """Say whether a value is looked at as a whole: a small one, and a vector of any reasonable size."""
    if not node.whole:
        return False
    if node.span.size <= _AT_ONCE or node.kind not in ("object", "array"):
        return node.span.size <= _MOST_VECTOR
    return place[-1:] == (SINGLE,) and node.kind == "array" and node.span.size <= _MOST_VECTOR


def _measure(data: bytes, place: Place, sums: _Sums) -> None:
    key = _key_over(place)
    text, strip = data, 0
    if key is not None and place[-1] == key:
        text, strip = b'{"%b":%b}' % (key.encode(), data), 1
    elif key is not None:
        text, strip = b'{"%b":[%b]}' % (key.encode(), data), 2
    try:
        value = _marked(text, place, strip, sums)
    except (Damage, RecursionError):
        return
    if look(value).likely:
        _measure_likely(value, place, strip, sums)


def _key_over(place: Place) -> str | None:
    """Give the key that makes a list of numbers a vector, for a value that was taken out of what it stands under."""
    if place[-1:] == (SINGLE,) or place[-1:] == (BATCH,):
        return str(place[-1])
    return BATCH if len(place) > 1 and place[-2] == BATCH and isinstance(place[-1], int) else None


def _marked(text: bytes, place: Place, strip: int, sums: _Sums) -> object:
    """Parse a text with a mark for every vector, and add each where its mark stands."""
    found = find_vectors(text)
    try:
        value: object = orjson.loads(_with_marks(text, found))
    except orjson.JSONDecodeError:
        found = list(find_by_token(text))
        value = loads(_with_marks(text, found))
    if not found:
        return value
    waiting: list[tuple[object, Place]] = [(value, ())]
    while waiting:
        node, way = waiting.pop()
        if isinstance(node, dict):
            waiting += [(each, (*way, name)) for name, each in node.items()]
        elif isinstance(node, list):
            waiting += [(each, (*way, index)) for index, each in enumerate(node) if isinstance(each, dict | list | str)]
        elif isinstance(node, str) and node.startswith(_MARK) and node[len(_MARK) :].isdecimal():
            at = int(node[len(_MARK) :])
            if at < len(found):
                each = found[at]
                shape = len(summary_text(each.dims, each.norm))
                sums.add((*place, *way[strip:]), each.rule, each.end - each.start, shape)
    return value


def _with_marks(text: bytes, found: list[Replacement]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for number, each in enumerate(found):
        parts += (text[at : each.start], f'"{_MARK}{number}"'.encode())
        at = each.end
    parts.append(text[at:])
    return b"".join(parts)


def _measure_likely(value: object, place: Place, strip: int, sums: _Sums) -> None:
    vectors, texts = find_wide(value)
    for vector in vectors:
        size = len(orjson.dumps(_at(value, vector.path)))
        shape = len(summary_text(vector.dims, vector.norm))
        sums.add((*place, *vector.path[strip:]), vector.rule, size, shape)
    for text in texts:
        held = _at(value, text.path)
        size = len(held.encode("utf-8", "replace")) if isinstance(held, str) else 0
        sums.add((*place, *text.path[strip:]), "W2", size, len(text.text), text.count)


def _at(value: Any, path: Place) -> object:  # noqa: ANN401 (it was parsed from JSON)
    for name in path:
        value = value[name]
    return cast("object", value)


def _pattern(place: Place) -> str:
    """Write a place as ``summarize --path`` takes it, any index for each."""
    parts: list[str] = []
    for name in place:
        if isinstance(name, int):
            parts.append("[]")
        else:
            parts.append(("." if parts else "") + _written(name))
    return "".join(parts)


def _written(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
