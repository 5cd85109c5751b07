"""Attempts joined to calls: by the id of the call, else by adjacency (and flagged); one machine a process and restart.

``n`` of a call is its place from 1, in the order of the calls' first lines. Arrays of calls start at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

import numpy as np

from workbench.core.routing import Outcome
from workbench.routing.rows import (
    FALLBACK,
    FALLBACK_HEALTH,
    NO_ID,
    PRIMARY,
    PRIMARY_HEALTH,
    START,
    Bytes,
    Flags,
    Floats,
    Ints,
    Rows,
    returned,
)

CLOCK_TOLERANCE_MS = 1.0
"""Times are logged in whole milliseconds; less than one back is rounding."""

_ADJACENT_WITHIN_MS = 1_000.0
_MOST_WAITING = 64
_MOST_STEPS_BACK = 64


class Flag(IntFlag):
    """What is odd about a call."""

    BY_ADJACENCY = 1
    """Its attempts name no call and were paired because they follow one another."""
    CLOCK_BACK = 2
    """It ends before the line above it ended."""
    RESTARTED = 4
    """It is the first of a process, after a start."""
    UNFINISHED = 8
    """The log of its process ends before its fallback was asked."""
    OVERLAPS = 16
    """Others of its process ended while it ran."""
    ABORT_COUNTED = 32
    """Its caller gave it up, which counts as a failure of the primary."""
    RETRIED = 64
    """One leg was asked several times; the last answer counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """The rows of every process one after another: what one machine sees, in its order.

    Attributes:
        order: rows of the log, by process and then as logged.
        machine: of each place; a machine begins with a process and with each of its starts.
        begins: places at which a machine begins.
        place: of each row of the log.
        ended: when each was over, epoch milliseconds.
        clock_back: attempts that end before the one above them did.
        clock: grows where the clock went back; only times of one number can be compared.
    """

    order: Ints
    machine: Ints
    begins: Flags
    place: Ints
    ended: Floats
    clock_back: Flags
    clock: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """The calls of a log; arrays of one element a call.

    Attributes:
        rows: what they were made of.
        sequence: the rows by machine.
        of_row: the call of each row, -1 for what is no attempt.
        first, last: rows of its first and its last attempt.
        primary, fallback: rows of its attempts of each leg (the last of several), -1 when the leg was not asked.
        serving: the row of the attempt that gave its value, -1 when nobody did, and for health checks.
        deciding: the serving row, else the last.
        health: whether it is a health check.
        started, ended: epoch milliseconds.
        flags: of ``Flag``.
        seen: the place of the sequence up to which outcomes were in when it began, -1 for none.
    """

    rows: Rows
    sequence: Sequence
    of_row: Ints
    first: Ints
    last: Ints
    primary: Ints
    fallback: Ints
    serving: Ints
    deciding: Ints
    health: Flags
    started: Floats
    ended: Floats
    flags: Bytes
    seen: Ints

    @property
    def count(self) -> int:
        """How many calls there are."""
        return len(self.first)


def join_calls(rows: Rows) -> Calls:
    """Join the attempts of a log to calls, and say of each up to where it could know of the others."""
    sequence = _sequence(rows)
    of_row, paired = _numbered(rows, sequence)
    attempts = np.flatnonzero(of_row >= 0)
    calls = of_row[attempts]
    by_call = attempts[np.argsort(calls, kind="stable")] if _unsorted(calls) else attempts
    edges = np.flatnonzero(np.diff(of_row[by_call], prepend=-1))
    ends = np.append(edges[1:], len(by_call))[: len(edges)] - 1
    first, last = by_call[edges], by_call[ends]
    kind = rows.kind[by_call]
    health = rows.kind[first] >= PRIMARY_HEALTH
    primary = _last_of((kind == PRIMARY) | (kind == PRIMARY_HEALTH), by_call, edges)
    fallback = _last_of((kind == FALLBACK) | (kind == FALLBACK_HEALTH), by_call, edges)
    started = np.minimum.reduceat(rows.started[by_call], edges) if len(edges) else np.zeros(0)
    serving = _serving(rows, primary, fallback, last)
    serving[health] = -1
    retried = (ends - edges + 1) > (primary >= 0).astype(np.int64) + (fallback >= 0)
    flags = np.where(retried, Flag.RETRIED, 0).astype(np.uint8)
    flags[paired] |= np.uint8(Flag.BY_ADJACENCY)
    flags[of_row[sequence.order[sequence.clock_back]]] |= np.uint8(Flag.CLOCK_BACK)
    seen = _seen(sequence, sequence.place[first], started)
    flags[seen < sequence.place[first] - 1] |= np.uint8(Flag.OVERLAPS)
    _mark_starts(rows, sequence, of_row, flags)
    deciding = np.where(serving >= 0, serving, last)
    return Calls(
        rows, sequence, of_row, first, last, primary, fallback, serving, deciding, health, started, rows.ended[last],
        flags, seen,
    )  # fmt: skip


def _unsorted(numbers: Ints) -> bool:
    return bool(len(numbers)) and bool((numbers[1:] < numbers[:-1]).any())


def _sequence(rows: Rows) -> Sequence:
    """Put the rows of each process together, and tell its machines and the steps of its clock apart."""
    several = len(rows.instances) > 1
    order = np.argsort(rows.instance, kind="stable") if several else np.arange(rows.count)
    instance, kind = rows.instance[order], rows.kind[order]
    begins = np.diff(instance, prepend=-1) != 0
    begins |= kind == START
    machine = np.cumsum(begins) - 1
    place = np.empty_like(order)
    place[order] = np.arange(rows.count)
    ended = _filled(rows.ended[order], begins)
    back = np.zeros(rows.count, np.bool_)
    # Both: where times are so large that a millisecond does not count, equal ones are no step back.
    back[1:] = (ended[1:] <= ended[:-1] - CLOCK_TOLERANCE_MS) & (ended[1:] < ended[:-1])
    back &= ~begins
    clock = np.cumsum(begins | back)
    back &= kind <= FALLBACK_HEALTH
    return Sequence(order, machine, begins, place, ended, back, clock)


def _filled(ended: Floats, begins: Flags) -> Floats:
    """Give what names no time that of the place above it in its machine."""
    unknown = np.isnan(ended)
    if not unknown.any():
        return ended
    known = np.maximum.accumulate(np.where(unknown & ~begins, -1, np.arange(len(ended))))
    filled = ended[known]
    filled[np.isnan(filled)] = -np.inf
    return filled


def _numbered(rows: Rows, sequence: Sequence) -> tuple[Ints, Ints]:
    """Give every attempt the number of its call, and the calls that were paired by adjacency."""
    attempts = sequence.order[rows.kind[sequence.order] <= FALLBACK_HEALTH]
    leader = np.arange(rows.count)
    named = rows.call[attempts] != NO_ID
    if named.any():
        _lead_by_id(rows, sequence, attempts[named], leader)
    followers = np.zeros(0, np.int64)
    if not named.all():
        followers = _lead_by_adjacency(rows, sequence, attempts[~named], leader)
    own = np.zeros(rows.count, np.bool_)
    own[attempts] = leader[attempts] == attempts
    numbers = np.cumsum(own) - 1
    of_row = np.where(rows.kind <= FALLBACK_HEALTH, numbers[leader], -1)
    return of_row, of_row[followers]


def _lead_by_id(rows: Rows, sequence: Sequence, attempts: Ints, leader: Ints) -> None:
    """Let the first attempt of each id lead the others; an id that is used again begins another call."""
    machine = sequence.machine[sequence.place[attempts]]
    key = rows.call[attempts] + machine * np.int64(0x9E3779B97F4A7C1)
    same = key[1:] == key[:-1]
    if not _together(key, same):
        order = np.argsort(key, kind="stable")
        attempts, key = attempts[order], key[order]
        same = key[1:] == key[:-1]
    kind, started = rows.kind[attempts], rows.started[attempts]
    gave = np.array([returned(each.outcome) for each in rows.shapes], np.bool_)[rows.shape[attempts]]
    fallback = (kind == FALLBACK) | (kind == FALLBACK_HEALTH)
    again = (kind >= PRIMARY_HEALTH)[1:] != (kind >= PRIMARY_HEALTH)[:-1]
    again |= fallback[:-1] & ~fallback[1:] & (started[1:] >= started[:-1])
    again |= (fallback[:-1] == fallback[1:]) & gave[:-1]
    begins = np.ones(len(attempts), np.bool_)
    begins[1:] = ~same | again
    first = np.maximum.accumulate(np.where(begins, np.arange(len(attempts)), 0))
    group = np.cumsum(begins) - 1
    earliest = np.minimum.reduceat(attempts, np.flatnonzero(begins))[group] if len(first) else attempts
    leader[attempts] = earliest


def _together(key: Ints, same: Flags) -> bool:
    """Say whether the attempts of every call follow one another already."""
    runs = np.sort(key[np.flatnonzero(np.append(True, ~same))])
    return not (runs[1:] == runs[:-1]).any()


def _lead_by_adjacency(rows: Rows, sequence: Sequence, attempts: Ints, leader: Ints) -> Ints:
    """Let each rescue follow the failure that it follows in time, among those of its process without one."""
    shapes = rows.shapes
    thrown = np.array([not returned(each.outcome) for each in shapes], np.bool_)[rows.shape[attempts]]
    kind = rows.kind[attempts]
    fallback = (kind == FALLBACK) | (kind == FALLBACK_HEALTH)
    machine = sequence.machine[sequence.place[attempts]]
    waiting: list[tuple[int, int]] = []
    followers, now = [], -1
    relevant = np.flatnonzero(thrown | fallback)
    for at, row, is_fallback, owner in zip(
        relevant.tolist(), attempts[relevant].tolist(), fallback[relevant].tolist(), machine[relevant].tolist(),
        strict=True,
    ):  # fmt: skip
        if owner != now:
            waiting, now = [], owner
        if not is_fallback:
            waiting.append((at, row))
            del waiting[:-_MOST_WAITING]
        elif waiting:
            chosen = _rescued(rows, waiting, at, row)
            if chosen is not None:
                leader[row] = waiting.pop(chosen)[1]
                followers.append(row)
    return np.array(followers, np.int64)


def _rescued(rows: Rows, waiting: list[tuple[int, int]], at: int, row: int) -> int | None:
    """Choose the failure that a fallback's attempt rescues: the one that ended last before it began."""
    mine = rows.shapes[rows.shape[row]]
    best, best_gap = None, np.inf
    for number, (place, failed) in enumerate(waiting):
        other = rows.shapes[rows.shape[failed]]
        gap = rows.started[row] - rows.ended[failed]
        if gap < -CLOCK_TOLERANCE_MS or gap >= best_gap or (gap > _ADJACENT_WITHIN_MS and place != at - 1):
            continue
        if (mine.op, mine.purpose, mine.namespace) == (other.op, other.purpose, other.namespace) and (
            rows.items[row] == rows.items[failed]
        ):
            best, best_gap = number, gap
    return best


def _last_of(wanted: Flags, by_call: Ints, edges: Ints) -> Ints:
    """Give the last wanted row of each call, -1 where there is none."""
    if not len(edges):
        return np.zeros(0, np.int64)
    found: Ints = np.maximum.reduceat(np.where(wanted, by_call, -1), edges)
    return found


def _serving(rows: Rows, primary: Ints, fallback: Ints, last: Ints) -> Ints:
    """Find who gave each call its value: the last to answer, or a primary whose vector nobody needed to rescue."""
    gave = np.array([returned(each.outcome) for each in rows.shapes], np.bool_)
    vector = np.array([each.outcome in (Outcome.VECTOR, Outcome.PARTIAL) for each in rows.shapes], np.bool_)
    serving = np.where(gave[rows.shape[last]], last, -1) if len(last) else last.copy()
    asked = np.flatnonzero((serving < 0) & (primary >= 0) & (fallback >= 0))
    serving[asked] = np.where(vector[rows.shape[primary[asked]]], primary[asked], -1)
    return serving


def _seen(sequence: Sequence, place: Ints, started: Floats) -> Ints:
    """Find up to where outcomes were in when each call began: those above it that had ended by then."""
    seen = place - 1
    ended, clock, own = sequence.ended, sequence.clock, sequence.clock[place]
    unsure = np.flatnonzero(seen >= 0)
    for _ in range(_MOST_STEPS_BACK):
        at = seen[unsure]
        later = (ended[at] > started[unsure]) & (clock[at] == own[unsure])
        unsure = unsure[later]
        if not len(unsure):
            return seen
        seen[unsure] -= 1
        unsure = unsure[seen[unsure] >= 0]
    spans: dict[int, tuple[int, Floats]] = {}
    for call in unsure.tolist():
        number = int(own[call])
        if number not in spans:
            low, high = np.searchsorted(clock, [number, number + 1])
            spans[number] = int(low), np.maximum.accumulate(ended[low:high])
        first, reached = spans[number]
        seen[call] = min(seen[call], first + int(np.searchsorted(reached, started[call], "right")) - 1)
    return seen


def _mark_starts(rows: Rows, sequence: Sequence, of_row: Ints, flags: Bytes) -> None:
    """Flag the first call after each start of a process."""
    attempt = rows.kind[sequence.order] <= FALLBACK_HEALTH
    places = np.flatnonzero(attempt)
    for start in np.flatnonzero(rows.kind[sequence.order] == START).tolist():
        next_one = int(np.searchsorted(places, start))
        if next_one < len(places) and sequence.machine[places[next_one]] == sequence.machine[start]:
            flags[of_row[sequence.order[places[next_one]]]] |= np.uint8(Flag.RESTARTED)
