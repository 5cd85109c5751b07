"""Pages of rows and single rows of one table, at a cost that does not grow with the place in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.fingerprint import Fingerprint, fingerprint_text, parse_fingerprint
from workbench.index.expressions import Expressions
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
        f"SELECT {sql.id}, {sql.chars}, coalesce(left({sql.text}, {PREVIEW_CHARS}), ''), {sql.model}, {sql.length},"
        f" {sql.optional(mapping.source)} FROM {sql.table}"
        f" WHERE {sql.order} BETWEEN ? AND ? ORDER BY {sql.order} LIMIT ?",
        [*bounds, limit],
    ).fetchall()
    return tuple(
        ChunkRow(
            position=max(start, 0) + place,
            id=id,
            chars=chars,
            preview=preview,
            fingerprint=row_fingerprint(mapping, model, length) if length else None,
            dims=length or None,
            source=source,
        )
        for place, (id, chars, preview, model, length, source) in enumerate(found)
    )


def read_chunk(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, id: str) -> Chunk | None:
    """Read one chunk whole; the first in the order of the source when several carry the id."""
    sql = Expressions(mapping)
    row = cursor.execute(
        f"SELECT {sql.text}, {sql.chars}, {sql.optional(mapping.metadata)}, {sql.model},"
        f" {sql.optional(mapping.source)} FROM {sql.table} WHERE {sql.id} = ? ORDER BY {sql.order} LIMIT 1",
        [id],
    ).fetchone()
    if row is None:
        return None
    text, chars, metadata, model, source = row
    vector = read_vector(cursor, mapping, id)
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
    found = cursor.execute(
        f"SELECT {sql.vector}::DOUBLE[] AS v FROM {sql.table} WHERE {sql.length} > 0 AND {sql.order} = "
        f"(SELECT min({sql.order}) FROM {sql.table} WHERE {sql.id} = ?)",
        [id],
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
