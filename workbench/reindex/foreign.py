"""Putting a verified build into a file of another program: a whole new file with its own tables, and one rename.

Tables, columns, types, constraints and indexes are the producer's own; only the vectors are new. The new file is
written once, table by table, so that it is as small as one written at once, and the old one is kept beside it.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from workbench.core.fingerprint import fingerprint_text, parse_fingerprint
from workbench.index.adapters import labels_kept
from workbench.index.adapters.detect import detect
from workbench.index.expressions import Expressions
from workbench.index.mapping import ModelColumn
from workbench.index.opening import attach, translate
from workbench.index.schema import first_row
from workbench.index.sql import CATALOG, literal, quoted
from workbench.index.workspace import Access, Member, Workspace, together
from workbench.index.writing import WriteError, transaction
from workbench.reindex import living
from workbench.reindex.copying import SIB, difference
from workbench.reindex.leftovers import after_path, before_path, files_before, remove_file
from workbench.reindex.lost_indexes import HNSW_METRIC, hnsw_indexes, lost, without_lost
from workbench.reindex.model import ReindexError, Settings
from workbench.reindex.sibling import ROWS, RUN, VECTORS, table
from workbench.reindex.swapping import ChangedMeanwhile, Swapped, Way, like, refuse_log, take_place

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.index.mapping import TableMapping

NEW, BARE = "fresh", "bare"
_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class PutBack:
    """The file from before answers again; the one that gave way is kept as ``put_aside``.

    ``written_since`` are the first ids of rows that only the other one has, ``written`` how many there are, ``gone``
    how many rows answer again that were deleted since.
    """

    put_aside: str
    written_since: tuple[str, ...]
    written: int
    gone: int


def swap(index: str, sibling: str, settings: Settings, now_ms: int, job: Job | None = None) -> Swapped:
    """Put the vectors of a build in the place of those of a foreign file.

    Raises:
        ChangedMeanwhile: rows were written since; nothing was done.
        SourceError: locked, when a writer holds the index; it is named. Nothing was done.
        WriteError: it could not be written; the file is as it was.
        ReindexError: it cannot be swapped so, or could not be read back.
    """
    real = os.path.realpath(index)
    refuse_log(index, real)
    new, kept = after_path(index, sibling), before_path(index, sibling)
    fresh = like(real, new, NEW)
    try:
        with without_lost(real) as bare:
            members = [Member(CATALOG, real), Member(SIB, sibling), fresh]
            # The old file stays attached read-only until the rename is done: while it is, nobody can write it.
            with together(*members, *([] if bare is None else [Member(BARE, bare, Access.WRITE)])) as workspace:
                refuse_log(index, real)
                vectors, statements = _fill(workspace, settings, bare is not None, job)
                workspace.detach(NEW)
                take_place(new, real, kept)
    except duckdb.Error as error:
        words = str(error).splitlines()[0]
        raise WriteError(f"the new file could not be written: {words}; the index is as it was") from error
    except OSError as error:
        raise WriteError(f"the new file could not be put in place: {error.strerror}") from error
    finally:
        remove_file(new)
    _read_back(index, settings, vectors)
    keep_label(index, settings, now_ms)
    return Swapped(None, Way.RENAMED, kept, statements)


def came_from(index: str, settings: Settings, path: str, now_ms: int) -> Swapped | None:
    """Say whether this build was swapped in already, and see to it that the file has its label."""
    kept = before_path(index, path)
    if not os.path.lexists(kept) or os.path.samefile(kept, index):
        return None
    keep_label(index, settings, now_ms)
    return Swapped(None, Way.RENAMED, kept)


def keep_label(index: str, settings: Settings, now_ms: int) -> None:
    """Remember what the vectors of the namespace are made with, where the file itself does not say."""
    with attach(index) as attachment, attachment.cursor() as cursor:
        mapping = living.find(cursor, settings.namespace)
        if mapping.recorded is not None or mapping.model is not None:
            return
        kept = labels_kept.label(
            cursor,
            os.path.realpath(index),
            mapping,
            settings.fingerprint,
            now_ms,
            said=labels_kept.REINDEXED,
            proved_with=settings.embedder,
            max_input_chars=settings.max_chunk_chars,
        )
    try:
        labels_kept.keep(kept)
    except OSError as error:
        raise ReindexError(
            f"the new vectors are in place, and what made them could not be remembered ({error.strerror}): "
            f"workbench label {index} --namespace {settings.namespace} --fingerprint {settings.fingerprint}"
        ) from error


def written_since(index: str, namespace: str) -> PutBack:
    """Count what a roll back would take out of sight, and list the first of it; nothing is changed.

    ``put_aside`` is the file that would be put back. Raises ReindexError when there is none.
    """
    before = _newest_before(index, namespace)
    with together(Member(CATALOG, index), Member("old", before)) as workspace, workspace.cursor() as cursor:
        return _compared(cursor, namespace, before)


def roll_back(index: str, namespace: str) -> PutBack:
    """Put the file from before the last swap back under its name; the one that it replaces is kept beside it.

    Rolling back again brings that one back.

    Raises:
        ReindexError: there is no file to go back to.
        SourceError: locked, when a writer holds the index; it is named.
    """
    real, before = os.path.realpath(index), _newest_before(index, namespace)
    refuse_log(index, real)
    refuse_log(before, before)
    aside = f"{before[:-8]}{secrets.token_hex(4)}"
    with together(Member(CATALOG, real), Member("old", before)) as workspace:
        with workspace.cursor() as cursor:
            found = _compared(cursor, namespace, before)
        take_place(before, real, aside)
    return PutBack(aside, found.written_since, found.written, found.gone)


@dataclass(frozen=True, slots=True)
class Held:
    """One namespace of a foreign file: its rows, and the fingerprint that the file or a label records."""

    count: int
    fingerprint: str | None


def namespaces(index: str) -> dict[str, Held]:
    """Give the namespaces of a foreign file by name, in the order of the file. Raises SourceError."""
    with attach(index) as attachment, attachment.cursor() as cursor:
        mappings = labels_kept.labelled(cursor, attachment.path, detect(cursor, living.names_a_model).mappings)
        held = {}
        for each in mappings:
            row = first_row(cursor, f"SELECT count(*) FROM {Expressions(each).table}")
            said = None if each.recorded is None else fingerprint_text(each.recorded)
            held[each.namespace] = Held(int(row[0]) if row else 0, said)
    return held


def kept_files(index: str) -> tuple[str, ...]:
    """Give the files that swaps and roll backs have kept beside a foreign file, the latest last."""
    return tuple(sorted(files_before(index), key=lambda path: (os.stat(path).st_ctime_ns, path)))


def _newest_before(index: str, namespace: str) -> str:
    found = kept_files(index)
    if not found:
        raise ReindexError(
            f"there is no file from before to go back to: '{namespace}' of {index} was never re-indexed, or the old "
            "file was discarded"
        )
    return found[-1]


def _compared(cursor: duckdb.DuckDBPyConnection, namespace: str, before: str) -> PutBack:
    mapping = living.find(cursor, namespace)
    here, there = living.rows(mapping), living.rows(mapping, "old")
    differs = "ANTI JOIN {other} o ON o.id = l.id AND o.content_hash IS NOT DISTINCT FROM l.content_hash"
    written = cursor.execute(
        f"SELECT l.id, count(*) OVER () FROM {here} l {differs.format(other=there)} ORDER BY l.seq LIMIT {_LISTED}"
    ).fetchall()
    gone = first_row(cursor, f"SELECT count(*) FROM {there} l ANTI JOIN {here} o ON o.id = l.id")
    return PutBack(
        before, tuple(id for id, _ in written), int(written[0][1]) if written else 0, int(gone[0]) if gone else 0
    )


def _fill(workspace: Workspace, settings: Settings, bare: bool, job: Job | None) -> tuple[int, tuple[str, ...]]:
    """Write the whole new file; gives how many new vectors it has, and what makes again the indexes it has not."""
    with workspace.cursor(job) as cursor:
        mapping = living.find(cursor, settings.namespace)
        found = difference(cursor, mapping)
        if not found.none:
            raise ChangedMeanwhile(found)
        metric = first_row(cursor, f"SELECT value FROM {table(RUN, SIB)} WHERE key = ?", [HNSW_METRIC])
        gone = lost(cursor, None if metric is None else json.loads(metric[0]))
        if bare:
            for name, schema in hnsw_indexes(cursor, BARE):
                cursor.execute(f"DROP INDEX {quoted(BARE)}.{quoted(schema)}.{quoted(name)}")
        cursor.execute(f"COPY FROM DATABASE {BARE if bare else CATALOG} TO {NEW} (SCHEMA)")
        _change_type(cursor, mapping, settings)
        vectors = 0
        with transaction(cursor):
            for schema, name in _in_order(cursor):
                if (schema, name) == (mapping.schema, mapping.table):
                    vectors = _insert_cured(cursor, mapping, settings)
                else:
                    columns = ", ".join(_columns(cursor, schema, name))
                    cursor.execute(
                        f"INSERT INTO {_place(NEW, schema, name)} ({columns})"
                        f" SELECT {columns} FROM {_place(CATALOG, schema, name)}"
                    )
        cursor.execute(f"CHECKPOINT {NEW}")
    return vectors, tuple(each.statement for each in gone)


def _change_type(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, settings: Settings) -> None:
    """Give the vector column of the empty new table its new length; a comment that names the embedder names the new."""
    dims, place = living.dims_of(settings.fingerprint), _place(NEW, mapping.schema, mapping.table)
    if mapping.fixed_dims is not None and mapping.fixed_dims != dims:
        indexes = _own_indexes(cursor, mapping)
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {quoted(NEW)}.{quoted(mapping.schema)}.{quoted(name)}")
        try:
            cursor.execute(
                f"ALTER TABLE {place} ALTER {quoted(mapping.vector or '')}"
                f" TYPE {living.vector_type(mapping, dims)} USING NULL"
            )
        except duckdb.DependencyException as error:
            raise ReindexError(
                f"the table {mapping.table} is referred to by another one, so the length of its vectors cannot change "
                "in place; import the namespace into a native file (workbench import), and re-index there"
            ) from error
        for _, statement in indexes:
            cursor.execute(statement)
    comment = living.comment_of(cursor, mapping)
    if comment is not None:
        column = f".{quoted(mapping.vector or '')}" if comment == "COLUMN" else ""
        cursor.execute(f"COMMENT ON {comment} {place}{column} IS {literal(settings.fingerprint)}")


def _own_indexes(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> list[tuple[str, str]]:
    """Give the secondary indexes of the table, each with the statement that makes it in the new file."""
    rows = cursor.execute(
        "SELECT index_name, sql FROM duckdb_indexes() WHERE database_name = ? AND schema_name = ? AND table_name = ?"
        " AND sql IS NOT NULL ORDER BY index_oid",
        [NEW, mapping.schema, mapping.table],
    ).fetchall()
    found = []
    for name, sql in rows:
        spelled = [
            f"{schema}{name}"
            for schema in ("", f"{mapping.schema}.", f"{quoted(mapping.schema)}.")
            for name in (mapping.table, quoted(mapping.table))
        ]
        head = next((f" ON {each}(" for each in spelled if f" ON {each}(" in sql), None)
        if head is None:
            raise ReindexError(
                f"the index {name} of table {mapping.table} cannot be made again in the new file; drop it with the "
                "program that made it, re-index, and make it again"
            )
        place = _place(NEW, mapping.schema, mapping.table)
        found.append((name, sql.replace(head, f" ON {place}(", 1)))
    return found


def _insert_cured(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, settings: Settings) -> int:
    """Copy the rows of the namespace in their order, every vector the built one; gives how many have one."""
    fingerprint = parse_fingerprint(settings.fingerprint)
    own = {mapping.vector or "": f"n.embedding::{living.vector_type(mapping, int(fingerprint.dims))}"}
    if mapping.model is not None:
        said = settings.fingerprint if mapping.model_kind is ModelColumn.FINGERPRINT else str(fingerprint.id)
        own[mapping.model] = f"CASE WHEN n.embedding IS NULL THEN t.{quoted(mapping.model)} ELSE {literal(said)} END"
    names = _columns(cursor, mapping.schema, mapping.table)
    by_quoted = {quoted(name): value for name, value in own.items()}
    values = ", ".join(by_quoted.get(name, f"t.{name}") for name in names)
    place = _place(NEW, mapping.schema, mapping.table)
    try:
        cursor.execute(
            f"INSERT INTO {place} ({', '.join(names)}) SELECT {values}"
            f" FROM {_place(CATALOG, mapping.schema, mapping.table)} t LEFT JOIN"
            f" (SELECT l.seq, v.embedding FROM {living.rows(mapping)} l JOIN {table(ROWS, SIB)} r"
            f" ON r.source_id = l.id JOIN {table(VECTORS, SIB)} v ON v.seq = r.seq) n ON n.seq = t.rowid"
            " ORDER BY t.rowid"
        )
    except duckdb.ConstraintException as error:
        raise ReindexError(
            f"the table {mapping.table} does not take the new rows ({str(error).splitlines()[0]}); nothing was changed"
        ) from error
    row = first_row(cursor, f"SELECT count({quoted(mapping.vector or '')}) FROM {place}")
    wanted = first_row(cursor, f"SELECT count(*) FROM {table(VECTORS, SIB)}")
    if row != wanted:
        raise ReindexError(f"{row} vectors came into the new file where {wanted} were built; nothing was changed")
    return int(row[0]) if row else 0


def _in_order(cursor: duckdb.DuckDBPyConnection) -> Sequence[tuple[str, str]]:
    """Give all tables, those that others refer to first."""
    left = cursor.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? AND NOT temporary"
        " AND NOT internal ORDER BY table_oid",
        [CATALOG],
    ).fetchall()
    refers: dict[tuple[str, str], set[str]] = {}
    for schema, name, other in cursor.execute(
        "SELECT schema_name, table_name, referenced_table FROM duckdb_constraints() WHERE database_name = ?"
        " AND constraint_type = 'FOREIGN KEY'",
        [CATALOG],
    ).fetchall():
        refers.setdefault((schema, name), set()).add(other)
    ordered: list[tuple[str, str]] = []
    while left:
        waiting = {name for _, name in left}
        ready = [each for each in left if not (refers.get(each, set()) - {each[1]}) & waiting]
        if not ready:
            raise ReindexError("the tables of this file refer to each other in a ring, which cannot be copied")
        ordered += ready
        left = [each for each in left if each not in ready]
    return ordered


def _columns(cursor: duckdb.DuckDBPyConnection, schema: str, name: str) -> list[str]:
    """Give the columns of a table that are stored and not computed, quoted."""
    rows = cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_catalog = ? AND table_schema = ?"
        " AND table_name = ? AND is_generated <> 'ALWAYS' ORDER BY ordinal_position",
        [CATALOG, schema, name],
    ).fetchall()
    return [quoted(column) for (column,) in rows]


def _place(catalog: str, schema: str, name: str) -> str:
    return f"{quoted(catalog)}.{quoted(schema)}.{quoted(name)}"


def _read_back(index: str, settings: Settings, vectors: int) -> None:
    """Look at what was swapped in on a new connection: only that counts."""
    try:
        with attach(index) as attachment, attachment.cursor() as cursor:
            mapping = living.find(cursor, settings.namespace)
            sql = Expressions(mapping)
            row = first_row(
                cursor,
                f"SELECT count(*), min({sql.length}), max({sql.length}) FROM {sql.table} WHERE {sql.length} > 0",
            )
    except duckdb.Error as error:
        raise translate(error, index) from error
    dims = living.dims_of(settings.fingerprint)
    if row is None or row[0] != vectors or (vectors and row[1:] != (dims, dims)):
        raise ReindexError(f"the swap did not last: {index} does not hold the {vectors:,} vectors that were built")
