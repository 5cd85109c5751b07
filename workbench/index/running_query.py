"""A query that runs in one thread and can be stopped from any other."""

from __future__ import annotations

import threading
from typing import Generic, Protocol, TypeVar

_AGAIN_SECONDS = 0.02


class Stoppable(Protocol):
    """A cursor of DuckDB or a connection of SQLite."""

    def interrupt(self) -> object:
        """Stop what runs now; without effect on what starts later."""

    def close(self) -> object:
        """Give it up."""


H = TypeVar("H", bound=Stoppable)


class RunningQuery(Generic[H]):
    """Owns a cursor for the length of one block of work.

    An interrupt reaches only a statement that is running; one that starts a moment later would run to its end. So
    an interrupted query is interrupted again and again until its block ends.
    """

    def __init__(self, handle: H) -> None:
        self.handle = handle
        self.interrupted = False
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def interrupt(self) -> None:
        """Stop the work in this block, from any thread; harmless when it is over."""
        with self._lock:
            if self._closed.is_set():
                return
            first, self.interrupted = not self.interrupted, True
            self.handle.interrupt()
        if first:
            threading.Thread(target=self._insist, name="interrupt", daemon=True).start()

    def close(self) -> None:
        """End the block and close the cursor."""
        with self._lock:
            self._closed.set()
        self.handle.close()

    def _insist(self) -> None:
        while not self._closed.wait(_AGAIN_SECONDS):
            self.interrupt()
