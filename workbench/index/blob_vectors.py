"""Vectors kept as little-endian float32 blobs: decoded in bounded batches, judged and scored in float64."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.index.model import Flaw, NormBins, NormSpread, Unusable
from workbench.index.norms import bins_of, spread_of

ITEM = 4
"""Bytes of one element."""

_BATCH_BYTES = 4 << 20
_BATCH_ROWS = 4_096


@dataclass(slots=True)
class BlobRow:
    """One row of a scan; ``blob`` is None when there is no vector, ``other_model`` keeps it from being ranked."""

    rowid: int
    id: str
    blob: bytes | None
    live: bool = True
    other_model: bool = False

    @property
    def length(self) -> int | None:
        """How many elements the blob holds; None when there is no vector, -1 when it ends inside an element."""
        if not self.blob:
            return None
        return -1 if len(self.blob) % ITEM else len(self.blob) // ITEM


def batches(rows: Iterable[BlobRow]) -> Iterator[list[BlobRow]]:
    """Group rows so that a batch is a few megabytes at most, one long row excepted."""
    batch: list[BlobRow] = []
    held = 0
    for row in rows:
        batch.append(row)
        held += len(row.blob or b"")
        if held >= _BATCH_BYTES or len(batch) >= _BATCH_ROWS:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def decode(blob: bytes) -> NDArray[np.float64]:
    """Decode one blob, shape (length,); bytes behind the last whole element are left out."""
    return np.frombuffer(blob, "<f4", len(blob) // ITEM).astype(np.float64)


def matrix(blobs: Sequence[bytes], length: int) -> NDArray[np.float64]:
    """Decode blobs of one length, shape (rows, length)."""
    return np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), length).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Judged:
    """The rows of one batch and why they never rank (None: they can); ``vectors`` are those of the right length.

    ``norms`` are those of all finite vectors in the batch, of any length.
    """

    rows: tuple[BlobRow, ...]
    reasons: tuple[Unusable | None, ...]
    vectors: NDArray[np.float64]
    places: tuple[int, ...]
    norms: tuple[NDArray[np.float64], ...]


def judge(rows: Sequence[BlobRow], dims: int | None) -> Judged:
    """Say of each row whether a search can rank it. ``dims`` is the length that counts; None without any vector."""
    reasons: list[Unusable | None] = [None] * len(rows)
    by_length: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        length = row.length
        if length is None:
            reasons[place] = Unusable.MISSING
            continue
        if length != dims:
            reasons[place] = Unusable.WRONG_DIMS
        if length > 0:
            by_length.setdefault(length, []).append(place)
    norms: list[NDArray[np.float64]] = []
    right = np.empty((0, dims or 0))
    right_places: tuple[int, ...] = ()
    for length, places in by_length.items():
        vectors = matrix([rows[place].blob or b"" for place in places], length)
        finite = np.asarray(np.isfinite(vectors).all(axis=1))
        norms.append(lengths_of(vectors[finite]))
        if length == dims:
            right, right_places = vectors, tuple(places)
            zero = np.asarray(~vectors.any(axis=1))
            for at, place in enumerate(places):
                if not finite[at]:
                    reasons[place] = Unusable.NON_FINITE
                elif zero[at]:
                    reasons[place] = Unusable.ZERO
    return Judged(tuple(rows), tuple(reasons), right, right_places, tuple(norms))


def lengths_of(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """L2 norms of the rows; float32 values cannot overflow here."""
    return np.asarray(np.sqrt(np.square(vectors).sum(axis=1)), dtype=np.float64)


def detail(row: BlobRow, reason: Unusable, dims: int | None) -> str:
    """Say what is wrong with one row that never ranks."""
    if reason is Unusable.MISSING:
        return "no vector"
    if reason is Unusable.ZERO:
        return "every element is zero"
    if reason is Unusable.WRONG_DIMS:
        size = len(row.blob or b"")
        return f"{row.length} numbers instead of {dims}" if size % ITEM == 0 else f"{size} bytes, no whole numbers"
    vector = decode(row.blob or b"")
    place = int(np.flatnonzero(~np.isfinite(vector))[0])
    name = "NaN" if np.isnan(vector[place]) else "infinite"
    return f"element {place} is {name}"


def flaw(row: BlobRow, reason: Unusable) -> Flaw:
    """Name the flaw behind a reason; a blob of floats holds no NULL."""
    if reason is Unusable.MISSING:
        return Flaw.ABSENT if row.blob is None else Flaw.EMPTY
    return _FLAWS[reason]


_FLAWS = {
    Unusable.WRONG_DIMS: Flaw.OTHER_LENGTH,
    Unusable.NON_FINITE: Flaw.NOT_FINITE,
    Unusable.ZERO: Flaw.ZERO,
}


@dataclass(slots=True)
class Tally:
    """Counts rows by what is wrong with them, batch by batch."""

    reasons: dict[Unusable, int] = field(default_factory=lambda: dict.fromkeys(Unusable, 0))
    norms: list[NDArray[np.float64]] = field(default_factory=list)
    rows: int = 0
    other_model: int = 0

    def add(self, judged: Judged) -> None:
        """Count one batch."""
        self.rows += len(judged.rows)
        self.norms += judged.norms
        for row, reason in zip(judged.rows, judged.reasons, strict=True):
            if reason is not None:
                self.reasons[reason] += 1
            elif row.other_model:
                self.other_model += 1

    @property
    def unusable(self) -> int:
        """Vectors that are stored and can never rank."""
        return sum(count for reason, count in self.reasons.items() if reason is not Unusable.MISSING)

    def sizes(self) -> tuple[NormSpread | None, NormBins | None]:
        """Smallest, median and largest norm, and how many are of which size; None when there is no finite vector."""
        norms = np.concatenate(self.norms) if self.norms else np.empty(0)
        return spread_of(norms), bins_of(norms)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One row that is among the nearest so far."""

    score: float
    id: str
    rowid: int

    @property
    def order(self) -> tuple[float, bytes, int]:
        """Best first, ties by id in UTF-16 code units, then in the order of the source."""
        return -self.score, self.id.encode("utf-16-be", "surrogatepass"), self.rowid


class Nearest:
    """Exact cosine top-k over batches; only rows that can rank and are live take part."""

    def __init__(self, query: NDArray[np.float64], k: int, without: str | None = None) -> None:
        largest = float(np.abs(query).max(initial=0.0))
        self.possible = 0 < largest < np.inf
        # Scaled first, so that squaring neither overflows nor vanishes.
        scaled = query / largest if self.possible else query
        self._query = scaled / np.sqrt(np.square(scaled).sum()) if self.possible else query
        self._k = k
        self._without = without
        self._best: list[Ranked] = []

    def add(self, judged: Judged) -> None:
        """Score one batch and keep the k best."""
        taken = [
            at
            for at, place in enumerate(judged.places)
            if judged.reasons[place] is None
            and judged.rows[place].live
            and not judged.rows[place].other_model
            and (self._without is None or judged.rows[place].id != self._without)
        ]
        if not taken or not self.possible:
            return
        vectors = judged.vectors[taken]
        # Multiplied and summed row by row: equal vectors then score equally wherever they stand, unlike with BLAS.
        scores = np.clip((vectors * self._query).sum(axis=1) / lengths_of(vectors), -1.0, 1.0)
        least = self._best[-1].score if len(self._best) == self._k else -np.inf
        for at in np.flatnonzero(scores >= least).tolist():
            row = judged.rows[judged.places[taken[at]]]
            self._best.append(Ranked(float(scores[at]), row.id, row.rowid))
        self._best = sorted(self._best, key=lambda each: each.order)[: self._k]

    @property
    def best(self) -> tuple[Ranked, ...]:
        """The nearest, best first."""
        return tuple(self._best)
