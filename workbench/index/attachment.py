"""A DuckDB file opened by one caller: leased cursors, and whether the file changed since."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import duckdb

from workbench.index import leases, refusals, sniffing
from workbench.index.job import Cancelled, Job
from workbench.index.running_query import RunningQuery
from workbench.index.stamp import Stamp

_CLOSE_SECONDS = 1.0


class Attachment:
    """One caller's handle of a DuckDB file, attached as ``ix``. Handles of one file share the attachment.

    Queries name tables as ``ix.main.t``; nothing of the file is reachable under a shorter name, so that its macros
    cannot take the place of built-in functions.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = True) -> None:
        self.path = os.fsdecode(os.fspath(path))
        self._absolute = os.path.abspath(self.path)
        self._read_only = read_only
        self._lock = threading.Condition()
        self._live: dict[RunningQuery[duckdb.DuckDBPyConnection], int] = {}
        self._closed = False
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

        Raises SourceError when the file is locked, gone, or found damaged by the query (other errors of a query pass
        as they are), Cancelled when ``job`` is cancelled or this handle is closed meanwhile.
        """
        lease, connection = self._enter()
        try:
            query = RunningQuery(connection.cursor())
            try:
                with self._running(query), job.watching(query) if job else nullcontext():
                    yield query.handle
            except duckdb.Error as error:
                if query.interrupted:
                    raise Cancelled from None
                if refusals.concerns_the_file(error) and self._read_only:
                    raise refusals.translate(error, self.path) from error
                raise
            finally:
                query.close()
        finally:
            lease.leave()

    def hold(self) -> AbstractContextManager[None]:
        """Keep the lease for the length of the block: no other program can write, all answers are of one moment."""
        return self._hold()

    def held(self) -> bool:
        """Whether other programs are shut out at this moment."""
        return not self._closed and self._lease.attached

    def changed(self) -> bool:
        """Whether the file, or the .wal beside it, is another than when this handle was opened.

        False for a handle that writes: no other program could.
        """
        if self._closed or not self._read_only:
            return False
        return _stamp(os.path.realpath(self._absolute)) != self._stamp

    def close(self) -> None:
        """Interrupt this handle's queries and give up its share. Safe to call twice, and from any thread."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for query in self._live:
                query.interrupt()
            if threading.get_ident() not in self._live.values():
                self._lock.wait_for(lambda: not self._live, _CLOSE_SECONDS)
        if not self._read_only:
            self._lease.remove_writer()
        leases.give_back(self._lease)

    def __enter__(self) -> Attachment:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _enter(self) -> tuple[leases.Lease, duckdb.DuckDBPyConnection]:
        with self._lock:
            if self._closed:
                raise Cancelled
            located = sniffing.locate(self._absolute, shown=self.path)
            if self._read_only and located.key != self._lease.key:
                # Another file took the place of this one: it is read under its own lease, and changed() says so.
                replaced, self._lease = self._lease, leases.borrow(located.key)
                leases.give_back(replaced)
            return self._lease, self._lease.enter(located)

    @contextmanager
    def _hold(self) -> Iterator[None]:
        lease, _ = self._enter()
        try:
            yield
        finally:
            lease.leave()

    @contextmanager
    def _running(self, query: RunningQuery[duckdb.DuckDBPyConnection]) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise Cancelled
            self._live[query] = threading.get_ident()
        try:
            yield
        finally:
            with self._lock:
                del self._live[query]
                self._lock.notify_all()


def _stamp(real: str) -> Stamp | None:
    return Stamp.of(real, leases.log_path(real, leases.WAL))


def _notes(stamp: Stamp | None) -> tuple[str, ...]:
    log = stamp.logs[0] if stamp is not None else None
    if log is None:
        return ()
    return (f"a .wal of {log[0]:,} bytes lies beside the file: replayed in memory and left alone",)
