"""How every ratio is taken: interleaved runs, medians, CPU time, and one line that names the bound and the basis."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """One promised ratio: ``subject`` against ``basis``, in CPU seconds, and the bound on their quotient."""

    name: str
    subject: str
    basis: str
    subject_seconds: float
    basis_seconds: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def value(self) -> float:
        """How many times cheaper when a least is asked for, how many times dearer when a most is."""
        if self.at_least is not None:
            return self.basis_seconds / max(self.subject_seconds, 1e-6)
        return self.subject_seconds / max(self.basis_seconds, 1e-6)

    @property
    def holds(self) -> bool:
        """Whether the bound is kept."""
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )

    def print(self) -> bool:
        """Print the ratio, its bound and its basis; return whether it holds."""
        if self.at_least is not None:
            bound, sense = f"at least {self.at_least:g}", "cheaper"
        else:
            bound, sense = f"at most {self.at_most:g}", "the cost"
        print(
            f"{'ok  ' if self.holds else 'MISS'} {self.name}: {self.value:.2f} times {sense} ({bound})\n"
            f"     {self.subject}: {self.subject_seconds * 1e3:.2f} ms CPU; {self.basis}: "
            f"{self.basis_seconds * 1e3:.2f} ms CPU",
            flush=True,
        )
        return self.holds


def own_cpu_seconds() -> float:
    """CPU time of this process so far, all threads, user and system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cpu_medians(actions: Mapping[str, Callable[[], object]], runs: int, warm_up: int = 1) -> dict[str, float]:
    """Run all actions in turn, ``runs`` times over; median CPU seconds of each."""
    for _ in range(warm_up):
        for action in actions.values():
            action()
    spent: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(runs):
        for name, action in actions.items():
            before = own_cpu_seconds()
            action()
            spent[name].append(own_cpu_seconds() - before)
    return {name: statistics.median(seconds) for name, seconds in spent.items()}


@dataclass(frozen=True, slots=True)
class Ended:
    """A child process that ended: exit code, CPU seconds, largest resident set in MB, and what it printed."""

    code: int
    cpu_seconds: float
    peak_mb: float
    output: bytes


def run_process(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Ended:
    """Run one command to its end and read what the kernel counted for it alone."""
    child = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=None if environment is None else {**environment},
    )
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stdout.close()
    kilobytes = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Ended(child.returncode, used.ru_utime + used.ru_stime, kilobytes / 1e3, output)


def process_medians(commands: Mapping[str, Sequence[str]], runs: int) -> dict[str, float]:
    """Run all commands in turn, each in a fresh process, ``runs`` times over; median CPU seconds of each."""
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            ended = run_process(command)
            if turn:  # the first turn only warms the file cache
                spent[name].append(ended.cpu_seconds)
    return {name: statistics.median(seconds) for name, seconds in spent.items()}
