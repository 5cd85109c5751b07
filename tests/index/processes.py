"""Real second processes: plain DuckDB and SQLite programs that hold, write and are killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

_HOLD = """
import sys, duckdb
held = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read")
print("ready", flush=True)
sys.stdin.read()
"""

_TRY = """
import sys, duckdb
for line in sys.stdin:
    try:
        with duckdb.connect(sys.argv[1]) as connection:
            connection.execute(line)
        print("written", flush=True)
    except duckdb.Error as error:
        print("refused " + str(error).replace(chr(10), " "), flush=True)
"""


class Program:
    """A second Python process that answers line by line. A context manager that ends it."""

    def __init__(
        self, code: str, *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, **(env or {})},
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self) -> str:
        """Wait for one line of its answer."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, question: str) -> str:
        """Send one line and wait for one."""
        assert self.process.stdin is not None
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.line()

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process.stdout.close()


def holder(path: Path, *, write: bool) -> Program:
    """Start a program that holds a DuckDB file open, and wait until it does."""
    program = Program(_HOLD, str(path), "write" if write else "read")
    assert program.line() == "ready"
    return program


def writer(path: Path) -> Program:
    """Start a program that opens the file for writing anew for each statement: "written", or "refused" and why."""
    return Program(_TRY, str(path))


def run(code: str, *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run Python code in a second process to its end and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )
    assert done.returncode in (0, -9), done.stderr
    return done.stdout


def leave_a_log(index: Path, log: Path | None = None) -> Path:
    """Add the row 1 to ``t`` as a program that is killed before it folds its log in; return the log."""
    run(
        "import os, sys, duckdb\nc = duckdb.connect(sys.argv[1])\nc.execute('INSERT INTO t(i) VALUES (1)')\n"
        "os.kill(os.getpid(), 9)",
        str(index),
    )
    log = log or index.with_name(index.name + ".wal")
    assert log.stat().st_size
    return log
