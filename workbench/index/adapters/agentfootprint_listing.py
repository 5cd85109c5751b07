"""The chunks of one namespace of the seed library's SQLite file in any order and by any filter.

SQLite sorts by functions of ours, since what a row says stands inside its JSON value; rows are read by rowid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from workbench.core.fingerprint import parse_fingerprint
from workbench.core.text import utf16_length
from workbench.index.query import ListingQuery, SortBy
from workbench.index.sql import literal
from workbench.index.sql import utf16_length as utf16_length_sql

if TYPE_CHECKING:
    import sqlite3

    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.index.model import Chunk, ChunkRow

_STEP = 2_000

SORTABLE = (SortBy.STORED, SortBy.ID, SortBy.CHARS, SortBy.FINGERPRINT, SortBy.SOURCE)


class Rows(Protocol):
    """What a listing needs of its namespace."""

    def rows_at(self, rowids: Sequence[int], start: int, job: Job | None) -> tuple[ChunkRow, ...]:
        """Read rows in the order given, the first as row ``start``."""

    def chunk_at(self, rowid: int, job: Job | None) -> Chunk | None:
        """Read one row whole."""

    def rowids_with(self, id: str, job: Job | None) -> list[int]:
        """Find the rows that carry an id."""


class RowListing:
    """Implements model.Listing: the rowids in order, eight bytes a row."""

    def __init__(self, rows: Rows, query: ListingQuery, sql: str, rowids: NDArray[np.int64]) -> None:
        self.query = query
        self.sql = sql
        self._rows = rows
        self._rowids = rowids

    @property
    def total(self) -> int:
        """How many rows there are."""
        return int(self._rowids.size)

    def page(self, start: int, limit: int, job: Job | None = None) -> tuple[ChunkRow, ...]:
        """Rows ``start`` (from 0) and following."""
        start = max(start, 0)
        return self._rows.rows_at(self._rowids[start : start + max(limit, 0)].tolist(), start, job)

    def position_of(self, id: str, job: Job | None = None) -> int | None:
        """Give the first row with exactly this id."""
        places = np.flatnonzero(np.isin(self._rowids, self._rows.rowids_with(id, job)))
        return int(places[0]) if places.size else None

    def chunk(self, position: int, job: Job | None = None) -> Chunk | None:
        """Give the chunk of one row whole."""
        if not 0 <= position < self.total:
            return None
        return self._rows.chunk_at(int(self._rowids[position]), job)


class StoredFields(Protocol):
    """What the JSON value of a row says (agentfootprint_rows.StoredValue)."""

    @property
    def text(self) -> str | None:
        """The chunk's text."""

    @property
    def source(self) -> str | None:
        """Where it came from."""


def find_rows(
    connection: sqlite3.Connection,
    key: str | bytes,
    query: ListingQuery,
    read: Callable[[object], StoredFields],
    checked: Callable[[int], None],
) -> NDArray[np.int64]:
    """Give the rowids that a query asks for, in its order; ``checked`` is told how many were found, step by step."""

    def told(value: object) -> StoredFields:
        return read(value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value)

    def chars(value: object) -> int | None:
        text = told(value).text
        return None if text is None else utf16_length(text)

    def source(value: object, column: bytes | None) -> bytes | None:
        return column if column is not None else _bytes(told(value).source)

    def model(stored: object) -> bytes | None:
        return _bytes(parse_fingerprint(_text(stored)).id or "") if stored is not None else b""

    connection.create_function("wb_chars", 1, chars, deterministic=True)
    connection.create_function("wb_source", 2, source, deterministic=True)
    connection.create_function("wb_model", 1, model, deterministic=True)
    way = "DESC" if query.descending else "ASC"
    order = ", ".join([*(f"{term} {way} NULLS LAST" for term in _TERMS[query.sort]), "rowid"])
    if query.sort is SortBy.STORED:
        order = f"rowid {way}"
    fits = _filter(query, told)
    rows: Iterator[tuple[Any, ...]] = connection.execute(
        f"SELECT rowid, CAST(id AS BLOB), {'value' if fits else 'NULL'} FROM af_vectors"
        f" WHERE namespace = CAST(? AS TEXT) ORDER BY {order}",
        (key,),
    )
    found: list[NDArray[np.int64]] = []
    count = 0
    while step := list(islice(rows, _STEP)):
        these = [rowid for rowid, id, value in step if fits is None or fits(_text(id), value)]
        found.append(np.array(these, np.int64))
        count += len(these)
        checked(count)
    return np.concatenate(found) if found else np.empty(0, np.int64)


_BLOB = "CAST(embedding AS BLOB)"
_TERMS = {
    SortBy.STORED: (),
    SortBy.ID: ("CAST(id AS BLOB)",),
    SortBy.CHARS: ("wb_chars(CAST(value AS BLOB))",),
    SortBy.SOURCE: ("wb_source(CAST(value AS BLOB), CAST(source_uri AS BLOB))",),
    SortBy.FINGERPRINT: (
        f"CASE WHEN length({_BLOB}) >= 4 THEN wb_model(CAST(embedder_fp AS BLOB)) END",
        f"CASE WHEN length({_BLOB}) >= 4 THEN length({_BLOB}) / 4 END",
    ),
}


def _filter(query: ListingQuery, told: Callable[[object], StoredFields]) -> Callable[[str, object], bool] | None:
    if not query.contains and query.min_chars is None:
        return None
    pattern = re.compile(re.escape(query.contains), re.IGNORECASE)

    def fits(id: str, value: object) -> bool:
        text = told(value).text or ""
        if query.min_chars is not None and utf16_length(text) <= query.min_chars:
            return False
        return pattern.search(id) is not None or pattern.search(text) is not None

    return fits


def _text(raw: object) -> str:
    return raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else str(raw)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def shown_sql(name: str, query: ListingQuery) -> str:
    """Give the same rows as a statement for a DuckDB shell that has the SQLite file attached as ``ix``."""
    content, text = (
        f"CASE WHEN json_valid(value) AND json_type(value, '$.{key}') = 'VARCHAR'"
        f" THEN json_extract_string(value, '$.{key}') END"
        for key in ("content", "text")
    )
    where = [f"namespace = {literal(name)}"]
    if query.min_chars is not None:
        where.append(f"chars > {int(query.min_chars)}")
    if query.contains:
        typed = literal(query.contains)
        where.append(f"(regexp_matches(id, {typed}, 'il') OR regexp_matches(text, {typed}, 'il'))")
    way = "DESC" if query.descending else "ASC"
    terms = {
        SortBy.STORED: [],
        SortBy.ID: ["id"],
        SortBy.CHARS: ["chars"],
        SortBy.SOURCE: ["source"],
        SortBy.FINGERPRINT: [
            "CASE WHEN dims IS NOT NULL THEN coalesce(nullif(regexp_extract(model, '(.*)@', 1, 's'), '?'), '') END",
            "dims",
        ],
    }[query.sort]
    order = ", ".join([*(f"{term} {way} NULLS LAST" for term in terms), f"rowid {way if not terms else 'ASC'}"])
    return (
        f"WITH told AS (\n  SELECT rowid, namespace, id, coalesce({content}, {text}) AS text,\n"
        "         coalesce(source_uri, json_extract_string(CASE WHEN json_valid(value) THEN value END, '$.docUri'))"
        " AS source,\n"
        "         embedder_fp AS model, nullif(octet_length(embedding) // 4, 0) AS dims\n"
        "  FROM ix.main.af_vectors),\n"
        f"measured AS (SELECT *, {utf16_length_sql('text')} AS chars FROM told)\n"
        f"SELECT id, chars, model, dims, source, text\nFROM measured\nWHERE {(chr(10) + '  AND ').join(where)}\n"
        f"ORDER BY {order};"
    )
