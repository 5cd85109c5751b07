"""Steps by the hundred thousand are what they would be as objects, and take a fraction of the memory."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from workbench.recordings.model import Span
from workbench.recordings.step_table import StepTable, finish_stream
from workbench.recordings.steps import RawStep, finish_steps, in_tree_order


def raw_steps(count: int) -> Iterator[RawStep]:
    chance = random.Random(7)
    for place in range(count):
        parent = chance.choice((None, f"k{chance.randrange(count)}", "gone"))
        parent = {2: "k4", 4: "k2"}.get(place, parent)
        step = RawStep(f"k{place}", parent, f"kind{place % 3}", f"name {place} \ud83d")
        if place % 2:
            step = replace(step, start_ms=chance.uniform(0, 9), end_ms=chance.uniform(0, 9), status="ok")
        if place % 5 == 0:
            step = replace(step, key=None, error="broke", spans=(Span(place, place + 3), Span(9, 2**40)))
        yield step
        if place % 1_000 == 1:
            yield step


def test_a_table_says_of_steps_what_objects_say() -> None:
    steps, notes = finish_stream(raw_steps(21_000))
    expected, expected_notes = finish_steps(list(raw_steps(21_000)))
    assert isinstance(steps, StepTable)
    assert tuple(steps) == expected
    assert notes == expected_notes
    assert len(notes) == 4
    assert (steps[-1], steps[5:7]) == (expected[-1], expected[5:7])
    assert list(in_tree_order(steps)) == list(in_tree_order(expected))


def test_few_steps_are_plain_ones() -> None:
    assert finish_stream(raw_steps(100)) == finish_steps(list(raw_steps(100)))


def test_a_hundred_thousand_small_steps_take_ten_megabytes() -> None:
    raw = (RawStep(None, None, "event", f"step {place % 17}", start_ms=float(place)) for place in range(100_000))
    tracemalloc.start()
    try:
        steps, _ = finish_stream(raw)
        first = list(islice(in_tree_order(steps), 10))
        assert len(first) == 10
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
