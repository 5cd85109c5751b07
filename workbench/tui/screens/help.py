"""Every key and what it does, made from the table of actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical

from workbench.tui.actions import ACTIONS, INCOMING_ACTIONS, MOTIONS, Action, Place
from workbench.tui.draw import Line, Tone, titled_rule, wrap
from workbench.tui.screens.floating import Floating
from workbench.tui.widgets.lines import LineList, look_of

_HELP = 20
_NARROWEST = 20
_UNKNOWN = 80


class _Keys(LineList):
    """The list; it has no cursor, it only scrolls."""

    def __init__(self, own: tuple[Action, ...], here: frozenset[Place]) -> None:
        super().__init__(id="keys")
        self._own = own
        self._everywhere = meant(ACTIONS, own, here)

    def _lines(self, width: int) -> list[Line]:
        signs = look_of(self)[1]
        lines = [titled_rule("Move", width, signs.rule)]
        lines += [Line().add(keys, Tone.ACCENT, bold=True).to(_HELP).add(does, Tone.MUTED) for keys, does in MOTIONS]
        lines += [Line(), titled_rule("Do here" if self._own else "Do", width, signs.rule)]
        if self._own:
            lines += [*self._rows(self._own, width), Line(), titled_rule("Everywhere", width, signs.rule)]
        lines += self._rows(self._everywhere, width)
        lines += [Line(), titled_rule("While the incoming embedder is typed", width, signs.rule)]
        lines += self._rows(INCOMING_ACTIONS, width)
        return lines

    @staticmethod
    def _rows(actions: Iterable[Action], width: int) -> Iterator[Line]:
        for action in actions:
            key = Line().add(action.shown, Tone.ACCENT, bold=True)
            for words in wrap(action.help, max(_NARROWEST, width - _HELP)):
                yield key.to(_HELP).add(words, Tone.MUTED)
                key = Line()

    def row_count(self) -> int:
        """One for each key, and the titles."""
        return len(self._lines(self.size.width or _UNKNOWN))

    def draw(self, index: int, width: int) -> Line:
        """One of them."""
        return self._lines(width)[index]

    def stops(self) -> list[int]:
        """None: there is nothing to choose."""
        return []


def meant(actions: Iterable[Action], own: Iterable[Action], here: frozenset[Place]) -> tuple[Action, ...]:
    """Give the actions without those whose key means something else here: a view's own, else what works here."""
    every = tuple(actions)
    taken = {action.shown for action in own}
    works = {action.shown for action in every if action.works_in(here)}
    return tuple(each for each in every if each.shown not in taken and (each.works_in(here) or each.shown not in works))


class HelpScreen(Floating[None]):
    """Floats above the main screen."""

    CSS_PATH = "help.tcss"
    BINDINGS = [Binding("escape,q,question_mark,enter", "leave", "close", show=False)]  # noqa: RUF012

    def __init__(self, own: tuple[Action, ...] = (), here: Iterable[Place] = ()) -> None:
        super().__init__()
        self._own = own
        self._here = frozenset(here)

    def compose(self) -> ComposeResult:
        """Lay out a frame with its title, and the list."""
        with Vertical(id="help") as frame:
            frame.border_title = "Keys"
            frame.border_subtitle = "esc closes"
            yield _Keys(self._own, self._here)

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)
