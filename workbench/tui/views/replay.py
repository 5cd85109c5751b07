"""The routing log replayed: what each call did, the state as it was at any of them, and what else would have done."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from workbench.tui.actions import Action, bindings_of
from workbench.tui.draw import number
from workbench.tui.pages.replay_ledger import NOTHING_TRIED
from workbench.tui.views import Subject
from workbench.tui.views import replay_actions as can
from workbench.tui.views.replay_trying import ReplayTrying
from workbench.tui.widgets.lines import LineList
from workbench.tui.widgets.replay_board import ReplayBoard

if TYPE_CHECKING:
    from collections.abc import Iterable


_FIT = "fit"


class ReplayView(ReplayTrying):
    """The board, and below its lanes the keys of a namespace when they are asked for."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (*can.ALL, *can.IN_KEYS)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(can.ALL)]

    def compose(self) -> ComposeResult:
        """Board above, keys below."""
        yield self.board
        yield self.keys.head
        yield self.keys.list

    # --- being about a log -------------------------------------------------------------------------------------

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
        if state is not None and not state.tried.nothing and state.answer is None and not self.trying:
            self._ask_what_if()

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
