"""What a list of chunks is asked for, and what the answer can do; see index/listing.py for how it is found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.index.model import Chunk, ChunkRow


class SortBy(StrEnum):
    """What a listing is ordered by; rows that are equal in it stay in the order of the source."""

    STORED = "stored"
    ID = "id"
    CHARS = "chars"
    FINGERPRINT = "fingerprint"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class ListingQuery:
    """Which chunks, and in which order.

    Attributes:
        sort: rows without a value come last, in both directions.
        descending: from the largest value to the smallest.
        contains: a text that must stand in the id or anywhere in the chunk's whole text, letter by letter, in any
            case (simple case folding: ``É`` is ``é``, ``ß`` is not ``ss``); empty for all.
        min_chars: only chunks that are strictly longer, in UTF-16 code units; None for all.
    """

    sort: SortBy = SortBy.STORED
    descending: bool = False
    contains: str = ""
    min_chars: int | None = None


class Listing(Protocol):
    """The rows that a query asks for, counted and in order; any page of them costs the same."""

    @property
    def query(self) -> ListingQuery:
        """What was asked for."""

    @property
    def total(self) -> int:
        """How many rows there are."""

    @property
    def sql(self) -> str:
        """The statement that gives these rows in this order in a DuckDB shell that has the file attached as ``ix``."""

    def page(self, start: int, limit: int, job: Job | None = None) -> tuple[ChunkRow, ...]:
        """Rows ``start`` (from 0) and following; ``position`` counts from 0 in this listing.

        A row that has gone from the file since is left out.
        """

    def position_of(self, id: str, job: Job | None = None) -> int | None:
        """Give the first row with exactly this id; None when it is not in this listing."""

    def chunk(self, position: int, job: Job | None = None) -> Chunk | None:
        """Give the chunk of one row whole: the row itself, also where others carry its id."""
