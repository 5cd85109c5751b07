"""Vector summaries against the seed's cases, and by their own rules: exact norms, identity, cycles, depth."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.cases import FOLDERS, Live, cases, decode
from workbench.core.numbers import round_half_up, to_float
from workbench.core.summary import EmbeddingSummary, summarize_embeddings, summarize_vector

FILE = "golden_summary.json"


def same(one: Any, other: Any, seen: set[tuple[int, int]] | None = None) -> bool:  # noqa: ANN401
    """Compare two values that may hold NaN, cycles, and instances (by what they spell)."""
    seen = set() if seen is None else seen
    if (id(one), id(other)) in seen:
        return True
    seen.add((id(one), id(other)))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key], seen) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b, seen) for a, b in zip(one, other, strict=True))
    if isinstance(one, Live) and isinstance(other, Live):
        return one.entries == other.entries
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def at(value: Any, path: str) -> Any:  # noqa: ANN401
    for step in path.split("/")[1:] if path != "/" else []:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_vector_has_the_seeds_summary(folder: Path) -> None:
    for case in cases(folder, FILE, "vector"):
        expected = decode(case["out"])
        summary = summarize_vector(decode(case["in"]))
        assert summary.dims == expected["dims"], case
        assert same(summary.norm, expected["norm"]), (summary, case)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_value_is_summarised_as_the_seed_does_it(folder: Path) -> None:
    for case in cases(folder, FILE, "walk"):
        value = decode(case["in"])
        result = summarize_embeddings(value)
        assert same(value, decode(case["in"])), f"{case['name']}: the input was changed"
        assert same(result, decode(case["out"])), f"{case['name']}: {result!r}"
        assert (result is value) == case["returned_input"], case["name"]
        for out_path, in_path in case["same_ref"].items():
            assert at(result, out_path) is at(value, in_path), (case["name"], out_path)
        for later, first in case.get("output_shared", {}).items():
            assert at(result, later) is at(result, first), (case["name"], later)
        assert (summarize_embeddings(result) is result) == case["second_pass_returns_same"], case["name"]


def test_whole_norms_are_written_without_a_point() -> None:
    assert repr(summarize_embeddings({"embedding": [3.0, 4.0]})) == "{'embedding': {'dims': 2, 'norm': 5}}"
    assert summarize_vector([3, 4]) == EmbeddingSummary(2, 5)


# Exact norms


def reference(vector: list[float]) -> float:
    """Do what the seed's loop does: add the squares in order, take the root, round halves up at four decimals."""
    total = 0.0
    for value in vector:
        number = to_float(value)
        total = total + number * number
    return round_half_up(math.sqrt(total) * 10000.0) / 10000.0


def made_on_a_boundary(random: Random) -> list[float]:
    """Make a vector whose norm is half a unit of the fourth decimal, or as near as floats allow."""
    half = (random.randrange(1, 30_000) + 0.5) * 1e-4
    kind = random.randrange(4)
    if kind == 0:
        vector = [0.0] * random.randrange(0, 8) + [half]
    elif kind == 1:
        vector = [half * 0.6, half * 0.8]
    elif kind == 2:
        count = random.choice([4, 16, 64, 256])
        vector = [half / math.sqrt(count)] * count
    else:
        raw = [random.gauss(0, 1) for _ in range(random.randrange(1, 200))]
        scale = half / math.hypot(*raw)
        vector = [value * scale for value in raw]
    random.shuffle(vector)
    return [math.nextafter(value, math.inf) if random.random() < 0.05 else value for value in vector]


def test_norms_on_a_rounding_boundary_are_those_of_the_seeds_loop() -> None:
    random = Random(20)
    hypot_differs = 0
    for _ in range(20_000):
        vector = made_on_a_boundary(random)
        exact = reference(vector)
        assert summarize_vector(vector).norm == exact, vector
        hypot_differs += round_half_up(math.hypot(*vector) * 1e4) / 1e4 != exact
    assert hypot_differs > 500, "these vectors prove nothing"


def test_norms_of_ordinary_vectors_are_those_of_the_seeds_loop() -> None:
    random = Random(21)
    for _ in range(400):
        vector = [random.gauss(0, 1) for _ in range(random.choice([3, 384, 1536]))]
        assert summarize_vector(vector).norm == reference(vector)


@given(st.lists(st.floats() | st.integers(-(10**400), 10**400), max_size=12))
def test_norms_of_odd_vectors_are_those_of_the_seeds_loop(vector: list[float]) -> None:
    assert same(summarize_vector(vector).norm, reference(vector))


# Values

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
numbers = st.lists(st.integers(-9, 9) | st.floats(-9, 9), max_size=3)
keys = st.sampled_from(["embedding", "embeddings", "vector", "a", "dims"])
values = st.recursive(
    leaves | numbers | st.lists(numbers, max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


def has_nan(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(has_nan, value.values()))
    if isinstance(value, list):
        return any(map(has_nan, value))
    return isinstance(value, float) and math.isnan(value)


def expected(value: Any) -> Any:  # noqa: ANN401
    """Say the rules again, plainly and recursively, for trees without shared parts."""

    def vector(item: object) -> bool:
        return isinstance(item, list) and bool(item) and all(type(part) in (int, float) for part in item)

    def summary(item: list[float]) -> dict[str, float]:
        return {"dims": len(item), "norm": reference(item)}

    if isinstance(value, list):
        return [expected(item) for item in value]
    if not isinstance(value, dict):
        return value
    out: dict[str, Any] = {}
    for key, child in value.items():
        if key == "embedding" and vector(child):
            out[key] = summary(child)
        elif key == "embeddings" and isinstance(child, list) and any(map(vector, child)):
            out[key] = [summary(item) if vector(item) else expected(item) for item in child]
        else:
            out[key] = expected(child)
    return out


@given(values)
def test_any_tree_is_summarised_by_the_rules_and_never_changed(value: Any) -> None:  # noqa: ANN401
    before = copy.deepcopy(value)
    result = summarize_embeddings(value)
    assert same(value, before)
    assert same(result, expected(value))
    if not has_nan(value):
        assert (result is value) == same(result, value)
    if not has_nan(result):
        assert summarize_embeddings(result) is result


def test_any_depth_is_walked() -> None:
    deep: Any = {"embedding": [3, 4]}
    for _ in range(100_000):
        deep = {"embedding": [deep]}
    result: Any = summarize_embeddings(deep)
    for _ in range(100_000):
        result = result["embedding"][0]
    assert result == {"embedding": {"dims": 2, "norm": 5}}
    while isinstance(deep, dict) and isinstance(deep["embedding"][0], dict):
        deep = deep["embedding"][0]  # taken apart by hand: freeing such a nest at once is deep, too


def test_a_part_met_a_million_times_is_walked_once() -> None:
    value: Any = {"embedding": [3, 4]}
    for _ in range(60):
        value = [value, value]
    result: Any = summarize_embeddings(value)
    assert result[0] is result[1]
    assert result[0][0] is result[1][1]


def test_only_dicts_and_lists_are_walked() -> None:
    class Record(dict[str, object]):
        pass

    live = Record(embedding=[1, 2])
    value = {"tuple": ({"embedding": [1, 2]},), "record": live, "embedding": (3, 4)}
    assert summarize_embeddings(value) is value


def test_truth_values_make_no_vector() -> None:
    value = {"embedding": [True, False], "embeddings": [[True], []]}
    assert summarize_embeddings(value) is value


def test_a_part_that_holds_nan_is_copied_as_in_the_seed() -> None:
    value = {"a": [math.nan, "x"], "b": [1, 2]}
    result: Any = summarize_embeddings(value)
    assert result is not value
    assert result["a"] is not value["a"]
    assert result["b"] is value["b"]
