"""What an index is to the rest of the product: sources, namespaces, and the typed answers they give.

Everything above this room knows only these protocols and values; everything below implements them.
Lengths are in UTF-16 code units, as the seed library counts them. Times are epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from workbench.index.problems import LockHolder as LockHolder
from workbench.index.problems import Problem as Problem
from workbench.index.problems import SourceError as SourceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.fingerprint import Fingerprint
    from workbench.core.job import Job
    from workbench.index.query import Listing, ListingQuery, SortBy

MAX_LISTED = 1_000
"""How many of the longest chunks are kept by id; the rest are counted and said to be not listed."""


@dataclass(frozen=True, slots=True)
class FingerprintCount:
    """How many vectors say that they were made by one embedder (``?@<length>`` when they name none)."""

    fingerprint: str
    count: int


@dataclass(frozen=True, slots=True)
class NormSpread:
    """Smallest, median (mean of the middle two) and largest L2 norm of the finite vectors; may be infinite."""

    min: float
    median: float
    max: float


@dataclass(frozen=True, slots=True)
class NormBins:
    """L2 norms above zero in equal steps: ``counts[i]`` vectors lie in the i-th of them, from ``low`` to ``high``."""

    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VectorHealth:
    """Rows by what a search can do with their vector. The first four are disjoint: a row counts once.

    Attributes:
        count: all rows.
        dims: the declared length, else the most frequent one (the smaller on a tie), None when there is no vector.
        missing: NULL or empty vectors.
        wrong_dims: vectors of another length than ``dims``, whatever else is wrong with them.
        non_finite: of the right length, holding a NaN, an infinity or a NULL element.
        zero: of the right length, all elements zero.
        expired: rows whose time to live is over, usable or not.
        norm: spread over all finite vectors of any length, zero ones included; None when there is none.
        norm_bins: the same norms by size, zero and infinite ones left out; None when none is left.
    """

    count: int
    dims: int | None
    missing: int
    wrong_dims: int
    non_finite: int
    zero: int
    expired: int
    norm: NormSpread | None
    norm_bins: NormBins | None = field(default=None, compare=False)

    @property
    def unusable(self) -> int:
        """Vectors that are stored and can never rank: zero, non-finite or of a wrong length."""
        return self.zero + self.non_finite + self.wrong_dims


class Unusable(StrEnum):
    """Why a row never ranks."""

    MISSING = "missing"
    WRONG_DIMS = "wrong_dims"
    NON_FINITE = "non_finite"
    ZERO = "zero"


class Flaw(StrEnum):
    """What is wrong with one vector, as finely as stores differ in what they do with it."""

    ABSENT = "absent"
    EMPTY = "empty"
    OTHER_LENGTH = "other length"
    NULL_ELEMENT = "NULL element"
    NOT_FINITE = "not finite"
    ZERO = "zero"

    @property
    def reason(self) -> Unusable:
        """The kind that such a row is counted as."""
        return _REASONS[self]


_REASONS = {
    Flaw.ABSENT: Unusable.MISSING,
    Flaw.EMPTY: Unusable.MISSING,
    Flaw.OTHER_LENGTH: Unusable.WRONG_DIMS,
    Flaw.NULL_ELEMENT: Unusable.NON_FINITE,
    Flaw.NOT_FINITE: Unusable.NON_FINITE,
    Flaw.ZERO: Unusable.ZERO,
}


@dataclass(frozen=True, slots=True)
class UnusableRow:
    """One row that never ranks, and why (for example "element 3 is NaN", "48 numbers instead of 64")."""

    id: str
    flaw: Flaw
    detail: str

    @property
    def reason(self) -> Unusable:
        """The kind that it is counted as."""
        return self.flaw.reason


@dataclass(frozen=True, slots=True)
class DuplicateIds:
    """Ids that more than one row carries, and the rows that carry them."""

    ids: int
    rows: int


@dataclass(frozen=True, slots=True)
class ChunkLength:
    """One chunk by id, and its length in UTF-16 code units."""

    id: str
    chars: int


@dataclass(frozen=True, slots=True)
class ClipCount:
    """What a ceiling does to a namespace: strictly longer chunks, and the code units behind the ceiling."""

    ceiling: int
    count: int
    total: int
    lost_chars: int
    total_chars: int
    possible: int


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """One row of a page: everything that a list shows, the vector left where it is."""

    position: int
    id: str
    chars: int | None
    preview: str
    fingerprint: str | None
    dims: int | None
    source: str | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk opened: its whole text, metadata as JSON text, and the shape of its vector."""

    id: str
    text: str | None
    chars: int | None
    metadata: str | None
    fingerprint: str | None
    dims: int | None
    norm: float | None
    source: str | None


@dataclass(frozen=True, slots=True)
class Hit:
    """One neighbour: cosine similarity in -1 to 1 (float64), and the chunk behind it."""

    id: str
    score: float
    chars: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The exact nearest chunks, best first, ties by id in UTF-16 order, and what could not take part.

    ``left_out`` counts the unusable vectors (zero, non-finite, wrong length), as VectorHealth.unusable does.
    ``other_model`` counts the usable ones that name another model than the query's, whatever else would exclude them.
    """

    hits: tuple[Hit, ...]
    left_out: int
    missing: int = 0
    expired: int = 0
    other_model: int = 0


class LengthAnswers(Protocol):
    """Lengths read once; any ceiling is then answered from memory. See index/lengths.py."""

    @property
    def total(self) -> int:
        """All chunks, those with empty text too."""

    @property
    def longest(self) -> Sequence[ChunkLength]:
        """At most MAX_LISTED chunks, longest first, ties in the order of the source."""

    @property
    def basis(self) -> str:
        """``stored`` when the file keeps the counts, ``counted`` when the texts were read."""

    def clip(self, ceiling: int) -> ClipCount:
        """Answer one ceiling; ``possible`` is 0 when no token limit was given."""

    def histogram(self, width: int) -> NDArray[np.int64]:
        """Chunks by length, in bins of ``width`` code units from 0."""


class Namespace(Protocol):
    """One set of vectors that are searched together. Every method may take long: run it in a worker with a Job."""

    @property
    def name(self) -> str:
        """As users name it; for foreign tables ``table``, ``schema.table``, or ``table.column``."""

    @property
    def adapter(self) -> str:
        """Which layout: workbench, langchain, llamaindex, plain-table, agentfootprint."""

    @property
    def recorded(self) -> Fingerprint | None:
        """What a registry or the file's metadata records; None when nothing says."""

    @property
    def keeps_records(self) -> bool:
        """Whether this layout keeps a fingerprint record for each namespace (so that a missing one is a loss)."""

    @property
    def declared_dims(self) -> int | None:
        """The length that the column type or the record declares."""

    @property
    def max_input_chars(self) -> int | None:
        """The input ceiling that the namespace's own record declares."""

    @property
    def no_text(self) -> str | None:
        """None when the text of the chunks is here; else one clause saying where it is or that there is none."""

    @property
    def alternative(self) -> str:
        """The second way out of a refusal, in the producer's unit (another file, collection, table)."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed or guessed when this namespace was recognised, each one sentence."""

    def count(self, job: Job | None = None) -> int:
        """Rows, with and without a vector."""

    def fingerprints(self, job: Job | None = None) -> tuple[FingerprintCount, ...]:
        """Count what the vectors say, most frequent first; one without a model counts as ``?@<its length>``."""

    def health(self, now_ms: int, job: Job | None = None) -> VectorHealth:
        """Count what a search can use, in one scan, no vector fetched."""

    def unusable_rows(self, limit: int, job: Job | None = None) -> tuple[UnusableRow, ...]:
        """Give the first rows that never rank, in the order of the source."""

    def lengths(self, token_limit: int | None = None, job: Job | None = None) -> LengthAnswers | None:
        """Lengths of all texts; None where no text is stored. Kept: a second call costs nothing.

        ``token_limit`` (tokens) makes ``clip().possible`` count chunks with more UTF-8 bytes than that.
        """

    def long_texts(self, more_bytes: int, job: Job | None = None) -> Iterator[Sequence[str]]:
        """Texts of more UTF-8 bytes than that, in the order of the source, some at a time; none where none is here."""

    def duplicates(self, job: Job | None = None) -> DuplicateIds:
        """Ids that stand more than once."""

    def page(self, start: int, limit: int, job: Job | None = None) -> tuple[ChunkRow, ...]:
        """Rows ``start`` (from 0) and following in the order of the source, at a cost that does not grow with start."""

    @property
    def sortable(self) -> tuple[SortBy, ...]:
        """What its chunks can be listed by; the order of the source comes first."""

    def listing(
        self, query: ListingQuery, job: Job | None = None, found: Callable[[int], None] | None = None
    ) -> Listing:
        """Count and order the chunks that a query asks for; cancelling interrupts it.

        ``found`` is told, from the working thread, how many match so far.
        """

    def chunk(self, id: str, job: Job | None = None) -> Chunk | None:
        """One chunk; the first when several carry the id; None when there is none."""

    def vector(self, id: str, job: Job | None = None) -> NDArray[np.float64] | None:
        """Give the vector of one chunk, shape (length,); None when it has none. NULL elements become NaN."""

    def search(
        self,
        vector: NDArray[np.float64],
        *,
        k: int,
        now_ms: int,
        tiers: Sequence[str] | None = None,
        without: str | None = None,
        model: str | None = None,
        with_text: bool = True,
        job: Job | None = None,
    ) -> SearchResult:
        """Exact cosine top-k over the usable vectors; ``without`` is an id that is left out.

        ``model`` is the id of the query's embedder, where it is known: rows that name another one never rank, rows
        that name none take part. The namespace's fingerprint is the caller's to compare (checkup/incoming.py); this
        raises ValueError when the length of ``vector`` is not the namespace's, and returns no hits for a zero or
        non-finite query.
        """


class IndexSource(Protocol):
    """One opened index: read-only, leased, nothing left beside it. A context manager that closes."""

    @property
    def path(self) -> str:
        """As the user gave it."""

    @property
    def container(self) -> str:
        """The kind of file: duckdb or sqlite."""

    @property
    def adapter(self) -> str:
        """The most specific adapter of its namespaces."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said beside the file: a ``.wal`` replayed in memory, a copy of 14:02, a change since it was read."""

    def namespaces(self) -> tuple[Namespace, ...]:
        """All namespaces, empty ones too, in the order of the file."""

    def hold(self) -> AbstractContextManager[None]:
        """Keep the lease for the length of the block, so that all answers are of one moment."""

    def held(self) -> bool:
        """Whether a writer is shut out at this moment."""

    def changed(self) -> bool:
        """Whether the file was rewritten since the namespaces were recognised; then open it again."""

    def close(self) -> None:
        """Give up lease and connection; every live query is interrupted. Safe to call twice."""

    def __enter__(self) -> IndexSource: ...

    def __exit__(self, *exc: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What the first bytes of a path say, before any library sees it."""

    container: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    notes: tuple[str, ...] = field(default=())
