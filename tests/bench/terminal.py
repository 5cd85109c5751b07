"""A program on a pseudo-terminal of 120x40 for the benchmarks of the screens: keys in, drawing out, times of both."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_CONTROL = re.compile(rb"\x1b(\[[0-9;?<>=$ ]*[a-zA-Z~]|\][^\x07\x1b]*(\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|.)")
_FIRST_CONTENT = 200
"""So many printable bytes are a first frame: less is the terminal being set up."""


class Terminal:
    """One child process and its terminal; a context manager that ends it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.started = time.monotonic()
        self.output = b""
        self.drawn: float | None = None
        self.ended: float | None = None
        self.status = 0
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:  # pragma: no cover (the child)
            os.execvpe(command[0], list(command), {**os.environ, **environment})
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.ended is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._terminal)

    def press(self, keys: str) -> None:
        """Send keys as a terminal does."""
        os.write(self._terminal, keys.encode())

    def listen(self, seconds: float) -> bool:
        """Take what is drawn for at most so long, and say whether anything was; answers what terminals are asked."""
        ready, _, _ = select.select([self._terminal], [], [], seconds)
        if not ready:
            return False
        try:
            read = os.read(self._terminal, 1 << 16)
        except OSError:
            read = b""
        if not read:
            self._note_end(wait=True)
            return False
        if b"\x1b[6n" in read:
            os.write(self._terminal, b"\x1b[1;1R")
        if b"\x1b[c" in read:
            os.write(self._terminal, b"\x1b[?62;c")
        self.output = (self.output + read)[-(1 << 20) :]
        if self.drawn is None and len(_CONTROL.sub(b"", self.output).strip()) >= _FIRST_CONTENT:
            self.drawn = time.monotonic()
        return True

    def listen_for(self, seconds: float) -> None:
        """Take what is drawn for so long."""
        until = time.monotonic() + seconds
        while self.ended is None and (left := until - time.monotonic()) > 0:
            self.listen(left)

    def until_drawn(self, at_most: float = 30) -> float:
        """Wait for the first frame and give the seconds that it took."""
        until = time.monotonic() + at_most
        while self.drawn is None and self.ended is None and time.monotonic() < until:
            self.listen(0.05)
        if self.drawn is None:
            raise RuntimeError(f"nothing was drawn: {self.output[-500:]!r}")
        return self.drawn - self.started

    def until_ended(self, at_most: float = 30) -> float:
        """Wait for the end of the process and give the seconds since now."""
        begun = time.monotonic()
        while self.ended is None and time.monotonic() < begun + at_most:
            self.listen(0.01)
            self._note_end(wait=False)
        if self.ended is None:
            raise RuntimeError("the program did not end")
        return self.ended - begun

    def cpu_seconds(self) -> float:
        """CPU time of the child so far, all threads; only where /proc tells it, else its age."""
        spent = 0
        try:
            for task in Path(f"/proc/{self.pid}/task").iterdir():
                spent += int((task / "schedstat").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return time.monotonic() - self.started
        return spent / 1e9

    def _note_end(self, *, wait: bool) -> None:
        if self.ended is not None:
            return
        pid, status = os.waitpid(self.pid, 0 if wait else os.WNOHANG)
        if pid:
            self.ended, self.status = time.monotonic(), os.waitstatus_to_exitcode(status)
