"""What a long reading asks of whoever waits for it: whether to go on, and how far it came."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class Interruptible(Protocol):
    """Whatever can be told from another thread to stop what it is doing."""

    def interrupt(self) -> object:
        """Stop; harmless when idle."""


class Watch(Protocol):
    """Progress and cancellation of one long reading; ``Job`` of the indexes is one."""

    def progress(self, done: int, total: int) -> None:
        """Take note of bytes read of bytes to be read in all; raises Cancelled when the caller gave up."""

    def checkpoint(self) -> None:
        """Raise Cancelled when the caller gave up."""

    def watching(self, query: Interruptible) -> AbstractContextManager[None]:
        """Interrupt ``query`` when the caller gives up while the block runs."""


READINGS = 2
"""A recording is read twice before it is shown whole, for its steps and for its vectors: what progress is out of."""
