"""A piece of a text: what cutting a text gives, and how the one who cuts asks whether a guess is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from workbench.recordings.slim import Run

Proof = TypeVar("Proof")
Prove = Callable[[bytes, int, int, Run], Proof | None]
"""Gives what the caller makes of the values that follow each other in a range; None when they are not just that."""

ENOUGH = 256 << 10
"""Values that follow each other are taken together until they have so many bytes."""


class Kind(Enum):
    """How the JSON of a piece stands in the text."""

    GLUE = "glue"
    """Nothing to look into: blanks, commas, brackets and keys between pieces, and texts of absurd length."""
    VALUE = "value"
    """One value as it stands."""
    MEMBERS = "members"
    """Members of an object or array; the brackets around them are not in the text."""
    PROVEN = "proven"
    """Many values, of which only the proof is left."""


@dataclass(frozen=True, slots=True)
class Piece(Generic[Proof]):
    """A part of a text.

    Attributes:
        kind: how it stands in the text.
        data: one JSON value, or glue.
        proof: what the caller made of it while proving that it is JSON; None when it was proven otherwise.
    """

    kind: Kind
    data: bytes
    proof: Proof | None = None
