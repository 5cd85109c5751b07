"""Vectors at a path that the user names (rule W8): how a path is written, and a slim copy without what stands there."""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, cast

from workbench.core.numbers import is_number
from workbench.core.summary import summarize_vector
from workbench.recordings import values
from workbench.recordings.document import ByteNode, FileDocument
from workbench.recordings.model import Note, Span
from workbench.recordings.scanner import Damage
from workbench.recordings.seed_vectors import summary_text
from workbench.recordings.spans import Form

RULE = "W8"

_ANY_KEY = "*"
_PART = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"|\[(?P<index>[0-9]{0,9})\]|(?P<key>[^.\[\]"]+)')
_COPIED = 1 << 20
_LONGEST = 64 << 20
_FEWEST_PACKED = 8  # a short word can be base64 too


class PathError(ValueError):
    """A path that is not written as one; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class AnyKey:
    """Every field of an object."""


@dataclass(frozen=True, slots=True)
class AnyItem:
    """Every item of an array."""


@dataclass(frozen=True, slots=True)
class PickedPath:
    """The way from a record to vectors in it.

    Attributes:
        text: as the user wrote it.
        steps: a key, the place of an item, or any of either.
    """

    text: str
    steps: tuple[str | int | AnyKey | AnyItem, ...]


def parse_path(text: str) -> PickedPath:
    """Read a path such as ``results[].dense``, ``[0].v``, ``by_name.*`` or ``"key.with.dots".v``.

    It begins at the document, of JSON Lines at each line. Raises PathError.
    """
    steps: list[str | int | AnyKey | AnyItem] = []
    at = 0
    while at < len(text):
        if text[at] == "." and steps:
            at += 1
            if text[at : at + 1] == "[":
                raise PathError(f"{text!r} has a dot before a bracket")
        elif steps and text[at] != "[":
            raise PathError(f"{text!r} needs a dot before {text[at:]!r}")
        part = _PART.match(text, at)
        if part is None:
            raise PathError(
                f"{text!r} cannot be read from {text[at:]!r} on" if text[at:] else f"{text!r} ends in a dot"
            )
        steps.append(_step(part, text))
        at = part.end()
    if not steps:
        raise PathError("'' is empty")
    if text.endswith(".") and not text.endswith('"'):
        raise PathError(f"{text!r} ends in a dot")
    return PickedPath(text, tuple(steps))


def _step(part: re.Match[str], text: str) -> str | int | AnyKey | AnyItem:
    index, quoted, key = part["index"], part["quoted"], part["key"]
    if index is not None:
        return int(index) if index else AnyItem()
    if quoted is not None:
        try:
            return values.loads_string(f'"{quoted}"'.encode())
        except Damage:
            raise PathError(f"{text!r} holds a string that is no JSON") from None
    return AnyKey() if key == _ANY_KEY else key


@dataclass(slots=True)
class _Met:
    """What a path led to."""

    vectors: int = 0
    strangers: int = 0
    summaries: int = 0


def copy_without_picked(
    slim: str, file: IO[bytes], paths: Sequence[PickedPath]
) -> tuple[int, Counter[str], tuple[Note, ...]]:
    """Write a slim copy anew without the vectors at some paths; every other byte stays as it is.

    Gives the size of the new copy, how many vectors rule W8 took, and a note for each path that led to no vector.
    """
    document = FileDocument(slim)
    met = {path.text: _Met() for path in paths}
    size = 0
    try:
        at = document.span.start
        for span, text in _found(document, paths, met):
            for piece in _pieces(document, at, span.start):
                file.write(piece)
            file.write(text)
            size += span.start - at + len(text)
            at = span.end
        for piece in _pieces(document, at, document.span.end):
            file.write(piece)
        size += document.span.end - at
    finally:
        document.close()
    if document.form == Form.TEXT:
        return size, Counter(), tuple(Note(f"the path {path.text} is not followed in YAML") for path in paths)
    taken = Counter({RULE: sum(each.vectors for each in met.values())})
    return size, +taken, tuple(note for path in paths for note in _notes(path, met[path.text]))


def _pieces(document: FileDocument, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        stop = min(end, start + _COPIED)
        yield document.read(Span(start, stop))
        start = stop


def _notes(path: PickedPath, met: _Met) -> Iterator[Note]:
    if met.strangers == 1:
        yield Note(f"the path {path.text} leads to a value that is no vector, and it stays as it is")
    elif met.strangers:
        yield Note(f"the path {path.text} leads to {met.strangers:,} values that are no vectors, and they stay")
    elif not met.vectors and not met.summaries:
        yield Note(f"the path {path.text} leads nowhere in this recording")


def _found(document: FileDocument, paths: Sequence[PickedPath], met: dict[str, _Met]) -> Iterator[tuple[Span, bytes]]:
    """Give what is replaced, in the order of the text, each place once."""
    for root in document.roots():
        yield from _below(root, [(path, 0) for path in paths], met)


def _below(top: ByteNode, ways: Sequence[tuple[PickedPath, int]], met: dict[str, _Met]) -> Iterator[tuple[Span, bytes]]:
    """Follow all paths at once, with a stack of its own: a path may be as deep as the document."""
    waiting: list[tuple[ByteNode, Sequence[tuple[PickedPath, int]]]] = [(top, ways)]
    while waiting:
        node, here = waiting.pop()
        ended = [path for path, done in here if done == len(path.steps)]
        if ended:
            summary = _summary(node)
            for path in ended:
                if summary is None and _is_summary(node):
                    met[path.text].summaries += 1
                elif summary is None:
                    met[path.text].strangers += 1
            if summary is not None:
                met[ended[0].text].vectors += 1
                yield node.span, summary
                continue
        going = [(path, done) for path, done in here if done < len(path.steps)]
        if not going or node.kind not in ("object", "array"):
            continue
        inside = []
        for name, child in node.children():
            on = [(path, done + 1) for path, done in going if _leads(path.steps[done], name)]
            if on:
                inside.append((child, on))
        waiting += reversed(inside)


def _leads(step: str | int | AnyKey | AnyItem, name: str | int) -> bool:
    if isinstance(step, AnyItem):
        return isinstance(name, int)
    if isinstance(step, AnyKey):
        return isinstance(name, str)
    return type(step) is type(name) and step == name


def _is_summary(node: ByteNode) -> bool:
    """Say whether a vector was replaced there already."""
    if node.kind != "object":
        return False
    return [name for name, _ in islice(node.children(), 3)] == ["dims", "norm"]


def _summary(node: ByteNode) -> bytes | None:
    """Give what stands in the place of a value, None when it cannot be read as numbers.

    Nobody but the user says that it is a vector, so nothing is asked of the numbers but that they are some.
    """
    if node.span.size > _LONGEST:
        return None
    vector = _numbers(node.value())
    if vector is None:
        return None
    summary = summarize_vector(vector)
    return summary_text(summary.dims, summary.norm)


def _numbers(value: object) -> list[float] | None:
    """Read a list of numbers, such a list as OTLP writes it, as text, or as base64 of float32."""
    if isinstance(value, dict):
        inner = value.get("arrayValue", value.get("array_value"))
        listed = inner.get("values") if isinstance(inner, dict) else None
        if listed is None:
            text = value.get("stringValue", value.get("string_value"))
            return _numbers(text) if isinstance(text, str) else None
        return _list_of_numbers([_of_otlp(each) for each in listed]) if isinstance(listed, list) else None
    if isinstance(value, str):
        return _numbers_in(value)
    return _list_of_numbers(value)


def _of_otlp(item: object) -> object:
    """Give the number in ``{"doubleValue": …}``; whole numbers are written as text there."""
    number = next(iter(item.values()), None) if isinstance(item, dict) else None
    if isinstance(number, str) and re.fullmatch(r"-?[0-9]{1,18}", number):
        return int(number)
    return number


def _list_of_numbers(value: object) -> list[float] | None:
    if isinstance(value, list) and value and all(map(is_number, value)):
        return cast("list[float]", value)
    return None


def _numbers_in(text: str) -> list[float] | None:
    if text[:64].lstrip()[:1] == "[":
        try:
            return _list_of_numbers(values.loads(text.encode("utf-8", "surrogatepass")))
        except Damage:
            return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(data) % 4 or len(data) < 4 * _FEWEST_PACKED:
        return None
    floats = list(struct.unpack(f"<{len(data) // 4}f", data))
    return floats if all(map(math.isfinite, floats)) else None
