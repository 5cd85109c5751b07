"""One cheap look over a parsed value: could there be vectors in it that the seed's rule has not taken."""

from __future__ import annotations

from typing import NamedTuple

from workbench.core.summary import is_numeric_vector
from workbench.recordings.wide import is_alias, is_attribute

_FEWEST = 8
_JSON_TEXT = 200
_TEXT = 16
_MOST_KEYS = 4_096
_NUMBERS = frozenset((int, float))
_OPENS = frozenset(("{", "["))
_BEGINS = frozenset("{[ \t\r\n")


class Look(NamedTuple):
    """What a look saw: vectors under the seed's own keys that are still there, and what the wide rules should judge.

    ``keys`` counts those of all objects.
    """

    left_over: bool
    likely: bool
    keys: int = 0


class _Telling(dict[str, bool]):
    """Which keys may tell that the text under them is a vector; a dict, since it is asked for every string."""

    def __missing__(self, key: str) -> bool:
        if len(self) >= _MOST_KEYS:
            self.clear()
        self[key] = told = is_alias(key) or is_attribute(key)
        return told


_TELLING = _Telling()


def look(value: object) -> Look:
    """Look over a value from which the seed's vectors were taken."""
    likely = False
    keys = 0
    waiting = [value]
    push = waiting.append
    telling = _TELLING
    while waiting:
        node = waiting.pop()
        if type(node) is dict:
            keys += len(node)
            for key, each in node.items():
                kind = type(each)
                if kind is str:
                    size = len(each)
                    if size > _TEXT:
                        if telling[key]:
                            likely = likely or each[0] in _BEGINS or " " not in each[:64]
                        elif size > _JSON_TEXT and each[0] in _BEGINS:
                            likely = likely or _opens_json(each)
                elif kind is dict:
                    push(each)
                    if key == "arrayValue" or key == "array_value":
                        likely = True
                elif kind is list:
                    if not each:
                        continue
                    if key == "embedding":
                        if is_numeric_vector(each):
                            return Look(True, likely)
                    elif key == "embeddings" and any(map(is_numeric_vector, each)):
                        return Look(True, likely)
                    push(each)
        elif type(node) is list and node:
            first = type(node[0])
            if first is float or first is int:
                likely = likely or len(node) >= _FEWEST
                if set(map(type, node)) <= _NUMBERS:
                    continue
            for each in node:
                kind = type(each)
                if kind is dict or kind is list:
                    push(each)
                elif kind is str and len(each) > _JSON_TEXT and _opens_json(each):
                    likely = True
        elif type(node) is str:
            likely = likely or (len(node) > _JSON_TEXT and _opens_json(node))
    return Look(False, likely, keys)


def _opens_json(text: str) -> bool:
    return text[:64].lstrip()[:1] in _OPENS
