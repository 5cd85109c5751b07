"""Long work on the command line: done in a thread, so that Ctrl-C reaches it at once and live queries are stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from workbench.index.job import Job

T = TypeVar("T")

_STOP_WITHIN_S = 5.0
_LOOK_EVERY_S = 0.2


class _Work(threading.Thread, Generic[T]):
    def __init__(self, work: Callable[[Job], T], job: Job) -> None:
        super().__init__(name="work", daemon=True)
        self._work = work
        self._job = job
        self.result: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result.append(self._work(self._job))
        except BaseException as error:  # handed to the waiting thread, which raises it again
            self.error = error


def interruptible(work: Callable[[Job], T], on_progress: Callable[[int, int], None] | None = None) -> T:
    """Do the work and give its result; on Ctrl-C stop it, let it close its files, and raise KeyboardInterrupt."""
    job = Job(on_progress)
    thread = _Work(work, job)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_LOOK_EVERY_S)
    except KeyboardInterrupt:
        job.cancel()
        thread.join(_STOP_WITHIN_S)
        raise
    if thread.error is not None:
        raise thread.error
    return thread.result[0]
