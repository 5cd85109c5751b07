"""Vectors that the seed's rule does not see: the opt-in rules W1 to W7, each with what keeps it from taking others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

from workbench.core.numbers import is_number
from workbench.core.summary import summarize_vector
from workbench.recordings import values
from workbench.recordings.base64_vectors import as_float32
from workbench.recordings.scanner import Damage

Name = str | int

_FEWEST = 8
_LARGEST = 1_000
_LONGEST_NESTING = 3
_JSON_TEXT = 200
_MOST_JSON_TEXT = 8 << 20
_MOST_LEVELS = 3
_ATTRIBUTE = re.compile(
    r"embedding\.embeddings\.[0-9]+\.embedding\.vector|embedding\.vector|ai\.embeddings?|(?:.*\.)?embedding\.vector"
)
_ALIAS = re.compile(
    r"(?:(?:query|text|document|doc|chunk|content|image|sentence|dense)[_\-. ]?)?vectors?"
    r"|.{0,48}embeddings?|embedding_vectors?",  # newMessageEmbeddings, page_embedding
    re.I,
)
_QUANTISED = frozenset(("int8", "uint8", "binary", "ubinary"))
_BITS = frozenset(("binary", "ubinary"))
_CONTAINERS = frozenset(("embedding", "embeddings", "embeddingsByType", "embeddings_by_type"))
_NAMED = frozenset(("embedding_dict", "vector", "vectors"))
_HINTS = ("dimensions", "dims", "dim", "dimension")


@dataclass(frozen=True, slots=True)
class WideVector:
    """A vector by a wide rule: the way to it in the value, its shape, the rule, and how it is written."""

    path: tuple[Name, ...]
    dims: int
    norm: float
    rule: str
    encoding: str


@dataclass(frozen=True, slots=True)
class WideText:
    """A string that holds JSON with vectors: the way to it, how many are in it, and the text without them."""

    path: tuple[Name, ...]
    count: int
    text: str


@dataclass(slots=True)
class _Found:
    vectors: list[WideVector] = field(default_factory=list)
    texts: list[WideText] = field(default_factory=list)


class _Way:
    """A place in a value, linked to the place that holds it; the path is made only for what is found."""

    __slots__ = ("name", "up")

    def __init__(self, up: _Way | None, name: Name) -> None:
        self.up = up
        self.name = name

    def path(self) -> tuple[Name, ...]:
        names: list[Name] = []
        at: _Way | None = self
        while at is not None:
            names.append(at.name)
            at = at.up
        return tuple(reversed(names))


def find_wide(value: object, *, level: int = 0) -> tuple[list[WideVector], list[WideText]]:
    """Find what the wide rules take in a parsed value from which the seed's vectors are gone already."""
    found = _Found()
    waiting: list[tuple[object, _Way | None, tuple[str, ...]]] = [(value, None, ())]
    while waiting:
        node, way, keys = waiting.pop()
        if isinstance(node, dict):
            waiting += reversed(list(_fields(node, way, keys, found, level)))
        elif isinstance(node, list):
            for index, item in reversed(list(enumerate(node))):
                if isinstance(item, dict | list):
                    waiting.append((item, _Way(way, index), keys))
                elif isinstance(item, str):
                    _text(item, _Way(way, index), found, level)
    return found.vectors, found.texts


def _fields(
    node: dict[str, object], way: _Way | None, keys: tuple[str, ...], found: _Found, level: int
) -> Iterator[tuple[object, _Way, tuple[str, ...]]]:
    """Take the fields of an object that are vectors; give the others to be walked."""
    named = node.get("key")
    if isinstance(named, str) and "value" in node and is_attribute(named):
        here = _Way(way, "value")
        if _take_attribute(node["value"], here, found):
            return
    for key, item in node.items():
        here = _Way(way, key)
        if item is None or isinstance(item, bool | int | float):
            continue
        if _take(node, key, item, here, keys, found):
            continue
        if isinstance(item, dict | list):
            yield item, here, (*keys[-1:], key)
        elif isinstance(item, str):
            _text(item, here, found, level)


def _take(node: dict[str, object], key: str, item: object, here: _Way, keys: tuple[str, ...], found: _Found) -> bool:
    """Try every rule that goes by a key; say whether one took the value whole."""
    if is_attribute(key) and _take_attribute(item, here, found):
        return True
    alias = is_alias(key)
    if isinstance(item, str):
        return (alias or is_attribute(key)) and _take_string(node, item, here, found)
    parent = keys[-1] if keys else ""
    if key in _QUANTISED and parent in _CONTAINERS and isinstance(item, list):
        return _take_quantised(key, item, here, found)
    if alias and isinstance(item, list):
        return _take_nested(item, here, found, "W5")
    if alias and isinstance(item, dict) and key.lower() in _NAMED:
        return False
    if _is_container(node, key, parent) and isinstance(item, list):
        if key == "base64":
            return _take_strings(item, here, found)
        return _take_nested(item, here, found, "W6")
    return False


def _is_container(node: dict[str, object], key: str, parent: str) -> bool:
    if parent in ("embedding_dict",) or parent in ("vector", "vectors"):
        return True
    if key in ("values", "float", "floats", "base64") and parent in _CONTAINERS:
        return True
    if key == "predicted_value":
        return True
    return key == "values" and "id" in node and ("score" in node or "metadata" in node)


def _take_attribute(item: object, here: _Way, found: _Found) -> bool:
    """Take an attribute that is a vector as a list, an OTLP array, a JSON string, or a list of JSON strings."""
    vector = _otlp_numbers(item)
    if vector is None and isinstance(item, str):
        vector = _numbers_in(item)
        if vector is not None and _is_finite_vector(vector):
            _add(found, here, vector, "W1", "json-string")
            return True
        return False
    if vector is not None:
        if _is_finite_vector(vector):
            _add(found, here, vector, "W1", "list")
            return True
        return False
    items = item if isinstance(item, list) else _otlp_values(item)
    steps: tuple[Name, ...] = () if isinstance(item, list) else ("arrayValue", "values")
    if not items:
        if isinstance(item, dict) and isinstance(item.get("stringValue"), str):
            return _take_attribute(item["stringValue"], here, found)
        return False
    took = False
    for name in steps:
        here = _Way(here, name)
    for index, each in enumerate(items):
        inner = each.get("stringValue") if isinstance(each, dict) else each
        numbers = _numbers_in(inner) if isinstance(inner, str) else _otlp_numbers(inner)
        if numbers is not None and _is_finite_vector(numbers):
            _add(found, _Way(here, index), numbers, "W1", "json-string" if isinstance(inner, str) else "list")
            took = True
    return took


def _otlp_values(item: object) -> list[object] | None:
    if not isinstance(item, dict):
        return None
    array = item.get("arrayValue", item.get("array_value"))
    inner = array.get("values") if isinstance(array, dict) else None
    return inner if isinstance(inner, list) else None


def _otlp_numbers(item: object) -> list[float] | None:
    """Read a list of numbers, also as OTLP writes it; None for anything else."""
    if isinstance(item, list):
        return item if item and all(map(is_number, item)) else None
    listed = _otlp_values(item)
    if not listed:
        return None
    numbers: list[float] = []
    for each in listed:
        number = next(iter(each.values()), None) if isinstance(each, dict) and len(each) == 1 else None
        if isinstance(each, dict) and "intValue" in each and isinstance(number, str):
            number = values.loads(number.encode()) if re.fullmatch(r"-?[0-9]{1,18}", number) else None
        if not is_number(number):
            return None
        numbers.append(cast("float", number))
    return numbers


def _take_string(node: dict[str, object], item: str, here: _Way, found: _Found) -> bool:
    """Take text under a vector's key: base64 of float32 (W3), or numbers in brackets (W7)."""
    begin = item[:64].lstrip()[:1]
    if begin == "[":
        vector = _numbers_in(item)
        if vector is not None and _looks_like_vector(vector):
            _add(found, here, vector, "W7", "json-string")
            return True
        return False
    hint = next((node[name] for name in _HINTS if isinstance(node.get(name), int)), None)
    floats = as_float32(item, dims=cast("int | None", hint))
    if floats is None:
        return False
    _add(found, here, floats, "W3", "base64-float32")
    return True


def _take_strings(items: list[object], here: _Way, found: _Found) -> bool:
    took = False
    for index, each in enumerate(items):
        floats = as_float32(each) if isinstance(each, str) else None
        if floats is not None:
            _add(found, _Way(here, index), floats, "W3", "base64-float32")
            took = True
    return took


def _take_quantised(key: str, item: list[object], here: _Way, found: _Found) -> bool:
    """Take whole numbers of a byte each; packed bits count eight dims a byte, and their norm is that of the bits."""
    vectors = (
        [(here, item)]
        if item and is_number(item[0])
        else [(_Way(here, index), each) for index, each in enumerate(item) if isinstance(each, list)]
    )
    took = False
    for place, vector in vectors:
        if len(vector) < _FEWEST or not all(type(each) is int and -128 <= each <= 255 for each in vector):
            continue
        whole = cast("list[int]", vector)
        if key in _BITS:
            ones = sum((each & 0xFF).bit_count() for each in whole)
            norm = summarize_vector([1.0] * ones).norm
            found.vectors.append(WideVector(place.path(), 8 * len(whole), norm, "W4", "bits"))
        else:
            _add(found, place, cast("list[float]", whole), "W4", "int8")
        took = True
    return took


def _take_nested(item: list[object], here: _Way, found: _Found, rule: str) -> bool:
    """Take vectors in up to three levels of lists; those of one batch have one length."""
    level = [(here, item)]
    for _ in range(_LONGEST_NESTING):
        vectors = [(way, each) for way, each in level if each and all(map(is_number, each))]
        if vectors:
            return _take_batch(cast("list[tuple[_Way, list[float]]]", vectors), found, rule)
        level = [
            (_Way(way, index), inner)
            for way, each in level
            for index, inner in enumerate(each)
            if isinstance(inner, list)
        ]
    return False


def _take_batch(vectors: list[tuple[_Way, list[float]]], found: _Found, rule: str) -> bool:
    if len({len(vector) for _way, vector in vectors}) != 1:
        return False
    good = [(way, vector) for way, vector in vectors if _looks_like_vector(vector)]
    for way, vector in good:
        _add(found, way, vector, rule, "list")
    return bool(good)


def _text(text: str, here: _Way, found: _Found, level: int) -> None:
    """Look into a string that holds JSON (W2)."""
    from workbench.recordings.slim import Options, slimmed

    if level >= _MOST_LEVELS or not _JSON_TEXT < len(text) <= _MOST_JSON_TEXT:
        return
    if text[:64].lstrip()[:1] not in ("{", "["):
        return
    try:
        data = text.encode("utf-8", "surrogatepass")
        inner = slimmed(data, Options(wide=True), level=level + 1)
    except Damage:
        return
    if inner is not None and inner.count:
        found.texts.append(WideText(here.path(), inner.count, inner.text.decode("utf-8", "surrogatepass")))


def _add(found: _Found, way: _Way, vector: list[float], rule: str, encoding: str) -> None:
    summary = summarize_vector(vector)
    found.vectors.append(WideVector(way.path(), summary.dims, summary.norm, rule, encoding))


def _numbers_in(text: str) -> list[float] | None:
    if text[:64].lstrip()[:1] != "[" or len(text) > _MOST_JSON_TEXT:
        return None
    try:
        value = values.loads(text.encode("utf-8", "surrogatepass"))
    except Damage:
        return None
    return value if isinstance(value, list) and value and all(map(is_number, value)) else None


def _is_finite_vector(vector: list[float]) -> bool:
    return len(vector) >= _FEWEST and all(-1e300 < each < 1e300 for each in vector)


def _looks_like_vector(vector: list[float]) -> bool:
    """Say whether numbers could be an embedding: enough of them, most of them fractions, none of them large.

    Zeros count neither way: a sparse vector is mostly those, and JavaScript writes them as whole numbers.
    """
    if len(vector) < _FEWEST:
        return False
    fractions = sum(1 for each in vector if isinstance(each, float) and not each.is_integer())
    nonzero = sum(1 for each in vector if each)
    return fractions > 0 and 2 * fractions >= nonzero and all(-_LARGEST <= each <= _LARGEST for each in vector)


@lru_cache(4096)
def is_attribute(name: str) -> bool:
    """Say whether an attribute holds a vector by its name (W1)."""
    return len(name) < 200 and "embedding" in name and bool(_ATTRIBUTE.fullmatch(name))


@lru_cache(4096)
def is_alias(name: str) -> bool:
    """Say whether a key names a vector in one of the usual spellings (W5), the seed's two included."""
    return len(name) < 64 and bool(_ALIAS.fullmatch(name))
