"""Words of other programs in ours: how an attempt failed, and where its vectors go."""

from __future__ import annotations

import re
from typing import NamedTuple

from workbench.core.routing import Outcome
from workbench.routing.foreign.bodies import as_keys, as_text
from workbench.routing.log_format import ABORTS
from workbench.routing.model import Purpose

_KIND = re.compile(r"[A-Za-z0-9_.:-]{1,80}")
_OPEN_BREAKERS = (
    "CircuitOpenError",
    "CircuitBreakerError",
    "CircuitBreakerOpen",
    "CallNotPermittedException",
    "BrokenCircuitException",
    "RouterRateLimitError",  # LiteLLM: all deployments of the group are in cooldown
)


def kind_of_failure(said: str | None) -> str:
    """Keep what names a kind of failure; anything else could be a message, which may quote what was sent."""
    return said if said is not None and _KIND.fullmatch(said) else "error"


def address_of(said: str | None) -> str | None:
    """Give an address without what may be a secret in it: a user with a password before the host, a query behind it."""
    if said is None:
        return None
    before, _, _ = said.partition("?")
    scheme, separator, rest = before.partition("#")[0].rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" or None


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
