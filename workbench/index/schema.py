"""The native file's tables, names and versions, and how a file is recognised as one of ours."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench import __version__
from workbench.index.model import Problem, SourceError
from workbench.index.sql import CATALOG, qualified

if TYPE_CHECKING:
    import duckdb

STORAGE_VERSION = "v1.2.0"
"""Files are written for DuckDB 1.2 and newer."""

SCHEMA_VERSION = 1
"""Of the tables below. A file with a newer one is refused by name."""

ROW_GROUP_SIZE = 4_096
"""Rows that DuckDB compresses and writes together. With its own 122,880, one row group of long vectors does not fit
into the memory of a session and a big batch fails, and what a batch leaves half full is written twice. Reading is as
fast with this."""

MAX_DIMS = 100_000
"""The longest fixed array that DuckDB stores; beyond some 12,000 it may lack the memory to write them."""

SCHEMA = "main"
META = "workbench_meta"
NAMESPACES = "vector_namespaces"
GENERATIONS = "generations"
EMBEDDING = "embedding"

ALTERNATIVE = "point this program at another index file or namespace"
"""The second way out of a refusal: what separates vectors here are namespaces and files."""

_META_COLUMNS = {"key": "VARCHAR", "value": "VARCHAR"}
_NAMESPACE_COLUMNS = {
    "namespace": "VARCHAR",
    "active_generation": "BIGINT",
    "metric": "VARCHAR",
    "created_ms": "BIGINT",
    "updated_ms": "BIGINT",
}
_GENERATION_COLUMNS = {
    "generation": "BIGINT",
    "namespace": "VARCHAR",
    "table_name": "VARCHAR",
    "embedder_fp": "VARCHAR",
    "dims": "BIGINT",
    "max_input_chars": "BIGINT",
    "max_input_tokens": "BIGINT",
    "ceiling_source": "VARCHAR",
    "tokenizer": "VARCHAR",
    "document_prefix": "VARCHAR",
    "query_prefix": "VARCHAR",
    "runtime": "VARCHAR",
    "source_digest": "VARCHAR",
    "row_count": "BIGINT",
    "state": "VARCHAR",
    "created_ms": "BIGINT",
    "activated_ms": "BIGINT",
}
CHUNK_COLUMNS = {
    "seq": "BIGINT",
    "id": "VARCHAR",
    "text": "VARCHAR",
    "char_count": "BIGINT",
    "byte_count": "BIGINT",
    "read_chars": "BIGINT",
    "content_hash": "VARCHAR",
    "metadata": "JSON",
    "extra": "JSON",
    "source_uri": "VARCHAR",
    "parent_id": "VARCHAR",
    "char_start": "BIGINT",
    "char_end": "BIGINT",
    "embedder_fp": "VARCHAR",
    "tier": "VARCHAR",
    "expires_ms": "BIGINT",
    "created_ms": "BIGINT",
    "updated_ms": "BIGINT",
}
"""Every chunk table has these; ``embedding FLOAT[dims]`` is added with the first vector."""

_REGISTRY = {META: _META_COLUMNS, NAMESPACES: _NAMESPACE_COLUMNS, GENERATIONS: _GENERATION_COLUMNS}
_KEYS = {META: "key", NAMESPACES: "namespace", GENERATIONS: "generation"}
_REQUIRED = {
    NAMESPACES: {"active_generation", "metric", "created_ms", "updated_ms"},
    GENERATIONS: {"namespace", "table_name", "row_count", "state", "created_ms"},
}


def chunk_table(generation: int) -> str:
    """Name the table of a generation."""
    return f"chunks_{generation}"


def first_row(
    cursor: duckdb.DuckDBPyConnection, statement: str, values: Sequence[object] | Mapping[str, object] = ()
) -> tuple[Any, ...] | None:
    """Run a statement that gives at most a few rows, and give the first.

    All rows are fetched: an unfinished result blocks some of what a cursor does next.
    """
    return next(iter(cursor.execute(statement, values).fetchall()), None)


def create_registry(cursor: duckdb.DuckDBPyConnection) -> None:
    """Make the three registry tables in an empty attached file, in the transaction of the caller."""
    for table, columns in _REGISTRY.items():
        required = _REQUIRED.get(table, set())
        parts = [
            f"{name} {kind}{' PRIMARY KEY' if name == _KEYS[table] else ' NOT NULL' if name in required else ''}"
            for name, kind in columns.items()
        ]
        cursor.execute(f"CREATE TABLE {qualified(SCHEMA, table)} ({', '.join(parts)})")
    cursor.execute(
        f"INSERT INTO {qualified(SCHEMA, META)} VALUES ('schema_version', ?), ('created_with', ?), ('file_id', ?)",
        [str(SCHEMA_VERSION), f"workbench {__version__}", uuid.uuid4().hex],
    )


def create_chunks(cursor: duckdb.DuckDBPyConnection, table: str) -> None:
    """Make the chunk table of a generation that has no vector yet, in the transaction of the caller."""
    parts = [
        f"{name} {kind}{' NOT NULL' if name == 'seq' else ' PRIMARY KEY' if name == 'id' else ''}"
        for name, kind in CHUNK_COLUMNS.items()
    ]
    cursor.execute(f"CREATE TABLE {qualified(SCHEMA, table)} ({', '.join(parts)})")


def base_tables(cursor: duckdb.DuckDBPyConnection, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Give those of ``names`` that are base tables of the attached file's main schema: columns, name to type.

    A view of such a name counts as nothing: it could read anything.
    """
    found: dict[str, dict[str, str]] = {}
    for table, column, kind in cursor.execute(
        "SELECT c.table_name, c.column_name, c.data_type FROM duckdb_columns() c JOIN duckdb_tables() t"
        " ON t.database_name = c.database_name AND t.schema_name = c.schema_name AND t.table_name = c.table_name"
        " WHERE c.database_name = ? AND c.schema_name = ? AND c.table_name IN (SELECT unnest(?::VARCHAR[]))"
        " ORDER BY c.table_oid, c.column_index",
        [CATALOG, SCHEMA, list(names)],
    ).fetchall():
        found.setdefault(table, {})[column] = kind
    return found


def is_native(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Say whether the attached file has our registry: three base tables with our columns and types."""
    found = base_tables(cursor, _REGISTRY)
    return all(columns.items() <= found.get(table, {}).items() for table, columns in _REGISTRY.items())


def is_empty(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Say whether the attached file holds no table, view, macro, type, sequence or schema of its own."""
    row = first_row(
        cursor,
        "SELECT (SELECT count(*) FROM duckdb_tables() WHERE database_name = $1)"
        " + (SELECT count(*) FROM duckdb_views() WHERE database_name = $1 AND NOT internal)"
        " + (SELECT count(*) FROM duckdb_functions() WHERE database_name = $1 AND NOT internal)"
        " + (SELECT count(*) FROM duckdb_types() WHERE database_name = $1 AND NOT internal)"
        " + (SELECT count(*) FROM duckdb_sequences() WHERE database_name = $1)"
        " + (SELECT count(*) FROM duckdb_schemas() WHERE database_name = $1 AND NOT internal"
        " AND schema_name <> 'main')",
        [CATALOG],
    )
    return row is not None and row[0] == 0


def check_version(cursor: duckdb.DuckDBPyConnection, path: str) -> None:
    """Refuse an attached native file whose tables this program does not know.

    Raises:
        SourceError: too-new, naming the version of the file; damaged, when it says none.
    """
    row = first_row(cursor, f"SELECT value FROM {qualified(SCHEMA, META)} WHERE key = 'schema_version' LIMIT 1")
    if row is None or row[0] is None:
        raise SourceError(
            Problem.DAMAGED,
            f"{path} is a workbench index that does not say its schema version; restore it from a copy",
            container="duckdb",
        )
    said = str(row[0])
    # Whatever is no number of ours was written by something that is no older than this program.
    if not (said.isascii() and said.isdigit() and len(said) < 9 and 1 <= int(said) <= SCHEMA_VERSION):
        raise SourceError(
            Problem.TOO_NEW,
            f"{path} is a workbench index of schema version '{said[:40]}', and this program knows versions up to "
            f"{SCHEMA_VERSION}; upgrade workbench",
            container="duckdb",
        )


def refuse_unknown_version(cursor: duckdb.DuckDBPyConnection, path: str) -> None:
    """Refuse an attached file that is ours by its own word and whose tables this program does not know.

    A newer version may keep its registry elsewhere: then the version alone says whose it is. Raises like check_version.
    """
    if not base_tables(cursor, [META]).get(META, {}).items() >= _META_COLUMNS.items():
        return
    said = f"SELECT 1 FROM {qualified(SCHEMA, META)} WHERE key = 'schema_version' LIMIT 1"
    if is_native(cursor) or first_row(cursor, said) is not None:
        check_version(cursor, path)


def require_native(cursor: duckdb.DuckDBPyConnection, path: str) -> None:
    """Refuse an attached file that is not ours, or that is newer than this program.

    Raises:
        SourceError: not-an-index, too-new or damaged.
    """
    meta = base_tables(cursor, [META]).get(META)
    if meta is None:
        raise SourceError(
            Problem.NOT_AN_INDEX,
            f"{path} is a DuckDB file of another program, not a workbench index (it has no table {META}); "
            "read it with open_source, or give the name of a file that is not there yet to make one",
            container="duckdb",
        )
    if meta.items() >= _META_COLUMNS.items():
        check_version(cursor, path)
    if not is_native(cursor):
        raise SourceError(
            Problem.DAMAGED,
            f"{path} calls itself a workbench index, and its registry tables are not as this program writes them; "
            "restore it from a copy",
            container="duckdb",
        )
