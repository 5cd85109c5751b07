"""The records of a routing log as columns: a few numbers a line, so that a million lines fit and are judged at once.

Attempts that say the same of leg, model, length and namespace share a shape; what differs from line to line is in
arrays. Records between the attempts (a start, a reset, a transition, a config line) are rows too, in their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from workbench.core.routing import Leg, Outcome
from workbench.routing.keys import Kept, KeyBook
from workbench.routing.model import (
    Attempt,
    LoggedConfig,
    LoggedNamespace,
    LoggedReset,
    LoggedStart,
    LoggedTransition,
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
_SHAPE = attrgetter(
    "instance", "leg", "op", "outcome", "request_model", "response_model", "requested_dims", "observed_dims",
    "purpose", "namespace", "error_type", "status_code", "server",
)  # fmt: skip

PRIMARY, FALLBACK, PRIMARY_HEALTH, FALLBACK_HEALTH, START, RESET, TRANSITION, CONFIG = range(8)
"""Kinds of rows: attempts of either leg, health checks of either, and the records between them."""

NO_ID = hash(None)
"""What stands for the call of an attempt that names none."""

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


def gather(records: Iterable[Record]) -> Rows:
    """Read all records into columns, a piece at a time; the records themselves are let go."""
    gathering = _Gathering()
    source = iter(records)
    while piece := list(islice(source, _PIECE)):
        gathering.add(piece)
    return gathering.rows()


class _Gathering:
    def __init__(self) -> None:
        self._index = _ShapeIndex()
        self._shapes: list[Attempt] = []
        self._columns: list[tuple[NDArray[np.int32], Ints, Floats, Floats, Ints, Ints, Ints]] = []
        self._markers: list[tuple[int, Record]] = []
        self._namespaces: list[tuple[int, int, LoggedNamespace]] = []
        self._messages: dict[int, str] = {}
        self._keys = KeyBook()
        self._count = 0

    def add(self, piece: list[Record]) -> None:
        """Take a piece of the log in."""
        attempts: list[Attempt] = piece  # type: ignore[assignment]
        if set(map(type, piece)) != {Attempt}:
            attempts = list(self._apart(piece))
        if not attempts:
            return
        index, shapes = self._index, self._shapes
        numbers = [index[key] for key in map(_SHAPE, attempts)]
        if len(index) > len(shapes):
            self._new_shapes(attempts, numbers)
        shape = np.array(numbers, np.int32)
        keys = np.array([len(each.keys) for each in attempts], np.int64)
        started = np.array([each.started_ms for each in attempts], np.float64)
        lasted = np.array([each.duration_ms or 0.0 for each in attempts], np.float64)
        self._columns.append(
            (
                shape,
                np.array([each.line for each in attempts], np.int64),
                started,
                started + lasted,
                np.array([hash(each.call_id) for each in attempts], np.int64),
                np.maximum(_whole([each.input_count for each in attempts]), keys),
                _whole([each.null_count for each in attempts]),
            )
        )
        self._keys.see(attempts, shape, keys, self._count)
        if len(self._messages) < _MOST_MESSAGES:
            for place, each in enumerate(attempts, self._count):
                if each.error_message is not None:
                    self._messages[place] = each.error_message[:_LONGEST_MESSAGE]
        self._count += len(attempts)

    def _apart(self, piece: list[Record]) -> Iterator[Attempt]:
        """Give the attempts of a piece, and keep what stands between them by its place."""
        count = self._count
        for each in piece:
            if type(each) is Attempt:
                count += 1
                yield each
            elif isinstance(each, LoggedNamespace):
                self._namespaces.append((count, len(self._markers), each))
                self._keys.namespace(each)
            else:
                self._markers.append((count, each))

    def _new_shapes(self, attempts: list[Attempt], numbers: list[int]) -> None:
        for each, number in zip(attempts, numbers, strict=True):
            if number == len(self._shapes):
                self._shapes.append(each)
                self._keys.shape(each)

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
            messages, namespaces, kept,
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
