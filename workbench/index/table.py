"""A table of a DuckDB file as a namespace: every measurement over one mapping."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from workbench.index.expressions import Expressions
from workbench.index.health import declared_dims, find_unusable, measure_health
from workbench.index.lengths import (
    STORED,
    LengthProfile,
    count_lengths,
    has_text,
    long_texts,
    longest_stored,
    stored_counts_hold,
    stored_lengths,
)
from workbench.index.listing import TableListing, TableListings
from workbench.index.model import DuplicateIds, FingerprintCount
from workbench.index.paging import read_chunk, read_page, read_vector, row_fingerprint
from workbench.index.search import Filters, nearest

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.fingerprint import Fingerprint
    from workbench.core.job import Job
    from workbench.index.mapping import TableMapping
    from workbench.index.model import (
        Chunk,
        ChunkLength,
        ChunkRow,
        SearchResult,
        UnusableRow,
        VectorHealth,
    )
    from workbench.index.query import ListingQuery, SortBy


MAX_FINGERPRINTS = 10_000
"""A column with more values than that names no models, and must not fill the memory."""


class Attached(Protocol):
    """What a namespace needs of an opened file (index/attachment.py)."""

    def cursor(self, job: Job | None = None) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Lend a cursor that sees the file as ``ix``."""


class DuckDBNamespace:
    """Implements model.Namespace over one table. Safe to use from several threads."""

    def __init__(self, attachment: Attached, mapping: TableMapping) -> None:
        self.mapping = mapping
        self._attachment = attachment
        self._lock = threading.Lock()
        self._listings = TableListings(attachment, mapping)
        self._lengths: dict[int | None, LengthProfile] = {}
        self._found_no_text: str | None = None
        self._found_notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As users name it."""
        return self.mapping.namespace

    @property
    def adapter(self) -> str:
        """Which layout."""
        return self.mapping.adapter

    @property
    def recorded(self) -> Fingerprint | None:
        """What a registry or the file's metadata records."""
        return self.mapping.recorded

    @property
    def keeps_records(self) -> bool:
        """Whether this layout keeps a record for each namespace."""
        return self.mapping.keeps_records

    @property
    def declared_dims(self) -> int | None:
        """The length that the column type, else the record, declares."""
        return declared_dims(self.mapping)

    @property
    def max_input_chars(self) -> int | None:
        """The ceiling that the record declares."""
        return self.mapping.max_input_chars

    @property
    def no_text(self) -> str | None:
        """Where the text is, when it is not here; a column of NULLs is known once ``lengths`` was asked."""
        return self.mapping.no_text or self._found_no_text

    @property
    def alternative(self) -> str:
        """The second way out of a refusal."""
        return self.mapping.alternative

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed, and what was found odd since."""
        return self.mapping.notes + self._found_notes

    def count(self, job: Job | None = None) -> int:
        """Rows, with and without a vector."""
        with self._attachment.cursor(job) as cursor:
            row = cursor.execute(f"SELECT count(*) FROM {Expressions(self.mapping).table}").fetchone()
            return int(row[0]) if row else 0

    def fingerprints(self, job: Job | None = None) -> tuple[FingerprintCount, ...]:
        """Count what the vectors say, most frequent first, at most MAX_FINGERPRINTS."""
        if self.mapping.vector is None:
            return ()
        sql = Expressions(self.mapping)
        counts: dict[str, int] = {}
        with self._attachment.cursor(job) as cursor:
            cursor.execute(
                # Rows without a vector are dropped here and not there: a filter would make DuckDB copy the vectors.
                f"SELECT {sql.model}, {sql.length}, count(*) FROM {sql.table} GROUP BY ALL"
                f" ORDER BY count(*) DESC LIMIT {MAX_FINGERPRINTS}"
            )
            for model, length, count in cursor.fetchall():
                if length:
                    said = row_fingerprint(self.mapping, model, length)
                    counts[said] = counts.get(said, 0) + count
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return tuple(FingerprintCount(said, count) for said, count in ordered)

    def health(self, now_ms: int, job: Job | None = None) -> VectorHealth:
        """Count what a search can use, in one scan, no vector fetched."""
        with self._attachment.cursor(job) as cursor:
            return measure_health(cursor, self.mapping, now_ms, job)

    def unusable_rows(self, limit: int, job: Job | None = None) -> tuple[UnusableRow, ...]:
        """Return the first rows that never rank, in the order of the source."""
        with self._attachment.cursor(job) as cursor:
            return find_unusable(cursor, self.mapping, limit, job)

    def lengths(self, token_limit: int | None = None, job: Job | None = None) -> LengthProfile | None:
        """Lengths of all texts; None where no text is stored. Kept: a second call costs nothing."""
        if self.no_text is not None or self.mapping.text is None:
            return None
        with self._lock:
            kept = self._lengths.get(token_limit)
        if kept is not None:
            return kept
        with self._attachment.cursor(job) as cursor:
            profile = self._read_lengths(cursor, token_limit, job)
        with self._lock:
            if profile is None:
                self._found_no_text = "every text in the table is NULL"
            else:
                self._lengths[token_limit] = profile
                if profile.note is not None and profile.note not in self._found_notes:
                    self._found_notes = (*self._found_notes, profile.note)
        return profile

    def _read_lengths(
        self, cursor: duckdb.DuckDBPyConnection, token_limit: int | None, job: Job | None
    ) -> LengthProfile | None:
        if not has_text(cursor, self.mapping):
            return None
        if self.mapping.char_count is None:
            return count_lengths(cursor, self.mapping, token_limit, job)
        if stored_counts_hold(cursor, self.mapping):
            histogram = stored_lengths(cursor, self.mapping, token_limit)
            if histogram is not None:
                return LengthProfile(histogram, STORED, self._longest_stored)
        note = f"column {self.mapping.char_count} does not hold the lengths of the texts, so the texts were read"
        return count_lengths(cursor, self.mapping, token_limit, job, note=note)

    def _longest_stored(self) -> Sequence[ChunkLength]:
        with self._attachment.cursor() as cursor:
            return longest_stored(cursor, self.mapping)

    def long_texts(self, more_bytes: int, job: Job | None = None) -> Iterator[Sequence[str]]:
        """Texts of more UTF-8 bytes than that, in the order of the source, some at a time."""
        if self.mapping.text is None:
            return
        with self._attachment.cursor(job) as cursor:
            yield from long_texts(cursor, self.mapping, more_bytes, job)

    def duplicates(self, job: Job | None = None) -> DuplicateIds:
        """Ids that stand more than once; not counted where a constraint excludes them."""
        if self.mapping.id is None or self.mapping.id_unique:
            return DuplicateIds(0, 0)
        sql = Expressions(self.mapping)
        id = sql.optional(self.mapping.id)
        with self._attachment.cursor(job) as cursor:
            row = cursor.execute(
                f"SELECT count(*), coalesce(sum(rows), 0)::BIGINT FROM (SELECT count(*) AS rows FROM {sql.table}"
                f" WHERE {id} IS NOT NULL GROUP BY {id} HAVING count(*) > 1)"
            ).fetchone() or (0, 0)
        return DuplicateIds(*row)

    def page(self, start: int, limit: int, job: Job | None = None) -> tuple[ChunkRow, ...]:
        """Rows ``start`` (from 0) and following in the order of the source."""
        with self._attachment.cursor(job) as cursor:
            return read_page(cursor, self.mapping, self._listings.page_keys(cursor), start, limit)

    @property
    def sortable(self) -> tuple[SortBy, ...]:
        """What its chunks can be listed by."""
        return self._listings.sortable

    def listing(
        self, query: ListingQuery, job: Job | None = None, found: Callable[[int], None] | None = None
    ) -> TableListing:
        """Count and order the chunks that a query asks for."""
        return self._listings.make(query, job, found)

    def chunk(self, id: str, job: Job | None = None) -> Chunk | None:
        """One chunk; the first when several carry the id."""
        with self._attachment.cursor(job) as cursor:
            return read_chunk(cursor, self.mapping, id)

    def vector(self, id: str, job: Job | None = None) -> NDArray[np.float64] | None:
        """Return the vector of one chunk, shape (length,); NULL elements become NaN."""
        with self._attachment.cursor(job) as cursor:
            return read_vector(cursor, self.mapping, id)

    def search(
        self,
        vector: NDArray[np.float64],
        *,
        k: int,
        now_ms: int,
        tiers: Sequence[str] | None = None,
        without: str | None = None,
        model: str | None = None,
        with_text: bool = True,
        job: Job | None = None,
    ) -> SearchResult:
        """Exact cosine top-k over the usable vectors; see model.Namespace."""
        with self._attachment.cursor(job) as cursor:
            return nearest(
                cursor,
                self.mapping,
                vector,
                k=k,
                now_ms=now_ms,
                filters=Filters(tiers, without, model),
                with_text=with_text,
                job=job,
            )
