"""Who holds which DuckDB file in this process: one attachment for each inode, released when nobody reads.

On POSIX, closing any descriptor of a file drops the process's lock on it, also when another part of the program still
reads it. So every open of an index file goes through here, keyed by device and inode, whatever name it came under.
"""

from __future__ import annotations

import atexit
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from workbench.index import private_folder, refusals, sniffing
from workbench.index.model import SourceError
from workbench.index.schema import ROW_GROUP_SIZE
from workbench.index.sniffing import Located

IDLE_SECONDS = 2.0
"""How long a lease outlives its last query; other programs can write after that."""

YIELD_SECONDS = 2.0
"""How long opening for writing waits for this process's own running queries."""

LENT_SECONDS = 10.0
"""How long a query waits while this process copies rows from or into the file."""

WAL = ".wal"
_LOGS = (WAL, ".wal.checkpoint", ".wal.recovery")
_TICK_SECONDS = 0.25
_STORAGE_VERSION = re.compile(r"v\d+\.\d+\.\d+|latest")
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "threads": "2",
    # A checkpoint rewrites more the larger a table is, so a writer's log may grow to what a reader replays in seconds.
    "checkpoint_threshold": "512MB",
    "max_temp_directory_size": "4GB",
}
# Several buffers of 2,048 vectors each are needed at once; with this, vectors of 12,000 elements can be written.
_WRITER_MEGABYTES = 1_000
# With 256 MB, a check of a million lists of 384 numbers takes 430 MB in all; with this, 370, and is no slower.
_READER_MEGABYTES = 176
# Readers of very wide arrays get more: so much fits into the above, and beyond it several buffers are needed at once.
_USUAL_BLOCK_MEGABYTES = 34
_BUFFERS = 8
_MOST_MEGABYTES = 2_000
_WIDEST_BLOCK = (
    "SELECT max(regexp_extract(data_type, '\\[(\\d{1,9})\\]$', 1)::BIGINT"
    " * CASE WHEN data_type LIKE 'DOUBLE%' OR data_type LIKE 'BIGINT%' THEN 8 ELSE 4 END) * 2048 / 1000000"
    " FROM duckdb_columns() WHERE database_name = 'ix' AND regexp_matches(data_type, '\\[\\d{1,9}\\]$')"
)
# Sealed before the file is attached, so that nothing in it or in its log ever meets a connection that can reach more
# than the file itself.
_SEAL = ("SET enable_progress_bar = false", "SET enable_external_access = false", "SET lock_configuration = true")


def log_path(real: str, suffix: str) -> str:
    """Return where DuckDB keeps a log of a file: a suffix, put before the first ``?`` of the whole path."""
    stem, mark, rest = real.partition("?")
    return stem + suffix + mark + rest


def config(megabytes: int, spill: str) -> dict[str, str | bool | int | float | list[str]]:
    """Give the settings of every connection of this program."""
    return {**_CONFIG, "memory_limit": f"{megabytes}MB", "temp_directory": spill}


def seal(connection: duckdb.DuckDBPyConnection, reals: Sequence[str]) -> None:
    """Let a connection reach these files and their logs, and nothing else, for as long as it lives."""
    connection.execute(f"SET allowed_paths = [{', '.join(_allowed(real) for real in reals)}]")
    for setting in _SEAL:
        connection.execute(setting)


def checked_version(storage_version: str) -> str:
    """Give a storage version that may stand in a statement; raises ValueError for anything else."""
    if not _STORAGE_VERSION.fullmatch(storage_version):
        raise ValueError(f"{storage_version!r} is no storage version such as 'v1.2.0'")
    return storage_version


def _allowed(real: str) -> str:
    """Return as SQL literals what DuckDB needs of a file; settings take no bound values."""
    paths = (real, *(log_path(real, suffix) for suffix in _LOGS))
    return ", ".join("'" + path.replace("'", "''") + "'" for path in paths)


class Lease:
    """The attachment of one inode. ``users`` are running queries and holds, ``writers`` open write handles."""

    def __init__(self, key: tuple[int, int]) -> None:
        self.key = key
        self.handles = 0
        self.writers = 0
        self._users = 0
        self._lent = False
        self._lock = threading.Condition(threading.RLock())
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._writable = False
        self._spill = Path()
        self._idle_since = 0.0

    @property
    def attached(self) -> bool:
        """Whether this process holds the file at this moment."""
        return self._connection is not None or self._lent

    @property
    def writable(self) -> bool:
        """Whether this process itself may write the file at this moment."""
        return self._writable

    @property
    def unused(self) -> bool:
        """Whether no handle and no query is left."""
        return not self.handles and not self._users

    def enter(self, located: Located) -> duckdb.DuckDBPyConnection:
        """Take the lease, attaching the file when it was given back; every call is paired with ``leave``."""
        with self._lock:
            self._wait_until_back(located)
            if self._connection is None:
                self._attach(located, writable=False)
            assert self._connection is not None
            self._users += 1
            return self._connection

    def leave(self) -> None:
        """Say that a query or a hold is over."""
        with self._lock:
            self._users -= 1
            self._idle_since = time.monotonic()
            if not self._users and self._writable and not self.writers:
                self.release()
            self._lock.notify_all()
        _keeper.watch(self)
        if self.unused:
            _drop_unused(self)

    def add_writer(self, located: Located) -> None:
        """Attach for writing. Idle readers of this process give way and then share the attachment.

        Raises SourceError locked when another program holds the file, or this one reads it just now.
        """
        with self._lock:
            self._wait_until_back(located)
            if not self._writable:
                if not self._lock.wait_for(lambda: not self._users or self._writable, YIELD_SECONDS):
                    raise refusals.busy_here(located.shown, "being read")
                if not self._writable:
                    self.release()
                    self._attach(located, writable=True)
            self.writers += 1

    def remove_writer(self) -> None:
        """Give up one write handle; with the last one the file is released for other programs."""
        with self._lock:
            self.writers -= 1
            if not self.writers and not self._users:
                self.release()

    @contextmanager
    def lent(self, located: Located) -> Iterator[None]:
        """Leave the file to a connection of several files (workspace.py) for the length of the block.

        Idle readers of this process give way, and wait for it when they need it again. Raises SourceError locked when
        this process reads or writes the file just now.
        """
        with self._lock:
            if not self._lock.wait_for(lambda: not (self._users or self.writers or self._lent), YIELD_SECONDS):
                raise refusals.busy_here(located.shown, "being read")
            self.release()
            if sniffing.identify(located, sniffing.read_head(located)) != "duckdb":
                raise refusals.no_duckdb(located.shown)
            if sniffing.descriptors_here(located.key):
                raise refusals.busy_here(located.shown, "already open")
            self._lent = True
        try:
            yield
        finally:
            with self._lock:
                self._lent = False
                self._lock.notify_all()

    def _wait_until_back(self, located: Located) -> None:
        if self._lent and not self._lock.wait_for(lambda: not self._lent, LENT_SECONDS):
            raise refusals.busy_here(located.shown, "being copied for a re-index")

    def release(self) -> None:
        """Close the attachment, if any, so that other programs can write."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
                self._writable = False
                private_folder.remove(self._spill)

    def release_if_idle(self) -> None:
        """Release a read-only attachment whose last query is long enough ago."""
        with self._lock:
            idle = time.monotonic() - self._idle_since
            if not self._users and not self.writers and idle >= IDLE_SECONDS:
                self.release()

    def release_at_exit(self) -> None:
        """Release unless a query runs, which would make the exit wait."""
        if self._lock.acquire(timeout=0.1):
            try:
                if not self._users:
                    self.release()
            finally:
                self._lock.release()

    def container(self, located: Located) -> str:
        """Return what the file is; its bytes are read only while this process does not hold it."""
        with self._lock:
            return "duckdb" if self.attached else sniffing.identify(located, sniffing.read_head(located))

    def _attach(self, located: Located, *, writable: bool) -> None:
        container = self.container(located)
        if container != "duckdb":
            raise refusals.no_duckdb(located.shown, container)
        if sniffing.descriptors_here(located.key):
            raise refusals.busy_here(located.shown, "already open")
        spill = private_folder.reserve(private_folder.SPILL)
        try:
            connection = self._connected(located, writable, spill, _WRITER_MEGABYTES if writable else _READER_MEGABYTES)
            wide = 0 if writable else _megabytes_for(connection)
            if wide > _READER_MEGABYTES:
                connection.close()
                connection = self._connected(located, writable, spill, wide)
        except (duckdb.Error, OSError, SourceError) as error:
            private_folder.remove(spill)
            raise refusals.translate(error, located.shown) from None
        self._connection, self._writable, self._spill = connection, writable, spill
        self._idle_since = time.monotonic()

    def _connected(self, located: Located, writable: bool, spill: Path, megabytes: int) -> duckdb.DuckDBPyConnection:
        """Open a sealed connection in memory and attach the file to it; on any failure nothing stays open."""
        connection = duckdb.connect(":memory:", config=config(megabytes, str(spill)))
        try:
            seal(connection, [located.real])
            access = f", ROW_GROUP_SIZE {ROW_GROUP_SIZE}" if writable else ", READ_ONLY"
            connection.execute(f"ATTACH ? AS ix (TYPE duckdb{access})", [located.real])
            found = os.stat(located.real)
            if (found.st_dev, found.st_ino) != self.key:
                raise refusals.being_written(located.shown, "duckdb")
        except BaseException:
            connection.close()
            raise
        return connection


def _megabytes_for(connection: duckdb.DuckDBPyConnection) -> int:
    """Say how much memory reading the widest fixed array of the attached file takes."""
    row = connection.execute(_WIDEST_BLOCK).fetchone()
    block = float(row[0]) if row and row[0] is not None else 0.0
    more = _BUFFERS * max(0.0, block - _USUAL_BLOCK_MEGABYTES)
    return min(_MOST_MEGABYTES, _READER_MEGABYTES + int(more))


_registry_lock = threading.Lock()
_leases: dict[tuple[int, int], Lease] = {}


def borrow(key: tuple[int, int]) -> Lease:
    """Return the only lease of an inode; every call is paired with ``give_back``."""
    with _registry_lock:
        lease = _leases.setdefault(key, Lease(key))
        lease.handles += 1
        return lease


def give_back(lease: Lease) -> None:
    """Give up one handle of a lease; the last one closes the attachment, at once or after the running query."""
    with _registry_lock:
        lease.handles -= 1
    _drop_unused(lease)


@contextmanager
def borrowed(key: tuple[int, int]) -> Iterator[Lease]:
    """Borrow a lease for a block."""
    lease = borrow(key)
    try:
        yield lease
    finally:
        give_back(lease)


def _drop_unused(lease: Lease) -> None:
    with _registry_lock:
        if lease.unused and _leases.get(lease.key) is lease:
            lease.release()
            del _leases[lease.key]


class _Keeper:
    """A thread that releases idle leases. It ends when there is none, and never keeps the process alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: set[Lease] = set()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def watch(self, lease: Lease) -> None:
        """Release this lease once it is idle."""
        with self._lock:
            if not lease.attached or self._stopping.is_set():
                return
            self._watched.add(lease)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="idle-leases", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread before the interpreter goes: a daemon thread must not be inside DuckDB then."""
        self._stopping.set()
        thread = self._thread
        if thread is not None:
            thread.join(timeout=1)

    def _run(self) -> None:
        while not self._stopping.wait(_TICK_SECONDS):
            with self._lock:
                watched = list(self._watched)
            for lease in watched:
                lease.release_if_idle()
            with self._lock:
                self._watched = {lease for lease in self._watched if lease.attached}
                if not self._watched:
                    self._thread = None
                    return


_keeper = _Keeper()


@atexit.register
def _release_all() -> None:
    _keeper.stop()
    for lease in list(_leases.values()):
        lease.release_at_exit()
