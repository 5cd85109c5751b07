"""The main screen: sources left, detail right. It owns the session and its readers; the widgets only show."""

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
from workbench.tui.screens.desk import ScreenDesk
from workbench.tui.session import Session
from workbench.tui.showing import header_at, page_at, places_at, source_at, space_at, subject_at
from workbench.tui.signs import Signs
from workbench.tui.state import Node
from workbench.tui.tree import is_named, rows_of
from workbench.tui.views import View
from workbench.tui.widgets.bars import FooterBar, HeaderBar
from workbench.tui.widgets.lines import LineList, look_of
from workbench.tui.widgets.pane import DetailPane, TabStrip
from workbench.tui.widgets.sources import Heading, SourcesPane, SourcesTree
from workbench.tui.widgets.typed import Question, TypedLine

if TYPE_CHECKING:
    pass

LOOK_SECONDS = 1.0
"""How often leases are looked at, and locked files that are waited for are tried again."""

REDRAW_SECONDS = 0.04
"""Answers of readers are drawn at most this often; what the user does is drawn at once."""

WIDE = 100
"""From this many columns on two panes stand side by side."""

_log = logging.getLogger(__name__)


class MainScreen(Screen[None]):
    """Everything opened, and the detail of what is under the cursor."""

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
        self.session.answer(message)
        if isinstance(message, messages.SourceOpened):
            if self._wanted is not None:
                self._go_to_wanted(message)
            self.desk.opened(message.about)
        elif isinstance(message, messages.RecordingOpened):
            self._show_here()
            self.desk.opened(message.about)

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
        self._shown = node
        self._show_frame()

    def _show_frame(self) -> None:
        """Header, heading and footer."""
        node, opened, signs = self._tree.node, self.session.opened, self._signs
        reading = self.session.reading
        order = f"/{self._named}" if self._named else "worst first" if self._worst_first else "as given"
        self.query_one(Heading).show(f"reading {signs.reading}" if reading else order, focused=self._tree.has_focus)
        view = self._pane.title if self._pane.says_view and self.size.width >= WIDE else ""
        self.query_one(HeaderBar).show(header_at(opened, node, self.session.incoming, signs, view))
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
        return [replace(each, title=view.back_title) if each.id == "back" else each for each in actions]

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
        self._set_expanded(message.node, message.expand)

    def on_descendant_focus(self) -> None:
        """Let the pane with the focus take the whole width of a narrow terminal; see main.tcss."""
        if self.is_mounted:
            if not self.query_one(TypedLine).has_focus_within:
                self.set_class(self._in_detail, "-in-detail")
            self._show_frame()

    def _set_expanded(self, node: Node, expand: bool) -> None:
        if node.folder is not None:
            self.session.opened.folders[node.folder].expanded = expand
        elif node.source is not None and node.space is None:
            self.session.opened.sources[node.source].expanded = expand
        self._update()

    def go_to(self, node: Node) -> None:
        """Put the cursor on a node, opening what it is in."""
        source = source_at(self.session.opened, node)
        if source is not None:
            source.expanded = source.expanded or node.space is not None
            if source.folder is not None:
                self.session.opened.folders[source.folder].expanded = True
        self._update()
        places = {row.node: place for place, row in enumerate(self._tree.rows)}
        if node not in places and self._named:
            self._show_named("")
            places = {row.node: place for place, row in enumerate(self._tree.rows)}
        if node in places:
            self._tree.focus()
            self._tree.move_to(places[node])
            # Whoever goes on from here means what is there, and the tree's own word comes later.
            self._show_here()

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

    # --- actions: see actions.py -------------------------------------------------------------------------------

    def action_enter(self) -> None:
        """Open or close a row that holds others; give the detail the focus for any other."""
        if not self._tree.has_focus or self._tree.cursor >= len(self._tree.rows):
            return
        row = self._tree.rows[self._tree.cursor]
        if row.node.rest and row.node.folder is not None:
            self.session.open_more(self.session.opened.folders[row.node.folder])
        elif row.expanded is None or (row.expanded is False and space_at(self.session.opened, row.node) is not None):
            self._pane.take_focus()
        else:
            self._set_expanded(row.node, not row.expanded)

    def action_cancel(self) -> None:
        """Leave the detail; where nothing is to be left, stop reading, what is under the cursor first."""
        if self._in_detail:
            if self._pane.view.back():
                self._show_frame()
            else:
                self._tree.focus()
        elif self._named:
            self._show_named("")
        else:
            self.session.stop(self._tree.node)

    def action_retry(self) -> None:
        """Read the source under the cursor again."""
        source = source_at(self.session.opened, self._tree.node)
        if source is not None and Place.UNREADABLE in self._places():
            self.session.read(source)
            self._update()

    def action_wait(self) -> None:
        """Wait for a locked file, or no longer."""
        source = source_at(self.session.opened, self._tree.node)
        if source is not None and source.trouble is not None and source.trouble.passing:
            source.awaited = not source.awaited
            self._update()

    def action_close(self) -> None:
        """Take the source or folder under the cursor out of the tree."""
        node = self._tree.node
        if node is not None and not node.rest:
            if node.source is not None:
                self._pane.forget(node.source)
            self.session.close(node)
            self._tree.focus()

    def action_sort(self) -> None:
        """Worst first, or as given."""
        self._worst_first = not self._worst_first
        self._update()

    def action_other_pane(self) -> None:
        """Go to the other pane."""
        if self._in_detail:
            self._tree.focus()
        else:
            self._pane.take_focus()

    def action_copy_message(self) -> None:
        """Copy what is wrong here, exactly as it was said."""
        source = source_at(self.session.opened, self._tree.node)
        space = space_at(self.session.opened, self._tree.node)
        text = source.trouble.message if source is not None and source.trouble is not None else ""
        if not text and space is not None and space.report is not None and space.report.findings:
            text = space.report.findings[0].message
        if text:
            self.desk.copy(text, "the message")

    def action_view_overview(self) -> None:
        """Look at the verdicts."""
        self.desk.want_view("overview")

    def action_view_chunks(self) -> None:
        """Look at the chunks."""
        self.desk.want_view("chunks")

    def action_view_ceiling(self) -> None:
        """Look at what an embedder never read."""
        self.desk.want_view("ceiling")

    def action_view_vectors(self) -> None:
        """Look at the vectors."""
        self.desk.want_view("vectors")

    def action_view_steps(self) -> None:
        """Look at what happened in a recording."""
        self.desk.choose_view("steps")

    def action_view_retrievals(self) -> None:
        """Look at what a recording found."""
        self.desk.choose_view("retrievals")

    def action_find(self) -> None:
        """Search in the view that has the focus, else find sources by name."""
        if self._in_detail and self._pane.view.find():
            return
        if not self.session.opened.nothing:
            self._tree.focus()
            self.desk.type_line(
                Question(
                    "/",
                    "part of a name; esc shows all",
                    self._named,
                    changed=self._show_named,
                    done=self._show_named,
                    left=lambda: self._show_named(""),
                )
            )

    def _show_named(self, named: str) -> None:
        """Show only sources and namespaces with this in their name, with the cursor on the first of them."""
        if named != self._named:
            self._named = named
            self._update()
            here = self._tree.rows[self._tree.cursor : self._tree.cursor + 1]
            if named and not any(is_named(row, named) for row in here):
                self.action_next_match()

    def action_next_match(self) -> None:
        """Go to the next row of the tree that matches; after the last one comes the first."""
        self._go_to_named(1)

    def action_previous_match(self) -> None:
        """Go to the one before."""
        self._go_to_named(-1)

    def _go_to_named(self, by: int) -> None:
        tree, named = self._tree, self._named
        places = [place for place, row in enumerate(tree.rows) if named and is_named(row, named)]
        if places:
            ahead = [place for place in places if (place - tree.cursor) * by > 0]
            tree.move_to((ahead or places)[0] if by > 0 else (ahead or places)[-1])

    def action_incoming(self) -> None:
        """Type or pick the incoming embedder."""
        from workbench.tui.screens.incoming import IncomingScreen

        if not self.session.opened.nothing:
            floating = IncomingScreen(self.session, self._tree.node, lambda: self._tree.rows, self.action_ask_path)
            self._also_changed = floating.session_changed
            self.app.push_screen(floating, self._incoming_left)

    def _incoming_left(self, _: None) -> None:
        self._also_changed = lambda: None

    def action_ask_path(self) -> None:
        """Ask for a file or folder to open."""
        from workbench.tui.screens.prompt import ask_path

        self.app.push_screen(ask_path(), self._path_given)

    def _path_given(self, given: str | None) -> None:
        if given:
            self.session.open_paths([given])

    def action_palette(self) -> None:
        """Find an action or a source by name."""
        self.app.action_command_palette()

    def action_help(self) -> None:
        """Every key."""
        from workbench.tui.screens.help import HelpScreen

        view = self.view_in_focus
        self.app.push_screen(HelpScreen(view.actions_here() if view is not None else ()))

    def action_quit(self) -> None:
        """Leave."""
        self.app.exit(0)
