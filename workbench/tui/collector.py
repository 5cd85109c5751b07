"""Keeps Python's garbage collector out of the way: its full passes would block every key for up to a tenth of a second.

None runs while the program starts or a recording is read, and what was built by then is never looked through again.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_counting = threading.Lock()
_holding = 0


def hold_back() -> None:
    """Collect nothing until ``set_apart``: whatever a start makes stays."""
    gc.disable()


def set_apart() -> None:
    """Leave everything that exists now out of later passes, which then only look through what came since."""
    gc.freeze()
    gc.enable()


@contextmanager
def held_back() -> Iterator[None]:
    """Collect nothing while a block builds up what stays, and leave that out of later passes. Any thread may ask."""
    global _holding
    with _counting:
        _holding += 1
        gc.disable()
    try:
        yield
    finally:
        with _counting:
            _holding -= 1
            if not _holding:
                set_apart()
