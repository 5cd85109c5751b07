"""The routing log, written: records as lines, appended so that processes can share a file and a kill costs one line."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import stat
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

import orjson

from workbench.core.fingerprint import Fingerprint, fingerprint_text
from workbench.core.routing import Outcome, RoutingDialect
from workbench.routing.log_format import ABORTED, CANCELLED, KEYS, timestamp_of
from workbench.routing.model import (
    Attempt,
    LoggedConfig,
    LoggedNamespace,
    LoggedReset,
    LoggedStart,
    LoggedTransition,
    LoggedWrite,
    Record,
)

_SAFE_ERROR_TYPE = re.compile(r"[A-Za-z0-9_.:-]{1,80}")
_SNIFFED_BYTES = 512
_MOST_WRITES = 5


class RoutingLogError(Exception):
    """A path that no routing log can be appended to: one sentence with the reason and the ways out."""


class RoutingLog:
    """Appends records to a routing log, each as one line in one write; safe across threads and processes.

    The file is made when the first record is written. A line is never glued to what a killed process left unfinished:
    the first one begins a new line where that is needed, and what stands before any other is looked at after the
    write. Where that is no line end (a process was killed a moment ago), the line is written once more, on a line of
    its own; what it was glued to says nothing readable.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Take the path of the log; nothing is written yet.

        Raises:
            RoutingLogError: when there is something else at that path, which a line would damage, or a file that may
                not be written.
        """
        self.path = Path(path)
        self._lock = threading.Lock()
        self._fd: int | None = None
        self._pid = 0
        try:
            with contextlib.suppress(FileNotFoundError):
                os.stat(self.path)
                os.close(self._open())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise RoutingLogError(f"cannot append a routing log to '{path}': {reason}; name another file") from error

    def write(self, record: Record, *, cancelled: bool = False) -> None:
        """Append one record; ``cancelled`` marks an attempt that its caller gave up.

        Raises:
            OSError: when it cannot be written: no space, no right, no folder.
            RoutingLogError: when something else has come to be at that path.
        """
        line = encode(record, cancelled=cancelled)
        with self._lock:
            # A forked child has a file position of its own only when it opens the file itself.
            if self._fd is None or self._pid != os.getpid():
                self._fd, self._pid = self._open(), os.getpid()
                if _unfinished(self._fd):
                    line = b"\n" + line
            _append(self._fd, line)

    def close(self) -> None:
        """Give the file back; a later record opens it again."""
        with self._lock:
            fd, self._fd = self._fd, None
            if fd is not None and self._pid == os.getpid():
                os.close(fd)

    def _open(self) -> int:
        # Non-blocking: a pipe at that path must not hold up whoever embeds.
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
        fd = os.open(self.path, flags, 0o666)
        try:
            self._refuse_others(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _refuse_others(self, fd: int) -> None:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise RoutingLogError(f"cannot append a routing log to '{self.path}': it is no regular file; name another")
        start = os.pread(fd, _SNIFFED_BYTES, 0).removeprefix(b"\xef\xbb\xbf").lstrip()
        if start and not start.startswith(b"{"):
            raise RoutingLogError(
                f"cannot append a routing log to '{self.path}': it holds something else than lines of JSON, which a "
                "line would damage; name another file, or move that one away"
            )


def _append(fd: int, line: bytes) -> None:
    """Append a line in one write, and once more where it did not become a line of its own."""
    for _ in range(_MOST_WRITES):
        written = os.write(fd, line)
        start = os.lseek(fd, 0, os.SEEK_CUR) - written
        own_line = line.startswith(b"\n") or start == 0 or os.pread(fd, 1, start - 1) == b"\n"
        if own_line and written == len(line):
            return
    raise OSError(errno.EIO, "only parts of a line could be written")


def _unfinished(fd: int) -> bool:
    size = os.fstat(fd).st_size
    return size > 0 and os.pread(fd, 1, size - 1) != b"\n"


def encode(record: Record, *, cancelled: bool = False) -> bytes:
    """Spell a record as its line, line feed included. The message of an error is left out: it may quote anything."""
    entries = _attempt(record, cancelled) if isinstance(record, Attempt) else _entries_of(record)
    said = {key: value for key, value in entries.items() if value is not None}
    try:
        return orjson.dumps(said) + b"\n"
    except TypeError:
        return orjson.dumps(_without_surrogates(said)) + b"\n"


def _attempt(attempt: Attempt, cancelled: bool) -> dict[str, Any]:
    outcome, error_type = _outcome_words(attempt)
    return {
        "record": "attempt",
        "timestamp": timestamp_of(attempt.started_ms),
        "duration_ms": _duration(attempt),
        KEYS["instance"]: attempt.instance,
        KEYS["call_id"]: attempt.call_id,
        "leg": attempt.leg,
        "op": attempt.op,
        "gen_ai.operation.name": "embeddings",
        "outcome": CANCELLED if cancelled else outcome,
        KEYS["error_type"]: None if error_type is None or cancelled else _safe(error_type),
        KEYS["provider"]: attempt.provider,
        KEYS["request_model"]: attempt.request_model,
        KEYS["response_model"]: attempt.response_model,
        KEYS["requested_dims"]: attempt.requested_dims,
        KEYS["observed_dims"]: attempt.observed_dims,
        KEYS["input_count"]: attempt.input_count,
        KEYS["null_count"]: attempt.null_count,
        KEYS["null_indexes"]: attempt.null_indexes,
        "purpose": attempt.purpose,
        "namespace": attempt.namespace,
        "keys": attempt.keys or None,
        KEYS["status_code"]: attempt.status_code,
        KEYS["server"]: attempt.server,
    }


def _duration(attempt: Attempt) -> float | None:
    """Spell a duration to the microsecond where the end that follows from it stays the same."""
    lasted = attempt.duration_ms
    if lasted is None or attempt.started_ms + round(lasted, 3) != attempt.started_ms + lasted:
        return lasted
    return round(lasted, 3)


def _outcome_words(attempt: Attempt) -> tuple[str, str | None]:
    """Give the words for an outcome, and the kind of failure that says the rest."""
    match attempt.outcome:
        case Outcome.VECTOR | Outcome.PARTIAL:
            return "success", attempt.error_type
        case Outcome.NULL:
            return "null", attempt.error_type
        case Outcome.CIRCUIT_OPEN:
            return "not_permitted", attempt.error_type
        case Outcome.ABORT:
            return "error", ABORTED
        case Outcome.ERROR:
            return "error", attempt.error_type or "error"


def _safe(error_type: str) -> str:
    """Keep what names a kind; anything else could be a message."""
    return error_type if _SAFE_ERROR_TYPE.fullmatch(error_type) else "error"


def _entries_of(record: Record) -> dict[str, Any]:
    match record:
        case LoggedStart():
            return _at("start", record)
        case LoggedReset():
            return _at("reset", record)
        case LoggedTransition():
            return _at("transition", record) | {
                KEYS["origin"]: record.origin,
                KEYS["target"]: record.target,
                "message": record.message,
            }
        case LoggedWrite():
            return _at("write", record) | {
                KEYS["call_id"]: record.call_id,
                "namespace": record.namespace,
                "keys": record.keys,
            }
        case LoggedNamespace():
            return {
                "record": "namespace",
                "id": record.name,
                "model": record.model,
                "dimensions": record.dims,
                "fingerprint": _fingerprint(record),
            }
        case LoggedConfig():
            return {
                "record": "config",
                KEYS["instance"]: record.instance,
                "failure_streak_threshold": _number(record.failure_streak_threshold),
                "cooldown_ms": _number(record.cooldown_ms),
                "dialect": None if record.dialect is None else _switched_on(record.dialect),
            }
    raise TypeError(f"no record of a routing log: {type(record).__name__}")


def _fingerprint(namespace: LoggedNamespace) -> str | None:
    if namespace.model is None or namespace.dims is None:
        return None
    return fingerprint_text(Fingerprint(namespace.model, namespace.dims))


def _at(kind: str, record: LoggedStart | LoggedReset | LoggedTransition | LoggedWrite) -> dict[str, Any]:
    at = None if record.at_ms is None else timestamp_of(record.at_ms)
    return {"record": kind, "timestamp": at, KEYS["instance"]: record.instance}


def _number(value: float | None) -> float | str | None:
    """Spell what JSON has no number for (a threshold that never opens) as its word."""
    return value if value is None or math.isfinite(value) else str(value)


def _switched_on(dialect: RoutingDialect) -> list[str]:
    return [field.name for field in fields(dialect) if getattr(dialect, field.name)]


def _without_surrogates(value: Any) -> Any:  # noqa: ANN401 (any value of a line)
    """Replace what no UTF-8 can hold: half characters, in a name that came from somewhere."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {key: _without_surrogates(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(part) for part in value]
    return value
