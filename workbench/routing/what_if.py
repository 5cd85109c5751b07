"""What another threshold or cooldown would have done with the calls of a log.

Where the log skipped the primary nobody knows what it would have answered. So there are two courses, one in which it
would always have answered and one in which it would always have failed, and every number is a range between them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from workbench.core.routing import Leg
from workbench.routing.calls import Calls, Flag
from workbench.routing.ledger import FOREIGN, Written, classify
from workbench.routing.replay import Replay
from workbench.routing.rows import RESET, Bytes, Flags, Ints, returned
from workbench.routing.stepping import CIRCUIT_OPEN, FAILED, NEVER, NOTHING, RETURNED, events

_UNKNOWN = 255


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """How the calls would have gone (or went); arrays have one element a call, index ``n - 1``.

    Attributes:
        rescuing: whether the mode is the fallback's when the call has ended.
        by_fallback: whether the fallback's answer is the call's.
        skipped: whether the primary was not asked.
        switches: changes of mode.
        primary_asked: calls that asked the primary.
        foreign_vectors: vectors written into a namespace of another embedder.
        cross_space_queries: queries asked across spaces.
        assumed: calls in which the answer of the primary was assumed.
    """

    rescuing: Flags
    by_fallback: Flags
    skipped: Flags
    switches: int
    primary_asked: int
    foreign_vectors: int
    cross_space_queries: int
    assumed: int


@dataclass(frozen=True, slots=True)
class Range:
    """A number between two courses; one number where both agree."""

    low: int
    high: int

    @staticmethod
    def of(one: int, other: int) -> Range:
        """Order the numbers of two courses."""
        return Range(min(one, other), max(one, other))

    def __str__(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


@dataclass(frozen=True, slots=True, eq=False)
class WhatIf:
    """Another threshold and cooldown beside what the log says happened.

    Attributes:
        threshold, cooldown_ms: what was tried.
        logged: what happened; its ``rescuing`` is the machine's under the configuration of the log.
        if_ok: had the primary answered wherever it was skipped.
        if_failed: had it failed there.
        fallback_known: the log shows what the fallback makes, so that calls moved to it can be counted as foreign.
    """

    threshold: float
    cooldown_ms: float
    logged: Course
    if_ok: Course
    if_failed: Course
    fallback_known: bool

    @property
    def switches(self) -> Range:
        """Changes of mode."""
        return Range.of(self.if_ok.switches, self.if_failed.switches)

    @property
    def foreign_vectors(self) -> Range:
        """Vectors written into a namespace of another embedder."""
        return Range.of(self.if_ok.foreign_vectors, self.if_failed.foreign_vectors)

    @property
    def cross_space_queries(self) -> Range:
        """Queries asked across spaces."""
        return Range.of(self.if_ok.cross_space_queries, self.if_failed.cross_space_queries)

    @property
    def primary_asked(self) -> Range:
        """Calls that would have asked the primary."""
        return Range.of(self.if_ok.primary_asked, self.if_failed.primary_asked)

    @property
    def unknown(self) -> Flags:
        """Calls in which the two courses part: their route hangs on answers that nobody knows."""
        parts: Flags = (self.if_ok.by_fallback != self.if_failed.by_fallback) | (
            self.if_ok.rescuing != self.if_failed.rescuing
        )
        return parts


def what_if(replay: Replay, threshold: float | None = None, cooldown_ms: float | None = None) -> WhatIf:
    """Run the calls of a log under another configuration; what is None stays as the log has it.

    A million calls take a second or two: a screen asks for it in a worker.
    """
    calls = replay.calls
    threshold = replay.config.failure_streak_threshold if threshold is None else threshold
    cooldown_ms = replay.config.cooldown_ms if cooldown_ms is None else cooldown_ms
    scene = _Scene(replay)
    columns = replay.columns
    logged = Course(
        rescuing=columns.rescuing,
        by_fallback=columns.served == 2,
        skipped=(calls.primary < 0) & ~calls.health,
        switches=int((columns.warn > 0).sum()),
        primary_asked=int(((calls.primary >= 0) & ~calls.health).sum()),
        foreign_vectors=sum(row.foreign_vectors for row in replay.ledger.rows),
        cross_space_queries=sum(row.cross_space_queries for row in replay.ledger.rows),
        assumed=0,
    )
    return WhatIf(
        threshold=threshold,
        cooldown_ms=cooldown_ms,
        logged=logged,
        if_ok=scene.course(threshold, cooldown_ms, RETURNED),
        if_failed=scene.course(threshold, cooldown_ms, FAILED),
        fallback_known=scene.fallback_known,
    )


class _Scene:
    """The calls of a log in the order of their ends, with what each leg did or would have written."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        calls = self.calls = replay.calls
        sequence, rows = calls.sequence, calls.rows
        ends = sequence.place[calls.last]
        resets = np.flatnonzero(rows.kind[sequence.order] == RESET)
        acting = np.flatnonzero(~calls.health)
        places = np.concatenate([ends[acting], resets])
        order = np.argsort(places, kind="stable")
        self.call = np.concatenate([acting, np.full(len(resets), -1)])[order]
        self.place = places[order]
        self.machine = sequence.machine[self.place]
        what = _answers(calls, replay)
        asked = calls.primary >= 0
        seen = np.where(asked, rows.ended[np.maximum(calls.primary, 0)], calls.started)
        self.what, self.seen_ms = what, seen
        self.foreign = tuple(_if_served(replay, leg) for leg in Leg)
        self.fallback_known = self.foreign[1][2]

    def course(self, threshold: float, cooldown_ms: float, unknown: int) -> Course:
        """Run every machine, with one assumption about answers that nobody knows."""
        calls, dialect = self.calls, self.replay.dialect
        count = calls.count
        above, zeroes = dialect.opens_above_threshold, dialect.zeroes_streak_on_open
        opens_too = dialect.circuit_open_starts_cooldown
        order = self.call
        what = np.where(order >= 0, self.what[order], NOTHING)
        fresh_skips = np.append(np.flatnonzero(what != RETURNED), len(order))
        following = fresh_skips[np.searchsorted(fresh_skips, np.arange(len(order)))].tolist()
        what_list, call_list, machine = what.tolist(), order.tolist(), self.machine.tolist()
        started, seen_ms = calls.started.tolist(), self.seen_ms.tolist()
        overlaps = (calls.flags & np.uint8(Flag.OVERLAPS)) != 0
        side_by_side, seen_place, places = overlaps.tolist(), calls.seen, self.place.tolist()
        mode, streak, until, now = False, 0, NEVER, -1
        skipped = np.zeros(count, np.bool_)
        by_fallback = np.zeros(count, np.bool_)
        changed_at: list[int] = []
        changed_to: list[bool] = []
        windows: list[tuple[int, float]] = []
        switches = assumed = at = 0
        while at < len(call_list):
            if machine[at] != now:
                now = machine[at]
                if mode:
                    changed_at.append(at)
                    changed_to.append(False)
                mode, streak, until = False, 0, NEVER
                windows.clear()
            if not mode and not streak and until == NEVER and what_list[at] == RETURNED:
                # As new, a machine stays so until something else than an answer comes.
                at = following[at]
                continue
            call, was = call_list[at], mode
            if call < 0:
                mode, streak, until = False, 0, NEVER
                was = False
                changed_at.append(at)
                changed_to.append(False)
                at += 1
                continue
            window = until
            if side_by_side[call]:
                window = _window_at(windows, int(seen_place[call]))
            if started[call] < window:
                skipped[call] = by_fallback[call] = True
                at += 1
                continue
            answer = what_list[at]
            if answer == _UNKNOWN:
                answer, assumed = unknown, assumed + 1
            if answer == RETURNED:
                mode, streak, until = False, 0, NEVER
            elif answer == FAILED:
                by_fallback[call] = True
                streak += 1
                if streak > threshold if above else streak >= threshold:
                    mode, until = True, seen_ms[call] + cooldown_ms
                    streak = 0 if zeroes else streak
            elif answer == CIRCUIT_OPEN:
                by_fallback[call] = mode = True
                if opens_too:
                    until = seen_ms[call] + cooldown_ms
            if was is not mode:
                switches += 1
                changed_at.append(at)
                changed_to.append(mode)
            windows.append((places[at], until))
            at += 1
        rescuing = self._modes(changed_at, changed_to)
        by_fallback &= ~calls.health
        return self._course(rescuing, by_fallback, skipped, switches, assumed)

    def _modes(self, changed_at: list[int], changed_to: list[bool]) -> Flags:
        """Give the mode after every call, from the places at which it changes."""
        rescuing = np.zeros(self.calls.count, np.bool_)
        if changed_at:
            at = np.searchsorted(np.array(changed_at), np.arange(len(self.call)), "right") - 1
            modes = np.where(at >= 0, np.array(changed_to, np.bool_)[np.maximum(at, 0)], False)
            acting = self.call >= 0
            rescuing[self.call[acting]] = modes[acting]
        return rescuing

    def _course(self, rescuing: Flags, by_fallback: Flags, skipped: Flags, switches: int, assumed: int) -> Course:
        (own_vectors, own_queries, _), (vectors, queries, _) = self.foreign
        return Course(
            rescuing=rescuing,
            by_fallback=by_fallback,
            skipped=skipped,
            switches=switches,
            primary_asked=int((~skipped & ~self.calls.health).sum()),
            foreign_vectors=int(np.where(by_fallback, vectors, own_vectors).sum()),
            cross_space_queries=int(np.where(by_fallback, queries, own_queries).sum()),
            assumed=assumed,
        )


def _window_at(windows: list[tuple[int, float]], place: int) -> float:
    """Give the window as it was after a place of the sequence."""
    found = bisect_right(windows, place, key=lambda each: each[0]) - 1
    return windows[found][1] if found >= 0 else NEVER


def _answers(calls: Calls, replay: Replay) -> Bytes:
    """Say of each call what the primary did, ``_UNKNOWN`` where it was not asked."""
    what = np.full(calls.count, _UNKNOWN, np.uint8)
    asked = calls.primary >= 0
    what[asked] = events(calls, replay.dialect)[calls.sequence.place[calls.primary[asked]]]
    return what


def _if_served(replay: Replay, leg: Leg) -> tuple[Ints, Ints, bool]:
    """Give for each call the foreign vectors and cross-space queries that it makes if a leg serves it.

    Where the log shows what the leg did in a call, that counts; else what the leg makes as a rule.
    """
    calls, ledger, rows = replay.calls, replay.ledger, replay.calls.rows
    made = next(
        (
            (each.model, each.dims)
            for each in rows.shapes
            if each.leg is leg and returned(each.outcome) and (each.model is not None or each.dims is not None)
        ),
        None,
    )
    own = calls.primary if leg is Leg.PRIMARY else calls.fallback
    known = (calls.serving >= 0) & (calls.serving == own)
    usual = np.zeros(len(ledger.rows) + 1, np.bool_)
    if made is not None:
        usual[:-1] = [classify((row.model, row.dims), made) in FOREIGN for row in ledger.rows]
    foreign = np.where(known, ledger.foreign, usual[ledger.namespace])
    # A leg that was asked and failed would have written nothing.
    foreign &= known | (own < 0) | (calls.serving == own)
    query = (ledger.written == Written.ASKED) | (ledger.written == Written.ASKED_ACROSS)
    texts = ledger.vectors
    return np.where(foreign & ~query, texts, 0), np.where(foreign & query, texts, 0), made is not None
