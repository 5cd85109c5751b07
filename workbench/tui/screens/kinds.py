"""Which steps are seen: the kinds of a recording with their counts, several at once, and failed ones only."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical

from workbench.recordings.secrets import mask_text
from workbench.tui.draw import Ground, Line, Tone, clip, number
from workbench.tui.screens.floating import Floating
from workbench.tui.widgets.lines import LineList, look_of

MOST_ROWS = 14
_READ_SECONDS = 0.3


class _Kinds(LineList):
    """Failed steps only, then one row for each kind."""

    def __init__(self, kinds: tuple[tuple[str, int], ...], failed: int) -> None:
        super().__init__(id="kinds")
        self.kinds = kinds
        self.failed = failed
        self.hidden: frozenset[str] = frozenset()
        self.errors_only = False

    def row_count(self) -> int:
        """One for each, and one for errors."""
        return len(self.kinds) + 1

    def draw(self, index: int, width: int) -> Line:
        """Whether it is seen, its name, how many there are."""
        _, signs = look_of(self)
        here = index == self.cursor
        name, count = ("failed steps only", self.failed) if index == 0 else self.kinds[index - 1]
        on = self.errors_only if index == 0 else name not in self.hidden
        line = Line(Ground.CURSOR if here else Ground.PLAIN)
        line.add(signs.cursor if here else " ", Tone.ACCENT)
        line.add(signs.ok if on else signs.waiting, Tone.OK if on else Tone.FAINT, bold=on).to(2 + signs.state_cells)
        room = width - line.cells - 12
        line.add(clip(mask_text(name), room, signs.more), Tone.TEXT if on else Tone.MUTED, bold=here)
        tail = Line().add(number(count), Tone.ERROR if index == 0 and count else Tone.MUTED).add(" ")
        return line.right(tail, width)


class KindsMenu(Floating[None]):
    """Every change is told at once, so that what is behind shows it; any way out keeps it."""

    CSS_PATH = "menu.tcss"
    BINDINGS = [  # noqa: RUF012 (Textual declares it so)
        Binding("escape,enter,f", "leave", "close", show=False),
        Binding("space", "turn", "on or off", show=False),
        Binding("o", "only", "only this one", show=False),
        Binding("a", "all", "all", show=False),
        Binding("e", "errors", "failed only", show=False),
    ]

    def __init__(
        self,
        kinds: tuple[tuple[str, int], ...],
        failed: int,
        hidden: frozenset[str],
        errors_only: bool,
        changed: Callable[[frozenset[str], bool], str],
    ) -> None:
        super().__init__()
        self._list = _Kinds(kinds, failed)
        self._list.hidden, self._list.errors_only = hidden, errors_only
        self._tell = changed

    def compose(self) -> ComposeResult:
        """Lay out a frame with its title, and the list."""
        with Vertical(id="menu") as frame:
            frame.border_title = "Steps that are seen"
            frame.border_subtitle = "space on or off, o only, a all, e failed, enter closes"
            yield self._list

    def on_mount(self) -> None:
        """As high as it has kinds, up to a limit; the rest scrolls."""
        self._list.styles.height = min(MOST_ROWS, self._list.row_count())
        self._list.focus()
        self._changed()

    def _changed(self) -> None:
        said = self._tell(self._list.hidden, self._list.errors_only)
        self.query_one("#menu", Vertical).border_title = f"Steps that are seen: {said}"
        self._list.refresh()
        self.behind_changed()
        # What is read anew behind comes a moment later.
        self.set_timer(_READ_SECONDS, self.behind_changed)

    def on_click(self, event: events.Click) -> None:
        """Close it by a click beside it."""
        if event.widget is self:
            self.action_leave()

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """Turn what was clicked twice."""
        message.stop()
        self.action_turn()

    def action_turn(self) -> None:
        """Show or hide the kind under the cursor."""
        shown = self._list
        if shown.cursor == 0:
            shown.errors_only = not shown.errors_only
        else:
            shown.hidden ^= {shown.kinds[shown.cursor - 1][0]}
        self._changed()

    def action_only(self) -> None:
        """Show only the kind under the cursor."""
        shown = self._list
        if shown.cursor == 0:
            shown.errors_only = True
        else:
            shown.hidden = frozenset(name for name, _ in shown.kinds) - {shown.kinds[shown.cursor - 1][0]}
        self._changed()

    def action_all(self) -> None:
        """Show all."""
        self._list.hidden, self._list.errors_only = frozenset(), False
        self._changed()

    def action_errors(self) -> None:
        """Show only what failed, or the others too."""
        self._list.errors_only = not self._list.errors_only
        self._changed()

    def action_leave(self) -> None:
        """Close it."""
        self.dismiss(None)
