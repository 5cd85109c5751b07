"""One namespace of the seed library's SQLite file: counted, measured, paged and searched without loading it whole."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.fingerprint import Fingerprint, fingerprint_text, parse_fingerprint
from workbench.core.text import utf16_length
from workbench.index import blob_vectors
from workbench.index.adapters.agentfootprint_listing import SORTABLE, RowListing, find_rows, shown_sql
from workbench.index.blob_vectors import BlobRow, Nearest, Tally
from workbench.index.lengths import COUNTED, EMPTY, LengthHistogram, LengthProfile
from workbench.index.model import (
    MAX_LISTED,
    Chunk,
    ChunkLength,
    ChunkRow,
    DuplicateIds,
    FingerprintCount,
    Hit,
    SearchResult,
    Unusable,
    UnusableRow,
    VectorHealth,
)

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.index.model import LengthAnswers
    from workbench.index.opening import SqliteFile
    from workbench.index.query import ListingQuery, SortBy

_ALTERNATIVE = "open the vectors of the second embedder from another SQLite file"
_PREVIEW = 200
_STEP = 2_000
_BOUND_AT_ONCE = 500

_BYTES = "CASE typeof(embedding) WHEN 'blob' THEN length(embedding) ELSE length(CAST(embedding AS BLOB)) END"
_TTL = "CASE WHEN typeof(ttl) IN ('integer', 'real') THEN ttl END"
_HERE = "FROM af_vectors WHERE namespace = CAST(? AS TEXT)"


def as_text(raw: bytes) -> str:
    """Decode a text of the file; bytes that are no UTF-8 are kept as lone surrogates, so that nothing is lost."""
    return raw.decode("utf-8", "surrogateescape")


def _bound(text: str) -> str | bytes:
    """Make a text of the file a parameter again, whatever bytes it stands for."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape")


class AgentfootprintNamespace:
    """All rows under one name. What a row is follows the seed: its blob decides the length, not its ``dims``."""

    def __init__(self, file: SqliteFile, name: str, recorded: Fingerprint | None, *, keeps_records: bool) -> None:
        self._file = file
        self._name = name
        self._recorded = recorded
        self._keeps_records = keeps_records
        self._key = _bound(name)
        self._rowids: NDArray[np.int64] | None = None
        self._measured: dict[int | None, LengthProfile] = {}

    @property
    def name(self) -> str:
        """Tenant, principal and conversation, as the seed joins and escapes them."""
        return self._name

    @property
    def adapter(self) -> str:
        """Always agentfootprint."""
        return "agentfootprint"

    @property
    def recorded(self) -> Fingerprint | None:
        """The ``fp:`` row."""
        return self._recorded

    @property
    def keeps_records(self) -> bool:
        """Whether the file has the table of records."""
        return self._keeps_records

    @property
    def declared_dims(self) -> int | None:
        """The length that the record declares, when it is one."""
        dims = None if self._recorded is None else self._recorded.dims
        return int(dims) if dims is not None and dims >= 1 and dims == int(dims) else None

    @property
    def max_input_chars(self) -> int | None:
        """Never recorded by this layout."""
        return None

    @property
    def no_text(self) -> str | None:
        """Texts are here, inside the stored value."""
        return None

    @property
    def alternative(self) -> str:
        """Another file: what the seed's SQLite store offers."""
        return _ALTERNATIVE

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing is guessed."""
        return ()

    def count(self, job: Job | None = None) -> int:
        """Count all rows, expired ones too."""
        with self._file.cursor(job) as connection:
            return int(connection.execute(f"SELECT count(*) {_HERE}", (self._key,)).fetchone()[0])

    def fingerprints(self, job: Job | None = None) -> tuple[FingerprintCount, ...]:
        """Take the id from each row's ``embedder_fp`` and the length from its blob."""
        found: Counter[str] = Counter()
        for stored, length, count in self._said(job):
            id = None if stored is None else parse_fingerprint(stored).id
            found[fingerprint_text(Fingerprint(id, length))] += count
        ordered = sorted(found.items(), key=lambda each: (-each[1], each[0]))
        return tuple(FingerprintCount(text, count) for text, count in ordered)

    def health(self, now_ms: int, job: Job | None = None) -> VectorHealth:
        """Judge every vector in float64, a few megabytes at a time."""
        dims = self._dims(job)
        tally, expired = Tally(), 0
        for batch in self._batches(now_ms, job):
            tally.add(blob_vectors.judge(batch, dims))
            expired += sum(not row.live for row in batch)
        norm, norm_bins = tally.sizes()
        return VectorHealth(
            count=tally.rows,
            dims=dims,
            missing=tally.reasons[Unusable.MISSING],
            wrong_dims=tally.reasons[Unusable.WRONG_DIMS],
            non_finite=tally.reasons[Unusable.NON_FINITE],
            zero=tally.reasons[Unusable.ZERO],
            expired=expired,
            norm=norm,
            norm_bins=norm_bins,
        )

    def unusable_rows(self, limit: int, job: Job | None = None) -> tuple[UnusableRow, ...]:
        """List the first rows that never rank, in the order of the file."""
        dims = self._dims(job)
        found: list[UnusableRow] = []
        for batch in self._batches(0, job):
            judged = blob_vectors.judge(batch, dims)
            found += (
                UnusableRow(row.id, blob_vectors.flaw(row, reason), blob_vectors.detail(row, reason, dims))
                for row, reason in zip(batch, judged.reasons, strict=True)
                if reason is not None
            )
            if len(found) >= limit:
                break
        return tuple(found[:limit])

    def lengths(self, token_limit: int | None = None, job: Job | None = None) -> LengthAnswers | None:
        """Read every text once and keep the lengths; a row without text counts as empty."""
        if token_limit not in self._measured:
            self._measured[token_limit] = self._measure(token_limit, job)
        return self._measured[token_limit]

    def _measure(self, token_limit: int | None, job: Job | None) -> LengthProfile:
        known, longest = EMPTY, LongestTexts()
        for lengths, bytes_, ids in self._text_sizes(job):
            over = None if token_limit is None else bytes_ > token_limit
            known = known.plus(LengthHistogram.of(lengths, over))
            longest.add(lengths, ids)
        return LengthProfile(known, COUNTED, lambda: longest.found)

    def _text_sizes(self, job: Job | None) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], list[str]]]:
        """Give UTF-16 lengths, UTF-8 lengths and ids of the texts, some thousand rows at a time."""
        total = self.count(job)
        done = 0
        with self._file.cursor(job) as connection:
            connection.text_factory = as_text
            rows = connection.execute(f"SELECT CAST(id AS TEXT), value {_HERE} ORDER BY rowid", (self._key,))
            while sized := [(str(id), *_sizes(value)) for id, value in islice(rows, _STEP)]:
                ids, chars, bytes_ = zip(*sized, strict=True)
                yield np.array(chars, np.int64), np.array(bytes_, np.int64), list(ids)
                done += len(sized)
                if job is not None:
                    job.progress(done, max(total, done))

    def long_texts(self, more_bytes: int, job: Job | None = None) -> Iterator[Sequence[str]]:
        """Texts of more UTF-8 bytes than that, in the order of the source, some at a time."""
        with self._file.cursor(job) as connection:
            connection.text_factory = as_text
            rows = connection.execute(f"SELECT value {_HERE} ORDER BY rowid", (self._key,))
            while read := list(islice(rows, _STEP)):
                if job is not None:
                    job.checkpoint()
                texts = [StoredValue(value).text or "" for (value,) in read]
                yield [text for text in texts if len(text.encode("utf-8", "surrogatepass")) > more_bytes]

    def duplicates(self, job: Job | None = None) -> DuplicateIds:
        """Count ids on several rows; a file with the seed's primary key has none."""
        repeated = f"SELECT count(*) AS times {_HERE} GROUP BY id HAVING count(*) > 1"
        with self._file.cursor(job) as connection:
            row = connection.execute(f"SELECT count(*), total(times) FROM ({repeated})", (self._key,)).fetchone()
        return DuplicateIds(int(row[0]), int(row[1]))

    def page(self, start: int, limit: int, job: Job | None = None) -> tuple[ChunkRow, ...]:
        """Read a page from its first rowid on; the rowids are read once and kept, 8 bytes a row."""
        rowids = self._all_rowids(job)
        if start < 0 or start >= rowids.size or limit <= 0:
            return ()
        columns = f"CAST(id AS TEXT), value, source_uri, embedder_fp, {_BYTES}"
        sql = f"SELECT {columns} {_HERE} AND rowid >= ? ORDER BY rowid LIMIT ?"
        with self._file.cursor(job) as connection:
            connection.text_factory = as_text
            rows = connection.execute(sql, (self._key, int(rowids[start]), limit))
            return tuple(_chunk_row(start + at, *row) for at, row in enumerate(rows))

    @property
    def sortable(self) -> tuple[SortBy, ...]:
        """Everything: the layout has a column, or the value a field, for each."""
        return SORTABLE

    def listing(
        self, query: ListingQuery, job: Job | None = None, found: Callable[[int], None] | None = None
    ) -> RowListing:
        """Count and order the rows that a query asks for; only their rowids are kept."""

        def checked(count: int) -> None:
            if job is not None:
                job.checkpoint()
            if found is not None:
                found(count)

        with self._file.cursor(job) as connection:
            connection.text_factory = as_text
            rowids = find_rows(connection, self._key, query, StoredValue, checked)
        return RowListing(self, query, shown_sql(self._name, query), rowids)

    def rows_at(self, rowids: Sequence[int], start: int, job: Job | None) -> tuple[ChunkRow, ...]:
        """Read rows in the order given, the first as row ``start``; one that is gone is left out."""
        columns = f"rowid, CAST(id AS TEXT), value, source_uri, embedder_fp, {_BYTES}"
        rows: dict[int, tuple[Any, ...]] = {}
        with self._file.cursor(job) as connection:
            connection.text_factory = as_text
            for first in range(0, len(rowids), _BOUND_AT_ONCE):
                some = rowids[first : first + _BOUND_AT_ONCE]
                marks = ", ".join("?" * len(some))
                for rowid, *row in connection.execute(
                    f"SELECT {columns} FROM af_vectors WHERE rowid IN ({marks})", some
                ):
                    rows[rowid] = tuple(row)
        return tuple(_chunk_row(start + at, *rows[rowid]) for at, rowid in enumerate(rowids) if rowid in rows)

    def rowids_with(self, id: str, job: Job | None) -> list[int]:
        """Find the rows that carry an id, in the order of the file."""
        with self._file.cursor(job) as connection:
            rows = connection.execute(
                f"SELECT rowid {_HERE} AND id = CAST(? AS TEXT) ORDER BY rowid", (self._key, _bound(id))
            )
            return [int(row[0]) for row in rows]

    def chunk(self, id: str, job: Job | None = None) -> Chunk | None:
        """Read one row whole, its vector only as length and norm."""
        rowids = self.rowids_with(id, job)
        return self.chunk_at(rowids[0], job) if rowids else None

    def chunk_at(self, rowid: int, job: Job | None) -> Chunk | None:
        """Read the row of a number whole."""
        columns = "CAST(id AS TEXT), value, metadata, source_uri, embedder_fp, CAST(embedding AS BLOB)"
        with self._file.cursor(job) as connection:
            connection.text_factory = as_text
            row = connection.execute(f"SELECT {columns} FROM af_vectors WHERE rowid = ?", (rowid,)).fetchone()
        if row is None:
            return None
        stored_id, value, metadata, source, stored, blob = row
        told = StoredValue(value)
        vector = blob_vectors.decode(blob) if blob else None
        return Chunk(
            id=str(stored_id),
            text=told.text,
            chars=None if told.text is None else utf16_length(told.text),
            metadata=told.metadata if metadata is None else str(metadata),
            fingerprint=None if vector is None else _fingerprint(stored, vector.size),
            dims=None if vector is None else int(vector.size),
            norm=None if vector is None else float(np.sqrt(np.square(vector).sum())),
            source=told.source if source is None else str(source),
        )

    def vector(self, id: str, job: Job | None = None) -> NDArray[np.float64] | None:
        """Decode the vector of one row."""
        row = self._one("CAST(embedding AS BLOB)", id, job)
        return blob_vectors.decode(row[0]) if row is not None and row[0] else None

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
        """Score every usable row in float64; ``tiers`` leaves out rows of no tier, as the seed does."""
        dims = self._dims(job)
        if dims is not None and vector.size != dims:
            raise ValueError(f"the query has {vector.size} numbers, the namespace has vectors of {dims}")
        nearest, tally = Nearest(vector, max(k, 0), without), Tally()
        for batch in self._batches(now_ms, job, tiers, model):
            judged = blob_vectors.judge(batch, dims)
            tally.add(judged)
            nearest.add(judged)
        with self._file.cursor(job) as connection:
            sql = f"SELECT count(*) {_HERE} AND {_TTL} <= ?"
            expired = int(connection.execute(sql, (self._key, now_ms)).fetchone()[0])
        texts = self._texts([each.rowid for each in nearest.best], job) if with_text else {}
        hits = tuple(
            Hit(each.id, each.score, None if text is None else utf16_length(text), text)
            for each in nearest.best
            for text in (texts.get(each.rowid),)
        )
        return SearchResult(hits, tally.unusable, tally.reasons[Unusable.MISSING], expired, tally.other_model)

    def _said(self, job: Job | None) -> list[tuple[str | None, int, int]]:
        """Give each distinct fingerprint and length with its count; a blob cut inside an element counts whole ones."""
        sql = (
            f"SELECT CAST(embedder_fp AS TEXT), {_BYTES} / {blob_vectors.ITEM}, count(*) {_HERE}"
            f" AND embedding IS NOT NULL AND {_BYTES} > 0 GROUP BY 1, 2"
        )
        with self._file.cursor(job) as connection:
            connection.text_factory = as_text
            return [
                (stored, int(length), int(count)) for stored, length, count in connection.execute(sql, (self._key,))
            ]

    def _dims(self, job: Job | None) -> int | None:
        """Find the declared length, else the most frequent one, the smaller on a tie."""
        if self.declared_dims is not None:
            return self.declared_dims
        lengths: Counter[int] = Counter()
        for _, length, count in self._said(job):
            lengths[length] += count
        return min(lengths, key=lambda length: (-lengths[length], length)) if lengths else None

    def _batches(
        self, now_ms: int, job: Job | None, tiers: Sequence[str] | None = None, model: str | None = None
    ) -> Iterator[list[BlobRow]]:
        """Give all rows in the order of the file; a row is live when it is not expired and of one of the tiers."""
        total = self.count(job)
        done = 0
        with self._file.cursor(job) as connection:
            connection.text_factory = as_text
            named = "NULL" if model is None else "CAST(embedder_fp AS TEXT)"
            columns = f"rowid, CAST(id AS TEXT), CAST(embedding AS BLOB), {_TTL}, tier, {named}"
            rows = (
                BlobRow(
                    rowid,
                    str(id),
                    blob,
                    (ttl is None or ttl > now_ms) and (tiers is None or tier in tiers),
                    model is not None and stored is not None and parse_fingerprint(stored).id not in (None, model),
                )
                for rowid, id, blob, ttl, tier, stored in connection.execute(
                    f"SELECT {columns} {_HERE} ORDER BY rowid", (self._key,)
                )
            )
            for batch in blob_vectors.batches(rows):
                yield batch
                done += len(batch)
                if job is not None:
                    job.progress(done, max(total, done))

    def _all_rowids(self, job: Job | None) -> NDArray[np.int64]:
        if self._rowids is None:
            with self._file.cursor(job) as connection:
                rows = connection.execute(f"SELECT rowid {_HERE} ORDER BY rowid", (self._key,))
                self._rowids = np.fromiter((row[0] for row in rows), np.int64)
        return self._rowids

    def _one(self, columns: str, id: str, job: Job | None) -> tuple[Any, ...] | None:
        sql = f"SELECT {columns} {_HERE} AND id = CAST(? AS TEXT) ORDER BY rowid LIMIT 1"
        with self._file.cursor(job) as connection:
            connection.text_factory = as_text
            row = connection.execute(sql, (self._key, _bound(id))).fetchone()
        return None if row is None else tuple(row)

    def _texts(self, rowids: Sequence[int], job: Job | None) -> dict[int, str | None]:
        with self._file.cursor(job) as connection:
            connection.text_factory = as_text
            sql = "SELECT value FROM af_vectors WHERE rowid = ?"
            return {rowid: StoredValue(connection.execute(sql, (rowid,)).fetchone()[0]).text for rowid in rowids}


class LongestTexts:
    """The longest chunks seen so far, longest first, ties in the order of the file."""

    def __init__(self) -> None:
        self.found: tuple[ChunkLength, ...] = ()

    def add(self, lengths: NDArray[np.int64], ids: Sequence[str]) -> None:
        """Take the next rows of the file into account."""
        shortest = self.found[-1].chars if len(self.found) == MAX_LISTED else -1
        longer = [ChunkLength(ids[at], int(lengths[at])) for at in np.flatnonzero(lengths > shortest).tolist()]
        if longer:
            self.found = tuple(sorted((*self.found, *longer), key=lambda each: -each.chars)[:MAX_LISTED])


class StoredValue:
    """The JSON value of one row: a chunk, a document or a message. What is no JSON object says nothing."""

    def __init__(self, stored: object) -> None:
        self._fields: dict[str, object] = {}
        try:
            value = json.loads(stored) if isinstance(stored, str) else None
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            self._fields = value

    @property
    def text(self) -> str | None:
        """``content`` when it is a string, else ``text``."""
        content = self._string("content")
        return self._string("text") if content is None else content

    @property
    def source(self) -> str | None:
        """Where the text came from, as the value says."""
        return self._string("docUri")

    @property
    def metadata(self) -> str | None:
        """The metadata inside the value, as JSON text."""
        inside = self._fields.get("metadata")
        return None if inside is None else json.dumps(inside, ensure_ascii=False)

    @property
    def rest(self) -> dict[str, object]:
        """What the value says besides."""
        known = ("metadata", "docUri", "content" if self._string("content") is not None else "text")
        return {key: value for key, value in self._fields.items() if key not in known}

    def _string(self, key: str) -> str | None:
        found = self._fields.get(key)
        return found if isinstance(found, str) else None


def _sizes(value: object) -> tuple[int, int]:
    """Give the length of a row's text in UTF-16 code units and in UTF-8 bytes."""
    text = StoredValue(value).text or ""
    return utf16_length(text), len(text.encode("utf-8", "surrogatepass"))


def _fingerprint(stored: object, length: int) -> str:
    return fingerprint_text(Fingerprint(parse_fingerprint(str(stored)).id if stored is not None else None, length))


def _chunk_row(position: int, id: object, value: object, source: object, stored: object, size: int | None) -> ChunkRow:
    told = StoredValue(value)
    dims = size // blob_vectors.ITEM if size else None
    return ChunkRow(
        position=position,
        id=str(id),
        chars=None if told.text is None else utf16_length(told.text),
        preview=(told.text or "")[:_PREVIEW],
        fingerprint=None if dims is None else _fingerprint(stored, dims),
        dims=dims,
        source=told.source if source is None else str(source),
    )
