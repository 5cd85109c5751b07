"""What the main screen does for its views: reading for them, words in the footer, a line to type, another view."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.widget import Widget

from workbench.tui import messages
from workbench.tui.clipboard import copy_text
from workbench.tui.draw import number
from workbench.tui.showing import source_at
from workbench.tui.state import Node
from workbench.tui.widgets.pane import DetailPane
from workbench.tui.widgets.sources import SourcesTree
from workbench.tui.widgets.typed import Question, TypedLine

if TYPE_CHECKING:
    from textual.screen import Screen

    from workbench.core.job import Job
    from workbench.index.model import Chunk, IndexSource, Namespace
    from workbench.tui.recorded import OpenRecording
    from workbench.tui.routed import Routed
    from workbench.tui.session import Session
    from workbench.tui.threads import T
    from workbench.tui.views import Subject, View

_OF_RECORDINGS = {"overview": "steps", "chunks": "retrievals", "ceiling": "sizes"}
"""Which view of a recording has the digit of a view of a namespace."""

SAID_SECONDS = 4.0
"""How long what just happened stands in the footer before it says again that a file is held."""

_SAID_ON_THE_WAY = 0.5


class ScreenDesk:
    """Implements views.Desk over a screen that has a detail pane and a line to type."""

    def __init__(
        self, screen: Screen[None], session: Session, frame_changed: Callable[[], None], go_to: Callable[[Node], None]
    ) -> None:
        self._screen = screen
        self._session = session
        self._frame_changed = frame_changed
        self._go_to = go_to
        self._wanted: tuple[Node | None, str] | None = None
        self._asked_from: Widget | None = None
        self._said_at = -SAID_SECONDS
        self._said = ""

    @property
    def just_said(self) -> bool:
        """Whether what was said last is new enough to stand before everything else."""
        return time.monotonic() - self._said_at <= SAID_SECONDS

    def live(self, subject: Subject) -> tuple[IndexSource, Namespace] | None:
        """Give the open source and its namespace."""
        return self._session.live(subject.node)

    def read(
        self,
        subject: Subject,
        work: Callable[[Namespace, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
        progress: Callable[[int, int], None],
    ) -> Job | None:
        """Run ``work`` beside the event loop."""
        return self._session.ask(subject.node, work, then, failed, self._telling(progress))

    def read_recording(
        self,
        subject: Subject,
        work: Callable[[OpenRecording, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
        progress: Callable[[int, int], None],
    ) -> Job | None:
        """Run ``work`` beside the event loop."""
        return self._session.ask_recording(subject.node, work, then, failed, self._telling(progress))

    def read_routing(
        self,
        subject: Subject,
        work: Callable[[Routed, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
        progress: Callable[[int, int], None],
    ) -> Job | None:
        """Run ``work`` beside the event loop."""
        return self._session.ask_routing(subject.node, work, then, failed, self._telling(progress))

    def _telling(self, progress: Callable[[int, int], None]) -> Callable[[int, int], None]:
        """Let the screen know, too, that a reading came on; called from the reading thread."""

        def told(done: int, total: int) -> None:
            progress(done, total)
            self._screen.post_message(messages.ViewProgress())

        return told

    def say(self, said: str) -> None:
        """Say what just happened."""
        self._session.said = self._said = said
        self._said_at = time.monotonic()
        self._frame_changed()

    def forget(self) -> None:
        """Say no longer what a view said of another source, unless that was said by what led to this one."""
        if self._session.said == self._said and time.monotonic() - self._said_at > _SAID_ON_THE_WAY:
            self._session.said = self._said = ""

    def frame_changed(self) -> None:
        """Draw header and footer anew."""
        if self._screen.is_mounted:
            self._frame_changed()

    def copy(self, text: str, what: str) -> None:
        """Copy a text exactly, and say how much it was."""
        copy_text(self._screen.app, text)
        self.say(f"copied {what}, {number(len(text))} characters")

    def type_line(self, question: Question) -> None:
        """Ask for one line of text, in the place of the footer."""
        self._asked_from = self._screen.focused
        self._screen.add_class("-typing")
        self._screen.query_one(TypedLine).ask(question)

    def line_closed(self) -> None:
        """Give the focus back to whatever had it."""
        self._screen.remove_class("-typing")
        asked_from = self._asked_from
        if asked_from is not None and asked_from.is_mounted:
            seen = all(each.display for each in asked_from.ancestors_with_self if isinstance(each, Widget))
            if seen:
                asked_from.focus()
            else:  # what was asked for led to another view
                self._screen.query_one(DetailPane).take_focus()

    def choose_view(self, id: str) -> View | None:
        """Show another view of the namespace under the cursor, with the focus."""
        pane = self._screen.query_one(DetailPane)
        view = pane.choose(id)
        if view is not None:
            pane.take_focus()
            self._frame_changed()
        return view

    def want_view(self, id: str) -> None:
        """Show a view of the namespace under the cursor; on a source, of its only one, as soon as it is open."""
        self._wanted = None
        if self.choose_view(id) is not None or self.choose_view(_OF_RECORDINGS.get(id, id)) is not None:
            return
        node = self._screen.query_one(SourcesTree).node
        source = source_at(self._session.opened, node)
        if source is not None and len(source.spaces) == 1:
            self._go_to(Node(source=source.key, space=0))
            self.choose_view(id)
        elif source is not None and source.spaces:
            self.say(f"{number(len(source.spaces))} namespaces: go to one of them first")
        elif node is None or (source is not None and source in self._session.reading):
            self._wanted = (node, id)

    def opened(self, key: int) -> None:
        """Show what was asked for before a source was open, if the cursor has not left it."""
        node = self._screen.query_one(SourcesTree).node
        if self._wanted is None or node is None or node.source != key:
            return
        asked_at, id = self._wanted
        if asked_at is None or asked_at.source == key:
            self.want_view(id)

    def open_chunk(self, source: str, namespace: str, id: str) -> bool:
        """Put the cursor on the namespace and open the chunk there, at its cut."""
        from workbench.tui.views.chunks import Chunks

        node = self._session.opened.find(source, namespace)
        if node is None:
            return False
        self._go_to(node)
        view = self.choose_view("chunks")
        if isinstance(view, Chunks):
            view.open_id(id, at_cut=True)
        return isinstance(view, Chunks)

    def read_chunk(self, source: str, namespace: str, id: str, then: Callable[[Chunk | None], None]) -> Job | None:
        """Read it from the namespace that has it; what cannot be read is told as not there."""
        node = self._session.opened.find(source, namespace)
        if node is None:
            return None

        def work(found: Namespace, job: Job) -> Chunk | None:
            return found.chunk(id, job)

        return self._session.ask(node, work, then, lambda _: then(None), lambda _done, _total: None)

    def act(self, id: str) -> None:
        """Do what one of the actions of the screen does."""
        getattr(self._screen, f"action_{id}")()
