"""Opening a routing log: what kind of log a file is, by its content, and the reader that gives its records.

A reader of a foreign log is one entry of ``formats()``: how its first bytes are recognised, and how it is read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from workbench.routing.model import LogProblem, Record

if TYPE_CHECKING:
    from workbench.core.routing import RoutingDialect
    from workbench.routing.log import Piece
    from workbench.routing.replay import Replay
    from workbench.routing.stepping import Asked

HEAD_BYTES = 65_536
"""How much of a file tells its format."""

NATIVE = "routing-log"
"""The name of the format of ``routing.jsonl``."""

_LOOKED_AT_LINES = 500
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip", b"BZh": "bzip2"}
_LONG_ATTEMPT = re.compile(rb'"leg"\s*:\s*"(?:primary|fallback)"')


class NotALog(StrEnum):
    """Why a path is no routing log that can be read, in the words of ``check --json``."""

    MISSING = "missing"
    NOT_A_FILE = "not-a-file"
    DIRECTORY = "directory"
    EMPTY = "empty"
    OTHER = "not-an-index"
    DAMAGED = "damaged"


class UnreadableLog(Exception):
    """A path that is no routing log: ``problem``, and ``message`` in one sentence with the ways out."""

    def __init__(self, problem: NotALog, message: str) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message


@dataclass(frozen=True, slots=True)
class LogFormat:
    """One kind of log.

    Attributes:
        name: of the format, as ``check`` and ``replay`` tell it.
        recognise: takes the first bytes of a file and says in words why it is this kind, None when it is not.
        read: gives records and problems of a file that stands at its beginning; bounded, and never raises for what
            the file holds.
        when_named: the same as ``recognise``, less strict, for a file that somebody gives as a routing log and that
            is otherwise better shown as something else.
        read_pieces: the same as ``read``, faster, for who takes runs of lines as they are.
        read_with_primary: the same as ``read`` with the leg named that is asked first, for logs that do not say it.
    """

    name: str
    recognise: Callable[[bytes], str | None]
    read: Callable[[BinaryIO], Iterator[Record | LogProblem]]
    when_named: Callable[[bytes], str | None] | None = None
    read_pieces: Callable[[BinaryIO], Iterator[Piece | Record | LogProblem]] | None = None
    read_with_primary: Callable[[BinaryIO, str], Iterator[Record | LogProblem]] | None = None


def formats() -> tuple[LogFormat, ...]:
    """Give every format, the most particular first."""
    from workbench.routing.foreign import litellm, otlp
    from workbench.routing.log import read_log, read_pieces

    return (
        LogFormat(NATIVE, _native, read_log, read_pieces=read_pieces),
        LogFormat("litellm", litellm.recognise, litellm.read, read_with_primary=litellm.read),
        LogFormat("otlp", otlp.recognise, otlp.read, otlp.recognise_embeddings, read_with_primary=otlp.read),
    )


@dataclass(frozen=True, slots=True)
class Recognised:
    """A format, and how it was recognised."""

    format: LogFormat
    why: str


def recognise(path: str | os.PathLike[str]) -> Recognised | None:
    """Say which kind of routing log a file is, None when it is none or cannot be read; looks at its first bytes."""
    try:
        with _open(os.fspath(path)) as file:
            return _recognise(file.read(HEAD_BYTES))
    except UnreadableLog:
        return None


def _recognise(head: bytes, *, named: bool = False) -> Recognised | None:
    for format in formats():
        why = format.recognise(head)
        if why is None and named and format.when_named is not None:
            why = format.when_named(head)
        if why is not None:
            return Recognised(format, why)
    return None


class RoutingLogFile:
    """An open routing log: a context manager that gives its records once.

    Attributes:
        path: as given.
        format: the name of its format.
        why: how it was recognised, in words.
        size: bytes of the file.
    """

    def __init__(self, path: str, file: BinaryIO, recognised: Recognised, primary: str | None = None) -> None:
        self.path = path
        self.format = recognised.format.name
        self.why = recognised.why
        self.size = os.fstat(file.fileno()).st_size
        self._file = file
        self._read = recognised.format.read
        named = recognised.format.read_with_primary
        if primary is not None and named is not None:
            self._read = lambda file: named(file, primary)
        self._read_pieces = recognised.format.read_pieces

    @property
    def records(self) -> Iterator[Record | LogProblem]:
        """Read from the beginning: records, and problems in their places."""
        self._file.seek(0)
        return self._read(self._file)

    @property
    def pieces(self) -> Iterator[Piece | Record | LogProblem]:
        """Read from the beginning what ``records`` gives, for ``replay_log``, which takes runs of lines as they are."""
        if self._read_pieces is None:
            return self.records
        self._file.seek(0)
        return self._read_pieces(self._file)

    @property
    def position(self) -> int:
        """How many bytes were read so far."""
        return self._file.tell()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> RoutingLogFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def open_routing_log(path: str | os.PathLike[str], *, primary: str | None = None) -> RoutingLogFile:
    """Open a routing log of any known format.

    Args:
        path: the file.
        primary: who is asked first (a model group, a model, an address), where a foreign log leaves a doubt.

    Raises:
        UnreadableLog: one sentence that says what the path is instead.
    """
    name = os.fspath(path)
    file = _open(name)
    try:
        head = file.read(HEAD_BYTES)
        if not head.strip():
            raise UnreadableLog(NotALog.EMPTY, f"{name} is empty: no call was logged into it")
        packed = next((name for magic, name in _PACKED.items() if head.startswith(magic)), None)
        if packed is not None:
            raise UnreadableLog(
                NotALog.OTHER,
                f"{name} is packed ({packed}), and a routing log is read as it was written; unpack it first",
            )
        recognised = _recognise(head, named=True)
        if recognised is None:
            known = ", ".join(format.name for format in formats())
            raise UnreadableLog(
                NotALog.OTHER,
                f"{name} is no routing log that is known ({known}): none of its first lines tells of a call to a leg; "
                "give the log that the fallback provider wrote, or show it as a recording with workbench show",
            )
        if primary is not None and recognised.format.read_with_primary is None:
            raise UnreadableLog(
                NotALog.OTHER, f"{name} says itself which leg was asked; read it without naming a primary ('{primary}')"
            )
        return RoutingLogFile(name, file, recognised, primary)
    except BaseException:
        file.close()
        raise


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedLog:
    """A log that was read and replayed: its path as given, its format, how that was recognised, and the replay."""

    path: str
    format: str
    why: str
    replay: Replay


def replay_file(
    path: str | os.PathLike[str],
    asked: Asked | None = None,
    dialect: RoutingDialect | None = None,
    *,
    primary: str | None = None,
    checkpoint: Callable[[], object] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> ReplayedLog:
    """Read and replay a log; ``primary`` as in ``open_routing_log``.

    ``checkpoint`` is called now and then and may raise to give up, ``progress`` with the bytes read and those in all.

    Raises:
        UnreadableLog: when it is none, or holds no call.
    """
    from workbench.routing.replay import replay_log

    with open_routing_log(path, primary=primary) as file:
        pieces = file.pieces if checkpoint is None else _watched(file, checkpoint, progress)
        replay = replay_log(pieces, asked, dialect)
        if not replay.count:
            raise UnreadableLog(
                NotALog.EMPTY, f"{file.path} holds no call that can be read, so there is nothing to replay"
            )
        return ReplayedLog(file.path, file.format, file.why, replay)


def _watched(
    file: RoutingLogFile, checkpoint: Callable[[], object], progress: Callable[[int, int], object] | None
) -> Iterator[Piece | Record | LogProblem]:
    for number, piece in enumerate(file.pieces):
        if number % 64 == 0:
            checkpoint()
            if progress is not None:
                progress(file.position, file.size)
        yield piece


def _open(name: str) -> BinaryIO:
    """Open a regular file, and nothing that could wait or be something else."""
    try:
        if not os.path.lexists(name):
            raise UnreadableLog(NotALog.MISSING, f"{name} is not there; check the spelling and the folder you are in")
        # Non-blocking: a pipe of that name must not hold up whoever looks.
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableLog(NotALog.NOT_A_FILE, f"{name} cannot be opened: {reason}") from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise UnreadableLog(NotALog.DIRECTORY, f"{name} is a folder; name the routing log in it")
    raise UnreadableLog(NotALog.NOT_A_FILE, f"{name} is no regular file; give a file that holds the log")


def head_objects(head: bytes) -> Iterator[dict[str, Any]]:
    """Give the JSON objects of the first lines of a file, as far as they parse; a cut last line is left out."""
    for raw in head.split(b"\n")[:_LOOKED_AT_LINES]:
        try:
            value = orjson.loads(raw)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _native(head: bytes) -> str | None:
    from workbench.routing.log_lines import line_blocks

    text = _as_utf8(head, line_blocks)
    if b"\n" not in text and _LONG_ATTEMPT.search(text) and b'"outcome"' in text:
        # A batch of thousands of keys is one line, longer than what is looked at.
        return "its first line tells of an attempt by its leg and outcome"
    for value in head_objects(text):
        kind = value.get("record", "attempt")
        if kind == "attempt" and value.get("leg") in ("primary", "fallback") and "outcome" in value:
            return "its lines tell of attempts by their leg and outcome"
        if kind == "config" and ("failure_streak_threshold" in value or "cooldown_ms" in value):
            return "it begins with the configuration of a fallback provider"
        if kind in ("namespace", "transition", "write") and {"id", "namespace", "from"} & value.keys():
            return f"it begins with a {kind} record of a routing log"
        if kind in ("start", "reset") and "service.instance.id" in value:
            return f"it begins with a {kind} record of a routing log"
    return None


def _as_utf8(head: bytes, line_blocks: Callable[[BinaryIO], Iterator[Any]]) -> bytes:
    from io import BytesIO

    return b"".join(block.data for block in line_blocks(BytesIO(head)))
