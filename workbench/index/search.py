"""Exact cosine top-k over one table: candidates by SQL, the order of the best in double precision.

Unusable vectors never rank: DuckDB 2 would put NaN above every number, so they are taken out before any ordering.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.index.expressions import MAX_MODEL_CHARS, MISSING, ROW, Expressions
from workbench.index.health import namespace_dims, norm_blocks
from workbench.index.model import Hit, SearchResult

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.index.mapping import TableMapping

_ALWAYS = 2.0
"""The rough score of a usable row whose inner product float32 cannot hold: no cosine reaches it, so it is rescored."""

_FETCH_ROWS = 512
_FETCH_NUMBERS = 1 << 20


@dataclass(frozen=True, slots=True)
class Filters:
    """Which rows may be hits; those they leave out still count as what they are."""

    tiers: Sequence[str] | None = None
    without: str | None = None
    model: str | None = None


def utf16_order(id: str) -> bytes:
    """Return the key that orders strings as JavaScript does, by UTF-16 code unit."""
    return id.encode("utf-16-be", "surrogatepass")


def unit_scale(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide by a power of two, so that sums of squares neither overflow nor vanish; exact."""
    largest = float(np.max(np.abs(vector), initial=0.0))
    if largest == 0.0 or not math.isfinite(largest):
        return vector
    return np.ldexp(vector, -math.frexp(largest)[1])


def nearest(
    cursor: duckdb.DuckDBPyConnection,
    mapping: TableMapping,
    vector: NDArray[np.float64],
    *,
    k: int,
    now_ms: int,
    filters: Filters,
    with_text: bool,
    job: Job | None = None,
) -> SearchResult:
    """Return the exact nearest rows; see Namespace.search.

    Raises:
        ValueError: the length of ``vector`` is not the namespace's.
    """
    dims = namespace_dims(cursor, mapping)
    if dims is not None and vector.size != dims:
        raise ValueError(f"the query has {vector.size} numbers, the namespace {dims}")
    query = unit_scale(np.asarray(vector, dtype=np.float64))
    length = float(np.sqrt(np.sum(query * query)))
    ranks = math.isfinite(length) and length > 0 and k > 0
    if mapping.vector is None or dims is None:
        rows, expired = cursor.execute(_counts(mapping, now_ms)).fetchone() or (0, 0)
        return SearchResult((), 0, rows, expired)
    scan = _Scan(k if ranks else 0, _margin(mapping, dims))
    unit = query / length if ranks else np.zeros(dims)
    keys = scan.run(cursor, mapping, unit, now_ms, filters, job)
    hits = _rescored(cursor, mapping, keys, unit, k, job) if ranks else []
    return SearchResult(
        _read(cursor, mapping, hits, with_text), scan.left_out, scan.missing, scan.expired, scan.other_model
    )


def _counts(mapping: TableMapping, now_ms: int) -> str:
    sql = Expressions(mapping)
    return f"SELECT count(*), count(*) FILTER (WHERE {sql.expired(now_ms)}) FROM {sql.table}"


def _margin(mapping: TableMapping, dims: int) -> float:
    """How far two rough scores may lie apart although the exact ones are in the other order.

    The rounding error of an inner product of unit vectors is at most ``dims`` roundings, in whatever order it is
    summed; the norm adds half as many, and both scores can be wrong.
    """
    rounding = 2.0**-24 if Expressions(mapping).single else 2.0**-53
    return 4 * (dims + 8) * rounding


class _Scan:
    """One pass over the table: the rows that may be among the best, and counts of those that can never be."""

    def __init__(self, k: int, margin: float) -> None:
        self._k = k
        self._margin = margin
        self._keys: NDArray[np.int64] = np.empty(0, np.int64)
        self._scores: NDArray[np.float64] = np.empty(0)
        self.left_out = self.missing = self.expired = self.other_model = 0

    def run(
        self,
        cursor: duckdb.DuckDBPyConnection,
        mapping: TableMapping,
        unit: NDArray[np.float64],
        now_ms: int,
        filters: Filters,
        job: Job | None,
    ) -> NDArray[np.int64]:
        """Return the row numbers of all candidates, ascending."""
        sql = Expressions(mapping)
        allowed, parameters = _allowed(sql, filters)
        other, models = _of_another_model(sql, filters)
        columns = {
            "k": ROW,
            "length": f"{sql.length}::INTEGER",
            "expired": sql.expired(now_ms),
            "allowed": allowed,
            "other": other,
        }
        blocks = norm_blocks(
            cursor,
            mapping,
            columns,
            job,
            derived=lambda careful: {"score": _rough_score(sql, unit.size, careful=careful)},
            parameters=[unit.tolist(), *parameters, *models],
        )
        for block in blocks:
            norms, expired = block.norms, block.columns["expired"].astype(np.bool_)
            usable = (norms > 0) & (block.columns["length"] == unit.size)
            self.missing += int((norms == MISSING).sum())
            self.left_out += int((~usable & (norms != MISSING)).sum())
            self.expired += int(expired.sum())
            other_model = usable & block.columns["other"].astype(np.bool_)
            self.other_model += int(other_model.sum())
            if self._k:
                kept = usable & ~other_model & ~expired & block.columns["allowed"].astype(np.bool_)
                self._keep(block.columns["k"][kept].astype(np.int64), block.columns["score"][kept].astype(np.float64))
        return np.sort(self._keys)

    def _keep(self, keys: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        keys, scores = np.concatenate((self._keys, keys)), np.concatenate((self._scores, scores))
        rough = scores[scores < _ALWAYS]
        if rough.size > self._k:
            floor = np.partition(rough, -self._k)[-self._k] - self._margin
            near = scores >= floor
            keys, scores = keys[near], scores[near]
        self._keys, self._scores = keys, scores


def _allowed(sql: Expressions, filters: Filters) -> tuple[str, list[object]]:
    conditions: list[str] = []
    parameters: list[object] = []
    if filters.without is not None:
        conditions.append(f"{sql.id} <> ?::VARCHAR")
        parameters.append(filters.without)
    if filters.tiers is not None:
        conditions.append(f"coalesce(list_contains(?::VARCHAR[], {sql.optional(sql.mapping.tier)}), false)")
        parameters.append(list(filters.tiers))
    return f"({' AND '.join(conditions) or 'true'})", parameters


def _of_another_model(sql: Expressions, filters: Filters) -> tuple[str, list[object]]:
    """Whether a row names another model than the query's; the length is no part of that."""
    if filters.model is None or sql.mapping.model is None:
        return "false", []
    # What cannot be stored as text is named by no row.
    asked = filters.model[:MAX_MODEL_CHARS].encode("utf-8", "replace").decode()
    return f"coalesce({sql.model_id} <> ?::VARCHAR, false)", [asked]


def _rough_score(sql: Expressions, dims: int, *, careful: bool) -> str:
    """Return the cosine in the vector's own precision; _ALWAYS where that cannot hold it.

    One parameter: the query.
    """
    operand, number = sql.operand("v"), sql.number
    if sql.mapping.fixed_dims is not None:
        product = f"array_inner_product({operand}, ?::{number}[{dims}])"
    elif careful:
        product = f"array_inner_product(v::{number}[{dims}], ?::{number}[{dims}])"
    else:
        product = f"list_inner_product({operand}, ?::{number}[])"
    return f"CASE WHEN length <> {dims} THEN 0 WHEN {sql.rough} THEN {product} / n ELSE {_ALWAYS} END::DOUBLE"


@dataclass(frozen=True, slots=True)
class _Scored:
    """One rescored candidate, in ranking order."""

    minus_score: float
    id_order: bytes
    key: int
    id: str

    def __lt__(self, other: _Scored) -> bool:
        return (self.minus_score, self.id_order, self.key) < (other.minus_score, other.id_order, other.key)


def _rescored(
    cursor: duckdb.DuckDBPyConnection,
    mapping: TableMapping,
    keys: NDArray[np.int64],
    unit: NDArray[np.float64],
    k: int,
    job: Job | None,
) -> list[_Scored]:
    """Score candidates in double precision; memory is bounded by ``k`` and one block of vectors."""
    sql = Expressions(mapping)
    best: list[_Scored] = []
    block = max(1, min(_FETCH_ROWS, _FETCH_NUMBERS // unit.size))
    for start in range(0, keys.size, block):
        if job is not None:
            job.checkpoint()
        found = cursor.execute(
            f"SELECT {ROW} AS k, {sql.id} AS id, {sql.vector}::DOUBLE[] AS v FROM {sql.table}"
            f" WHERE {ROW} IN (SELECT unnest(?::BIGINT[]))",
            [keys[start : start + block].tolist()],
        ).fetchnumpy()
        rows = zip(found["k"].tolist(), found["id"].tolist(), found["v"], strict=True)
        best = heapq.nsmallest(
            k, (*best, *(_Scored(-_cosine(v, unit), utf16_order(id), key, id) for key, id, v in rows))
        )
    return best


def _cosine(vector: NDArray[np.float64], unit: NDArray[np.float64]) -> float:
    scaled = unit_scale(vector)
    # Products are summed by numpy's own pairwise sum, not by a matrix product: equal vectors score equally.
    product = float(np.sum(scaled * unit) / np.sqrt(np.sum(scaled * scaled)))
    return min(1.0, max(-1.0, product))


def _read(
    cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, hits: list[_Scored], with_text: bool
) -> tuple[Hit, ...]:
    if not hits:
        return ()
    sql = Expressions(mapping)
    found = cursor.execute(
        f"SELECT {ROW}, {sql.chars}, {sql.text if with_text else 'NULL'} FROM {sql.table}"
        f" WHERE {ROW} IN (SELECT unnest(?::BIGINT[]))",
        [[hit.key for hit in hits]],
    ).fetchall()
    chunks = {key: (chars, text) for key, chars, text in found}
    return tuple(Hit(hit.id, -hit.minus_score, *chunks.get(hit.key, (None, None))) for hit in hits)
