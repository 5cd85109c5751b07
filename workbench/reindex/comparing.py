"""Vectors of the living namespace and of the built one beside each other: ranks and neighbours, nothing is sent.

Both are read in blocks, so that memory does not grow with them; the numbers are exact for the vectors that are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.index.expressions import ROW, Expressions
from workbench.index.ranges import row_ranges
from workbench.index.schema import first_row
from workbench.reindex.living import is_foreign, rows
from workbench.reindex.model import Fate
from workbench.reindex.proving import SAME
from workbench.reindex.sibling import KEYS, ROWS, VECTORS, table

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.index.mapping import TableMapping

SAMPLE = 50
"""Chunks whose neighbours are compared."""

NEIGHBOURS = 10

POOL = 50_000
"""Chunks among which the neighbours are looked for, about; of more a part that is the same on both sides."""

_NUMBERS = 1 << 21
_KEPT = 4 * NEIGHBOURS


@dataclass(frozen=True, slots=True)
class Block:
    """Some usable vectors, scaled to length one, shape (rows, dims), and the chunk in the source that each is of."""

    owners: NDArray[np.object_]
    unit: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Where vectors stand: a table that is cut by row number, and a query over ``{cut}`` that gives owner and vector.

    Attributes:
        table: the table of the vectors.
        select: SQL that gives ``owner`` and ``v``, a list of numbers, for the rows of ``{cut}``.
        dims: the length of a usable one.
    """

    table: str
    select: str
    dims: int

    def blocks(
        self,
        cursor: duckdb.DuckDBPyConnection,
        where: str = "true",
        job: Job | None = None,
        values: Sequence[object] = (),
    ) -> Iterator[Block]:
        """Read those of the owners that ``where`` names, a few megabytes at a time; what can never rank is left out."""
        step = max(64, _NUMBERS // self.dims)
        for cut in list(row_ranges(cursor, self.table, None, step=step)):
            if job is not None:
                job.checkpoint()
            found = cursor.execute(
                f"SELECT owner, v FROM ({self.select.format(cut=cut)}) WHERE list_count(v) = {self.dims} AND {where}",
                values,
            ).fetchnumpy()
            block = _usable(found["owner"], found["v"], self.dims)
            if block.owners.size:
                yield block


def living_vectors(mapping: TableMapping, dims: int) -> StoredVectors:
    """Those of the living namespace; a chunk is its own owner, by the id that the copy has of it."""
    sql = Expressions(mapping)
    # What is in braces comes from a name in a file, and is no place to fill in.
    source, vector, place = (
        each.replace("{", "{{").replace("}", "}}") for each in (rows(mapping), sql.vector, sql.table)
    )
    if not is_foreign(mapping):
        return StoredVectors(sql.table, f"SELECT id AS owner, {vector}::DOUBLE[] AS v FROM {place} WHERE {{cut}}", dims)
    return StoredVectors(
        sql.table,
        f"SELECT l.id AS owner, t.v FROM (SELECT {ROW} AS n, {vector}::DOUBLE[] AS v FROM {place} WHERE {{cut}}) t"
        f" JOIN {source} l ON l.seq = t.n",
        dims,
    )


def built_vectors(dims: int, alias: str = "ix") -> StoredVectors:
    """Those of a sibling; the pieces of a chunk have one owner."""
    return StoredVectors(
        table(VECTORS, alias),
        f"SELECT r.source_id AS owner, v.embedding::DOUBLE[] AS v FROM (SELECT seq, embedding FROM"
        f" {table(VECTORS, alias)} WHERE {{cut}}) v JOIN {table(ROWS, alias)} r USING (seq)",
        dims,
    )


def _usable(owners: NDArray[np.object_], vectors: NDArray[np.object_], dims: int) -> Block:
    if not owners.size:
        return Block(np.empty(0, np.object_), np.empty((0, dims)))
    matrix = _scaled(np.stack([np.ma.getdata(each) for each in np.ma.getdata(vectors)]).astype(np.float64))
    norms = np.sqrt(np.sum(matrix * matrix, axis=1))
    good = np.isfinite(norms) & (norms > 0)
    return Block(np.ma.getdata(owners)[good], matrix[good] / norms[good, None])


def _scaled(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Do to each row what ``unit_scale`` does to a vector."""
    largest = np.max(np.abs(matrix), axis=1, initial=0.0)
    exponents = np.where(np.isfinite(largest) & (largest > 0), np.frexp(largest)[1], 0)
    return np.ldexp(matrix, -exponents[:, None])


def ranks(
    cursor: duckdb.DuckDBPyConnection,
    stored: StoredVectors,
    asked: Sequence[tuple[str, NDArray[np.float64]]],
    job: Job | None = None,
) -> tuple[list[int | None], int]:
    """Say at which rank each query finds its own chunk (the best of its pieces), and how many vectors can rank.

    A rank is from 1, vectors that score alike share it; None when the chunk has no vector that ranks, or the query is
    of another length or zero.
    """
    if not asked:
        return [], 0
    queries = np.stack([_unit(vector, stored.dims) for _, vector in asked])
    places: dict[str, list[int]] = {}
    for place, (id, _) in enumerate(asked):
        places.setdefault(id, []).append(place)
    own = np.full(len(asked), -np.inf)
    # Twice through the vectors, so that what is kept of them does not grow with their number.
    for block in stored.blocks(cursor, job=job):
        scores = block.unit @ queries.T
        for row, owner in enumerate(block.owners):
            for place in places.get(owner, ()):
                own[place] = max(own[place], scores[row, place])
    ahead, count = np.zeros(len(asked), np.int64), 0
    for block in stored.blocks(cursor, job=job):
        ahead += np.sum(block.unit @ queries.T > own + SAME, axis=0)
        count += block.owners.size
    usable = np.isfinite(own) & queries.any(axis=1)
    return [1 + int(above) if good else None for above, good in zip(ahead, usable, strict=True)], count


def _unit(vector: NDArray[np.float64], dims: int) -> NDArray[np.float64]:
    norm = float(np.linalg.norm(vector))
    if vector.size != dims or not np.isfinite(norm) or norm == 0:
        return np.zeros(dims)
    return vector / norm


def neighbour_overlap(
    cursor: duckdb.DuckDBPyConnection, living: StoredVectors, built: StoredVectors, alias: str, job: Job | None = None
) -> float | None:
    """Say which share of their ten nearest neighbours a sample of chunks keeps, as a mean; None without two to compare.

    ``alias`` is that of the sibling. Neighbours are looked for among the chunks that have a vector on both sides.
    """
    total = first_row(cursor, f"SELECT count(*) FROM {table(KEYS, alias)}")
    part = f"hash(owner) % {max(1, -(-int(total[0] if total else 0) // POOL))} = 0"
    sample = [
        id
        for (id,) in cursor.execute(
            f"SELECT k.id FROM (SELECT id, id AS owner FROM {table(KEYS, alias)} WHERE fate <> '{Fate.RESPLIT}') k"
            f" SEMI JOIN (SELECT r.source_id FROM {table(ROWS, alias)} r SEMI JOIN {table(VECTORS, alias)} v"
            f" USING (seq)) s ON s.source_id = k.id WHERE {part} ORDER BY hash(k.id) LIMIT {SAMPLE}"
        ).fetchall()
    ]
    before = _nearest(cursor, living, sample, part, job)
    after = _nearest(cursor, built, sample, part, job)
    both = before.owners & after.owners
    shares = []
    for id in sample:
        old, new = before.of(id, both), after.of(id, both)
        most = min(NEIGHBOURS, len(both) - 1)
        if id in both and most > 0:
            shares.append(len(set(old[:most]) & set(new[:most])) / most)
    return float(np.mean(shares)) if shares else None


@dataclass(frozen=True, slots=True)
class _Nearest:
    """The nearest owners of each of a sample, nearest first, and all owners that were looked at."""

    by_id: dict[str, list[str]]
    owners: frozenset[str]

    def of(self, id: str, among: frozenset[str]) -> list[str]:
        return [owner for owner in self.by_id.get(id, []) if owner in among]


def _nearest(
    cursor: duckdb.DuckDBPyConnection, stored: StoredVectors, sample: list[str], part: str, job: Job | None
) -> _Nearest:
    queries = _own_vectors(cursor, stored, sample, part, job)
    ids = list(queries)
    matrix = np.stack([queries[id] for id in ids]) if ids else np.empty((0, stored.dims))
    kept: list[dict[str, float]] = [{} for _ in ids]
    owners: set[str] = set()
    for block in stored.blocks(cursor, part, job):
        owners.update(block.owners)
        scores = block.unit @ matrix.T
        for place, id in enumerate(ids):
            column = scores[:, place]
            most = min(_KEPT + 1, column.size)
            for row in np.argpartition(-column, most - 1)[:most]:
                owner = str(block.owners[row])
                if owner != id:
                    kept[place][owner] = max(kept[place].get(owner, -2.0), float(column[row]))
            if len(kept[place]) > 4 * _KEPT:
                kept[place] = dict(sorted(kept[place].items(), key=_best_first)[:_KEPT])
    return _Nearest(
        {id: [owner for owner, _ in sorted(near.items(), key=_best_first)] for id, near in zip(ids, kept, strict=True)},
        frozenset(owners),
    )


def _best_first(each: tuple[str, float]) -> tuple[float, str]:
    return (-each[1], each[0])


def _own_vectors(
    cursor: duckdb.DuckDBPyConnection, stored: StoredVectors, sample: list[str], part: str, job: Job | None
) -> dict[str, NDArray[np.float64]]:
    found: dict[str, NDArray[np.float64]] = {}
    if not sample:
        return found
    asked = f"{part} AND owner IN (SELECT unnest(?::VARCHAR[]))"
    for block in stored.blocks(cursor, asked, job, [sample]):
        for owner, unit in zip(block.owners, block.unit, strict=True):
            found.setdefault(owner, unit)
    return found
