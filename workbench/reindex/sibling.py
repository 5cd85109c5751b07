"""The file beside the index in which a namespace is built again: its rows, new vectors, journal and settings.

The living file is never written before the swap. What is committed here is paid for once, whatever is killed.

``source_keys`` has every chunk of the living namespace as it was copied (``seq`` is its place there), ``rows`` what
becomes of them (pieces of one chunk share its ``source_id``), ``vectors`` and ``journal`` what came back.
"""

from __future__ import annotations

import glob
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from workbench.core.fingerprint import parse_fingerprint
from workbench.index import leases, opening
from workbench.index.model import Problem, SourceError
from workbench.index.schema import CHUNK_COLUMNS, STORAGE_VERSION, base_tables, first_row, is_empty
from workbench.index.sql import quoted
from workbench.index.writing import transaction
from workbench.reindex.metering import Spent
from workbench.reindex.model import Quarantined, ReindexError, RunState, Settings

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.job import Job

RUN, KEYS, ROWS, VECTORS, QUARANTINED, JOURNAL = "run", "source_keys", "rows", "vectors", "quarantined", "journal"

FORMAT = 1
_MARK = ".reindex-"
_LOGS = (leases.WAL, ".wal.checkpoint", ".wal.recovery")


def table(name: str, alias: str = "ix") -> str:
    """Name a table of the sibling, attached under ``alias``."""
    return f"{quoted(alias)}.main.{quoted(name)}"


def new_path(index: str) -> str:
    """Name a sibling that is not there yet."""
    return f"{os.path.realpath(index)}{_MARK}{secrets.token_hex(4)}.duckdb"


def token_of(path: str) -> str:
    """Give what tells a sibling from others of the same index; files that its swap makes bear it too."""
    found = re.fullmatch(r".*\.reindex-([0-9a-f]{8})\.duckdb", path, re.DOTALL)
    return found[1] if found else secrets.token_hex(4)


def siblings_of(index: str) -> tuple[str, ...]:
    """Find the unfinished re-indexes beside an index, oldest first."""
    real = os.path.realpath(index)
    found = [path for path in glob.glob(glob.escape(real) + f"{_MARK}*.duckdb") if os.path.isfile(path)]
    return tuple(sorted(found, key=lambda path: (os.stat(path).st_mtime_ns, path)))


def is_sibling(path: str) -> bool:
    """Whether a file's name says that it is an unfinished re-index."""
    name = os.path.basename(path)
    return _MARK in name and name.endswith(".duckdb")


class UnfinishedReindex(SourceError):
    """What was opened as an index is a build beside one, which nobody should search or judge."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(
            Problem.NOT_AN_INDEX,
            f"{path} is an unfinished re-index{what}, and no index: give the index that it lies beside; workbench "
            "reindex goes on with it there (--resume) or drops it (--discard)",
            container="duckdb",
        )


def refuse_unfinished(path: str) -> None:
    """Refuse a build where an index is wanted; raises UnfinishedReindex, or SourceError when it cannot be read."""
    if not is_sibling(path) or not os.path.isfile(path) or opening.sniff(path).container != "duckdb":
        return
    try:
        said = peek(path)
    except SourceError as error:
        if error.problem is not Problem.LOCKED:
            raise
        raise UnfinishedReindex(path, ", which another program is building") from error
    if said is not None:
        settings, state = said
        raise UnfinishedReindex(path, f" of namespace '{settings.namespace}' to {settings.fingerprint} ({state.value})")


class Sibling:
    """An open sibling file: one process at a time. A context manager."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._attachment = opening.attach(path, read_only=False)
        try:
            with self._attachment.cursor() as cursor:
                said = _facts(cursor)
        except BaseException:
            self._attachment.close()
            raise
        known = _settings(said)
        if known is None:
            self._attachment.close()
            raise ReindexError(
                f"{path} is no re-index that this program can go on with (format {said.get('format')!r}); "
                "use the version that began it, or remove the file: the index itself is untouched"
            )
        self.settings = known
        self.id = str(said.get("id", ""))

    def __enter__(self) -> Sibling:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file up. Safe to call twice."""
        self._attachment.close()

    @contextmanager
    def cursor(self, job: Job | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a cursor on the sibling, attached as ``ix``."""
        with self._attachment.cursor(job) as cursor:
            yield cursor

    def fact(self, key: str) -> object:
        """Read one of the run's facts; None when it was never said."""
        with self._attachment.cursor() as cursor:
            return _facts(cursor).get(key)

    def say(self, **facts: object) -> None:
        """Keep facts of the run, all of them or none."""
        with self._attachment.cursor() as cursor, transaction(cursor):
            say(cursor, "ix", **facts)

    def state(self) -> RunState:
        """Where the run stands."""
        return _state(self.fact("state"))

    def pending(self) -> NDArray[np.int64]:
        """Give the ``seq`` of every row that still needs a vector, ascending."""
        with self._attachment.cursor() as cursor:
            found = cursor.execute(
                f"SELECT r.seq FROM {table(ROWS)} r ANTI JOIN {table(VECTORS)} v USING (seq)"
                f" ANTI JOIN {table(QUARANTINED)} q USING (seq)"
                " WHERE r.text IS NOT NULL AND r.text <> '' ORDER BY r.seq"
            ).fetchnumpy()
        seqs: NDArray[np.int64] = found["seq"]
        return seqs

    def texts(self, first: int, last: int) -> list[tuple[int, str, str]]:
        """Give ``(seq, id, text)`` of the rows between two ``seq``, both included, in order."""
        with self._attachment.cursor() as cursor:
            return cursor.execute(
                f"SELECT seq, id, text FROM {table(ROWS)} WHERE seq BETWEEN ? AND ? ORDER BY seq", [first, last]
            ).fetchall()

    def counts(self) -> tuple[int, int, int]:
        """Count rows that have a vector or shall have one, vectors, and quarantined rows."""
        with self._attachment.cursor() as cursor:
            row = first_row(
                cursor,
                f"SELECT (SELECT count(*) FROM {table(ROWS)} WHERE text IS NOT NULL AND text <> ''),"
                f" (SELECT count(*) FROM {table(VECTORS)}), (SELECT count(*) FROM {table(QUARANTINED)})",
            )
        assert row is not None
        return int(row[0]), int(row[1]), int(row[2])

    def reused(self) -> int:
        """Count the vectors that were kept and not made again."""
        with self._attachment.cursor() as cursor:
            row = first_row(cursor, f"SELECT count(*) FROM {table(VECTORS)} WHERE kept")
        return int(row[0]) if row else 0

    def quarantined(self) -> tuple[Quarantined, ...]:
        """Give the chunks that the embedder did not take."""
        with self._attachment.cursor() as cursor:
            rows = cursor.execute(
                f"SELECT r.id, q.reason FROM {table(QUARANTINED)} q JOIN {table(ROWS)} r USING (seq) ORDER BY seq"
            ).fetchall()
        return tuple(Quarantined(*row) for row in rows)

    def forget_quarantined(self) -> None:
        """Let what was not taken be tried again."""
        with self._attachment.cursor() as cursor, transaction(cursor):
            cursor.execute(f"DELETE FROM {table(QUARANTINED)}")

    def copied(self) -> bool:
        """Whether the rows of the living namespace were ever copied."""
        with self._attachment.cursor() as cursor:
            return first_row(cursor, f"SELECT 1 FROM {table(KEYS)} LIMIT 1") is not None

    def clipped(self) -> tuple[int, int]:
        """Count the texts that are longer than the ceiling, and all texts."""
        with self._attachment.cursor() as cursor:
            row = first_row(
                cursor,
                f"SELECT count(*) FILTER (char_count > ?), count(*) FROM {table(ROWS)} WHERE text <> ''",
                [self.settings.max_chunk_chars],
            )
        assert row is not None
        return int(row[0]), int(row[1])

    def write_down(self, at_ms: int, spent: Spent) -> None:
        """Add to the journal what was spent beside the batches, such as probes."""
        if spent.requests:
            with self._attachment.cursor() as cursor, transaction(cursor):
                note(cursor, at_ms, spent, 0, 0, 0.0)

    def journal_totals(self) -> tuple[int, int, int, float]:
        """Sum the journal: requests, tokens, code units, seconds of all runs so far."""
        with self._attachment.cursor() as cursor:
            row = first_row(
                cursor,
                "SELECT coalesce(sum(requests), 0), coalesce(sum(tokens), 0), coalesce(sum(chars), 0),"
                f" coalesce(sum(seconds), 0) FROM {table(JOURNAL)}",
            )
        assert row is not None
        return int(row[0]), int(row[1]), int(row[2]), float(row[3])


def note(cursor: duckdb.DuckDBPyConnection, at_ms: int, spent: Spent, texts: int, chars: int, seconds: float) -> None:
    """Write one line of the journal in the transaction of the caller."""
    cursor.execute(
        f"INSERT INTO {table(JOURNAL)} VALUES (?, ?, ?, ?, ?, ?)",
        [at_ms, texts, chars, spent.tokens, spent.requests, seconds],
    )


def create(path: str, settings: Settings, now_ms: int) -> Sibling:
    """Make the sibling file with its tables; raises FileExistsError and SourceError as opening.create does."""
    opening.create(path, storage_version=STORAGE_VERSION)
    try:
        with opening.attach(path, read_only=False) as attachment, attachment.cursor() as cursor, transaction(cursor):
            _create_tables(cursor, int(parse_fingerprint(settings.fingerprint).dims))
            say(
                cursor,
                "ix",
                format=FORMAT,
                id=secrets.token_hex(8),
                settings=asdict(settings),
                created_ms=now_ms,
                state=RunState.BUILDING.value,
            )
    except BaseException:
        remove(path)
        raise
    return Sibling(path)


def remove(path: str) -> None:
    """Remove a sibling and the logs beside it."""
    for each in (*(leases.log_path(path, suffix) for suffix in _LOGS), path):
        if os.path.lexists(each):  # where nothing may be written, what is not there cannot be removed either
            with suppress(FileNotFoundError):
                os.unlink(each)


def peek(path: str) -> tuple[Settings, RunState] | None:
    """Read what a sibling is about, read-only; None when it is none. Raises SourceError when another program has it."""
    with opening.attach(path) as attachment, attachment.cursor() as cursor:
        if RUN not in base_tables(cursor, [RUN]):
            return None
        said = _facts(cursor)
    known = _settings(said)
    return None if known is None else (known, _state(said.get("state")))


def is_half_made(path: str) -> bool:
    """Whether a file with a sibling's name holds nothing at all: what made it was ended before it wrote a row.

    Raises SourceError when another program has it.
    """
    with opening.attach(path) as attachment, attachment.cursor() as cursor:
        return is_empty(cursor)


def say(cursor: duckdb.DuckDBPyConnection, alias: str, **facts: object) -> None:
    """Write facts of the run in the transaction of the caller."""
    for key, value in facts.items():
        cursor.execute(f"INSERT OR REPLACE INTO {table(RUN, alias)} VALUES (?, ?)", [key, json.dumps(value)])


def _facts(cursor: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    if not base_tables(cursor, [RUN]).get(RUN, {}).items() >= {"key": "VARCHAR", "value": "VARCHAR"}.items():
        return {}
    said: dict[str, Any] = {}
    for key, value in cursor.execute(f"SELECT key, value FROM {table(RUN)}").fetchall():
        try:
            said[key] = json.loads(value)
        except (TypeError, ValueError, RecursionError):
            continue
    return said


def _settings(said: dict[str, Any]) -> Settings | None:
    """Read the settings of a run; None when they are not as this program writes them."""
    given = said.get("settings")
    if said.get("format") != FORMAT or not isinstance(given, dict):
        return None
    try:
        found = Settings(**given)
        parse_fingerprint(found.fingerprint)
    except (TypeError, ValueError, AttributeError):
        return None
    sound = isinstance(found.namespace, str) and isinstance(found.embedder, str)
    return found if sound and type(found.max_chunk_chars) is int and found.max_chunk_chars > 0 else None


def _state(said: object) -> RunState:
    return next((state for state in RunState if state.value == said), RunState.BUILDING)


def _create_tables(cursor: duckdb.DuckDBPyConnection, dims: int) -> None:
    chunk = ", ".join(
        f"{name} {kind}{' NOT NULL' if name in ('seq', 'id') else ''}" for name, kind in CHUNK_COLUMNS.items()
    )
    for name, columns in {
        RUN: "key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL",
        KEYS: "id VARCHAR NOT NULL, seq BIGINT NOT NULL, digest VARCHAR NOT NULL, fate VARCHAR NOT NULL",
        ROWS: f"source_id VARCHAR NOT NULL, {chunk}",
        VECTORS: f"seq BIGINT NOT NULL, embedding FLOAT[{dims}] NOT NULL, read_chars BIGINT, kept BOOLEAN NOT NULL",
        QUARANTINED: "seq BIGINT NOT NULL, reason VARCHAR NOT NULL",
        JOURNAL: "at_ms BIGINT, texts BIGINT, chars BIGINT, tokens BIGINT, requests BIGINT, seconds DOUBLE",
    }.items():
        cursor.execute(f"CREATE TABLE {table(name)} ({columns})")
