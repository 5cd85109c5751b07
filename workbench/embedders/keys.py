"""An API key on its way from an environment variable to a header: nothing that holds one can be printed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.embedders.failures import Refusal, RequestRefused

_HIDDEN = "[key]"
_SHORTEST_PIECE = 8


class Key:
    """A key that shows itself only to ``reveal``; its repr, its str and its pickle hold nothing of it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Give the key, for the header of a request alone."""
        return self._value

    def hide_in(self, text: str) -> str:
        """Replace the key in a text, and every piece of it of eight characters or more."""
        value = self._value
        if len(value) < _SHORTEST_PIECE:
            return text.replace(value, _HIDDEN) if value else text
        pieces = {value[at : at + _SHORTEST_PIECE] for at in range(len(value) - _SHORTEST_PIECE + 1)}
        covered = bytearray(len(text))
        for at in range(len(text) - _SHORTEST_PIECE + 1):
            if text[at : at + _SHORTEST_PIECE] in pieces:
                covered[at : at + _SHORTEST_PIECE] = b"\1" * _SHORTEST_PIECE
        return _without(text, covered) if any(covered) else text

    def hide_in_bytes(self, content: bytes, *, whole: bool) -> bytes:
        """Replace the key in an answer, with ``whole`` only when it stands there whole: good answers are long."""
        if whole and self._value.encode() not in content:
            return content
        return self.hide_in(content.decode("latin-1")).encode("latin-1")

    def __repr__(self) -> str:
        return "Key(…)"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a key is not written anywhere")


def _without(text: str, covered: bytearray) -> str:
    kept: list[str] = []
    for at, char in enumerate(text):
        if not covered[at]:
            kept.append(char)
        elif at == 0 or not covered[at - 1]:
            kept.append(_HIDDEN)
    return "".join(kept)


@dataclass(frozen=True, slots=True)
class KeySource:
    """The name of the environment variable that holds a key; the key itself is read for each request anew.

    ``header`` is where it goes: ``Authorization`` (as a bearer token) or another one, such as Azure's ``api-key``.
    """

    variable: str
    header: str = "Authorization"

    def read(self, environment: Mapping[str, str] | None = None) -> Key:
        """Read the key.

        Raises:
            RequestRefused: the variable is not set, is empty, or holds what no header can.
        """
        value = (os.environ if environment is None else environment).get(self.variable, "").strip()
        if not value:
            raise RequestRefused(
                f"the environment variable {self.variable} is not set; it should hold the key of this embedder",
                refusal=Refusal.KEY,
            )
        if not value.isascii() or not value.isprintable():
            raise RequestRefused(
                f"what the environment variable {self.variable} holds cannot be a key: no header holds such characters",
                refusal=Refusal.KEY,
            )
        return Key(value)

    def header_value(self, key: Key) -> str:
        """Give the value of the header."""
        return f"Bearer {key.reveal()}" if self.header.lower() == "authorization" else key.reveal()
