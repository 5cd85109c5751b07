"""What is tried instead of what a log says: another threshold or cooldown, a configuration that fits it better."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.core.job import Job
from workbench.tui.pages.replay_ledger import Tried, entries_of
from workbench.tui.pages.replay_words import read_number, read_span, span_text, threshold_text
from workbench.tui.views.replay_cursor import ReplayCursor
from workbench.tui.widgets.typed import Question

if TYPE_CHECKING:
    from workbench.routing.fitting import Fit
    from workbench.routing.replay import Replay
    from workbench.routing.what_if import WhatIf
    from workbench.tui.routed import Routed

_WHAT_IF, _APPLY = "what if", "apply"
_TYPING_SECONDS = 0.15
"""How long what is typed rests before it is asked for."""


class ReplayTrying(ReplayCursor):
    """Answers come from a worker, while they are typed."""

    # --- what if -----------------------------------------------------------------------------------------------

    def action_try_threshold(self) -> None:
        """Ask for another threshold, answered while it is typed."""
        state = self.state
        if state is not None:
            now = threshold_text(state.replay.config.failure_streak_threshold)
            self._try("threshold", f"failures in a row; the log has {now}; empty for that", read_number, "threshold")

    def action_try_cooldown(self) -> None:
        """Ask for another cooldown."""
        state = self.state
        if state is not None:
            now = span_text(state.replay.config.cooldown_ms)
            self._try("cooldown", f"90 s, 5 min, 1 h; the log has {now}; empty for that", read_span, "cooldown_ms")

    def _try(self, lead: str, hint: str, read: Callable[[str], float | None], name: str) -> None:
        state = self.state
        assert state is not None
        before = state.tried
        self._stand()

        def tried(typed: str) -> Tried | None:
            value = read(typed) if typed.strip() else None
            if value is None and typed.strip():
                return None
            threshold, cooldown = before.threshold, before.cooldown_ms
            return Tried(value, cooldown) if name == "threshold" else Tried(threshold, value)

        def changed(typed: str) -> None:
            if self._typing is not None:
                self._typing.stop()
            wanted = tried(typed)
            if wanted is not None:
                self._typing = self.set_timer(_TYPING_SECONDS, lambda: self._want(wanted))

        def done(typed: str) -> None:
            wanted = tried(typed)
            if wanted is None:
                self.desk.say(f"that is no {lead}: {typed.strip()}")
                wanted = before
            self._want(wanted)

        self.desk.type_line(Question(lead, hint, changed=changed, done=done, left=lambda: self._want(before)))

    def _want(self, tried: Tried) -> None:
        """Try something else; what is tried already is not asked for again."""
        if self._typing is not None:
            self._typing.stop()
            self._typing = None
        state = self.state
        if state is None or tried == state.tried:
            return
        state.tried, state.answer = tried, None
        self.drop(_WHAT_IF)
        if not tried.nothing:
            self._ask_what_if()
        self.redraw()

    def _ask_what_if(self) -> None:
        state = self.state
        assert state is not None
        replay, tried = state.replay, state.tried

        def work(_routed: Routed, _job: Job) -> WhatIf:
            from workbench.routing.what_if import what_if

            return what_if(replay, tried.threshold, tried.cooldown_ms)

        def then(answer: WhatIf) -> None:
            if state.replay is replay and state.tried == tried:
                state.answer = answer

        self.ask_routing(_WHAT_IF, work, then, what="asking what if")

    def _fitted(self, fit: Fit | None) -> None:
        state = self.state
        if state is not None:
            state.fit = fit

    # --- fit ---------------------------------------------------------------------------------------------------

    def action_apply_fit(self) -> None:
        """Hold the log against the configuration that fits it, or against its own again."""
        state, routed = self.state, self.routed
        if state is None or routed is None:
            return
        if state.applied:
            self._take(routed.replay, applied=False)
            return
        fit = state.fit
        if fit is None:
            self.desk.say("nothing diverges" if not len(state.replay.divergences) else "no configuration fits better")
            return

        def work(held: Routed, _job: Job) -> Replay:
            from workbench.routing.replay import Replay
            from workbench.routing.stepping import Asked
            from workbench.tui.routed import prepare

            own = held.replay
            replay = Replay(own.calls, Asked(fit.threshold, fit.cooldown_ms), fit.dialect, own.problems)
            prepare(replay)
            return replay

        self.ask_routing(_APPLY, work, lambda replay: self._take(replay, applied=True), what="replaying")

    def _take(self, replay: Replay, *, applied: bool) -> None:
        state = self.state
        if state is None:
            return
        state.replay, state.applied, state.answer = replay, applied, None
        state.entries = entries_of(replay)
        self.redraw()
        self.desk.frame_changed()
        if not state.tried.nothing:
            self._ask_what_if()

    @property
    def trying(self) -> bool:
        """Whether an answer is on its way."""
        return _WHAT_IF in self.asked
