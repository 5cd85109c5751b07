"""Ranges of rows: how a long scan is cut into queries that report progress and can be cancelled between."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from workbench.index.expressions import ROW

if TYPE_CHECKING:
    import duckdb

    from workbench.core.job import Job

STEP = 245_760
"""Rows a query: two of DuckDB's row groups, one for each thread."""

_SPARSE = 16


def row_ranges(
    cursor: duckdb.DuckDBPyConnection, table: str, job: Job | None = None, *, step: int = STEP
) -> Iterator[str]:
    """Yield conditions on the row number that cover the table, each for about ``step`` rows.

    Progress is reported before each range and at the end. Raises Cancelled between ranges.
    """
    count, first, last = cursor.execute(f"SELECT count(*), min({ROW}), max({ROW}) FROM {table}").fetchone() or (0, 0, 0)
    if not count:
        return
    bounds = _bounds(cursor, table, count, int(first), int(last), step)
    done = 0
    for low, high in pairwise(bounds):
        if job is not None:
            job.progress(min(done, count), count)
        yield f"{ROW} >= {low} AND {ROW} < {high}"
        done += step
    if job is not None:
        job.progress(count, count)


def _bounds(cursor: duckdb.DuckDBPyConnection, table: str, count: int, first: int, last: int, step: int) -> list[int]:
    if last - first < _SPARSE * (count + step):
        return [*range(first, last + 1, step), last + 1]
    # Nearly everything was deleted: ranges of equal width would be mostly empty, and too many.
    keys = np.sort(cursor.execute(f"SELECT {ROW} AS k FROM {table}").fetchnumpy()["k"])
    return [*(int(key) for key in keys[::step]), last + 1]
