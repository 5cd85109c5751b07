"""The sizes of vectors in few numbers: spread and bins of their L2 norms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.index.model import NormBins, NormSpread

if TYPE_CHECKING:
    from numpy.typing import NDArray

BINS = 1_000
"""Steps between the smallest and the largest norm: several for each column of a wide screen."""


def spread_of(norms: NDArray[np.float64]) -> NormSpread | None:
    """Give smallest, median and largest of norms, shape (n,), none of them NaN; None when there is none."""
    if not norms.size:
        return None
    return NormSpread(float(norms.min()), float(np.median(norms)), float(norms.max()))


def bins_of(norms: NDArray[np.float64]) -> NormBins | None:
    """Count norms, shape (n,), in BINS equal steps; zero and infinite ones are left out, None when none is left."""
    measured = norms if norms.size and norms.min() > 0 and norms.max() < np.inf else norms[_measurable(norms)]
    if not measured.size:
        return None
    low, high = float(measured.min()), float(measured.max())
    if low == high:
        return NormBins(low, high, (int(measured.size),))
    places = ((measured - low) / (high - low) * BINS).astype(np.int64)
    counts = np.bincount(np.minimum(places, BINS - 1), minlength=BINS)
    return NormBins(low, high, tuple(counts.tolist()))


def _measurable(norms: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (norms > 0) & np.isfinite(norms)
