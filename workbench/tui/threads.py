"""Blocking work beside the event loop, on threads that can never keep the program alive.

The loop's own executor joins its threads when the interpreter ends, so one query that cannot be interrupted would
hold the process after the screen is gone. Daemon threads do not.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

_PREFIX = "workbench-reader"


async def in_thread(work: Callable[[], T]) -> T:
    """Run ``work`` on a daemon thread and wait for it without blocking the loop; its exception is raised here."""
    future: Future[T] = Future()

    def run() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name=_PREFIX, daemon=True).start()
    return await asyncio.wrap_future(future)


def start(work: Callable[[], object]) -> None:
    """Run ``work`` on a daemon thread; nobody waits for it."""
    threading.Thread(target=work, name=_PREFIX, daemon=True).start()


def ended_within(seconds: float) -> bool:
    """Wait for all threads of ours to end, and say whether they did."""
    deadline = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread.name == _PREFIX:
            thread.join(max(0.0, deadline - time.monotonic()))
    return not any(thread.name == _PREFIX and thread.is_alive() for thread in threading.enumerate())
