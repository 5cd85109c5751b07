"""Which embedder made a vector: the fingerprint ``<id>@<dims>``, its text, its conflicts, and the one refusal."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from workbench.core.numbers import is_number, number_text, parse_number, plain, to_float

Conflict = Literal["dimensions", "model"]
Operation = Literal["write to", "search"]

_ANONYMOUS = "?"
_WHOLE = re.compile(r"[0-9]+")
_LITERALS = {None: "null", True: "true", False: "false"}
_DEFAULT_ALTERNATIVE = "keep the vectors of the second embedder in a namespace of their own"
_WHY: dict[str, str] = {
    "dimensions": "vectors of different lengths cannot be compared at all",
    "model": (
        "the lengths agree and the models do not, so the cosine of two such vectors is not a signal and no threshold "
        "separates right answers from wrong ones"
    ),
}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """An embedder's id, None when anonymous, and the length of its vectors.

    An empty id counts as named. ``dims`` is any number: what stands in a damaged record is kept, and fits nothing.
    """

    id: str | None
    dims: float


def fingerprint_text(fingerprint: Fingerprint) -> str:
    """Write ``<id>@<dims>``, the number as the seed library writes it; an anonymous id is ``?``."""
    id = _ANONYMOUS if fingerprint.id is None else fingerprint.id
    return f"{id}@{_dims_text(fingerprint.dims)}"


def _dims_text(dims: object) -> str:
    if isinstance(dims, int | float) and not isinstance(dims, bool):
        return number_text(dims)
    return dims if isinstance(dims, str) else _LITERALS[dims] if dims in (None, True, False) else str(dims)


def parse_fingerprint(text: str) -> Fingerprint:
    """Read ``<id>@<dims>`` as the seed library does, cut at the last ``@``; never raises.

    An empty id and ``?`` read as anonymous; dims that are no finite number read as 0, as does a text without ``@``.
    """
    id, at, dims_text = text.rpartition("@")
    if not at:
        return Fingerprint(None, 0)
    dims = parse_number(dims_text)
    return Fingerprint(None if id in ("", _ANONYMOUS) else id, plain(dims) if math.isfinite(dims) else 0)


def parse_incoming(text: str) -> Fingerprint:
    """Read ``ID@DIMS`` as a person types it, strictly; ``?@DIMS`` is anonymous, the id may hold ``@``.

    Raises:
        ValueError: one sentence, when the id is missing or DIMS is not a whole number of at least 1.
    """
    id, at, digits = text.rpartition("@")
    if not at or not id:
        raise ValueError(f"'{text}' is not ID@DIMS: name the embedder and the length of its vectors, or ?@DIMS")
    dims = parse_number(digits) if _WHOLE.fullmatch(digits) else 0.0
    if not 1 <= dims < math.inf:
        raise ValueError(f"'{text}' is not ID@DIMS: DIMS must be a whole number of at least 1, not '{digits}'")
    return Fingerprint(None if id == _ANONYMOUS else id, plain(dims))


def fingerprint_conflict(stored: Fingerprint, incoming: Fingerprint) -> Conflict | None:
    """Say why vectors of ``incoming`` cannot live with those of ``stored``, None when they can.

    Lengths always decide; ids decide only when both sides are named, and are compared exactly.
    """
    if not _same_dims(stored.dims, incoming.dims):
        return "dimensions"
    if stored.id is not None and incoming.id is not None and stored.id != incoming.id:
        return "model"
    return None


def conflict_reason(conflict: Conflict) -> str:
    """Say why vectors in this conflict cannot be compared, as one clause: it stands in every refusal."""
    return _WHY[conflict]


def _same_dims(stored: object, incoming: object) -> bool:
    """Compare without conversion: True is no 1, and NaN equals nothing, itself included."""
    if isinstance(stored, int | float) and isinstance(incoming, int | float) and is_number(stored):
        return is_number(incoming) and to_float(stored) == to_float(incoming)
    return type(stored) is type(incoming) and stored == incoming


class EmbedderMismatchError(Exception):
    """Vectors of one embedder were about to meet those of another, in a write or in a search. Nothing was done.

    Attributes:
        code: always ``ERR_EMBEDDER_MISMATCH``.
        namespace: where it was refused.
        indexed: the fingerprint text of the namespace.
        incoming: the fingerprint text of what was refused.
        problem: ``dimensions`` or ``model``.
        operation: ``write to`` or ``search``.
        alternative: the last way out, in the unit of whoever keeps the vectors.
    """

    code: str = "ERR_EMBEDDER_MISMATCH"

    def __init__(
        self,
        namespace: str,
        indexed: str,
        incoming: str,
        problem: Conflict,
        operation: Operation,
        alternative: str = _DEFAULT_ALTERNATIVE,
    ) -> None:
        self.namespace = namespace
        self.indexed = indexed
        self.incoming = incoming
        self.problem = problem
        self.operation = operation
        self.alternative = alternative
        super().__init__(
            f"refused to {operation} namespace '{namespace}': it was indexed with '{indexed}', and the incoming "
            f"embedder is '{incoming}' ({problem}: {conflict_reason(problem)}). Ways out: use the embedder that built "
            f"it; delete the namespace and re-index all of it with one embedder; or {alternative}. Nothing was mixed "
            "in, and nothing is re-embedded on your behalf, because that costs."
        )

    def __reduce__(self) -> tuple[type[EmbedderMismatchError], tuple[str, ...]]:
        """Rebuild from the arguments, not from the message, when pickled or copied."""
        return type(self), (
            self.namespace,
            self.indexed,
            self.incoming,
            self.problem,
            self.operation,
            self.alternative,
        )
