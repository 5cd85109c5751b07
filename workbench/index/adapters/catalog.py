"""The base tables of an attached file as its catalogue describes them; views are never looked at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.index.sql import CATALOG, qualified

if TYPE_CHECKING:
    import duckdb

MAX_TABLES = 1_000
"""Tables that are looked into; a file with more is no index that anybody wrote by hand."""

MAX_COLUMNS = 4_000
"""Columns of a table that are looked into."""

_NUMERIC = r"FLOAT|DOUBLE|U?TINYINT|U?SMALLINT|U?INTEGER|U?BIGINT|U?HUGEINT|DECIMAL\(\d+,\d+\)"
_VECTOR_TYPE = re.compile(rf"({_NUMERIC})\[(\d*)\]")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name and type as DuckDB spells them, and its comment."""

    name: str
    type: str
    comment: str | None = None

    @property
    def vector_type(self) -> tuple[str, int | None] | None:
        """Element type and fixed length (None for a list), when this is a flat array or list of numbers."""
        found = _VECTOR_TYPE.fullmatch(self.type)
        return None if found is None else (found[1], int(found[2]) if found[2] else None)

    @property
    def holds_strings(self) -> bool:
        """Whether this is a column of strings: VARCHAR, or ENUM, as a column of few different values may be."""
        return self.type == "VARCHAR" or self.type.startswith("ENUM(")


@dataclass(frozen=True, slots=True)
class Table:
    """One base table.

    Attributes:
        schema, name: exact.
        columns: in the order of the table.
        primary_key: its columns, empty when there is none.
        unique: the columns that a constraint makes unique one by one, the primary key's too.
        comment: the table's comment.
        rows: how many.
    """

    schema: str
    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique: frozenset[str] = frozenset()
    comment: str | None = None
    rows: int = 0

    @property
    def shown(self) -> str:
        """The table as users name it."""
        return self.name if self.schema == "main" else f"{self.schema}.{self.name}"

    @property
    def qualified(self) -> str:
        """The table as SQL names it."""
        return qualified(self.schema, self.name)

    def column(self, *names: str) -> Column | None:
        """Find the first of these names that the table has, whatever its case."""
        by_name = {column.name.lower(): column for column in self.columns}
        return next((by_name[name] for name in names if name in by_name), None)


def base_tables(cursor: duckdb.DuckDBPyConnection) -> tuple[tuple[Table, ...], bool]:
    """Read the catalogue; the second value says whether there are more tables than are looked into."""
    found = cursor.execute(
        "SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE database_name = ? AND NOT internal"
        " AND NOT temporary ORDER BY table_oid LIMIT ?",
        [CATALOG, MAX_TABLES + 1],
    ).fetchall()
    columns = _columns(cursor)
    keys = _keys(cursor)
    tables = []
    for schema, name, comment in found[:MAX_TABLES]:
        primary, unique = keys.get((schema, name), ((), frozenset()))
        row = cursor.execute(f"SELECT count(*) FROM {qualified(schema, name)}").fetchone()
        tables.append(
            Table(schema, name, tuple(columns.get((schema, name), ())), primary, unique, comment, row[0] if row else 0)
        )
    return tuple(tables), len(found) > MAX_TABLES


def _columns(cursor: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], list[Column]]:
    rows = cursor.execute(
        "SELECT c.schema_name, c.table_name, c.column_name, c.data_type, c.comment FROM duckdb_columns() c"
        " SEMI JOIN duckdb_tables() t ON t.database_name = c.database_name AND t.schema_name = c.schema_name"
        " AND t.table_name = c.table_name"
        " WHERE c.database_name = ? AND NOT c.internal AND c.column_index <= ?"
        " ORDER BY c.table_oid, c.column_index",
        [CATALOG, MAX_COLUMNS],
    ).fetchall()
    columns: dict[tuple[str, str], list[Column]] = {}
    for schema, table, name, type, comment in rows:
        columns.setdefault((schema, table), []).append(Column(name, type, comment))
    return columns


def _keys(cursor: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], tuple[tuple[str, ...], frozenset[str]]]:
    rows = cursor.execute(
        "SELECT schema_name, table_name, constraint_type, constraint_column_names FROM duckdb_constraints()"
        " WHERE database_name = ? AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')",
        [CATALOG],
    ).fetchall()
    keys: dict[tuple[str, str], tuple[tuple[str, ...], frozenset[str]]] = {}
    for schema, table, kind, names in rows:
        primary, unique = keys.get((schema, table), ((), frozenset()))
        if kind == "PRIMARY KEY":
            primary = tuple(names)
        if len(names) == 1:
            unique |= {names[0]}
        keys[schema, table] = primary, unique
    return keys
