"""A coroutine run to its end in the thread at hand, for as long as a job wants its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from workbench.core.job import Cancelled, Job

T = TypeVar("T")


def run_in_job(work: Callable[[], Coroutine[Any, Any, T]], job: Job) -> T:
    """Run a coroutine in this thread, in a loop of its own; a job that is cancelled cancels it.

    Raises:
        Cancelled: the job was given up.
    """

    async def watched() -> T:
        task = asyncio.ensure_future(work())
        with job.watching(_Task(task, asyncio.get_running_loop())):
            return await task

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        raise Cancelled from None


class _Task:
    """A task that another thread may stop."""

    def __init__(self, task: asyncio.Future[Any], loop: asyncio.AbstractEventLoop) -> None:
        self._task = task
        self._loop = loop

    def interrupt(self) -> None:
        """Cancel it in its own loop."""
        self._loop.call_soon_threadsafe(self._task.cancel)
