"""Threshold, cooldown and dialect fitted to a log: the reading under which it diverges least, offered when it helps.

The threshold is the number of failures before the primary was first skipped; the cooldown lies between the last skip
of a window and the first attempt after it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields

import numpy as np

from workbench.core.routing import RoutingDialect
from workbench.routing.calls import Calls
from workbench.routing.divergence import diverge
from workbench.routing.stepping import FAILED, RETURNED, Asked, Configs, events, step

_MOST_CALLS = 200_000
_MOST_THRESHOLDS = 6
_ROUND_MS = (3_600_000, 600_000, 300_000, 60_000, 30_000, 10_000, 5_000, 1_000, 500, 100, 50, 10, 1)


@dataclass(frozen=True, slots=True)
class Fit:
    """A configuration under which the log diverges less than under the one it was held against.

    Attributes:
        threshold, cooldown_ms: to be tried.
        cooldown_at_most: the first attempt after a window, which bounds the cooldown from above; None when unknown.
        dialect: to be tried.
        divergences: how many calls diverge then; ``before`` is how many do now.
    """

    threshold: float
    cooldown_ms: float
    cooldown_at_most: float | None
    dialect: RoutingDialect
    divergences: int
    before: int


def fit(calls: Calls, now: Asked, dialect: RoutingDialect, divergences: int) -> Fit | None:
    """Look for a better reading; None when there is none, nothing diverges, or the log is too long to try many."""
    if not divergences or calls.count > _MOST_CALLS:
        return None
    current = Configs(calls.rows, now).first
    best: Fit | None = None
    for candidate in _dialects(dialect):
        thresholds, low, high = _windows(calls, candidate)
        for threshold in [*thresholds, current[0]]:
            for cooldown in dict.fromkeys([current[1], *_cooldowns(low, high)]):
                asked = Asked(threshold, cooldown)
                states = step(calls, Configs(calls.rows, asked), candidate)
                count = len(diverge(calls, states, candidate).calls)
                if count < (divergences if best is None else best.divergences):
                    best = Fit(threshold, cooldown, high, candidate, count, divergences)
                if count == 0:
                    return best
    return best


def _dialects(now: RoutingDialect) -> list[RoutingDialect]:
    """Give the dialect in force first, then those with one more switch, then with two."""
    names = [field.name for field in fields(RoutingDialect)]
    found = [now]
    for count in (1, 2):
        for chosen in itertools.combinations(names, count):
            made = RoutingDialect(**{name: name in chosen for name in names})
            if made not in found:
                found.append(made)
    return found


def _windows(calls: Calls, dialect: RoutingDialect) -> tuple[list[float], float | None, float | None]:
    """Find streaks before the first skips, and between which bounds the cooldown lies."""
    what = np.full(calls.count, -1, np.int64)
    asked = calls.primary >= 0
    what[asked] = events(calls, dialect)[calls.sequence.place[calls.primary[asked]]]
    order = np.argsort(calls.sequence.place[calls.last], kind="stable")
    order = order[~calls.health[order]]
    machine = calls.sequence.machine[calls.sequence.place[calls.last[order]]]
    streaks: dict[float, int] = {}
    low: float | None = None
    high: float | None = None
    streak, opened, skipping, now = 0, None, False, -1
    ended = calls.rows.ended[np.maximum(calls.primary, 0)]
    for call, owner in zip(order.tolist(), machine.tolist(), strict=True):
        if owner != now:
            streak, opened, skipping, now = 0, None, False, owner
        begun = float(calls.started[call])
        if what[call] == -1:
            if not skipping and streak:
                streaks[streak] = streaks.get(streak, 0) + 1
            skipping = True
            if opened is not None:
                low = max(low or 0.0, begun - opened)
            continue
        if skipping and opened is not None:
            high = begun - opened if high is None else min(high, begun - opened)
        skipping = False
        if what[call] == FAILED:
            streak, opened = streak + 1, float(ended[call])
        elif what[call] == RETURNED:
            streak, opened = 0, None
    ranked = sorted(streaks, key=lambda each: -streaks[each])[:_MOST_THRESHOLDS]
    shift = -1 if dialect.opens_above_threshold else 0
    return [float(each + shift) for each in ranked], low, high


def _cooldowns(low: float | None, high: float | None) -> list[float]:
    """Choose cooldowns between the bounds: the roundest first."""
    if high is None:
        return [] if low is None else [_rounded_up(low)]
    floor = -1.0 if low is None else low
    for unit in _ROUND_MS:
        candidate = high // unit * unit
        if candidate > floor:
            return [float(candidate), high]
    return [high]


def _rounded_up(low: float) -> float:
    unit = next((each for each in _ROUND_MS if each <= low), 1)
    return float((low // unit + 1) * unit)
