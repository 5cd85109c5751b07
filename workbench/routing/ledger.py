"""The contamination ledger: what was written into each namespace, by the embedder that it was built with or by another.

A model and the length of its vectors are compared as a pair, ids exactly. A namespace that no line of the log speaks of
is taken as built by the primary, whose id its provider reports, and said to be assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from workbench.core.fingerprint import Fingerprint, fingerprint_text
from workbench.routing.keys import Pair
from workbench.routing.rows import Bytes, Flags, Ints

_CHECKPOINT = 4_096
DENSE = 1 << 22
"""How many cells a table may have before it is made sparsely."""


class Written(IntEnum):
    """What a call did to its namespace."""

    NOTHING = 0
    NATIVE = 1
    FOREIGN_SAME_DIMS = 2
    FOREIGN_DIMS = 3
    ASKED = 4
    ASKED_ACROSS = 5


FOREIGN = (Written.FOREIGN_SAME_DIMS, Written.FOREIGN_DIMS)


@dataclass(frozen=True, slots=True)
class ForeignModel:
    """An embedder whose vectors do not belong into a namespace: how many were written, and queries asked with it."""

    fingerprint: str
    vectors: int
    queries: int


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """What a log says of one namespace; ``first_call`` and ``last_call`` are the ``n`` of contaminated calls.

    Attributes:
        namespace: its name.
        fingerprint: what it was built with, as text; None when nothing says.
        assumed: no line of the log says so, it is what the primary makes.
        model, dims: the parts of the fingerprint.
        native: vectors of that embedder.
        foreign_same_dims: vectors of another model, of the same length: no store notices.
        foreign_dims_mismatch: vectors of another length, which stores reject or drop.
        missing: documents that came back without a vector and were served by no later call.
        cross_space_queries: queries of another embedder than that of the namespace.
        first_at_ms, last_at_ms: when these calls began.
        keys: the texts to embed again.
        foreign: the embedders that did it, most vectors first.
        restated: the log states another fingerprint further on; this is the last.
    """

    namespace: str
    fingerprint: str | None
    assumed: bool
    model: str | None
    dims: int | None
    native: int
    foreign_same_dims: int
    foreign_dims_mismatch: int
    missing: int
    cross_space_queries: int
    first_call: int | None
    last_call: int | None
    first_at_ms: float | None
    last_at_ms: float | None
    keys: tuple[str, ...]
    foreign: tuple[ForeignModel, ...]
    restated: bool

    @property
    def foreign_vectors(self) -> int:
        """Vectors of another embedder, of whatever length."""
        return self.foreign_same_dims + self.foreign_dims_mismatch

    @property
    def contaminated(self) -> bool:
        """Whether vectors of two embedders met, in the namespace or in a search."""
        return bool(self.foreign_vectors or self.cross_space_queries)


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers of one namespace up to a call."""

    native: int = 0
    foreign_same_dims: int = 0
    foreign_dims_mismatch: int = 0
    missing: int = 0
    cross_space_queries: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """What each call wrote, and what that makes of each namespace.

    Attributes:
        rows: one a namespace, in the order in which the log names them.
        namespace: of each call, index into ``rows``; -1 when the log names none.
        written: of each call a ``Written``.
        vectors: of each call, how many vectors (or queries) that were.
        missing: of each call, texts that it left without a vector and that no later call served.
        unplaced: calls that were served, of which the log does not say into which namespace.
        keys_not_held: keys beyond the most that are held.
    """

    rows: tuple[LedgerRow, ...]
    namespace: Ints
    written: Bytes
    vectors: Ints
    missing: Ints
    unplaced: int
    keys_not_held: int
    _sums: Ints

    def totals_at(self, n: int) -> tuple[Totals, ...]:
        """Give the numbers of every namespace after call ``n``, in the order of ``rows``."""
        block = min(n // _CHECKPOINT, len(self._sums) - 2)
        sums = self._sums[block] + _sums(self, slice(block * _CHECKPOINT, n))
        return tuple(
            Totals(*(int(each[column]) for column in (Written.NATIVE, *FOREIGN, Written.NOTHING, Written.ASKED_ACROSS)))
            for each in sums
        )

    @property
    def contaminated(self) -> bool:
        """Whether any namespace is."""
        return any(row.contaminated for row in self.rows)

    @property
    def foreign(self) -> Flags:
        """Which calls contaminate: a foreign vector written, or a query asked across spaces."""
        found: Flags = (
            (self.written == Written.FOREIGN_SAME_DIMS)
            | (self.written == Written.FOREIGN_DIMS)
            | (self.written == Written.ASKED_ACROSS)
        )
        return found


def classify(space: Pair, made: Pair) -> Written:
    """Say what a document's vector is to a namespace; what one side does not say is no conflict."""
    if space[1] is not None and made[1] is not None and space[1] != made[1]:
        return Written.FOREIGN_DIMS
    if space[0] is not None and made[0] is not None and space[0] != made[0]:
        return Written.FOREIGN_SAME_DIMS
    return Written.NATIVE


def pair_text(pair: Pair) -> str | None:
    """Write a model and a length as a fingerprint, with ``?`` for what is not known; None when nothing is."""
    model, dims = pair
    if dims is None:
        return None if model is None else f"{model}@?"
    return fingerprint_text(Fingerprint(model, dims))


def no_sums(size: int) -> Ints:
    """Give the sums of no calls."""
    return np.zeros((1, size, len(Written)), np.int64)


def _sums(ledger: Ledger, part: slice) -> Ints:
    """Sum a run of calls up: of each namespace, vectors by what they are, and what is missing under ``NOTHING``."""
    size = ledger._sums.shape[1]
    namespace = ledger.namespace[part]
    placed = namespace >= 0
    namespace = namespace[placed]
    cells = namespace * len(Written) + ledger.written[part][placed]
    weights = ledger.vectors[part][placed].astype(np.float64)
    sums = np.bincount(cells, weights, size * len(Written)).astype(np.int64).reshape(size, len(Written))
    sums[:, Written.NOTHING] = np.bincount(namespace, ledger.missing[part][placed].astype(np.float64), size)
    return sums


def checkpoints(ledger: Ledger, size: int) -> Ints:
    """Give the sums before every block of calls, and after the last."""
    count = len(ledger.written)
    blocks = count // _CHECKPOINT + 1
    if blocks * size > DENSE // len(Written):
        blocks = 1
    sums = np.zeros((blocks + 1, size, len(Written)), np.int64)
    for block in range(blocks):
        end = count if block == blocks - 1 else (block + 1) * _CHECKPOINT
        sums[block + 1] = sums[block] + _sums(ledger, slice(block * _CHECKPOINT, end))
    return sums
