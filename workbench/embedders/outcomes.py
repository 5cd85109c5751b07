"""What a leg did, in the words of the routing machine: from what it returned, or from what it raised."""

from __future__ import annotations

from collections.abc import Iterable, Sized

from workbench.core.routing import Outcome
from workbench.embedders.attempt_log import Asked
from workbench.embedders.error_types import error_type_of
from workbench.embedders.protocol import CircuitOpenError
from workbench.routing.log_format import ABORTED
from workbench.routing.model import Operation


def thrown(error: Exception) -> tuple[Outcome, str | None]:
    """Say what a leg did that raised, and the kind of failure."""
    if isinstance(error, CircuitOpenError):
        return Outcome.CIRCUIT_OPEN, None
    kind = error_type_of(error)
    return Outcome.ABORT if kind == ABORTED else Outcome.ERROR, kind


def returned(asked: Asked, value: object) -> tuple[Outcome, tuple[int, ...], int | None]:
    """Say what a leg did that returned: its outcome, which texts have no vector, and the length of those that came."""
    is_batch = asked.op is Operation.EMBED_BATCH
    vectors: list[object] = list(value) if is_batch and isinstance(value, Iterable) else [value]
    vectors.extend([None] * (asked.inputs - len(vectors)))
    nulls = tuple(index for index, vector in enumerate(vectors) if vector is None)
    first = next((vector for vector in vectors if vector is not None), None)
    dims = len(first) if isinstance(first, Sized) else None
    if not nulls:
        return Outcome.VECTOR, (), dims
    return Outcome.NULL if len(nulls) == len(vectors) else Outcome.PARTIAL, nulls, dims
