"""What each step of the guided re-index does: look, plan, build, verify, swap, and go back."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from textual import on

from workbench.core.job import Job
from workbench.core.text import inert
from workbench.reindex.building import Stop
from workbench.reindex.generations import RolledBack
from workbench.reindex.model import Outcome, Plan, RunState
from workbench.reindex.swapping import ChangedMeanwhile
from workbench.tui.draw import number
from workbench.tui.guide import BuildWatch, Choice, Offered, Standing, Step
from workbench.tui.guide_actions import can_go_back
from workbench.tui.reindexing import Build, choice_of
from workbench.tui.screens.guided import GuidedScreen
from workbench.tui.widgets.lines import LineList


class GuideSteps(GuidedScreen):
    """The steps, each with what follows when its work is done."""

    # --- 1 choose, 2 plan ------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Look at what can be chosen."""
        guide = self.guide
        index, namespace, chars = guide.index, guide.namespace, guide.max_chunk_chars

        def work(job: Job) -> tuple[Offered, Standing]:
            offered, standing = self._engine.offers(index, namespace, chars), Standing()
            # Only native files keep generations; what is wrong with a file otherwise, the plan says.
            with suppress(Exception):
                standing = self._engine.standing(index, namespace)
            return offered, standing

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
            self.leave(self._kept_said())

    def _build_failed(self, error: Exception) -> None:
        self._failed(error)
        self._keep_path()
        if self.guide.leaving:
            self.leave(self.guide.trouble)

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
            self.leave("built and verified; r goes on to the swap")

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

    def action_go(self) -> None:
        """Do what the tinted row says."""
        raise NotImplementedError

    def leave(self, said: str) -> None:
        """Close the guide; whatever is still going on has no answer any more."""
        self._request += 1
        self.dismiss(inert(said))
