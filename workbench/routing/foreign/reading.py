"""Reads a foreign log twice: once to tell its legs, once to give its attempts with their leg and their call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from workbench.core.routing import Outcome
from workbench.routing.foreign.asked import Asked
from workbench.routing.foreign.bodies import Answer
from workbench.routing.foreign.calls import CallNames
from workbench.routing.foreign.legs import LegVotes
from workbench.routing.model import Attempt, LogProblem, Record

_MOST_PROBLEMS = 20


class Problems:
    """What is wrong with a log: the first twenty by line, the rest counted, and what is only worth a count."""

    def __init__(self) -> None:
        self._found: list[LogProblem] = []
        self._more = 0
        self._counts: Counter[str] = Counter()

    def add(self, problem: LogProblem) -> None:
        """Take a problem in."""
        if len(self._found) < _MOST_PROBLEMS:
            self._found.append(problem)
        else:
            self._more += 1

    def at(self, line: int, message: str) -> None:
        """Say what is wrong with a line."""
        self.add(LogProblem(line, f"line {line:,} {message}"))

    def unreadable(self, line: int) -> None:
        """Say that a line is nothing of this format."""
        self.at(line, "is half written, or nothing that this format holds, and was passed over")

    def count(self, message: str) -> None:
        """Count what happens often; ``{count}`` in the message is how often."""
        self._counts[message] += 1

    def take(self) -> Iterator[LogProblem]:
        """Give what was found since the last time, but for the counts."""
        while self._found:
            yield self._found.pop(0)

    def summary(self) -> Iterator[LogProblem]:
        """Give what was only counted."""
        if self._more:
            yield LogProblem(None, f"{self._more:,} more problems with lines like those above")
        for message, count in self._counts.items():
            yield LogProblem(None, message.format(count=f"{count:,}"))


def read_asked(
    file: BinaryIO,
    attempts: Callable[[BinaryIO, Problems], Iterator[Asked]],
    *,
    primary: str | None,
    scope_is_one_request: bool,
) -> Iterator[Record | LogProblem]:
    """Give the attempts of a log with their legs and calls, in its order, then what was odd about it."""
    votes = LegVotes()
    for asked in attempts(file, Problems()):
        votes.see(asked)
    legs = votes.decide(primary)
    file.seek(0)
    calls, problems = CallNames(scope_is_one_request=scope_is_one_request), Problems()
    for asked in attempts(file, problems):
        leg = legs.leg_of(asked.names)
        if leg is not None:
            yield msgspec.structs.replace(asked.attempt, leg=leg, call_id=calls.call_of(asked, leg))
    yield from problems.take()
    yield from legs.said()
    if calls.unnamed:
        yield LogProblem(
            None, f"{calls.unnamed:,} attempts do not say which call they belong to and are paired by adjacency"
        )
    yield from problems.summary()


def with_answer(attempt: Attempt, answer: Answer | None, problems: Problems) -> Attempt:
    """Fill in what a returned answer shows: the model that gave it, the length of its vectors, what is missing."""
    if answer is None:
        return attempt
    if answer.uneven:
        problems.count("{count} answers hold vectors of different lengths; the first of each counts")
    nulls = answer.nulls
    outcome = Outcome.VECTOR if not nulls else Outcome.NULL if answer.width is None else Outcome.PARTIAL
    return msgspec.structs.replace(
        attempt,
        outcome=outcome,
        response_model=answer.model or attempt.response_model,
        observed_dims=answer.width,
        input_count=max(attempt.input_count, len(answer.widths)),
        null_count=len(nulls),
        null_indexes=nulls or None,
    )
