"""How a line of the routing log ``routing.jsonl`` is spelled: its keys, its words, its times. Read and written by it.

One JSON object a line, one line an attempt, named as OpenTelemetry names them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

import msgspec

from workbench.core.routing import Leg
from workbench.routing.model import Operation, Purpose

ERROR_TYPES = frozenset(
    {
        "PROVIDER_CLOSED", "OPERATION_ABORTED", "DEADLINE_EXCEEDED", "PROVIDER_FAILURE", "MISSING_EMBEDDING",
        "EMPTY_VECTOR", "NON_FINITE_VECTOR", "MODEL_MISMATCH", "DIMENSION_UNKNOWN", "DIMENSION_MISMATCH",
        "BATCH_CARDINALITY_MISMATCH", "INPUT_BUDGET_EXCEEDED", "RESPONSE_SCHEMA_INVALID", "HTTP_TERMINAL",
        "RETRY_EXHAUSTED",
    }
)  # fmt: skip
"""Kinds of failure with a name of their own; others are logged as an HTTP status or the class of the error."""

ABORTED = "abort"
TIMED_OUT = "timeout"

ABORTS = frozenset({ABORTED, "aborted", "OPERATION_ABORTED", "AbortError", "CancelledError"})
"""Kinds of failure that are the caller's abort."""

CANCELLED = "cancelled"
"""The outcome of an attempt that its caller gave up: it is no failure, and moves nothing."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]

KEYS = {
    "instance": "service.instance.id",
    "call_id": "call.id",
    "error_type": "error.type",
    "error_message": "error.message",
    "provider": "gen_ai.provider.name",
    "request_model": "gen_ai.request.model",
    "response_model": "gen_ai.response.model",
    "requested_dims": "gen_ai.embeddings.dimension.count",
    "observed_dims": "embedding.dimensions",
    "input_count": "input.count",
    "null_count": "null.count",
    "null_indexes": "null.indexes",
    "status_code": "http.response.status_code",
    "server": "server.address",
    "origin": "from",
    "target": "to",
}
"""How fields are spelled in a line, where not as here."""


class Line(msgspec.Struct, gc=False, rename=KEYS):
    """Any line of a log: the keys of all its records, so that a line is decoded once, without looking first."""

    record: str = "attempt"
    timestamp: datetime | float | None = None
    duration_ms: float | None = None
    instance: str | None = None
    call_id: str | None = None
    leg: Leg | None = None
    op: Operation = Operation.EMBED
    outcome: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    provider: str | None = None
    request_model: str | None = None
    response_model: str | None = None
    requested_dims: _Count | None = None
    observed_dims: _Count | None = None
    input_count: _Count | None = None
    null_count: _Count | None = None
    null_indexes: tuple[_Count, ...] | None = None
    purpose: Purpose | None = None
    namespace: str | None = None
    keys: tuple[str, ...] = ()
    status_code: int | None = None
    server: str | None = None
    failure_streak_threshold: float | str | None = None
    cooldown_ms: float | str | None = None
    dialect: str | list[str] | dict[str, bool] | None = None
    id: str | None = None
    model: str | None = None
    dimensions: _Count | None = None
    fingerprint: str | None = None
    origin: Leg | None = None
    target: Leg | None = None
    message: str | None = None


class AttemptLine(msgspec.Struct, gc=False, rename=KEYS):
    """What of a line a replay reads, as cheaply as it can be had: words are shared, keys are left as they stand.

    A line of another kind than an attempt, or with a word that is not known, has to be read as a ``Line``.
    """

    record: Literal["attempt", "config", "namespace", "write", "transition", "reset", "start"] = "attempt"
    timestamp: datetime | float | None = None
    duration_ms: float | None = None
    instance: str | None = None
    call_id: str | None = None
    leg: Leg | None = None
    op: Operation = Operation.EMBED
    outcome: Literal["success", "error", "not_permitted", "null", "cancelled"] | None = None
    error_type: str | None = None
    error_message: str | None = None
    request_model: str | None = None
    response_model: str | None = None
    requested_dims: _Count | None = None
    observed_dims: _Count | None = None
    input_count: _Count | None = None
    null_count: _Count | None = None
    null_indexes: tuple[_Count, ...] | None = None
    purpose: Purpose | None = None
    namespace: str | None = None
    raw_keys: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"[]"), name="keys")
    status_code: int | None = None
    server: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys, none where they are no list of texts."""
        try:
            return _keys.decode(self.raw_keys)
        except (msgspec.DecodeError, ValueError):
            return ()


_keys = msgspec.json.Decoder(tuple[str, ...])


def epoch_ms(timestamp: datetime | float | None) -> float | None:
    """Give a timestamp as epoch milliseconds; a time without an offset is taken as UTC."""
    if isinstance(timestamp, datetime):
        if timestamp.tzinfo is None:
            timestamp = timestamp.replace(tzinfo=UTC)
        return (timestamp - _EPOCH) / _MILLISECOND
    return timestamp


def timestamp_of(at_ms: float) -> str | float:
    """Spell epoch milliseconds as RFC 3339, to the microsecond where needed; as the number where even that loses."""
    try:
        microseconds = round(at_ms * 1000)
        at = _EPOCH + timedelta(microseconds=microseconds)
    except (OverflowError, ValueError):
        return at_ms
    if microseconds / 1000 != at_ms:
        return at_ms
    whole = microseconds % 1000 == 0
    return at.isoformat(timespec="milliseconds" if whole else "microseconds").replace("+00:00", "Z")
