"""Pages by key, single rows, and ids that stand twice."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from tests.index.made_tables import make_file, opened
from workbench.index.mapping import ModelColumn
from workbench.index.paging import PREVIEW_CHARS


def numbered(path: Path, rows: int, *more: str) -> Path:
    return make_file(
        path,
        f"CREATE TABLE t AS SELECT 'r' || i AS id, i AS seq, 'text ' || i AS text, [i, 1.0]::FLOAT[2] AS e"
        f" FROM range({rows}) r(i)",
        *more,
    )


def test_pages_follow_each_other_to_the_end_of_the_table(tmp_path: Path) -> None:
    with opened(numbered(tmp_path / "x.duckdb", 1_000), fixed_dims=2, text="text") as namespace:
        seen = [row for start in range(0, 1_100, 150) for row in namespace.page(start, 150)]
        assert [row.id for row in seen] == [f"r{n}" for n in range(1_000)]
        assert [row.position for row in seen] == list(range(1_000))
        assert namespace.page(1_000, 10) == ()
        assert namespace.page(5, 0) == ()


@pytest.mark.parametrize("order", ["rowid", "seq"])
def test_pages_of_a_table_with_holes_are_full(tmp_path: Path, order: str) -> None:
    random_ = random.Random(4)
    gone = sorted(random_.sample(range(1_000), 400))
    path = numbered(tmp_path / "x.duckdb", 1_000, f"DELETE FROM t WHERE seq IN ({', '.join(map(str, gone))})")
    left = [f"r{n}" for n in range(1_000) if n not in set(gone)]
    with opened(path, fixed_dims=2, order=order) as namespace:
        assert [row.id for start in range(0, 600, 77) for row in namespace.page(start, 77)] == left


def test_the_stored_order_is_followed_where_rows_lie_in_another(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t AS SELECT 'r' || i AS id, i AS seq, [1.0, 1.0]::FLOAT[2] AS e FROM range(100) r(i)"
        " ORDER BY hash(i)",
    )
    with opened(path, fixed_dims=2, order="seq") as namespace:
        assert [row.id for row in namespace.page(10, 3)] == ["r10", "r11", "r12"]


def test_a_row_shows_a_cut_text_and_never_more(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id BIGINT, text VARCHAR, e FLOAT[], model VARCHAR, source VARCHAR)",
        rows={
            "t": [
                (1, "\U0001f600" * 5_000, [1.0, 2.0, 2.0], "m@7", "a.md"),
                (2, None, None, "m@7", None),
                (3, "", [1.0], "?@7", None),
            ]
        },
    )
    parts = {"text": "text", "model": "model", "model_kind": ModelColumn.FINGERPRINT, "source": "source"}
    with opened(path, **parts) as namespace:
        first, second, third = namespace.page(0, 10)
        assert (first.id, first.preview, first.chars) == ("1", "\U0001f600" * PREVIEW_CHARS, 10_000)
        assert (first.fingerprint, first.dims, first.source) == ("m@3", 3, "a.md")
        assert (second.preview, second.chars, second.fingerprint, second.dims) == ("", None, None, None)
        assert (third.fingerprint, third.chars) == ("?@1", 0)
        chunk = namespace.chunk("1")
        assert chunk is not None
        assert (chunk.chars, chunk.norm, chunk.fingerprint) == (10_000, 3.0, "m@3")
        assert namespace.chunk("9") is None


def test_a_vector_is_given_as_it_is_stored(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id VARCHAR, e FLOAT[])",
        rows={"t": [("a", [0.1, None, math.inf]), ("b", None), ("c", []), ("a", [9.0])]},
    )
    with opened(path) as namespace:
        vector = namespace.vector("a")
        assert vector is not None
        assert vector.dtype == np.float64
        assert vector[0] == np.float32(0.1)
        assert math.isnan(vector[1])
        assert vector[2] == math.inf
        assert namespace.vector("b") is None
        assert namespace.vector("c") is None
        assert namespace.vector("?") is None
        chunk = namespace.chunk("a")
        assert chunk is not None
        assert (chunk.dims, chunk.norm) == (3, None)


def test_ids_that_stand_twice_are_counted_with_their_rows(tmp_path: Path) -> None:
    rows = [(id,) for id in ["a", "b", "a", "c", "b", "a", None, None, ""]]
    path = make_file(tmp_path / "x.duckdb", "CREATE TABLE t (id VARCHAR)", rows={"t": rows})
    with opened(path, vector=None) as namespace:
        found = namespace.duplicates()
        assert (found.ids, found.rows) == (2, 5)
    with opened(path, vector=None, id=None) as namespace:
        assert namespace.duplicates().ids == 0


def test_quotes_in_every_name_are_only_characters(tmp_path: Path) -> None:
    name = 'x"; DROP TABLE t; --'
    quoted = '"' + name.replace('"', '""') + '"'
    path = make_file(
        tmp_path / "x.duckdb",
        f"CREATE SCHEMA {quoted}",
        f'CREATE TABLE {quoted}.{quoted} ({quoted} VARCHAR, "e""" FLOAT[2], "te""xt" VARCHAR, "m\'""" VARCHAR)',
        f"INSERT INTO {quoted}.{quoted} VALUES ('a', [1, 2], 'abc', 'm'), ('b', NULL, 'abcdef', 'm')",
    )
    parts = {"schema": name, "table": name, "id": name, "vector": 'e"', "text": 'te"xt', "model": "m'\""}
    with opened(path, fixed_dims=2, **parts) as namespace:
        assert namespace.health(0).missing == 1
        assert [row.id for row in namespace.page(0, 5)] == ["a", "b"]
        assert [one.fingerprint for one in namespace.fingerprints()] == ["m@2"]
        assert [hit.id for hit in namespace.search(np.array([1.0, 2.0]), k=5, now_ms=0).hits] == ["a"]
        profile = namespace.lengths()
        assert profile is not None
        assert profile.clip(3).lost_chars == 3
        assert namespace.duplicates().ids == 0
        assert [row.id for row in namespace.unusable_rows(5)] == ["b"]
