"""Where a log and the machine part: a leg asked against the rules, a rescue or a warning missing or too many."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from workbench.core.routing import Leg, Outcome, RoutingDialect
from workbench.routing.calls import Calls, Flag
from workbench.routing.model import LoggedTransition
from workbench.routing.rows import FALLBACK_HEALTH, PRIMARY, PRIMARY_HEALTH, TRANSITION, Bytes, Floats, Ints
from workbench.routing.stepping import CIRCUIT_OPEN, FAILED, NEVER, NOTHING, RETURNED, States, events

_TAIL = 64


class Against(IntEnum):
    """How a call goes against the machine."""

    NONE = 0
    ASKED_IN_WINDOW = 1
    SKIPPED = 2
    NOT_RESCUED = 3
    NEEDLESS = 4


class WarnAgainst(IntEnum):
    """How a warning goes against the machine."""

    NONE = 0
    MISSING = 1
    EXTRA = 2


@dataclass(frozen=True, slots=True, eq=False)
class Divergences:
    """Of each call what goes against the machine.

    Attributes:
        route: ``Against``, of the legs that were asked.
        warn: ``WarnAgainst``, of the warnings that the log tells; all ``NONE`` when it tells of none at all.
        until: the end of the window that was open when the call began, ``NEVER`` where none was.
        streak: the streak when it began.
        unfinished: the log of its process ends before its fallback could be asked.
    """

    route: Bytes
    warn: Bytes
    until: Floats
    streak: Ints
    unfinished: Ints

    @property
    def calls(self) -> Ints:
        """Indexes of the calls that diverge, in their order."""
        return np.flatnonzero((self.route != 0) | (self.warn != 0))


def diverge(calls: Calls, states: States, dialect: RoutingDialect) -> Divergences:
    """Hold every call against the machine as it stood when the call began."""
    sequence = calls.sequence
    until, streak = _at_begin(calls, states)
    skips = calls.started < until
    primary, fallback = calls.primary >= 0, calls.fallback >= 0
    what = np.full(calls.count, NOTHING, np.uint8)
    what[primary] = events(calls, dialect)[sequence.place[calls.primary[primary]]]
    lone = primary & ~fallback & ((what == FAILED) | (what == CIRCUIT_OPEN)) & ~calls.health
    unfinished = _unfinished(calls, np.flatnonzero(lone))
    lone[unfinished] = False
    route = np.zeros(calls.count, np.uint8)
    route[primary & fallback & ((what == RETURNED) | (what == NOTHING))] = Against.NEEDLESS
    route[lone] = Against.NOT_RESCUED
    route[~primary & ~skips] = Against.SKIPPED
    route[primary & skips] = Against.ASKED_IN_WINDOW
    route[calls.health] = Against.NONE
    return Divergences(route, _warnings(calls, states, unfinished), until, streak, unfinished)


def _at_begin(calls: Calls, states: States) -> tuple[Floats, Ints]:
    """Give the window and the streak as each call found them."""
    sequence = calls.sequence
    own = sequence.machine[sequence.place[calls.first]]
    known = (calls.seen >= 0) & (sequence.machine[calls.seen] == own)
    change = states.change[calls.seen]
    return np.where(known, states.until[change], NEVER), np.where(known, states.streak[change], 0)


def _unfinished(calls: Calls, lone: Ints) -> Ints:
    """Choose the failures that end the log of their process: whatever came after them was never written."""
    if not len(lone):
        return lone
    rows, sequence = calls.rows, calls.sequence
    places = sequence.place[calls.last[lone]]
    ends = np.searchsorted(sequence.machine, sequence.machine[places], "right")
    found = []
    near = ends - places <= _TAIL
    for call, place, end in zip(lone[near].tolist(), places[near].tolist(), ends[near].tolist(), strict=True):
        after = sequence.order[place + 1 : end]
        after = after[rows.kind[after] <= FALLBACK_HEALTH]
        if not (rows.started[after] >= calls.ended[call]).any():
            found.append(call)
    return np.array(found, np.int64)


def _warnings(calls: Calls, states: States, unfinished: Ints) -> Bytes:
    """Pair the warnings of the machine with those that the log tells, in the order of each machine."""
    rows, sequence = calls.rows, calls.sequence
    against = np.zeros(calls.count, np.uint8)
    # A warning of a process that made no call here cannot be held against any.
    calling = np.unique(rows.instance[calls.first])
    told = np.flatnonzero((rows.kind[sequence.order] == TRANSITION) & np.isin(rows.instance[sequence.order], calling))
    if not len(told):
        return against
    expected = list(zip(states.warned.tolist(), states.to_fallback.tolist(), strict=True))
    seen = []
    for place in told.tolist():
        record = rows.markers[int(sequence.order[place])]
        if isinstance(record, LoggedTransition):
            seen.append((place, record.target is Leg.FALLBACK))
    missing, extra = _Pairing(calls).unpaired(expected, seen)
    ends = set(calls.last[unfinished].tolist())
    for place in missing:
        row = int(sequence.order[place])
        if row not in ends:
            against[calls.of_row[row]] = WarnAgainst.MISSING
    for place in extra:
        call = _call_near(calls, place)
        if call is not None:
            against[call] = WarnAgainst.EXTRA
    return against


class _Pairing:
    """Pairs warnings of the machine with those that the log tells: one is near the outcome that it speaks of."""

    def __init__(self, calls: Calls) -> None:
        kind = calls.rows.kind[calls.sequence.order]
        self._machine = calls.sequence.machine
        self._attempts = np.cumsum(kind <= FALLBACK_HEALTH)
        self._primary = np.cumsum(kind == PRIMARY)

    def unpaired(self, expected: list[tuple[int, bool]], told: list[tuple[int, bool]]) -> tuple[list[int], list[int]]:
        """Give the places of warnings that the log lacks, and of those that it tells beyond them."""
        missing, extra = [], []
        one = other = 0
        while one < len(expected) and other < len(told):
            (place, way), (seen, seen_way) = expected[one], told[other]
            if way == seen_way and self._near(place, seen):
                one, other = one + 1, other + 1
            elif place <= seen:
                missing.append(place)
                one += 1
            else:
                extra.append(seen)
                other += 1
        missing += [place for place, _ in expected[one:]]
        extra += [place for place, _ in told[other:]]
        return missing, extra

    def _near(self, place: int, seen: int) -> bool:
        if self._machine[place] != self._machine[seen]:
            return False
        if seen > place:
            return bool(self._primary[seen] == self._primary[place])
        return bool(self._attempts[place] - self._attempts[seen] <= 1)


def _call_near(calls: Calls, place: int) -> int | None:
    """Find the call whose line is nearest above a place, else below, in the same machine."""
    sequence, kind = calls.sequence, calls.rows.kind
    for step in (-1, 1):
        at = place + step
        while 0 <= at < len(sequence.order) and sequence.machine[at] == sequence.machine[place]:
            row = int(sequence.order[at])
            if kind[row] < PRIMARY_HEALTH:
                return int(calls.of_row[row])
            at += step
    return None


def divergence_text(calls: Calls, states: States, divergences: Divergences, call: int) -> str | None:
    """Say how a call parts from the machine and what may be behind it; None when it does not."""
    route, warn = int(divergences.route[call]), int(divergences.warn[call])
    if not route and not warn:
        return None
    parts = []
    if route:
        fact, causes = _route_text(calls, states, divergences, call)
        parts.append(f"{fact}; likely {_listed(causes)}")
    if warn:
        parts.append(_warn_text(calls, states, call, missing=warn == WarnAgainst.MISSING))
    return "; ".join(parts)


def _route_text(calls: Calls, states: States, found: Divergences, call: int) -> tuple[str, list[str]]:
    streak, until = int(found.streak[call]), float(found.until[call])
    place = int(calls.sequence.place[calls.first[call]])
    change = int(states.change[place])
    threshold = states.threshold[change]
    match Against(int(found.route[call])):
        case Against.ASKED_IN_WINDOW:
            left = until - float(calls.started[call])
            fact = f"the primary was asked, though its window is open for {left:,.0f} ms more"
            causes = [f"a cooldown at least {left:,.0f} ms shorter"]
            if streak:
                causes.append(f"a threshold above {_number(min(streak, threshold))}")
            causes.append("a dialect that zeroes the streak when it opens" if streak > threshold else "a restart")
        case Against.SKIPPED:
            count = f"{streak:,} of {_number(threshold)}"
            fact = f"the primary was skipped, though no window is open and its streak is {count}"
            causes = []
            if until > NEVER:
                over = float(calls.started[call]) - until
                fact = f"the primary was skipped, though its window ended {over:,.0f} ms before"
                causes.append(f"a cooldown more than {over:,.0f} ms longer")
            elif streak:
                causes.append(f"a threshold of {streak:,}")
            else:
                causes.append("a dialect in which its open circuit starts the cooldown")
            causes.append("failures that this log does not hold")
        case Against.NOT_RESCUED:
            fact = "the primary failed and the fallback was not asked"
            aborted = calls.rows.shapes[calls.rows.shape[calls.primary[call]]].outcome is Outcome.ABORT
            causes = ["a dialect in which the caller's abort passes through"] if aborted else []
            causes.append("a process that was killed, or lines that are lost")
        case _:
            fact = "the fallback was asked, though the primary returned"
            null = calls.rows.shapes[calls.rows.shape[calls.primary[call]]].outcome is Outcome.NULL
            causes = ["a dialect in which a null counts as a failure"] if null else []
            causes.append("calls with the same id, or another router than this")
    flags = Flag(int(calls.flags[call]))
    if flags & Flag.OVERLAPS:
        causes.append("calls side by side")
    if flags & Flag.CLOCK_BACK:
        causes.append("the clock that went back")
    return fact, causes


def _warn_text(calls: Calls, states: States, call: int, *, missing: bool) -> str:
    if not missing:
        return "the log tells a warning that the machine does not give; likely another threshold, or a restart"
    place = int(calls.sequence.place[calls.primary[call]])
    way = "primary->fallback" if states.rescuing[states.change[place]] else "fallback->primary"
    return f"the machine warns {way} and the log does not; likely another threshold, or lines that are lost"


def _listed(causes: list[str]) -> str:
    return causes[0] if len(causes) == 1 else f"{', '.join(causes[:-1])}, or {causes[-1]}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == value // 1 else str(value)
