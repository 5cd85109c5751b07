"""Every chunk of a namespace: any number of them, in any order, filtered by their whole text, and one opened."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.timer import Timer

from workbench.checkup.exact import ExactCut, exact_cut
from workbench.core.job import Job
from workbench.index.model import Chunk, ChunkRow, Namespace
from workbench.index.query import Listing, ListingQuery, SortBy
from workbench.tui.actions import Action, bindings_of
from workbench.tui.clipping import Clipping, measure
from workbench.tui.draw import Line, number
from workbench.tui.pages.chunk import OpenChunk
from workbench.tui.pages.chunks import Columns
from workbench.tui.pages.parts import FRAME_ROWS, Frame
from workbench.tui.views import Desk, Subject, View
from workbench.tui.views.chunk_actions import FOREIGN, IN_CHUNK, IN_LIST, MATCHES, PARTS
from workbench.tui.views.chunk_list import EVERYTHING, ChunkList
from workbench.tui.views.yank import offer
from workbench.tui.widgets.chunk_table import LEFT, PAGE, RIGHT, ChunkTable, TableHead
from workbench.tui.widgets.lines import LineList, look_of
from workbench.tui.widgets.opened_chunk import OpenedChunk
from workbench.tui.widgets.typed import Question

_LISTING, _PAGES, _CHUNK, _SCALE, _JUMP, _FOREIGN = "listing", "pages", "chunk", "scale", "jump", "foreign"
_MOST_FOREIGN = 1_000
"""How many ids of a routing log are looked for in the list."""
_CYCLE = (SortBy.STORED, SortBy.CHARS, SortBy.ID, SortBy.SOURCE, SortBy.FINGERPRINT)
_TYPING_SECONDS = 0.12
"""How long a filter rests before it is searched for."""


class Chunks(View):
    """The list, or the chunk that was opened from it."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (*IN_LIST, FOREIGN, *IN_CHUNK, *MATCHES, *PARTS)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(ACTIONS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="chunks")
        self.table = ChunkTable(self._draw_row, self._columns, self._nothing)
        self.head = TableHead(self._head_rows)
        self.chunk = OpenedChunk()
        self.chunk.display = False
        self._kept: dict[tuple[int, int, int], ChunkList] = {}
        self._state = ChunkList()
        self._typing: Timer | None = None
        self._pages_asked: tuple[int, ...] = ()

    def compose(self) -> ComposeResult:
        """Head and table, or the opened chunk in their place."""
        yield self.head
        yield self.table
        yield self.chunk

    # --- being about a namespace -------------------------------------------------------------------------------

    def show(self, subject: Subject | None) -> None:
        """Remember where the user was in the namespace that is left."""
        if self.is_mounted and self.subject is not None:
            self._state.cursor, self._state.top = self.table.cursor, int(self.table.scroll_offset.y)
        if subject is not None and self.subject is not None and subject.key == self.subject.key:
            self._state.report = subject.space.report
        super().show(subject)
        if subject is not None and self._state.foreign is not subject.space.foreign:
            self._state.foreign = subject.space.foreign
            self._redraw_shown()
        if subject is not None and _LISTING not in self.asked:
            self._take_up()
        if subject is not None and self._state.clipping is None and subject.space.report is not None:
            self._measure()

    def subject_changed(self) -> None:
        """Take up what was kept of the namespace, else list it as it is stored."""
        subject = self.subject
        if subject is None:
            return
        # An older reading of the same namespace is never looked at again.
        self._kept = {
            key: kept for key, kept in self._kept.items() if key[::2] != subject.key[::2] or key == subject.key
        }
        self._state = self._kept.setdefault(subject.key, ChunkList())
        self._state.report = subject.space.report
        self._pages_asked = ()
        if self.is_mounted:
            self._put_back()

    def _take_up(self) -> None:
        """Read on what was given up when another view came to the front."""
        state = self._state
        if state.why:
            return
        if state.listing is None or state.listing.query != state.query:
            self._list(state.query)
        elif self.is_mounted:
            self.table.want()

    def on_mount(self) -> None:
        """Show what was found out before there was room."""
        super().on_mount()
        self._put_back()

    def _put_back(self) -> None:
        state = self._state
        self._show_opened()
        self.table.show(state.total, state.pages, state.cursor, state.top)

    def redraw(self) -> None:
        """Draw anew what is seen."""
        self.head.styles.height = len(self._head_rows(60))
        self.head.refresh()
        self.table.rows_changed()
        if self._state.opened is not None:
            self.chunk.rows_changed()

    def _measure(self) -> None:
        """Find the scale that the bars share with the view of the ceiling; the lengths are known by now."""
        subject = self.subject
        report = subject.space.report if subject is not None else None
        if report is None or report.ceiling.clipped is None or _SCALE in self.asked:
            return
        state = self._state

        def then(clipping: Clipping | None) -> None:
            state.clipping = clipping

        self.ask(_SCALE, lambda namespace, job: measure(namespace, report, job), then)

    # --- listing -----------------------------------------------------------------------------------------------

    def open_id(self, id: str, *, at_cut: bool = False) -> None:
        """Open the chunk of an id, among all chunks whatever the list was filtered by; other views lead here.

        ``at_cut`` shows it where the embedder stopped, if it did.
        """
        self._close_chunk()
        self.chunk.cut_due = at_cut
        self._list(EVERYTHING, keep=id, opening=True)

    def _list(self, query: ListingQuery, *, keep: str | None = None, opening: bool = False) -> None:
        """Have the rows found that a query asks for.

        ``keep`` is an id that the cursor stays on where it is listed; with ``opening`` its chunk is opened as well.
        """
        state = self._state
        state.query, state.why, state.so_far = query, "", None

        def found(count: int) -> None:
            state.so_far = count

        def work(
            namespace: Namespace, job: Job
        ) -> tuple[Listing, tuple[SortBy, ...], int | None, tuple[ChunkRow, ...]]:
            listing = namespace.listing(query, job, found)
            place = listing.position_of(keep, job) if keep is not None else None
            first = (place or 0) // PAGE * PAGE
            return listing, namespace.sortable, place, listing.page(first, PAGE, job)

        def then(answer: tuple[Listing, tuple[SortBy, ...], int | None, tuple[ChunkRow, ...]]) -> None:
            listing, sortable, place, rows = answer
            state.cursor, state.top = place or 0, 0
            state.take(listing, sortable, state.cursor // PAGE, rows)
            if self.is_mounted:
                self._pages_asked = ()
                self.drop(_PAGES)
                self.table.show(listing.total, state.pages, state.cursor)
            if opening and place is not None:
                self._open(place)
            elif opening:
                self.desk.say("no such id here")

        what = "searching" if query.contains or query.min_chars is not None else "sorting"
        self.ask(_LISTING, work, then, what="" if query == EVERYTHING else what)
        self._refresh_head()

    def progressed(self) -> None:
        """Say how many were found so far."""
        self._refresh_head()

    def failed(self, slot: str, why: str) -> None:
        """Say it where the answer would stand."""
        if slot in (_LISTING, _PAGES):
            self._state.why = why
            self._pages_asked = ()
        else:
            self.desk.say(why)

    def on_chunk_table_wanted(self, message: ChunkTable.Wanted) -> None:
        """Read the pages that are in view; what was asked for before and is not seen any more is given up."""
        message.stop()
        listing, state = self._state.listing, self._state
        if listing is None or _LISTING in self.asked or (_PAGES in self.asked and self._pages_asked == message.pages):
            return
        pages = self._pages_asked = message.pages

        def work(namespace: Namespace, job: Job) -> list[tuple[int, tuple[ChunkRow, ...]]]:
            return [(page, listing.page(page * PAGE, PAGE, job)) for page in pages]

        def then(answer: list[tuple[int, tuple[ChunkRow, ...]]]) -> None:
            for page, rows in answer:
                state.pages.put(page, rows)

        self.ask(_PAGES, work, then)

    # --- drawing -----------------------------------------------------------------------------------------------

    def _columns(self, width: int) -> Columns:
        return self._state.columns(width, look_of(self)[1])

    def _draw_row(self, row: ChunkRow, frame: Frame, here: bool) -> Line:
        return self._state.draw_row(row, frame, here)

    def _nothing(self) -> str:
        return "" if self._state.listing is None or _LISTING in self.asked else self._state.nothing()

    def _head_rows(self, width: int) -> list[Line]:
        above = self.app.size.height - FRAME_ROWS - 1
        frame = Frame(width, 1, look_of(self)[1], self.table.has_focus, above=above)
        making = _LISTING in self.asked and self._state.query != EVERYTHING
        return self._state.head(frame, self.table.cursor, making=making)

    def _refresh_head(self) -> None:
        if self.is_mounted:
            self.head.refresh()

    # --- what the user does in the list ------------------------------------------------------------------------

    def actions_here(self) -> tuple[Action, ...]:
        """Give the keys of the list, or of the opened chunk."""
        state = self._state
        if state.opened is None:
            foreign = (FOREIGN,) if state.foreign else ()
            if self._state.ceiling is None:
                return (*foreign, *(action for action in IN_LIST if action.id != "clipped_only"))
            return (*IN_LIST[:1], *foreign, *IN_LIST[1:])
        matches = MATCHES if self.chunk.landmarks.matches else ()
        parts = PARTS if state.opened.parts > 1 else ()
        there = {"to_cut": self.chunk.landmarks.cut >= 0, "to_metadata": self.chunk.landmarks.metadata >= 0}
        there["neighbours"] = bool(state.opened.chunk.dims)
        return (*matches, *parts, *(action for action in IN_CHUNK if there.get(action.id, True)))

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        """Say which row it is."""
        message.stop()
        self._refresh_head()

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """Open the chunk that was clicked a second time."""
        message.stop()
        self.action_open_chunk()

    def on_table_head_clicked(self, message: TableHead.Clicked) -> None:
        """Sort by the column; once more, the other way round."""
        message.stop()
        width = self.head.size.width - LEFT - RIGHT
        sort = self._columns(width).sort_at(message.cell)
        if sort is None or sort not in self._state.sortable:
            return
        if sort is self._state.query.sort:
            self.action_reverse()
        else:
            self._order(sort)

    def _order(self, sort: SortBy) -> None:
        if self._state.opened is not None:
            return
        self._list(replace(self._state.query, sort=sort, descending=sort is SortBy.CHARS))

    def _id_at_cursor(self) -> str | None:
        """Give the id under the cursor; none where it was never moved: the first row stays the first."""
        row = self._state.pages.row(self.table.cursor)
        return row.id if row is not None and self.table.cursor > 0 else None

    def action_order(self) -> None:
        """Sort by the next column."""
        order = [sort for sort in _CYCLE if sort in self._state.sortable]
        here = order.index(self._state.query.sort) if self._state.query.sort in order else 0
        self._order(order[(here + 1) % len(order)])

    def action_reverse(self) -> None:
        """Sort the other way round."""
        if self._state.opened is not None:
            return
        self._list(replace(self._state.query, descending=not self._state.query.descending))

    def action_clipped_only(self) -> None:
        """Only chunks longer than the ceiling, or all again; in an opened chunk, go to its cut."""
        if self._state.opened is not None:
            self.action_to_cut()
            return
        ceiling = None if self._state.query.min_chars is not None else self._state.ceiling
        self._list(replace(self._state.query, min_chars=ceiling), keep=self._id_at_cursor())

    def find(self) -> bool:
        """Filter; ``/`` of the screen comes here."""
        self.action_filter()
        return True

    def action_filter(self) -> None:
        """Ask for words, and search while they are typed."""
        self._close_chunk()
        self.desk.type_line(
            Question(
                "/",
                "words in id or text; esc clears",
                self._state.query.contains,
                changed=self._typed,
                done=self._filter,
                left=lambda: self._filter(""),
            )
        )

    def _typed(self, typed: str) -> None:
        if self._typing is not None:
            self._typing.stop()
        self._typing = self.set_timer(_TYPING_SECONDS, lambda: self._filter(typed))

    def _filter(self, typed: str) -> None:
        if self._typing is not None:
            self._typing.stop()
            self._typing = None
        if typed != self._state.query.contains:
            self._list(replace(self._state.query, contains=typed))

    def action_jump(self) -> None:
        """Ask for an id or a row."""
        self.desk.type_line(Question(":", "an id, or the number of a row", done=self._jump))

    def _jump(self, typed: str) -> None:
        listing, wanted = self._state.listing, typed.strip()
        if listing is None or not wanted:
            return
        plain = wanted.replace(",", "")
        row = int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 18 else None

        def then(place: int | None) -> None:
            if place is None and row is not None and 1 <= row <= listing.total:
                place = row - 1
            if place is None:
                where = "in this filter" if self._state.query != EVERYTHING else "here"
                self.desk.say(f"no such id or row {where}")
                return
            self._close_chunk()
            self.table.move_to(place)

        self.ask(_JUMP, lambda namespace, job: listing.position_of(wanted, job), then, what="looking for it")

    def action_next_foreign(self) -> None:
        """Go to the next chunk with a foreign vector; after the last one comes the first."""
        state, listing = self._state, self._state.listing
        if listing is None or state.opened is not None:
            return
        ids = sorted(state.foreign)[:_MOST_FOREIGN]
        cursor = self.table.cursor

        def work(_namespace: Namespace, job: Job) -> list[int]:
            found = []
            for done, id in enumerate(ids):
                job.progress(done, len(ids))
                place = listing.position_of(id, job)
                found += [place] if place is not None else []
            return sorted(found)

        def then(places: list[int]) -> None:
            if not places:
                self.desk.say("none of them is listed here")
                return
            place = next((each for each in places if each > cursor), places[0])
            self.table.move_to(place)
            self.desk.say(f"{number(places.index(place) + 1)} of {number(len(places))} by another embedder")

        self.ask(_FOREIGN, work, then, what="looking for them")

    # --- the opened chunk --------------------------------------------------------------------------------------

    def action_open_chunk(self) -> None:
        """Open the chunk under the cursor."""
        if self._state.opened is None:
            self.chunk.cut_due = False
            self._open(self.table.cursor)

    def _open(self, place: int) -> None:
        state, listing = self._state, self._state.listing
        if listing is None or not 0 <= place < listing.total:
            return

        report = state.report

        def work(_: Namespace, job: Job) -> tuple[Chunk | None, ExactCut | None]:
            chunk = listing.chunk(place, job)
            if report is None or chunk is None or chunk.text is None:
                return chunk, None
            return chunk, exact_cut(report.fingerprints, chunk.text)

        def then(found: tuple[Chunk | None, ExactCut | None]) -> None:
            chunk, exact = found
            if chunk is None:
                self.desk.say("this chunk is gone from the file")
                return
            ceiling = state.ceiling if exact is None else exact.at
            state.opened = OpenChunk(
                chunk,
                place,
                listing.total,
                ceiling,
                state.query.contains,
                foreign=chunk.id in state.foreign,
                by_chars=None if exact is None else state.ceiling,
                tokenizer=None if exact is None else exact.tokenizer,
            )
            self.table.move_to(place)
            self._show_opened()

        self.ask(_CHUNK, work, then, what="opening")

    def _show_opened(self) -> None:
        """Put the opened chunk in the place of the list, or the list back."""
        opened = self._state.opened is not None
        had_focus = self.has_focus_within
        self.chunk.display, self.table.display, self.head.display = opened, not opened, not opened
        self.chunk.open(self._state.opened)
        if had_focus:
            (self.chunk if opened else self.table).focus()
        self.desk.frame_changed()

    def _close_chunk(self) -> bool:
        if self._state.opened is None:
            return False
        self._state.opened = None
        self._show_opened()
        return True

    @property
    def back_title(self) -> str:
        """From the chunk to the list, from the filter to all."""
        if self._state.opened is not None:
            return "list"
        return "all" if self._state.filtered else super().back_title

    def back(self) -> bool:
        """From the chunk to the list; from a filter to all."""
        stopped_listing = _LISTING in self.asked and bool(self.asked[_LISTING].what)
        if super().back():
            if stopped_listing and self._state.listing is not None:
                self._state.query = self._state.listing.query
            self.redraw()
            self.table.want()
            return True
        if self._close_chunk():
            return True
        if self._state.filtered:
            self._list(replace(self._state.query, contains="", min_chars=None), keep=self._id_at_cursor())
            return True
        return False

    def action_next_chunk(self) -> None:
        """Open the next one of the list."""
        if self._state.opened is not None:
            self._open(self._state.opened.row + 1)

    def action_previous_chunk(self) -> None:
        """Open the one before."""
        if self._state.opened is not None:
            self._open(self._state.opened.row - 1)

    def action_to_cut(self) -> None:
        """Go to the cut."""
        self.chunk.go_to(self.chunk.landmarks.cut)

    def action_to_metadata(self) -> None:
        """Go to the metadata."""
        self.chunk.go_to(self.chunk.landmarks.metadata)

    def action_neighbours(self) -> None:
        """Ask for what is nearest to the opened chunk."""
        from workbench.tui.views.probe import Probe

        opened = self._state.opened
        view = self.desk.choose_view("probe") if opened is not None else None
        if opened is not None and isinstance(view, Probe):
            view.ask_like(opened.chunk.id)

    def action_next_match(self) -> None:
        """Go to the next place with what the list is filtered by."""
        self.chunk.go_to_match(1)

    def action_previous_match(self) -> None:
        """Go to the match before."""
        self.chunk.go_to_match(-1)

    def action_next_part(self) -> None:
        """Show the next part of a long text."""
        self._turn(1)

    def action_previous_part(self) -> None:
        """Show the part before."""
        self._turn(-1)

    def _turn(self, by: int) -> None:
        opened = self._state.opened
        if opened is not None and self.chunk.turn(by):
            self.desk.say(f"part {number(opened.part + 1)} of {number(opened.parts)}")

    def action_yank(self) -> None:
        """Offer what can be copied of the row under the cursor."""
        state, subject = self._state, self.subject
        if state.listing is None or subject is None or not state.listing.total:
            return
        place = state.opened.row if state.opened is not None else self.table.cursor
        offer(self, state.listing, place, subject.source.path, subject.source.container)
