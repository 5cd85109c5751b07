"""One line to type at the bottom of the screen, in the place of the footer: to find, to filter, to jump."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from workbench.tui.draw import Line, Tone, cells, clip
from workbench.tui.widgets.lines import Bar, look_of


def _nothing(typed: str = "") -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: ``lead`` stands before the line (``/``, ``:``), ``hint`` behind it until something is said.

    ``changed`` gets every state of the line, ``done`` the last one on ``enter``, ``left`` is called on ``esc``.
    """

    lead: str
    hint: str
    start: str = ""
    changed: Callable[[str], None] = _nothing
    done: Callable[[str], None] = _nothing
    left: Callable[[], None] = _nothing


class _Said(Bar):
    """A word before or behind the line."""

    def __init__(self, id: str, tone: Tone, *, bold: bool = False) -> None:
        super().__init__(id=id)
        self.said = ""
        self._tone, self._bold = tone, bold

    def say(self, said: str) -> None:
        """Say something else."""
        if said != self.said:
            self.said = said
            self.refresh()

    def line(self, width: int) -> Line:
        """Flush right, with a column of air."""
        signs = look_of(self)[1]
        return Line().right(Line().add(clip(self.said, width - 1, signs.more), self._tone, bold=self._bold), width - 1)


class TypedLine(Horizontal):
    """Hidden until something is asked."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "leave", show=False)]

    class Closed(Message):
        """The line was taken or left: the focus goes back."""

    def __init__(self) -> None:
        super().__init__(id="typed-line")
        self._question: Question | None = None

    def compose(self) -> ComposeResult:
        """Lead, line, hint."""
        yield _Said("typed-lead", Tone.ACCENT, bold=True)
        field = Input(id="typed-field", compact=True)
        field.cursor_blink = False
        yield field
        yield _Said("typed-hint", Tone.MUTED)

    @property
    def asking(self) -> bool:
        """Whether a question stands."""
        return self._question is not None

    def ask(self, question: Question) -> None:
        """Ask, with what stands there already."""
        self._question = None
        lead = self.query_one("#typed-lead", _Said)
        lead.say(question.lead)
        lead.styles.width = cells(question.lead) + 2
        self.query_one("#typed-hint", _Said).say(question.hint)
        field = self.query_one(Input)
        with self.prevent(Input.Changed):
            field.value = question.start
        field.cursor_position = len(question.start)
        self._question = question
        field.focus()

    def say(self, said: str) -> None:
        """Say how it stands: how many match, that there is no such row."""
        self.query_one("#typed-hint", _Said).say(said or (self._question.hint if self._question else ""))

    @on(Input.Changed)
    def _changed(self, message: Input.Changed) -> None:
        message.stop()
        if self._question is not None:
            self._question.changed(message.value)

    @on(Input.Submitted)
    def _submitted(self, message: Input.Submitted) -> None:
        message.stop()
        question, self._question = self._question, None
        if question is not None:
            self.post_message(self.Closed())
            question.done(message.value)

    def action_leave(self) -> None:
        """Take nothing."""
        question, self._question = self._question, None
        if question is not None:
            self.post_message(self.Closed())
            question.left()
