"""A provider over two others: the primary answers, and the fallback when it fails, as ``core/routing`` decides."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from workbench.core.fingerprint import Fingerprint
from workbench.core.routing import (
    DEFAULT_COOLDOWN_MS,
    DEFAULT_FAILURE_STREAK_THRESHOLD,
    Leg,
    LegResult,
    Outcome,
    RoutingConfig,
    RoutingSnapshot,
    RoutingState,
    Settled,
    last_error,
    legs_asked_for_health,
    reset,
    settle_primary,
)
from workbench.core.text import inert
from workbench.embedders.attempt_log import Asked, AttemptLog, Seen
from workbench.embedders.batching import DEFAULT_LIMITS, BatchLimits
from workbench.embedders.destination import current_destination
from workbench.embedders.error_types import MISSING, error_type_of, status_of
from workbench.embedders.models import ceiling_of_both
from workbench.embedders.outcomes import returned, thrown
from workbench.embedders.pairs import PairConflict, conflict_in, name_of, pair_conflict
from workbench.embedders.protocol import (
    EmbeddingProvider,
    PrefixPolicy,
    ProviderHealth,
    Purpose,
    Vector,
)
from workbench.routing.log_writing import RoutingLog
from workbench.routing.model import Operation

if TYPE_CHECKING:
    from workbench.embedders.activity import Observer
    from workbench.embedders.tokens import TokenCounter

_Value = TypeVar("_Value")


@dataclass(slots=True)
class _Call:
    """One call under way: what it asks, and the message of each leg that has failed in it."""

    id: str
    asked: Asked
    primary_error: str | None = None
    fallback_error: str | None = None


class AutoFallbackEmbeddingProvider:
    """An ``EmbeddingProvider`` that asks the primary, and the fallback when the primary fails or is in its cooldown.

    Its model id is the primary's whoever answers, so a namespace written through two legs of different models holds
    vectors that its name does not tell apart: ``pair_conflict`` names such a pair, which must not write. Outcomes take
    effect in the order in which calls end. A cancelled call counts for nothing. A log, when given, gets a line an
    attempt, with where the vectors go as ``vectors_for`` says around the call.
    """

    kind = "auto-fallback"

    def __init__(
        self,
        primary: EmbeddingProvider,
        fallback: EmbeddingProvider,
        *,
        failure_streak_threshold: float = DEFAULT_FAILURE_STREAK_THRESHOLD,
        cooldown_ms: float = DEFAULT_COOLDOWN_MS,
        warn: Callable[[str], None] | None = None,
        now: Callable[[], float] | None = None,
        log: RoutingLog | None = None,
    ) -> None:
        """Route between two providers, which become its own to dispose of.

        Args:
            primary: asked first.
            fallback: asked when the primary failed, or is in its cooldown.
            failure_streak_threshold: failures in a row before the primary is left alone; 0 or less acts as 1.
            cooldown_ms: for how long, from the failure on.
            warn: called once for each change of route; by default a line on stderr.
            now: the time in epoch milliseconds; by default the system's.
            log: where each attempt is written.
        """
        self._legs = {Leg.PRIMARY: primary, Leg.FALLBACK: fallback}
        self._config = RoutingConfig(failure_streak_threshold, cooldown_ms)
        self._warn = _warn_on_stderr if warn is None else warn
        self._now = _epoch_ms if now is None else now
        self._state = RoutingState()
        self._last_error: str | None = None
        self._log = None if log is None else AttemptLog(log, self._config, self._announce)
        # Reentrant: a sink that is told of a change may ask for the state.
        self._lock = threading.RLock()

    @property
    def model_id(self) -> str:
        """The primary's, whoever answers."""
        return self._primary.model_id

    @property
    def dimensions(self) -> int | None:
        """The primary's if known, else the fallback's."""
        known = self._primary.dimensions
        return self._fallback.dimensions if known is None else known

    @property
    def max_input_chars(self) -> int | None:
        """What both legs read, None when neither declares anything and the primary's own ceiling is short enough."""
        return ceiling_of_both(
            (self._primary.max_input_chars, _fingerprint(self._primary)),
            (self._fallback.max_input_chars, _fingerprint(self._fallback)),
        )

    @property
    def last_error(self) -> str | None:
        """The messages of the legs that failed in the call that ended last."""
        return self._last_error

    @property
    def routing_state(self) -> Leg:
        """The last announced routing mode."""
        return self._state.mode

    @property
    def conflict(self) -> PairConflict | None:
        """Why this pair may serve queries that nothing stores, but never a write; None when it may do both."""
        own = pair_conflict(self._primary, self._fallback)
        return own or conflict_in(self._primary) or conflict_in(self._fallback)

    def snapshot(self) -> RoutingSnapshot:
        """Give the state of the machine at this moment."""
        return self._state.snapshot(self._now())

    def reset(self) -> None:
        """Forget all failures and ask the primary again from the next call on; nobody is warned."""
        with self._lock:
            self._state = reset()
            if self._log is not None:
                self._log.reset(self._now())

    async def embed(self, text: str, *, purpose: Purpose) -> Vector | None:
        """Embed one text with the leg whose turn it is.

        Raises:
            Exception: what the fallback raised, when it was asked and failed too.
        """
        return await self._route(Operation.EMBED, 1, purpose, lambda leg: leg.embed(text, purpose=purpose))

    async def embed_batch(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector | None]:
        """Embed several texts with one leg; nulls in between are passed on, and not asked for elsewhere.

        Raises:
            Exception: what the fallback raised, when it was asked and failed too.
        """
        asked = Operation.EMBED_BATCH
        return await self._route(asked, len(texts), purpose, lambda leg: leg.embed_batch(texts, purpose=purpose))

    async def healthcheck(self) -> ProviderHealth:
        """Ask the primary, and the fallback only if that is unwell; well when one of them is. Moves nothing."""
        call = self._begin(Asked(Operation.HEALTHCHECK, 0, None, None))
        primary = await self._check(Leg.PRIMARY, call)
        asked = [primary]
        if Leg.FALLBACK in legs_asked_for_health(primary.ok):
            asked.append(await self._check(Leg.FALLBACK, call))
        answering = asked[-1]
        dims = primary.dimensions if answering.dimensions is None else answering.dimensions
        return ProviderHealth(
            ok=answering.ok,
            kind=self.kind,
            model_id=self.model_id,
            dimensions=self.dimensions if dims is None else dims,
            latency_ms=answering.latency_ms,
            error=last_error(call.primary_error, call.fallback_error),
        )

    async def dispose(self) -> None:
        """Dispose of both legs, of the second also when the first refuses."""
        try:
            await self._primary.dispose()
        finally:
            try:
                await self._fallback.dispose()
            finally:
                if self._log is not None:
                    self._log.close()

    # What it says when whole namespaces are built with it

    @property
    def batch_limits(self) -> BatchLimits:
        """What one request to either leg holds."""
        ours, theirs = (getattr(leg, "batch_limits", DEFAULT_LIMITS) for leg in self._legs.values())
        chars = [limits.max_chars for limits in (ours, theirs) if limits.max_chars is not None]
        return BatchLimits(min(ours.max_inputs, theirs.max_inputs), min(chars, default=None))

    @property
    def policy(self) -> PrefixPolicy:
        """The primary's."""
        return getattr(self._primary, "policy", PrefixPolicy())

    @property
    def host(self) -> str | None:
        """Where texts may go: the hosts of both legs, None when they stay on this machine."""
        hosts = dict.fromkeys(getattr(leg, "host", None) for leg in self._legs.values())
        return ", ".join(host for host in hosts if host is not None) or None

    @property
    def answered_model(self) -> str | None:
        """The model that the primary's last answer named."""
        return getattr(self._primary, "answered_model", None)

    @property
    def counter(self) -> TokenCounter | None:
        """The primary's tokenizer."""
        return getattr(self._primary, "counter", None)

    def watch(self, observer: Observer) -> None:
        """Tell this observer of what both legs do."""
        for leg in self._legs.values():
            watch = getattr(leg, "watch", None)
            if watch is not None:
                watch(observer)

    # One call

    @property
    def _primary(self) -> EmbeddingProvider:
        return self._legs[Leg.PRIMARY]

    @property
    def _fallback(self) -> EmbeddingProvider:
        return self._legs[Leg.FALLBACK]

    def _begin(self, asked: Asked) -> _Call:
        return _Call("" if self._log is None else self._log.next_call(), asked)

    async def _route(
        self, op: Operation, inputs: int, purpose: Purpose, ask: Callable[[EmbeddingProvider], Awaitable[_Value]]
    ) -> _Value:
        call = self._begin(Asked(op, inputs, purpose, current_destination()))
        started_ms = self._now()
        first = self._state.first_leg(started_ms)
        try:
            if first is Leg.FALLBACK:
                return await self._attempt(first, call, started_ms, ask)
            try:
                return await self._attempt(first, call, started_ms, ask)
            except Exception:
                # Inside the handler, so that a failure of the fallback says what came before it.
                return await self._attempt(Leg.FALLBACK, call, self._now(), ask)
        finally:
            self._last_error = last_error(call.primary_error, call.fallback_error)

    async def _attempt(
        self, leg: Leg, call: _Call, started_ms: float, ask: Callable[[EmbeddingProvider], Awaitable[_Value]]
    ) -> _Value:
        """Ask one leg; whatever it does is taken in at once, before anything else of this thread runs.

        ``started_ms`` is the very moment at which it was decided to ask it, so that a log explains the decision.
        """
        provider = self._legs[leg]
        try:
            value = await ask(provider)
        except Exception as error:
            outcome, kind = thrown(error)
            seen = Seen(started_ms, self._now(), outcome, kind, status_of(error))
            self._take_in(leg, call, seen, str(error) or type(error).__name__)
            raise
        except BaseException:
            self._take_in(leg, call, Seen(started_ms, self._now(), None), None)
            raise
        outcome, nulls, dims = returned(call.asked, value)
        tracked = None if outcome is Outcome.VECTOR else getattr(provider, "last_error", None)
        kind = None if tracked is None else MISSING
        self._take_in(leg, call, Seen(started_ms, self._now(), outcome, kind, None, dims, nulls), tracked)
        return value

    def _take_in(self, leg: Leg, call: _Call, seen: Seen, message: str | None) -> None:
        """Let an outcome take effect: the state first, then the log, then whoever is to be warned."""
        with self._lock:
            settled = None
            if seen.outcome is not None and call.asked.op is not Operation.HEALTHCHECK:
                if leg is Leg.PRIMARY:
                    settled = settle_primary(self._state, seen.outcome, seen.ended_ms, self._config)
                    self._state = settled.state
                failure = LegResult(seen.outcome, message).failure()
                if leg is Leg.PRIMARY:
                    call.primary_error = failure
                else:
                    call.fallback_error = failure
            if self._log is not None:
                self._log.attempt(call.id, leg, self._legs[leg], call.asked, seen)
            if settled is not None and settled.warn is not None:
                text = self._explain(settled, seen)
                if self._log is not None:
                    self._log.transition(seen.ended_ms, settled.warn, text)
                self._announce(text)

    def _announce(self, message: str) -> None:
        # A sink that fails is no reason to fail a call that succeeded.
        with contextlib.suppress(Exception):
            self._warn(message)

    def _explain(self, settled: Settled, seen: Seen) -> str:
        """Write the warning for a change of route."""
        primary, fallback = name_of(self._primary), name_of(self._fallback)
        route = f"embedding route {settled.warn}"
        if settled.state.mode is Leg.PRIMARY:
            return f"{route}: '{primary}' answers again"
        conflict = self.conflict
        space = "" if conflict is None else f" in another space ({conflict.problem})"
        if seen.outcome is Outcome.CIRCUIT_OPEN:
            return f"{route}: the circuit breaker of '{primary}' is open, '{fallback}' answers{space}"
        failures = "1 failure" if settled.state.streak == 1 else f"{settled.state.streak:,} failures in a row"
        pause = f"{self._config.cooldown_ms / 1000:g} s"
        return (
            f"{route}: {failures} of '{primary}' (last: {seen.error_type}), left alone for {pause}; "
            f"'{fallback}' answers{space}"
        )

    async def _check(self, leg: Leg, call: _Call) -> ProviderHealth:
        """Ask one leg for its health; raising is being unwell."""
        provider, started_ms = self._legs[leg], self._now()
        kind = None
        try:
            health = await provider.healthcheck()
        except Exception as error:
            message = str(error) or type(error).__name__
            health = ProviderHealth(False, provider.kind, provider.model_id, provider.dimensions, None, message)
            kind = error_type_of(error)
        except BaseException:
            self._take_in(leg, call, Seen(started_ms, self._now(), None), None)
            raise
        outcome = Outcome.VECTOR if health.ok else Outcome.ERROR
        self._take_in(leg, call, Seen(started_ms, self._now(), outcome, kind), None)
        if not health.ok:
            message = health.error or "unhealthy"
            if leg is Leg.PRIMARY:
                call.primary_error = message
            else:
                call.fallback_error = message
        return health


def _fingerprint(leg: EmbeddingProvider) -> Fingerprint:
    return Fingerprint(leg.model_id, 0 if leg.dimensions is None else leg.dimensions)


def _epoch_ms() -> float:
    # Whole microseconds: the log spells them exactly, so that a replay reckons with the very same times, and calls that
    # begin while others end are told apart.
    return time.time_ns() // 1000 / 1000


def _warn_on_stderr(message: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{inert(message)}\n")
