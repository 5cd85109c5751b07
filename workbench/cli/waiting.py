"""Long work on the command line: done in a thread, so that Ctrl-C reaches it at once and live queries are stopped."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Generic, NoReturn, TypeVar

from workbench.cli.output import stderr
from workbench.core.job import Job

T = TypeVar("T")

INTERRUPTED = 130
"""The exit code of work that Ctrl-C has ended."""

_STOP_WITHIN_S = 0.5
_LOOK_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class _End(Generic[T]):
    """How the work ended: with its results (one), or with an error."""

    results: tuple[T, ...] = ()
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Gently:
    """Work that can be asked to end by itself: how to ask, for how long to wait then, and what to say when it did not.

    Another Ctrl-C ends the wait.
    """

    ask: Callable[[], None]
    patience_s: float
    farewell: Callable[[], None]


def interruptible(
    work: Callable[[Job], T],
    on_progress: Callable[[int, int], None] | None = None,
    *,
    gently: Gently | None = None,
) -> T:
    """Do the work and give its result; on Ctrl-C stop it, let it close its files, and raise KeyboardInterrupt.

    Work that ends ``gently`` gives its result also then. Work that does not stop in time is left where it is, and the
    process ends at once.
    """
    job = Job(on_progress)
    # The end is waited for and not the thread: an interrupt inside Thread.join marks a living thread as ended, and a
    # query that still runs when Python takes its threads down aborts the process.
    ended: SimpleQueue[_End[T]] = SimpleQueue()

    def run() -> None:
        try:
            end = _End((work(job),))
        except BaseException as error:  # handed to the waiting thread, which raises it again
            end = _End(error=error)
        ended.put(end)

    thread = threading.Thread(target=run, name="work", daemon=True)
    try:
        thread.start()
        end = _wait(ended)
    except KeyboardInterrupt:
        asked = None if gently is None else _asked(gently, ended)
        if asked is None:
            if not _stopped(job, ended):
                _leave(say_interrupted if gently is None else gently.farewell)
            raise
        end = asked
    if end.error is not None:
        raise end.error
    return end.results[0]


def say_interrupted() -> None:
    """Tell that Ctrl-C has ended the work."""
    out = stderr()
    out.clear_transient()
    out.line("interrupted: nothing was changed")


def _wait(ended: SimpleQueue[_End[T]]) -> _End[T]:
    while True:
        try:
            return ended.get(timeout=_LOOK_EVERY_S)
        except Empty:
            continue  # looked at again, since not every system lets a signal end a wait


def _asked(gently: Gently, ended: SimpleQueue[_End[T]]) -> _End[T] | None:
    """Ask the work to end; give its end if that comes in time."""
    try:
        gently.ask()
        return ended.get(timeout=gently.patience_s)
    except (Empty, KeyboardInterrupt):
        return None


def _stopped(job: Job, ended: SimpleQueue[_End[T]]) -> bool:
    """Cancel the work; say whether it has come to its end within the time that Ctrl-C may take."""
    try:
        job.cancel()
        ended.get(timeout=_STOP_WITHIN_S)
    except (Empty, KeyboardInterrupt):
        return False
    return True


def _leave(farewell: Callable[[], None]) -> NoReturn:
    """End the process as it stands, without the farewell of Python that running queries do not survive."""
    try:
        farewell()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    finally:
        os._exit(INTERRUPTED)
