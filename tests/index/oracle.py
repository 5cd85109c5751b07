"""An independent pass over plain rows, in numpy and Python alone: what the measurements are held against."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.index.model import NormSpread, VectorHealth

Vector = Sequence[float | None] | None


@dataclass(slots=True)
class Judged:
    """Row numbers by what is wrong with their vector, and the norms of the finite ones."""

    dims: int | None
    missing: list[int] = field(default_factory=list)
    wrong_dims: list[int] = field(default_factory=list)
    non_finite: list[int] = field(default_factory=list)
    zero: list[int] = field(default_factory=list)
    usable: list[int] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)

    def health(self, expired: int = 0) -> VectorHealth:
        norms = np.sort(np.array(self.norms))
        middle = norms[[(len(norms) - 1) // 2, len(norms) // 2]].mean() if len(norms) else 0.0
        return VectorHealth(
            count=sum(map(len, (self.missing, self.wrong_dims, self.non_finite, self.zero, self.usable))),
            dims=self.dims,
            missing=len(self.missing),
            wrong_dims=len(self.wrong_dims),
            non_finite=len(self.non_finite),
            zero=len(self.zero),
            expired=expired,
            norm=NormSpread(norms[0], float(middle), norms[-1]) if len(norms) else None,
        )


def judge(vectors: Sequence[Vector], declared: int | None) -> Judged:
    """Sort rows by what is wrong with their vector."""
    lengths = Counter(len(vector) for vector in vectors if vector)
    dims = declared
    if dims is None and lengths:
        most = max(lengths.values())
        dims = min(length for length, count in lengths.items() if count == most)
    judged = Judged(dims)
    for place, vector in enumerate(vectors):
        if not vector:
            judged.missing.append(place)
            continue
        finite = all(value is not None and math.isfinite(value) for value in vector)
        if finite:
            judged.norms.append(math.hypot(*(value for value in vector if value is not None)))
        if len(vector) != dims:
            judged.wrong_dims.append(place)
        elif not finite:
            judged.non_finite.append(place)
        elif not any(vector):
            judged.zero.append(place)
        else:
            judged.usable.append(place)
    return judged


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Compute the cosine of two vectors of any finite size, in double precision."""
    scaled = [np.array(v, dtype=np.longdouble) for v in (a, b)]
    x, y = (v / np.max(np.abs(v)) for v in scaled)
    return float(np.dot(x, y) / np.sqrt(np.dot(x, x) * np.dot(y, y)))


def same_health(found: VectorHealth, expected: VectorHealth, tolerance: float = 1e-5) -> bool:
    """Whether all counts are equal, and the norms but for rounding."""
    counts = ("count", "dims", "missing", "wrong_dims", "non_finite", "zero", "expired")
    if any(getattr(found, name) != getattr(expected, name) for name in counts):
        return False
    if found.norm is None or expected.norm is None:
        return found.norm is expected.norm
    return all(
        math.isclose(getattr(found.norm, name), getattr(expected.norm, name), rel_tol=tolerance, abs_tol=1e-300)
        for name in ("min", "median", "max")
    )
