"""Every key and what it does, made from the table of actions."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical

from workbench.tui.actions import ACTIONS, INCOMING_ACTIONS, MOTIONS, Action
from workbench.tui.draw import Line, Tone, titled_rule
from workbench.tui.screens.floating import Floating
from workbench.tui.widgets.lines import LineList, look_of


class _Keys(LineList):
    """The list; it has no cursor, it only scrolls."""

    def __init__(self, own: tuple[Action, ...]) -> None:
        super().__init__(id="keys")
        self._own = own

    def _lines(self, width: int) -> list[Line]:
        signs = look_of(self)[1]
        lines = [titled_rule("Move", width, signs.rule)]
        lines += [Line().add(keys, Tone.ACCENT, bold=True).to(20).add(does, Tone.MUTED) for keys, does in MOTIONS]
        lines += [Line(), titled_rule("Do here" if self._own else "Do", width, signs.rule)]
        if self._own:
            lines += [*map(self._row, self._own), Line(), titled_rule("Everywhere", width, signs.rule)]
        lines += map(self._row, ACTIONS)
        lines += [Line(), titled_rule("While the incoming embedder is typed", width, signs.rule)]
        lines += map(self._row, INCOMING_ACTIONS)
        return lines

    @staticmethod
    def _row(action: Action) -> Line:
        return Line().add(action.shown, Tone.ACCENT, bold=True).to(20).add(action.help, Tone.MUTED)

    def row_count(self) -> int:
        """One for each key, and the titles."""
        return len(self._lines(40))

    def draw(self, index: int, width: int) -> Line:
        """One of them."""
        return self._lines(width)[index]

    def stops(self) -> list[int]:
        """None: there is nothing to choose."""
        return []


class HelpScreen(Floating[None]):
    """Floats above the main screen."""

    CSS_PATH = "help.tcss"
    BINDINGS = [Binding("escape,q,question_mark,enter", "leave", "close", show=False)]  # noqa: RUF012

    def __init__(self, own: tuple[Action, ...] = ()) -> None:
        super().__init__()
        self._own = own

    def compose(self) -> ComposeResult:
        """Lay out a frame with its title, and the list."""
        with Vertical(id="help") as frame:
            frame.border_title = "Keys"
            frame.border_subtitle = "esc closes"
            yield _Keys(self._own)

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)
