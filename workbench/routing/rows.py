"""The records of a routing log as columns: a few numbers a line, so that a million lines fit and are judged at once.

Attempts that say the same of leg, model, length and namespace share a shape; what differs from line to line is in
arrays. Records between the attempts (a start, a reset, a transition, a config line) are rows too, in their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from workbench.core.routing import Leg, Outcome
from workbench.routing.keys import Kept, KeyBook
from workbench.routing.log import Piece
from workbench.routing.log_format import AttemptLine, epoch_ms
from workbench.routing.model import (
    Attempt,
    LoggedConfig,
    LoggedNamespace,
    LoggedReset,
    LoggedStart,
    LoggedTransition,
    LoggedWrite,
    LogProblem,
    Operation,
    Record,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]

_PIECE = 16_384
_MOST_MESSAGES = 100_000
_LONGEST_MESSAGE = 300
_MOST_SPELLINGS = 100_000
_ZONE = attrgetter("tzinfo")
_SPELLING = attrgetter(
    "record", "instance", "leg", "op", "outcome", "request_model", "response_model", "requested_dims",
    "observed_dims", "purpose", "namespace", "error_type", "status_code", "server", "input_count",
    "null_count", "null_indexes",
)  # fmt: skip
"""What makes the shape of a line that was not turned into an attempt yet."""

_SHAPE = attrgetter(
    "instance", "leg", "op", "outcome", "request_model", "response_model", "requested_dims", "observed_dims",
    "purpose", "namespace", "error_type", "status_code", "server",
)  # fmt: skip

PRIMARY, FALLBACK, PRIMARY_HEALTH, FALLBACK_HEALTH, START, RESET, TRANSITION, CONFIG = range(8)
"""Kinds of rows: attempts of either leg, health checks of either, and the records between them."""

NO_ID = hash(None)
"""What stands for the call of an attempt that names none."""

_VALUES = (Outcome.VECTOR, Outcome.PARTIAL)

_MARKERS: dict[type, int] = {LoggedStart: START, LoggedReset: RESET, LoggedTransition: TRANSITION, LoggedConfig: CONFIG}


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Every record of a log but its namespaces, in the order of the log.

    Attributes:
        shapes: one attempt for each shape; for the rest of a row look at its columns.
        shape: index into ``shapes``, -1 for records that are no attempt.
        kind: ``PRIMARY`` … ``CONFIG``.
        line: of the log, from 1.
        started, ended: epoch milliseconds; NaN for a record that names no time.
        call: a hash of the id of the call, ``NO_ID`` where there is none.
        items, nulls: texts of the attempt, and how many came back without a vector.
        instance: index into ``instances``.
        instances: the processes, in the order of their first line.
        markers: the records that are no attempts, by row.
        messages: error messages by row, as far as kept.
        namespaces: the namespace lines, each with the row that it stands before.
        writes: where the vectors of calls went, as told later.
        problems: what could not be read.
        kept: keys of what may be foreign or missing.
    """

    shapes: list[Attempt]
    shape: Ints
    kind: Bytes
    line: Ints
    started: Floats
    ended: Floats
    call: Ints
    items: Ints
    nulls: Ints
    instance: Ints
    instances: list[str | None]
    markers: dict[int, Record]
    messages: dict[int, str]
    namespaces: list[tuple[int, LoggedNamespace]]
    writes: list[LoggedWrite]
    problems: list[LogProblem]
    kept: Kept

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.kind)


class _ShapeIndex(dict[tuple[object, ...], int]):
    """Numbers shapes as they come."""

    def __missing__(self, key: tuple[object, ...]) -> int:
        number = self[key] = len(self)
        return number


def gather(records: Iterable[Piece | Record | LogProblem]) -> Rows:
    """Read all records into columns, a piece at a time; the records themselves are let go."""
    gathering = _Gathering()
    waiting: list[Record | LogProblem] = []
    for each in records:
        if type(each) is Piece:
            gathering.add(waiting)
            waiting = []
            gathering.add_lines(each)
        else:
            waiting.append(each)  # type: ignore[arg-type]
            if len(waiting) == _PIECE:
                gathering.add(waiting)
                waiting = []
    gathering.add(waiting)
    return gathering.rows()


class _Gathering:
    def __init__(self) -> None:
        self._index = _ShapeIndex()
        self._shapes: list[Attempt] = []
        self._spelled = _ShapeIndex()
        self._of_spelling: list[tuple[int, int, int]] = []
        self._table = np.zeros((3, 0), np.int64)
        self._quiet = np.zeros(0, np.bool_)
        self._columns: list[tuple[NDArray[np.int32], Ints, Floats, Floats, Ints, Ints, Ints]] = []
        self._markers: list[tuple[int, Record]] = []
        self._namespaces: list[tuple[int, int, LoggedNamespace]] = []
        self._messages: dict[int, str] = {}
        self._writes: list[LoggedWrite] = []
        self._problems: list[LogProblem] = []
        self._keys = KeyBook()
        self._count = 0

    def add(self, piece: list[Record | LogProblem]) -> None:
        """Take records in."""
        attempts: list[Attempt] = piece  # type: ignore[assignment]
        if set(map(type, piece)) != {Attempt}:
            attempts = list(self._apart(piece))
        if not attempts:
            return
        shape = np.array([self._shape_of(_SHAPE(each), each) for each in attempts], np.int64)
        self._take(
            attempts,
            shape,
            np.array([each.line for each in attempts], np.int64),
            np.array([each.started_ms for each in attempts], np.float64),
            _whole([max(each.input_count, len(each.keys)) for each in attempts]),
            _whole([each.null_count for each in attempts]),
        )

    def add_lines(self, piece: Piece) -> None:
        """Take lines in as they stand: what makes up a shape is looked at once for each way of spelling it."""
        lines = piece.lines
        numbers = np.arange(piece.first, piece.first + len(lines))
        if len(self._spelled) > _MOST_SPELLINGS:
            self.add([each for each in map(piece.record, range(len(lines))) if each is not None])
            return
        spelled = self._spelled
        known = [spelled[key] for key in map(_SPELLING, lines)]
        if len(spelled) > len(self._of_spelling):
            self._new_spellings(piece, known)
        shape, items, nulls = self._spellings()[:, known]
        started = _times(lines)
        usable = (shape >= 0) & ~np.isnan(started)
        if not usable.all():
            # What is no attempt is kept by its place between them.
            place = self._count + np.cumsum(usable)
            for at in np.flatnonzero(~usable).tolist():
                found = piece.record(at)
                if found is not None:
                    self._between(found, int(place[at]))
            lines = [line for line, is_attempt in zip(lines, usable.tolist(), strict=True) if is_attempt]
            shape, items, nulls = shape[usable], items[usable], nulls[usable]
            numbers, started = numbers[usable], started[usable]
        for at in np.flatnonzero(items < 0).tolist():
            items[at] = len(lines[at].keys) or 1
        if lines:
            self._take(lines, shape, numbers, started, items, nulls)

    def _new_spellings(self, piece: Piece, known: list[int]) -> None:
        for at, (line, number) in enumerate(zip(piece.lines, known, strict=True)):
            if number == len(self._of_spelling):
                attempt = piece.attempt(at)
                shape = -1 if attempt is None else self._shape_of(_SHAPE(attempt), attempt)
                nulls = line.null_count or len(line.null_indexes or ())
                self._of_spelling.append((shape, -1 if line.input_count is None else line.input_count, nulls))

    def _spellings(self) -> Ints:
        """Give shape, items and nulls of every spelling; items of -1 are as many as there are keys."""
        if self._table.shape[1] < len(self._of_spelling):
            self._table = np.array(self._of_spelling, np.int64).T.copy()
        return self._table

    def _take(
        self,
        attempts: Sequence[Attempt | AttemptLine],
        shape: Ints,
        numbers: Ints,
        started: Floats,
        items: Ints,
        nulls: Ints,
    ) -> None:
        lasted = np.array([each.duration_ms for each in attempts], np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # a time beyond all times is one that never comes
            ended = started + np.where(np.isnan(lasted), 0.0, lasted)
        calls = np.array([hash(each.call_id) for each in attempts], np.int64)
        self._columns.append((shape.astype(np.int32), numbers, started, ended, calls, items, nulls))
        self._keys.see(attempts, shape, self._count)
        if len(self._messages) < _MOST_MESSAGES:
            if len(self._quiet) < len(self._shapes):
                self._quiet = np.array([each.outcome in _VALUES for each in self._shapes], np.bool_)
            for at in np.flatnonzero(~self._quiet[shape]).tolist():
                message = attempts[at].error_message
                if message is not None:
                    self._messages[self._count + at] = message[:_LONGEST_MESSAGE]
        self._count += len(attempts)

    def _shape_of(self, key: tuple[object, ...], attempt: Attempt) -> int:
        number = self._index[key]
        if number == len(self._shapes):
            self._shapes.append(attempt)
            self._keys.shape(attempt)
        return number

    def _apart(self, piece: list[Record | LogProblem]) -> Iterator[Attempt]:
        """Give the attempts of a piece, and keep what stands between them by its place."""
        count = self._count
        for each in piece:
            if type(each) is Attempt:
                count += 1
                yield each
            else:
                self._between(each, count)

    def _between(self, record: Record | LogProblem, place: int) -> None:
        if isinstance(record, LogProblem):
            self._problems.append(record)
        elif isinstance(record, LoggedNamespace):
            self._namespaces.append((place, len(self._markers), record))
            self._keys.namespace(record)
        elif isinstance(record, LoggedWrite):
            self._writes.append(record)
        else:
            self._markers.append((place, record))

    def rows(self) -> Rows:
        """Put the pieces together, the records between the attempts in their places."""
        shape, line, started, ended, call, items, nulls = self._whole_columns()
        places = np.array([place for place, _ in self._markers], np.int64)
        kinds = np.array([_kind(each) for each in self._shapes], np.uint8)
        kind = kinds[shape] if len(kinds) else np.zeros(0, np.uint8)
        instances: dict[str | None, int] = {}
        of_shape = [instances.setdefault(each.instance, len(instances)) for each in self._shapes]
        instance = np.array(of_shape, np.int64)[shape] if of_shape else np.zeros(0, np.int64)
        if not self._markers:
            return self._made(shape, kind, line, started, ended, call, items, nulls, instance, list(instances), {})
        own = [self._instance_of(record, instances) for _, record in self._markers]
        lines = [record.line for _, record in self._markers]
        times = np.array([_time(record) for _, record in self._markers], np.float64)
        return self._made(
            np.insert(shape, places, -1),
            np.insert(kind, places, [_MARKERS[type(record)] for _, record in self._markers]),
            np.insert(line, places, lines),
            np.insert(started, places, times),
            np.insert(ended, places, times),
            np.insert(call, places, NO_ID),
            np.insert(items, places, 0),
            np.insert(nulls, places, 0),
            np.insert(instance, places, own),
            list(instances),
            {int(row): each for row, (_, each) in zip(_moved(places), self._markers, strict=True)},
        )

    def _made(
        self,
        shape: Ints,
        kind: Bytes,
        line: Ints,
        started: Floats,
        ended: Floats,
        call: Ints,
        items: Ints,
        nulls: Ints,
        instance: Ints,
        instances: list[str | None],
        markers: dict[int, Record],
    ) -> Rows:
        rows = np.flatnonzero(shape >= 0)
        kept = self._keys.kept(rows)
        messages = self._messages
        if markers:
            messages = {int(rows[place]): text for place, text in messages.items()}
        namespaces = [(place + before, record) for place, before, record in self._namespaces]
        return Rows(
            self._shapes, shape, kind, line, started, ended, call, items, nulls, instance, instances, markers,
            messages, namespaces, self._writes, self._problems, kept,
        )  # fmt: skip

    def _whole_columns(self) -> tuple[Ints, Ints, Floats, Floats, Ints, Ints, Ints]:
        if not self._columns:
            none, never = np.zeros(0, np.int64), np.zeros(0, np.float64)
            return none, none, never, never, none, none, none
        shape, *rest = (np.concatenate(column) for column in zip(*self._columns, strict=True))
        self._columns.clear()
        line, started, ended, call, items, nulls = rest
        return shape.astype(np.int64), line, started, ended, call, items, nulls

    def _instance_of(self, record: Record, instances: dict[str | None, int]) -> int:
        """Find the process of a record; one that names none belongs to the only one there is."""
        name = getattr(record, "instance", None)
        if name is None and None not in instances and len(instances) == 1:
            return 0
        return instances.setdefault(name, len(instances))


def _times(lines: list[AttemptLine]) -> Floats:
    """Give the beginnings in epoch milliseconds, NaN where a line has none."""
    stamps = [each.timestamp for each in lines]
    kinds = set(map(type, stamps))
    if kinds <= {float, int}:
        return np.array(stamps, np.float64)
    if kinds == {datetime} and None not in set(map(_ZONE, stamps)):
        try:
            seconds = np.array([stamp.timestamp() for stamp in stamps], np.float64)  # type: ignore[union-attr]
        except (OverflowError, ValueError):
            pass
        else:
            # Whole microseconds survive the way over seconds.
            milliseconds: Floats = np.round(seconds * 1_000, 3)
            return milliseconds
    return np.array([np.nan if stamp is None else epoch_ms(stamp) for stamp in stamps], np.float64)


def _whole(numbers: list[int]) -> Ints:
    """Give counts as an array; one beyond 64 bits is taken as the most there is."""
    try:
        return np.array(numbers, np.int64)
    except OverflowError:
        most = 2**62
        return np.array([min(max(number, -most), most) for number in numbers], np.int64)


def _kind(attempt: Attempt) -> int:
    fallback = attempt.leg is Leg.FALLBACK
    if attempt.op is Operation.HEALTHCHECK:
        return FALLBACK_HEALTH if fallback else PRIMARY_HEALTH
    return FALLBACK if fallback else PRIMARY


def _time(record: Record) -> float:
    at_ms = getattr(record, "at_ms", None) if isinstance(record, LoggedReset | LoggedStart) else None
    return np.nan if at_ms is None else float(at_ms)


def _moved(places: Ints) -> Ints:
    """Give where inserted rows stand after the insertion."""
    moved: Ints = places + np.arange(len(places))
    return moved


def returned(outcome: Outcome) -> bool:
    """Say whether a leg gave a value, a null among them."""
    return outcome in (Outcome.VECTOR, Outcome.PARTIAL, Outcome.NULL)
