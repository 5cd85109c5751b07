"""What a routing log says, whatever format it came in: attempts of two legs, and the records between them.

Every reader of a log (our own format, LiteLLM, OTLP) gives these; replay and ledger know nothing else.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from workbench.core.routing import Leg, Outcome, RoutingDialect


class Operation(StrEnum):
    """What was asked of the provider; a health check moves nothing."""

    EMBED = "embed"
    EMBED_BATCH = "embed_batch"
    HEALTHCHECK = "healthcheck"


class Purpose(StrEnum):
    """What the vector is for: a document is written, a query is searched with."""

    DOCUMENT = "document"
    QUERY = "query"


class Attempt(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One request to one leg. Structs instead of dataclasses here: a log may hold millions of them.

    Attributes:
        line: the line of the log, from 1.
        instance: the process that wrote it, None when the log does not say (then all is one process).
        call_id: what joins the attempts of one call; None when attempts must be paired by adjacency.
        leg: which of the two was asked.
        op: what was asked.
        started_ms: epoch milliseconds; ``duration_ms`` later the outcome was seen (None: not logged, taken as at once).
        outcome: what the leg did, in the machine's words.
        error_type: the logged kind of failure (``timeout``, ``429``, a class…); ``error_message`` its redacted text.
        provider: who served it; ``request_model`` was asked for, ``response_model`` answered (None: only claimed).
        requested_dims: asked for; ``observed_dims`` is the length of the vectors that came (None: not logged).
        input_count: texts in the call; ``null_count`` of them came back without a vector, at ``null_indexes`` if known.
        purpose: document or query, None when the log does not say.
        namespace: where the vectors go; ``keys`` name them there, in the order of the inputs.
        status_code: of HTTP; ``server`` is the address that was asked.
    """

    line: int
    instance: str | None = None
    call_id: str | None = None
    leg: Leg
    op: Operation = Operation.EMBED
    started_ms: float
    duration_ms: float | None = None
    outcome: Outcome
    error_type: str | None = None
    error_message: str | None = None
    provider: str | None = None
    request_model: str | None = None
    response_model: str | None = None
    requested_dims: int | None = None
    observed_dims: int | None = None
    input_count: int = 1
    null_count: int = 0
    null_indexes: tuple[int, ...] | None = None
    purpose: Purpose | None = None
    namespace: str | None = None
    keys: tuple[str, ...] = ()
    status_code: int | None = None
    server: str | None = None

    @property
    def ended_ms(self) -> float:
        """When the outcome was seen, in epoch milliseconds."""
        return self.started_ms + (self.duration_ms or 0.0)

    @property
    def model(self) -> str | None:
        """The model that answered, else the one that was asked for."""
        return self.response_model or self.request_model

    @property
    def dims(self) -> int | None:
        """The length that was observed, else the one that was asked for."""
        return self.requested_dims if self.observed_dims is None else self.observed_dims


class LoggedConfig(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The threshold and cooldown that the provider ran under; None where the log does not say."""

    line: int
    instance: str | None = None
    failure_streak_threshold: float | None = None
    cooldown_ms: float | None = None
    dialect: RoutingDialect | None = None


class LoggedNamespace(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A namespace and the embedder that it was built with, as the log says; it holds from its line on."""

    line: int
    name: str
    model: str | None = None
    dims: int | None = None


class LoggedTransition(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A WARN that was seen: the routing mode changed."""

    line: int
    instance: str | None = None
    at_ms: float | None = None
    origin: Leg
    target: Leg
    message: str | None = None


class LoggedReset(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An operator's reset."""

    line: int
    instance: str | None = None
    at_ms: float | None = None


class LoggedStart(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A process began: its machine starts anew."""

    line: int
    instance: str | None = None
    at_ms: float | None = None


class LoggedWrite(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Where the vectors of an earlier call went, said by whoever stored them once they were there."""

    line: int
    instance: str | None = None
    at_ms: float | None = None
    call_id: str | None = None
    namespace: str
    keys: tuple[str, ...] = ()


Record = Attempt | LoggedConfig | LoggedNamespace | LoggedTransition | LoggedReset | LoggedStart | LoggedWrite


class LogProblem(msgspec.Struct, frozen=True, gc=False):
    """What could not be read of a log, or was read with a guess; ``line`` is None when it is about the whole."""

    line: int | None
    message: str
