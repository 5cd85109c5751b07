"""The views of a namespace: what a view is, what it gets, and how one plugs into the detail.

A view is a subclass of ``View`` (any widgets below the tab strip) or of ``PageView`` (one page of lines with a cursor:
enough for most) in a file of its own here, named in ``tabs.py``. It is made when it is first looked at.

What it gets. ``show(subject)`` hands it the namespace to be about, again after every answer of a reader; ``subject``
stays readable. ``subject.space.report`` is the report behind ``check --json``, None while it is being read.
``subject_changed()`` is called when it is another namespace, or the same one read anew: forget what was found out
about the old one there, begin to read. ``self.desk`` is the screen: ``live(subject)`` gives the open source and its
namespace, ``say`` puts words at the right end of the footer, ``copy`` copies, ``type_line`` asks for one line of text
at the bottom, ``choose_view`` goes to another view. Signs and room come with the ``Frame`` that ``page`` gets.

How it reads. ``self.ask(slot, work, then, what=...)`` runs ``work(namespace, job)`` on a thread and, on the event
loop, ``then(answer)``; errors come to ``failed(slot, why)``. One slot has one reading: a newer one cancels the older,
whose answer never comes, and so does another subject, ``esc``, closing the source, quitting. ``work`` must not touch
widgets; ``then`` must not wait. ``job.progress`` is shown in the footer beside ``what``. Whatever may take over 50 ms
is asked for in this way.

What it can do. ``ACTIONS`` are its own actions, each a method ``action_<id>`` of the view; ``BINDINGS =
bindings_of(ACTIONS)`` makes the keys. Footer, help and palette offer them only while the view has the focus; there a
key of the view goes before the same key of the screen. ``enter`` and a click on the cursor row come to
``chosen(place)`` of a ``PageView``; ``back()`` gets ``esc`` first and says whether it used it; ``/`` comes to
``find()``.

What is remembered. The screen remembers which view was looked at for each namespace; ``PageView`` remembers cursor
and scroll for each; a view with more to keep has a dict by ``subject.key``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical

from workbench.core.job import Job
from workbench.tui.actions import Action
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.state import Node, Source, Space
from workbench.tui.widgets.detail import Detail
from workbench.tui.widgets.lines import LineList

if TYPE_CHECKING:
    from workbench.index.model import Chunk, IndexSource, Namespace
    from workbench.tui.recorded import OpenRecording, Recorded
    from workbench.tui.routed import Routed
    from workbench.tui.widgets.typed import Question

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Subject:
    """The namespace or recording that a view is about, as it is known at this moment.

    Of a recording, ``space`` has only its name.
    """

    node: Node
    request: int
    source: Source
    space: Space

    @property
    def key(self) -> tuple[int, int, int]:
        """Which namespace in which reading of its source: what is kept by it is never about an older file."""
        return (self.node.source or 0, self.request, self.node.space or 0)

    @property
    def recorded(self) -> Recorded | None:
        """The recording; None when it is something else."""
        return self.source.recorded

    @property
    def routed(self) -> Routed | None:
        """The routing log; None when it is something else."""
        return self.source.routed


class Read(Protocol[A_co, T]):
    """One of the desk's two ways to read."""

    def __call__(
        self,
        subject: Subject,
        work: Callable[[A_co, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
        progress: Callable[[int, int], None],
    ) -> Job | None:
        """Run ``work`` beside the event loop."""


class Desk(Protocol):
    """What the screen does for a view."""

    def live(self, subject: Subject) -> tuple[IndexSource, Namespace] | None:
        """Give the open source and its namespace; None when it is closed by now."""

    def read(
        self,
        subject: Subject,
        work: Callable[[Namespace, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
        progress: Callable[[int, int], None],
    ) -> Job | None:
        """Run ``work`` beside the event loop; see View.ask, which is what a view calls."""

    def read_recording(
        self,
        subject: Subject,
        work: Callable[[OpenRecording, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
        progress: Callable[[int, int], None],
    ) -> Job | None:
        """Read from a recording; see View.ask_recording."""

    def read_routing(
        self,
        subject: Subject,
        work: Callable[[Routed, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
        progress: Callable[[int, int], None],
    ) -> Job | None:
        """Run ``work`` beside the event loop; see View.ask_routing, which is what a view calls."""

    def say(self, said: str) -> None:
        """Say what just happened, at the right end of the footer."""

    def frame_changed(self) -> None:
        """Draw header, tabs and footer anew: what is being read, or which actions there are, has changed."""

    def copy(self, text: str, what: str) -> None:
        """Copy a text exactly, and say what was copied and how much."""

    def type_line(self, question: Question) -> None:
        """Ask for one line of text at the bottom of the screen."""

    def choose_view(self, id: str) -> View | None:
        """Show another view of the same namespace and give it the focus; None when no namespace is shown."""

    def open_chunk(self, source: str, namespace: str, id: str) -> bool:
        """Go to a chunk of an open index, by the path of that, at its cut; False when it is not open."""

    def read_chunk(self, source: str, namespace: str, id: str, then: Callable[[Chunk | None], None]) -> Job | None:
        """Read a chunk of an open index beside the event loop, None when it has no such; no Job when it is not open."""

    def act(self, id: str) -> None:
        """Do what the key of one of the screen's own actions does."""


@dataclass(slots=True)
class Asked:
    """One reading of a view that is under way."""

    what: str
    job: Job | None = None
    done: int = 0
    total: int = 0


class View(Vertical):
    """One view; see the text at the top of this file."""

    ACTIONS: ClassVar[tuple[Action, ...]] = ()

    def __init__(self, desk: Desk, *, id: str) -> None:
        super().__init__(id=f"view-{id}", classes="view")
        self.desk = desk
        self.subject: Subject | None = None
        self.asked: dict[str, Asked] = {}

    def show(self, subject: Subject | None) -> None:
        """Be about a namespace; the same one again means that more is known about it."""
        before = self.subject
        self.subject = subject
        if (before.key if before is not None else None) != (subject.key if subject is not None else None):
            self.drop()
            self.subject_changed()
        self._redraw_shown()

    def on_mount(self) -> None:
        """Draw what was to be shown while there was no room yet."""
        self.redraw()

    def _redraw_shown(self) -> None:
        if self.is_mounted:
            self.redraw()

    def subject_changed(self) -> None:
        """Take notice of another namespace; the old one is never asked about again."""

    def redraw(self) -> None:
        """Draw anew: what is known has changed."""
        self.refresh()

    def actions_here(self) -> tuple[Action, ...]:
        """Give the actions that mean something at this moment, most useful first."""
        return self.ACTIONS

    @property
    def busy(self) -> str:
        """What is being read, for the footer; empty when nothing is."""
        for asked in self.asked.values():
            if asked.what:
                share = f" {100 * asked.done // asked.total} %" if asked.total else ""
                return f"{asked.what}{share} …"
        return ""

    def ask(self, slot: str, work: Callable[[Namespace, Job], T], then: Callable[[T], None], *, what: str = "") -> None:
        """Read beside the event loop; ``then`` gets the answer unless a newer question took its slot.

        ``what`` names it in the footer while it lasts ("counting matches"); without it nothing is said.
        """
        self._ask(slot, self.desk.read, work, then, what)

    def ask_recording(
        self, slot: str, work: Callable[[OpenRecording, Job], T], then: Callable[[T], None], *, what: str = ""
    ) -> None:
        """Read from the recording that the view is about, as ``ask`` reads from a namespace."""
        self._ask(slot, self.desk.read_recording, work, then, what)

    def ask_routing(
        self, slot: str, work: Callable[[Routed, Job], T], then: Callable[[T], None], *, what: str = ""
    ) -> None:
        """Work on the routing log that the view is about, as ``ask`` reads from a namespace."""
        self._ask(slot, self.desk.read_routing, work, then, what)

    def _ask(
        self, slot: str, read: Read[A, T], work: Callable[[A, Job], T], then: Callable[[T], None], what: str
    ) -> None:
        self.drop(slot)
        subject = self.subject
        if subject is None:
            return
        asked = self.asked[slot] = Asked(what)

        def over() -> bool:
            if self.asked.get(slot) is not asked:
                return False
            del self.asked[slot]
            return True

        def answered(answer: T) -> None:
            if over():
                then(answer)
                self._redraw_shown()
                self.desk.frame_changed()

        def failed(why: str) -> None:
            if over():
                self.failed(slot, why)
                self._redraw_shown()
                self.desk.frame_changed()

        def progress(done: int, total: int) -> None:
            asked.done, asked.total = done, total

        asked.job = read(subject, work, answered, failed, progress)
        if asked.job is None:
            over()
        elif what:
            self.desk.frame_changed()

    def drop(self, slot: str | None = None) -> bool:
        """Cancel the reading in a slot, or all of them, and say whether there was one."""
        slots = list(self.asked) if slot is None else [slot]
        dropped = [self.asked.pop(each) for each in slots if each in self.asked]
        for asked in dropped:
            if asked.job is not None:
                asked.job.cancel()
        return bool(dropped)

    def failed(self, slot: str, why: str) -> None:
        """Take notice of a reading that could not be done; ``why`` is one sentence."""
        self.desk.say(why)

    @property
    def back_title(self) -> str:
        """Where ``esc`` leads, for the footer."""
        return "sources"

    def back(self) -> bool:
        """Go one step back inside the view; False when it is to be left. Readings that are named are stopped first."""
        named = [slot for slot, asked in self.asked.items() if asked.what]
        for slot in named:
            self.drop(slot)
        return bool(named)

    def progressed(self) -> None:
        """Take notice of a reading that has come further."""

    def find(self) -> bool:
        """Search in the view; False when it cannot."""
        return False

    def take_focus(self) -> None:
        """Give the focus to whatever in the view gets the keys."""
        for widget in self.query("*"):
            if widget.focusable and widget.display:
                widget.focus()
                return


class PageView(View):
    """A view that is one page of lines with a cursor on the rows that can be chosen."""

    def __init__(self, desk: Desk, *, id: str) -> None:
        super().__init__(desk, id=id)
        self.list = Detail(id=f"{id}-page")
        self._kept: dict[tuple[int, int, int], tuple[int, float]] = {}
        self._key: tuple[int, int, int] | None = None

    def compose(self) -> ComposeResult:
        """One list."""
        yield self.list

    def page(self, frame: Frame) -> Page:
        """Draw the page for the room there is; pure, and quick."""
        raise NotImplementedError

    def chosen(self, place: int) -> None:
        """Do what ``enter`` or a second click on the row under the cursor asks for."""

    def show(self, subject: Subject | None) -> None:
        """Be about a namespace, with cursor and scroll where they were left there."""
        if self._key is not None:
            self._kept[self._key] = (self.list.cursor, self.list.scroll_y)
        key = subject.key if subject is not None else None
        moved = key != self._key
        self._key = key
        super().show(subject)
        if moved:
            self.list.put(*self._kept.get(key, (0, 0)) if key is not None else (0, 0))

    def redraw(self) -> None:
        """Draw the page anew."""
        self.list.show(self.page, keep=True)

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """Open the row that was clicked a second time."""
        message.stop()
        self.chosen(self.list.cursor)

    def action_choose(self) -> None:
        """Open the row under the cursor."""
        self.chosen(self.list.cursor)
