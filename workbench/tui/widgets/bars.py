"""The header and the footer: where you are and what is incoming; the keys that work here, and what just happened."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.message import Message

from workbench.tui.actions import Action
from workbench.tui.draw import Line, Tone, cells, clip, short_fingerprint
from workbench.tui.widgets.lines import Bar, look_of


@dataclass(frozen=True, slots=True)
class Header:
    """What the header says: the way to what is shown, and a fact at the right."""

    path: tuple[str, ...] = ()
    incoming: str | None = None
    verdict: str = ""
    verdict_tone: Tone = Tone.MUTED
    fact: str = ""


class HeaderBar(Bar):
    """One row on top; a click on it leads back, also where the footer has no room for the key."""

    class Pressed(Message):
        """It was clicked."""

    def __init__(self) -> None:
        super().__init__(id="header")
        self.header = Header()

    def on_click(self) -> None:
        """Say so."""
        self.post_message(self.Pressed())

    def show(self, header: Header) -> None:
        """Say where we are."""
        if header != self.header:
            self.header = header
            self.refresh()

    def line(self, width: int) -> Line:
        """Name, path, and at the right the incoming embedder with its verdict."""
        _, signs = look_of(self)
        header = self.header
        tail = Line()
        if header.incoming is not None:
            word = f"  {header.verdict}" if header.verdict else ""
            room = max(8, width // 2 - cells("incoming ") - cells(word))
            tail.add("incoming ", Tone.FAINT).add(short_fingerprint(header.incoming, room, signs.more))
            tail.add(word, header.verdict_tone, bold=True)
        else:
            tail.add(header.fact, Tone.FAINT)
        line = Line().add(" ").add("workbench", Tone.ACCENT, bold=True).add("  ")
        room = width - line.cells - tail.cells - 3
        for at, part in enumerate(header.path):
            last = at == len(header.path) - 1
            line.add(clip(part, max(4, room), signs.more), Tone.TEXT if last else Tone.MUTED, bold=last)
            room -= cells(part) + 3
            if not last:
                line.add(f" {signs.path} ", Tone.FAINT)
        return line.right(tail, width - 1)


class FooterBar(Bar):
    """One row at the bottom; keys that do not fit are dropped from the right, help last of all."""

    def __init__(self) -> None:
        super().__init__(id="footer")
        self.actions: tuple[Action, ...] = ()
        self.said = ""
        self.busy = False

    def show(self, actions: list[Action]) -> None:
        """Offer other keys."""
        offered = tuple(action for action in actions if action.in_footer)
        if offered != self.actions:
            self.actions = offered
            self.refresh()

    def say(self, said: str, *, busy: bool = False) -> None:
        """Say what just happened or is being waited for."""
        if (said, busy) != (self.said, self.busy):
            self.said, self.busy = said, busy
            self.refresh()

    def _tail(self, width: int) -> Line:
        _, signs = look_of(self)
        return Line().add(clip(self.said, max(0, width // 2), signs.more), Tone.ACCENT if self.busy else Tone.FAINT)

    def _offered(self, width: int) -> list[Action]:
        return _fitting(self.actions, width - 3 - self._tail(width).cells)

    def on_click(self, event: events.Click) -> None:
        """Press the key that was clicked: without a keyboard it is the only way back."""
        event.stop()
        start = 1
        for action in self._offered(self.size.width):
            end = start + _cells(action) - 2
            if start <= event.x < end:
                self.app.simulate_key(action.keys[0])
                return
            start = end + 2

    def line(self, width: int) -> Line:
        """Keys left, what happened right."""
        tail = self._tail(width)
        line = Line()
        for action in self._offered(width):
            before = "  " if line.spans else " "
            line.add(before).add(action.shown, Tone.ACCENT, bold=True).add(" ").add(action.title, Tone.MUTED)
        return line.right(tail, width - 1)


def _fitting(actions: tuple[Action, ...], room: int) -> list[Action]:
    """Give the keys that fit, the first ones first; the key that lists all the others is never dropped."""
    always = [action for action in actions if action.id == "help"]
    room -= sum(map(_cells, always))
    kept: list[Action] = []
    for action in actions:
        if action not in always:
            room -= _cells(action)
            if room < 0:
                break
        kept.append(action)
    return kept + [action for action in always if action not in kept]


def _cells(action: Action) -> int:
    return cells(f"  {action.shown} {action.title}")
