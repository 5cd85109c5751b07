"""A native file as DuckDB alone sees it: everything in it as values that can be compared."""

from __future__ import annotations

from pathlib import Path

import duckdb

Dump = dict[str, list[tuple[object, ...]]]


def dump(path: Path) -> Dump:
    """Give the catalogue and every row of a file, read by a plain connection."""
    with duckdb.connect(str(path)) as connection:
        found: Dump = {
            "tables": connection.execute("SELECT sql FROM duckdb_tables() ORDER BY table_name").fetchall(),
            "views": connection.execute("SELECT sql FROM duckdb_views() WHERE NOT internal").fetchall(),
        }
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY table_name").fetchall():
            found[table] = sorted(connection.execute(f'SELECT t::VARCHAR FROM "{table}" t').fetchall())
    # The one random value of a file.
    found["workbench_meta"] = [row for row in found.get("workbench_meta", []) if "file_id" not in str(row)]
    return found


def ask(path: Path, question: str) -> list[tuple[object, ...]]:
    """Give all rows of one query, or of one change made behind the program's back."""
    with duckdb.connect(str(path)) as connection:
        return connection.execute(question).fetchall()
