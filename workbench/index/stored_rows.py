"""All of every row of a namespace, one after the other in the order of its file: what an import copies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.fingerprint import parse_fingerprint
from workbench.index import blob_vectors
from workbench.index.adapters.agentfootprint_rows import StoredValue, as_text
from workbench.index.adapters.native import ADAPTER as NATIVE
from workbench.index.entry import Provenance
from workbench.index.expressions import Expressions
from workbench.index.paging import page_keys
from workbench.index.sql import CATALOG, quoted

if TYPE_CHECKING:
    import sqlite3

    import duckdb
    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.index.mapping import TableMapping

_PAGE = 1_000
_PAGE_NUMBERS = 1 << 20
_PLACED = frozenset(
    ["namespace", "id", "value", "metadata", "embedding", "dims", "embedder_fp", "ttl", "tier", "source_uri"]
)
_OWN = ("extra", "parent_id", "char_start", "char_end", "read_chars")
_FLOATS = ("FLOAT", "DOUBLE")


@dataclass(frozen=True, slots=True, eq=False)
class StoredRow:
    """One row as it stands in its file.

    Attributes:
        id: as shown everywhere; a row without one goes by its number.
        vector: shape (length,), NULL elements as NaN; None where there is none.
        null_at: the first NULL element of the vector.
        metadata: JSON text.
        expires_ms: epoch milliseconds.
        model: the id of the embedder that the row names.
        provenance: what has a place in a native file only, and as JSON what has none.
    """

    id: str
    text: str | None
    vector: NDArray[np.float64] | NDArray[np.float32] | None
    null_at: int | None
    metadata: str | None
    source: str | None
    tier: str | None
    expires_ms: float | None
    model: str | None
    provenance: Provenance


def table_rows(
    cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, dims: int | None, job: Job | None = None
) -> Iterator[StoredRow]:
    """Read a table, a page at a time; a page of long vectors (``dims``) holds fewer rows."""
    sql, keys = Expressions(mapping), page_keys(cursor, mapping)
    size = max(1, min(_PAGE, _PAGE_NUMBERS // max(1, dims or 1)))
    statement = (
        f"SELECT {_columns(cursor, sql)} FROM {sql.table} WHERE {sql.order} BETWEEN ? AND ? ORDER BY {sql.order}"
    )
    for start in range(0, keys.count, size):
        bounds = keys.bounds(start, size)
        if bounds is None:
            return
        if job is not None:
            job.checkpoint()
        page = cursor.execute(statement, list(bounds)).fetchnumpy()
        columns = [_plain(page[name]) for name in page]
        for row in zip(*columns, strict=True):
            yield _table_row(*row)


def value_rows(connection: sqlite3.Connection, namespace: str | bytes, job: Job | None = None) -> Iterator[StoredRow]:
    """Read the rows of one namespace of the seed library's SQLite file."""
    connection.text_factory = as_text
    found = connection.execute(
        "SELECT * FROM af_vectors WHERE namespace = CAST(? AS TEXT) ORDER BY rowid", (namespace,)
    )
    names = [str(column[0]).lower() for column in found.description]
    while rows := found.fetchmany(_PAGE):
        if job is not None:
            job.checkpoint()
        for row in rows:
            yield _value_row(dict(zip(names, row, strict=True)))


def _columns(cursor: duckdb.DuckDBPyConnection, sql: Expressions) -> str:
    mapping = sql.mapping
    expires = "NULL" if mapping.expires_ms is None else f"TRY_CAST({quoted(mapping.expires_ms)} AS DOUBLE)"
    vector = "NULL" if mapping.vector is None else f"{sql.vector}::{_number(mapping)}[]"
    parts = {
        "id": sql.id,
        "text": sql.text,
        "vector": vector,
        "metadata": _json(mapping.metadata),
        "source": sql.optional(mapping.source),
        "tier": sql.optional(mapping.tier),
        "expires": expires,
        "model": f"nullif({sql.model_id}, '')",
    }
    native = mapping.adapter == NATIVE
    names = _names(cursor, mapping)
    for name in _OWN:
        here = native and name in names
        parts[f"own_{name}"] = (
            f"{quoted(name)}{'::VARCHAR' if name in ('extra', 'parent_id') else ''}" if here else "NULL"
        )
    if not native:
        parts["own_extra"] = _rest(mapping, names)
    return ", ".join(f"{value} AS {name}" for name, value in parts.items())


def _number(mapping: TableMapping) -> str:
    return "FLOAT" if mapping.element_type == "FLOAT" else "DOUBLE"


def _json(column: str | None) -> str:
    """Write a column as JSON text, whatever it is."""
    if column is None:
        return "NULL::VARCHAR"
    text = f"{quoted(column)}::VARCHAR"
    return f"CASE WHEN json_valid({text}) THEN {text} ELSE to_json({quoted(column)})::VARCHAR END"


def _rest(mapping: TableMapping, names: dict[str, str]) -> str:
    """Write everything that no other column takes as one JSON object; NULL where there is nothing."""
    taken = {mapping.id, mapping.text, mapping.vector, mapping.metadata, mapping.source, mapping.tier}
    taken |= {mapping.expires_ms, mapping.model}
    left = {name: kind for name, kind in names.items() if name not in taken}
    if not left:
        return "NULL::VARCHAR"
    fields = ", ".join(
        f"{quoted(name)} := "
        # JSON has no NaN and no infinity.
        + (f"CASE WHEN isfinite({quoted(name)}) THEN {quoted(name)} END" if kind in _FLOATS else quoted(name))
        for name, kind in left.items()
    )
    return f"to_json(struct_pack({fields}))::VARCHAR"


def _names(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> dict[str, str]:
    rows = cursor.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = ? AND schema_name = ?"
        " AND table_name = ? ORDER BY column_index",
        [CATALOG, mapping.schema, mapping.table],
    ).fetchall()
    return dict(rows)


def _plain(column: Any) -> list[Any]:  # noqa: ANN401 (an array of whatever the column holds)
    """Give a fetched column as a list, None where it is NULL."""
    if not np.ma.isMaskedArray(column):
        return list(column)
    mask = np.ma.getmaskarray(column)
    return [None if masked else value for value, masked in zip(column.data, mask, strict=True)]


def _table_row(
    id: str,
    text: str | None,
    vector: Any,  # noqa: ANN401
    metadata: str | None,
    source: str | None,
    tier: str | None,
    expires: float | None,
    model: str | None,
    *own: Any,  # noqa: ANN401
) -> StoredRow:
    null_at = None
    if vector is not None and np.ma.isMaskedArray(vector):
        masked = np.flatnonzero(np.ma.getmaskarray(vector))
        null_at = int(masked[0]) if masked.size else None
        vector = np.ma.filled(vector, np.nan)
    extra, parent, start, end, read = own
    return StoredRow(
        id=str(id),
        text=text,
        vector=vector if vector is not None and len(vector) else None,
        null_at=null_at,
        metadata=metadata,
        source=source,
        tier=tier,
        expires_ms=expires,
        model=model,
        provenance=Provenance(extra, parent, _whole(start), _whole(end), _whole(read)),
    )


def _whole(value: Any) -> int | None:  # noqa: ANN401
    return None if value is None else int(value)


def _value_row(row: dict[str, Any]) -> StoredRow:
    told = StoredValue(row.get("value"))
    stored, ttl, blob = row.get("embedder_fp"), row.get("ttl"), row.get("embedding")
    if isinstance(blob, str):
        blob = blob.encode("utf-8", "surrogateescape")
    vector = blob_vectors.decode(blob) if isinstance(blob, bytes) and blob else None
    metadata, source = row.get("metadata"), row.get("source_uri")
    extra = {name: value for name, value in row.items() if name not in _PLACED and value is not None}
    extra |= {"value": told.rest} if told.rest else {}
    return StoredRow(
        id=str(row["id"]),
        text=told.text,
        vector=vector if vector is not None and vector.size else None,
        null_at=None,
        metadata=told.metadata if metadata is None else _as_json(str(metadata)),
        source=told.source if source is None else str(source),
        tier=None if row.get("tier") is None else str(row["tier"]),
        expires_ms=float(ttl) if isinstance(ttl, int | float) else None,
        model=None if stored is None else parse_fingerprint(str(stored)).id,
        provenance=Provenance(json.dumps(extra, default=repr) if extra else None),
    )


def _as_json(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return json.dumps(text)
    return text
