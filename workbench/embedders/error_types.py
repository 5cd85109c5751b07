"""What kind of failure an error is, in the closed words of the routing log: a kind never quotes what was sent."""

from __future__ import annotations

from workbench.embedders.failures import (
    BatchTooLarge,
    InputTooLong,
    RequestRefused,
    Unavailable,
    UnusableVectors,
    VectorProblem,
    Wrong,
    WrongAnswer,
)
from workbench.routing.log_format import ABORTED, ABORTS, ERROR_TYPES, TIMED_OUT

_OF_ANSWER = {Wrong.COUNT: "BATCH_CARDINALITY_MISMATCH", Wrong.MODEL: "MODEL_MISMATCH"}
_OF_VECTOR = {VectorProblem.DIMS: "DIMENSION_MISMATCH", VectorProblem.NON_FINITE: "NON_FINITE_VECTOR"}

MISSING = "MISSING_EMBEDDING"
"""The kind of a null beside which the provider says what went wrong."""


def error_type_of(error: BaseException) -> str:
    """Name the kind of an error: a word of the closed list, else its HTTP status, else its class."""
    own = _of_this_package(error) or _said_by(error)
    if own is not None:
        return own
    if isinstance(error, TimeoutError):
        return TIMED_OUT
    name = type(error).__name__
    if name in ABORTS:
        return ABORTED
    status = status_of(error)
    return name if status is None else str(status)


def status_of(error: BaseException) -> int | None:
    """Give the HTTP status that an error carries, on itself or on its response, as HTTP clients spell it."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and 100 <= status <= 599:
                return int(status)
    return None


def _said_by(error: BaseException) -> str | None:
    """Take the code that an error carries when it is of the closed list."""
    code = getattr(error, "code", None)
    return code if isinstance(code, str) and code in ERROR_TYPES else None


def _of_this_package(error: BaseException) -> str | None:
    match error:
        case InputTooLong() | BatchTooLarge():
            return "INPUT_BUDGET_EXCEEDED"
        case Unavailable():
            return "RETRY_EXHAUSTED"
        case RequestRefused():
            return "HTTP_TERMINAL" if error.status is None else str(error.status)
        case WrongAnswer():
            return _OF_ANSWER.get(error.wrong, "RESPONSE_SCHEMA_INVALID")
        case UnusableVectors():
            return _OF_VECTOR.get(error.bad[0].problem, "EMPTY_VECTOR") if error.bad else "EMPTY_VECTOR"
    return None
