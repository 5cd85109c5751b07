"""The program on a real terminal: its first frame, its end in any moment, and what a crash leaves behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

_STUCK = """
import sys, time
from workbench.tui import app, reading

class Stuck(reading.FileReader):
    def is_folder(self, path):
        return False
    def open(self, path):
        time.sleep(60)

reading.FileReader = Stuck
sys.exit(app.run(paths=["index.duckdb"]))
"""

_CRASH = """
import sys
from workbench.tui import app, reading
from workbench.tui.screens.main import MainScreen

def fail(self):
    raise ValueError("secret of the inside")

MainScreen.action_sort = fail
sys.exit(app.run(paths=["no-such-file.duckdb"]))
"""

_THEME = """
import sys
from workbench.tui import app
sys.exit(app.run(paths=["x"], theme="no-such-theme\\x1b[31m"))
"""

_RESTORED = b"\x1b[?1049l"


@dataclass
class Ended:
    """What a run on a terminal came to."""

    code: int
    output: bytes
    seconds_after_key: float


def run_on_terminal(script: str, *, when: bytes, key: bytes, home: Path) -> Ended:
    """Run a script on a pseudo-terminal of 120x40, press a key once some text was drawn, and wait for the end."""
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover (the child)
        os.environ.update(TERM="xterm-256color", HOME=str(home), XDG_STATE_HOME=str(home / "state"))
        os.environ.update(TEXTUAL_ANIMATIONS="none", PYTHONPATH=os.pathsep.join(sys.path))
        os.execv(sys.executable, [sys.executable, "-c", script])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    output, pressed, deadline = b"", 0.0, time.monotonic() + 30
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.05)
        if ready:
            try:
                read = os.read(terminal, 65536)
            except OSError:
                break
            if not read:
                break
            output += read
        if not pressed and when in output:
            os.write(terminal, key)
            pressed = time.monotonic()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return Ended(os.waitstatus_to_exitcode(status), output, time.monotonic() - pressed)


@pytest.mark.parametrize("key", [b"q", b"\x11", b"\x03"], ids=["q", "^q", "^c"])
def test_leaving_takes_less_than_a_second_though_a_reader_cannot_be_interrupted(tmp_path: Path, key: bytes) -> None:
    ended = run_on_terminal(_STUCK, when=b"being read", key=key, home=tmp_path)
    assert ended.code == 0
    assert _RESTORED in ended.output
    # One second as promised, and a little for a busy machine.
    assert ended.seconds_after_key < 2


def test_a_crash_restores_the_terminal_says_where_the_details_are_and_does_not_end_with_0(tmp_path: Path) -> None:
    ended = run_on_terminal(_CRASH, when=b"missing", key=b"s", home=tmp_path)
    assert ended.code == 1
    after = ended.output[ended.output.rindex(_RESTORED) :].decode()
    assert "stopped over an error that nobody foresaw (ValueError)" in after
    assert "Traceback" not in after
    assert "secret" not in after
    logs = list(tmp_path.rglob("crash.log"))
    assert len(logs) == 1
    assert str(logs[0]) in after.replace("\r\n", "")
    assert "secret of the inside" in logs[0].read_text()


def test_a_theme_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path) -> None:
    ended = run_on_terminal(_THEME, when=b"there is no theme", key=b"", home=tmp_path)
    assert ended.code == 2
    assert b"workbench-dark, workbench-light" in ended.output
    assert b"\x1b" not in ended.output
