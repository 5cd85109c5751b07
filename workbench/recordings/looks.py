"""One cheap look over a parsed value: could there be vectors in it that the seed's rule has not taken."""

from __future__ import annotations

from typing import NamedTuple

from workbench.core.summary import is_numeric_vector
from workbench.recordings.wide import is_alias, is_attribute

_FEWEST = 8
_JSON_TEXT = 200
_TEXT = 16


class Look(NamedTuple):
    """What a look saw: vectors under the seed's own keys that are still there, and what the wide rules should judge."""

    left_over: bool
    likely: bool


def look(value: object) -> Look:
    """Look over a value from which the seed's vectors were taken."""
    likely = False
    waiting = [value]
    push = waiting.append
    while waiting:
        node = waiting.pop()
        if type(node) is dict:
            for key, each in node.items():
                kind = type(each)
                if kind is dict:
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
                elif kind is str and len(each) > _TEXT and (each[0] in _BEGINS or " " not in each[:64]):
                    likely = likely or _is_suspect(key, each)
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
                elif kind is str and len(each) > _JSON_TEXT and each[:64].lstrip()[:1] in _OPENS:
                    likely = True
        elif type(node) is str:
            likely = likely or _is_suspect("", node)
    return Look(False, likely)


_NUMBERS = frozenset((int, float))
_OPENS = frozenset(("{", "["))
_BEGINS = frozenset("{[ \t\r\n")


def _is_suspect(key: str, text: str) -> bool:
    if len(text) > _JSON_TEXT and text[:64].lstrip()[:1] in _OPENS:
        return True
    return is_alias(key) or is_attribute(key)
