"""Sources left, detail right: what is drawn, and when. It owns the session and its readers; the widgets only show."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from workbench.core.fingerprint import Fingerprint
from workbench.tui import messages
from workbench.tui.actions import Action, Place, actions_for, bindings
from workbench.tui.draw import number
from workbench.tui.reading import Reader
from workbench.tui.reindexing import EngineReindexer, Reindexer
from workbench.tui.screens.desk import ScreenDesk
from workbench.tui.session import Session
from workbench.tui.showing import header_at, page_at, places_at, source_at, subject_at
from workbench.tui.signs import Signs
from workbench.tui.state import Node, Status
from workbench.tui.tree import rows_of
from workbench.tui.views import View
from workbench.tui.views.recording import RecordingView
from workbench.tui.widgets.bars import FooterBar, HeaderBar
from workbench.tui.widgets.lines import LineList, look_of
from workbench.tui.widgets.pane import DetailPane, TabStrip
from workbench.tui.widgets.sources import Heading, SourcesPane, SourcesTree
from workbench.tui.widgets.typed import TypedLine

if TYPE_CHECKING:
    pass

LOOK_SECONDS = 1.0
"""How often leases are looked at, and locked files that are waited for are tried again."""

REDRAW_SECONDS = 0.04
"""Answers of readers are drawn at most this often; what the user does is drawn at once."""

WIDE = 100
"""From this many columns on two panes stand side by side."""

_log = logging.getLogger(__name__)


class ShownScreen(Screen[None]):
    """Everything opened, and the detail of what is under the cursor; what keys do is the main screen's."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 (Textual declares it so)
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-roomy")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]

    def __init__(
        self, paths: Iterable[str], reader: Reader, incoming: Fingerprint | None = None, namespace: str | None = None
    ) -> None:
        super().__init__()
        self.given = tuple(paths)
        self.session = Session(
            reader,
            run=self._run_reader,
            tell=self.post_message,
            changed=self._update_soon,
            incoming=incoming,
        )
        self.desk = ScreenDesk(self, self.session, self._show_frame, self.go_to)
        self._wanted = namespace
        self.reindexer: Reindexer = EngineReindexer()
        self._named = ""
        self._worst_first = False
        self._shown: Node | None = None
        self._update_due = False
        self._updated = 0.0
        self._also_changed: Callable[[], None] = lambda: None

    def compose(self) -> ComposeResult:
        """Header, sources and detail, footer."""
        yield HeaderBar()
        with Horizontal(id="panes"):
            yield SourcesPane(id="sources")
            yield DetailPane(self.desk)
        yield FooterBar()
        yield TypedLine()

    def on_mount(self) -> None:
        """Show the frame, then begin to read."""
        self._tree.focus()
        self._update()
        self.call_after_refresh(self.session.open_paths, self.given)
        self.set_interval(LOOK_SECONDS, self.session.look_again)

    def on_unmount(self) -> None:
        """Give up every reading and every file."""
        self.session.leave()

    def _run_reader(self, work: Coroutine[Any, Any, None], group: str) -> None:
        self.run_worker(work, group=group, exit_on_error=False)

    @on(Worker.StateChanged)
    def _worker_changed(self, message: Worker.StateChanged) -> None:
        """See to a reader that raised: it should have told its error as an answer."""
        if message.state is WorkerState.ERROR:
            _log.error("a reader failed", exc_info=message.worker.error)
            self.session.said = "a reader failed; the log says why"
            self._update()

    @on(messages.Answer)
    def _answered(self, message: messages.Answer) -> None:
        at_end = self._at_last_step
        self.session.answer(message)
        if isinstance(message, messages.SourceOpened):
            if self._wanted is not None:
                self._go_to_wanted(message)
            self.desk.opened(message.about)
        elif isinstance(message, messages.RecordingSeen | messages.RecordingOpened):
            self._show_here()
            self.desk.opened(message.about)

        elif isinstance(message, messages.RecordingFollowed):
            self._show_here()
            if at_end:
                self.go_to_last_step()

    @property
    def _at_last_step(self) -> bool:
        """Whether the cursor stands on the last step, as whoever follows a file leaves it."""
        view = self._pane.view
        return isinstance(view, RecordingView) and view.at_last

    def go_to_last_step(self) -> None:
        """Go where the next step will be."""
        view = self._pane.view
        if isinstance(view, RecordingView):
            view.to_last()

    def _go_to_wanted(self, message: messages.SourceOpened) -> None:
        """Put the cursor on the namespace that the command line asked for, once, when its source opens."""
        for place, namespace in enumerate(message.namespaces):
            if namespace.name == self._wanted and message.about in self.session.opened.sources:
                self._wanted = None
                self.go_to(Node(source=message.about, space=place))
                return

    # --- showing -----------------------------------------------------------------------------------------------

    @property
    def _tree(self) -> SourcesTree:
        return self.query_one(SourcesTree)

    @property
    def _pane(self) -> DetailPane:
        return self.query_one(DetailPane)

    @property
    def _in_detail(self) -> bool:
        """Whether the detail has the focus, also while something floats above the screen."""
        return self.focused is not None and self._pane in self.focused.ancestors

    @property
    def _signs(self) -> Signs:
        return look_of(self)[1]

    @property
    def settled(self) -> bool:
        """Whether nothing is being read and everything is shown as it is."""
        listed = bool(self.session.opened.roots or not self.given)
        asking = any(view.asked for view in self.query(View))
        return listed and not self.session.reading and not asking and not self._update_due

    def _update_soon(self) -> None:
        """Show everything as it is now, at once or, while answers pour in, at most so often."""
        if self._update_due:
            return
        wait = self._updated + REDRAW_SECONDS - time.monotonic()
        if wait <= 0:
            self._update()
        else:
            self._update_due = True
            self.set_timer(wait, self._update)

    def _update(self) -> None:
        """Show everything as it is now."""
        self._update_due, self._updated = False, time.monotonic()
        if not self.is_mounted:
            return
        self.set_class(self.session.opened.nothing, "-nothing")
        opened, named = self.session.opened, self._named
        self._tree.show(rows_of(opened, self._signs, worst_first=self._worst_first, named=named))
        self._show_here()
        self._also_changed()

    def _show_here(self) -> None:
        """Show what is under the cursor, and the frame that goes with it."""
        node, opened, pane = self._tree.node, self.session.opened, self._pane
        subject = subject_at(opened, node)
        if subject is not None:
            pane.show(subject)
        else:
            pane.show_page()
            pane.overview.show_page(lambda frame: page_at(opened, node, frame), keep=node == self._shown)
        if node != self._shown:
            self.desk.forget()
        self._shown = node
        self._show_frame()

    def _show_frame(self) -> None:
        """Header, heading and footer."""
        node, opened, signs = self._tree.node, self.session.opened, self._signs
        reading = self.session.reading
        order = f"/{self._named}" if self._named else "worst first" if self._worst_first else "as given"
        self.query_one(Heading).show(f"reading {signs.reading}" if reading else order, focused=self._tree.has_focus)
        view = self._pane.title if self._pane.says_view and self.size.width >= WIDE else ""
        self.query_one(HeaderBar).show(header_at(opened, node, self.session.judging.incoming, signs, view))
        footer = self.query_one(FooterBar)
        footer.show(self.actions_here)
        held = [source.label for source in opened.sources.values() if source.held]
        if self._pane.view.busy:
            footer.say(self._pane.view.busy, busy=True)
        elif reading:
            footer.say(f"{number(len(reading))} source{'s' if len(reading) > 1 else ''} being read", busy=True)
        elif held and not self.desk.just_said:
            footer.say("1 file held" if len(held) == 1 else f"{number(len(held))} files held")
        else:
            footer.say(self.session.said)

    @property
    def view_in_focus(self) -> View | None:
        """Give the view that gets the keys, if one does."""
        return self._pane.view if self._in_detail else None

    @property
    def actions_here(self) -> list[Action]:
        """Everything that can be done where the user is, the view's own actions first."""
        view = self.view_in_focus
        if view is None:
            return actions_for(self._places())
        actions = actions_for(self._places(), view.actions_here(), view.ACTIONS)
        back = "stop reading" if self._reads_on and view.back_title == "sources" else view.back_title
        return [replace(each, title=back) if each.id == "back" else each for each in actions]

    @property
    def _reads_on(self) -> bool:
        """Whether the rest of the recording under the cursor is being read."""
        source = source_at(self.session.opened, self._tree.node)
        return source is not None and source.so_far is not None and source.status in (Status.WAITING, Status.READING)

    def _places(self) -> set[Place]:
        places = places_at(
            self.session.opened,
            self._tree.node,
            in_tree=not self._in_detail,
            # esc leaves the detail, or shows all sources again, before it stops a reading.
            reading=bool(self.session.reading) and not self._in_detail and not self._named,
        )
        return places | {Place.FOUND} if self._named and not self._in_detail else places

    @on(LineList.Moved)
    def _moved(self, message: LineList.Moved) -> None:
        if message.sender is self._tree:
            self._show_here()

    @on(LineList.Chosen)
    def _chosen(self, message: LineList.Chosen) -> None:
        if message.sender is self._tree:
            self.action_enter()

    @on(LineList.Left)
    def _left(self) -> None:
        self._tree.focus()

    @on(SourcesTree.Toggled)
    def _toggled(self, message: SourcesTree.Toggled) -> None:
        self.set_expanded(message.node, message.expand)

    def on_descendant_focus(self) -> None:
        """Let the pane with the focus take the whole width of a narrow terminal; see main.tcss."""
        if self.is_mounted:
            if not self.query_one(TypedLine).has_focus_within:
                self.set_class(self._in_detail, "-in-detail")
            self._show_frame()

    # --- what views and the line to type say: see screens/desk.py ----------------------------------------------

    @on(messages.ViewProgress)
    def _view_progressed(self) -> None:
        self._pane.view.progressed()
        self._show_frame()

    @on(TypedLine.Closed)
    def _line_closed(self) -> None:
        self.desk.line_closed()

    @on(HeaderBar.Pressed)
    def _header_pressed(self) -> None:
        if self._in_detail:
            self.action_cancel()

    @on(TabStrip.Picked)
    def _tab_picked(self, message: TabStrip.Picked) -> None:
        self.desk.choose_view(message.id)

    # --- what a screen does with it --------------------------------------------------------------------------------

    def go_to(self, node: Node) -> None:
        """Put the cursor on a node, opening what it is in."""
        raise NotImplementedError

    def action_enter(self) -> None:
        """Open what is under the cursor of the tree."""
        raise NotImplementedError

    def action_cancel(self) -> None:
        """Go one step back."""
        raise NotImplementedError

    def set_expanded(self, node: Node, expand: bool) -> None:
        """Open or close a row of the tree."""
        raise NotImplementedError
