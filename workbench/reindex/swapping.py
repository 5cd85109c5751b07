"""Putting a verified generation in the place of the old one: in one transaction, or in a new file and one rename.

The pointer is read back on a new connection afterwards: a commit that returns may have rolled back, so only that
reading counts as swapped.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from workbench.core.fingerprint import parse_fingerprint
from workbench.index import leases
from workbench.index.model import Problem, SourceError
from workbench.index.opening import attach, translate
from workbench.index.schema import CHUNK_COLUMNS, EMBEDDING, GENERATIONS, NAMESPACES, SCHEMA, create_chunks, first_row
from workbench.index.sql import qualified, quoted
from workbench.index.workspace import Access, Member, Workspace, storage_version, together
from workbench.index.writing import free_generation, transaction
from workbench.reindex.copying import SIB, Difference, difference, find
from workbench.reindex.model import ReindexError, Settings
from workbench.reindex.sibling import ROWS, VECTORS, table

if TYPE_CHECKING:
    import duckdb

    from workbench.index.job import Job

BEFORE = ".before-"
"""How the old file is named where the swap was a rename: ``<name>.before-<id>``."""

AFTER = ".after-"


class Way(Enum):
    """How the new generation came in."""

    IN_PLACE = "in place"
    RENAMED = "by a new file under the old name; programs that have the old one open see it until they reopen"


@dataclass(frozen=True, slots=True)
class Swapped:
    """The new generation answers. ``kept_file`` is the old file where one was renamed."""

    generation: int
    way: Way
    kept_file: str | None = None


class ChangedMeanwhile(Exception):
    """The living namespace is not as it was copied: it has to be looked at again first."""

    def __init__(self, found: Difference) -> None:
        super().__init__(f"{found.changed:,} chunks changed, {found.gone:,} gone")
        self.found = found


def swap(index: str, sibling: str, settings: Settings, now_ms: int, job: Job | None = None) -> Swapped:
    """Swap the sibling's generation in.

    Raises:
        ChangedMeanwhile: rows were written since; nothing was done.
        SourceError: locked, when a writer holds the index; it is named. Nothing was done.
        ReindexError: it could not be read back.
    """
    try:
        generation = _in_place(index, sibling, settings, now_ms, job)
        swapped = Swapped(generation, Way.IN_PLACE)
    except SourceError as error:
        if error.problem is not Problem.LOCKED or not _readable(index):
            raise
        swapped = _renamed(index, sibling, settings, now_ms, job)
    _read_back(index, settings, swapped)
    return swapped


def _in_place(index: str, sibling: str, settings: Settings, now_ms: int, job: Job | None) -> int:
    with (
        together(Member("ix", index, Access.WRITE), Member(SIB, sibling)) as workspace,
        workspace.cursor(job) as cursor,
    ):
        with transaction(cursor):
            _still_the_same(cursor, settings.namespace)
            generation = _copy_in(cursor, settings, now_ms)
        cursor.execute("CHECKPOINT ix")
    return generation


def _renamed(index: str, sibling: str, settings: Settings, now_ms: int, job: Job | None) -> Swapped:
    """Build the whole file anew beside the old one, which readers go on with, and put it under the old name."""
    real = os.path.realpath(index)
    log = leases.log_path(real, leases.WAL)
    if os.path.lexists(log):
        raise ReindexError(
            f"readers hold {index}, and beside it lies {os.path.basename(log)}, whose changes belong to that very "
            "file; close the readers, open it once with the program that wrote it, and swap then"
        )
    token = secrets.token_hex(4)
    new, kept = f"{real}{AFTER}{token}", f"{real}{BEFORE}{token}"
    try:
        # The old file stays attached read-only until the rename is done: while it is, nobody can write it.
        with together(
            Member("old", real), Member(SIB, sibling), Member("ix", new, Access.NEW, _version_of(real))
        ) as workspace:
            generation = _fill_new(workspace, settings, now_ms, job)
            workspace.detach("ix")
            _sync_file(new)
            os.chmod(new, os.stat(real).st_mode & 0o7777)
            os.link(real, kept)
            os.replace(new, real)
            _sync_folder(os.path.dirname(real))
    finally:
        for each in (new, leases.log_path(new, leases.WAL)):
            if os.path.lexists(each):
                os.unlink(each)
    return Swapped(generation, Way.RENAMED, kept)


def _fill_new(workspace: Workspace, settings: Settings, now_ms: int, job: Job | None) -> int:
    with workspace.cursor(job) as cursor:
        cursor.execute("COPY FROM DATABASE old TO ix")
        with transaction(cursor):
            _still_the_same(cursor, settings.namespace)
            generation = _copy_in(cursor, settings, now_ms)
        cursor.execute("CHECKPOINT ix")
    return generation


def _copy_in(cursor: duckdb.DuckDBPyConnection, settings: Settings, now_ms: int) -> int:
    """Write the new generation and point the namespace at it, in the transaction of the caller."""
    generation, name = free_generation(cursor)
    create_chunks(cursor, name)
    target = qualified(SCHEMA, name)
    fingerprint = parse_fingerprint(settings.fingerprint)
    cursor.execute(f"ALTER TABLE {target} ADD COLUMN {EMBEDDING} FLOAT[{int(fingerprint.dims)}]")
    own = {
        "read_chars": "v.read_chars",
        "embedder_fp": "CASE WHEN v.embedding IS NOT NULL THEN ? END",
    }
    columns = ", ".join(quoted(column) for column in CHUNK_COLUMNS)
    values = ", ".join(own.get(column, f"r.{quoted(column)}") for column in CHUNK_COLUMNS)
    cursor.execute(
        f"INSERT INTO {target} ({columns}, {EMBEDDING}) SELECT {values}, v.embedding"
        f" FROM {table(ROWS, SIB)} r LEFT JOIN {table(VECTORS, SIB)} v ON v.seq = r.seq",
        [settings.fingerprint],
    )
    generations, namespaces = qualified(SCHEMA, GENERATIONS), qualified(SCHEMA, NAMESPACES)
    cursor.execute(
        f"UPDATE {generations} SET state = 'retired' WHERE namespace = ? AND state = 'active'", [settings.namespace]
    )
    cursor.execute(
        f"INSERT INTO {generations} (generation, namespace, table_name, embedder_fp, dims, max_input_chars,"
        " max_input_tokens, ceiling_source, tokenizer, document_prefix, query_prefix, runtime, row_count, state,"
        " created_ms, activated_ms)"
        f" SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT count(*) FROM {target}), 'active', ?, ?",
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
    found = difference(cursor, find(cursor, namespace))
    if not found.none:
        raise ChangedMeanwhile(found)


def _readable(index: str) -> bool:
    """Whether only readers hold the index: then it can still be read."""
    try:
        attach(index).close()
    except SourceError:
        return False
    return True


def _version_of(real: str) -> str:
    with attach(real) as attachment, attachment.cursor() as cursor:
        return storage_version(cursor, "ix")


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
        raise ReindexError(
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
