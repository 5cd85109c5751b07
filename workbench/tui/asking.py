"""What views ask of an open source: work on a thread, its answer on the event loop, and nothing after a cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from workbench.core.job import Cancelled, Job
from workbench.tui.judging import Run
from workbench.tui.reading import trouble_of
from workbench.tui.threads import T, in_thread

A = TypeVar("A")
"""What is asked: a namespace or a recording."""


class Asking:
    """The readings of the views, by the key of the source that they are about."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._asked: dict[int, list[Job]] = {}

    def ask(
        self,
        key: int,
        asked: A,
        work: Callable[[A, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
        progress: Callable[[int, int], None],
    ) -> Job:
        """Run ``work`` on a thread and ``then`` on the event loop.

        A job that was cancelled has no answer any more: neither ``then`` nor ``failed`` is called for it.
        """
        job = Job(progress)
        jobs = self._asked.setdefault(key, [])
        jobs.append(job)
        self._run(self._answer(asked, job, jobs, work, then, failed), "views")
        return job

    async def _answer(
        self,
        asked: A,
        job: Job,
        jobs: list[Job],
        work: Callable[[A, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
    ) -> None:
        try:
            job.checkpoint()
            answer = await in_thread(lambda: work(asked, job))
            job.checkpoint()
        except Cancelled:
            return
        except asyncio.CancelledError:
            # The program ends: whoever waits is gone first, and the thread must not go on without.
            job.cancel()
            raise
        except Exception as error:
            if not job.cancelled:
                failed(trouble_of(error).message)
            return
        finally:
            jobs.remove(job)
        then(answer)

    def drop(self, key: int) -> None:
        """Cancel what is asked of a source."""
        for asked in self._asked.pop(key, []):
            asked.cancel()
