"""What a routed provider writes into its log: each attempt as it ends, each change of route, each reset."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from workbench.core.fingerprint import Fingerprint
from workbench.core.routing import Leg, Outcome, RoutingConfig, RoutingDialect
from workbench.embedders.destination import Destination
from workbench.embedders.models import model_table
from workbench.embedders.protocol import EmbeddingProvider, Purpose
from workbench.routing.log_writing import RoutingLog
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
from workbench.routing.model import Purpose as LoggedPurpose


@dataclass(frozen=True, slots=True)
class Asked:
    """What one call asks, the same for both legs; ``inputs`` is how many texts, 0 for a health check."""

    op: Operation
    inputs: int
    purpose: Purpose | None
    destination: Destination | None


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one attempt.

    Attributes:
        started_ms: when it began; ``ended_ms`` when its outcome was seen.
        outcome: what the leg did, None when the caller cancelled.
        error_type: the kind of failure.
        status: of HTTP, where the error says so.
        dims: the length of the vectors that came.
        null_indexes: which texts came back without one.
    """

    started_ms: float
    ended_ms: float
    outcome: Outcome | None
    error_type: str | None = None
    status: int | None = None
    dims: int | None = None
    null_indexes: tuple[int, ...] = ()


class AttemptLog:
    """Writes the records of one machine into a log that it may share with others.

    A log that cannot be written never fails a call: it is said once, and the calls go on. What is written after such a
    gap, or in a forked child, stands under a new instance, since the records so far do not explain its state.
    """

    def __init__(self, log: RoutingLog, config: RoutingConfig, complain: Callable[[str], None]) -> None:
        self._log = log
        self._config = config
        self._complain = complain
        self._complained = False
        self._instance: str | None = None
        self._pid = 0
        self._calls = 0
        self._said: dict[str, Fingerprint] = {}

    def next_call(self) -> str:
        """Give an id for the attempts of one call, which no other call of any process has."""
        self._calls += 1
        return f"{uuid.uuid4().hex[:12]}-{self._calls}"

    def attempt(self, call_id: str, leg: Leg, provider: EmbeddingProvider, asked: Asked, seen: Seen) -> None:
        """Write one attempt of a call."""
        destination = asked.destination
        namespace = None if destination is None else destination.namespace
        instance = self._begin(seen.started_ms)
        if instance is None:
            return
        if destination is not None and destination.fingerprint is not None:
            self._describe(destination.namespace, destination.fingerprint)
        cancelled = seen.outcome is None
        record = Attempt(
            line=0,
            instance=instance,
            call_id=call_id,
            leg=leg,
            op=asked.op,
            started_ms=seen.started_ms,
            duration_ms=seen.ended_ms - seen.started_ms,
            outcome=seen.outcome or Outcome.ABORT,
            error_type=seen.error_type,
            provider=provider.kind,
            request_model=provider.model_id,
            response_model=_answered(provider) if seen.dims is not None else None,
            requested_dims=None if asked.op is Operation.HEALTHCHECK else provider.dimensions,
            observed_dims=seen.dims,
            input_count=asked.inputs,
            null_count=len(seen.null_indexes),
            null_indexes=seen.null_indexes or None,
            purpose=None if asked.purpose is None else LoggedPurpose(asked.purpose),
            namespace=namespace,
            keys=() if destination is None else destination.keys,
            status_code=seen.status,
            server=getattr(provider, "host", None),
        )
        self._write(record, cancelled=cancelled)

    def transition(self, at_ms: float, warn: str, message: str) -> None:
        """Write a change of route as it was announced; ``warn`` is ``primary->fallback`` or the other way."""
        origin, target = (Leg(word) for word in warn.split("->"))
        instance = self._begin(at_ms)
        if instance is not None:
            self._write(
                LoggedTransition(line=0, instance=instance, at_ms=at_ms, origin=origin, target=target, message=message)
            )

    def reset(self, at_ms: float) -> None:
        """Write an operator's reset."""
        instance = self._begin(at_ms)
        if instance is not None:
            self._write(LoggedReset(line=0, instance=instance, at_ms=at_ms))

    def close(self) -> None:
        """Give the file back; a later record opens it again."""
        self._log.close()

    def _begin(self, at_ms: float) -> str | None:
        """Give the instance to write under, announced by its start and its configuration when it is new.

        None when the log does not take even these: lines without them would be read under other rules.
        """
        if self._instance is not None and self._pid == os.getpid():
            return self._instance
        self._instance = instance = uuid.uuid4().hex
        self._pid = os.getpid()
        self._said.clear()
        self._write(LoggedStart(line=0, instance=instance, at_ms=at_ms))
        if self._instance is not None:
            self._write(self._configured(instance))
        return self._instance

    def _configured(self, instance: str) -> LoggedConfig:
        return LoggedConfig(
            line=0,
            instance=instance,
            failure_streak_threshold=self._config.failure_streak_threshold,
            cooldown_ms=self._config.cooldown_ms,
            dialect=RoutingDialect(),
        )

    def _describe(self, namespace: str, fingerprint: Fingerprint) -> None:
        """Say what a namespace was built with, once, and again when that changes."""
        if self._said.get(namespace) != fingerprint:
            self._said[namespace] = fingerprint
            dims = int(fingerprint.dims)
            self._write(LoggedNamespace(line=0, name=namespace, model=fingerprint.id, dims=dims))

    def _write(self, record: Record, *, cancelled: bool = False) -> None:
        try:
            self._log.write(record, cancelled=cancelled)
        except Exception as error:
            # Whatever it is (a full disk, a key that is no text): a log is no reason to fail an embedding.
            self._instance = None
            if not self._complained:
                self._complained = True
                self._complain(f"the routing log '{self._log.path}' cannot be written, calls go on without it: {error}")
        else:
            self._complained = False


def _answered(provider: EmbeddingProvider) -> str | None:
    """Give the model that the answer named; another spelling of the provider's own model is its own."""
    answered = getattr(provider, "answered_model", None)
    if not isinstance(answered, str):
        return None
    return provider.model_id if model_table().same_space(answered, provider.model_id) else answered
