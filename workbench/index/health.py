"""What a search can do with each vector of a table: counted in one scan, without fetching a vector."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from workbench.index.expressions import MISSING, ROW, Expressions
from workbench.index.model import Flaw, UnusableRow, VectorHealth
from workbench.index.norms import bins_of, spread_of
from workbench.index.ranges import row_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.index.mapping import TableMapping

_FETCH = 64
_FETCH_NUMBERS = 1 << 18


def declared_dims(mapping: TableMapping) -> int | None:
    """Return the length that the column type declares, else the one that the namespace's record declares."""
    return mapping.fixed_dims if mapping.fixed_dims is not None else mapping.recorded_dims


def namespace_dims(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> int | None:
    """Return the declared length, else the most frequent (the smaller on a tie); None when there is no vector."""
    declared = declared_dims(mapping)
    if declared is not None or mapping.vector is None:
        return declared
    sql = Expressions(mapping)
    row = cursor.execute(
        f"SELECT length FROM (SELECT {sql.length} AS length FROM {sql.table}) WHERE length > 0"
        " GROUP BY length ORDER BY count(*) DESC, length LIMIT 1"
    ).fetchone()
    return None if row is None else int(row[0])


@dataclass(frozen=True, slots=True)
class NormBlock:
    """Norms of one range of rows, as Expressions.norms gives them, with further columns by alias."""

    norms: NDArray[np.float64]
    columns: dict[str, NDArray[np.generic]]


def norm_blocks(
    cursor: duckdb.DuckDBPyConnection,
    mapping: TableMapping,
    columns: dict[str, str],
    job: Job | None,
    *,
    derived: Callable[[bool], dict[str, str]] = lambda careful: {},
    parameters: Sequence[object] = (),
) -> Iterator[NormBlock]:
    """Yield the norms of all rows, range by range, with further columns by alias; none of them may be NULL.

    ``columns`` are expressions over the table; ``derived`` gives expressions over these, ``v`` and ``n``, and is told
    whether the inner product of lists fails on this range. ``parameters`` are those of derived, then of columns.
    """
    sql = Expressions(mapping)
    for where in row_ranges(cursor, sql.table, job):
        try:
            yield _norm_block(cursor, sql, columns, where, derived(False), parameters, careful=False)
        except duckdb.InvalidInputException:
            if mapping.fixed_dims is not None:
                raise
            yield _norm_block(cursor, sql, columns, where, derived(True), parameters, careful=True)


def _norm_block(
    cursor: duckdb.DuckDBPyConnection,
    sql: Expressions,
    columns: dict[str, str],
    where: str,
    derived: dict[str, str],
    parameters: Sequence[object],
    *,
    careful: bool,
) -> NormBlock:
    selected = ", ".join(("n", *columns, *(f"{expression} AS {alias}" for alias, expression in derived.items())))
    query = f"SELECT {selected} FROM ({sql.norms(columns, where, careful=careful)})"
    result = cursor.execute(query, list(parameters)).fetchnumpy()
    arrays = {name: np.ma.getdata(values) for name, values in result.items()}
    return NormBlock(arrays.pop("n"), arrays)


def measure_health(
    cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, now_ms: int, job: Job | None = None
) -> VectorHealth:
    """Count what a search can use of one table, and the spread of norms; see VectorHealth.

    One scan; what leaves DuckDB are eight bytes for each row, its norm, so that the median is exact.
    """
    sql = Expressions(mapping)
    if mapping.vector is None:
        return _without_vectors(cursor, sql, now_ms)
    lists = mapping.fixed_dims is None
    columns = {"length": f"{sql.length}::INTEGER"} if lists else {}
    if mapping.expires_ms is not None:
        columns["expired"] = sql.expired(now_ms)
    count = missing = expired = 0
    by_length: dict[int, _Kinds] = {}
    finite: list[NDArray[np.float64]] = []
    for block in norm_blocks(cursor, mapping, columns, job):
        norms = block.norms
        absent = norms == MISSING
        count += norms.size
        missing += int(absent.sum())
        if mapping.expires_ms is not None:
            expired += int(block.columns["expired"].sum())
        if lists:
            _tally_lengths(by_length, block.columns["length"][~absent], norms[~absent])
        else:
            _tally(by_length, mapping.fixed_dims or 0, norms[~absent])
        finite.append(norms[~absent & ~np.isnan(norms)])
    dims = declared_dims(mapping)
    if dims is None and by_length:
        dims = min(by_length, key=lambda length: (-by_length[length].rows, length))
    norms = np.concatenate(finite) if finite else np.empty(0)
    right = by_length.get(dims if dims is not None else -1, _Kinds())
    return VectorHealth(
        count=count,
        dims=dims,
        missing=missing,
        wrong_dims=count - missing - right.rows,
        non_finite=right.non_finite,
        zero=right.zero,
        expired=expired,
        norm=spread_of(norms),
        norm_bins=bins_of(norms),
    )


@dataclass(slots=True)
class _Kinds:
    """Vectors of one length."""

    rows: int = 0
    non_finite: int = 0
    zero: int = 0


def _tally(by_length: dict[int, _Kinds], length: int, norms: NDArray[np.float64]) -> None:
    if norms.size:
        kinds = by_length.setdefault(length, _Kinds())
        kinds.rows += norms.size
        kinds.non_finite += int(np.isnan(norms).sum())
        kinds.zero += int((norms == 0).sum())


def _tally_lengths(by_length: dict[int, _Kinds], lengths: NDArray[np.generic], norms: NDArray[np.float64]) -> None:
    found, places = np.unique(lengths, return_inverse=True)
    rows = np.bincount(places, minlength=found.size)
    non_finite = np.bincount(places, weights=np.isnan(norms), minlength=found.size)
    zero = np.bincount(places, weights=norms == 0, minlength=found.size)
    for place, length in enumerate(found):
        kinds = by_length.setdefault(int(length), _Kinds())
        kinds.rows += int(rows[place])
        kinds.non_finite += int(non_finite[place])
        kinds.zero += int(zero[place])


def _without_vectors(cursor: duckdb.DuckDBPyConnection, sql: Expressions, now_ms: int) -> VectorHealth:
    count, expired = cursor.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {sql.expired(now_ms)}) FROM {sql.table}"
    ).fetchone() or (0, 0)
    return VectorHealth(count, declared_dims(sql.mapping), count, 0, 0, 0, expired, None)


def find_unusable(
    cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, limit: int, job: Job | None = None
) -> tuple[UnusableRow, ...]:
    """Return the first ``limit`` rows that never rank, in the order of the source, each with the reason.

    Elements are counted from 0.
    """
    dims = namespace_dims(cursor, mapping)
    rows: list[tuple[int, UnusableRow]] = []
    if mapping.vector is None:
        sql = Expressions(mapping)
        found = cursor.execute(f"SELECT {sql.id} FROM {sql.table} ORDER BY {sql.order} LIMIT {int(limit)}").fetchall()
        return tuple(UnusableRow(id, Flaw.ABSENT, "no vector") for (id,) in found)
    block = max(1, min(_FETCH, _FETCH_NUMBERS // (dims or 1)))
    for keys in _unusable_keys(cursor, mapping, dims, job):
        for start in range(0, keys.size, block):
            if len(rows) >= limit and mapping.order == ROW:
                break
            rows += _described(cursor, mapping, dims, keys[start : start + block])
        rows = sorted(rows, key=lambda row: row[0])[:limit]
        if len(rows) >= limit and mapping.order == ROW:
            break
    return tuple(row for _, row in rows[:limit])


def _unusable_keys(
    cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, dims: int | None, job: Job | None
) -> Iterator[NDArray[np.int64]]:
    columns = {"k": ROW, "length": f"{Expressions(mapping).length}::INTEGER"}
    for block in norm_blocks(cursor, mapping, columns, job):
        keys: NDArray[np.int64] = block.columns["k"].astype(np.int64, copy=False)
        usable = (block.norms > 0) & (block.columns["length"] == dims)
        yield np.sort(keys[~usable])


def _described(
    cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, dims: int | None, keys: NDArray[np.int64]
) -> list[tuple[int, UnusableRow]]:
    sql = Expressions(mapping)
    found = cursor.execute(
        f"SELECT {sql.order}, {sql.id}, {sql.length}, {sql.vector} IS NULL,"
        # Only vectors of the right length are looked into: others can be of any size.
        f" CASE WHEN {sql.length} = {dims or 0} THEN {sql.vector}::DOUBLE[] END FROM {sql.table}"
        f" WHERE {ROW} IN (SELECT unnest(?::BIGINT[]))",
        [keys.tolist()],
    ).fetchall()
    rows = []
    for key, id, length, absent, vector in found:
        if not length:
            flaw, detail = (Flaw.ABSENT, "no vector") if absent else (Flaw.EMPTY, "an empty vector")
        elif length != dims:
            flaw, detail = Flaw.OTHER_LENGTH, f"{length} numbers instead of {dims}"
        else:
            flaw, detail = _bad_elements(vector)
        rows.append((key, UnusableRow(id, flaw, detail)))
    return rows


def _bad_elements(vector: list[float | None]) -> tuple[Flaw, str]:
    bad = [place for place, value in enumerate(vector) if value is None or not math.isfinite(value)]
    if not bad:
        return Flaw.ZERO, f"all {len(vector)} elements are 0"
    first = vector[bad[0]]
    what = "NULL" if first is None else "NaN" if math.isnan(first) else "infinity" if first > 0 else "-infinity"
    more = f", and {len(bad) - 1} more are not finite" if len(bad) > 1 else ""
    flaw = Flaw.NULL_ELEMENT if None in vector else Flaw.NOT_FINITE
    return flaw, f"element {bad[0]} is {what}{more}"
