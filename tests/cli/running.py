"""Runs the program as users do: in a process of its own, in a folder of its own, with pipes or a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TIMEOUT_S = 60
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What no output may hold outside of `\\u` escapes; a newline is layout."""


@dataclass(frozen=True)
class Ran:
    """How one run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 (whatever the document is)
        """The one document on stdout."""
        return json.loads(self.out)


def environment(home: Path, **extra: str) -> dict[str, str]:
    """Make an environment that leads nowhere but into ``home``."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "LANG", "LC_ALL")}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "COLUMNS": "80", **extra}


def workbench(home: Path, *arguments: str | os.PathLike[str], **extra: str) -> Ran:
    """Run one command line with pipes; ``extra`` are variables of the environment."""
    done = subprocess.run(
        [sys.executable, "-m", "workbench", *(os.fspath(each) for each in arguments)],
        capture_output=True,
        timeout=_TIMEOUT_S,
        env=environment(home, **extra),
        cwd=home,
        stdin=subprocess.DEVNULL,
    )
    out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    assert "Traceback" not in err + out
    return Ran(done.returncode, out, err)


def on_a_terminal(home: Path, arguments: Sequence[str], variables: Mapping[str, str]) -> bytes:
    """Run one command line with its stdout on a terminal, and give what was drawn."""
    reader, writer = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.DEVNULL,
        env={**environment(home), **variables},
        cwd=home,
    )
    os.close(writer)
    drawn = b""
    while True:
        try:
            piece = os.read(reader, 65_536)
        except OSError:  # how a terminal says that its other end is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(reader)
    process.wait(_TIMEOUT_S)
    return drawn
