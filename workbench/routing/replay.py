"""The routing log replayed: call by call what the machine holds, held against what the log says happened.

For whoever draws it::

    replay = replay_log(file.pieces)                # of ``open_routing_log``; or any records
    replay.count                                    # calls; ``n`` runs from 1 to it
    replay.call(37)                                 # ReplayedCall: the state when call 37 had ended; microseconds
    replay.columns.started_ms[36]                   # arrays, one element a call, index n - 1: see ``Columns``
    replay.transitions                              # every change of mode with its call, time and cause
    replay.divergences                              # n of each call that the log and the machine disagree on
    replay.ledger.rows                              # one a namespace; ``replay.ledger.totals_at(37)`` up to a call
    replay.at(ms)                                   # n of the call that had begun last at a moment
    replay.fit                                      # a threshold, cooldown and dialect that fit better, offered
    what_if(replay, threshold=1)                    # of `routing/what_if.py`: another configuration, side by side
    replay.next_marked(37, replay.transition_calls) # n of the next (or previous, step=-1) of a sorted array of calls

Nothing here is computed again when a call is asked for: all states stand in arrays, about 200 bytes a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.core.routing import LastErrorKind, Leg, Outcome, Phase, RoutingConfig, RoutingDialect
from workbench.routing.bookkeeping import make_ledger
from workbench.routing.calls import Calls, Flag, join_calls
from workbench.routing.columns import LAST_ERRORS as LAST_ERRORS
from workbench.routing.columns import PHASES as PHASES
from workbench.routing.columns import WARNS as WARNS
from workbench.routing.columns import Columns as Columns
from workbench.routing.columns import columns_of
from workbench.routing.divergence import Divergences, diverge, divergence_text
from workbench.routing.fitting import Fit, fit
from workbench.routing.keys import MOST_KEYS
from workbench.routing.ledger import Ledger
from workbench.routing.log import Piece
from workbench.routing.model import Attempt, LoggedConfig, LogProblem, Operation, Record
from workbench.routing.rows import Floats, Ints, gather, returned
from workbench.routing.stepping import NEVER, Asked, Configs, States, step


@dataclass(frozen=True, slots=True)
class LegSeen:
    """What one leg did in a call, as logged."""

    outcome: Outcome
    started_ms: float
    ended_ms: float
    model: str | None
    dims: int | None
    error_type: str | None
    error_message: str | None
    status_code: int | None
    server: str | None
    line: int

    @property
    def error(self) -> str | None:
        """Say in words what failed, None when nothing did."""
        if returned(self.outcome) and self.error_type is None and self.error_message is None:
            return None
        if self.error_message is not None:
            return self.error_message
        said = self.error_type or self.outcome.value.replace("_", " ")
        return f"HTTP {said}" if said.isdigit() and len(said) == 3 else said


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """One call: what the log says happened, and what the machine holds when it has ended; times in epoch ms.

    Attributes:
        n: its number, from 1.
        at_ms, ended_ms: its beginning and end.
        instance: the process, None when the log does not say.
        op: what was asked.
        called: the legs that were asked, in their order.
        served_by: who gave the value; None when nobody did, and for health checks.
        phase, state, streak, fallback_until_ms: of the machine.
        threshold, cooldown_ms: what is in force.
        warns: what the machine warns of during this call.
        last_error_kind, last_error: whose failure it speaks of, and in words.
        divergence: how the log and the machine disagree, None when they do not.
        flags: what is odd about it.
        primary, fallback: the attempts, None for a leg that was not asked.
        namespace: where its vectors go, None when the log does not say.
        purpose: ``document`` or ``query``, None when the log does not say.
        items, missing: texts, and those left without a vector for good.
        lines: lines of the log, first and last.
    """

    n: int
    at_ms: float
    ended_ms: float
    instance: str | None
    op: Operation
    called: tuple[Leg, ...]
    served_by: Leg | None
    phase: Phase
    state: Leg
    streak: int
    fallback_until_ms: float | None
    threshold: float
    cooldown_ms: float
    warns: tuple[str, ...]
    last_error_kind: LastErrorKind | None
    last_error: str | None
    divergence: str | None
    flags: Flag
    primary: LegSeen | None
    fallback: LegSeen | None
    namespace: str | None
    purpose: str | None
    items: int
    missing: int
    lines: tuple[int, int]

    @property
    def cooldown_left_ms(self) -> float:
        """How much of the window is left when the call has ended, 0 when none is open."""
        return 0.0 if self.fallback_until_ms is None else max(0.0, self.fallback_until_ms - self.ended_ms)


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of mode: the call in which it happened, when, the warning, and why in words."""

    n: int
    at_ms: float
    warn: str
    cause: str


class Replay:
    """A replayed log. Everything is in memory; asking for a call costs microseconds.

    Attributes:
        config: threshold and cooldown as first in force, ``dialect`` the reading of the contract.
        columns: every call in arrays.
        ledger: what was written into which namespace.
        problems: what could not be read of the log, or was read with a guess.
    """

    def __init__(self, calls: Calls, asked: Asked, dialect: RoutingDialect, problems: tuple[LogProblem, ...]) -> None:
        configs = Configs(calls.rows, asked)
        self.calls = calls
        self.asked = asked
        self.dialect = dialect
        self.config = RoutingConfig(*configs.first)
        self._states = step(calls, configs, dialect)
        self._against = diverge(calls, self._states, dialect)
        self.columns = columns_of(calls, self._states, self._against, dialect)
        self.ledger: Ledger = make_ledger(calls)
        self.problems = (*problems, *_not_held(self.ledger))

    @property
    def count(self) -> int:
        """How many calls there are."""
        return self.calls.count

    @property
    def states(self) -> States:
        """The machine after every row of the log."""
        return self._states

    @property
    def against(self) -> Divergences:
        """What of every call goes against the machine."""
        return self._against

    @cached_property
    def divergences(self) -> Ints:
        """Give the ``n`` of the calls that diverge, in their order."""
        return self._against.calls + 1

    @cached_property
    def contaminated(self) -> Ints:
        """Give the ``n`` of the calls that wrote foreign vectors or asked across spaces, in their order."""
        return np.flatnonzero(self.ledger.foreign) + 1

    @cached_property
    def transition_calls(self) -> Ints:
        """Give the ``n`` of the calls in which the mode changed, in their order."""
        return np.flatnonzero(self.columns.warn) + 1

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        """Give every change of mode, in the order of the calls."""
        return tuple(self.transition(n) for n in self.transition_calls.tolist())

    @property
    def first_divergence(self) -> ReplayedCall | None:
        """Give the first call that diverges."""
        return self.call(int(self.divergences[0])) if len(self.divergences) else None

    @cached_property
    def fit(self) -> Fit | None:
        """Give a threshold, cooldown and dialect under which the log diverges less, None when nothing is better."""
        return fit(self.calls, self.asked, self.dialect, len(self.divergences))

    @property
    def served_unnoticed(self) -> int:
        """Count the calls that the fallback served while the mode was the primary's: no warning told of them."""
        return int(((self.columns.served == 2) & ~self.columns.rescuing & (self.columns.warn == 0)).sum())

    @cached_property
    def same_model_asked(self) -> str | None:
        """Name the model that both legs were asked for, when the fallback was asked for no other and never answered.

        A fallback that serves the primary's model, and answers, is how it should be.
        """
        if any(each.leg is Leg.FALLBACK and returned(each.outcome) for each in self.calls.rows.shapes):
            return None
        asked = {
            leg: {each.request_model for each in self.calls.rows.shapes if each.leg is leg and each.request_model}
            for leg in Leg
        }
        both = asked[Leg.PRIMARY] | asked[Leg.FALLBACK]
        return next(iter(both)) if len(both) == 1 and all(asked.values()) else None

    @property
    def exit_code(self) -> int:
        """1 when the log diverges or something was contaminated, else 0."""
        return 1 if len(self.divergences) or self.ledger.contaminated else 0

    def call(self, n: int) -> ReplayedCall:
        """Give a call by its number from 1. Raises IndexError when there is none."""
        if not 1 <= n <= self.count:
            raise IndexError(f"there is no call {n}: the log has {self.count}")
        call, calls, columns, rows = n - 1, self.calls, self.columns, self.calls.rows
        first, last = int(calls.first[call]), int(calls.last[call])
        legs = self._leg(int(calls.primary[call])), self._leg(int(calls.fallback[call]))
        asked = sorted(
            ((each.line, leg) for leg, each in zip(Leg, legs, strict=True) if each is not None),
            key=lambda pair: (pair[1] is Leg.FALLBACK, pair[0]),
        )
        shape: Attempt = rows.shapes[int(rows.shape[first])]
        kind = LAST_ERRORS[int(columns.last_error[call])]
        until = float(columns.until_ms[call])
        warn = WARNS[int(columns.warn[call])]
        namespace = int(self.ledger.namespace[call])
        return ReplayedCall(
            n=n,
            at_ms=float(calls.started[call]),
            ended_ms=float(calls.ended[call]),
            instance=shape.instance,
            op=shape.op,
            called=tuple(leg for _, leg in asked),
            served_by=(None, Leg.PRIMARY, Leg.FALLBACK)[int(columns.served[call])],
            phase=PHASES[int(columns.phase[call])],
            state=Leg.FALLBACK if columns.rescuing[call] else Leg.PRIMARY,
            streak=int(columns.streak[call]),
            fallback_until_ms=None if until == NEVER else until,
            threshold=float(columns.threshold[call]),
            cooldown_ms=float(columns.cooldown_ms[call]),
            warns=() if warn is None else (warn,),
            last_error_kind=kind,
            last_error=None if calls.health[call] else _last_error(kind, *legs),
            divergence=divergence_text(calls, self._states, self._against, call),
            flags=Flag(int(columns.flags[call])),
            primary=legs[0],
            fallback=legs[1],
            namespace=self.ledger.rows[namespace].namespace if namespace >= 0 else None,
            purpose=None if shape.purpose is None else shape.purpose.value,
            items=int(rows.items[first]),
            missing=int(self.ledger.missing[call]),
            lines=(int(rows.line[first]), int(rows.line[last])),
        )

    def at(self, ms: float) -> int:
        """Give the ``n`` of the last call that had begun at a moment (epoch ms), the first when none had."""
        return max(1, int(np.searchsorted(self._clock, ms, "right")))

    def next_marked(self, n: int, marked: NDArray[np.int64], step: int = 1) -> int | None:
        """Give the next of some calls (sorted ``n``) after call ``n``, or with ``step`` -1 the one before it."""
        place = int(np.searchsorted(marked, n, "right")) if step > 0 else int(np.searchsorted(marked, n, "left")) - 1
        return int(marked[place]) if 0 <= place < len(marked) else None

    @cached_property
    def _clock(self) -> Floats:
        """Beginnings that never fall, so that a moment can be looked up although clocks go back."""
        return np.maximum.accumulate(self.columns.started_ms)

    def _leg(self, row: int) -> LegSeen | None:
        if row < 0:
            return None
        rows = self.calls.rows
        shape: Attempt = rows.shapes[int(rows.shape[row])]
        return LegSeen(
            outcome=shape.outcome,
            started_ms=float(rows.started[row]),
            ended_ms=float(rows.ended[row]),
            model=shape.model,
            dims=shape.dims,
            error_type=shape.error_type,
            error_message=rows.messages.get(row),
            status_code=shape.status_code,
            server=shape.server,
            line=int(rows.line[row]),
        )

    def transition(self, n: int) -> Transition:
        """Give the change of mode of a call of ``transition_calls``."""
        call = self.call(n)
        failed = call.primary
        at_ms = call.ended_ms if failed is None else failed.ended_ms
        if call.warns == ("fallback->primary",):
            cause = "the primary answered again"
        elif failed is not None and failed.outcome is Outcome.CIRCUIT_OPEN:
            cause = "the primary's own circuit is open"
        else:
            error = None if failed is None else failed.error
            cause = f"{call.streak:,} failure{'' if call.streak == 1 else 's'} in a row"
            cause += f", the last: {error}" if error else ""
        return Transition(n, at_ms, call.warns[0], cause)


def replay_log(
    records: Iterable[Piece | Record | LogProblem], asked: Asked | None = None, dialect: RoutingDialect | None = None
) -> Replay:
    """Replay a log.

    ``asked`` wins over the threshold and cooldown that the log states, ``dialect`` over its dialect; without either
    the documented machine with its defaults is held against it.
    """
    rows = gather(records)
    if dialect is None:
        said = (each.dialect for each in rows.markers.values() if isinstance(each, LoggedConfig))
        dialect = next((each for each in said if each is not None), RoutingDialect())
    return Replay(join_calls(rows), asked or Asked(), dialect, tuple(rows.problems))


def _last_error(kind: LastErrorKind | None, primary: LegSeen | None, fallback: LegSeen | None) -> str | None:
    first = None if primary is None else primary.error or primary.outcome.value
    second = None if fallback is None else fallback.error or fallback.outcome.value
    match kind:
        case LastErrorKind.BOTH:
            return f"primary: {first} | fallback: {second}"
        case LastErrorKind.PRIMARY:
            return first
        case LastErrorKind.FALLBACK:
            return second
    return None


def _not_held(ledger: Ledger) -> Iterator[LogProblem]:
    """Say what the ledger left out so that its memory stays bounded."""
    if ledger.keys_not_held:
        yield LogProblem(
            None,
            f"{ledger.keys_not_held:,} keys beyond the first {MOST_KEYS:,} are not held: they are listed nowhere, and "
            "those without a vector count as missing although a later call may have served them",
        )
