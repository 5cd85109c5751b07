"""Which leg of a two-leg embedding provider answers: the fallback routing as a pure machine, without clock or calls.

State in, outcome in, state out. Callers own time, providers and exceptions; a leg's failure is a value here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DEFAULT_FAILURE_STREAK_THRESHOLD = 3
DEFAULT_COOLDOWN_MS = 300_000


class Leg(StrEnum):
    """The two providers, and the two routing modes named after them."""

    PRIMARY = "primary"
    FALLBACK = "fallback"


class Phase(StrEnum):
    """What the machine is doing, more finely than its two modes say."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UPSTREAM_OPEN = "upstream-open"
    COOLDOWN = "cooldown"
    PROBE_DUE = "probe-due"


class Outcome(StrEnum):
    """What one leg did. ``NULL`` and ``PARTIAL`` (a batch with nulls) are returns; the last three are throws."""

    VECTOR = "vector"
    PARTIAL = "partial"
    NULL = "null"
    ERROR = "error"
    CIRCUIT_OPEN = "circuit_open"
    ABORT = "abort"


class LastErrorKind(StrEnum):
    """Whose failure the last error of a call speaks of."""

    PRIMARY = "primary"
    FALLBACK = "fallback"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class RoutingConfig:
    """When to give up on the primary, and for how long.

    A threshold of 0 or less acts as 1; an infinite or NaN one never opens. A cooldown of 0 or less is over at once.
    """

    failure_streak_threshold: float = DEFAULT_FAILURE_STREAK_THRESHOLD
    cooldown_ms: float = DEFAULT_COOLDOWN_MS


@dataclass(frozen=True, slots=True)
class RoutingDialect:
    """Readings of the contract that other implementations chose; all False is the documented one.

    Attributes:
        opens_above_threshold: the streak must exceed the threshold, not reach it.
        zeroes_streak_on_open: opening starts the count again, so that a failed probe alone does not re-open.
        circuit_open_starts_cooldown: the primary's own open breaker opens our window too.
        null_counts_as_failure: a null from the primary is a failure, rescued by the fallback.
        abort_passes_through: the caller's abort neither counts nor is rescued.
    """

    opens_above_threshold: bool = False
    zeroes_streak_on_open: bool = False
    circuit_open_starts_cooldown: bool = False
    null_counts_as_failure: bool = False
    abort_passes_through: bool = False


_DEFAULT_CONFIG = RoutingConfig()
_DOCUMENTED = RoutingDialect()


@dataclass(frozen=True, slots=True)
class RoutingState:
    """All that the machine remembers between calls.

    Attributes:
        mode: the last announced routing mode.
        streak: failures of the primary since it last returned.
        fallback_until_ms: until when the primary is skipped (exclusive), None when no window was opened.
    """

    mode: Leg = Leg.PRIMARY
    streak: int = 0
    fallback_until_ms: float | None = None

    def in_cooldown(self, now_ms: float) -> bool:
        """Say whether the primary is skipped at this moment."""
        return self.fallback_until_ms is not None and now_ms < self.fallback_until_ms

    def phase(self, now_ms: float) -> Phase:
        """Name what the machine is doing at this moment."""
        if self.in_cooldown(now_ms):
            return Phase.COOLDOWN
        if self.mode is Leg.PRIMARY:
            return Phase.DEGRADED if self.streak > 0 else Phase.HEALTHY
        return Phase.UPSTREAM_OPEN if self.fallback_until_ms is None else Phase.PROBE_DUE

    def first_leg(self, now_ms: float) -> Leg:
        """Name the leg that a call beginning now asks first; after the fallback none other is asked."""
        return Leg.FALLBACK if self.in_cooldown(now_ms) else Leg.PRIMARY

    def snapshot(self, now_ms: float) -> RoutingSnapshot:
        """Give the state and its phase as one value."""
        return RoutingSnapshot(self.mode, self.phase(now_ms), self.streak, self.fallback_until_ms)


@dataclass(frozen=True, slots=True)
class RoutingSnapshot:
    """The state of the machine at one moment; times are epoch milliseconds."""

    state: Leg
    phase: Phase
    streak: int
    fallback_until_ms: float | None


@dataclass(frozen=True, slots=True)
class Settled:
    """What the primary's outcome leads to.

    Attributes:
        state: the state from now on.
        next_leg: the fallback when the call must be rescued, None when the primary's outcome is the call's.
        warn: ``primary->fallback`` or ``fallback->primary`` when the mode changed, else None.
    """

    state: RoutingState
    next_leg: Leg | None
    warn: str | None


def settle_primary(
    state: RoutingState,
    outcome: Outcome,
    now_ms: float,
    config: RoutingConfig = _DEFAULT_CONFIG,
    dialect: RoutingDialect = _DOCUMENTED,
) -> Settled:
    """Take in what the primary did, ``now_ms`` being when it was seen and not when the call began.

    The fallback's outcome is never taken in: it changes nothing. ``state`` is the one at this moment, which with
    calls side by side may differ from the one that sent this call to the primary.
    """
    if outcome is Outcome.ABORT and dialect.abort_passes_through:
        return Settled(state, None, None)
    if outcome in (Outcome.VECTOR, Outcome.PARTIAL) or (outcome is Outcome.NULL and not dialect.null_counts_as_failure):
        return _announced(state, RoutingState(), None)
    if outcome is Outcome.CIRCUIT_OPEN:
        until = now_ms + config.cooldown_ms if dialect.circuit_open_starts_cooldown else state.fallback_until_ms
        return _announced(state, RoutingState(Leg.FALLBACK, state.streak, until), Leg.FALLBACK)
    streak = state.streak + 1
    threshold = config.failure_streak_threshold
    if not (streak > threshold if dialect.opens_above_threshold else streak >= threshold):
        return _announced(state, RoutingState(state.mode, streak, state.fallback_until_ms), Leg.FALLBACK)
    kept = 0 if dialect.zeroes_streak_on_open else streak
    return _announced(state, RoutingState(Leg.FALLBACK, kept, now_ms + config.cooldown_ms), Leg.FALLBACK)


def _announced(before: RoutingState, after: RoutingState, next_leg: Leg | None) -> Settled:
    """Warn exactly when the mode changes."""
    return Settled(after, next_leg, None if before.mode is after.mode else f"{before.mode}->{after.mode}")


def reset() -> RoutingState:
    """Give the state after an operator's reset: as new, and announced to nobody."""
    return RoutingState()


def legs_asked_for_health(primary_ok: bool) -> tuple[Leg, ...]:
    """Name the legs that a health check asks: the fallback only when the primary is unwell. It moves nothing."""
    return (Leg.PRIMARY,) if primary_ok else (Leg.PRIMARY, Leg.FALLBACK)


def last_error_kind(primary: str | None, fallback: str | None) -> LastErrorKind | None:
    """Say whose failure the call's last error speaks of, from the messages of the legs that failed in this call."""
    if primary is not None and fallback is not None:
        return LastErrorKind.BOTH
    if primary is not None:
        return LastErrorKind.PRIMARY
    return None if fallback is None else LastErrorKind.FALLBACK


def last_error(primary: str | None, fallback: str | None) -> str | None:
    """Compose the call's last error from the messages of the legs that failed in this call."""
    if primary is not None and fallback is not None:
        return f"primary: {primary} | fallback: {fallback}"
    return fallback if primary is None else primary


@dataclass(frozen=True, slots=True)
class LegResult:
    """What a leg did or would have done, and the error it threw or (beside a null) kept for itself."""

    outcome: Outcome
    error: str | None = None

    @property
    def thrown(self) -> bool:
        """Whether the leg gave no value."""
        return self.outcome in (Outcome.ERROR, Outcome.CIRCUIT_OPEN, Outcome.ABORT)

    def failure(self, *, rescued: bool = False) -> str | None:
        """Give the error's message, or the outcome's name where a failure has none; None when nothing failed."""
        if self.error is None and (self.thrown or rescued):
            return self.outcome.value
        return self.error


@dataclass(frozen=True, slots=True)
class RoutedCall:
    """One whole call: who was asked, who served it (None when it failed), and what the machine holds afterwards."""

    state: RoutingState
    called: tuple[Leg, ...]
    served_by: Leg | None
    warns: tuple[str, ...]
    last_error: str | None
    last_error_kind: LastErrorKind | None


def route_call(
    state: RoutingState,
    primary: LegResult,
    fallback: LegResult,
    *,
    started_ms: float,
    primary_settled_ms: float | None = None,
    config: RoutingConfig = _DEFAULT_CONFIG,
    dialect: RoutingDialect = _DOCUMENTED,
) -> RoutedCall:
    """Run one call, ``embed`` or a batch, given what each leg would do; a leg that is not asked leaves no trace.

    ``primary_settled_ms`` is when the primary's outcome was seen, by default at once.
    """
    called: tuple[Leg, ...]
    if state.first_leg(started_ms) is Leg.FALLBACK:
        settled, called = Settled(state, Leg.FALLBACK, None), (Leg.FALLBACK,)
        primary_error = None
    else:
        seen_ms = started_ms if primary_settled_ms is None else primary_settled_ms
        settled = settle_primary(state, primary.outcome, seen_ms, config, dialect)
        called = (Leg.PRIMARY,) if settled.next_leg is None else (Leg.PRIMARY, settled.next_leg)
        primary_error = primary.failure(rescued=settled.next_leg is not None)
    server, result = (Leg.PRIMARY, primary) if settled.next_leg is None else (Leg.FALLBACK, fallback)
    fallback_error = fallback.failure() if server is Leg.FALLBACK else None
    return RoutedCall(
        state=settled.state,
        called=called,
        served_by=None if result.thrown else server,
        warns=() if settled.warn is None else (settled.warn,),
        last_error=last_error(primary_error, fallback_error),
        last_error_kind=last_error_kind(primary_error, fallback_error),
    )
