"""Every call of a replayed log in columns: what its legs did, and the machine as it was when the call had ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.core.routing import LastErrorKind, Outcome, Phase, RoutingDialect
from workbench.routing.calls import Calls, Flag
from workbench.routing.divergence import Divergences
from workbench.routing.rows import Bytes, Flags, Floats, Ints, returned
from workbench.routing.stepping import NEVER, States

PHASES = (Phase.HEALTHY, Phase.DEGRADED, Phase.UPSTREAM_OPEN, Phase.COOLDOWN, Phase.PROBE_DUE)
"""What the numbers of ``Columns.phase`` stand for."""

LAST_ERRORS = (None, LastErrorKind.PRIMARY, LastErrorKind.FALLBACK, LastErrorKind.BOTH)
"""What the numbers of ``Columns.last_error`` stand for."""

WARNS = (None, "primary->fallback", "fallback->primary")
"""What the numbers of ``Columns.warn`` stand for."""

NOT_ASKED, GAVE, THREW = range(3)
"""What a leg did in a call: nothing, gave a value (a null among them), threw."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """What is known of every call, one element each (index ``n - 1``); the machine as it is when the call has ended.

    Attributes:
        started_ms, ended_ms: epoch milliseconds.
        primary, fallback: what each leg did: ``NOT_ASKED``, ``GAVE``, ``THREW``.
        served: 0 nobody, 1 primary, 2 fallback.
        rescuing: whether the mode is the fallback's.
        phase: index into ``PHASES``.
        streak: failures of the primary since it last returned.
        until_ms: end of the window, ``-inf`` where there is none.
        threshold, cooldown_ms: what is in force.
        warn: index into ``WARNS``.
        last_error: index into ``LAST_ERRORS``.
        health: whether it is a health check.
        diverges: whether the log and the machine disagree on it.
        flags: of ``Flag``.
    """

    started_ms: Floats
    ended_ms: Floats
    primary: Bytes
    fallback: Bytes
    served: Bytes
    rescuing: Flags
    phase: Bytes
    streak: Ints
    until_ms: Floats
    threshold: Floats
    cooldown_ms: Floats
    warn: Bytes
    last_error: Bytes
    health: Flags
    diverges: Flags
    flags: Bytes


def columns_of(calls: Calls, states: States, against: Divergences, dialect: RoutingDialect) -> Columns:
    """Put together what is known of every call."""
    rows, sequence = calls.rows, calls.sequence
    change = states.change[sequence.place[calls.last]]
    rescuing, streak, until = states.rescuing[change], states.streak[change], states.until[change]
    gave = np.array([returned(each.outcome) for each in rows.shapes], np.bool_)
    warn = np.zeros(calls.count, np.uint8)
    warn[calls.of_row[sequence.order[states.warned]]] = np.where(states.to_fallback, 1, 2)
    primary, fallback = _did(calls, calls.primary, gave), _did(calls, calls.fallback, gave)
    served = np.zeros(calls.count, np.uint8)
    served[(calls.serving >= 0) & (calls.serving == calls.primary)] = 1
    served[(calls.serving >= 0) & (calls.serving == calls.fallback)] = 2
    window = calls.ended < until
    phase = np.where(rescuing, np.where(until == NEVER, 2, 4), np.where(streak > 0, 1, 0)).astype(np.uint8)
    phase[window] = 3
    diverges = np.zeros(calls.count, np.bool_)
    diverges[against.calls] = True
    flags = calls.flags.copy()
    flags[against.unfinished] |= np.uint8(Flag.UNFINISHED)
    aborted = np.array([each.outcome is Outcome.ABORT for each in rows.shapes], np.bool_)
    if aborted.any() and not dialect.abort_passes_through:
        flags[(calls.primary >= 0) & aborted[rows.shape[calls.primary]] & ~calls.health] |= np.uint8(Flag.ABORT_COUNTED)
    return Columns(
        started_ms=calls.started,
        ended_ms=calls.ended,
        primary=primary,
        fallback=fallback,
        served=served,
        rescuing=rescuing,
        phase=phase,
        streak=streak,
        until_ms=until,
        threshold=states.threshold[change],
        cooldown_ms=states.cooldown[change],
        warn=warn,
        last_error=_last_errors(calls, dialect),
        health=calls.health,
        diverges=diverges,
        flags=flags,
    )


def _did(calls: Calls, leg: Ints, gave: Flags) -> Bytes:
    if not len(gave):
        return np.zeros(calls.count, np.uint8)
    did: Bytes = np.where(leg < 0, NOT_ASKED, np.where(gave[calls.rows.shape[leg]], GAVE, THREW)).astype(np.uint8)
    return did


def _last_errors(calls: Calls, dialect: RoutingDialect) -> Bytes:
    """Say of each call whose failure is its last error; a health check leaves that of the call before it."""
    rows = calls.rows
    said = np.array([not returned(each.outcome) or each.error_type is not None for each in rows.shapes], np.bool_)
    null = np.array([each.outcome is Outcome.NULL for each in rows.shapes], np.bool_)
    if not len(said):
        return np.zeros(0, np.uint8)
    failed = said[rows.shape]
    failed[list(rows.messages)] = True
    primary = (calls.primary >= 0) & failed[calls.primary]
    if dialect.null_counts_as_failure:
        primary |= (calls.primary >= 0) & null[rows.shape[calls.primary]]
    fallback = (
        (calls.fallback >= 0) & failed[calls.fallback] & ~((calls.serving >= 0) & (calls.serving == calls.primary))
    )
    found: Bytes = (primary + 2 * fallback).astype(np.uint8)
    if calls.health.any():
        _carry_over_health(calls, found)
    return found


def _carry_over_health(calls: Calls, found: Bytes) -> None:
    sequence = calls.sequence
    places = sequence.place[calls.last]
    order = np.argsort(places, kind="stable")
    machine = sequence.machine[places[order]]
    known = np.maximum.accumulate(np.where(calls.health[order], -1, np.arange(calls.count)))
    before = order[np.maximum(known, 0)]
    own = (known >= 0) & (machine[np.maximum(known, 0)] == machine)
    carried = np.where(own, found[before], 0)
    health = calls.health[order]
    found[order[health]] = carried[health]
