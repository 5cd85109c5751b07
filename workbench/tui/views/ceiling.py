"""The ceiling of a namespace: moved by keys and mouse, answered at once over all chunks; chunks opened at their cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.timer import Timer

from workbench.checkup.exact import ExactCut, exact_cut
from workbench.checkup.report import ClippedChunk
from workbench.core.job import Job
from workbench.core.text import utf16_split
from workbench.index.model import Chunk, Namespace
from workbench.tui.actions import Action, bindings_of
from workbench.tui.clipping import Clipping, measure
from workbench.tui.draw import Line, number
from workbench.tui.pages.ceiling import Drawn, OpenedText, Standing, ceiling_page, scale_in
from workbench.tui.pages.ceiling_states import empty_page, measuring_page, no_text_page, stopped_page
from workbench.tui.pages.cut import Position
from workbench.tui.pages.overview import overview
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.pages.proof import proof_lines
from workbench.tui.pages.scale import Scale
from workbench.tui.screens.menu import Choice, Menu
from workbench.tui.texts import Texts, as_opened
from workbench.tui.views import Desk, Subject, View
from workbench.tui.views.ceiling_actions import (
    AGAIN,
    CENTRE,
    MOVES,
    NEXT,
    OPEN,
    PREVIOUS,
    PROVE,
    PROVE_ALL,
    RESET,
    YANK,
)
from workbench.tui.views.prove import Proofs
from workbench.tui.widgets.clipped import ClippedCanvas
from workbench.tui.widgets.typed import Question

_LENGTHS = "lengths"
_TEXT = "text"
_REST_SECONDS = 0.05
"""How long the cursor rests on a chunk before its text is fetched."""

_MOST = 10**9
"""The largest ceiling that can be typed."""


@dataclass(slots=True)
class _Place:
    """What is known of one namespace, and where the user stands in it."""

    clipping: Clipping | None = None
    standing: Standing | None = None
    why: str = ""


class Ceiling(View):
    """Histogram, clipped chunks and the one under the cursor; see pages/ceiling.py for how it looks."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (*MOVES, RESET, OPEN, PREVIOUS, NEXT, PROVE, PROVE_ALL, YANK)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(ACTIONS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="ceiling")
        self.canvas = ClippedCanvas(self._draw)
        self._places: dict[tuple[int, int, int], _Place] = {}
        self._texts = Texts()
        self._proofs = Proofs(self)
        self._resting: Timer | None = None
        self._typed_from: int | None = None

    def compose(self) -> ComposeResult:
        """One canvas."""
        yield self.canvas

    # --- what is known -----------------------------------------------------------------------------------------

    @property
    def _place(self) -> _Place:
        """Give what is kept for the namespace that is shown."""
        key = self.subject.key if self.subject is not None else (-1, -1, -1)
        return self._places.setdefault(key, _Place())

    def show(self, subject: Subject | None) -> None:
        """Begin to read the lengths as soon as there is a verdict on them."""
        super().show(subject)
        place = self._place
        if self._has_lengths and place.clipping is None and not place.why and _LENGTHS not in self.asked:
            self._measure()

    @property
    def _has_lengths(self) -> bool:
        report = self.subject.space.report if self.subject is not None else None
        return report is not None and report.ceiling.clipped is not None and report.ceiling.clipped.total > 0

    def _measure(self) -> None:
        subject = self.subject
        report = subject.space.report if subject is not None else None
        if subject is None or report is None:
            return
        place = self._place
        place.why = ""

        def work(namespace: Namespace, job: Job) -> Clipping | None:
            return measure(namespace, report, job)

        def then(clipping: Clipping | None) -> None:
            place.clipping = clipping
            if clipping is None:
                place.why = "the texts are not there any more"
                return
            place.standing = Standing(clipping.resolved.chars)
            self._fetch_soon()

        self.ask(_LENGTHS, work, then, what="reading lengths")

    def failed(self, slot: str, why: str) -> None:
        """Say it where the answer would stand."""
        if self._proofs.failed(slot, why):
            return
        if slot == _LENGTHS:
            self._place.why = why
        elif self.subject is not None and self._here is not None:
            self._texts.keep(self.subject.key, OpenedText(self._here.id, None, f"the text could not be read: {why}"))

    def subject_changed(self) -> None:
        """Let go of what was begun about another namespace."""
        self._typed_from = None
        if self._resting is not None:
            self._resting.stop()
            self._resting = None
        if self._place.clipping is not None:
            self.call_later(self._fetch_soon)

    # --- drawing -----------------------------------------------------------------------------------------------

    def redraw(self) -> None:
        """Draw anew."""
        self.canvas.repaint()

    def _draw(self, frame: Frame) -> Drawn:
        """Draw what is known."""
        subject = self.subject
        if subject is None:
            return Drawn()
        place, report = self._place, subject.space.report
        if report is None:
            return Drawn(overview(subject.space, frame))
        if report.ceiling.clipped is None:
            why = report.ceiling.text_note or "no text is stored"
            return Drawn(no_text_page(why, report.ceiling.ceiling.chars, frame))
        if report.ceiling.clipped.total == 0:
            return Drawn(empty_page(report.ceiling.ceiling.chars, frame))
        if place.clipping is None or place.standing is None:
            asked = self.asked.get(_LENGTHS)
            if asked is not None:
                return Drawn(measuring_page(asked.done, asked.total, frame))
            return Drawn(stopped_page(place.why, frame) if place.why else Page())
        drawn = ceiling_page(place.clipping, replace(place.standing, opened=self._opened), frame, self._proof(frame))
        place.standing = replace(place.standing, top=drawn.top)
        return drawn

    def _proof(self, frame: Frame) -> list[Line]:
        """Draw what was proved of the chunk under the cursor, or what is being done about it."""
        here, standing = self._here, self._place.standing
        if here is None or standing is None:
            return []
        return proof_lines(self._proofs.of(here.id, standing.ceiling), self._proofs.asking(here.id), frame)

    @property
    def busy(self) -> str:
        """While the lengths are read or texts are searched for, draw how far that is as well."""
        if _LENGTHS in self.asked or self._proofs.busy:
            self.canvas.repaint()
        return super().busy

    def actions_here(self) -> tuple[Action, ...]:
        """Give the keys that mean something: there may be nothing to move, nothing to open, nothing to go back to."""
        place = self._place
        if place.clipping is None or place.standing is None:
            return (AGAIN,) if place.why else ()
        moves = (*MOVES, RESET) if place.standing.ceiling != place.clipping.resolved.chars else MOVES
        if self._here is None:
            return moves
        if place.standing.whole:
            return (*moves[:4], CENTRE, PROVE, PREVIOUS, NEXT, YANK, *moves[4:])
        return (*moves[:4], OPEN, PROVE, PROVE_ALL, YANK, *moves[4:])

    # --- the ceiling -------------------------------------------------------------------------------------------

    @property
    def _scale(self) -> Scale | None:
        place = self._place
        if place.clipping is None or place.standing is None:
            return None
        return scale_in(place.clipping, place.standing.ceiling, self.canvas.frame.width)

    def set_ceiling(self, chars: int) -> None:
        """Look at another ceiling: everything is answered anew and nothing is written anywhere."""
        place = self._place
        if place.clipping is None or place.standing is None or chars == place.standing.ceiling:
            return
        began = perf_counter()
        longer = len(place.clipping.at(chars).chunks)
        # Chunks leave the list at its end, so that the cursor stays on its own as long as that is clipped.
        cursor = min(place.standing.cursor, max(0, longer - 1))
        whole = place.standing.whole and longer > 0
        place.standing = replace(place.standing, ceiling=chars, cursor=cursor, whole=whole, text_top=None)
        self.canvas.repaint()
        took = round(1000 * (perf_counter() - began))
        self.desk.say(f"re-answered in {took} ms" if took else "re-answered in under 1 ms")
        self._fetch_soon()

    def _move(self, finely: bool, sign: int) -> None:
        scale = self._scale
        if scale is not None:
            self.set_ceiling(scale.moved(sign * (scale.fine if finely else scale.step)))

    def action_lower(self) -> None:
        """One step down."""
        self._move(False, -1)

    def action_raise(self) -> None:
        """One step up."""
        self._move(False, 1)

    def action_lower_finely(self) -> None:
        """Go a tenth of a step down."""
        self._move(True, -1)

    def action_raise_finely(self) -> None:
        """Go a tenth of a step up."""
        self._move(True, 1)

    def action_reset(self) -> None:
        """Back to the ceiling of the verdict."""
        clipping = self._place.clipping
        if clipping is not None:
            self.set_ceiling(clipping.resolved.chars)

    def action_type_ceiling(self) -> None:
        """Ask for a number, answered while it is typed."""
        standing = self._place.standing
        if standing is None:
            return
        self._typed_from = standing.ceiling
        self.desk.type_line(
            Question(
                "ceiling",
                f"characters; esc keeps {number(standing.ceiling)}",
                changed=self._typed,
                done=self._typed_done,
                left=self._typed_left,
            )
        )

    def _typed(self, typed: str) -> None:
        chars = ceiling_of_typed(typed)
        if chars is not None:
            self.set_ceiling(chars)

    def _typed_done(self, typed: str) -> None:
        if ceiling_of_typed(typed) is None:
            self._typed_left()
            if typed.strip():
                self.desk.say("a ceiling is a whole number of characters, from 1")

    def _typed_left(self) -> None:
        if self._typed_from is not None:
            self.set_ceiling(self._typed_from)

    # --- the chunks --------------------------------------------------------------------------------------------

    @property
    def _here(self) -> ClippedChunk | None:
        """The chunk under the cursor."""
        place = self._place
        if place.clipping is None or place.standing is None:
            return None
        chunks = place.clipping.at(place.standing.ceiling).chunks
        return chunks[min(place.standing.cursor, len(chunks) - 1)] if chunks else None

    @property
    def _opened(self) -> OpenedText | None:
        here = self._here
        if here is None or self.subject is None:
            return None
        return self._texts.get(self.subject.key, here.id)

    def move_cursor(self, to: int) -> None:
        """Put the cursor on another of the listed chunks."""
        place = self._place
        if place.clipping is None or place.standing is None:
            return
        listed = len(place.clipping.at(place.standing.ceiling).chunks)
        cursor = min(max(0, to), max(0, listed - 1))
        if cursor != place.standing.cursor:
            place.standing = replace(place.standing, cursor=cursor, text_top=None)
            self.canvas.repaint()
            self._fetch_soon()

    def _fetch_soon(self) -> None:
        """Fetch the text under the cursor unless it is there, once the cursor rests."""
        if self._resting is not None:
            self._resting.stop()
        self._resting = None
        here = self._here
        if here is None or self._opened is not None:
            self.drop(_TEXT)
            return
        self._resting = self.set_timer(_REST_SECONDS, self._fetch)

    def _fetch(self) -> None:
        here, subject = self._here, self.subject
        if here is None or subject is None or self._opened is not None:
            return

        report = subject.space.report

        def work(namespace: Namespace, job: Job) -> tuple[Chunk | None, ExactCut | None]:
            chunk = namespace.chunk(here.id, job)
            if report is None or chunk is None or chunk.text is None:
                return chunk, None
            return chunk, exact_cut(report.fingerprints, chunk.text)

        def then(found: tuple[Chunk | None, ExactCut | None]) -> None:
            self._texts.keep(subject.key, as_opened(here, *found))

        self.ask(_TEXT, work, then)

    # --- motions and keys --------------------------------------------------------------------------------------

    def move(self, by: int) -> None:
        """Go down or up: in the list, or in the text that has the whole view."""
        standing = self._place.standing
        if standing is None:
            return
        if standing.whole:
            self.scroll_text(by)
        else:
            self.move_cursor(standing.cursor + by)

    def turn_page(self, by: int) -> None:
        """Go one page down or up."""
        drawn, standing = self.canvas.drawn, self._place.standing
        if standing is not None:
            rows = len(drawn.text) if standing.whole else len(drawn.listed)
            self.move(by * max(1, rows - 1))

    def to_end(self, *, last: bool) -> None:
        """Go to the first or the last row."""
        drawn, standing = self.canvas.drawn, self._place.standing
        if standing is None:
            return
        if not standing.whole:
            self.move_cursor(10**9 if last else 0)
        elif drawn.cut is not None:
            self._put_text(drawn.cut.last if last else drawn.cut.first)

    def scroll_text(self, by: int) -> None:
        """Scroll the opened chunk, wherever it is shown."""
        drawn = self.canvas.drawn
        if drawn.cut is not None and drawn.text_top is not None:
            self._put_text(drawn.cut.moved(drawn.text_top, by))

    def _put_text(self, top: Position) -> None:
        place, drawn = self._place, self.canvas.drawn
        if place.standing is not None and drawn.cut is not None:
            place.standing = replace(place.standing, text_top=drawn.cut.top(top, len(drawn.text)))
            self.canvas.repaint()

    def action_open_text(self) -> None:
        """Give the text the whole view; there, go to the cut. Where the lengths were not read, read them again."""
        place = self._place
        if place.standing is None:
            if place.why:
                self._measure()
                self.redraw()
            return
        if self._here is not None:
            place.standing = replace(place.standing, whole=True, text_top=None)
            self.canvas.repaint()
            self.desk.frame_changed()

    def action_previous_chunk(self) -> None:
        """Go to the clipped chunk before."""
        if self._place.standing is not None:
            self.move_cursor(self._place.standing.cursor - 1)

    def action_next_chunk(self) -> None:
        """Go to the next clipped chunk."""
        if self._place.standing is not None:
            self.move_cursor(self._place.standing.cursor + 1)

    def action_yank(self) -> None:
        """Ask what to copy of the chunk under the cursor, and copy it exactly."""
        standing, here, opened = self._place.standing, self._here, self._opened
        if standing is None or here is None:
            return
        text = opened.text if opened is not None else None
        read, lost = utf16_split(text or "", standing.ceiling)
        texts = {"l": (lost, "the lost text"), "r": (read, "the read text"), "t": (read + lost, "the text")}
        texts["i"] = (here.id, "the id")
        choices = [
            Choice("l", "never read", f"{number(here.lost)} characters"),
            Choice("r", "read", f"the first {number(standing.ceiling)}"),
            Choice("t", "text", "the whole of it"),
        ]
        if text is None:
            choices = []

        def chosen(key: str | None) -> None:
            if key in texts:
                self.desk.copy(*texts[key])

        self.app.push_screen(Menu("Copy", (*choices, Choice("i", "id", "of this chunk"))), chosen)

    def action_prove(self) -> None:
        """Search for what was never read of the chunk under the cursor."""
        standing, here = self._place.standing, self._here
        if standing is not None and here is not None:
            self._proofs.begin([here.id], standing.ceiling)

    def action_prove_all(self) -> None:
        """Search for the lost text of every listed chunk, the longest first."""
        place = self._place
        if place.clipping is not None and place.standing is not None:
            ids = [each.id for each in place.clipping.at(place.standing.ceiling).chunks]
            self._proofs.begin(ids, place.standing.ceiling)

    def back(self) -> bool:
        """Stop reading the lengths; from the whole text back to the list."""
        if _LENGTHS in self.asked:
            self._place.why = "it was stopped"
        if super().back():
            self.redraw()
            return True
        place = self._place
        if place.standing is not None and place.standing.whole:
            place.standing = replace(place.standing, whole=False, text_top=None)
            self.redraw()
            return True
        return False


def ceiling_of_typed(typed: str) -> int | None:
    """Read a ceiling as people type it, ``2,500`` or ``2500``; None when it is no whole number from 1."""
    digits = typed.strip().replace(",", "").replace("_", "").replace(" ", "")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 10:
        return None
    return int(digits) if 1 <= int(digits) <= _MOST else None
