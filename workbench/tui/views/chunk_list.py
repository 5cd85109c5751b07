"""What is kept of the list of one namespace, and how its rows look: the view asks, this answers from what is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.index.model import ChunkRow
from workbench.index.query import Listing, ListingQuery, SortBy
from workbench.tui.clipping import Clipping
from workbench.tui.draw import Line
from workbench.tui.pages.chunk import OpenChunk
from workbench.tui.pages.chunks import Columns, Shows, Summary, columns_for, head_line, row_line, summary_line
from workbench.tui.pages.parts import Frame
from workbench.tui.pages.scale import Scale, scale_for
from workbench.tui.signs import Signs
from workbench.tui.widgets.chunk_table import Pages

if TYPE_CHECKING:
    from workbench.checkup.report import NamespaceReport

EVERYTHING = ListingQuery()


@dataclass(slots=True)
class ChunkList:
    """The list of one namespace, also while the user looks elsewhere.

    Attributes:
        report: the verdicts, None while they are being read.
        query, listing: what was asked for, and the answer, which may still be that of the question before.
        everything: how many chunks there are without a filter.
        pages, cursor, top: the rows that are there, the one under the cursor, the first in view.
        clipping: the lengths, for the scale that the bars share with the view of the ceiling.
        source_says_more: whether sources say what ids do not; None before the first page.
        opened: the chunk that stands in the place of the list.
        foreign: ids of which a routing log says that a fallback wrote their vectors.
        so_far: how many were found while a listing is made; why: what went wrong.
    """

    report: NamespaceReport | None = None
    query: ListingQuery = EVERYTHING
    listing: Listing | None = None
    everything: int | None = None
    pages: Pages = field(default_factory=Pages)
    cursor: int = 0
    top: int = 0
    clipping: Clipping | None = None
    sortable: tuple[SortBy, ...] = (SortBy.STORED,)
    source_says_more: bool | None = None
    opened: OpenChunk | None = None
    so_far: int | None = None
    why: str = ""
    foreign: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        """How many rows there are now."""
        return self.listing.total if self.listing is not None else 0

    @property
    def filtered(self) -> bool:
        """Whether only some of the chunks were asked for."""
        return bool(self.query.contains) or self.query.min_chars is not None

    @property
    def ceiling(self) -> int | None:
        """Where the embedder stops reading; None while that is not known, or where there is no text."""
        if self.report is None or self.report.ceiling.clipped is None:
            return None
        return int(self.report.ceiling.ceiling.chars)

    def take(self, listing: Listing, sortable: tuple[SortBy, ...], page: int, rows: tuple[ChunkRow, ...]) -> None:
        """Take in a listing with one of its pages."""
        self.listing, self.sortable, self.pages, self.so_far = listing, sortable, Pages(), None
        self.pages.put(page, rows)
        if not self.filtered:
            self.everything = listing.total
        if self.source_says_more is None and rows:
            self.source_says_more = SortBy.SOURCE in sortable and any(
                row.source is not None and not _in_the_id(row.source, row.id) for row in rows
            )

    def columns(self, width: int, signs: Signs) -> Columns:
        """Lay out the columns in a width."""
        has_text = SortBy.CHARS in self.sortable
        mixed = self.report is not None and len(self.report.fingerprints.counts) > 1
        return columns_for(width, Shows(has_text, bool(self.source_says_more), mixed, has_text), signs)

    def draw_row(self, row: ChunkRow, frame: Frame, here: bool) -> Line:
        """Draw one chunk."""
        columns = self.columns(frame.width, frame.signs)
        return row_line(
            row, columns, self._scale(columns.bar[1]), self.ceiling, frame, here, foreign=row.id in self.foreign
        )

    def _scale(self, cells: int) -> Scale | None:
        clipping = self.clipping
        if clipping is None or not cells:
            return None
        resolved = int(clipping.resolved.chars)
        return scale_for(cells, clipping.longest, resolved, resolved, clipping.mark("p95"))

    def head(self, frame: Frame, cursor: int, *, making: bool) -> list[Line]:
        """Draw what stands above the rows: which they are, and the names of the columns."""
        everything = self.everything
        if everything is None and self.report is not None:
            everything = self.report.fingerprints.count
        total = self.listing.total if self.listing is not None else None
        summary = Summary(self.query, total, everything, cursor, making, self.so_far, self.why, len(self.foreign))
        rows = [
            summary_line(summary, frame),
            head_line(self.columns(frame.width, frame.signs), self.query, frame.signs),
        ]
        return [Line(), rows[0], Line(), rows[1]] if frame.roomy else rows

    def nothing(self) -> str:
        """Say why no row is listed."""
        return "no chunk is like that; esc shows all" if self.filtered else "no chunks are stored here yet"


def _in_the_id(source: str, id: str) -> bool:
    """Whether an id such as ``refunds.md#4`` says its source ``guide/refunds.md`` already."""
    return id.startswith(source) or source.endswith(id.rpartition("#")[0] or id)
