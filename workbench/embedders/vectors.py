"""Vectors as servers send them, made into float32 arrays and checked before anybody may store them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from workbench.embedders.failures import BadVector, UnusableVectors, VectorProblem, Wrong, WrongAnswer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.embedders.protocol import Vector

_NUMBERS = frozenset((float, int, type(None)))


def decoded(value: object, host: str) -> NDArray[np.float32]:
    """Read one vector: a list of numbers (null is NaN), or base64 of little-endian float32.

    Raises:
        WrongAnswer: it is neither.
    """
    import numpy as np

    if isinstance(value, str):
        try:
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
        except (binascii.Error, ValueError):
            raise WrongAnswer(f"{host} answered with a vector that is no base64 of floats", wrong=Wrong.SHAPE) from None
    if not isinstance(value, list) or not _NUMBERS.issuperset(map(type, value)):
        raise WrongAnswer(f"{host} answered with a vector that is no list of numbers", wrong=Wrong.SHAPE)
    try:
        with np.errstate(over="ignore"):
            return np.array(value, dtype=np.float64).astype(np.float32)
    except OverflowError:
        raise WrongAnswer(f"{host} answered with a number beyond every range", wrong=Wrong.SHAPE) from None


def checked(vectors: Sequence[NDArray[np.float32]], dims: int | None, source: str) -> list[Vector]:
    """Give the vectors when all have the length ``dims`` (None: all the same, not 0), are finite and not zero.

    Raises:
        UnusableVectors: naming those that are not; the others stand in its ``vectors``.
    """
    expected = dims if dims is not None else (int(vectors[0].size) if vectors else None)
    wrong = [
        BadVector(index, VectorProblem.DIMS, int(vector.size))
        for index, vector in enumerate(vectors)
        if vector.size != expected or vector.size == 0
    ]
    if wrong:
        said = f"{wrong[0].dims:,} numbers where {expected:,} were expected" if expected else "no number at all"
        raise UnusableVectors(
            f"{source} answered with a vector of {said}; nothing of that answer is kept", bad=wrong, expected_dims=dims
        )
    bad = [each for index, vector in enumerate(vectors) if (each := _unusable(index, vector)) is not None]
    # Cast once here: an array reads like a sequence of floats, and its type does not say so.
    good = cast("list[Vector]", list(vectors))
    if bad:
        kept: list[Vector | None] = list(good)
        for each in bad:
            kept[each.index] = None
        what = "a zero vector" if bad[0].problem is VectorProblem.ZERO else "a vector with a NaN or an infinity"
        raise UnusableVectors(
            f"{source} answered {len(bad):,} of {len(vectors):,} texts with {what}, which no search can compare",
            bad=bad,
            vectors=kept,
            expected_dims=dims,
        )
    return good


def _unusable(index: int, vector: NDArray[np.float32]) -> BadVector | None:
    import numpy as np

    if not np.isfinite(vector).all():
        return BadVector(index, VectorProblem.NON_FINITE, int(vector.size))
    return None if vector.any() else BadVector(index, VectorProblem.ZERO, int(vector.size))
