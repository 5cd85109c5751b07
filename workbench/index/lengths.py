"""Lengths of all texts, read once and kept as a histogram: any ceiling is then answered from memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from workbench.index.expressions import ROW, Expressions
from workbench.index.model import MAX_LISTED, ChunkLength, ClipCount
from workbench.index.ranges import row_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.index.mapping import TableMapping

COUNTED = "counted"
STORED = "stored"

_SAMPLE_SPOTS = 3
_SAMPLE_ROWS = 128
_VECTOR = 2_048
"""Rows that DuckDB decodes together: a spot that begins with one costs half of a spot that lies across two."""

_STEP = 122_880
_TEXT_STEP = 4_096
_LONGEST = 2**62


@dataclass(frozen=True, slots=True)
class LengthHistogram:
    """How many chunks have which length, in UTF-16 code units, ascending; all arrays have one shape.

    ``over`` says how many of them have more UTF-8 bytes than the embedder reads tokens; zeros when no limit was given.
    """

    lengths: NDArray[np.int64]
    counts: NDArray[np.int64]
    over: NDArray[np.int64]

    @classmethod
    def of(cls, lengths: NDArray[np.int64], over: NDArray[np.bool_] | None = None) -> LengthHistogram:
        """Count one length for each chunk."""
        values, places = np.unique(lengths, return_inverse=True)
        counts = np.bincount(places, minlength=values.size).astype(np.int64)
        beyond = np.zeros_like(counts) if over is None else _summed(places, over.astype(np.int64), values.size)
        return cls(values.astype(np.int64), counts, beyond)

    def plus(self, other: LengthHistogram) -> LengthHistogram:
        """Both together."""
        values, places = np.unique(np.concatenate((self.lengths, other.lengths)), return_inverse=True)
        counts = _summed(places, np.concatenate((self.counts, other.counts)), values.size)
        over = _summed(places, np.concatenate((self.over, other.over)), values.size)
        return LengthHistogram(values, counts, over)


def _summed(places: NDArray[np.intp], amounts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, places, amounts)
    return sums


EMPTY = LengthHistogram(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True)
class LengthProfile:
    """LengthAnswers over a histogram. ``find_longest`` is called once, when the longest are first asked for.

    Attributes:
        histogram_of_lengths: what every ceiling is answered from.
        basis: ``stored`` or ``counted``.
        find_longest: gives at most MAX_LISTED chunks, longest first.
        note: what was found odd while reading, one sentence.
    """

    histogram_of_lengths: LengthHistogram
    basis: str
    find_longest: Callable[[], Sequence[ChunkLength]] = field(repr=False)
    note: str | None = None

    @property
    def total(self) -> int:
        """All chunks, those with empty or no text too."""
        return int(self.histogram_of_lengths.counts.sum())

    @cached_property
    def longest(self) -> Sequence[ChunkLength]:
        """At most MAX_LISTED chunks, longest first, ties in the order of the source."""
        return tuple(self.find_longest())

    @cached_property
    def _behind(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Sums that make every ceiling one look-up: from each length on, chunks and code units; up to it, ``over``.

        Each has one element more than there are lengths.
        """
        known = self.histogram_of_lengths
        none = np.zeros(1, np.int64)
        chunks = np.concatenate((np.cumsum(known.counts[::-1])[::-1], none))
        chars = np.concatenate((np.cumsum((known.lengths * known.counts)[::-1])[::-1], none))
        return chunks, chars, np.concatenate((none, np.cumsum(known.over)))

    def clip(self, ceiling: int) -> ClipCount:
        """Answer one ceiling: strictly longer chunks are clipped, the rest behind the ceiling is lost."""
        # A record can declare more than an array's numbers hold, and no text is that long.
        first = int(np.searchsorted(self.histogram_of_lengths.lengths, min(ceiling, _LONGEST), side="right"))
        chunks, chars, over = self._behind
        count = int(chunks[first])
        return ClipCount(
            ceiling=ceiling,
            count=count,
            total=int(chunks[0]),
            lost_chars=int(chars[first]) - ceiling * count,
            total_chars=int(chars[0]),
            possible=int(over[first]),
        )

    def histogram(self, width: int) -> NDArray[np.int64]:
        """Chunks by length, in bins of ``width`` code units from 0; shape (bins,), the last bin is not empty.

        Raises:
            ValueError: ``width`` is below 1.
        """
        if width < 1:
            raise ValueError(f"a bin of {width} code units holds nothing")
        known = self.histogram_of_lengths
        bins = known.lengths // width
        return _summed(bins, known.counts, int(bins[-1]) + 1 if bins.size else 0)


class _Longest:
    """The longest rows seen so far: lengths and paging keys."""

    def __init__(self) -> None:
        self.lengths: NDArray[np.int64] = np.empty(0, np.int64)
        self.keys: NDArray[np.int64] = np.empty(0, np.int64)

    def add(self, lengths: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        """Keep the longest of what was there and what comes, ties by key."""
        if lengths.size > MAX_LISTED:
            shortest = np.partition(lengths, -MAX_LISTED)[-MAX_LISTED]
            kept = lengths >= shortest
            lengths, keys = lengths[kept], keys[kept]
        lengths, keys = np.concatenate((self.lengths, lengths)), np.concatenate((self.keys, keys))
        best = np.lexsort((keys, -lengths))[:MAX_LISTED]
        self.lengths, self.keys = lengths[best], keys[best]


def count_lengths(
    cursor: duckdb.DuckDBPyConnection,
    mapping: TableMapping,
    token_limit: int | None,
    job: Job | None = None,
    *,
    note: str | None = None,
) -> LengthProfile:
    """Read every text once, range by range, and keep lengths, not texts. A NULL text has length 0."""
    sql = Expressions(mapping)
    over = "false" if token_limit is None else f"coalesce(strlen({sql.text}) > {int(token_limit)}, false)"
    known, longest = EMPTY, _Longest()
    for where in row_ranges(cursor, sql.table, job, step=_STEP):
        read = cursor.execute(
            f"SELECT coalesce({sql.chars}, 0)::BIGINT AS chars, {over} AS over, {sql.order}::BIGINT AS k"
            f" FROM {sql.table} WHERE {where}"
        ).fetchnumpy()
        lengths, beyond, keys = (np.ma.getdata(read[name]) for name in ("chars", "over", "k"))
        known = known.plus(LengthHistogram.of(lengths, beyond if token_limit is not None else None))
        longest.add(lengths, keys)
    listed = _with_ids(cursor, sql, longest)
    return LengthProfile(known, COUNTED, lambda: listed, note)


def _with_ids(cursor: duckdb.DuckDBPyConnection, sql: Expressions, longest: _Longest) -> tuple[ChunkLength, ...]:
    found = cursor.execute(
        f"SELECT {sql.order}, {sql.id} FROM {sql.table} WHERE {sql.order} IN (SELECT unnest(?::BIGINT[]))",
        [longest.keys.tolist()],
    ).fetchall()
    ids = dict(found)
    return tuple(
        ChunkLength(ids[key], chars)
        for key, chars in zip(longest.keys.tolist(), longest.lengths.tolist(), strict=True)
        if key in ids
    )


def long_texts(
    cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, more_bytes: int, job: Job | None = None
) -> Iterator[Sequence[str]]:
    """Read the texts of more UTF-8 bytes than that, a few thousand rows at a time."""
    sql = Expressions(mapping)
    for where in row_ranges(cursor, sql.table, job, step=_TEXT_STEP):
        rows = cursor.execute(
            f"SELECT {sql.text} FROM {sql.table} WHERE {where} AND strlen({sql.text}) > {int(more_bytes)}"
            f" ORDER BY {sql.order}"
        ).fetchall()
        if rows:
            yield [text for (text,) in rows]


def has_text(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> bool:
    """Whether a text could be read: false when the table has rows and all their texts are NULL."""
    if mapping.text is None:
        return False
    sql = Expressions(mapping)
    if cursor.execute(f"SELECT 1 FROM {sql.table} WHERE {sql.text} IS NOT NULL LIMIT 1").fetchone():
        return True
    return cursor.execute(f"SELECT 1 FROM {sql.table} LIMIT 1").fetchone() is None


def stored_counts_hold(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> bool:
    """Compare some hundred stored counts with their texts, at places spread over the table."""
    sql = Expressions(mapping)
    pairs = [f"coalesce(TRY_CAST({sql.optional(mapping.char_count)} AS BIGINT), -1) <> coalesce({sql.chars}, 0)"]
    if mapping.byte_count is not None:
        stored = f"coalesce(TRY_CAST({sql.optional(mapping.byte_count)} AS BIGINT), -1)"
        pairs.append(f"{stored} <> coalesce(strlen({sql.text}), 0)")
    wrong = " OR ".join(pairs)
    first, last = cursor.execute(f"SELECT min({ROW}), max({ROW}) FROM {sql.table}").fetchone() or (None, None)
    if first is None:
        return True
    spots = sorted({int(spot) // _VECTOR * _VECTOR for spot in np.linspace(first, last, _SAMPLE_SPOTS)})
    sample = " UNION ALL ".join(
        f"SELECT ({wrong}) AS wrong FROM {sql.table} WHERE {ROW} >= {spot} AND {ROW} < {spot + _SAMPLE_ROWS}"
        for spot in spots
    )
    looked, lies = cursor.execute(f"SELECT count(*), count(*) FILTER (WHERE wrong) FROM ({sample})").fetchone() or (
        0,
        0,
    )
    return looked > 0 and not lies


def stored_lengths(
    cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, token_limit: int | None
) -> LengthHistogram | None:
    """Group by the stored count; no text is read. None when it holds what no length can be."""
    sql = Expressions(mapping)
    chars = sql.optional(mapping.char_count).removesuffix("::VARCHAR")
    over = "0"
    if token_limit is not None:
        if mapping.byte_count is None:
            return None
        over = (
            f"count(*) FILTER (WHERE {sql.optional(mapping.byte_count).removesuffix('::VARCHAR')} > {int(token_limit)})"
        )
    try:
        read = cursor.execute(
            f"SELECT {chars}::BIGINT AS chars, count(*) AS rows, {over}::BIGINT AS over"
            f" FROM {sql.table} GROUP BY 1 ORDER BY 1"
        ).fetchnumpy()
    except (duckdb.ConversionException, duckdb.BinderException):
        return None
    lengths = read["chars"]
    if np.ma.is_masked(lengths) or (lengths.size and int(lengths[0]) < 0):
        return None
    return LengthHistogram(*(np.ma.getdata(read[name]).astype(np.int64) for name in ("chars", "rows", "over")))


def longest_stored(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> tuple[ChunkLength, ...]:
    """Return the longest chunks by the stored count, ties in the order of the source."""
    sql = Expressions(mapping)
    chars = sql.optional(mapping.char_count).removesuffix("::VARCHAR")
    found = cursor.execute(
        f"SELECT {sql.id}, {chars}::BIGINT FROM {sql.table} ORDER BY {chars} DESC, {sql.order} LIMIT {MAX_LISTED}"
    ).fetchall()
    return tuple(ChunkLength(id, chars) for id, chars in found)
