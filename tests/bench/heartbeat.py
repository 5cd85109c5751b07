"""The program with a heartbeat: every 5 ms its event loop says that it lives, and writes down when it came too late.

    python -m tests.bench.heartbeat LOG PATH...     the program over PATH
    python -m tests.bench.heartbeat LOG             nothing but the beat: how late this machine makes anybody

Lines of LOG: ``late BEGIN END CPU WAITED`` (seconds of the monotonic clock; seconds in between that the loop's own
thread ran, and that it could have run but had no core, which only Linux tells), ``busy`` and ``quiet`` with the time
from which on something was, or nothing more is, being read.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TextIO

from workbench.tui import collector

collector.hold_back()  # as `workbench open` does before it imports the rest
from workbench.tui.app import WorkbenchApp, run  # noqa: E402
from workbench.tui.screens.main import MainScreen  # noqa: E402

BEAT_SECONDS = 0.005
_WORTH_A_LINE = 0.005
_LOOK_EVERY = 5


class Heart:
    """Beats on an event loop and writes down what it sees."""

    def __init__(self, log: TextIO, app: WorkbenchApp | None = None) -> None:
        self._log = log
        self._app = app
        self._last, self._cpu, self._waited = time.monotonic(), *core_seconds()
        self._beats = 0
        self._quiet: bool | None = None

    def beat(self) -> None:
        """One beat; asks for the next."""
        now = time.monotonic()
        cpu, waited = core_seconds()
        if now - self._last - BEAT_SECONDS > _WORTH_A_LINE:
            self._log.write(f"late {self._last} {now} {cpu - self._cpu} {waited - self._waited}\n")
        self._beats += 1
        if self._app is not None and self._beats % _LOOK_EVERY == 0:
            screen = self._app.screen_stack[0]
            quiet = isinstance(screen, MainScreen) and screen.settled
            if quiet is not self._quiet:
                self._quiet = quiet
                self._log.write(f"{'quiet' if quiet else 'busy'} {now}\n")
        self._last, self._cpu, self._waited = time.monotonic(), *core_seconds()
        asyncio.get_running_loop().call_later(BEAT_SECONDS, self.beat)


def core_seconds() -> tuple[float, float]:
    """Give how long this thread has run so far, and how long it waited for a core although it could have run."""
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
            ran, waited, _ = file.read().split()
    except (OSError, ValueError):
        return time.thread_time(), 0.0
    return int(ran) / 1e9, int(waited) / 1e9


def main() -> int:
    """Run until the user leaves; the bare beat until it is ended."""
    log = Path(sys.argv[1]).open("w", encoding="ascii", buffering=1)  # noqa: SIM115 (kept to the end of the process)
    paths = sys.argv[2:]
    if not paths:
        asyncio.run(_bare(log))
        return 0

    ready = WorkbenchApp.on_ready

    def on_ready(app: WorkbenchApp) -> None:
        """Begin to beat after the first frame."""
        ready(app)
        Heart(log, app).beat()

    WorkbenchApp.on_ready = on_ready  # type: ignore[assignment, method-assign]
    return run(paths)


async def _bare(log: TextIO) -> None:
    Heart(log).beat()
    await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
