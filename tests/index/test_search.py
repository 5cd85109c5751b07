"""Exact search: the order of the best, ties, and what never ranks, held against a pass in numpy."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.index.made_tables import as_float32, faulty_vectors, make_file, opened, vector_file
from tests.index.oracle import Vector, cosine, judge
from workbench.core.fingerprint import parse_fingerprint
from workbench.index.mapping import ModelColumn
from workbench.index.model import SearchResult

NAN, INF = math.nan, math.inf


def ids(result: SearchResult) -> list[str]:
    return [hit.id for hit in result.hits]


def check_ranking(
    result: SearchResult, vectors: Sequence[Vector], query: Sequence[float], k: int, usable: list[int]
) -> None:
    """Compare hits with the k best by cosine, as far as double precision can tell."""
    scores = {f"r{n}": cosine([x or 0.0 for x in vectors[n] or ()], query) for n in usable}
    assert len(result.hits) == min(k, len(scores))
    best = sorted(scores.values(), reverse=True)
    for hit, expected in zip(result.hits, best, strict=False):
        assert hit.score == pytest.approx(expected, abs=1e-12)
        assert hit.score == pytest.approx(scores[hit.id], abs=1e-12)
    pairs = [(-hit.score, hit.id.encode("utf-16-be")) for hit in result.hits]
    assert pairs == sorted(pairs)


@pytest.mark.parametrize("element", ["FLOAT", "DOUBLE", "TINYINT"])
@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_usable_vectors_rank_and_nothing_else_does(
    tmp_path: Path, element: str, lists: bool, seed: int
) -> None:
    random_ = random.Random(seed)
    dims = random_.choice([8, 16, 31])
    vectors = faulty_vectors(random_, 250, dims, lists=lists, element=element)
    query = [random_.uniform(-1, 1) for _ in range(dims)]
    judged = judge(vectors, None if lists else dims)
    path = vector_file(tmp_path / "x.duckdb", f"{element}[{'' if lists else dims}]", vectors)
    with opened(path, element_type=element, fixed_dims=None if lists else dims) as namespace:
        health = namespace.health(0)
        for k in (1, 7, 1_000):
            result = namespace.search(np.array(query), k=k, now_ms=0)
            check_ranking(result, vectors, query, k, judged.usable)
            assert (result.left_out, result.missing) == (health.unusable, len(judged.missing))


@pytest.mark.parametrize("seed", range(3))
def test_scores_closer_than_float32_can_tell_are_ordered_all_the_same(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    base = [random_.uniform(-1, 1) for _ in range(64)]
    vectors: list[Vector] = [[as_float32(x + random_.uniform(-1e-6, 1e-6)) for x in base] for _ in range(300)]
    path = vector_file(tmp_path / "x.duckdb", "FLOAT[64]", vectors)
    with opened(path, fixed_dims=64) as namespace:
        result = namespace.search(np.array(base), k=10, now_ms=0)
    scores = sorted(((-cosine([x or 0.0 for x in v or ()], base), f"r{n}") for n, v in enumerate(vectors)))
    assert [hit.score for hit in result.hits] == pytest.approx([-score for score, _ in scores[:10]], abs=1e-15)


def test_equal_scores_are_ordered_by_id_as_javascript_orders_strings(tmp_path: Path) -> None:
    named = ["b", "a", "ﬀ", "\U0001f600", "Z", "aa", "é"]
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id VARCHAR, e FLOAT[2])",
        rows={"t": [(id, [1.0, 2.0]) for id in named] + [("best", [1.0, 0.0])]},
    )
    with opened(path, fixed_dims=2) as namespace:
        found = ids(namespace.search(np.array([1.0, 0.0]), k=8, now_ms=0))
        assert found == ["best", "Z", "a", "aa", "b", "é", "\U0001f600", "ﬀ"]
        assert ids(namespace.search(np.array([1.0, 0.0]), k=3, now_ms=0)) == ["best", "Z", "a"]


def test_a_tie_wider_than_what_is_asked_for_is_still_decided_by_id(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t AS SELECT 'r' || lpad((2999 - i)::VARCHAR, 4, '0') AS id, [1.0, 1.0, 0.0]::FLOAT[3] AS e"
        " FROM range(3000) r(i)",
    )
    with opened(path, fixed_dims=3) as namespace:
        assert ids(namespace.search(np.array([1.0, 2.0, 3.0]), k=3, now_ms=0)) == ["r0000", "r0001", "r0002"]


def test_vectors_that_float32_squares_cannot_hold_rank_by_their_direction(tmp_path: Path) -> None:
    vectors: list[Vector] = [[3e30, 1.0], [1e-30, 1e-30], [1.0, 2.0], [0.0, 0.0], [INF, 1.0], [NAN, 1.0], [None, 1.0]]
    for type, dims in (("FLOAT[2]", 2), ("FLOAT[]", None)):
        path = vector_file(tmp_path / f"{type}.duckdb", type, vectors)
        with opened(path, fixed_dims=dims) as namespace:
            result = namespace.search(np.array([1.0, 0.0]), k=10, now_ms=0)
        assert ids(result) == ["r0", "r1", "r2"]
        assert [hit.score for hit in result.hits] == pytest.approx([1.0, math.sqrt(0.5), math.sqrt(0.2)])
        assert (result.left_out, result.missing) == (4, 0)


def test_a_huge_or_tiny_query_finds_what_its_direction_finds(tmp_path: Path) -> None:
    path = vector_file(tmp_path / "x.duckdb", "FLOAT[2]", [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    with opened(path, fixed_dims=2) as namespace:
        for scale in (1e-300, 1.0, 1e300):
            assert ids(namespace.search(np.array([scale, 0.0]), k=3, now_ms=0)) == ["r0", "r2", "r1"]


@pytest.mark.parametrize("query", [[0.0, 0.0], [NAN, 1.0], [INF, 1.0]])
def test_a_query_without_a_direction_finds_nothing_and_counts_as_ever(tmp_path: Path, query: list[float]) -> None:
    path = vector_file(tmp_path / "x.duckdb", "FLOAT[2]", [[1.0, 0.0], [0.0, 0.0], None])
    with opened(path, fixed_dims=2) as namespace:
        result = namespace.search(np.array(query), k=3, now_ms=0)
    assert (result.hits, result.left_out, result.missing) == ((), 1, 1)


def test_a_query_of_another_length_is_refused(tmp_path: Path) -> None:
    for type, dims in (("FLOAT[2]", 2), ("FLOAT[]", None)):
        path = vector_file(tmp_path / f"{type}.duckdb", type, [[1.0, 0.0], [1.0, 0.0]])
        with opened(path, fixed_dims=dims) as namespace, pytest.raises(ValueError, match="3 numbers"):
            namespace.search(np.array([1.0, 0.0, 0.0]), k=3, now_ms=0)


def test_expired_rows_other_tiers_and_the_chunk_itself_are_left_out(tmp_path: Path) -> None:
    rows = [
        ("self", [1.0, 0.0], "a", None),
        ("near", [1.0, 0.1], "a", 50),
        ("late", [1.0, 0.2], "b", 10),
        ("free", [1.0, 0.3], None, None),
        ("zero", [0.0, 0.0], "b", 10),
    ]
    path = make_file(
        tmp_path / "x.duckdb", "CREATE TABLE t (id VARCHAR, e FLOAT[2], tier VARCHAR, ttl BIGINT)", rows={"t": rows}
    )
    query = np.array([1.0, 0.0])
    with opened(path, fixed_dims=2, tier="tier", expires_ms="ttl") as namespace:
        everything = namespace.search(query, k=9, now_ms=9)
        assert ids(everything) == ["self", "near", "late", "free"]
        assert (everything.left_out, everything.expired) == (1, 0)
        later = namespace.search(query, k=9, now_ms=10)
        assert ids(later) == ["self", "near", "free"]
        assert (later.left_out, later.expired) == (1, 2)
        assert ids(namespace.search(query, k=9, now_ms=0, without="self")) == ["near", "late", "free"]
        assert ids(namespace.search(query, k=9, now_ms=0, tiers=["a"])) == ["self", "near"]
        assert ids(namespace.search(query, k=9, now_ms=0, tiers=["a", "b"])) == ["self", "near", "late"]
        assert ids(namespace.search(query, k=9, now_ms=0, tiers=[])) == []


def test_hits_carry_their_text_only_when_it_is_asked_for(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id VARCHAR, e FLOAT[2], text VARCHAR)",
        rows={"t": [("a", [1.0, 0.0], "x\U0001f600"), ("b", [0.0, 1.0], None)]},
    )
    with opened(path, fixed_dims=2, text="text") as namespace:
        first, second = namespace.search(np.array([1.0, 0.0]), k=2, now_ms=0).hits
        assert (first.text, first.chars) == ("x\U0001f600", 3)
        assert (second.text, second.chars) == (None, None)
        assert namespace.search(np.array([1.0, 0.0]), k=1, now_ms=0, with_text=False).hits[0].text is None


def test_rows_without_an_id_are_found_by_their_row_number(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id VARCHAR, e FLOAT[2])",
        rows={"t": [("a", [1.0, 0.0]), (None, [0.9, 0.1]), ("b", [0.0, 1.0])]},
    )
    query = np.array([1.0, 0.0])
    with opened(path, fixed_dims=2) as namespace:
        assert ids(namespace.search(query, k=2, now_ms=0)) == ["a", "rowid=1"]
        assert ids(namespace.search(query, k=2, now_ms=0, without="rowid=1")) == ["a", "b"]
        chunk = namespace.chunk("rowid=1")
        assert chunk is not None
        assert chunk.dims == 2
    with opened(path, fixed_dims=2, id=None) as namespace:
        assert ids(namespace.search(query, k=9, now_ms=0)) == ["0", "1", "2"]


def test_two_rows_of_one_id_are_two_hits(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id VARCHAR, e FLOAT[2])",
        rows={"t": [("a", [0.0, 1.0]), ("a", [1.0, 0.0])]},
    )
    with opened(path, fixed_dims=2) as namespace:
        assert [hit.score for hit in namespace.search(np.array([1.0, 0.0]), k=2, now_ms=0).hits] == [1.0, 0.0]


_NAMES = [
    None,
    "",
    "?",
    "acme",
    "acme@2",
    "?@2",
    "@2",
    "a@b@2",
    "acme\n@2",
    "other",
    "other@2",
    "ACME@2",
    "é@2",
    "@",
    "acme@9",
]


@pytest.mark.parametrize("kind", list(ModelColumn))
@pytest.mark.parametrize("model", ["acme", "a@b", "acme\n", "other", "é", "acme@2", "\udcff"])
def test_vectors_of_another_model_are_left_out_and_counted(tmp_path: Path, kind: ModelColumn, model: str) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id VARCHAR, e FLOAT[2], m VARCHAR)",
        rows={"t": [(f"r{n}", [1.0, float(n)], name) for n, name in enumerate(_NAMES)]},
    )
    with opened(path, fixed_dims=2, model="m", model_kind=kind) as namespace:
        named = [parse_fingerprint(row.fingerprint or "?@2").id for row in namespace.page(0, 99)]
        kept = [f"r{n}" for n, id in enumerate(named) if id in (None, model)]
        result = namespace.search(np.array([1.0, 0.0]), k=99, now_ms=0, model=model)
        assert ids(result) == kept
        assert (result.other_model, result.left_out) == (len(_NAMES) - len(kept), 0)
        everything = namespace.search(np.array([1.0, 0.0]), k=99, now_ms=0)
        assert (len(everything.hits), everything.other_model) == (len(_NAMES), 0)


def test_an_unusable_vector_of_another_model_is_counted_as_unusable_alone(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id VARCHAR, e FLOAT[], m VARCHAR)",
        rows={
            "t": [("a", [1.0, 0.0], "acme"), ("b", [0.0, 0.0], "other"), ("c", [1.0], "other"), ("d", None, "other")]
        },
    )
    with opened(path, model="m", recorded_dims=2) as namespace:
        result = namespace.search(np.array([1.0, 0.0]), k=9, now_ms=0, model="acme")
        assert ids(result) == ["a"]
        assert (result.other_model, result.left_out, result.missing) == (0, 2, 1)
