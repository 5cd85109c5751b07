"""Keeps Python's garbage collector out of the way: its full passes would block every key for up to a tenth of a second.

None runs while the program starts, and what was imported and built by then is never looked through again.
"""

from __future__ import annotations

import gc


def hold_back() -> None:
    """Collect nothing until ``set_apart``: whatever a start makes stays."""
    gc.disable()


def set_apart() -> None:
    """Leave everything that exists now out of later passes, which then only look through what came since."""
    gc.freeze()
    gc.enable()
