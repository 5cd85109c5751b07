"""A floating question with one line to type: a path to open."""

from __future__ import annotations

import os
from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.strip import Strip
from textual.widgets import Input

from workbench.tui.draw import Line, Tone
from workbench.tui.screens.floating import Floating
from workbench.tui.signs import Signs
from workbench.tui.state import State
from workbench.tui.verdicts import lead_of
from workbench.tui.widgets.lines import Bar, look_of, strip_of

Judge = Callable[[str, int, Signs], tuple[bool, list[Line]]]
"""What is typed, the width and the signs; whether it can be taken, and the lines to show below it."""


class _Answer(Bar):
    """The lines below the input."""

    def __init__(self, judge: Judge) -> None:
        super().__init__()
        self._judge = judge
        self.typed = ""

    def line(self, width: int) -> Line:
        """Give the first of them."""
        return self.lines(width)[0]

    def lines(self, width: int) -> list[Line]:
        """Judge what is typed."""
        return self._judge(self.typed, width, look_of(self)[1])[1] or [Line()]

    def render_line(self, y: int) -> Strip:
        """One of them."""
        lines = self.lines(self.size.width)
        return strip_of(lines[y] if y < len(lines) else Line(), self.size.width, self)


class Prompt(Floating[str | None]):
    """Gives back what was typed, or None when it was left."""

    CSS_PATH = "prompt.tcss"
    BINDINGS = [Binding("escape", "leave", "close", show=False)]  # noqa: RUF012 (Textual declares it so)

    def __init__(self, title: str, hint: str, start: str, judge: Judge) -> None:
        super().__init__()
        self._title, self._hint, self._start, self._judge = title, hint, start, judge

    def compose(self) -> ComposeResult:
        """Lay out a frame with its title, the input, and what is said about it."""
        with Vertical(id="prompt") as frame:
            frame.border_title = self._title
            frame.border_subtitle = self._hint
            yield Input(self._start, id="typed")
            yield _Answer(self._judge)

    def on_mount(self) -> None:
        """Nothing blinks here."""
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()

    @on(Input.Changed)
    def _typed(self, message: Input.Changed) -> None:
        answer = self.query_one(_Answer)
        answer.typed = message.value
        answer.refresh()

    @on(Input.Submitted)
    def _taken(self, message: Input.Submitted) -> None:
        takes, _ = self._judge(message.value, 80, look_of(self)[1])
        if takes:
            self.dismiss(message.value.strip())

    def action_leave(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


def ask_path() -> Prompt:
    """Ask for a file or folder."""
    return Prompt("Open a file or folder", "enter opens, esc closes", "", _judge_path)


def _judge_path(typed: str, width: int, signs: Signs) -> tuple[bool, list[Line]]:
    if not typed.strip():
        return False, [Line().add("Type the path of an index, or of a folder with indexes.", Tone.MUTED)]
    if os.path.lexists(os.path.expanduser(typed.strip())):
        return True, [Line().add(lead_of(State.OK, signs), Tone.OK, bold=True).add("there is something by that name")]
    return False, [Line().add(lead_of(State.BAD, signs), Tone.ERROR, bold=True).add("there is no such file or folder")]
