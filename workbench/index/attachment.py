"""A DuckDB file opened by one caller: leased cursors, and whether the file changed since."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from workbench.core.job import Cancelled, Job
from workbench.index import leases, refusals, sniffing
from workbench.index.blocks import Blocks
from workbench.index.stamp import Stamp


class Attachment:
    """One caller's handle of a DuckDB file, attached as ``ix``. Handles of one file share the attachment.

    Queries name tables as ``ix.main.t``; nothing of the file is reachable under a shorter name, so that its macros
    cannot take the place of built-in functions.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = True) -> None:
        self.path = os.fsdecode(os.fspath(path))
        self._absolute = os.path.abspath(self.path)
        self._read_only = read_only
        self._lock = threading.Lock()
        self._blocks = Blocks[duckdb.DuckDBPyConnection]()
        located = sniffing.locate(self.path)
        self._lease = leases.borrow(located.key)
        try:
            if not read_only:
                self._lease.add_writer(located)
            self._lease.enter(located)
        except BaseException:
            leases.give_back(self._lease)
            raise
        # Under the lease, so that the stamp is of the state that is attached.
        self._stamp = _stamp(located.real)
        self.notes: tuple[str, ...] = () if self._lease.writable else _notes(self._stamp)
        self._lease.leave()

    @contextmanager
    def cursor(self, job: Job | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a cursor to the calling thread; nothing fetched from it may be used after the block.

        Raises SourceError when the file is locked, gone, or found damaged by the query, Cancelled when ``job`` is
        cancelled or this handle is closed meanwhile. Errors in the statement pass as they are; for a handle that
        writes, all errors of the query do.
        """
        with self._blocks.begin() as block, self._leased() as connection:
            try:
                with block.using(connection.cursor(), job) as cursor:
                    yield cursor
            except duckdb.Error as error:
                if block.interrupted:
                    raise Cancelled from None
                if refusals.concerns_the_file(error) and self._read_only:
                    raise refusals.translate(error, self.path) from error
                raise

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep the lease for the length of the block: no other program can write, all answers are of one moment."""
        with self._leased():
            yield

    def held(self) -> bool:
        """Whether other programs are shut out at this moment."""
        return not self._blocks.closed and self._lease.attached

    def changed(self) -> bool:
        """Whether the file, or the .wal beside it, is another than when this handle was opened.

        False for a handle that writes: no other program could.
        """
        if self._blocks.closed or not self._read_only:
            return False
        return _stamp(os.path.realpath(self._absolute)) != self._stamp

    def close(self) -> None:
        """Interrupt this handle's queries and give up its share. Safe to call twice, and from any thread."""
        if not self._blocks.close():
            return
        with self._lock:
            if not self._read_only:
                self._lease.remove_writer()
            leases.give_back(self._lease)

    def __enter__(self) -> Attachment:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def _leased(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._lock:
            if self._blocks.closed:
                raise Cancelled
            located = sniffing.locate(self._absolute, shown=self.path)
            if self._read_only and located.key != self._lease.key:
                # Another file took the place of this one: it is read under its own lease, and changed() says so.
                replaced, self._lease = self._lease, leases.borrow(located.key)
                leases.give_back(replaced)
            lease = self._lease
            connection = lease.enter(located)
        try:
            yield connection
        finally:
            lease.leave()


def _stamp(real: str) -> Stamp | None:
    return Stamp.of(real, leases.log_path(real, leases.WAL))


def _notes(stamp: Stamp | None) -> tuple[str, ...]:
    log = stamp.logs[0] if stamp is not None else None
    if log is None:
        return ()
    return (f"a .wal of {log[0]:,} bytes lies beside the file: replayed in memory and left alone",)
