"""The screen of a guided re-index without its steps: what is drawn, and how work is run and told beside the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Offset
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from workbench.core.job import Cancelled, Job
from workbench.core.text import inert
from workbench.reindex.building import Stop
from workbench.reindex.swapping import ChangedMeanwhile
from workbench.tui.guide import BuildWatch, Guide, Step
from workbench.tui.guide_actions import actions_at
from workbench.tui.pages.parts import FRAME_ROWS, Frame
from workbench.tui.pages.reindex import guide_page, place_of_name
from workbench.tui.pages.reindex_verify import spent_said
from workbench.tui.reindexing import Reindexer
from workbench.tui.session import Session
from workbench.tui.showing import header_at
from workbench.tui.state import Node, Source
from workbench.tui.threads import in_thread
from workbench.tui.tree import Row
from workbench.tui.widgets.bars import FooterBar, Header, HeaderBar
from workbench.tui.widgets.detail import Detail
from workbench.tui.widgets.lines import look_of
from workbench.tui.widgets.sources import Heading, SourcesPane, SourcesTree
from workbench.tui.widgets.typed import TypedLine

T = TypeVar("T")

LOOK_SECONDS = 0.5
"""How often a build is drawn anew while nothing comes, so that its time goes on."""

TOLD_SECONDS = 0.1
"""A build is drawn anew at most so often while much comes."""

MOST_NAME = 1_000
"""Characters of a typed name."""


class BuildProgressed(Message):
    """A build has come further; how far, its watch knows."""

    def can_replace(self, message: Message) -> bool:
        """One is as good as many."""
        return isinstance(message, BuildProgressed)


class WorkProgressed(Message):
    """A planning or copying has come further."""

    def __init__(self, request: int, done: int, total: int) -> None:
        super().__init__()
        self.request, self.done, self.total = request, done, total

    def can_replace(self, message: Message) -> bool:
        """Let a newer number stand for an older one."""
        return isinstance(message, WorkProgressed)


class NameField(Input):
    """The line in which the namespace's name is typed; what cannot be seen does not get into it."""

    def __init__(self) -> None:
        super().__init__(id="guide-name", compact=True, max_length=MOST_NAME)
        self.cursor_blink = False

    def validate_value(self, value: str) -> str:
        """Leave out what a terminal could obey."""
        return "".join(each for each in value[:MOST_NAME] if inert(each) == each)


class GuidedScreen(Screen[str]):
    """Shows the step and runs one thing at a time beside the event loop; gives back what there is to say at the end."""

    CSS_PATH = "reindex.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 (Textual declares it so)
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-roomy")]  # noqa: RUF012

    def __init__(
        self,
        session: Session,
        node: Node,
        rows: Callable[[], list[Row]],
        reindexer: Reindexer,
        read_again: Callable[[Source], None],
    ) -> None:
        """Begin at a namespace; ``rows`` gives the tree as it is drawn, ``read_again`` is called after a swap."""
        super().__init__()
        self._read_again = read_again
        self._session, self._node, self._rows, self._engine = session, node, rows, reindexer
        source, space = session.opened.sources[node.source or 0], session.opened.space(node)
        assert space is not None
        self.guide = Guide(source.path, space.name, shape=space.shape)
        if space.report is not None:
            prints = space.report.fingerprints
            self.guide.chunks, self.guide.origin = prints.count, prints.shown
            self.guide.ceiling_now = int(space.report.ceiling.ceiling.chars)
        self._request = 0
        self._job: Job | None = None
        self._stop = Stop()
        self._watch: BuildWatch | None = None
        self._told = 0.0
        self._reread = False

    def compose(self) -> ComposeResult:
        """Header, sources, the page of the step, footer; above it the line for the name."""
        yield HeaderBar()
        with Horizontal(id="panes"):
            yield SourcesPane(id="sources")
            yield Detail(id="guide-page")
        yield FooterBar()
        yield TypedLine()
        yield NameField()

    def on_mount(self) -> None:
        """Look at what can be chosen."""
        self.query_one(SourcesTree).can_focus = False
        self._page.focus()
        self.set_interval(LOOK_SECONDS, self._look)
        self.load()

    def on_unmount(self) -> None:
        """Give up whatever is going on; what is committed is kept."""
        if self._job is not None:
            self._job.cancel()

    @property
    def _page(self) -> Detail:
        return self.query_one(Detail)

    # --- showing -----------------------------------------------------------------------------------------------

    def draw(self) -> None:
        """Draw everything as it is now."""
        if not self.is_mounted:
            return
        guide = self.guide
        if self._watch is not None:
            guide.building = self._watch.look()
        self.set_class(guide.step is Step.CONFIRM, "-confirm")
        self._page.show(lambda frame: guide_page(guide, frame), keep=True)
        signs = look_of(self)[1]
        header = header_at(self._session.opened, self._node, self._session.judging.incoming, signs)
        path = (guide.index.rpartition("/")[2], guide.namespace, "re-index")
        self.query_one(HeaderBar).show(Header(path, header.incoming, header.verdict, header.verdict_tone, header.fact))
        footer = self.query_one(FooterBar)
        footer.show(actions_at(guide))
        footer.say(guide.busy or (guide.notes[-1] if guide.notes else spent_said(guide)), busy=bool(guide.busy))
        tree = self.query_one(SourcesTree)
        tree.show(self._rows())
        self.query_one(Heading).show("", focused=False)
        places = {row.node: place for place, row in enumerate(tree.rows)}
        if self._node in places and places[self._node] != tree.cursor:
            tree.move_to(places[self._node])
        self._place_name()

    def session_changed(self) -> None:
        """Take in that the sources behind changed."""
        self.draw()

    def _place_name(self) -> None:
        """Let the line for the name float on its row of the page."""
        if self.guide.step is not Step.CONFIRM:
            return
        page, signs = self._page, look_of(self)[1]
        above = max(0, self.size.height - FRAME_ROWS - page.size.height)
        frame = Frame(max(20, page.size.width - 4), max(1, page.size.height), signs, True, 0, above)
        place = place_of_name(self.guide, frame)
        field = self.query_one(NameField)
        if place is not None:
            field.styles.width = place.width
            field.styles.offset = Offset(page.region.x + 2 + place.column, page.region.y + place.row)

    def on_resize(self) -> None:
        """Lay out anew."""
        self.call_after_refresh(self.draw)

    def _look(self) -> None:
        if self.guide.running:
            self.draw()

    def _watched(self) -> None:
        """Take notice of what a build said, from its thread."""
        now = self._engine.clock()
        if now - self._told >= TOLD_SECONDS:
            self._told = now
            self.post_message(BuildProgressed())

    @on(BuildProgressed)
    def _progressed(self) -> None:
        self.draw()

    @on(WorkProgressed)
    def _work_progressed(self, message: WorkProgressed) -> None:
        if message.request == self._request:
            self.guide.done, self.guide.total = message.done, message.total
            self.draw()

    # --- working beside the event loop ---------------------------------------------------------------------------

    def _do(
        self,
        what: str,
        work: Callable[[Job], T],
        then: Callable[[T], None],
        failed: Callable[[Exception], None] | None = None,
        cancelled: Callable[[], None] = lambda: None,
    ) -> None:
        """Run ``work`` on a thread and ``then`` on the event loop; one thing at a time, a newer one ends the older."""
        if self._job is not None:
            self._job.cancel()
        self._request += 1
        request = self._request

        def progress(done: int, total: int) -> None:
            self.post_message(WorkProgressed(request, done, total))

        job = Job(progress)
        self._job = job
        guide = self.guide
        guide.busy, guide.trouble, guide.sure, guide.done, guide.total = what, "", "", 0, 0
        self.run_worker(self._answer(request, job, work, then, failed or self._failed, cancelled), exit_on_error=False)
        self.draw()

    async def _answer(
        self,
        request: int,
        job: Job,
        work: Callable[[Job], T],
        then: Callable[[T], None],
        failed: Callable[[Exception], None],
        cancelled: Callable[[], None],
    ) -> None:
        try:
            answer = await in_thread(lambda: work(job))
        except Cancelled:
            if request == self._request:
                self._over()
                cancelled()
                self.draw()
            return
        except asyncio.CancelledError:
            job.cancel()
            raise
        except Exception as error:
            if request == self._request:
                self._over()
                failed(error)
                self.draw()
            return
        if request == self._request:
            self._over()
            then(answer)
            self.draw()

    def _over(self) -> None:
        self._job, self.guide.busy, self.guide.pausing = None, "", False

    def _failed(self, error: Exception) -> None:
        self.guide.trouble = why_of(error)

    def load(self) -> None:
        """Look at what can be chosen."""
        raise NotImplementedError


def why_of(error: Exception) -> str:
    """Give an error as one sentence: what the program says of itself as it is, anything else with its kind."""
    from workbench.config_reading import ConfigurationError
    from workbench.embedders.failures import EmbedderError
    from workbench.embedders.pairs import EmbedderPairError
    from workbench.reindex.model import ReindexError
    from workbench.routing.log_writing import RoutingLogError
    from workbench.trust import NotAccepted, UnknownEmbedder
    from workbench.tui.reading import trouble_of

    if isinstance(error, ChangedMeanwhile):
        return f"the namespace was written to meanwhile: {error}; go on, and they are brought in first"
    ours = (
        ConfigurationError,
        EmbedderError,
        EmbedderPairError,
        ReindexError,
        RoutingLogError,
        NotAccepted,
        UnknownEmbedder,
    )
    return str(error) if isinstance(error, ours) else trouble_of(error).message
