"""What the terminal does with characters whose width is ambiguous, asked before the first frame."""

from __future__ import annotations

import os
import re
import select
import sys
import time

_ASK = b"\r\xe2\x96\x8c\x1b[6n"
"""Draw the cursor sign in the first column, then ask where the cursor is."""

_ANSWER = re.compile(rb"\x1b\[(\d+);(\d+)R")


def ambiguous_is_wide(timeout: float = 0.15) -> bool:
    """Whether the terminal draws ambiguous characters over two cells, as some East Asian set-ups do.

    Asks only where the locale is East Asian, since a terminal that does not answer costs the timeout (seconds).
    """
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or ""
    if not locale.startswith(("zh", "ja", "ko")) or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        import termios
        import tty
    except ImportError:
        return False
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        os.write(sys.stdout.fileno(), _ASK)
        answer = _read_answer(terminal, time.monotonic() + timeout)
    finally:
        os.write(sys.stdout.fileno(), b"\r\x1b[K")
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    found = _ANSWER.search(answer)
    return found is not None and int(found.group(2)) > 2


def _read_answer(terminal: int, deadline: float) -> bytes:
    answer = b""
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([terminal], [], [], left)
        if not ready:
            break
        answer += os.read(terminal, 64)
        if _ANSWER.search(answer):
            break
    return answer
