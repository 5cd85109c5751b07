"""Sizes of vectors in few numbers."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.index.model import NormBins, NormSpread
from workbench.index.norms import BINS, bins_of, spread_of


def test_every_norm_above_zero_is_in_one_step_the_largest_in_the_last() -> None:
    bins = bins_of(np.array([0.0, 1.0, 1.5, 2.0, np.inf]))
    assert bins is not None
    assert (bins.low, bins.high, sum(bins.counts)) == (1.0, 2.0, 3)
    assert [place for place, count in enumerate(bins.counts) if count] == [0, BINS // 2, BINS - 1]


def test_norms_that_are_all_the_same_are_one_step() -> None:
    assert bins_of(np.full(7, 1.0)) == NormBins(1.0, 1.0, (7,))


@pytest.mark.parametrize("norms", [[], [0.0, 0.0], [np.inf]])
def test_without_a_norm_above_zero_there_are_no_steps(norms: list[float]) -> None:
    assert bins_of(np.array(norms)) is None


def test_norms_at_both_ends_of_what_a_float_holds_are_counted() -> None:
    bins = bins_of(np.array([5e-324, 1e-320, 1.7e308]))
    assert bins is not None
    assert sum(bins.counts) == 3


def test_the_spread_is_smallest_middle_and_largest_zero_and_infinity_included() -> None:
    assert spread_of(np.array([3.0, 0.0, 1.0, np.inf])) == NormSpread(0.0, 2.0, np.inf)
    assert spread_of(np.array([])) is None
