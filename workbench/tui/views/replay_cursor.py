"""The cursor in a replayed log: which call, which calls are in sight, playing; what is kept of each log."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.timer import Timer

from workbench.tui.draw import number
from workbench.tui.pages.parts import Frame
from workbench.tui.pages.replay import Painted, Shown, cells_wide, replay_page
from workbench.tui.pages.replay_ledger import NOTHING_TRIED, Tried, entries_of
from workbench.tui.replay_cells import Cells, Window, cells_of, grid_of, what_if_modes
from workbench.tui.views import Desk, View
from workbench.tui.views.replay_keys import ReplayKeys
from workbench.tui.widgets.replay_board import ReplayBoard
from workbench.tui.widgets.typed import Question

if TYPE_CHECKING:
    from workbench.routing.fitting import Fit
    from workbench.routing.replay import Replay
    from workbench.routing.what_if import WhatIf
    from workbench.tui.pages.replay_ledger import Entry
    from workbench.tui.replay_cells import Bytes, Ints
    from workbench.tui.routed import Routed

TICK_SECONDS = 0.1
_SECONDS_IN_ALL = 30
_LEAST_A_SECOND = 4.0
_PACES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_LEAST_SEEN = 16


@dataclass(slots=True)
class ReplayState:
    """What is kept of one log, also while the user looks elsewhere.

    Attributes:
        replay: the replay that is shown, under the log's own configuration or a fitted one (``applied``).
        n: the call under the cursor.
        window: the calls that are seen.
        entries, entry: rows of the ledger, and the one that is chosen.
        tried, answer: what is tried instead, and what came of it.
        fit: a configuration that fits better; ``fit_asked`` once it was looked for.
        pace: how much faster than usual it plays.
        said, scroll: whether all sentences are shown, and how many rows of them are out of sight.
    """

    replay: Replay
    n: int
    window: Window
    entries: tuple[Entry, ...]
    entry: int = 0
    tried: Tried = NOTHING_TRIED
    answer: WhatIf | None = None
    fit: Fit | None = None
    fit_asked: bool = False
    applied: bool = False
    pace: int = 2
    said: bool = False
    scroll: int = 0
    exact: float = 0.0


class ReplayCursor(View):
    """The board with its cursor; what is tried instead and the rest are its heirs'."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="replay")
        self.board = ReplayBoard(self._paint, id="replay-board")
        self.keys = ReplayKeys(self)
        self._kept: dict[tuple[int, int, int], ReplayState] = {}
        self._cells: tuple[tuple[object, Window, int], Cells] | None = None
        self._modes: tuple[tuple[object, Window, int], Bytes] | None = None
        self._timer: Timer | None = None
        self._typing: Timer | None = None
        self._played = 0.0

    @property
    def routed(self) -> Routed | None:
        """The log as it is known at this moment."""
        return self.subject.routed if self.subject is not None else None

    @property
    def state(self) -> ReplayState | None:
        """What is kept of the log."""
        subject, routed = self.subject, self.routed
        if subject is None or routed is None:
            return None
        kept = self._kept.get(subject.key)
        if kept is None:
            replay = routed.replay
            kept = ReplayState(replay, 1, Window(0, replay.count), entries_of(replay))
            first = [*replay.divergences[:1].tolist(), *replay.transition_calls[:1].tolist(), 1]
            kept.n = first[0]
            self._kept[subject.key] = kept
        return kept

    def redraw(self) -> None:
        """Draw anew what is seen."""
        self.keys.redraw()
        self.board.draw_anew()
        if self.keys.opened:
            self.board.styles.height = self.board.rows
        else:
            self.board.styles.height = "1fr"

    def _paint(self, frame: Frame) -> Painted:
        state, routed = self.state, self.routed
        if state is None or routed is None:
            return Painted()
        return replay_page(self._shown(state, routed, frame), frame, upper_only=self.keys.opened)

    def _shown(self, state: ReplayState, routed: Routed, frame: Frame) -> Shown:
        cells = self._cells_for(state, cells_wide(frame.width))
        return Shown(
            routed=routed,
            replay=state.replay,
            call=state.replay.call(state.n),
            cells=cells,
            entries=state.entries,
            entry=state.entry,
            playing=self._playing_text(state),
            tried=state.tried,
            answer=state.answer,
            answer_modes=self._modes_for(state, cells),
            fit=state.fit,
            applied=state.applied,
            said=state.said,
            scroll=state.scroll,
        )

    def _cells_for(self, state: ReplayState, width: int) -> Cells:
        """Sum up what is seen, once for each window and width."""
        key = (state.replay, state.window, width)
        if self._cells is None or self._cells[0] != key:
            self._cells = (key, cells_of(state.replay, grid_of(state.window, width)))
        return self._cells[1]

    def _modes_for(self, state: ReplayState, cells: Cells) -> Bytes | None:
        answer = state.answer
        if answer is None:
            return None
        key = (answer, state.window, cells.grid.cells)
        if self._modes is None or self._modes[0] != key:
            self._modes = (key, what_if_modes(answer, cells.grid))
        return self._modes[1]

    # --- going to a call ---------------------------------------------------------------------------------------

    def go_to(self, n: int) -> None:
        """Put the cursor on a call, with it in sight."""
        state = self.state
        if state is None:
            return
        state.n = min(max(1, n), state.replay.count)
        window = state.window
        if not window.holds(state.n):
            first = min(max(0, state.n - 1 - window.count // 2), state.replay.count - window.count)
            state.window = Window(first, first + window.count)
        self.redraw()

    def on_replay_board_stepped(self, message: ReplayBoard.Stepped) -> None:
        """Go a call or a cell on or back, or to an end."""
        message.stop()
        state = self.state
        if state is None:
            return
        if state.said and message.cells:
            self._scroll(message.cells * 5)
            return
        self._stand()
        if message.end:
            self.go_to(1 if message.end < 0 else state.replay.count)
        elif message.by:
            self.go_to(state.n + message.by)
        else:
            grid = self._cells_for(state, cells_wide(self.board.inner)).grid
            self.go_to(state.n + message.cells * max(1, round(grid.calls_a_cell)))

    def on_replay_board_pointed(self, message: ReplayBoard.Pointed) -> None:
        """Go to the call under the mouse."""
        message.stop()
        state = self.state
        if state is not None:
            self._stand()
            self.go_to(self._cells_for(state, cells_wide(self.board.inner)).grid.call_at(message.cell))

    def on_replay_board_wanted(self, message: ReplayBoard.Wanted) -> None:
        """Go to the call of a warning."""
        message.stop()
        self._stand()
        self.go_to(message.n)

    def _scroll(self, by: int) -> None:
        state = self.state
        if state is not None:
            state.scroll = max(0, state.scroll + by)
            self.redraw()

    def action_step_on(self) -> None:
        """One call on."""
        self.board.action_inward()

    def action_step_back(self) -> None:
        """One call back."""
        self.board.action_outward()

    def action_to_ends(self) -> None:
        """To the first call; from there to the last."""
        state = self.state
        if state is not None:
            self.go_to(1 if state.n > 1 else state.replay.count)

    def action_next_warning(self) -> None:
        """Go to the next change of route."""
        self._go_to_marked(lambda replay: replay.transition_calls, 1, "no warning is told")

    def action_previous_warning(self) -> None:
        """Go to the one before."""
        self._go_to_marked(lambda replay: replay.transition_calls, -1, "no warning is told")

    def action_next_foreign(self) -> None:
        """Go to the next call that contaminates."""
        self._go_to_marked(lambda replay: replay.contaminated, 1, "nothing was written or asked across spaces")

    def action_previous_foreign(self) -> None:
        """Go to the one before."""
        self._go_to_marked(lambda replay: replay.contaminated, -1, "nothing was written or asked across spaces")

    def action_next_divergence(self) -> None:
        """Go to the next call that goes against the machine."""
        self._go_to_marked(lambda replay: replay.divergences, 1, "every call went as the machine says")

    def action_previous_divergence(self) -> None:
        """Go to the one before."""
        self._go_to_marked(lambda replay: replay.divergences, -1, "every call went as the machine says")

    def _go_to_marked(self, of: Callable[[Replay], Ints], step: int, none: str) -> None:
        state = self.state
        if state is None:
            return
        marked = of(state.replay)
        found = state.replay.next_marked(state.n, marked, step)
        self._stand()
        if found is not None:
            self.go_to(found)
            place = int(marked.searchsorted(found)) + 1
            self.desk.say(f"{number(place)} of {number(len(marked))}")
        elif len(marked):
            self.desk.say("the last one is behind" if step > 0 else "the first one is ahead")
        else:
            self.desk.say(none)

    def action_go_to_call(self) -> None:
        """Ask for a call or a time."""
        self.desk.type_line(Question(":", "a call, or a time in UTC such as 14:05:19", done=self._typed_call))

    def _typed_call(self, typed: str) -> None:
        from workbench.tui.replay_times import call_at

        state = self.state
        if state is None or not typed.strip():
            return
        found = call_at(state.replay, typed, state.n)
        if found is None:
            self.desk.say(f"no such call or time: {typed.strip()}")
            return
        self._stand()
        self.go_to(found)

    # --- zoom --------------------------------------------------------------------------------------------------

    def action_closer(self) -> None:
        """See half as many calls."""
        self._see(2, 1)

    def action_farther(self) -> None:
        """See twice as many."""
        self._see(1, 2)

    def _see(self, closer: int, farther: int) -> None:
        state = self.state
        if state is None:
            return
        count = state.replay.count
        size = min(count, max(min(_LEAST_SEEN, count), state.window.count * farther // closer))
        first = min(max(0, state.n - 1 - size // 2), count - size)
        state.window = Window(first, first + size)
        self.redraw()

    # --- playing -----------------------------------------------------------------------------------------------

    @property
    def playing(self) -> bool:
        """Whether the cursor moves by itself."""
        return self._timer is not None

    def _playing_text(self, state: ReplayState) -> str:
        if not self.playing:
            return "paused"
        pace = _PACES[state.pace]
        return "playing" if pace == 1 else f"playing {pace:g}x"

    def action_play(self) -> None:
        """Play, or stand still; at the end, from the beginning."""
        state = self.state
        if state is None:
            return
        if self.playing:
            self._stand()
            self.redraw()
            return
        if state.n == state.replay.count:
            self.go_to(1)
        state.exact, self._played = float(state.n), time.monotonic()
        self._timer = self.set_interval(TICK_SECONDS, self._tick)
        self.redraw()
        self.desk.frame_changed()

    def _tick(self) -> None:
        state, now = self.state, time.monotonic()
        if state is None:
            self._stand()
            return
        # A machine that was busy for a moment does not leap: it plays on from where it was.
        passed = min(now - self._played, 3 * TICK_SECONDS)
        self._played = now
        self.play_on(passed)

    def play_on(self, seconds: float) -> None:
        """Go on by as many calls as are played in some seconds."""
        state = self.state
        if state is None:
            return
        a_second = max(_LEAST_A_SECOND, state.replay.count / _SECONDS_IN_ALL) * _PACES[state.pace]
        state.exact = min(float(state.replay.count), state.exact + seconds * a_second)
        if int(state.exact) >= state.replay.count:
            self._stand()
        if int(state.exact) != state.n:
            self.go_to(int(state.exact))

    def action_faster(self) -> None:
        """Play twice as fast."""
        self._pace(1)

    def action_slower(self) -> None:
        """Play half as fast."""
        self._pace(-1)

    def _pace(self, by: int) -> None:
        state = self.state
        if state is not None:
            state.pace = min(max(0, state.pace + by), len(_PACES) - 1)
            if not self.playing:
                self.desk.say(f"pace {_PACES[state.pace]:g}x")
            self.redraw()

    def _stand(self) -> None:
        """Stand still."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
            self.desk.frame_changed()
