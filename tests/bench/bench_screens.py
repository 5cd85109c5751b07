"""The screens over a million chunks: is the event loop ever blocked, does every job stop, how soon is the first frame.

    python -m tests.bench.bench_screens FOLDER [--rows N] [--dims N] [--runs N]

The program runs on a pseudo-terminal of 120x40 with a heartbeat of 5 ms in its event loop (heartbeat.py). What is
measured is the longest time between two beats while a job runs, without the time in which the loop could have run but
other processes had the cores (Linux tells it). Beside it stand the whole time, and the longest that a bare beat without
any program had to wait meanwhile: on a quiet machine all are about the same. Medians over the runs.
Set HARLEQUIN to its command to have the first frame held against it as well.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.big_files import read_arguments
from tests.bench.terminal import Terminal

MOST_BLOCKED_MS = 50
MOST_SECONDS_TO_END = 1.0
AGAINST_BARE = 1.15
AGAINST_HARLEQUIN = 0.6
_KEY_SECONDS = 0.04
_GIVE_UP_SECONDS = 300
_FRAMES = 15


@dataclass(frozen=True, slots=True)
class Job:
    """Something that takes long: the keys that lead to it, those that begin it, and whether it runs by itself."""

    name: str
    begin: tuple[str, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    kind: str = "native"


_DOWN = "\x1b[B"
_PAGE_DOWN = "\x1b[6~"
_BACKSPACE = "\x7f"
_AT_NAMESPACE = ("j",)
_FAR = "900000"

JOBS = (
    Job("opening and checking", ()),
    Job(
        "scrolling to row 900,000 and around it",
        (":", *_FAR, "\r", *([_PAGE_DOWN] * 15), "G", "g", *([_PAGE_DOWN] * 15)),
        before=(*_AT_NAMESPACE, "2"),
    ),
    Job("filtering by words", ("/", *"refund 77"), before=(*_AT_NAMESPACE, "2")),
    Job("sorting by length", ("s",), before=(*_AT_NAMESPACE, "2")),
    Job("moving the ceiling", (*("-" * 25), *("+" * 25), "e", *"1500", "\r"), before=(*_AT_NAMESPACE, "3")),
    Job(
        "typing an incoming embedder",
        ("i", *"text-embedding-3-large@3072", *(_BACKSPACE * 10), *"small@384"),
        before=_AT_NAMESPACE,
        after=("\x1b",),
    ),
    Job("looking up unusable rows", ("4",), before=_AT_NAMESPACE, kind="planted"),
    Job("reading down the unusable rows", (_DOWN,) * 40, before=(*_AT_NAMESPACE, "4"), kind="planted"),
)


@dataclass(slots=True)
class Measured:
    """What the runs of one job came to: milliseconds blocked, with and without waiting for a core, and so on."""

    blocked: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    machine: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    stopped: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)


class Log:
    """What a heartbeat wrote down so far."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def longest(self, begin: float, end: float) -> tuple[float, float, float]:
        """Give the longest block within a time, the longest with waiting for a core, the longest CPU time; in ms."""
        blocked, whole, spent = [0.0], [0.0], [0.0]
        for line in self._path.read_text("ascii").splitlines():
            word, *numbers = line.split()
            if word == "late" and len(numbers) == 4:
                begun, ended, cpu, waited = map(float, numbers)
                if begin < ended < end:
                    whole.append(1e3 * (ended - begun))
                    blocked.append(1e3 * (ended - begun - waited))
                    spent.append(1e3 * cpu)
        return max(blocked), max(whole), max(spent)

    def quiet_since(self) -> float | None:
        """Give the time from which on nothing was being read; None while something is."""
        last: tuple[str, float] | None = None
        for line in self._path.read_text("ascii").splitlines():
            word, *numbers = line.split()
            if word in ("quiet", "busy") and numbers:
                last = (word, float(numbers[0]))
        return last[1] if last is not None and last[0] == "quiet" else None


class Program:
    """The program over one file, with its heart."""

    def __init__(self, terminal: Terminal, log: Log) -> None:
        self.terminal = terminal
        self.log = log

    def press(self, keys: Sequence[str]) -> None:
        """Type as fast as people do."""
        for key in keys:
            self.terminal.press(key)
            self.terminal.listen_for(_KEY_SECONDS)

    def until_quiet(self) -> None:
        """Wait until nothing is being read, and a little longer."""
        self.terminal.listen_for(0.3)
        until = time.monotonic() + _GIVE_UP_SECONDS
        while time.monotonic() < until and self.terminal.ended is None:
            since = self.log.quiet_since()
            if since is not None and time.monotonic() - since > 0.3:
                return
            self.terminal.listen_for(0.05)
        raise RuntimeError(f"never quiet: {self.terminal.output[-400:]!r}")

    def seconds_to_quiet(self) -> float:
        """Wait until nothing is being read and give the seconds until then."""
        begun = time.monotonic()
        while time.monotonic() < begun + _GIVE_UP_SECONDS:
            self.terminal.listen_for(0.02)
            since = self.log.quiet_since()
            if since is not None:
                return max(0.0, since - begun)
        raise RuntimeError("it does not stop")


def environment(home: Path) -> dict[str, str]:
    """Give what every program here runs with: a home of its own, no animation."""
    return {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TEXTUAL_ANIMATIONS": "none",
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(home / "cache"),
    }


@contextmanager
def running(path: Path, home: Path) -> Iterator[Program]:
    """Run the program over a file until the block is left; its first frame is drawn."""
    log = home / "beats"
    log.write_text("")
    command = [sys.executable, "-m", "tests.bench.heartbeat", str(log), str(path)]
    with Terminal(command, environment(home)) as terminal:
        terminal.until_drawn()
        yield Program(terminal, Log(log))


@contextmanager
def bare_beat(home: Path) -> Iterator[Log]:
    """Let a bare heartbeat run beside the block."""
    log = home / "bare-beats"
    log.write_text("")
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.heartbeat", str(log)])
    try:
        yield Log(log)
    finally:
        process.terminate()
        process.wait()


def measure(job: Job, path: Path, home: Path, found: Measured) -> None:
    """Run one job to its end, then once more until it is stopped, then once more until the program is left."""
    with bare_beat(home) as machine, running(path, home) as program:
        begun = program.terminal.drawn or 0.0
        if job.begin:
            program.until_quiet()
            program.press(job.before)
            program.until_quiet()
            begun = time.monotonic()
            program.press(job.begin)
        program.until_quiet()
        ended = time.monotonic()
        blocked, whole, own = program.log.longest(begun, ended)
        found.blocked.append(blocked)
        found.whole.append(whole)
        found.own.append(own)
        found.machine.append(machine.longest(begun, ended)[1])
        program.press(job.after)
    found.stopped.append(_amid(job, path, home, _stop))
    found.ended.append(_amid(job, path, home, _leave))


def _amid(job: Job, path: Path, home: Path, then: Callable[[Job, Program], float]) -> float:
    """Begin a job in a fresh program and do something in the middle of it."""
    with running(path, home) as program:
        if job.begin:
            program.until_quiet()
            program.press(job.before)
            program.until_quiet()
            program.press(job.begin[:1] if len(job.begin) < 30 else job.begin[:30])
        else:
            program.terminal.listen_for(0.3)
        return then(job, program)


def _stop(job: Job, program: Program) -> float:
    program.terminal.press("\x1b")
    return program.seconds_to_quiet()


def _leave(job: Job, program: Program) -> float:
    program.terminal.press("\x11")
    return program.terminal.until_ended()


def say(job: Job, found: Measured) -> bool:
    """Print what a job came to; say whether its bounds hold."""
    blocked, whole = statistics.median(found.blocked), statistics.median(found.whole)
    own, machine = statistics.median(found.own), statistics.median(found.machine)
    stopped, ended = statistics.median(found.stopped), max(found.ended)
    holds = blocked <= MOST_BLOCKED_MS and ended < MOST_SECONDS_TO_END and stopped < MOST_SECONDS_TO_END
    print(
        f"{'ok  ' if holds else 'MISS'} {job.name}: event loop blocked {blocked:.0f} ms at most"
        f" (at most {MOST_BLOCKED_MS})\n"
        f"     {whole:.0f} ms with waiting for a core, it ran for {own:.0f} ms; a bare beat waited {machine:.0f} ms\n"
        f"     stopped by esc after {stopped:.2f} s; the process ended {ended:.2f} s after ^q"
        f" (under {MOST_SECONDS_TO_END:g})",
        flush=True,
    )
    return holds


# --- first frame -------------------------------------------------------------------------------------------------


def first_frames(path: Path, home: Path) -> bool:
    """Hold the first frame over a big file against a bare program and against harlequin, and print both ratios."""
    workbench = str(Path(sys.executable).with_name("workbench"))
    harlequin = os.environ.get("HARLEQUIN") or shutil.which("harlequin")
    commands = {
        "workbench": [workbench, "open", str(path)],
        "bare": [sys.executable, "-m", "tests.bench.bare_app"],
    }
    if harlequin:
        commands["harlequin"] = [harlequin, "--read-only", str(path)]
    wall: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(_FRAMES + 1):
        for name, command in commands.items():
            with Terminal(command, environment(home)) as terminal:
                seconds = terminal.until_drawn()
                spent = terminal.cpu_seconds()
            if turn:  # the first turn only warms the file cache
                wall[name].append(seconds)
                cpu[name].append(spent)
    held = [_say_frame("bare", "a bare Textual app with a tree and a table", AGAINST_BARE, wall, cpu)]
    if harlequin:
        held.append(_say_frame("harlequin", "harlequin on the same file", AGAINST_HARLEQUIN, wall, cpu))
    else:
        print("     harlequin is not installed: not compared (HARLEQUIN names its command)")
    return all(held)


def _say_frame(
    name: str, basis: str, at_most: float, wall: dict[str, list[float]], cpu: dict[str, list[float]]
) -> bool:
    ours, theirs = (1e3 * statistics.median(wall[each]) for each in ("workbench", name))
    spent, their_spent = (1e3 * statistics.median(cpu[each]) for each in ("workbench", name))
    holds = ours <= at_most * theirs
    print(
        f"{'ok  ' if holds else 'MISS'} first frame: {ours / theirs:.2f} times that of {basis} (at most {at_most:g})\n"
        f"     {ours:.0f} ms against {theirs:.0f} ms; CPU until then {spent:.0f} ms against {their_spent:.0f} ms",
        flush=True,
    )
    return holds


def main() -> int:
    """Print every bound; 0 when all hold."""
    asked = read_arguments(__doc__)
    runs = max(1, asked.runs // 2)
    held = []
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as folder:
        home = Path(folder)
        print(f"{asked.rows:,} x {asked.dims} on a terminal of 120x40, medians of {runs} runs")
        for job in JOBS:
            found = Measured()
            for _ in range(runs):
                measure(job, asked.file(job.kind), home, found)
            held.append(say(job, found))
        held.append(first_frames(asked.file("native"), home))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
