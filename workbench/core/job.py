"""A long read as its caller sees it: progress reported, cancelled at any time, live queries interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class Cancelled(Exception):
    """The caller no longer wants the answer. Not an error: nothing is said to the user."""


class Interruptible(Protocol):
    """Whatever can be told, from another thread, to stop what it is running (a DuckDB cursor, a SQLite connection)."""

    def interrupt(self) -> object:
        """Stop the running query, if any; harmless when idle."""


class Job:
    """Progress and cancellation of one long read. One thread works, any thread may cancel.

    ``on_progress`` is called from the working thread with rows done and rows in all; it must be cheap.
    """

    def __init__(self, on_progress: Callable[[int, int], None] | None = None) -> None:
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._live: list[Interruptible] = []
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether the caller gave up."""
        return self._cancelled

    def progress(self, done: int, total: int) -> None:
        """Report rows done of rows in all; raises Cancelled when the caller gave up."""
        self.checkpoint()
        if self._on_progress is not None:
            self._on_progress(done, total)

    def checkpoint(self) -> None:
        """Raise Cancelled when the caller gave up."""
        if self._cancelled:
            raise Cancelled

    def cancel(self) -> None:
        """Give up: interrupt every live query and make the next checkpoint raise. Callable from any thread."""
        with self._lock:
            self._cancelled = True
            live = list(self._live)
        for query in live:
            query.interrupt()

    @contextmanager
    def watching(self, query: Interruptible) -> Iterator[None]:
        """Interrupt ``query`` if the job is cancelled while the block runs."""
        with self._lock:
            if self._cancelled:
                raise Cancelled
            self._live.append(query)
        try:
            yield
        finally:
            with self._lock:
                self._live.remove(query)
