"""A few choices that float above the screen, each with a letter: what to copy, for instance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical

from workbench.tui.draw import Ground, Line, Tone, clip
from workbench.tui.screens.floating import Floating
from workbench.tui.widgets.lines import LineList, look_of


@dataclass(frozen=True, slots=True)
class Choice:
    """One of them: its letter, what it is, and how much or which that is here."""

    key: str
    title: str
    note: str = ""


class _Choices(LineList):
    """The list."""

    def __init__(self, choices: tuple[Choice, ...]) -> None:
        super().__init__(id="choices")
        self.choices = choices

    def row_count(self) -> int:
        """One each."""
        return len(self.choices)

    def draw(self, index: int, width: int) -> Line:
        """Letter, title, note."""
        _, signs = look_of(self)
        choice, here = self.choices[index], index == self.cursor
        line = Line(Ground.CURSOR if here else Ground.PLAIN)
        line.add(signs.cursor if here else " ", Tone.ACCENT).add(choice.key, Tone.ACCENT, bold=True).to(4)
        line.add(choice.title, bold=here).to(18)
        return line.add(clip(choice.note, width - 19, signs.more), Tone.FAINT).to(width)


class Menu(Floating[str | None]):
    """Gives back the letter that was chosen, or None when it was left."""

    CSS_PATH = "menu.tcss"
    BINDINGS = [  # noqa: RUF012 (Textual declares it so)
        Binding("escape", "leave", "close", show=False),
        Binding("enter", "take", "take", show=False),
    ]

    def __init__(self, title: str, choices: Iterable[Choice]) -> None:
        super().__init__()
        self._title = title
        self._choices = tuple(choices)

    def compose(self) -> ComposeResult:
        """Lay out a frame with its title, and the list."""
        with Vertical(id="menu") as frame:
            frame.border_title = self._title
            frame.border_subtitle = "a letter or enter takes, esc closes"
            yield _Choices(self._choices)

    def on_mount(self) -> None:
        """As high as it has choices."""
        self.query_one(_Choices).styles.height = len(self._choices)
        self.query_one(_Choices).focus()

    def on_key(self, event: events.Key) -> None:
        """Take the choice whose letter was pressed."""
        if event.character and event.character in {choice.key for choice in self._choices}:
            event.stop()
            event.prevent_default()
            self.dismiss(event.character)

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """Take what was clicked twice."""
        message.stop()
        self.action_take()

    def action_take(self) -> None:
        """Take the choice under the cursor."""
        self.dismiss(self._choices[self.query_one(_Choices).cursor].key)

    def action_leave(self) -> None:
        """Close without a choice."""
        self.dismiss(None)
