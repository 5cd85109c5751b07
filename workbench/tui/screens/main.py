"""The main screen: what the keys of the sources and of the whole screen do. What it shows is in shown.py."""

from __future__ import annotations

from workbench.tui.actions import Place
from workbench.tui.screens.shown import ShownScreen
from workbench.tui.showing import source_at, space_at, subject_at
from workbench.tui.state import Node, Source, Status
from workbench.tui.tree import is_named
from workbench.tui.widgets.typed import Question


class MainScreen(ShownScreen):
    """Everything opened, with the keys that go through it."""

    def set_expanded(self, node: Node, expand: bool) -> None:
        """Open or close a row of the tree."""
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

    # --- actions: see actions.py -------------------------------------------------------------------------------

    def action_enter(self) -> None:
        """Open or close a row that holds others; give the detail the focus for any other."""
        if not self._tree.has_focus or self._tree.cursor >= len(self._tree.rows):
            return
        row = self._tree.rows[self._tree.cursor]
        if row.node.rest and row.node.folder is not None:
            self.session.open_more(self.session.opened.folders[row.node.folder])
        elif row.expanded is None or (row.expanded is False and space_at(self.session.opened, row.node) is not None):
            source = source_at(self.session.opened, row.node)
            if source is not None and source.so_far is not None and not source.so_far.total:
                self.session.read_on(source)
            self._pane.take_focus()
        else:
            self.set_expanded(row.node, not row.expanded)

    def action_cancel(self) -> None:
        """Leave the detail; where nothing is to be left, stop reading, what is under the cursor first."""
        if self._in_detail:
            if self._pane.view.back():
                self._show_frame()
            elif self._reads_on:
                self.session.stop(self._tree.node)
            else:
                self._tree.focus()
        elif self._named:
            self._show_named("")
        else:
            self.session.stop(self._tree.node)

    def action_retry(self) -> None:
        """Read the source under the cursor again; where it is read, its namespace can be built again."""
        source = source_at(self.session.opened, self._tree.node)
        if source is not None and not self._places() & {Place.UNREADABLE, Place.CHANGED}:
            self.action_reindex()
        elif source is not None:
            if source.so_far is not None:
                self.session.read_on(source)
            else:
                self.session.read(source)
            self._update()

    def action_follow(self) -> None:
        """Read a recording on as its file grows, or no longer; a cursor at its end stays at its end."""
        source = source_at(self.session.opened, self._tree.node)
        if source is None or source.recorded is None:
            return
        source.followed = not source.followed
        if source.followed and source.so_far is not None:
            self.session.read_on(source)
        self._update()
        if source.followed:
            self.go_to_last_step()
        self.desk.say("following: new steps come as they are written" if source.followed else "no longer followed")

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

    def action_view_probe(self) -> None:
        """Ask a namespace something."""
        self.desk.want_view("probe")

    def action_view_steps(self) -> None:
        """Look at what happened in a recording."""
        self.desk.choose_view("steps")

    def action_view_retrievals(self) -> None:
        """Look at what a recording found."""
        self.desk.choose_view("retrievals")

    def action_view_sizes(self) -> None:
        """Look at where the bytes of a recording are."""
        self.desk.choose_view("sizes")

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

    def action_reindex(self) -> None:
        """Build the namespace under the cursor again, step by step."""
        subject = subject_at(self.session.opened, self._tree.node)
        if subject is None or subject.recorded is not None:
            self.desk.say("go to a namespace first: one is built again at a time")
        else:
            self.reindex(subject.node)

    def reindex(self, node: Node) -> None:
        """Begin the guide at a namespace."""
        from workbench.tui.screens.reindex import ReindexScreen

        def read_again(source: Source) -> None:
            # Reading closes its rows for a moment, and the cursor comes back to the namespace.
            self._wanted = guided.guide.namespace
            self.session.read(source)

        guided = ReindexScreen(self.session, node, lambda: self._tree.rows, self.reindexer, read_again)
        self._also_changed = guided.session_changed

        def left(said: str | None) -> None:
            self._also_changed = lambda: None
            source = source_at(self.session.opened, node)
            if source is not None and source.status is Status.STOPPED:
                read_again(source)
            self._update()
            self.desk.say(said or "")

        self.app.push_screen(guided, left)

    def action_incoming(self) -> None:
        """Type or pick the incoming embedder."""
        from workbench.tui.screens.incoming import IncomingScreen

        if not self.session.opened.nothing:
            floating = IncomingScreen(
                self.session, self._tree.node, lambda: self._tree.rows, self.action_ask_path, self.reindex
            )
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
        self.app.push_screen(HelpScreen(view.actions_here() if view is not None else (), self._places()))

    def action_quit(self) -> None:
        """Leave."""
        self.app.exit(0)
