"""Indexes of a foreign file that cannot be made here: found, taken out of a copy, and the statements that make them.

DuckDB's HNSW index needs an extension, and the file does not keep the options that it was made with.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.index import private_folder
from workbench.index.model import Problem, SourceError
from workbench.index.opening import attach
from workbench.index.sql import CATALOG

if TYPE_CHECKING:
    import duckdb

METRICS = ("cosine", "l2sq", "ip")
HNSW_METRIC = "hnsw_metric"
"""The fact of a build that says which metric the HNSW indexes had: the file forgets it."""


@dataclass(frozen=True, slots=True)
class LostIndex:
    """An index that cannot be made here: its name, its table, and the statement that makes it again elsewhere."""

    name: str
    table: str
    statement: str


def lost_indexes(index: str, metric: str | None = None) -> tuple[LostIndex, ...]:
    """Find the indexes of a file that a cure in place has to leave out. Raises SourceError."""
    with attach(index) as attachment, attachment.cursor() as cursor:
        return lost(cursor, metric)


def lost(cursor: duckdb.DuckDBPyConnection, metric: str | None) -> tuple[LostIndex, ...]:
    """Find them in the attached index, each with the statement that makes it again with this metric."""
    rows = cursor.execute(
        "SELECT index_name, table_name, sql FROM duckdb_indexes() WHERE database_name = ? ORDER BY index_oid",
        [CATALOG],
    ).fetchall()
    chosen = f" WITH (metric = '{metric}')" if metric in METRICS else ""
    return tuple(
        LostIndex(name, where, f"{sql.rstrip().removesuffix(';')}{chosen};")
        for name, where, sql in rows
        if _is_hnsw(sql)
    )


@contextmanager
def without_lost(real: str) -> Iterator[str | None]:
    """Make a copy of a file from which such indexes can be dropped; None where there are none.

    Another process copies: closing the file here would drop the lock of whoever reads it in this one.
    """
    if not lost_indexes(real):
        yield None
        return
    folder = private_folder.make(private_folder.COPIES)
    try:
        bare, before = str(folder / "bare.duckdb"), os.stat(real)
        script = "import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])"
        done = subprocess.run([sys.executable, "-I", "-c", script, real, bare], capture_output=True, check=False)
        after = os.stat(real)
        if done.returncode or (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
            raise SourceError(
                Problem.BEING_WRITTEN, f"{real} could not be copied as it stands; try again", container="duckdb"
            )
        yield bare
    finally:
        private_folder.remove(folder)


def hnsw_indexes(cursor: duckdb.DuckDBPyConnection, catalog: str) -> list[tuple[str, str]]:
    """Give name and schema of each in an attached file."""
    rows = cursor.execute(
        "SELECT index_name, schema_name, sql FROM duckdb_indexes() WHERE database_name = ?", [catalog]
    ).fetchall()
    return [(name, schema) for name, schema, sql in rows if _is_hnsw(sql)]


def _is_hnsw(sql: str | None) -> bool:
    return sql is not None and " USING HNSW" in sql.upper()
