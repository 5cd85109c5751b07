"""Writing into the native index: one transaction a batch, the fingerprint with its rows, memory bounded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from workbench.core.fingerprint import (
    EmbedderMismatchError,
    Fingerprint,
    fingerprint_conflict,
    fingerprint_text,
    parse_fingerprint,
)
from workbench.index.schema import (
    ALTERNATIVE,
    CHUNK_COLUMNS,
    EMBEDDING,
    GENERATIONS,
    META,
    NAMESPACES,
    SCHEMA,
    chunk_table,
    create_chunks,
    first_row,
)
from workbench.index.sql import CATALOG, qualified

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.index.entry import PreparedEntry

_ROWS = 2_048
_VECTOR_BYTES = 16 * 2**20
_TEXT_BYTES = 16 * 2**20
_COMMIT = "COMMIT"
_INCOMING = "workbench_incoming"

_SETTERS = {
    "text": "text::VARCHAR",
    "char_count": "char_count",
    "byte_count": "byte_count",
    "content_hash": "content_hash::VARCHAR",
    "metadata": "metadata::VARCHAR::JSON",
    "source_uri": "source_uri::VARCHAR",
    "embedder_fp": "embedder_fp::VARCHAR",
    "tier": "tier::VARCHAR",
    "expires_ms": "CASE WHEN expires THEN expires_ms END",
    "updated_ms": "$now",
}
# The driver takes a NaN within an array for a missing element; there are no missing ones among these.
_VECTOR = (
    "CASE WHEN has_nan THEN list_transform(embedding, lambda x: coalesce(x, 'nan'::FLOAT))::FLOAT[{dims}]"
    " WHEN has_vector THEN embedding::FLOAT[{dims}] END"
)
_FIXED = ("seq", "id", "created_ms")
_PROVENANCE = {
    "extra": "extra::VARCHAR::JSON",
    "parent_id": "parent_id::VARCHAR",
    "char_start": "char_start::BIGINT",
    "char_end": "char_end::BIGINT",
    "read_chars": "read_chars::BIGINT",
}
"""What only an import fills in; an entry that is put says nothing of it."""


class WriteError(Exception):
    """A write that the database could not do, for example on a full disk: one sentence.

    A batch is in the file whole or not at all. Which of both is said, unless the commit itself failed.
    """


@dataclass(slots=True)
class Target:
    """The generation that a batch goes into. Read in the batch's own transaction and never kept longer.

    Attributes:
        stored: what vectors must fit: the record; for vectors without one, ``?@<their length>``.
        record: the text of the record, None when there is none.
        column: whether the table has its vector column.
    """

    namespace: str
    generation: int
    table: str
    stored: Fingerprint | None
    record: str | None
    column: bool


@contextmanager
def transaction(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Run a block as one transaction: all of it or nothing.

    After an error a commit would return and have rolled back, so the first exception rolls back and is raised again.

    Raises:
        WriteError: the database could not do it.
    """
    committing = False
    try:
        cursor.execute("BEGIN TRANSACTION")
        yield
        committing = True
        cursor.execute(_COMMIT)
    except BaseException as error:
        # The database has rolled back by itself when the commit failed, and then there is no transaction to end.
        with contextlib.suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        if isinstance(error, duckdb.Error):
            # A checkpoint that fails behind a commit fails the statement, and what was committed stays.
            outcome = (
                "the write was not confirmed, and is in the file whole or not at all"
                if committing
                else ("nothing was written")
            )
            words = str(error).splitlines()[0]
            raise WriteError(f"{outcome}: {words}; free some disk space or memory, and open the file again") from error
        raise


def create_namespace(
    cursor: duckdb.DuckDBPyConnection, namespace: str, max_input_chars: int | None, now_ms: int
) -> Target:
    """Make a namespace with its first generation and table, in the transaction of the caller."""
    generation, table = free_generation(cursor)
    create_chunks(cursor, table)
    cursor.execute(
        f"INSERT INTO {qualified(SCHEMA, GENERATIONS)} (generation, namespace, table_name, max_input_chars,"
        " ceiling_source, row_count, state, created_ms, activated_ms) VALUES (?, ?, ?, ?, ?, 0, 'active', ?, ?)",
        [generation, namespace, table, max_input_chars, "embedder" if max_input_chars else None, now_ms, now_ms],
    )
    cursor.execute(
        f"INSERT INTO {qualified(SCHEMA, NAMESPACES)} VALUES (?, ?, 'cosine', ?, ?)",
        [namespace, generation, now_ms, now_ms],
    )
    return Target(namespace, generation, table, stored=None, record=None, column=False)


def free_generation(cursor: duckdb.DuckDBPyConnection) -> tuple[int, str]:
    """Give the next number whose table name is free too, and that name."""
    row = first_row(cursor, f"SELECT coalesce(max(generation), 0) FROM {qualified(SCHEMA, GENERATIONS)}")
    generation = int(row[0]) if row else 0
    taken = {
        name.lower()
        for (name,) in cursor.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = $1 AND schema_name = $2"
            " UNION ALL SELECT view_name FROM duckdb_views() WHERE database_name = $1 AND schema_name = $2",
            [CATALOG, SCHEMA],
        ).fetchall()
    }
    while chunk_table(generation := generation + 1) in taken:
        pass
    return generation, chunk_table(generation)


class BatchWriter:
    """Takes entries one by one and writes them in groups, all in the transaction of the caller.

    The outcome is that of one put after the other: the last of several entries with one id wins, a replaced entry
    keeps its place (``seq``) and the time of its making, and each vector meets the fingerprint that stands by then.
    """

    def __init__(
        self, cursor: duckdb.DuckDBPyConnection, target: Target, now_ms: int, *, provenance: bool = False
    ) -> None:
        self._provenance = provenance
        self._cursor = cursor
        self._target = target
        self._now_ms = now_ms
        self._admitted: dict[Fingerprint, str] = {}
        self._slots: dict[str, int] = {}
        self._text_bytes = 0
        self._dims = 0
        self._shown = 0
        self._columns: dict[str, NDArray[Any]] = {
            name: np.empty(_ROWS, kind)
            for name, kind in {
                "seq": np.int64,
                "id": object,
                "text": object,
                "char_count": np.int64,
                "byte_count": np.int64,
                "content_hash": object,
                "metadata": object,
                "source_uri": object,
                "embedder_fp": object,
                "tier": object,
                "expires": np.bool_,
                "expires_ms": np.int64,
                "has_vector": np.bool_,
                "has_nan": np.bool_,
            }.items()
        }
        if provenance:
            self._columns |= {name: np.empty(_ROWS, object) for name in _PROVENANCE}
        self._matrix = np.empty((0, 0), np.float32)
        self._capacity = _ROWS
        row = first_row(cursor, f"SELECT max(seq), count(*) FROM {self._table}")
        top, count = row if row else (None, 0)
        self._next_seq = 0 if top is None else int(top) + 1
        self._maybe_known = count > 0

    def add(self, entry: PreparedEntry, embedder_id: str | None) -> None:
        """Take one entry; the call's ``embedder_id`` holds where the entry names none.

        Raises:
            EmbedderMismatchError: the vector does not fit what is stored; the caller's transaction must end.
        """
        fingerprint = None
        if entry.vector is not None:
            own = entry.embedder_id if entry.embedder_id is not None else embedder_id
            fingerprint = self._admit(Fingerprint(own, len(entry.vector)))
        slot = self._slots.get(entry.id)
        if slot is None:
            if len(self._slots) >= self._capacity or self._text_bytes >= _TEXT_BYTES:
                self.flush()
            slot = self._slots[entry.id] = len(self._slots)
            self._columns["seq"][slot] = self._next_seq
            self._next_seq += 1
        self._fill(slot, entry, fingerprint)

    def flush(self) -> None:
        """Write what was taken so far."""
        rows = len(self._slots)
        if not rows:
            return
        setters = {**_SETTERS, **(_PROVENANCE if self._provenance else {})}
        if self._target.column:
            setters[EMBEDDING] = _VECTOR.format(dims=self._dims) if self._dims else "NULL"
        fixed = {"seq": "seq", "id": "id::VARCHAR", "created_ms": "$now"}
        names = ", ".join([*fixed, *setters])
        values = ", ".join([*fixed.values(), *setters.values()])
        statement = f"INSERT INTO {self._table} ({names}) SELECT {values} FROM {_INCOMING}"
        self._show(rows)
        if self._maybe_known and self._any_known():
            # What this call does not say is not kept from the entry that was there before.
            kept = {*_FIXED, *setters}
            updates = [f"{name} = excluded.{name}" for name in setters]
            updates += [f"{name} = NULL" for name in CHUNK_COLUMNS if name not in kept]
            statement += f" ON CONFLICT (id) DO UPDATE SET {', '.join(updates)}"
        self._cursor.execute(statement, {"now": self._now_ms}).fetchall()
        self._slots.clear()
        self._text_bytes = 0
        self._maybe_known = True

    def finish(self) -> int:
        """Write the rest and the namespace's own facts. Returns the rows that the namespace now has."""
        self.flush()
        return touch(self._cursor, self._target, self._now_ms)

    @property
    def _table(self) -> str:
        return qualified(SCHEMA, self._target.table)

    def _any_known(self) -> bool:
        """Look for ids that are there already; a plain insert, when there are none, is twice as fast."""
        row = first_row(
            self._cursor,
            f"SELECT count(*) FROM {self._table} SEMI JOIN (SELECT id::VARCHAR AS id FROM {_INCOMING}) USING (id)",
        )
        return row is None or row[0] > 0

    def _admit(self, incoming: Fingerprint) -> str:
        """Hold one vector's fingerprint against the namespace's; establish or upgrade that. Returns its text."""
        known = self._admitted.get(incoming)
        if known is not None:
            return known
        target, text = self._target, fingerprint_text(incoming)
        if target.stored is not None:
            problem = fingerprint_conflict(target.stored, incoming)
            if problem:
                indexed = fingerprint_text(target.stored)
                raise EmbedderMismatchError(target.namespace, indexed, text, problem, "write to", ALTERNATIVE)
        upgrade = target.stored is None or (target.stored.id is None and incoming.id is not None)
        if upgrade or target.record is None:
            self._record(text if upgrade or target.stored is None else fingerprint_text(target.stored))
        self._make_room(int(incoming.dims))
        self._admitted[incoming] = text
        return text

    def _record(self, text: str) -> None:
        target, fingerprint = self._target, parse_fingerprint(text)
        if text != target.record:
            self._cursor.execute(
                f"UPDATE {qualified(SCHEMA, GENERATIONS)} SET embedder_fp = ?, dims = ? WHERE generation = ?",
                [text, int(fingerprint.dims), target.generation],
            )
            # What was admitted before may not be any more: an empty id is recorded, and reads back as anonymous.
            self._admitted.clear()
        target.stored, target.record = fingerprint, text

    def _make_room(self, dims: int) -> None:
        """Make the column of the first vectors, in the transaction that records them, and the buffer for them."""
        if self._dims:
            return
        # Rows taken before have no vector: they go first, into the table as it is.
        self.flush()
        if not self._target.column:
            self._cursor.execute(f"ALTER TABLE {self._table} ADD COLUMN {EMBEDDING} FLOAT[{dims}]")
            self._target.column = True
        self._dims = dims
        self._capacity = max(1, min(_ROWS, _VECTOR_BYTES // (4 * dims)))
        self._matrix = np.zeros((self._capacity, dims), np.float32)
        vectors = np.empty(_ROWS, object)
        vectors[: self._capacity] = list(self._matrix)
        self._columns[EMBEDDING] = vectors
        self._shown = 0

    def _show(self, rows: int) -> None:
        """Show the database the first rows of the buffers; what it is shown, it converts whole.

        What is registered in a transaction lives until its end, so full buffers are shown once and filled again.
        """
        if rows != self._shown:
            self._cursor.register(_INCOMING, {name: column[:rows] for name, column in self._columns.items()})
            self._shown = rows

    def _fill(self, slot: int, entry: PreparedEntry, fingerprint: str | None) -> None:
        columns = self._columns
        columns["id"][slot] = entry.id
        columns["text"][slot] = entry.text
        columns["char_count"][slot] = entry.char_count
        columns["byte_count"][slot] = entry.byte_count
        columns["content_hash"][slot] = entry.content_hash
        columns["metadata"][slot] = entry.metadata
        columns["source_uri"][slot] = entry.source_uri
        columns["embedder_fp"][slot] = fingerprint
        columns["tier"][slot] = entry.tier
        if self._provenance:
            for name in _PROVENANCE:
                columns[name][slot] = getattr(entry.provenance, name, None)
        columns["expires"][slot] = entry.expires_ms is not None
        columns["expires_ms"][slot] = entry.expires_ms or 0
        columns["has_vector"][slot] = entry.vector is not None
        columns["has_nan"][slot] = False
        if entry.vector is not None:
            self._matrix[slot] = entry.vector
            columns["has_nan"][slot] = np.isnan(entry.vector).any()
        self._text_bytes += entry.byte_count + len(entry.metadata or "")


def touch(cursor: duckdb.DuckDBPyConnection, target: Target, now_ms: int) -> int:
    """Record how many rows the generation has and when it was written. Returns the rows."""
    row = first_row(cursor, f"SELECT count(*) FROM {qualified(SCHEMA, target.table)}")
    count = int(row[0]) if row else 0
    cursor.execute(
        f"UPDATE {qualified(SCHEMA, GENERATIONS)} SET row_count = ? WHERE generation = ?", [count, target.generation]
    )
    cursor.execute(
        f"UPDATE {qualified(SCHEMA, NAMESPACES)} SET updated_ms = ? WHERE namespace = ?", [now_ms, target.namespace]
    )
    return count


def delete_ids(cursor: duckdb.DuckDBPyConnection, target: Target, ids: list[str]) -> int:
    """Delete rows by id, in the transaction of the caller. Returns how many there were."""
    if not ids:
        return 0
    column = np.empty(len(ids), object)
    column[:] = ids
    cursor.register(_INCOMING, {"id": column})
    table = qualified(SCHEMA, target.table)
    row = first_row(cursor, f"DELETE FROM {table} WHERE id IN (SELECT id::VARCHAR FROM {_INCOMING})")
    return int(row[0]) if row else 0


def drop_namespace(cursor: duckdb.DuckDBPyConnection, namespace: str) -> bool:
    """Remove a namespace with all its generations and their tables, in the transaction of the caller.

    Only base tables that no other namespace's generation names are dropped: the registry is not trusted. Returns
    whether the namespace was there.
    """
    generations = qualified(SCHEMA, GENERATIONS)
    tables = cursor.execute(
        f"SELECT t.table_name FROM duckdb_tables() t WHERE t.database_name = $1 AND t.schema_name = $2"
        f" AND t.table_name IN (SELECT table_name FROM {generations} WHERE namespace = $3)"
        f" AND t.table_name NOT IN (SELECT coalesce(table_name, '') FROM {generations} WHERE namespace <> $3)"
        " AND t.table_name NOT IN ($4, $5, $6)",
        [CATALOG, SCHEMA, namespace, META, NAMESPACES, GENERATIONS],
    ).fetchall()
    for (table,) in tables:
        cursor.execute(f"DROP TABLE {qualified(SCHEMA, table)}")
    cursor.execute(f"DELETE FROM {generations} WHERE namespace = ?", [namespace])
    row = first_row(cursor, f"DELETE FROM {qualified(SCHEMA, NAMESPACES)} WHERE namespace = ?", [namespace])
    return row is not None and row[0] > 0
