"""Recognises the native index, trusting nothing that its registry says about tables and columns before looking."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.fingerprint import parse_fingerprint
from workbench.index.mapping import ModelColumn, TableMapping
from workbench.index.schema import (
    ALTERNATIVE,
    EMBEDDING,
    GENERATIONS,
    NAMESPACES,
    SCHEMA,
    base_tables,
    is_native,
)
from workbench.index.sql import CATALOG, qualified

if TYPE_CHECKING:
    import duckdb

ADAPTER = "workbench"

_VECTOR_TYPE = re.compile(r"(FLOAT|DOUBLE)\[(\d*)\]")
_REQUIRED = {"seq": "BIGINT", "id": "VARCHAR", "text": "VARCHAR"}
_OPTIONAL = {
    "char_count": "BIGINT",
    "byte_count": "BIGINT",
    "metadata": "JSON",
    "source_uri": "VARCHAR",
    "tier": "VARCHAR",
    "expires_ms": "BIGINT",
    "embedder_fp": "VARCHAR",
}


@dataclass(frozen=True, slots=True)
class _Active:
    """One namespace and its active generation, as the registry says."""

    namespace: str | None
    generation: int | None
    table: str | None
    fingerprint: str | None
    dims: int | None
    max_input_chars: int | None


def native_mappings(cursor: duckdb.DuckDBPyConnection, namespace: str | None = None) -> list[TableMapping]:
    """Give the namespaces of an attached native file, in the order of their making; none when it is not native.

    A namespace whose table is no base table with our columns is left out; ``native_notes`` says so.
    ``namespace`` asks for that one only.
    """
    mappings, _ = _read(cursor, namespace)
    return mappings


def native_notes(cursor: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """Say of an attached native file which namespaces were left out, and why, one sentence each."""
    _, notes = _read(cursor, None)
    return notes


def _read(cursor: duckdb.DuckDBPyConnection, namespace: str | None) -> tuple[list[TableMapping], tuple[str, ...]]:
    if not is_native(cursor):
        return [], ()
    mappings: list[TableMapping] = []
    notes: list[str] = []
    said = _active(cursor, namespace)
    tables = {active.table for active in said if active.table is not None}
    columns, keyed = base_tables(cursor, tables), _keyed_by_id(cursor)
    seen: set[str | None] = set()
    for active in said:
        if active.namespace in seen:
            notes.append(
                f"namespace '{active.namespace}' stands more than once in the registry; the first one was read"
            )
            continue
        seen.add(active.namespace)
        found = _mapping(active, columns.get(active.table or "", {}), keyed=active.table in keyed)
        if isinstance(found, TableMapping):
            mappings.append(found)
        else:
            notes.append(found)
    return mappings, tuple(notes)


def _active(cursor: duckdb.DuckDBPyConnection, namespace: str | None) -> list[_Active]:
    rows = cursor.execute(
        "SELECT n.namespace, g.generation, g.table_name, g.embedder_fp, g.dims, g.max_input_chars"
        f" FROM {qualified(SCHEMA, NAMESPACES)} n"
        f" LEFT JOIN {qualified(SCHEMA, GENERATIONS)} g ON g.generation = n.active_generation"
        " AND g.namespace = n.namespace"
        " WHERE $1 IS NULL OR n.namespace = $1 ORDER BY n.created_ms, n.active_generation, n.namespace",
        [namespace],
    ).fetchall()
    return [_Active(*row) for row in rows]


def _mapping(active: _Active, columns: dict[str, str], *, keyed: bool) -> TableMapping | str:
    """Make the mapping of one namespace, or the sentence that says why there is none."""
    if active.namespace is None:
        return "a namespace without a name was left out"
    if active.generation is None or active.table is None:
        return f"namespace '{active.namespace}' was left out: its active generation is not in the registry"
    if not columns:
        return f"namespace '{active.namespace}' was left out: there is no table '{active.table}' in the file"
    wrong = sorted(name for name, kind in _REQUIRED.items() if columns.get(name) != kind)
    if wrong:
        return (
            f"namespace '{active.namespace}' was left out: the table '{active.table}' has no {', '.join(wrong)} "
            "as this program writes it"
        )
    element, dims = "FLOAT", None
    if EMBEDDING in columns:
        kind = _VECTOR_TYPE.fullmatch(columns[EMBEDDING])
        if kind is None:
            return f"namespace '{active.namespace}' was left out: its vectors are {columns[EMBEDDING]}, not FLOAT[n]"
        element, dims = kind[1], int(kind[2]) if kind[2] else None
    optional = {name: name if columns.get(name) == kind else None for name, kind in _OPTIONAL.items()}
    ceiling = active.max_input_chars
    return TableMapping(
        namespace=active.namespace,
        adapter=ADAPTER,
        schema=SCHEMA,
        table=active.table,
        vector=EMBEDDING if EMBEDDING in columns else None,
        element_type=element,
        fixed_dims=dims,
        id="id",
        id_unique=keyed,
        text="text",
        metadata=optional["metadata"],
        source=optional["source_uri"],
        tier=optional["tier"],
        expires_ms=optional["expires_ms"],
        char_count=optional["char_count"],
        byte_count=optional["byte_count"],
        order="seq",
        model=optional["embedder_fp"],
        model_kind=ModelColumn.FINGERPRINT,
        recorded=None if active.fingerprint is None else parse_fingerprint(active.fingerprint),
        keeps_records=True,
        recorded_dims=active.dims,
        max_input_chars=ceiling if ceiling is not None and ceiling > 0 else None,
        alternative=ALTERNATIVE,
        notes=_notes(optional),
    )


def _notes(optional: dict[str, str | None]) -> tuple[str, ...]:
    missing = sorted(name for name, column in optional.items() if column is None)
    if not missing:
        return ()
    return (f"the table has no {', '.join(missing)} as this program writes it, and is read without",)


def _keyed_by_id(cursor: duckdb.DuckDBPyConnection) -> set[str]:
    """Give the tables whose ``id`` cannot stand twice."""
    rows = cursor.execute(
        "SELECT table_name FROM duckdb_constraints() WHERE database_name = ? AND schema_name = ?"
        " AND constraint_type IN ('PRIMARY KEY', 'UNIQUE') AND constraint_column_names = ['id']",
        [CATALOG, SCHEMA],
    ).fetchall()
    return {table for (table,) in rows}
