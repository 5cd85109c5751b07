"""The guided re-index: five steps from choosing an embedder to the swap, each of which can be left without harm.

The engine works on threads (see reindexing.py); what it says comes as messages or as answers on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.geometry import Offset
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from workbench.core.text import inert
from workbench.index.job import Cancelled, Job
from workbench.reindex.building import Stop
from workbench.reindex.generations import RolledBack
from workbench.reindex.model import Outcome, Plan, RunState
from workbench.reindex.swapping import ChangedMeanwhile
from workbench.tui.actions import bindings_of
from workbench.tui.draw import number
from workbench.tui.guide import BuildWatch, Choice, Guide, Offered, Standing, Step
from workbench.tui.guide_actions import GUIDE_ACTIONS, actions_at, can_go_back
from workbench.tui.pages.parts import FRAME_ROWS, Frame
from workbench.tui.pages.reindex import guide_page, place_of_name
from workbench.tui.pages.reindex_build import host_of
from workbench.tui.pages.reindex_verify import spent_said
from workbench.tui.reindexing import Build, Reindexer, choice_of
from workbench.tui.session import Session
from workbench.tui.showing import header_at
from workbench.tui.state import Node, Source
from workbench.tui.threads import in_thread
from workbench.tui.tree import Row
from workbench.tui.widgets.bars import FooterBar, Header, HeaderBar
from workbench.tui.widgets.detail import Detail
from workbench.tui.widgets.lines import LineList, look_of
from workbench.tui.widgets.sources import Heading, SourcesPane, SourcesTree
from workbench.tui.widgets.typed import Question, TypedLine

T = TypeVar("T")

LOOK_SECONDS = 0.5
"""How often a build is drawn anew while nothing comes, so that its time goes on."""

TOLD_SECONDS = 0.1
"""A build is drawn anew at most so often while much comes."""

GRACE_SECONDS = 2.0
"""How long leaving waits for a batch that costs nothing."""

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


class _Name(Input):
    """The line in which the namespace's name is typed; its inert form is what is shown."""

    def __init__(self) -> None:
        super().__init__(id="guide-name", compact=True, max_length=MOST_NAME)
        self.cursor_blink = False


class ReindexScreen(Screen[str]):
    """Gives back what there is to say when it is left."""

    CSS_PATH = "reindex.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 (Textual declares it so)
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-roomy")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(GUIDE_ACTIONS)]

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
        yield _Name()

    def on_mount(self) -> None:
        """Look at what can be chosen."""
        self.query_one(SourcesTree).can_focus = False
        self._page.focus()
        self.set_interval(LOOK_SECONDS, self._look)
        self._load()

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
        field = self.query_one(_Name)
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

    # --- 1 choose, 2 plan ------------------------------------------------------------------------------------------

    def _load(self) -> None:
        guide = self.guide
        index, namespace, chars = guide.index, guide.namespace, guide.max_chunk_chars

        def work(job: Job) -> tuple[Offered, Standing]:
            return self._engine.offers(index, namespace, chars), self._engine.standing(index, namespace)

        self._do("reading the configuration", work, self._offered)

    def _offered(self, found: tuple[Offered, Standing]) -> None:
        first = self.guide.offered is None
        offered, self.guide.standing = found
        self.guide.offered = offered
        if first:
            usable = (
                place
                for place, offer in enumerate(offered.offers)
                if offer.usable and offer.fingerprint != self.guide.origin
            )
            self.guide.chosen = next(usable, 0)
            self._to_choice()

    def _to_choice(self) -> None:
        """Draw what can be chosen, with the cursor where it was left."""
        chosen = self.guide.chosen
        self.draw()
        self._page.move_to(chosen)

    @on(LineList.Moved)
    def _moved(self, message: LineList.Moved) -> None:
        guide = self.guide
        listed = guide.step is Step.CHOOSE and guide.question is None and guide.unfinished is None
        if message.sender is self._page and listed and guide.offered is not None:
            guide.chosen = self._page.cursor
            self.draw()

    @on(LineList.Chosen)
    def _picked(self, message: LineList.Chosen) -> None:
        message.stop()
        self.action_go()

    @on(LineList.Left)
    def _went_left(self, message: LineList.Left) -> None:
        message.stop()

    def _choice(self) -> Choice:
        guide = self.guide
        if guide.unfinished is not None:
            return choice_of(guide.unfinished.settings)
        assert guide.offer is not None
        return Choice(guide.offer.name, guide.max_chunk_chars, guide.resplit)

    def _make_plan(self) -> None:
        guide, choice = self.guide, self._choice()
        guide.step, guide.plan = Step.PLAN, None
        self._do("planning", lambda job: self._engine.plan(guide.index, guide.namespace, choice, job), self._planned)

    def _planned(self, plan: Plan) -> None:
        self.guide.plan = plan
        self._page.scroll_home(animate=False)

    # --- 4 build -----------------------------------------------------------------------------------------------------

    def _build(self, path: str | None) -> None:
        """Build anew, or on from a path."""
        guide, engine = self.guide, self._engine
        build = Build(guide.index, guide.namespace, self._choice(), path, guide.cap_usd)
        watch, stop = BuildWatch(engine.clock, self._watched), Stop()
        if guide.building is not None and guide.building.progress is not None:
            watch.progress(guide.building.progress)
        self._watch, self._stop = watch, stop
        guide.step, guide.outcome, guide.standing, guide.leaving = Step.BUILD, None, None, False
        # The rows are copied under a lock that no reading of this process may hold.
        self._session.quiet(guide.index)
        self._do(
            "building",
            lambda job: engine.run(build, watch, stop, job),
            self._built,
            self._build_failed,
            self._build_given_up,
        )

    def _built(self, outcome: Outcome) -> None:
        guide = self.guide
        guide.outcome = outcome
        self._keep_path()
        if outcome.state in (RunState.VERIFIED, RunState.FAILED):
            guide.step = Step.VERIFY
            self._look_at_standing()
        elif guide.leaving:
            self._leave(self._kept_said())

    def _build_failed(self, error: Exception) -> None:
        self._failed(error)
        self._keep_path()
        if self.guide.leaving:
            self._leave(self.guide.trouble)

    def _build_given_up(self) -> None:
        self._keep_path()

    def _keep_path(self) -> None:
        if self._watch is not None:
            self.guide.building = self._watch.look()

    @property
    def _path(self) -> str | None:
        """Where it is built."""
        guide = self.guide
        if guide.building is not None and guide.building.path:
            return guide.building.path
        return guide.unfinished.path if guide.unfinished is not None else None

    def _kept_said(self) -> str:
        building = self.guide.building
        if building is None or building.progress is None:
            return "paused; r goes on with it"
        progress = building.progress
        return f"paused: {number(progress.done)} of {number(progress.total)} vectors are kept, r goes on"

    # --- 5 verify and swap -------------------------------------------------------------------------------------------

    def _look_at_standing(self) -> None:
        guide = self.guide
        self._session.quiet(guide.index)
        self._do(
            "looking who holds the file", lambda job: self._engine.standing(guide.index, guide.namespace), self._stood
        )

    def _stood(self, standing: Standing) -> None:
        self.guide.standing = standing
        source = self._session.opened.sources.get(self._node.source or 0)
        if self._reread and source is not None:
            self._reread = False
            self._read_again(source)
        if self.guide.leaving:
            self._leave("built and verified; r goes on to the swap")

    def _swap(self) -> None:
        guide, path = self.guide, self._path
        if path is None or guide.outcome is None:
            return
        verification = guide.outcome.verification
        self._session.quiet(guide.index)
        self._do(
            "swapping",
            lambda job: self._engine.swap(guide.index, path, verification, job),
            self._swapped,
            self._not_swapped,
        )

    def _not_swapped(self, error: Exception) -> None:
        """Keep the build; where rows were written meanwhile it goes on with these first."""
        self._failed(error)
        outcome = self.guide.outcome
        if isinstance(error, ChangedMeanwhile) and outcome is not None:
            self.guide.outcome = replace(outcome, state=RunState.PAUSED)

    def _swapped(self, outcome: Outcome) -> None:
        self.guide.outcome = outcome
        self._file_changed()
        self._look_at_standing()

    def _file_changed(self) -> None:
        """Read the source again, once it is known how it stands: the tree shows what answers now."""
        self._reread = True

    def action_roll_back(self) -> None:
        """Go back to the generation before; where chunks were written since, only when it is asked for twice."""
        guide = self.guide
        if not can_go_back(guide):
            return
        written = guide.standing.written_since if guide.standing is not None else 0
        if written and guide.sure != "rollback":
            guide.sure = "rollback"
            self.draw()
            return
        self._session.quiet(guide.index)

        def rolled(done: RolledBack) -> None:
            guide.rolled, guide.step = done, Step.VERIFY
            self._file_changed()
            self._look_at_standing()

        self._do("rolling back", lambda job: self._engine.roll_back(guide.index, guide.namespace), rolled)

    def action_drop_old(self) -> None:
        """Drop the old generation, when it is asked for twice."""
        guide = self.guide
        if not can_go_back(guide):
            return
        if guide.sure != "drop":
            guide.sure = "drop"
            self.draw()
            return
        self._session.quiet(guide.index)

        def dropped(count: int) -> None:
            guide.notes.append(f"dropped {number(count)} old generation{'' if count == 1 else 's'}")
            self._look_at_standing()

        self._do("dropping", lambda job: self._engine.drop_old(guide.index, guide.namespace), dropped)

    def action_look_again(self) -> None:
        """Look again who holds the file."""
        if self.guide.step is Step.VERIFY and not self.guide.busy:
            self._look_at_standing()

    # --- keys --------------------------------------------------------------------------------------------------------

    def action_go(self) -> None:
        """Do what the tinted row says."""
        guide = self.guide
        if guide.busy or guide.question is not None:
            return
        match guide.step:
            case Step.CHOOSE if guide.offered is None:
                self._load()
            case Step.CHOOSE if guide.unfinished is not None:
                self._build(guide.unfinished.path)
            case Step.CHOOSE if guide.asked is not None:
                guide.question = guide.asked
                self.draw()
            case Step.CHOOSE if guide.offer is not None and guide.offer.usable:
                self._make_plan()
            case Step.PLAN if guide.plan is not None:
                guide.step, guide.typed = Step.CONFIRM, ""
                self.draw()
                field = self.query_one(_Name)
                field.value = ""
                self.call_after_refresh(field.focus)
            case Step.CONFIRM if guide.confirmed:
                self._page.focus()
                self._build(None)
            case Step.BUILD:
                self._build(self._path)
            case Step.VERIFY:
                self._go_on_from_verify()

    def _go_on_from_verify(self) -> None:
        outcome = self.guide.outcome
        if self.guide.rolled is not None or (outcome is not None and outcome.state is RunState.SWAPPED):
            self._leave(self._last_word())
        elif outcome is not None and outcome.state is RunState.VERIFIED:
            self._swap()
        else:
            self._build(self._path)

    @on(Input.Changed, "#guide-name")
    def _name_typed(self, message: Input.Changed) -> None:
        self.guide.typed = message.value
        self.draw()

    @on(Input.Submitted, "#guide-name")
    def _name_taken(self, message: Input.Submitted) -> None:
        message.stop()
        self.action_go()

    def action_accept(self) -> None:
        """Accept what the file does that is asked about."""
        question = self.guide.question
        if question is None or self.guide.busy:
            return

        def accepted(_: None) -> None:
            self.guide.question, self.guide.offered = None, None
            self._load()

        self._do("remembering", lambda job: self._engine.accept(question), accepted)

    def action_resplit(self) -> None:
        """Cut what is too long, or keep it whole."""
        guide = self.guide
        if guide.unfinished is None and guide.question is None and guide.step in (Step.CHOOSE, Step.PLAN):
            guide.resplit = not guide.resplit
            if guide.step is Step.PLAN:
                self._make_plan()
            self.draw()

    def action_ceiling(self) -> None:
        """Ask for the ceiling of the target; an empty line is what it declares."""
        guide = self.guide
        if guide.step is not Step.CHOOSE or guide.unfinished is not None or guide.question is not None:
            return

        def taken(typed: str) -> None:
            text = typed.strip().replace(",", "")
            if text and not (text.isascii() and text.isdigit() and int(text[:18]) > 0 and len(text) < 18):
                guide.notes.append("a ceiling is a whole number of characters of at least 1")
                self.draw()
                return
            guide.max_chunk_chars = int(text) if text else None
            self._load()

        start = "" if guide.max_chunk_chars is None else str(guide.max_chunk_chars)
        self._type(Question("ceiling", "characters; empty: as declared", start, done=taken))

    def action_cap(self) -> None:
        """Ask for the cap in US dollars; an empty line is none."""
        guide = self.guide
        if guide.step not in (Step.PLAN, Step.CONFIRM, Step.BUILD) or guide.busy:
            return

        def taken(typed: str) -> None:
            text = typed.strip().removeprefix("$").strip()
            try:
                money = float(text) if text else None
            except ValueError:
                money = -1.0
            if money is not None and not 0 <= money < float("inf"):
                guide.notes.append("a cap is an amount in US dollars")
            else:
                guide.cap_usd = money
            self.draw()

        start = "" if guide.cap_usd is None else f"{guide.cap_usd:g}"
        self._type(Question("$", "the build pauses there; empty: no cap", start, done=taken))

    def _type(self, question: Question) -> None:
        self.add_class("-typing")
        self.query_one(TypedLine).ask(question)

    @on(TypedLine.Closed)
    def _line_closed(self) -> None:
        self.remove_class("-typing")
        (self.query_one(_Name) if self.guide.step is Step.CONFIRM else self._page).focus()

    def action_unconfirm(self) -> None:
        """Go back to the plan."""
        if self.guide.step is Step.CONFIRM:
            self.guide.step = Step.PLAN
            self._page.focus()
            self.draw()

    def action_back(self) -> None:
        """Go back to the choice."""
        guide = self.guide
        if guide.step is Step.PLAN:
            if self._job is not None:
                self._job.cancel()
                self._request += 1
                self._over()
            guide.step, guide.plan, guide.trouble = Step.CHOOSE, None, ""
            self._to_choice()

    def action_pause(self) -> None:
        """Stop after what is under way."""
        if self.guide.running and not self.guide.pausing:
            self.guide.pausing = True
            self._stop.ask("as you asked")
            self.draw()

    def action_discard(self) -> None:
        """Drop what was built, when it is asked for twice."""
        guide, path = self.guide, self._path
        over = guide.outcome is not None and guide.outcome.state is RunState.SWAPPED
        if guide.busy or path is None or over or guide.step not in (Step.CHOOSE, Step.BUILD, Step.VERIFY):
            return
        if guide.sure != "discard":
            guide.sure = "discard"
            self.draw()
            return

        def dropped(_: None) -> None:
            guide.notes.append("the build was dropped; the index is as it was")
            self._watch, guide.building, guide.outcome, guide.plan = None, None, None, None
            guide.step, guide.offered = Step.CHOOSE, None
            self._load()

        self._do("dropping", lambda job: self._engine.discard(path), dropped)

    def action_leave(self) -> None:
        """Leave; a build pauses first, asked for again it is not waited for."""
        guide = self.guide
        if guide.question is not None:
            guide.question = None
            self._to_choice()
        elif guide.sure:
            guide.sure = ""
            self.draw()
        elif guide.running:
            if guide.pausing:
                self._leave_now()
            else:
                guide.leaving = True
                self.action_pause()
                if host_of(guide) is None:
                    # What is under way costs only time, and a person who leaves has none.
                    self.set_timer(GRACE_SECONDS, self._leave_now)
        elif guide.step is Step.VERIFY and guide.busy:
            guide.notes.append("a moment: this is one step and ends by itself")
            self.draw()
        else:
            if self._job is not None:
                self._job.cancel()
            self._leave(self._last_word())

    def _leave_now(self) -> None:
        """Leave a build without what is under way; what is committed is kept."""
        if self.guide.running and self.is_current:
            if self._job is not None:
                self._job.cancel()
            self._keep_path()
            self._leave(self._kept_said())

    def _last_word(self) -> str:
        guide = self.guide
        if guide.rolled is not None:
            return f"generation {guide.rolled.generation} answers again"
        if guide.outcome is not None and guide.outcome.state is RunState.SWAPPED:
            return f"generation {guide.outcome.generation} answers now"
        if guide.step is Step.BUILD:
            return self._kept_said()
        return "the build is kept; r goes on with it" if self._path is not None else "nothing was changed"

    def _leave(self, said: str) -> None:
        self._request += 1
        self.dismiss(inert(said))

    def action_help(self) -> None:
        """Every key of this step."""
        from workbench.tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(tuple(actions_at(self.guide))))

    def action_quit(self) -> None:
        """Leave the program at once; what is committed is kept."""
        if self._job is not None:
            self._job.cancel()
        self.app.exit(0)


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
