"""What a search can do with each vector: counted in SQL, held against an independent pass over the same rows."""

from __future__ import annotations

import math
import random
from pathlib import Path

import duckdb
import pytest

from tests.index.made_tables import faulty_vectors, make_file, opened, vector_file
from tests.index.oracle import Vector, judge, same_health
from workbench.core.job import Cancelled, Job
from workbench.index.duckdb_source import open_duckdb_source
from workbench.index.model import Unusable

NAN, INF = math.nan, math.inf


def shape(element: str, dims: int | None) -> dict[str, object]:
    return {"element_type": element, "fixed_dims": dims}


@pytest.mark.parametrize("element", ["FLOAT", "DOUBLE", "TINYINT"])
@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_kind_of_unusable_row_is_counted_wherever_it_stands(
    tmp_path: Path, element: str, lists: bool, seed: int
) -> None:
    random_ = random.Random(seed)
    dims = random_.choice([8, 24, 33])
    vectors = faulty_vectors(random_, 300, dims, lists=lists, element=element)
    path = vector_file(tmp_path / "x.duckdb", f"{element}[{'' if lists else dims}]", vectors)
    with opened(path, **shape(element, None if lists else dims)) as namespace:
        assert same_health(namespace.health(0), judge(vectors, None if lists else dims).health())


@pytest.mark.parametrize("dims", [2, None])
def test_numbers_that_float32_squares_cannot_hold_are_usable(tmp_path: Path, dims: int | None) -> None:
    vectors: list[Vector] = [[3e30, 1.0], [1e-30, 0.0], [1e-45, 0.0]]
    path = vector_file(tmp_path / "x.duckdb", f"FLOAT[{dims or ''}]", vectors)
    with opened(path, **shape("FLOAT", dims)) as namespace:
        health = namespace.health(0)
    assert health.unusable == 0
    assert health.norm is not None
    assert health.norm.max == pytest.approx(3e30)
    assert health.norm.median == pytest.approx(1e-30)
    assert 0 < health.norm.min < 1e-44


def test_a_null_element_spoils_its_own_row_only(tmp_path: Path) -> None:
    vectors: list[Vector] = [[1.0, 2.0], [None, 1.0], [2.0, 2.0], None, [], [0.0, 0.0]]
    path = vector_file(tmp_path / "x.duckdb", "FLOAT[]", vectors)
    with opened(path) as namespace:
        health = namespace.health(0)
    assert (health.missing, health.non_finite, health.zero, health.unusable) == (2, 1, 1, 2)


def test_a_row_of_another_length_counts_once_whatever_else_is_wrong_with_it(tmp_path: Path) -> None:
    vectors: list[Vector] = [[1.0, 2.0], [2.0, 1.0], [NAN], [0.0, 0.0, 0.0], [None, 1.0, 1.0]]
    path = vector_file(tmp_path / "x.duckdb", "DOUBLE[]", vectors)
    with opened(path, element_type="DOUBLE") as namespace:
        health = namespace.health(0)
    assert (health.dims, health.wrong_dims, health.non_finite, health.zero) == (2, 3, 0, 0)
    assert health.norm is not None
    assert health.norm.min == 0.0, "the norm of a finite vector counts whatever its length"


def test_the_smaller_length_is_the_length_of_a_namespace_split_in_halves(tmp_path: Path) -> None:
    path = vector_file(tmp_path / "x.duckdb", "FLOAT[]", [[1.0] * 9, [1.0] * 8, [1.0] * 9, [1.0] * 8])
    with opened(path) as namespace:
        assert namespace.health(0).dims == 8


def test_a_recorded_length_wins_over_the_most_frequent_one(tmp_path: Path) -> None:
    path = vector_file(tmp_path / "x.duckdb", "FLOAT[]", [[1.0] * 9, [1.0] * 9, [1.0] * 8])
    with opened(path, recorded_dims=8) as namespace:
        health = namespace.health(0)
    assert (health.dims, health.wrong_dims) == (8, 2)


def test_a_table_without_vectors_has_no_norm(tmp_path: Path) -> None:
    path = vector_file(tmp_path / "x.duckdb", "FLOAT[8]", [None, None])
    with opened(path, fixed_dims=8) as namespace:
        assert namespace.health(0).norm is None
        assert namespace.health(0).missing == 2
    with opened(vector_file(tmp_path / "none.duckdb", "FLOAT[]", [])) as namespace:
        assert (namespace.health(0).count, namespace.health(0).dims) == (0, None)


def test_a_namespace_whose_vector_column_was_never_made_counts_all_rows_as_missing(tmp_path: Path) -> None:
    path = make_file(tmp_path / "x.duckdb", "CREATE TABLE t (id VARCHAR)", rows={"t": [("a",), ("b",)]})
    with opened(path, vector=None) as namespace:
        assert namespace.health(0).missing == 2
        assert [row.id for row in namespace.unusable_rows(5)] == ["a", "b"]
        assert namespace.fingerprints() == ()


def test_rows_whose_time_is_over_are_counted_beside_the_others(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id VARCHAR, e FLOAT[2], ttl BIGINT)",
        rows={"t": [("a", [1.0, 1.0], 100), ("b", [0.0, 0.0], 101), ("c", [1.0, 1.0], None), ("d", None, 5)]},
    )
    with opened(path, fixed_dims=2, expires_ms="ttl") as namespace:
        assert [namespace.health(now).expired for now in (4, 5, 100, 101)] == [0, 1, 2, 3]


def test_each_unusable_row_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    vectors: list[Vector] = [
        [1.0, 1.0, 1.0],
        [1.0, 1.0, NAN],
        [1.0, INF, NAN],
        [-INF, 1.0, 1.0],
        [None, 1.0, 1.0],
        [0.0, -0.0, 0.0],
        [1.0, 1.0],
        [],
        None,
    ]
    path = vector_file(tmp_path / "x.duckdb", "FLOAT[]", vectors)
    with opened(path, recorded_dims=3) as namespace:
        rows = namespace.unusable_rows(100)
        assert namespace.unusable_rows(3) == rows[:3]
    assert [(row.id, row.reason, row.detail) for row in rows] == [
        ("r1", Unusable.NON_FINITE, "element 2 is NaN"),
        ("r2", Unusable.NON_FINITE, "element 1 is infinity, and 1 more are not finite"),
        ("r3", Unusable.NON_FINITE, "element 0 is -infinity"),
        ("r4", Unusable.NON_FINITE, "element 0 is NULL"),
        ("r5", Unusable.ZERO, "all 3 elements are 0"),
        ("r6", Unusable.WRONG_DIMS, "2 numbers instead of 3"),
        ("r7", Unusable.MISSING, "an empty vector"),
        ("r8", Unusable.MISSING, "no vector"),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_the_rows_named_are_the_rows_counted(tmp_path: Path, seed: int) -> None:
    vectors = faulty_vectors(random.Random(seed), 200, 12, lists=True, element="FLOAT")
    path = vector_file(tmp_path / "x.duckdb", "FLOAT[]", vectors)
    judged = judge(vectors, None)
    with opened(path) as namespace:
        named = {row.id: row.reason for row in namespace.unusable_rows(1_000)}
    for reason in Unusable:
        assert {id for id, why in named.items() if why is reason} == {f"r{n}" for n in getattr(judged, reason.value)}


def test_what_vectors_say_is_counted_by_model_and_length(tmp_path: Path) -> None:
    rows = [
        ("a", [1.0] * 3, "m"),
        ("b", [1.0] * 3, "m"),
        ("c", [1.0] * 2, "m"),
        ("d", [1.0] * 3, None),
        ("e", [1.0] * 3, ""),
        ("f", None, "m"),
        ("g", [], "m"),
    ]
    path = make_file(tmp_path / "x.duckdb", "CREATE TABLE t (id VARCHAR, e FLOAT[], model VARCHAR)", rows={"t": rows})
    with opened(path, model="model") as namespace:
        said = [(one.fingerprint, one.count) for one in namespace.fingerprints()]
    assert said == [("?@3", 2), ("m@3", 2), ("m@2", 1)]


def test_a_long_scan_reports_its_progress_and_stops_when_nobody_wants_it(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t AS SELECT i::VARCHAR AS id, [1.0, i]::FLOAT[2] AS e FROM range(300000) r(i)",
    )
    seen: list[tuple[int, int]] = []
    with opened(path, fixed_dims=2) as namespace:
        namespace.health(0, Job(lambda done, total: seen.append((done, total))))
        assert seen[0] == (0, 300_000)
        assert seen[-1] == (300_000, 300_000)
        assert len(seen) > 2
        job = Job()

        def give_up(done: int, total: int) -> None:
            if done:
                job.cancel()

        job = Job(give_up)
        with pytest.raises(Cancelled):
            namespace.health(0, job)


def test_holes_left_by_deletions_are_neither_counted_nor_scanned_for_ever(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t AS SELECT i::VARCHAR AS id, [1.0, i]::FLOAT[2] AS e FROM range(400000) r(i)",
        "DELETE FROM t WHERE id::BIGINT % 100000 <> 77",
    )
    with opened(path, fixed_dims=2) as namespace:
        assert namespace.health(0).count == 4
        assert [row.id for row in namespace.page(0, 10)] == ["77", "100077", "200077", "300077"]
        assert [row.id for row in namespace.page(2, 1)] == ["200077"]


def test_very_long_fixed_vectors_get_the_memory_that_reading_them_takes(tmp_path: Path) -> None:
    path = tmp_path / "wide.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE docs AS SELECT 'id' || i AS id, 'a text' AS text,"
            " list_transform(range(8192), lambda j: (i + j + 0.5) % 7)::DOUBLE[8192] AS embedding FROM range(2100) t(i)"
        )
    with open_duckdb_source(path) as source:
        (namespace,) = source.namespaces()
        health = namespace.health(0)
    assert (health.count, health.dims, health.unusable) == (2100, 8192, 0)
