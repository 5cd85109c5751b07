"""Where the details of an unforeseen error go, so that the terminal gets one sentence and no traceback."""

from __future__ import annotations

import logging
import os
from pathlib import Path

_KEEP_BYTES = 1_000_000
_FORMAT = logging.Formatter("%(asctime)s %(name)s: %(message)s")


def log_path() -> Path:
    """Give the file that holds the details of unforeseen errors; it exists once there was one."""
    import platformdirs

    return platformdirs.user_log_path("workbench", appauthor=False) / "crash.log"


def keep_details() -> None:
    """Send what this package logs as an error to the file, which is made when needed, and nothing to the terminal."""
    logger = logging.getLogger("workbench")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(_LateFile(logging.ERROR))


class _LateFile(logging.Handler):
    """Appends to the log, which is started anew when it has grown; a disk that refuses is no second error."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            path = log_path()
            path.parent.mkdir(parents=True, exist_ok=True)
            mode = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if _grown(path) else os.O_APPEND)
            descriptor = os.open(path, mode, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(_FORMAT.format(record) + "\n")
        except OSError:
            return


def _grown(path: Path) -> bool:
    return path.exists() and path.stat().st_size > _KEEP_BYTES
