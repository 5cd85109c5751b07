"""The native index as a library: namespaces of vectors that refuse what does not fit, on both sides."""

from __future__ import annotations

import contextlib
import io
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from workbench.core.ceiling import ChunkCeiling, resolve_chunk_ceiling
from workbench.core.fingerprint import (
    EmbedderMismatchError,
    Fingerprint,
    fingerprint_conflict,
    fingerprint_text,
)
from workbench.index import opening, schema
from workbench.index.adapters.native import native_mappings
from workbench.index.entry import Entry, as_float32, encode, prepare
from workbench.index.model import Hit, Problem, SourceError
from workbench.index.sql import qualified
from workbench.index.table import DuckDBNamespace
from workbench.index.writing import (
    BatchWriter,
    Target,
    WriteError,
    create_namespace,
    delete_ids,
    drop_namespace,
    touch,
    transaction,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from workbench.index.mapping import TableMapping

__all__ = ["Entry", "StoredNamespace", "VectorStore", "WriteError"]

_MOST_HITS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class StoredNamespace:
    """One namespace: rows with and without a vector, the recorded fingerprint, and the declared input limit."""

    name: str
    count: int
    fingerprint: Fingerprint | None
    max_input_chars: int | None

    @property
    def ceiling(self) -> ChunkCeiling:
        """How many UTF-16 code units of a chunk are read: the declared limit, else the default."""
        return resolve_chunk_ceiling(None, self)


class VectorStore:
    """A native index file. Open it with ``VectorStore.open``; a context manager, safe to share between threads.

    Every method may raise SourceError when the file is locked, gone or damaged; every writing one
    ``io.UnsupportedOperation`` when the store was opened read-only, and WriteError when the database could not write.
    Nothing read from the file is kept between calls, so that a refused or failed write leaves nothing in memory.
    """

    def __init__(self, attachment: opening.Attachment, *, read_only: bool, now: Callable[[], int] | None) -> None:
        self._attachment = attachment
        self._read_only = read_only
        self._now = now or _clock
        self._writing = threading.RLock() if read_only else _lock_of(attachment.path)
        self._dirty = False
        self._closed = False

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, read_only: bool = True, now: Callable[[], int] | None = None
    ) -> VectorStore:
        """Open a native index; with ``read_only=False`` a file that is not there is made.

        ``now`` gives epoch milliseconds, for what is written and for what is expired; the system's clock if None.

        Raises:
            SourceError: the path cannot be read as a native index, another program holds it, or it is too new.
        """
        if not read_only and not os.path.lexists(path):
            # Another program may make it at this very moment: then it is opened like any file that is there.
            with contextlib.suppress(FileExistsError):
                opening.create(path, storage_version=schema.STORAGE_VERSION)
        attachment = opening.attach(path, read_only=read_only)
        try:
            with attachment.cursor() as cursor:
                # A file without a single table is one whose making was interrupted.
                if not read_only and schema.is_empty(cursor):
                    with transaction(cursor):
                        schema.create_registry(cursor)
                schema.require_native(cursor, attachment.path)
        except BaseException:
            attachment.close()
            raise
        return cls(attachment, read_only=read_only, now=now)

    def __enter__(self) -> VectorStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Fold the log of this store's writes into the file and give it up. Safe to call twice."""
        try:
            if self._dirty and not self._closed:
                # Everything is committed already; where this fails, the log stays and is read on the next opening.
                with contextlib.suppress(duckdb.Error), self._attachment.cursor() as cursor:
                    cursor.execute("CHECKPOINT ix")
        finally:
            self._closed = True
            self._attachment.close()

    def namespaces(self) -> tuple[StoredNamespace, ...]:
        """Give all namespaces, empty ones too, in the order of their making."""
        with self._read() as cursor:
            return tuple(
                StoredNamespace(found.namespace, _count(cursor, found), found.recorded, found.max_input_chars)
                for found in native_mappings(cursor)
            )

    def ids(self, namespace: str) -> list[str]:
        """Give the ids of a namespace in the order of their first writing; none for one that is not there."""
        with self._read() as cursor:
            found = _find(cursor, namespace)
            if found is None:
                return []
            table = qualified(found.schema, found.table)
            return [row[0] for row in cursor.execute(f"SELECT id FROM {table} ORDER BY seq").fetchall()]

    def fingerprint_of(self, namespace: str) -> Fingerprint | None:
        """Give what is recorded for a namespace; None before its first vector, or when it is not there."""
        with self._read() as cursor:
            found = _find(cursor, namespace)
            return None if found is None else found.recorded

    def create_namespace(self, name: str, *, max_input_chars: int | None = None) -> None:
        """Make an empty namespace; ``max_input_chars`` (UTF-16 code units) is what its embedder reads of a text.

        Raises:
            ValueError: it is there already, the name is no text, or the limit is no whole number of at least 1.
        """
        encode(name, "the name of a namespace")
        whole = isinstance(max_input_chars, int) and not isinstance(max_input_chars, bool)
        if max_input_chars is not None and not (whole and 1 <= max_input_chars < 2**63):
            raise ValueError(f"max_input_chars must be a whole number of at least 1, not {max_input_chars!r:.80}")
        with self._write() as cursor, transaction(cursor):
            if self._target(cursor, name) is not None:
                raise ValueError(f"namespace {name[:80]!r} is there already; choose another name, or delete it first")
            create_namespace(cursor, name, max_input_chars, self._now())

    def put_many(self, namespace: str, entries: Iterable[Entry], *, embedder_id: str | None) -> int:
        """Write a batch of any size, all of it or nothing; a namespace that is not there is made.

        An entry replaces the one of the same id. The first vector establishes the namespace's fingerprint; a name on
        vectors of an anonymous namespace's length upgrades it. Memory is bounded when ``entries`` is an iterator.

        Returns:
            How many entries were taken.

        Raises:
            EmbedderMismatchError: a vector does not fit those that are there, or those earlier in this batch.
            ValueError: an entry cannot be stored as given; the sentence names its id.
        """
        encode(namespace, "the name of a namespace")
        if embedder_id is not None:
            encode(embedder_id, "embedder_id")
        now_ms, taken = self._now(), 0
        with self._write() as cursor:
            with transaction(cursor):
                target = self._target(cursor, namespace) or create_namespace(cursor, namespace, None, now_ms)
                writer = BatchWriter(cursor, target, now_ms)
                for entry in entries:
                    writer.add(prepare(entry), embedder_id)
                    taken += 1
                count = writer.finish()
            self._confirm(cursor, target, count)
        return taken

    def search(
        self,
        namespace: str,
        vector: ArrayLike,
        *,
        embedder_id: str | None,
        k: float = 10,
        tiers: Sequence[str] | None = None,
    ) -> list[Hit]:
        """Give the ``k`` nearest chunks by cosine, best first, ties by id in UTF-16 order.

        Unusable and expired vectors never rank, nor do those that name another embedder than ``embedder_id``;
        ``tiers`` limits the search to entries of one of these. None for a namespace that is not there or holds no
        vector, and for a query that is zero or not finite.

        Raises:
            EmbedderMismatchError: the query is of another length or another embedder; nothing was scanned.
            ValueError: the query is no flat list of numbers.
        """
        if isinstance(tiers, str):
            raise TypeError("tiers is a list of labels; write [tier] for one")
        given = as_float32(vector, "the query vector")
        query = np.zeros(0) if given is None else given.astype(np.float64)
        labels = None if tiers is None else [tier for tier in tiers if _storable(tier)]
        with self._translated(), self._attachment.hold():
            with self._attachment.cursor() as cursor:
                found = _find(cursor, namespace)
            stored = None if found is None else _fingerprint(found)
            if found is None or stored is None:
                return []
            incoming = Fingerprint(embedder_id, len(query))
            problem = fingerprint_conflict(stored, incoming)
            if problem:
                texts = fingerprint_text(stored), fingerprint_text(incoming)
                raise EmbedderMismatchError(namespace, *texts, problem, "search", found.alternative)
            if found.vector is None or not np.isfinite(query).all() or not query.any():
                return []
            most = max(1, math.floor(min(k, _MOST_HITS)))
            table = DuckDBNamespace(self._attachment, found)
            return list(table.search(query, k=most, now_ms=self._now(), tiers=labels, model=embedder_id).hits)

    def delete(self, namespace: str, ids: Iterable[str]) -> int:
        """Delete entries by id; the fingerprint stays, even with the last of them. Returns how many there were."""
        if isinstance(ids, str):
            raise TypeError("ids is a list of ids; write [id] for one")
        wanted = [id for id in dict.fromkeys(ids) if _storable(id)]
        with self._write() as cursor:
            with transaction(cursor):
                target = self._target(cursor, namespace) if _storable(namespace) else None
                if target is None:
                    return 0
                deleted = delete_ids(cursor, target, wanted)
                count = touch(cursor, target, self._now())
            self._confirm(cursor, target, count)
        return deleted

    def delete_namespace(self, namespace: str) -> bool:
        """Delete a namespace with its entries, its fingerprint and all its generations. Returns whether it was there.

        The only way to clear a fingerprint.
        """
        if not _storable(namespace):
            return False
        with self._write() as cursor, transaction(cursor):
            return drop_namespace(cursor, namespace)

    @contextmanager
    def _read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a cursor for reading."""
        with self._translated(), self._attachment.cursor() as cursor:
            yield cursor

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Say in one sentence what the database could not read."""
        self._check_open()
        try:
            yield
        except duckdb.Error as error:
            raise opening.translate(error, self._attachment.path) from error

    @contextmanager
    def _write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a cursor for writing: one writer of a file at a time in this process."""
        self._check_open()
        if self._read_only:
            raise io.UnsupportedOperation(
                f"{self._attachment.path} was opened read-only; open it with VectorStore.open(path, read_only=False)"
            )
        with self._writing, self._attachment.cursor() as cursor:
            self._dirty = True
            yield cursor

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"the store {self._attachment.path} is closed; open it again")

    def _target(self, cursor: duckdb.DuckDBPyConnection, namespace: str) -> Target | None:
        """Read where a namespace's rows go and what they must fit, in the caller's transaction."""
        row = schema.first_row(
            cursor,
            f"SELECT active_generation FROM {qualified(schema.SCHEMA, schema.NAMESPACES)} WHERE namespace = ?",
            [namespace],
        )
        if row is None:
            return None
        found = _find(cursor, namespace)
        if found is None or not _writable(cursor, found):
            raise SourceError(
                Problem.DAMAGED,
                f"namespace '{namespace}' of {self._attachment.path} cannot be written: its table is not as this "
                "program makes it; import what can be read into a new file",
                container="duckdb",
            )
        record = schema.first_row(
            cursor,
            f"SELECT embedder_fp FROM {qualified(schema.SCHEMA, schema.GENERATIONS)} WHERE generation = ?",
            [row[0]],
        )
        return Target(
            namespace=namespace,
            generation=int(row[0]),
            table=found.table,
            stored=_fingerprint(found),
            record=None if record is None else record[0],
            column=found.vector is not None,
        )

    def _confirm(self, cursor: duckdb.DuckDBPyConnection, target: Target, count: int) -> None:
        """Read back what was committed: a commit that returns has not always been one."""
        table, generations = qualified(schema.SCHEMA, target.table), qualified(schema.SCHEMA, schema.GENERATIONS)
        row = schema.first_row(
            cursor,
            f"SELECT embedder_fp, row_count, (SELECT count(*) FROM {table}) FROM {generations} WHERE generation = ?",
            [target.generation],
        )
        if row != (target.record, count, count):
            raise WriteError(
                f"the last write into namespace '{target.namespace}' of {self._attachment.path} did not last; "
                "open the file again and repeat it"
            )


def _find(cursor: duckdb.DuckDBPyConnection, namespace: str) -> TableMapping | None:
    return next(iter(native_mappings(cursor, namespace)), None) if _storable(namespace) else None


def _writable(cursor: duckdb.DuckDBPyConnection, found: TableMapping) -> bool:
    """Whether a table is as this program makes it: all columns, the key, vectors of the recorded length."""
    columns = schema.base_tables(cursor, [found.table]).get(found.table, {})
    fits = found.vector is None or (found.recorded is None or found.recorded.dims == found.fixed_dims)
    return schema.CHUNK_COLUMNS.items() <= columns.items() and found.id_unique and fits


def _fingerprint(found: TableMapping) -> Fingerprint | None:
    """Give what vectors of this namespace must fit: the record; without one, the length of its vector column."""
    if found.recorded is None and found.fixed_dims is not None:
        return Fingerprint(None, found.fixed_dims)
    return found.recorded


def _count(cursor: duckdb.DuckDBPyConnection, found: TableMapping) -> int:
    row = schema.first_row(cursor, f"SELECT count(*) FROM {qualified(found.schema, found.table)}")
    return int(row[0]) if row else 0


def _storable(text: object) -> bool:
    """Whether ``text`` can be in a file at all: half a surrogate pair cannot, and cannot be asked for either."""
    if not isinstance(text, str):
        raise TypeError(f"expected a string, not {type(text).__name__}")
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _clock() -> int:
    return time.time_ns() // 1_000_000


_locks: dict[tuple[int, int], threading.RLock] = {}
_locks_guard = threading.Lock()


def _lock_of(path: str) -> threading.RLock:
    """Give the one lock of a file's writers in this process, whatever name the file came under."""
    found = os.stat(path)
    with _locks_guard:
        return _locks.setdefault((found.st_dev, found.st_ino), threading.RLock())
