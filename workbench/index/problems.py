"""Why a path cannot be read as an index. Light, so that a screen is drawn before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Problem(StrEnum):
    """Why a path cannot be read as an index (the ``problem`` of ``check --json``)."""

    MISSING = "missing"
    NOT_A_FILE = "not-a-file"
    DIRECTORY = "directory"
    EMPTY = "empty"
    NOT_AN_INDEX = "not-an-index"
    NOT_READABLE_YET = "not-readable-yet"
    LOCKED = "locked"
    BEING_WRITTEN = "being-written"
    TOO_NEW = "too-new"
    TRUNCATED = "truncated"
    DAMAGED = "damaged"
    ENCRYPTED = "encrypted"
    URL = "url"


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The program that holds a file, as the driver names it."""

    program: str
    pid: int


class SourceError(Exception):
    """A path that cannot be read: one sentence that says what, why and what to do.

    Attributes:
        problem: which of the known reasons.
        message: the sentence; may hold strings of the file or its name, so it is made inert where it is drawn.
        container: duckdb, sqlite, chroma, lance, parquet, recording, routing-log, or None when not even that is known.
        holder: who holds the file, when it is locked and the driver says.
    """

    def __init__(
        self, problem: Problem, message: str, *, container: str | None = None, holder: LockHolder | None = None
    ) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message
        self.container = container
        self.holder = holder
