"""What a re-index says of itself, before, during and after: the values that the command and the guide show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.core.ceiling import ChunkCeiling


class Fate(StrEnum):
    """What becomes of one chunk."""

    REUSE = "reuse"
    EMBED = "embed"
    RESPLIT = "resplit"
    SKIP = "skip"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True, slots=True)
class FateCounts:
    """Chunks by what becomes of them.

    Attributes:
        reuse: the vector is kept: text, fingerprint, prefix and endpoint match, and it was read whole.
        embed: sent to the embedder as it is; ``resplit``: cut into pieces first.
        skip: the text is empty: nothing to embed, the row is kept.
        impossible: there is no text: it cannot be embedded, the row is kept and listed.
    """

    reuse: int = 0
    embed: int = 0
    resplit: int = 0
    skip: int = 0
    impossible: int = 0

    @property
    def total(self) -> int:
        """All chunks."""
        return self.reuse + self.embed + self.resplit + self.skip + self.impossible


@dataclass(frozen=True, slots=True)
class Range:
    """An estimate that says how far it can be off."""

    low: float
    likely: float
    high: float


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """US dollars, at the price of the model table (per million tokens) as it was read on that day (ISO)."""

    usd: Range
    price_usd: float
    price_read_on: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a re-index would do. Nothing was sent to make it.

    Attributes:
        namespace: as users name it.
        origin: the fingerprint that it has now, None when nothing says; ``target`` the one that it would have.
        ceiling: of the target.
        clipped_now: chunks longer than what their embedder read; ``clipped_then``: longer than the target reads.
        chunks: by what becomes of them.
        pieces: texts that are sent, pieces of re-split chunks counted one by one.
        chars: UTF-16 code units that are sent.
        tokens: of these; ``tokens_basis`` is ``counted``, ``sampled`` or ``estimated``.
        probe_tokens: what verifying sends again, included in ``tokens``.
        cost: None when the price is not known.
        seconds: None unless an earlier run of this embedder was timed.
        disk_bytes: how much room the build takes beside the index.
        impossible_ids: the first of the chunks without text.
        conflict: why the target may not write (a fallback whose vectors are of another space); None when it may.
    """

    namespace: str
    origin: str | None
    target: str
    ceiling: ChunkCeiling
    clipped_now: int | None
    clipped_then: int
    chunks: FateCounts
    pieces: int
    chars: int
    tokens: Range
    tokens_basis: str
    probe_tokens: int
    cost: CostEstimate | None
    seconds: float | None
    disk_bytes: int
    impossible_ids: tuple[str, ...] = ()
    conflict: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What a build must not change between its beginning and its end; kept in the sibling file.

    Attributes:
        namespace: which one is built again.
        embedder: the name of the target in the configuration.
        fingerprint: ``<id>@<dims>`` of the target.
        max_chunk_chars: the ceiling of the target in UTF-16 code units, ``ceiling_source`` says who says so.
        resplit: whether what is longer is cut into pieces, else it is kept whole and clips.
        document_prefix: what is put before each document.
        query_prefix: what a search must put before each query.
        host: where texts go, None when they stay here.
        tokenizer: whose tokens are counted exactly; None without one.
        max_input_tokens: what the model reads in these.
    """

    namespace: str
    embedder: str
    fingerprint: str
    max_chunk_chars: int
    ceiling_source: str
    resplit: bool = False
    document_prefix: str = ""
    query_prefix: str = ""
    host: str | None = None
    tokenizer: str | None = None
    max_input_tokens: int | None = None


class RunState(StrEnum):
    """Where a re-index stands."""

    BUILDING = "building"
    PAUSED = "paused"
    VERIFIED = "verified"
    SWAPPED = "swapped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A chunk that the embedder did not take; it is kept without a vector."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of the gate before the swap; ``detail`` has its figures."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Verification:
    """All checks; what is only reported has no say in ``ok``.

    ``neighbour_overlap`` is the mean share of ten nearest neighbours that a sample kept; None when it was not measured.
    ``regained`` are once-lost texts with the rank of their own chunk before and after; ``not_measured`` says why there
    is no rank before, or nothing to compare at all.
    """

    checks: tuple[Check, ...]
    neighbour_overlap: float | None = None
    regained: tuple[Regained, ...] = ()
    not_measured: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the new generation may take the old one's place."""
        return all(check.ok for check in self.checks)


@dataclass(frozen=True, slots=True)
class Regained:
    """A text that lay behind the ceiling: at which rank a search for it finds its own chunk (None: it does not rank).

    ``of`` is how many vectors ranked before. Without the old embedder ``before`` is None and was not ``measured``.
    """

    id: str
    before: int | None
    after: int | None
    of: int = 0
    measured: bool = True


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is. Counted by what is committed, never by what was sent.

    ``tokens`` are as the server counts them, else estimated (``tokens_counted`` tells which).
    """

    done: int
    total: int
    reused: int
    quarantined: int
    requests: int
    retries: int
    chars: int
    tokens: int
    tokens_counted: bool
    cost_usd: float | None
    seconds: float
    waiting: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; ``message`` is one sentence, with the ways on where it did not end whole."""

    namespace: str
    state: RunState
    generation: int | None
    embedded: int
    reused: int
    requests: int
    quarantined: tuple[Quarantined, ...]
    verification: Verification | None
    report: str | None
    message: str


class ReindexError(Exception):
    """A re-index cannot go on as asked: one sentence that says what, why, and the ways out."""


class Resumable(ReindexError):
    """The work stopped half-way and is kept: it can be resumed."""
