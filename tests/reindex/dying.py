"""A process that builds, resumes or swaps until it is killed: at a named point, or whenever its parent likes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.reindex.scene import NAMESPACE, begin, provider, target
from workbench.embedders.activity import Activity, AnswerCame, RequestSent
from workbench.reindex import building, copying, probing, running, sibling, swapping, verifying
from workbench.reindex.running import Controls


def die() -> None:
    """End as a crash does."""
    os.kill(os.getpid(), signal.SIGKILL)


def before(module: object, name: str, at: int = 1) -> None:
    """Die where a function is called for the so-manieth time."""
    _instead(module, name, at, after=False)


def after(module: object, name: str, at: int = 1) -> None:
    """Die where a function has returned for the so-manieth time."""
    _instead(module, name, at, after=True)


def _instead(module: object, name: str, at: int, *, after: bool) -> None:
    real, calls = getattr(module, name), [0]

    def dying(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        calls[0] += 1
        if calls[0] == at and not after:
            die()
        value = real(*given, **named)
        if calls[0] == at:
            die()
        return value

    setattr(module, name, dying)


POINTS: dict[str, Callable[[], None]] = {
    "begin: an empty sibling": lambda: before(sibling, "_create_tables"),
    "begin: a sibling without rows": lambda: before(copying, "bring"),
    "begin: rows half copied": lambda: before(copying, "keeps"),
    "begin: rows copied": lambda: after(copying, "bring"),
    "at the probe, before it is sent": lambda: before(probing, "_as_planned"),
    "at the probe, its answer kept": lambda: after(running, "first_probe"),
    "between vectors and journal": lambda: before(building, "note", at=3),
    "after a batch is committed": lambda: after(building.Builder, "_commit", at=4),
    "everything is built": lambda: after(building.Builder, "run"),
    "during verify": lambda: before(verifying, "_sample"),
    "verified": lambda: before(running, "swap_in"),
    "swap: before anything": lambda: before(swapping, "_in_place"),
    "swap: rows copied, not committed": lambda: after(swapping, "_copy_in"),
    "swap: committed, not checkpointed": lambda: before(swapping, "checkpoint"),
    "swap: committed": lambda: before(swapping, "_read_back"),
    "swap: read back, the sibling still there": lambda: before(running, "_finish"),
    "swap: the sibling half removed": lambda: before(sibling, "remove"),
}
RENAMING: dict[str, Callable[[], None]] = {
    "rename: the new file half made": lambda: before(swapping, "_copy_in"),
    "rename: the new file made": lambda: before(swapping, "_take_place"),
    "rename: before link": lambda: before(os, "link"),
    "rename: between link and replace": lambda: before(os, "replace"),
    "rename: replaced": lambda: after(os, "replace"),
    "rename: before it is read back": lambda: before(swapping, "_read_back"),
    "rename: the sibling still there": lambda: before(running, "_finish"),
}


def in_request(number: int) -> Callable[[Activity], None]:
    """Die when the so-manieth request is on its way."""
    sent = [0]

    def watch(activity: Activity) -> None:
        sent[0] += isinstance(activity, RequestSent)
        if sent[0] == number and isinstance(activity, AnswerCame):
            die()

    return watch


def work(
    index: str, url: str, action: str, point: str | None, chars: int | None, swap: bool, state: str, said: Connection
) -> None:
    """Build or resume; says "began" first and at last how it ended."""
    os.environ["XDG_STATE_HOME"] = state
    if point is not None:
        (POINTS | RENAMING)[point]()
    aim = target(provider(url), chars)
    path = Path(index)
    said.send("began")
    found = running.unfinished(index, NAMESPACE)
    sib = begin(path, aim, resplit=chars is not None) if action == "build" or not found else found[0][0]
    warned: list[str] = []
    outcome = asyncio.run(running.run(index, sib, aim, Controls(swap=swap, on_warning=warned.append)))
    said.send((outcome.state.value, outcome.message, warned, outcome.requests))


_CONTEXT = multiprocessing.get_context("forkserver") if hasattr(os, "fork") else multiprocessing.get_context()


class Worker:
    """One such process. Read how it ended with ``end``; None when it was killed."""

    def __init__(
        self,
        index: Path,
        url: str,
        action: str,
        *,
        point: str | None = None,
        chars: int | None = None,
        swap: bool = True,
    ) -> None:
        if hasattr(_CONTEXT, "set_forkserver_preload"):
            _CONTEXT.set_forkserver_preload(["tests.reindex.dying"])
        self._hears, says = _CONTEXT.Pipe(duplex=False)
        state = os.environ.get("XDG_STATE_HOME", str(index.parent / "state"))
        self._process = _CONTEXT.Process(target=work, args=(str(index), url, action, point, chars, swap, state, says))
        self._process.start()
        says.close()

    def began(self) -> None:
        """Wait until it works."""
        assert self._hears.recv() == "began"

    def kill_after(self, seconds: float) -> bool:
        """Kill it some time from now; whether it was still at work."""
        self._process.join(seconds)
        alive = self._process.is_alive()
        self._process.kill()
        self._process.join()
        return alive

    def end(self) -> tuple[str, str, list[str], int] | None:
        """Wait for its end."""
        said: Any = None
        try:
            while True:
                said = self._hears.recv()
        except EOFError:
            self._process.join()
            return said if isinstance(said, tuple) else None
        finally:
            self._hears.close()
