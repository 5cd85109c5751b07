"""Chunks in any order and by any filter, against a pass over the same rows that shares no code with it."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pytest

from tests.checkup.agentfootprint_file import Index, Row
from tests.index.made_tables import make_file, opened
from workbench.core.job import Cancelled, Job
from workbench.index.adapters.agentfootprint import open_sqlite_source
from workbench.index.model import Namespace
from workbench.index.query import ListingQuery, SortBy

NEEDLES = (
    "",
    "a",
    "É",
    "é",
    "%",
    "_",
    "'",
    '"',
    "\\",
    "σ",
    "SS",
    "ß",
    "日本",
    "😀",
    "100%",
    "a_b",
    "(x|y)",
    ".",
    "nowhere",
)
PIECES = (
    "a",
    "A",
    "é",
    "É",
    "%",
    "_",
    "'",
    '"',
    "\\d",
    "Σ",
    "σ",
    "ς",
    "ss",
    "ß",
    "日本",
    "😀",
    "e\u0301",
    "(x|y)",
    " ",
    "\n",
)


@dataclass(frozen=True)
class Made:
    """One row as it was made, and where it stands in the source."""

    place: int
    id: str | None
    text: str | None
    model: str | None
    dims: int | None
    source: str | None

    @property
    def chars(self) -> int | None:
        return None if self.text is None else len(self.text.encode("utf-16-le", "surrogatepass")) // 2

    def holds(self, needle: str, shown: str) -> bool:
        return any(re.search(re.escape(needle), each, re.IGNORECASE) for each in (shown, self.text or ""))


def made_rows(seed: int, count: int) -> list[Made]:
    random_ = random.Random(seed)

    def words(most: int) -> str:
        return "".join(random_.choices(PIECES, k=random_.randint(0, most)))

    return [
        Made(
            place,
            random_.choice([None, f"r{place}", f"R{place % 7}", words(3) or "x"]),
            random_.choice([None, "", words(12), words(12), words(12)]),
            random_.choice([None, "m-a", "m-b", "M-a"]),
            random_.choice([None, 2, 2, 3]),
            random_.choice([None, "b.md", "a.md", "é.md", "Z.md"]),
        )
        for place in range(count)
    ]


def expected(rows: list[Made], query: ListingQuery, shown: dict[int, str]) -> list[int]:
    """Give the places of the rows that a query asks for, in its order."""
    kept = [row for row in rows if query.min_chars is None or (row.chars or 0) > query.min_chars]
    kept = [row for row in kept if not query.contains or row.holds(query.contains, shown[row.place])]

    def value(row: Made) -> tuple[object, ...] | None:
        if query.sort is SortBy.FINGERPRINT:
            return None if row.dims is None else ((row.model or "").encode(), row.dims)
        found = {SortBy.ID: row.id, SortBy.CHARS: row.chars, SortBy.SOURCE: row.source}[query.sort]
        if found is None:
            return None
        return (found.encode() if isinstance(found, str) else found,)

    if query.sort is SortBy.STORED:
        return [row.place for row in (reversed(kept) if query.descending else kept)]
    known = sorted((row for row in kept if value(row) is not None), key=value, reverse=False)  # type: ignore[arg-type]
    if query.descending:
        # Equal ones stay as they are stored: the sort is stable over the reversed list, read backwards.
        known = sorted((row for row in reversed(kept) if value(row) is not None), key=value)[::-1]  # type: ignore[arg-type]
    return [row.place for row in [*known, *(row for row in kept if value(row) is None)]]


TABLE = 'we"ird? %s table'


def table_of(path: Path, rows: list[Made]) -> Path:
    name = TABLE.replace('"', '""')
    made = [
        (row.place, row.id, row.text, row.model, None if row.dims is None else [1.0] * row.dims, row.source)
        for row in rows
    ]
    return make_file(
        path,
        f'CREATE TABLE "{name}" (place BIGINT, "I? d" VARCHAR, "te""xt" VARCHAR, "mo del" VARCHAR, e FLOAT[],'
        ' "sour%ce" VARCHAR)',
        rows={f'"{name}"': made},
    )


COLUMNS = {"table": TABLE, "id": "I? d", "text": 'te"xt', "model": "mo del", "source": "sour%ce"}


def queries(seed: int) -> list[ListingQuery]:
    random_ = random.Random(seed)
    every = [ListingQuery(sort, descending) for sort in SortBy for descending in (False, True)]
    return every + [
        ListingQuery(random_.choice(list(SortBy)), random_.random() < 0.5, needle, random_.choice([None, None, 3]))
        for needle in NEEDLES
    ]


def all_ids(namespace: Namespace, query: ListingQuery) -> list[str]:
    listing = namespace.listing(query)
    found = [row for start in range(0, listing.total, 7) for row in listing.page(start, 7)]
    assert [row.position for row in found] == list(range(listing.total))
    assert listing.page(listing.total, 5) == ()
    return [row.id for row in found]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", ["rowid", "place"])
def test_any_query_over_a_table_gives_what_a_pass_over_its_rows_gives(tmp_path: Path, seed: int, order: str) -> None:
    rows = made_rows(seed, 60)
    path = table_of(tmp_path / "x.duckdb", rows)
    with opened(path, order=order, **COLUMNS) as namespace:
        shown = {row.place: row.id if row.id is not None else f"rowid={row.place}" for row in rows}
        for query in queries(seed):
            assert all_ids(namespace, query) == [shown[place] for place in expected(rows, query, shown)], query


@pytest.mark.parametrize("seed", range(2))
def test_the_shown_statement_gives_the_same_rows_in_a_shell(tmp_path: Path, seed: int) -> None:
    rows = made_rows(seed, 60)
    path = table_of(tmp_path / "x.duckdb", rows)
    with opened(path, **COLUMNS) as namespace:
        asked = [(query, all_ids(namespace, query), namespace.listing(query).sql) for query in queries(seed)]
    with duckdb.connect() as shell:
        shell.execute(f"ATTACH '{path}' AS ix (READ_ONLY)")
        for query, ids, statement in asked:
            assert [row[0] for row in shell.execute(statement).fetchall()] == ids, query


def seed_file(path: Path, rows: list[Made]) -> Path:
    """Write rows as the seed library does; a row without text has another JSON value."""
    made = [
        Row(
            str(row.id),
            vector=[1.0] * row.dims if row.dims else None,
            namespace=SPACE,
            value=json.dumps({"content": row.text}) if row.text is not None else "[1]",
            fingerprint=f"{row.model}@9" if row.model is not None else None,
            source_uri=row.source,
        )
        for row in rows
    ]
    return Index(rows=made).write(path)


SPACE = "n?s'"


def with_own_ids(seed: int) -> list[Made]:
    """Make rows with an id each, none of them twice, as the seed's key demands."""
    rows = [row for row in made_rows(seed, 60) if row.id is not None]
    return [replace(row, place=place, id=f"{row.id}/{place}") for place, row in enumerate(rows)]


@pytest.mark.parametrize("seed", range(3))
def test_any_query_over_the_seed_librarys_file_gives_what_a_pass_over_its_rows_gives(tmp_path: Path, seed: int) -> None:
    rows = with_own_ids(seed)
    shown = {row.place: str(row.id) for row in rows}
    with open_sqlite_source(seed_file(tmp_path / "x.db", rows)) as source:
        (namespace,) = source.namespaces()
        for query in queries(seed):
            assert all_ids(namespace, query) == [shown[place] for place in expected(rows, query, shown)], query
        listing = namespace.listing(ListingQuery(SortBy.SOURCE))
        assert listing.position_of(shown[3]) == all_ids(namespace, listing.query).index(shown[3])
        assert listing.position_of("nowhere") is None
        chunk = listing.chunk(0)
        assert chunk is not None
        assert chunk.id == listing.page(0, 1)[0].id


def test_the_statement_for_the_seed_librarys_file_gives_the_same_rows_in_a_shell(tmp_path: Path) -> None:
    rows = with_own_ids(5)
    path = seed_file(tmp_path / "x.db", rows)
    with open_sqlite_source(path) as source:
        (namespace,) = source.namespaces()
        asked = [(query, all_ids(namespace, query), namespace.listing(query).sql) for query in queries(5)]
    columns = "namespace, id, value, source_uri, embedder_fp, embedding"
    stored = sqlite3.connect(path).execute(f"SELECT {columns} FROM af_vectors ORDER BY rowid").fetchall()
    with duckdb.connect() as shell:
        # The same table under the same name, as the extension that reads SQLite files would show it.
        shell.execute("ATTACH ':memory:' AS ix")
        shell.execute(
            "CREATE TABLE ix.main.af_vectors (namespace VARCHAR, id VARCHAR, value VARCHAR, source_uri VARCHAR,"
            " embedder_fp VARCHAR, embedding BLOB)"
        )
        shell.executemany("INSERT INTO ix.main.af_vectors VALUES (?, ?, ?, ?, ?, ?)", stored)
        for query, ids, statement in asked:
            assert [row[0] for row in shell.execute(statement).fetchall()] == ids, query


def test_a_row_is_found_by_its_id_in_every_order_and_not_where_it_is_filtered_out(tmp_path: Path) -> None:
    rows = made_rows(9, 50)
    with opened(table_of(tmp_path / "x.duckdb", rows), **COLUMNS) as namespace:
        for query in (ListingQuery(), ListingQuery(SortBy.CHARS, True), ListingQuery(contains="é")):
            ids = all_ids(namespace, query)
            listing = namespace.listing(query)
            for id in {*ids, "rowid=3", "no such id"}:
                assert listing.position_of(id) == (ids.index(id) if id in ids else None)


def test_a_row_is_opened_itself_where_its_id_stands_twice(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id VARCHAR, text VARCHAR, e FLOAT[])",
        rows={"t": [("same", "first", [1.0]), ("same", "second", [3.0, 4.0]), (None, "third", None)]},
    )
    with opened(path, text="text") as namespace:
        for query in (ListingQuery(), ListingQuery(SortBy.CHARS)):
            listing = namespace.listing(query)
            found = {chunk.text: chunk.norm for at in range(3) if (chunk := listing.chunk(at)) is not None}
            assert found == {"first": 1.0, "second": 5.0, "third": None}
            assert listing.chunk(3) is None
            assert listing.chunk(-1) is None


def test_ids_that_are_numbers_are_sorted_as_numbers(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id BIGINT, e FLOAT[])",
        rows={"t": [(10, None), (9, None), (100, None), (None, None)]},
    )
    with opened(path) as namespace:
        assert all_ids(namespace, ListingQuery(SortBy.ID)) == ["9", "10", "100", "rowid=3"]


def test_only_what_the_table_has_can_be_sorted_by(tmp_path: Path) -> None:
    path = make_file(tmp_path / "x.duckdb", "CREATE TABLE t (id VARCHAR, e FLOAT[])")
    with opened(path) as namespace:
        assert namespace.sortable == (SortBy.STORED, SortBy.ID, SortBy.FINGERPRINT)
        assert namespace.listing(ListingQuery()).total == 0
        with pytest.raises(ValueError, match="cannot be sorted by source"):
            namespace.listing(ListingQuery(SortBy.SOURCE))


def test_stored_counts_that_lie_are_not_sorted_by(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id VARCHAR, text VARCHAR, n BIGINT, e FLOAT[])",
        rows={"t": [("short", "x", 900, None), ("long", "x" * 50, 1, None)]},
    )
    with opened(path, text="text", char_count="n") as namespace:
        assert all_ids(namespace, ListingQuery(SortBy.CHARS, True)) == ["long", "short"]
        assert all_ids(namespace, ListingQuery(min_chars=10)) == ["long"]


def test_how_many_match_so_far_is_told_and_grows(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t AS SELECT 'r' || i AS id, NULL::FLOAT[] AS e FROM range(200_000) r(i)",
    )
    with opened(path) as namespace:
        counts: list[int] = []
        listing = namespace.listing(ListingQuery(contains="r1"), found=counts.append)
        assert counts == sorted(counts)
        assert len(counts) > 2
        assert counts[-1] == listing.total == sum(str(i).startswith("1") for i in range(200_000))


def test_a_search_that_is_given_up_ends_and_the_next_one_works(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t AS SELECT 'r' || i AS id, repeat('lorem ipsum ', 40) || i AS text, NULL::FLOAT[] AS e"
        " FROM range(150_000) r(i)",
    )
    with opened(path, text="text") as namespace:
        job, begun, ended = Job(), threading.Event(), threading.Event()

        def work() -> None:
            with pytest.raises(Cancelled):
                namespace.listing(ListingQuery(contains="zzz"), job, lambda count: begun.set())
            ended.set()

        thread = threading.Thread(target=work)
        thread.start()
        assert begun.wait(10)
        job.cancel()
        thread.join(5)
        assert ended.is_set()
        assert namespace.listing(ListingQuery(contains="ipsum 149999")).total == 1


def test_a_text_is_searched_to_its_end_and_not_only_where_it_is_shown(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id VARCHAR, text VARCHAR, e FLOAT[])",
        rows={"t": [("a", "x" * 90_000 + " Behind The Cut", None), ("b", "x", None)]},
    )
    with opened(path, text="text") as namespace:
        assert all_ids(namespace, ListingQuery(contains="behind the cut")) == ["a"]
