"""How long to wait: what the server asks, in each way it can be said, else longer with each retry."""

from __future__ import annotations

import pytest

from workbench.embedders.batching import BatchLimits, next_batch
from workbench.embedders.failures import BatchTooLarge
from workbench.embedders.retrying import RetryPolicy, asked_wait

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tuesday, 14-Nov-23 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 -0000"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Tue, 99 Nov 2023 22:13:50 GMT"}, None),
    ],
)
def test_each_way_of_asking_to_wait_is_read_and_nonsense_is_not(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers, NOW) == seconds


def test_waits_double_up_to_a_longest_one_and_are_spread_over_their_upper_half() -> None:
    policy = RetryPolicy(first_s=1.0, longest_s=30.0)
    assert [policy.wait(retry, 1.0) for retry in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]
    assert [policy.wait(retry, 0.0) for retry in (1, 6, 10_000)] == [0.5, 15, 15]


@pytest.mark.parametrize("unit", ["inputs", "tokens"])
@pytest.mark.parametrize(("limit", "given"), [(None, None), (10, 20), (20, 10), (0, 5), (10**11, None)])
@pytest.mark.parametrize("inputs", [2, 3, 100])
def test_a_refused_batch_always_makes_the_next_one_smaller(
    unit: str, limit: int | None, given: int | None, inputs: int
) -> None:
    texts = ["some words"] * inputs
    limits = BatchLimits(1_000)
    refused = BatchTooLarge("too much", unit=unit, limit=limit, given=given)
    while (size := next_batch(texts, limits)) > 1:
        limits = limits.lower(refused, size, 10 * size)
        assert next_batch(texts, limits) < size


def test_a_text_longer_than_a_batch_may_be_goes_alone() -> None:
    assert next_batch(["x" * 50, "y"], BatchLimits(10, 20)) == 1
    assert next_batch(["y", "x" * 50], BatchLimits(10, 20)) == 1
    assert next_batch([], BatchLimits(10, 20)) == 0
    assert next_batch(["😀" * 10, "y"], BatchLimits(10, 20)) == 1  # twenty code units
