"""The seed library's SQLite file: recognised by its tables, one namespace for each name in rows or records."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from workbench.core.fingerprint import Fingerprint, parse_fingerprint
from workbench.index import refusals
from workbench.index.adapters.agentfootprint_rows import AgentfootprintNamespace, as_text
from workbench.index.adapters.sqlite_layouts import other_layout
from workbench.index.model import IndexSource, Namespace, Problem, SourceError
from workbench.index.opening import SqliteFile, open_sqlite

ADAPTER = "agentfootprint"

_KNOWN_SCHEMA = 1
_NEEDED = frozenset(
    ("namespace", "id", "value", "metadata", "embedding", "dims", "embedder_fp", "ttl", "tier", "source_uri")
)
_RECORD = "fp:"


def open_sqlite_source(path: str | os.PathLike[str]) -> IndexSource:
    """Open a SQLite file as an index of the seed library.

    Raises SourceError: too-new, naming the version; not-readable-yet for the layouts of other programs, by name;
    not-an-index; and whatever opening says.
    """
    file = open_sqlite(path)
    try:
        return _AgentfootprintSource(file, _recognise(file))
    except UnicodeDecodeError as error:  # the driver quotes broken bytes of a damaged schema in its own message
        file.close()
        raise refusals.damaged(file.path, "malformed database schema", "sqlite") from error
    except BaseException:
        file.close()
        raise


@dataclass(frozen=True, slots=True)
class _Layout:
    """What was found: the namespaces in the order of the file with what is recorded of each."""

    namespaces: Mapping[str, Fingerprint | None]
    keeps_records: bool


class _AgentfootprintSource:
    """One opened file."""

    def __init__(self, file: SqliteFile, layout: _Layout) -> None:
        self._file = file
        self._namespaces = tuple(
            AgentfootprintNamespace(file, name, recorded, keeps_records=layout.keeps_records)
            for name, recorded in layout.namespaces.items()
        )

    @property
    def path(self) -> str:
        """As the user gave it."""
        return self._file.path

    @property
    def container(self) -> str:
        """Always sqlite."""
        return "sqlite"

    @property
    def adapter(self) -> str:
        """Always agentfootprint."""
        return ADAPTER

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether a copy is read, and of when."""
        return self._file.notes

    def namespaces(self) -> tuple[Namespace, ...]:
        """All namespaces: those with a record first, in the order of the records, then those that only have rows."""
        return self._namespaces

    def hold(self) -> AbstractContextManager[None]:
        """All answers in the block are of one moment."""
        return self._file.hold()

    def held(self) -> bool:
        """Return False: reading SQLite shuts nobody out."""
        return self._file.held()

    def changed(self) -> bool:
        """Whether the file was rewritten since it was recognised."""
        return self._file.changed()

    def close(self) -> None:
        """Stop every live query and give the file up. Safe to call twice."""
        self._file.close()

    def __enter__(self) -> _AgentfootprintSource:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _recognise(file: SqliteFile) -> _Layout:
    with file.cursor() as connection:
        connection.text_factory = as_text
        tables = {
            str(name): str(sql)
            for name, sql in connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
        }
        if not _is_ours(connection, tables):
            raise other_layout(file.path, tables)
        keeps_records = "af_index_meta" in tables and {"key", "value"} <= _columns(connection, "af_index_meta")
        if keeps_records:
            _check_version(connection, file.path)
        return _Layout(_namespaces(connection, keeps_records), keeps_records)


def _is_ours(connection: sqlite3.Connection, tables: Mapping[str, str]) -> bool:
    """Say whether the table of vectors is there as we know it, with rows that can be paged by their rowid."""
    sql = tables.get("af_vectors", "").upper()
    if not sql or "VIRTUAL TABLE" in sql:
        return False
    columns = _columns(connection, "af_vectors")
    if not columns >= _NEEDED or "rowid" in columns:
        return False
    try:
        connection.execute("SELECT rowid FROM af_vectors LIMIT 0")
    except sqlite3.OperationalError:  # WITHOUT ROWID
        return False
    return True


def _columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(str(row[1]).lower() for row in connection.execute(f"PRAGMA table_info({table})"))


def _check_version(connection: sqlite3.Connection, path: str) -> None:
    row = connection.execute("SELECT CAST(value AS TEXT) FROM af_index_meta WHERE key = 'schema_version'").fetchone()
    version = str(_KNOWN_SCHEMA) if row is None else str(row[0])
    if version.isascii() and version.isdigit() and len(version) < 10 and int(version) <= _KNOWN_SCHEMA:
        return
    raise SourceError(
        Problem.TOO_NEW,
        f"{path} is an index of agentfootprint with schema version {version[:40]}, and {_KNOWN_SCHEMA} is the newest "
        "that is known here; upgrade workbench, or read it with the agentfootprint that wrote it",
        container="sqlite",
    )


def _namespaces(connection: sqlite3.Connection, keeps_records: bool) -> dict[str, Fingerprint | None]:
    found: dict[str, Fingerprint | None] = {}
    if keeps_records:
        records = connection.execute(
            "SELECT key, CAST(value AS TEXT) FROM af_index_meta WHERE key >= 'fp:' AND key < 'fp;' ORDER BY rowid"
        )
        for key, value in records:
            found[str(key).removeprefix(_RECORD)] = parse_fingerprint(str(value))
    rows = connection.execute(
        "SELECT namespace, min(rowid) AS first FROM af_vectors WHERE typeof(namespace) = 'text'"
        " GROUP BY namespace ORDER BY first"
    )
    for name, _ in rows:
        found.setdefault(str(name), None)
    return found
