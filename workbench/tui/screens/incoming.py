"""The incoming embedder, typed or picked: its verdict is live on every namespace of every source while one types."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.geometry import Region
from textual.widgets import Input

from workbench.checkup.choices import Choice, choices_with
from workbench.checkup.report import IncomingVerdict
from workbench.core.fingerprint import Fingerprint, fingerprint_text
from workbench.core.text import inert
from workbench.tui.actions import INCOMING_ACTIONS, bindings_of
from workbench.tui.clipboard import copy_text
from workbench.tui.draw import Line, Tone, number
from workbench.tui.incoming import (
    MAX_TYPED,
    Effect,
    Offer,
    effects_of,
    in_use,
    offers_of,
    read_typed,
    subject_of,
    ways_of,
)
from workbench.tui.pages.incoming import Shown
from workbench.tui.screens.floating import Floating
from workbench.tui.session import Session
from workbench.tui.showing import header_at
from workbench.tui.signs import ASCII
from workbench.tui.state import Node
from workbench.tui.tree import Row
from workbench.tui.widgets.bars import FooterBar, Header, HeaderBar
from workbench.tui.widgets.lines import Bar, LineList, look_of
from workbench.tui.widgets.sources import Heading, SourcesPane, SourcesTree
from workbench.tui.widgets.verdict import VerdictPage

WIDTH = 84
TALLEST = 36
SOURCES = 32
"""Columns of the sources; they stay visible beside it, undimmed, where both have room."""


def regions(width: int, height: int) -> tuple[Region, Region | None]:
    """Give where it floats in a terminal of this size, and where the sources stand when they have room beside it."""
    roomy = height >= 30
    rows = min(TALLEST, height - 4) if roomy else height - 2
    if width < WIDTH + 4:
        return Region(0, 1 + (roomy and 1), width, rows), None
    beside = width >= SOURCES + WIDTH + 4
    left = SOURCES + (width - SOURCES - WIDTH) // 2 if beside else (width - WIDTH) // 2
    sources = Region(0, 1, SOURCES, height - 2) if beside else None
    return Region(left, 2 if roomy else 1, WIDTH, rows), sources


class _Field(Input):
    """One line; what cannot be seen does not get into it, whatever is pasted."""

    def __init__(self, value: str) -> None:
        super().__init__(value, id="incoming-typed", compact=True, select_on_focus=True)
        self.cursor_blink = False

    def validate_value(self, value: str) -> str:
        """Leave out what a terminal could obey, and cut what no embedder's name needs."""
        short = value[: 4 * MAX_TYPED]
        return "".join(each for each in short if inert(each) == each)[:MAX_TYPED]


class _Hint(Bar):
    """What is typed here."""

    def line(self, width: int) -> Line:
        """Flush right."""
        return Line().right(Line().add("id@dims", Tone.FAINT), width - 1)


class IncomingScreen(Floating[None]):
    """Floats above the main screen. While it does, what is typed *is* the incoming embedder of the session."""

    CSS_PATH = "incoming.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (SOURCES + WIDTH + 4, "-wide")]  # noqa: RUF012 (Textual declares it so)
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-roomy")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(INCOMING_ACTIONS)]

    def __init__(
        self,
        session: Session,
        node: Node | None,
        rows: Callable[[], list[Row]],
        open_another: Callable[[], None],
        reindex: Callable[[Node], None],
    ) -> None:
        """Begin at a node of the tree; ``rows`` gives the tree as it is drawn.

        ``open_another`` asks for a path, ``reindex`` begins to build a namespace again.
        """
        super().__init__()
        self._session, self._node, self._rows, self._open_another = session, node, rows, open_another
        self._reindex = reindex
        self._before = session.judging.incoming
        self._typed = read_typed(fingerprint_text(self._before) if self._before is not None else "")
        self._own, self._filter = self._typed.text, ""
        self._chosen: int | None = None
        self._picking = self._typed.fingerprint is None
        self._tops = {"effects": 0, "offers": 0}
        self._effects: list[Effect] = []
        self._offers: list[Offer] = []
        self._choices: tuple[Choice, ...] = ()
        self._subject: Effect | None = None
        self._read = -1
        self._holding = False

    def compose(self) -> ComposeResult:
        """Lay out header and sources undimmed, the frame with its line and its page, the footer."""
        yield HeaderBar()
        yield SourcesPane(id="sources")
        with Vertical(id="incoming") as frame:
            frame.border_title = "Incoming embedder"
            frame.border_subtitle = "applies to every open index"
            with Horizontal(id="incoming-line"):
                yield _Field(self._typed.text)
                yield _Hint()
            yield VerdictPage()
        yield FooterBar()

    def on_mount(self) -> None:
        """Begin with what is incoming already."""
        self.query_one(SourcesTree).can_focus = False
        self.query_one("#incoming").set_class(look_of(self)[1] is ASCII, "-ascii")
        self._place()
        self.query_one(_Field).focus()
        self._look_again()

    def on_resize(self) -> None:
        """Float elsewhere."""
        self._place()
        self.call_after_refresh(self._draw)

    def _place(self) -> None:
        box, sources = regions(self.app.size.width, self.app.size.height)
        for widget, region in (
            (self.query_one("#incoming"), box),
            (self.query_one(SourcesPane), sources),
            (self.query_one(HeaderBar), Region(0, 0, self.app.size.width, 1)),
            (self.query_one(FooterBar), Region(0, self.app.size.height - 1, self.app.size.width, 1)),
        ):
            widget.display = region is not None
            if region is not None:
                widget.styles.width, widget.styles.height = region.width, region.height
                widget.styles.offset = (region.x, region.y)

    # --- holding -----------------------------------------------------------------------------------------------

    def session_changed(self) -> None:
        """Take in that what is behind was drawn anew: something was read meanwhile, or every verdict is another one."""
        if not self.is_mounted:
            return
        self.behind_changed()
        if not self._holding:
            self._look_again()

    def _hold(self, text: str) -> None:
        """Make what is typed the incoming embedder; none while it names none."""
        self._typed = read_typed(text)
        if self._typed.fingerprint != self._session.judging.incoming:
            self._holding = True
            self._session.judging.set_incoming(self._typed.fingerprint, self._subject.node if self._subject else None)
            self._holding = False
        self._look_again()

    def _look_again(self) -> None:
        """Find out what the embedder does to everything, and what else could be picked."""
        session = self._session
        self._effects = effects_of(session.opened, session.judging.incoming, session.judging.held_against)
        self._subject = subject_of(self._effects, self._node)
        read = sum(effect.against is not None for effect in self._effects)
        if read != self._read:
            self._read, self._choices = read, choices_with(in_use(session.opened))
        self._offers = offers_of(self._filter, self._choices, self._judge)
        self._draw()

    def _judge(self, fingerprint: Fingerprint) -> IncomingVerdict | None:
        """Hold an embedder of the list against the namespace that is looked at."""
        return self._session.judging.judge(self._subject.node, fingerprint) if self._subject is not None else None

    # --- showing -----------------------------------------------------------------------------------------------

    @property
    def verdict(self) -> IncomingVerdict | None:
        """The verdict on the namespace that is looked at, as it stands on the screen."""
        space = self._session.opened.space(self._subject.node) if self._subject is not None else None
        return space.report.incoming if space is not None and space.report is not None else None

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        subject, session, signs = self._subject, self._session, look_of(self)[1]
        verdict = self.verdict
        live = session.live(subject.node) if subject is not None else None
        name = subject.name if subject is not None else ""
        self.query_one(VerdictPage).show(
            Shown(
                typed=self._typed,
                subject=subject,
                verdict=verdict,
                ways=ways_of(verdict, name, live[1].alternative if live is not None else ""),
                effects=self._effects,
                effects_from=self._tops["effects"],
                offers=self._offers,
                offers_from=self._tops["offers"],
                chosen=self._chosen,
                picking=self._picking,
                known=len(self._choices),
            )
        )
        node = subject.node if subject is not None else self._node
        header = header_at(session.opened, node, session.judging.incoming, signs)
        if session.judging.incoming is None and self._typed.text.strip():
            header = Header(header.path, self._typed.text.strip(), signs.reading)
        self.query_one(HeaderBar).show(header)
        self.query_one(FooterBar).show(list(INCOMING_ACTIONS))
        count = len(self._effects)
        self.query_one(FooterBar).say(f"{number(count)} namespace{'' if count == 1 else 's'}")
        tree = self.query_one(SourcesTree)
        if tree.display:
            tree.show(self._rows())
            self.query_one(Heading).show("", focused=False)
            places = {row.node: place for place, row in enumerate(tree.rows)}
            if node in places and places[node] != tree.cursor:
                tree.move_to(places[node])

    # --- typing and picking ------------------------------------------------------------------------------------

    @on(Input.Changed)
    def _changed(self, message: Input.Changed) -> None:
        if message.value == self._typed.text:
            return
        self._own = self._filter = message.value
        self._chosen = None
        self._tops["offers"] = 0
        self._picking = read_typed(message.value).fingerprint is None
        self._hold(message.value)

    @on(Input.Submitted)
    def action_apply(self) -> None:
        """Keep what is named, complete what is not, and take an empty line as none."""
        if self._typed.fingerprint is None and self._typed.text.strip():
            self.action_complete()
        else:
            self.dismiss(None)

    def _write(self, text: str) -> None:
        """Put a text into the line, and hold it."""
        field = self.query_one(_Field)
        with self.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(field.value)
        self._hold(field.value)

    def _choose(self, by: int) -> None:
        """Write the next embedder of the list into the line; above the first one stands what was typed."""
        if not self._offers:
            return
        self._picking = True
        place = (-1 if self._chosen is None else self._chosen) + by
        self._chosen = min(place, len(self._offers) - 1) if place >= 0 else None
        self._write(self._offers[self._chosen].choice.text if self._chosen is not None else self._own)
        if self._chosen is not None:
            # Only now it is known how many rows this verdict leaves to the list.
            window = self.query_one(VerdictPage).drawn.offers
            self._tops["offers"] = min(max(window.first, self._chosen - window.rows + 1), self._chosen)
            self._draw()

    def action_next_offer(self) -> None:
        """Go down the known embedders."""
        self._choose(1)

    def action_previous_offer(self) -> None:
        """Go up, and above the first one back to what was typed."""
        self._choose(-1)

    @on(VerdictPage.OfferPicked)
    def _offer_picked(self, message: VerdictPage.OfferPicked) -> None:
        self._picking, self._chosen = True, message.place
        self._write(self._offers[message.place].choice.text)

    def action_complete(self) -> None:
        """Take the chosen embedder, else the first of the list, as if it had been typed."""
        if self._offers:
            text = self._offers[self._chosen or 0].choice.text
            self._own = self._filter = text
            self._chosen, self._picking = None, False
            self._tops["offers"] = 0
            self._write(text)

    # --- the namespaces ----------------------------------------------------------------------------------------

    def action_next_namespace(self) -> None:
        """Look at the next namespace of the list, after the last one at the first."""
        if not self._effects:
            return
        places = [effect.node for effect in self._effects]
        here = places.index(self._subject.node) if self._subject is not None else -1
        self._look_at(places[(here + 1) % len(places)])

    def _look_at(self, node: Node) -> None:
        self._node = node
        self._look_again()
        places = [effect.node for effect in self._effects]
        if node in places:
            self._show_effect(places.index(node))

    @on(VerdictPage.EffectPicked)
    def _effect_picked(self, message: VerdictPage.EffectPicked) -> None:
        self._look_at(message.node)

    @on(LineList.Moved)
    def _row_picked(self, message: LineList.Moved) -> None:
        """Look at the namespace that was clicked in the sources beside the frame."""
        node = self.query_one(SourcesTree).node
        if node is not None and node.space is not None and (self._subject is None or node != self._subject.node):
            self._look_at(node)

    def _show_effect(self, place: int) -> None:
        window = self.query_one(VerdictPage).drawn.effects
        rows = window.rows or 1
        self._tops["effects"] = min(max(window.first, place - rows + 1), place)
        self._draw()

    @on(VerdictPage.Turned)
    def _turned(self, message: VerdictPage.Turned) -> None:
        self._turn("offers" if message.offers else "effects", message.by)

    def _turn(self, which: str, by: int) -> None:
        drawn = self.query_one(VerdictPage).drawn
        window, count = (drawn.offers, len(self._offers)) if which == "offers" else (drawn.effects, len(self._effects))
        self._tops[which] = max(0, min(window.first + by, count - window.rows))
        self._draw()

    def action_page_down(self) -> None:
        """Turn the namespaces by a page; where only the embedders are in view, those."""
        self._page(1)

    def action_page_up(self) -> None:
        """Turn it back."""
        self._page(-1)

    def _page(self, by: int) -> None:
        drawn = self.query_one(VerdictPage).drawn
        which, rows = ("effects", drawn.effects.rows) if drawn.effects.rows else ("offers", drawn.offers.rows)
        self._turn(which, by * max(1, rows - 1))

    # --- leaving -----------------------------------------------------------------------------------------------

    def action_leave(self) -> None:
        """Put back what was incoming before."""
        if self._session.judging.incoming != self._before:
            self._session.judging.set_incoming(self._before)
        self.dismiss(None)

    def action_open_another(self) -> None:
        """Keep what is named, and ask for another file to hold it against."""
        self.dismiss(None)
        self._open_another()

    def action_reindex(self) -> None:
        """Keep what is named, and build the namespace that is looked at again."""
        subject = self._subject
        if subject is not None:
            self.dismiss(None)
            self._reindex(subject.node)

    def action_copy_verdict(self) -> None:
        """Copy the verdict exactly as ``check`` says it."""
        verdict = self.verdict
        if verdict is not None:
            copy_text(self.app, verdict.message)
            self.query_one(FooterBar).say(f"copied {number(len(verdict.message))} characters")

    def on_click(self, event: events.Click) -> None:
        """Leave by a click outside the frame."""
        box, sources = regions(self.app.size.width, self.app.size.height)
        inside = box.contains_point(event.screen_offset) or (
            sources is not None and sources.contains_point(event.screen_offset)
        )
        if not inside:
            self.action_leave()
