"""The chunks of a table in any order and by any filter: the row numbers are found once, pages are read by them.

A listing keeps eight bytes a row, made by the thread that asked for it. No page is ever reached by counting rows from
the start, so the last one costs what the first one does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from workbench.index.expressions import ROW, Expressions
from workbench.index.lengths import stored_counts_hold
from workbench.index.paging import PageKeys, page_keys, read_chunk_at, read_page, read_rows, rows_with_id
from workbench.index.query import ListingQuery, SortBy
from workbench.index.ranges import row_ranges
from workbench.index.sql import literal, quoted

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import duckdb
    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.index.mapping import TableMapping
    from workbench.index.model import Chunk, ChunkRow

_STEP = 61_440
"""Rows that are searched between two reports of how many match."""

_ORDERS_KEPT = 2


class Attached(Protocol):
    """What a listing needs of an opened file (index/attachment.py)."""

    def cursor(self, job: Job | None = None) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Lend a cursor that sees the file as ``ix``."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The parts of a listing as SQL; what a user typed is written by ``value``, bound or as a literal.

    ``chars`` is the expression for the length: a stored count where those can be believed, else from the text.
    """

    sql: Expressions
    query: ListingQuery
    chars: str

    def conditions(self, value: Callable[[str], str]) -> list[str]:
        """Give what a row must fulfil, in the order in which values are bound."""
        found: list[str] = []
        if self.query.min_chars is not None:
            found.append(f"{self.chars} > {int(self.query.min_chars)}")
        if self.query.contains:
            columns = [self.sql.id, *([self.sql.text] if self.sql.mapping.text is not None else [])]
            # Option l: what is typed is no pattern, so no character of it means anything else than itself.
            matches = [f"regexp_matches({column}, {value(self.query.contains)}, 'il')" for column in columns]
            found.append(f"({' OR '.join(matches)})")
        return found

    @property
    def order(self) -> str:
        """Give the terms after ORDER BY."""
        way = "DESC" if self.query.descending else "ASC"
        stored = f"{self.sql.order}, {ROW}" if self.sql.order != quoted(ROW) else ROW
        if self.query.sort is SortBy.STORED:
            return f"{self.sql.order} {way}, {ROW} {way}" if self.sql.order != quoted(ROW) else f"{ROW} {way}"
        terms = ", ".join(f"{term} {way} NULLS LAST" for term in self._terms)
        return f"{terms}, {stored}"

    @property
    def _terms(self) -> tuple[str, ...]:
        mapping = self.sql.mapping
        if self.query.sort is SortBy.ID:
            return (quoted(mapping.id) if mapping.id is not None else ROW,)
        if self.query.sort is SortBy.CHARS:
            return (self.chars,)
        if self.query.sort is SortBy.SOURCE:
            return (self.sql.optional(mapping.source),)
        has = f"{self.sql.length} > 0"
        return (
            f"CASE WHEN {has} THEN coalesce({self.sql.model}, '') END",
            f"CASE WHEN {has} THEN {self.sql.length} END",
        )

    @property
    def shown(self) -> str:
        """The whole statement for a shell, every value as a literal."""
        mapping = self.sql.mapping
        columns = {
            "id": self.sql.id,
            "chars": self.sql.chars,
            "model": self.sql.model,
            "dims": f"nullif({self.sql.length}, 0)",
            "source": self.sql.optional(mapping.source) if mapping.source is not None else None,
            "text": self.sql.text if mapping.text is not None else None,
        }
        select = ",\n       ".join(f"{what} AS {name}" for name, what in columns.items() if what is not None)
        where = "\n  AND ".join(self.conditions(literal))
        return (
            f"SELECT {select}\nFROM {self.sql.table}\n"
            + (f"WHERE {where}\n" if where else "")
            + f"ORDER BY {self.order};"
        )


class TableListing:
    """Implements model.Listing over one table. ``rows`` are row numbers in order; None for all as they are stored."""

    def __init__(
        self,
        attachment: Attached,
        mapping: TableMapping,
        statement: Statement,
        keys: PageKeys,
        rows: NDArray[np.int64] | None,
    ) -> None:
        self.query = statement.query
        self.sql = statement.shown
        self._attachment = attachment
        self._mapping = mapping
        self._keys = keys
        self._rows = rows

    @property
    def total(self) -> int:
        """How many rows there are."""
        return self._keys.count if self._rows is None else self._rows.size

    def page(self, start: int, limit: int, job: Job | None = None) -> tuple[ChunkRow, ...]:
        """Rows ``start`` (from 0) and following."""
        with self._attachment.cursor(job) as cursor:
            if self._rows is None:
                return read_page(cursor, self._mapping, self._keys, start, limit)
            start = max(start, 0)
            return read_rows(cursor, self._mapping, self._rows[start : start + max(limit, 0)].tolist(), start)

    def position_of(self, id: str, job: Job | None = None) -> int | None:
        """Give the first row with exactly this id."""
        with self._attachment.cursor(job) as cursor:
            carriers = rows_with_id(cursor, self._mapping, id)
            if not carriers:
                return None
            if self._rows is not None:
                places = np.flatnonzero(np.isin(self._rows, carriers))
                return int(places[0]) if places.size else None
            return self._place_of(cursor, carriers[0])

    def _place_of(self, cursor: duckdb.DuckDBPyConnection, rowid: int) -> int | None:
        sql = Expressions(self._mapping)
        found = cursor.execute(f"SELECT {sql.order}::BIGINT FROM {sql.table} WHERE {ROW} = ?", [rowid]).fetchone()
        return self._keys.place(int(found[0])) if found is not None and found[0] is not None else None

    def chunk(self, position: int, job: Job | None = None) -> Chunk | None:
        """Give the chunk of one row whole."""
        if not 0 <= position < self.total:
            return None
        with self._attachment.cursor(job) as cursor:
            if self._rows is not None:
                return read_chunk_at(cursor, self._mapping, int(self._rows[position]))
            bounds = self._keys.bounds(position, 1)
            sql = Expressions(self._mapping)
            found = cursor.execute(
                f"SELECT {ROW} FROM {sql.table} WHERE {sql.order} = ? ORDER BY {ROW} LIMIT 1",
                bounds[:1] if bounds else [],
            ).fetchone()
            return read_chunk_at(cursor, self._mapping, int(found[0])) if found is not None else None


class TableListings:
    """Makes the listings of one table. Orders and the last filter are kept, so that typing on costs only the search."""

    def __init__(self, attachment: Attached, mapping: TableMapping) -> None:
        self._attachment = attachment
        self._mapping = mapping
        self._lock = threading.Lock()
        self._keys: PageKeys | None = None
        self._chars: str | None = None
        self._orders: dict[tuple[SortBy, bool], NDArray[np.int64]] = {}
        self._matched: tuple[tuple[str, int | None], NDArray[np.int64]] | None = None

    @property
    def sortable(self) -> tuple[SortBy, ...]:
        """What the table has a column for."""
        mapping = self._mapping
        there = {
            SortBy.STORED: True,
            SortBy.ID: True,
            SortBy.CHARS: mapping.text is not None,
            SortBy.FINGERPRINT: mapping.vector is not None,
            SortBy.SOURCE: mapping.source is not None,
        }
        return tuple(sort for sort, has in there.items() if has)

    def page_keys(self, cursor: duckdb.DuckDBPyConnection) -> PageKeys:
        """Find out once how the paging key is laid out."""
        if self._keys is None:
            self._keys = page_keys(cursor, self._mapping)
        return self._keys

    def make(
        self, query: ListingQuery, job: Job | None = None, found: Callable[[int], None] | None = None
    ) -> TableListing:
        """Count and order the rows that a query asks for.

        Raises:
            ValueError: the table has no column for what is to be sorted by.
        """
        if query.sort not in self.sortable:
            raise ValueError(f"the chunks of {self._mapping.namespace} cannot be sorted by {query.sort}")
        with self._attachment.cursor(job) as cursor:
            keys = self.page_keys(cursor)
            statement = Statement(Expressions(self._mapping), query, self._length(cursor))
            rows: NDArray[np.int64] | None = None
            if query.sort is not SortBy.STORED or query.descending:
                rows = self._ordered(cursor, statement)
            if query.contains or query.min_chars is not None:
                matched = self._matching(cursor, statement, job, found)
                rows = self._stored(cursor, matched) if rows is None else rows[np.isin(rows, matched)]
        return TableListing(self._attachment, self._mapping, statement, keys, rows)

    def _length(self, cursor: duckdb.DuckDBPyConnection) -> str:
        """Give the expression for the length that needs no text where stored counts can be believed."""
        if self._chars is None:
            sql = Expressions(self._mapping)
            stored = self._mapping.char_count
            trusted = stored is not None and stored_counts_hold(cursor, self._mapping)
            self._chars = quoted(stored) if trusted and stored is not None else sql.chars
        return self._chars

    def _ordered(self, cursor: duckdb.DuckDBPyConnection, statement: Statement) -> NDArray[np.int64]:
        """Give all row numbers in the order of the statement."""
        which = (statement.query.sort, statement.query.descending)
        with self._lock:
            kept = self._orders.get(which)
        if kept is None:
            kept = _numbers(cursor, f"SELECT {ROW} AS k FROM {statement.sql.table} ORDER BY {statement.order}")
            with self._lock:
                self._orders[which] = kept
                while len(self._orders) > _ORDERS_KEPT:
                    del self._orders[next(iter(self._orders))]
        return kept

    def _matching(
        self,
        cursor: duckdb.DuckDBPyConnection,
        statement: Statement,
        job: Job | None,
        found: Callable[[int], None] | None,
    ) -> NDArray[np.int64]:
        """Give the row numbers that fulfil the conditions, range by range, in no order that is relied on."""
        which = (statement.query.contains, statement.query.min_chars)
        with self._lock:
            kept = self._matched
        if kept is not None and kept[0] == which:
            return kept[1]
        values: list[str] = []

        def bound(typed: str) -> str:
            values.append(typed)
            return "?"

        where = " AND ".join(statement.conditions(bound))
        parts: list[NDArray[np.int64]] = []
        count = 0
        for these in row_ranges(cursor, statement.sql.table, job, step=_STEP):
            part = _numbers(cursor, f"SELECT {ROW} AS k FROM {statement.sql.table} WHERE {these} AND {where}", values)
            parts.append(part)
            count += part.size
            if found is not None:
                found(count)
        matched = np.concatenate(parts) if parts else np.empty(0, np.int64)
        with self._lock:
            self._matched = (which, matched)
        return matched

    def _stored(self, cursor: duckdb.DuckDBPyConnection, matched: NDArray[np.int64]) -> NDArray[np.int64]:
        """Put row numbers into the order of the source."""
        sql = Expressions(self._mapping)
        if sql.order == quoted(ROW):
            return np.sort(matched)
        everything = self._ordered(cursor, Statement(sql, ListingQuery(), "NULL"))
        return everything[np.isin(everything, matched)]


def _numbers(cursor: duckdb.DuckDBPyConnection, statement: str, values: list[str] | None = None) -> NDArray[np.int64]:
    return np.ma.getdata(cursor.execute(statement, values or []).fetchnumpy()["k"]).astype(np.int64, copy=False)
