"""What is left of a crash: a log with the details, and one sentence on the restored terminal."""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.core.text import inert


def log_path() -> Path:
    """Name the file that the command line keeps such details in too."""
    import platformdirs

    return platformdirs.user_log_path("workbench", appauthor=False) / "crash.log"


@contextmanager
def log_native_crashes() -> Iterator[None]:
    """Send the stacks of a crash in native code to the log: the terminal shows only what the program drew last."""
    try:
        path = log_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w", encoding="utf-8")  # noqa: SIM115
    except OSError:
        yield
        return
    with file:
        faulthandler.enable(file)
        try:
            yield
        finally:
            faulthandler.disable()


def say(sentence: str) -> None:
    """Write a sentence on the terminal that the program does not draw on, or no longer, made inert."""
    sys.stderr.write(f"workbench: {inert(sentence)}\n")


def say_crashed(error: Exception) -> None:
    """Say what happened, that no file was touched, and where the details are."""
    if not logging.getLogger("workbench").handlers:
        _append(error)
    say(
        f"stopped over an error that nobody foresaw ({type(error).__name__}); no file was changed, "
        f"and the details are in {log_path()}"
    )


def _append(error: Exception) -> None:
    """Write the details when no logging was set up to do it."""
    try:
        with log_path().open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write("".join(traceback.format_exception(error)))
    except OSError:
        return
