"""The routing log replayed: what each call did, the state as it was at any of them, and what else would have done."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.timer import Timer

from workbench.index.job import Job
from workbench.tui.actions import Action, bindings_of
from workbench.tui.draw import number
from workbench.tui.pages.parts import Frame
from workbench.tui.pages.replay import Painted, Shown, cells_wide, replay_page
from workbench.tui.pages.replay_ledger import NOTHING_TRIED, Tried, entries_of
from workbench.tui.pages.replay_words import read_number, read_span, span_text, threshold_text
from workbench.tui.replay_cells import Cells, Window, cells_of, grid_of, what_if_modes
from workbench.tui.views import Desk, Subject, View
from workbench.tui.views import replay_actions as can
from workbench.tui.views.replay_keys import ReplayKeys
from workbench.tui.widgets.lines import LineList
from workbench.tui.widgets.replay_board import ReplayBoard
from workbench.tui.widgets.typed import Question

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.routing.fitting import Fit
    from workbench.routing.replay import Replay
    from workbench.routing.what_if import WhatIf
    from workbench.tui.pages.replay_ledger import Entry
    from workbench.tui.replay_cells import Bytes, Ints
    from workbench.tui.routed import Routed

_WHAT_IF, _FIT, _APPLY = "what if", "fit", "apply"
_TYPING_SECONDS = 0.15
"""How long what is typed rests before it is asked for."""
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


class ReplayView(View):
    """The board, and below its lanes the keys of a namespace when they are asked for."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (*can.ALL, *can.IN_KEYS)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(can.ALL)]

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

    def compose(self) -> ComposeResult:
        """Board above, keys below."""
        yield self.board
        yield self.keys.head
        yield self.keys.list

    # --- being about a log -------------------------------------------------------------------------------------

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

    def subject_changed(self) -> None:
        """Stand still, and forget older readings of the same file."""
        self._stand()
        self.keys.close()
        subject = self.subject
        if subject is not None:
            self._kept = {
                key: kept for key, kept in self._kept.items() if key[0] != subject.key[0] or key == subject.key
            }

    def show(self, subject: Subject | None) -> None:
        """Be about a log; look for a configuration that fits it better when it goes against its own."""
        super().show(subject)
        state = self.state
        if state is not None and not state.fit_asked and len(state.replay.divergences):
            state.fit_asked = True
            self.ask_routing(_FIT, lambda routed, job: routed.replay.fit, self._fitted, what="fitting to the log")
        if state is not None and not state.tried.nothing and state.answer is None and _WHAT_IF not in self.asked:
            self._ask_what_if()

    def _fitted(self, fit: Fit | None) -> None:
        state = self.state
        if state is not None:
            state.fit = fit

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

    def on_replay_board_chose(self, message: ReplayBoard.Chose) -> None:
        """Choose a row of the ledger; the one that is chosen already is opened by a click."""
        message.stop()
        state = self.state
        if state is None:
            return
        if state.said:
            self._scroll(message.by)
            return
        if message.place is not None and message.place == state.entry:
            self.action_open_keys()
            return
        place = state.entry + message.by if message.place is None else message.place
        state.entry = min(max(0, place), max(0, len(state.entries) - 1))
        self.redraw()

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

    # --- sentences and keys ------------------------------------------------------------------------------------

    def action_say_all(self) -> None:
        """Show every sentence, or the lower half again."""
        state = self.state
        if state is not None:
            self.keys.close()
            state.said, state.scroll = not state.said, 0
            self.redraw()

    def action_open_keys(self) -> None:
        """List the keys of the chosen namespace; from these, go to the chunk under the cursor."""
        if self.keys.opened:
            self.keys.go()
            return
        state = self.state
        if state is None or not state.entries:
            return
        row = state.entries[state.entry].row
        if not row.keys:
            self.desk.say("no key of this namespace is to be embedded again")
            return
        self._stand()
        state.said = False
        self.keys.open(row)

    def action_open_key(self) -> None:
        """Go to the key in the open index."""
        self.keys.go()

    def action_copy_keys(self) -> None:
        """Copy the keys of the chosen namespace, one a line."""
        state = self.state
        row = state.entries[state.entry].row if state is not None and state.entries else None
        if row is None or not row.keys:
            self.desk.say("there is no key to copy")
            return
        self.desk.copy("\n".join(row.keys), f"{number(len(row.keys))} keys")

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """Go to the key that was clicked a second time."""
        message.stop()
        self.keys.go()

    def on_line_list_left(self, message: LineList.Left) -> None:
        """From the keys back to the board."""
        message.stop()
        self.back()

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        """Another key."""
        message.stop()
        self.keys.redraw()

    # --- the view among views ----------------------------------------------------------------------------------

    def actions_here(self) -> tuple[Action, ...]:
        """Give what can be done at this moment."""
        if self.keys.opened:
            return can.IN_KEYS
        return tuple(self._actions())

    def _actions(self) -> Iterable[Action]:
        state = self.state
        if state is None:
            return
        yield can.PAUSE if self.playing else can.PLAY
        yield from can.STEP
        if len(state.replay.divergences):
            yield from can.PARTS
        if state.applied or state.fit is not None:
            yield can.UNFIT if state.applied else can.FIT
        yield from can.TRY
        yield from can.MARKS
        if state.entries and state.entries[state.entry].row.keys:
            yield can.KEYS
        yield from can.REST

    @property
    def back_title(self) -> str:
        """Where ``esc`` leads."""
        state = self.state
        if self.keys.opened or (state is not None and state.said):
            return "replay"
        return "sources"

    def back(self) -> bool:
        """Stop a reading that is named, stand still, close the keys or the sentences."""
        if super().back():
            state = self.state
            if state is not None and state.answer is None:
                state.tried = NOTHING_TRIED
            self.redraw()
            return True
        if self.playing:
            self._stand()
            self.redraw()
            return True
        state = self.state
        if self.keys.opened:
            self.keys.close()
            self.redraw()
            self.board.focus()
            return True
        if state is not None and state.said:
            self.action_say_all()
            return True
        return False

    def take_focus(self) -> None:
        """Give the focus to the keys where they are listed, else to the board."""
        (self.keys.list if self.keys.opened else self.board).focus()

    def drop(self, slot: str | None = None) -> bool:
        """Stand still when the view is left."""
        if slot is None:
            self._stand()
        return super().drop(slot)
