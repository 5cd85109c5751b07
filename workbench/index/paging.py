"""Pages of rows and single rows of one table, at a cost that does not grow with the place in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.fingerprint import Fingerprint, fingerprint_text, parse_fingerprint
from workbench.index.expressions import ROW, Expressions
from workbench.index.mapping import ModelColumn, TableMapping
from workbench.index.model import Chunk, ChunkRow

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

PREVIEW_CHARS = 200
"""Code points of a text that a list may show."""


@dataclass(frozen=True, slots=True)
class PageKeys:
    """Where row ``n`` of the source stands: by arithmetic where the keys have no holes, else by a sorted list.

    Attributes:
        count: all rows.
        first: the smallest key.
        keys: all keys, ascending, eight bytes a row; None when ``first + n`` is the key of row ``n``.
    """

    count: int
    first: int
    keys: NDArray[np.int64] | None

    def bounds(self, start: int, limit: int) -> tuple[int, int] | None:
        """Return the smallest and largest key of rows ``start`` and following; None when there are none."""
        start, end = max(start, 0), min(start + limit, self.count)
        if start >= end:
            return None
        if self.keys is None:
            return self.first + start, self.first + end - 1
        return int(self.keys[start]), int(self.keys[end - 1])

    def place(self, key: int) -> int | None:
        """Return the row that has a key; None when there is none."""
        if self.keys is None:
            place = key - self.first
        else:
            place = int(np.searchsorted(self.keys, key))
            if place < self.count and int(self.keys[place]) != key:
                return None
        return place if 0 <= place < self.count else None


def page_keys(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> PageKeys:
    """Find out how the paging key of a table is laid out."""
    sql = Expressions(mapping)
    count, keyed, first, last = cursor.execute(
        f"SELECT count(*), count({sql.order}), min({sql.order})::BIGINT, max({sql.order})::BIGINT FROM {sql.table}"
    ).fetchone() or (0, 0, None, None)
    if not count or first is None:
        return PageKeys(0, 0, None)
    if keyed == count and last - first + 1 == count:
        return PageKeys(count, first, None)
    read = cursor.execute(
        f"SELECT {sql.order}::BIGINT AS k FROM {sql.table} WHERE {sql.order} IS NOT NULL"
    ).fetchnumpy()["k"]
    keys = np.sort(np.ma.getdata(read))
    return PageKeys(keys.size, first, keys)


def row_fingerprint(mapping: TableMapping, model: str | None, length: int) -> str:
    """Write what one vector of this length says of its maker; ``?@<length>`` when the row names none."""
    id = model or None
    if model is not None and mapping.model_kind is ModelColumn.FINGERPRINT:
        id = parse_fingerprint(model).id
    return fingerprint_text(Fingerprint(id, length))


def read_page(
    cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, keys: PageKeys, start: int, limit: int
) -> tuple[ChunkRow, ...]:
    """Read rows ``start`` (from 0) and following in the order of the source; texts are cut before they leave DuckDB."""
    bounds = keys.bounds(start, limit)
    if bounds is None:
        return ()
    sql = Expressions(mapping)
    found = cursor.execute(
        f"SELECT {_row_columns(sql)} FROM {sql.table} WHERE {sql.order} BETWEEN ? AND ? ORDER BY {sql.order} LIMIT ?",
        [*bounds, limit],
    ).fetchall()
    return tuple(_chunk_row(mapping, max(start, 0) + place, *row) for place, (_, *row) in enumerate(found))


def read_rows(
    cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, rowids: Sequence[int], start: int
) -> tuple[ChunkRow, ...]:
    """Read rows by row number, in the order given; the first of them is row ``start`` of what the caller shows."""
    sql = Expressions(mapping)
    found = cursor.execute(
        f"SELECT {_row_columns(sql)} FROM {sql.table} WHERE {ROW} IN (SELECT unnest(?::BIGINT[]))", [list(rowids)]
    ).fetchall()
    rows = {rowid: row for rowid, *row in found}
    return tuple(
        _chunk_row(mapping, start + place, *rows[rowid]) for place, rowid in enumerate(rowids) if rowid in rows
    )


def _row_columns(sql: Expressions) -> str:
    return (
        f"{ROW}, {sql.id}, {sql.chars}, coalesce(left({sql.text}, {PREVIEW_CHARS}), ''), {sql.model}, {sql.length},"
        f" {sql.optional(sql.mapping.source)}"
    )


def _chunk_row(
    mapping: TableMapping,
    position: int,
    id: str,
    chars: int | None,
    preview: str,
    model: str | None,
    length: int,
    source: str | None,
) -> ChunkRow:
    return ChunkRow(
        position=position,
        id=id,
        chars=chars,
        preview=preview,
        fingerprint=row_fingerprint(mapping, model, length) if length else None,
        dims=length or None,
        source=source,
    )


def rows_with_id(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, id: str) -> list[int]:
    """Find the row numbers that carry an id, in the order of the source."""
    sql = Expressions(mapping)
    found = cursor.execute(f"SELECT {ROW} FROM {sql.table} WHERE {sql.id} = ? ORDER BY {sql.order}, {ROW}", [id])
    return [int(rowid) for (rowid,) in found.fetchall()]


def read_chunk(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, id: str) -> Chunk | None:
    """Read one chunk whole; the first in the order of the source when several carry the id."""
    rows = rows_with_id(cursor, mapping, id)
    return read_chunk_at(cursor, mapping, rows[0]) if rows else None


def read_chunk_at(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, rowid: int) -> Chunk | None:
    """Read the chunk of one row whole; None when the row is gone."""
    sql = Expressions(mapping)
    row = cursor.execute(
        f"SELECT {sql.id}, {sql.text}, {sql.chars}, {sql.optional(mapping.metadata)}, {sql.model},"
        f" {sql.optional(mapping.source)} FROM {sql.table} WHERE {ROW} = ?",
        [rowid],
    ).fetchone()
    if row is None:
        return None
    id, text, chars, metadata, model, source = row
    vector = None if mapping.vector is None else _read_vector(cursor, sql, f"{ROW} = ?", rowid)
    length = 0 if vector is None else vector.size
    return Chunk(
        id=id,
        text=text,
        chars=chars,
        metadata=metadata,
        fingerprint=row_fingerprint(mapping, model, length) if length else None,
        dims=length or None,
        norm=_norm(vector) if vector is not None else None,
        source=source,
    )


def read_vector(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, id: str) -> NDArray[np.float64] | None:
    """Read the vector of one chunk, shape (length,), NULL elements as NaN; None when it has none or is empty."""
    if mapping.vector is None:
        return None
    sql = Expressions(mapping)
    first = f"{sql.order} = (SELECT min({sql.order}) FROM {sql.table} WHERE {sql.id} = ?)"
    return _read_vector(cursor, sql, first, id)


def _read_vector(
    cursor: duckdb.DuckDBPyConnection, sql: Expressions, where: str, value: object
) -> NDArray[np.float64] | None:
    found = cursor.execute(
        f"SELECT {sql.vector}::DOUBLE[] AS v FROM {sql.table} WHERE {sql.length} > 0 AND {where}", [value]
    ).fetchnumpy()["v"]
    if not len(found):
        return None
    return np.ma.filled(np.ma.asarray(found[0], dtype=np.float64), np.nan)


def _norm(vector: NDArray[np.float64]) -> float | None:
    """Compute the L2 norm, None when an element is no finite number."""
    if not np.isfinite(vector).all():
        return None
    largest = float(np.max(np.abs(vector), initial=0.0))
    return largest * float(np.sqrt(np.sum((vector / largest) ** 2))) if largest else 0.0
