"""The machine of `core/routing` run over a log: only outcomes that move it are looked at, states of all rows follow.

``settle`` repeats `core.routing.settle_primary` on plain numbers, since a log may hold a million outcomes; a test holds
the two against each other over every dialect.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from workbench.core.routing import DEFAULT_COOLDOWN_MS, DEFAULT_FAILURE_STREAK_THRESHOLD, Outcome, RoutingDialect
from workbench.routing.calls import Calls
from workbench.routing.model import LoggedConfig
from workbench.routing.rows import CONFIG, RESET, Bytes, Flags, Floats, Ints, Rows

NOTHING, RETURNED, FAILED, CIRCUIT_OPEN, FORGOTTEN, CONFIGURED, BEGUN = range(7)
"""What a row does to the machine."""

NEVER = -math.inf
"""Stands for no window."""


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """The machine after every place of a sequence.

    Attributes:
        change: of each place the number of the last change up to it.
        rescuing: of each change whether the mode is then the fallback's.
        streak: failures of the primary since it last returned.
        until: end of the window in epoch milliseconds, ``NEVER`` where there is none.
        threshold, cooldown: what is in force.
        warned: places at which the mode changes, with a warning.
        to_fallback: of each warning whether it goes to the fallback.
    """

    change: Ints
    rescuing: Flags
    streak: Ints
    until: Floats
    threshold: Floats
    cooldown: Floats
    warned: Ints
    to_fallback: Flags


def step(calls: Calls, configs: Configs, dialect: RoutingDialect) -> States:
    """Run every machine of a log."""
    sequence, rows = calls.sequence, calls.rows
    event = events(calls, dialect)
    moves = _moving(event, sequence.begins)
    begins = sequence.begins[moves]
    places = moves.tolist()
    rescuing, streaks, untils, thresholds, cooldowns, warned = [], [], [], [], [], []
    mode, streak, until = False, 0, NEVER
    threshold, cooldown = configs.first
    above = dialect.opens_above_threshold
    zeroes, opens_too = dialect.zeroes_streak_on_open, dialect.circuit_open_starts_cooldown
    for place, what, begun, now in zip(
        places, event[moves].tolist(), begins.tolist(), sequence.ended[moves].tolist(), strict=True
    ):
        if begun:
            mode, streak, until = False, 0, NEVER
            if configs.vary:
                threshold, cooldown = configs.at(int(sequence.order[place]))
        was = mode
        if what == RETURNED:
            mode, streak, until = False, 0, NEVER
        elif what == FAILED:
            streak += 1
            if streak > threshold if above else streak >= threshold:
                mode, until = True, now + cooldown
                if zeroes:
                    streak = 0
        elif what == CIRCUIT_OPEN:
            mode = True
            if opens_too:
                until = now + cooldown
        elif what == FORGOTTEN:
            mode, streak, until = False, 0, NEVER
            was = False
        elif what == CONFIGURED:
            threshold, cooldown = configs.of(int(sequence.order[place]), (threshold, cooldown))
        if was is not mode:
            warned.append(place)
        rescuing.append(mode)
        streaks.append(streak)
        untils.append(until)
        thresholds.append(threshold)
        cooldowns.append(cooldown)
    moved = np.zeros(rows.count, np.int64)
    moved[moves] = 1
    change = np.cumsum(moved) - 1
    mode_of = np.array(rescuing, np.bool_)
    where = np.array(warned, np.int64)
    return States(
        change=change,
        rescuing=mode_of,
        streak=np.array(streaks, np.int64),
        until=np.array(untils, np.float64),
        threshold=np.array(thresholds, np.float64),
        cooldown=np.array(cooldowns, np.float64),
        warned=where,
        to_fallback=mode_of[change[where]] if len(where) else np.zeros(0, np.bool_),
    )


def events(calls: Calls, dialect: RoutingDialect) -> Bytes:
    """Say of every place of the sequence what it does to the machine."""
    rows, order = calls.rows, calls.sequence.order
    of_shape = np.array([_event(each.outcome, dialect) for each in rows.shapes], np.uint8)
    kind = rows.kind[order]
    event = np.zeros(rows.count, np.uint8)
    # Of a leg that was asked again and again in one call the last answer counts.
    asked = calls.primary[~calls.health]
    asked = asked[asked >= 0]
    event[calls.sequence.place[asked]] = of_shape[rows.shape[asked]]
    event[kind == RESET] = FORGOTTEN
    event[kind == CONFIG] = CONFIGURED
    return event


def _event(outcome: Outcome, dialect: RoutingDialect) -> int:
    if outcome is Outcome.ABORT and dialect.abort_passes_through:
        return NOTHING
    if outcome is Outcome.NULL and dialect.null_counts_as_failure:
        return FAILED
    if outcome in (Outcome.VECTOR, Outcome.PARTIAL, Outcome.NULL):
        return RETURNED
    return CIRCUIT_OPEN if outcome is Outcome.CIRCUIT_OPEN else FAILED


def _moving(event: Bytes, begins: Flags) -> Ints:
    """Choose the places that can change a state: a return after a return changes nothing."""
    places = np.flatnonzero((event != NOTHING) | begins)
    what, begun = event[places], begins[places]
    idle = np.zeros(len(places), np.bool_)
    idle[1:] = (what[1:] == RETURNED) & ~begun[1:] & (what[:-1] == RETURNED)
    return places[~idle]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a caller wants instead of what the log says; None leaves that to the log."""

    failure_streak_threshold: float | None = None
    cooldown_ms: float | None = None

    def over(self, said: LoggedConfig | None, fallback: tuple[float, float]) -> tuple[float, float]:
        """Give the threshold and cooldown that hold where a log says ``said``, or else ``fallback``."""
        threshold, cooldown = fallback
        if said is not None and said.failure_streak_threshold is not None:
            threshold = said.failure_streak_threshold
        if said is not None and said.cooldown_ms is not None:
            cooldown = said.cooldown_ms
        return (
            threshold if self.failure_streak_threshold is None else self.failure_streak_threshold,
            cooldown if self.cooldown_ms is None else self.cooldown_ms,
        )


DEFAULTS = (float(DEFAULT_FAILURE_STREAK_THRESHOLD), float(DEFAULT_COOLDOWN_MS))


class Configs:
    """Which threshold and cooldown are in force where: the caller's, else those of the log, else the defaults."""

    def __init__(self, rows: Rows, asked: Asked) -> None:
        self._asked = asked
        self._lines = {row: each for row, each in rows.markers.items() if isinstance(each, LoggedConfig)}
        self._of: dict[int, list[int]] = {}
        for row in sorted(self._lines):
            self._of.setdefault(int(rows.instance[row]), []).append(row)
        self._rows = rows
        self._general = [row for row in sorted(self._lines) if self._lines[row].instance is None]
        self.vary = bool(self._lines)
        self.first = asked.over(next(iter(self._lines.values()), None), DEFAULTS)

    def at(self, row: int) -> tuple[float, float]:
        """Give what holds when a machine begins at a row: the last line of its process before, else its first."""
        for lines in (self._of.get(int(self._rows.instance[row]), []), self._general):
            if lines:
                said = self._lines[lines[max(0, bisect_left(lines, row) - 1)]]
                return self._asked.over(said, DEFAULTS)
        return self._asked.over(None, DEFAULTS)

    def of(self, row: int, now: tuple[float, float]) -> tuple[float, float]:
        """Give what holds from a config line on; what it does not say stays."""
        return self._asked.over(self._lines[row], now)
