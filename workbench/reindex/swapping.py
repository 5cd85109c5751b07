"""Putting a verified generation in the place of the old one: in one transaction, or in a new file and one rename.

The pointer is read back on a new connection afterwards: a commit that returns may have rolled back, so only that
reading counts as swapped.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from workbench.core.fingerprint import parse_fingerprint
from workbench.index import leases
from workbench.index.model import Problem, SourceError
from workbench.index.opening import attach, translate
from workbench.index.schema import CHUNK_COLUMNS, EMBEDDING, GENERATIONS, NAMESPACES, SCHEMA, create_chunks, first_row
from workbench.index.sql import qualified, quoted
from workbench.index.workspace import Access, Member, Workspace, block_size, storage_version, together
from workbench.index.writing import WriteError, free_generation, transaction
from workbench.reindex import living
from workbench.reindex.copying import SIB, Difference, difference
from workbench.reindex.leftovers import after_path, before_path, remove_file
from workbench.reindex.model import ReindexError, Settings
from workbench.reindex.sibling import KEYS, ROWS, VECTORS, table

if TYPE_CHECKING:
    import duckdb

    from workbench.core.job import Job


class Way(Enum):
    """How the new generation came in."""

    IN_PLACE = "in place"
    RENAMED = "by a new file under the old name; programs that have the old one open see it until they reopen"


@dataclass(frozen=True, slots=True)
class Swapped:
    """The new generation answers; a file of another program has none. ``kept_file`` is the old file, if renamed.

    ``to_remake`` are statements that make again, where they can be, indexes that the new file is without.
    """

    generation: int | None
    way: Way
    kept_file: str | None = None
    to_remake: tuple[str, ...] = ()


class NotNow(ReindexError):
    """It cannot be swapped as things stand; the build is kept, and the swap can be asked for again."""


class ChangedMeanwhile(Exception):
    """The living namespace is not as it was copied: it has to be looked at again first."""

    def __init__(self, found: Difference) -> None:
        super().__init__(f"{found.changed:,} chunks changed, {found.gone:,} gone")
        self.found = found


def swap(index: str, sibling: str, settings: Settings, run_id: str, now_ms: int, job: Job | None = None) -> Swapped:
    """Swap the sibling's generation in.

    Raises:
        ChangedMeanwhile: rows were written since; nothing was done.
        SourceError: locked, when a writer holds the index; it is named. Nothing was done.
        WriteError: it could not be written, for example on a full disk; the living namespace is as it was.
        NotNow: it cannot be swapped so, or could not be read back.
    """
    change = _Change(sibling, settings, run_id, now_ms)
    try:
        generation = _in_place(index, change, job)
        swapped = Swapped(generation, Way.IN_PLACE)
    except SourceError as error:
        if error.problem is not Problem.LOCKED or not _readable(index):
            raise
        swapped = _renamed(index, change, job)
    _read_back(index, settings, swapped)
    return swapped


def came_from(index: str, settings: Settings, run_id: str, path: str) -> Swapped | None:
    """Say whether the generation that answers is this very build: then its swap was done already."""
    with attach(index) as attachment, attachment.cursor() as cursor:
        row = first_row(
            cursor,
            f"SELECT g.generation FROM {qualified(SCHEMA, NAMESPACES)} n JOIN {qualified(SCHEMA, GENERATIONS)} g"
            " ON g.generation = n.active_generation WHERE n.namespace = ? AND g.source_digest LIKE '%:' || ?",
            [settings.namespace, run_id],
        )
    if row is None or not run_id:
        return None
    kept = before_path(index, path)
    if os.path.lexists(kept):
        return Swapped(int(row[0]), Way.RENAMED, kept)
    return Swapped(int(row[0]), Way.IN_PLACE)


@dataclass(frozen=True, slots=True)
class _Change:
    """What is put in: the generation of a sibling, under settings, by one run, at a time."""

    sibling: str
    settings: Settings
    run_id: str
    now_ms: int


def _in_place(index: str, change: _Change, job: Job | None) -> int:
    with (
        together(Member("ix", index, Access.WRITE), Member(SIB, change.sibling)) as workspace,
        workspace.cursor(job) as cursor,
    ):
        with transaction(cursor):
            _still_the_same(cursor, change.settings.namespace)
            generation = _copy_in(cursor, change)
        checkpoint(cursor)
    return generation


def fold_in(index: str) -> None:
    """Fold the log of a killed swap into the index, unless another program holds it: the next writer does it then."""
    if not os.path.lexists(leases.log_path(os.path.realpath(index), leases.WAL)):
        return
    with suppress(SourceError), together(Member("ix", index, Access.WRITE)) as workspace, workspace.cursor() as cursor:
        checkpoint(cursor)


def checkpoint(cursor: duckdb.DuckDBPyConnection) -> None:
    """Fold the log in; when that fails what was committed is in the log, and whoever opens the file next reads it."""
    import duckdb

    with suppress(duckdb.Error):
        cursor.execute("CHECKPOINT ix")


def _renamed(index: str, change: _Change, job: Job | None) -> Swapped:
    """Build the whole file anew beside the old one, which readers go on with, and put it under the old name."""
    import duckdb

    real = os.path.realpath(index)
    refuse_log(index, real)
    new, kept = after_path(index, change.sibling), before_path(index, change.sibling)
    fresh = like(real, new, "ix")
    try:
        # The old file stays attached read-only until the rename is done: while it is, nobody can write it.
        with together(Member("old", real), Member(SIB, change.sibling), fresh) as workspace:
            refuse_log(index, real)
            generation = _fill_new(workspace, change, job)
            workspace.detach("ix")
            take_place(new, real, kept)
    except duckdb.Error as error:
        words = str(error).splitlines()[0]
        raise WriteError(f"the new file could not be written: {words}; free some disk space") from error
    except OSError as error:
        raise WriteError(f"the new file could not be put in place: {error.strerror}") from error
    finally:
        remove_file(new)
    return Swapped(generation, Way.RENAMED, kept)


def refuse_log(index: str, real: str) -> None:
    """Refuse to rename a file while a log of its changes lies beside it; raises NotNow."""
    log = leases.log_path(real, leases.WAL)
    if os.path.lexists(log):
        raise NotNow(
            f"{index} cannot be swapped by a rename: beside it lies {os.path.basename(log)}, whose changes belong to "
            "that very file; close its readers, open it once with the program that wrote it, and swap then"
        )


def take_place(new: str, real: str, kept: str) -> None:
    """Put a complete new file under the old one's name in one step; the old one stays under another."""
    _sync_file(new)
    os.chmod(new, os.stat(real).st_mode & 0o7777)
    os.link(real, kept)
    try:
        os.replace(new, real)
    except OSError:
        os.unlink(kept)
        raise
    with suppress(OSError):
        _sync_folder(os.path.dirname(real))


def _fill_new(workspace: Workspace, change: _Change, job: Job | None) -> int:
    with workspace.cursor(job) as cursor:
        cursor.execute("COPY FROM DATABASE old TO ix")
        with transaction(cursor):
            _still_the_same(cursor, change.settings.namespace)
            generation = _copy_in(cursor, change)
        cursor.execute("CHECKPOINT ix")
    return generation


def _copy_in(cursor: duckdb.DuckDBPyConnection, change: _Change) -> int:
    """Write the new generation and point the namespace at it, in the transaction of the caller."""
    settings, now_ms = change.settings, change.now_ms
    generation, name = free_generation(cursor)
    create_chunks(cursor, name)
    target = qualified(SCHEMA, name)
    fingerprint = parse_fingerprint(settings.fingerprint)
    cursor.execute(f"ALTER TABLE {target} ADD COLUMN {EMBEDDING} FLOAT[{int(fingerprint.dims)}]")
    own = {
        # The order of the living namespace, pieces in the place of what they were cut from.
        "seq": "row_number() OVER (ORDER BY k.seq, k.id, r.seq) - 1",
        "read_chars": "v.read_chars",
        "embedder_fp": "CASE WHEN v.embedding IS NOT NULL THEN ? END",
    }
    columns = ", ".join(quoted(column) for column in CHUNK_COLUMNS)
    values = ", ".join(own.get(column, f"r.{quoted(column)}") for column in CHUNK_COLUMNS)
    cursor.execute(
        f"INSERT INTO {target} ({columns}, {EMBEDDING}) SELECT {values}, v.embedding"
        f" FROM {table(ROWS, SIB)} r JOIN {table(KEYS, SIB)} k ON k.id = r.source_id"
        f" LEFT JOIN {table(VECTORS, SIB)} v ON v.seq = r.seq",
        [settings.fingerprint],
    )
    generations, namespaces = qualified(SCHEMA, GENERATIONS), qualified(SCHEMA, NAMESPACES)
    cursor.execute(
        f"UPDATE {generations} SET state = 'retired' WHERE namespace = ? AND state = 'active'", [settings.namespace]
    )
    cursor.execute(
        f"INSERT INTO {generations} (generation, namespace, table_name, embedder_fp, dims, max_input_chars,"
        " max_input_tokens, ceiling_source, tokenizer, document_prefix, query_prefix, runtime, source_digest,"
        " row_count, state,"
        " created_ms, activated_ms)"
        " SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
        f" (SELECT printf('%016x:', coalesce(bit_xor(hash(id, digest)), 0)) FROM {table(KEYS, SIB)}) || ?,"
        f" (SELECT count(*) FROM {target}), 'active', ?, ?",
        [
            generation,
            settings.namespace,
            name,
            settings.fingerprint,
            int(fingerprint.dims),
            settings.max_chunk_chars,
            settings.max_input_tokens,
            settings.ceiling_source,
            settings.tokenizer,
            settings.document_prefix or None,
            settings.query_prefix or None,
            settings.host,
            change.run_id,
            now_ms,
            now_ms,
        ],
    )
    cursor.execute(
        f"UPDATE {namespaces} SET active_generation = ?, updated_ms = ? WHERE namespace = ?",
        [generation, now_ms, settings.namespace],
    )
    return generation


def _still_the_same(cursor: duckdb.DuckDBPyConnection, namespace: str) -> None:
    found = difference(cursor, living.find(cursor, namespace))
    if not found.none:
        raise ChangedMeanwhile(found)


def _readable(index: str) -> bool:
    """Whether only readers hold the index: then it can still be read."""
    try:
        attach(index).close()
    except SourceError:
        return False
    return True


def like(real: str, new: str, alias: str) -> Member:
    """Make a new file of a workspace: for the same DuckDB and in blocks of the same size; raises SourceError."""
    with attach(real) as attachment, attachment.cursor() as cursor:
        return Member(alias, new, Access.NEW, storage_version(cursor, "ix"), block_size(cursor, "ix"))


def _read_back(index: str, settings: Settings, swapped: Swapped) -> None:
    import duckdb

    try:
        with attach(index) as attachment, attachment.cursor() as cursor:
            row = first_row(
                cursor,
                f"SELECT n.active_generation, g.embedder_fp FROM {qualified(SCHEMA, NAMESPACES)} n"
                f" JOIN {qualified(SCHEMA, GENERATIONS)} g ON g.generation = n.active_generation WHERE n.namespace = ?",
                [settings.namespace],
            )
    except duckdb.Error as error:
        raise translate(error, index) from error
    if row != (swapped.generation, settings.fingerprint):
        raise NotNow(
            f"the swap did not last: {index} still answers with generation {row[0] if row else '?'}; the build is "
            "kept: swap again"
        )


def _sync_file(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
