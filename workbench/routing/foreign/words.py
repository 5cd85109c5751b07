"""Words of other programs in ours: how an attempt failed, and where its vectors go."""

from __future__ import annotations

from typing import NamedTuple

from workbench.core.routing import Outcome
from workbench.routing.foreign.bodies import as_keys, as_text
from workbench.routing.log_format import ABORTS
from workbench.routing.model import Purpose

_OPEN_BREAKERS = (
    "CircuitOpenError",
    "CircuitBreakerError",
    "CircuitBreakerOpen",
    "CallNotPermittedException",
    "BrokenCircuitException",
    "RouterRateLimitError",  # LiteLLM: all deployments of the group are in cooldown
)


def failure_of(error_type: str | None) -> Outcome:
    """Say what kind of failure an error's class is: the caller's abort, an open breaker, or any other."""
    name = (error_type or "").rpartition(".")[2]
    if name in ABORTS:
        return Outcome.ABORT
    return Outcome.CIRCUIT_OPEN if name in _OPEN_BREAKERS else Outcome.ERROR


class Where(NamedTuple):
    """Where vectors go, as far as the caller said so along with the request."""

    namespace: str | None = None
    purpose: Purpose | None = None
    keys: tuple[str, ...] = ()


_NOWHERE = Where()


def where_of(said: object) -> Where:
    """Read ``namespace``, ``purpose`` and ``keys`` out of what a caller attached to a request."""
    if not isinstance(said, dict):
        return _NOWHERE
    purpose = said.get("purpose")
    return Where(
        as_text(said.get("namespace")),
        Purpose(purpose) if purpose in ("document", "query") else None,
        as_keys(said.get("keys")),
    )
