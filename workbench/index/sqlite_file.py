"""A SQLite file read without leaving a trace: in place while nobody writes it, else from a private, consistent copy."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from workbench.core.job import Cancelled, Job
from workbench.index import private_folder, refusals, sniffing
from workbench.index.blocks import Blocks
from workbench.index.model import Problem, SourceError
from workbench.index.sniffing import Located
from workbench.index.stamp import Stamp

TRIES = 3
_LOGS = ("-wal", "-journal")
_SETTLE_SECONDS = 0.02
_BLOCK = 1024 * 1024
_LONGEST_VALUE = 64 * 1024 * 1024
_SUPER_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_PRAGMAS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA query_only = ON",
    "PRAGMA cell_size_check = ON",
    "PRAGMA mmap_size = 0",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16000",
)
_ALLOWED = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE))
_READ_PRAGMAS = frozenset(
    (
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "user_version",
        "application_id",
        "encoding",
        "page_size",
        "page_count",
        "data_version",
    )
)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What is read: the file itself while its stamp stays the same, or a copy in a folder of ours."""

    stamp: Stamp
    file: str
    folder: Path | None = None
    note: str | None = None


class SqliteFile:
    """One caller's handle of a SQLite file. Writers of it are never shut out; a torn answer is refused instead."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fsdecode(os.fspath(path))
        self._absolute = os.path.abspath(self.path)
        self._lock = threading.Lock()
        self._blocks = Blocks[sqlite3.Connection]()
        self._snapshot = self._take()
        self._stamp = self._snapshot.stamp

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether a copy is read, and of when."""
        note = self._snapshot.note
        return (note,) if note else ()

    @contextmanager
    def cursor(self, job: Job | None = None) -> Iterator[sqlite3.Connection]:
        """Lend a connection to the calling thread, for base tables only: views and triggers are refused.

        Raises SourceError being-written when the file was written meanwhile (what was read is then not to be used),
        or what is found wrong by the query; Cancelled when ``job`` is cancelled or this handle is closed meanwhile.
        """
        with self._blocks.begin() as block:
            snapshot = self._current()
            try:
                with block.using(self._connect(snapshot), job) as connection:
                    yield connection
            except sqlite3.Error as error:
                if block.interrupted:
                    raise Cancelled from None
                self._check_unchanged(snapshot)
                if refusals.concerns_a_sqlite_file(error):
                    raise refusals.translate(error, self.path) from error
                raise
            self._check_unchanged(snapshot)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """All answers in the block are of one moment: SourceError being-written at its end, if the file changed."""
        snapshot = self._current()
        yield
        self._check_unchanged(snapshot)

    def held(self) -> bool:
        """Return False: reading SQLite shuts nobody out."""
        return False

    def changed(self) -> bool:
        """Whether the file, or a log beside it, is another than when this handle was opened."""
        return not self._blocks.closed and _stamp(os.path.realpath(self._absolute)) != self._stamp

    def close(self) -> None:
        """Interrupt this handle's queries and remove the copy, if there is one. Safe to call twice."""
        if self._blocks.close():
            with self._lock:
                _discard(self._snapshot)

    def __enter__(self) -> SqliteFile:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _current(self) -> _Snapshot:
        """Return what is read; a file that was written since is looked at again, a copy stays what it is."""
        with self._lock:
            if self._blocks.closed:
                raise Cancelled
            if self._snapshot.folder is None and self._stamp_now() != self._snapshot.stamp:
                self._snapshot = self._take()
            return self._snapshot

    def _stamp_now(self) -> Stamp | None:
        return _stamp(os.path.realpath(self._absolute))

    def _check_unchanged(self, snapshot: _Snapshot) -> None:
        if snapshot.folder is None and self._stamp_now() != snapshot.stamp:
            raise refusals.being_written(self.path, "sqlite") from None

    def _take(self) -> _Snapshot:
        for _ in range(TRIES):
            located = sniffing.locate(self._absolute, shown=self.path)
            container = sniffing.identify(located, sniffing.read_head(located))
            if container != "sqlite":
                raise SourceError(
                    Problem.NOT_AN_INDEX, f"{self.path} is no SQLite file any more; open it again", container=container
                )
            stamp = _settled(located.real)
            if stamp is None:
                continue
            if not _unfinished(located.real, stamp):
                return _Snapshot(stamp, located.real)
            copied = self._copy(located, stamp)
            if copied is not None:
                return copied
        raise refusals.being_written(self.path, "sqlite")

    def _copy(self, located: Located, before: Stamp) -> _Snapshot | None:
        """Copy the file with its logs; None when it was written meanwhile or the copy is not sound."""
        try:
            folder: Path | None = private_folder.make(private_folder.COPIES)
        except OSError as error:
            raise refusals.no_private_folder(self.path, error, "sqlite") from None
        try:
            copy = Path(f"{folder}/copy.db")
            _copy_file(located, copy)
            for suffix in _LOGS:
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(located.real + suffix, f"{copy}{suffix}")
            if _stamp(located.real) == before and self._sound(copy):
                note = f"another program has it open: this is a copy of {time.strftime('%H:%M')}"
                snapshot = _Snapshot(before, str(copy), folder, note)
                folder = None
                return snapshot
            return None
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise refusals.translate(error, self.path, container="sqlite") from None
        except OSError as error:
            raise refusals.no_private_folder(self.path, error, "sqlite") from None
        finally:
            if folder is not None:
                private_folder.remove(folder)

    def _sound(self, copy: Path) -> bool:
        """Replay the logs into the copy and check it, once; it is then a single file that nothing is added to."""
        if _names_other_files(f"{copy}-journal"):
            raise SourceError(
                Problem.BEING_WRITTEN,
                f"{self.path} is in the middle of a transaction over several files; open it with the program that "
                "writes it, which will finish or undo that",
                container="sqlite",
            )
        try:
            connection = sqlite3.connect(_uri(str(copy), "mode=rw"), uri=True, isolation_level=None)
            try:
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
            finally:
                connection.close()
        except sqlite3.Error:
            return False

    def _connect(self, snapshot: _Snapshot) -> sqlite3.Connection:
        try:
            uri = _uri(snapshot.file, "mode=ro&immutable=1")
            connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        except sqlite3.Error as error:
            raise refusals.translate(error, self.path) from error
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            for pragma in _PRAGMAS:
                connection.execute(pragma)
            named = connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('view', 'trigger')")
            never = frozenset(str(name).lower() for (name,) in named)
            connection.set_authorizer(_Authorizer(never))
        except sqlite3.Error as error:
            connection.close()
            self._check_unchanged(snapshot)
            raise refusals.translate(error, self.path) from error
        return connection


class _Authorizer:
    """Lets statements read base tables: no write, no attachment, nothing on behalf of a view or trigger of the file."""

    def __init__(self, never: frozenset[str]) -> None:
        self._never = never

    def __call__(
        self, action: int, first: str | None, second: str | None, database: str | None, inside: str | None
    ) -> int:
        if inside is not None and inside.lower() in self._never:
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_PRAGMA:
            return sqlite3.SQLITE_OK if str(first).lower() in _READ_PRAGMAS else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION and str(second).lower() == "load_extension":
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _stamp(real: str) -> Stamp | None:
    return Stamp.of(real, *(real + suffix for suffix in _LOGS))


def _settled(real: str) -> Stamp | None:
    """Stat a file and its logs; None while they are written.

    File times move in ticks of some milliseconds. Only a stamp older than a tick changes with every later write.
    """
    before = _stamp(real)
    if before is not None and time.time_ns() - before.newest_ns < _SETTLE_SECONDS * 1e9:
        time.sleep(_SETTLE_SECONDS)
        return before if _stamp(real) == before else None
    return before


def _copy_file(located: Located, copy: Path) -> None:
    """Copy the main file; through a descriptor that other code here has open, since closing ours drops its locks."""
    for descriptor in sniffing.descriptors_here(located.key):
        with contextlib.suppress(OSError), open(copy, "wb") as file:
            while block := os.pread(descriptor, _BLOCK, file.tell()):
                file.write(block)
            if descriptor in sniffing.descriptors_here(located.key):
                return
    shutil.copyfile(located.real, copy)


def _unfinished(real: str, stamp: Stamp) -> bool:
    """Whether a log beside the file holds what the file does not: a -wal with frames, or a hot -journal."""
    wal, journal = stamp.logs
    if wal is not None:
        return True
    if journal is None:
        return False
    try:
        with open(f"{real}-journal", "rb") as file:
            return file.read(1) not in (b"", b"\0")  # a journal that is kept for reuse begins with zeros
    except OSError:
        return True


def _names_other_files(journal: str) -> bool:
    """Whether a journal ends with the name of another file, which SQLite would then read, and may delete."""
    try:
        with open(journal, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(_SUPER_JOURNAL)))
            return file.read() == _SUPER_JOURNAL
    except FileNotFoundError:
        return False


def _uri(file: str, parameters: str) -> str:
    return f"file:{quote(os.fsencode(file))}?{parameters}"


def _discard(snapshot: _Snapshot) -> None:
    if snapshot.folder is not None:
        private_folder.remove(snapshot.folder)
