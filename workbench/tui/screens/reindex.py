"""The guided re-index: five steps from choosing an embedder to the swap, each of which can be left without harm.

Here is what its keys do; screens/guide_steps.py has the steps, screens/guided.py what is drawn and how work is run.
The engine works on threads (see reindexing.py); what it says comes as messages or as answers on the event loop.
"""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.widgets import Input

from workbench.reindex.model import RunState
from workbench.tui.actions import bindings_of
from workbench.tui.draw import number
from workbench.tui.guide import Step
from workbench.tui.guide_actions import GUIDE_ACTIONS, actions_at
from workbench.tui.pages.reindex_build import host_of
from workbench.tui.screens.guide_steps import GuideSteps
from workbench.tui.screens.guided import NameField
from workbench.tui.widgets.typed import Question, TypedLine

GRACE_SECONDS = 2.0
"""How long leaving waits for a batch that costs nothing."""


class ReindexScreen(GuideSteps):
    """Gives back what there is to say when it is left."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(GUIDE_ACTIONS)]

    def action_go(self) -> None:
        """Do what the tinted row says."""
        guide = self.guide
        if guide.busy or guide.question is not None:
            return
        match guide.step:
            case Step.CHOOSE if guide.offered is None:
                self.load()
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
                field = self.query_one(NameField)
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
            self.leave(self._last_word())
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
            self.load()

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
            self.load()

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
        (self.query_one(NameField) if self.guide.step is Step.CONFIRM else self._page).focus()

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
            self.load()

        self._do("dropping", lambda job: self._engine.discard(guide.index, path), dropped)

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
            self.leave(self._last_word())

    def _leave_now(self) -> None:
        """Leave a build without what is under way; what is committed is kept."""
        if self.guide.running and self.is_current:
            if self._job is not None:
                self._job.cancel()
            self._keep_path()
            self.leave(self._kept_said())

    def _last_word(self) -> str:
        guide = self.guide
        if guide.rolled is not None:
            return f"generation {guide.rolled.generation} answers again"
        if guide.outcome is not None and guide.outcome.state is RunState.SWAPPED:
            return f"{number(guide.outcome.embedded + guide.outcome.reused)} new vectors answer now"
        if guide.step is Step.BUILD:
            return self._kept_said()
        return "the build is kept; r goes on with it" if self._path is not None else "nothing was changed"

    def action_help(self) -> None:
        """Every key of this step."""
        from workbench.tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(tuple(actions_at(self.guide))))

    def action_quit(self) -> None:
        """Leave the program at once; what is committed is kept."""
        if self._job is not None:
            self._job.cancel()
        self.app.exit(0)
