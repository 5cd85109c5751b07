"""What an embedder does while it works, as events for whoever watches: requests, answers, waits, retries, splits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestSent:
    """A request went out with so many texts (``chars`` UTF-16 code units in all); ``attempt`` counts from 1."""

    texts: int
    chars: int
    attempt: int


@dataclass(frozen=True, slots=True)
class AnswerCame:
    """An answer came whole, one vector a text. ``tokens`` is what the server counted, None when it does not say."""

    texts: int
    tokens: int | None
    seconds: float
    model: str | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing is sent until ``until`` (epoch seconds); ``asked`` when the server named the time (Retry-After)."""

    seconds: float
    until: float
    reason: str
    asked: bool


@dataclass(frozen=True, slots=True)
class Retrying:
    """The wait is over: the same texts go out again. ``number`` of ``most`` retries."""

    number: int
    most: int
    reason: str


@dataclass(frozen=True, slots=True)
class BatchSplit:
    """The server takes less in one request: ``texts`` were refused together and go out in smaller batches."""

    texts: int
    reason: str


Activity = RequestSent | AnswerCame | Waiting | Retrying | BatchSplit

Observer = Callable[[Activity], None]
"""Called in the embedder's own thread, in the order of what happens; it must return at once."""


def unobserved(_: Activity) -> None:
    """Watch nothing."""
