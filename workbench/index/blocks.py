"""Blocks of work on one source: each in its own thread, stopped from any other, all ended when the source is closed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Generic, Protocol, TypeVar

from workbench.core.job import Cancelled, Job

_AGAIN_SECONDS = 0.02
_CLOSE_SECONDS = 1.0


class Stoppable(Protocol):
    """A cursor of DuckDB or a connection of SQLite."""

    def interrupt(self) -> object:
        """Stop what runs now; without effect on what starts later."""

    def close(self) -> object:
        """Give it up."""


H = TypeVar("H", bound=Stoppable)


class Block(Generic[H]):
    """One block of work in one thread, with at most one cursor.

    An interrupt reaches only a statement that is running; one that starts a moment later would run to its end. So
    an interrupted block is interrupted again and again until it ends.
    """

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.interrupted = False
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._handle: H | None = None

    def interrupt(self) -> None:
        """Stop the work, from any thread; harmless when it is over."""
        with self._lock:
            first, self.interrupted = not self.interrupted, True
            if self._handle is not None:
                self._handle.interrupt()
        if first:
            threading.Thread(target=self._insist, name="interrupt", daemon=True).start()

    @contextmanager
    def using(self, handle: H, job: Job | None) -> Iterator[H]:
        """Work with a cursor, which is closed at the end; raises Cancelled when the block or the job was stopped."""
        try:
            with self._lock:
                if self.interrupted:
                    raise Cancelled
                self._handle = handle
            with job.watching(self) if job else nullcontext():
                yield handle
        finally:
            with self._lock:
                self._handle = None
                self._over.set()
            handle.close()

    def _insist(self) -> None:
        while not self._over.wait(_AGAIN_SECONDS):
            self.interrupt()

    def end(self) -> None:
        """Say that the block is over, whether or not it came to use a cursor."""
        self._over.set()


class Blocks(Generic[H]):
    """The blocks of work that are under way on one source, until it is closed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: set[Block[H]] = set()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the source is closed."""
        return self._closed

    @contextmanager
    def begin(self) -> Iterator[Block[H]]:
        """Begin a block in the calling thread; raises Cancelled when the source is closed."""
        block = Block[H]()
        with self._changed:
            if self._closed:
                raise Cancelled
            self._open.add(block)
        try:
            yield block
        finally:
            block.end()
            with self._changed:
                self._open.remove(block)
                self._changed.notify_all()

    def close(self) -> bool:
        """Interrupt all blocks and wait until they end, unless one is the caller's own; False when it was closed."""
        with self._changed:
            if self._closed:
                return False
            self._closed = True
            for block in self._open:
                block.interrupt()
            if all(block.thread != threading.get_ident() for block in self._open):
                self._changed.wait_for(lambda: not self._open, _CLOSE_SECONDS)
            return True
