"""A line of text as widgets draw it: spans with a tone, measured in cells, and inert whatever they were made from.

This is the one place where text becomes drawable. A span is never parsed as markup, and every character that could
command a terminal is made visible first, so a name, an id or a message of a file can only ever be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from rich.cells import cell_len, set_cell_size

from workbench.core.text import inert


class Tone(StrEnum):
    """What a piece of text is for; the theme says how that looks (see theme.py)."""

    TEXT = "text"
    MUTED = "muted"
    FAINT = "faint"
    RULE = "rule"
    ACCENT = "accent"
    DATA = "data"
    OK = "ok"
    WARN = "warn"
    ERROR = "error"
    OK_FILL = "ok-fill"
    WARN_FILL = "warn-fill"
    ERROR_FILL = "error-fill"
    DATA_QUIET = "data-quiet"
    ERROR_QUIET = "error-quiet"
    HATCH = "hatch"


class Ground(StrEnum):
    """What lies behind a line."""

    PLAIN = "plain"
    CURSOR = "cursor"
    CURSOR_BLURRED = "cursor-blurred"
    BAD = "bad"
    WARN = "warn"
    GOOD = "good"
    LOST = "lost"
    ACTION = "action"


@dataclass(frozen=True, slots=True)
class Span:
    """A run of cells in one style. ``solid`` gives it its own colour as ground too: columns then have no seams.

    ``plain`` keeps the ground of its line away from it, ``ground`` is its own instead of that.
    """

    text: str
    tone: Tone = Tone.TEXT
    bold: bool = False
    italic: bool = False
    solid: bool = False
    plain: bool = False
    ground: Ground | None = None

    @property
    def cells(self) -> int:
        """Width on the terminal."""
        return cell_len(self.text)


class Line:
    """One row under construction; every ``add`` returns the line itself.

    ``inset`` columns at both ends of the widget stay plain, whatever the ground between them.
    """

    __slots__ = ("ground", "inset", "spans")

    def __init__(self, ground: Ground = Ground.PLAIN, inset: int = 0) -> None:
        self.spans: list[Span] = []
        self.ground = ground
        self.inset = inset

    def add(
        self,
        text: str,
        tone: Tone = Tone.TEXT,
        *,
        bold: bool = False,
        italic: bool = False,
        solid: bool = False,
        plain: bool = False,
        ground: Ground | None = None,
    ) -> Line:
        """Append text, made inert."""
        if text:
            self.spans.append(Span(inert(text), tone, bold, italic, solid, plain, ground))
        return self

    def extend(self, spans: Iterable[Span]) -> Line:
        """Append spans that are inert already."""
        self.spans.extend(spans)
        return self

    @property
    def cells(self) -> int:
        """Width so far."""
        return sum(span.cells for span in self.spans)

    @property
    def text(self) -> str:
        """What can be read on this line."""
        return "".join(span.text for span in self.spans)

    def to(self, column: int) -> Line:
        """Pad with blanks up to a column, counted from 0; nothing is cut."""
        gap = column - self.cells
        return self.add(" " * gap) if gap > 0 else self

    def rule_to(self, column: int, sign: str, tone: Tone = Tone.RULE) -> Line:
        """Fill with a rule up to a column."""
        gap = column - self.cells
        return self.add(sign * gap, tone) if gap > 0 else self

    def right(self, tail: Line, width: int) -> Line:
        """Put ``tail`` flush right in ``width`` cells; what is left of it is cut where they would meet."""
        room = width - tail.cells
        if self.cells > room - 1:
            self.cut(max(0, room - 1))
        self.to(room)
        return self.extend(tail.spans)

    def cut(self, width: int, more: str = "…") -> Line:
        """Cut to a width, with a mark where something was lost."""
        if self.cells <= width:
            return self
        keep = max(0, width - cell_len(more))
        kept: list[Span] = []
        for span in self.spans:
            if span.cells >= keep:
                kept.append(replace(span, text=set_cell_size(span.text, keep)))
                break
            keep -= span.cells
            kept.append(span)
        last = kept[-1] if kept else Span("")
        self.spans = [*kept, Span(set_cell_size(more, min(width, cell_len(more))), last.tone, last.bold)]
        return self

    def __iter__(self) -> Iterator[Span]:
        return iter(self.spans)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Line) and (self.spans, self.ground) == (other.spans, other.ground)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Line({self.text!r})"


def cells(text: str) -> int:
    """Width of a text on the terminal, once it is inert."""
    return cell_len(inert(text))


def clip(text: str, width: int, more: str = "…") -> str:
    """Cut a text to a width in cells at its end, with a visible mark; inert."""
    shown = inert(text)
    if cell_len(shown) <= width:
        return shown
    room = width - cell_len(more)
    return set_cell_size(shown, room).rstrip() + more if room > 0 else set_cell_size(shown, max(0, width))


def clip_start(text: str, width: int, more: str = "…") -> str:
    """Cut a text to a width in cells at its beginning: a path keeps its file name."""
    shown = inert(text)
    if cell_len(shown) <= width:
        return shown
    room = max(0, width - cell_len(more))
    tail = ""
    taken = 0
    for character in reversed(shown):
        taken += cell_len(character)
        if taken > room:
            break
        tail = character + tail
    return more + tail


def clip_middle(text: str, width: int, more: str = "…") -> str:
    """Cut a text to a width in cells in its middle: an id keeps what it begins with, and the number it ends in."""
    shown = inert(text)
    if cell_len(shown) <= width:
        return shown
    room = width - cell_len(more)
    tail = clip_start(shown, room // 2 + cell_len(more), more)
    return set_cell_size(shown, max(0, width - cell_len(tail))) + tail


_KNOWN_PREFIXES = ("text-embedding-", "sentence-transformers/")


def short_fingerprint(text: str, width: int, more: str = "…") -> str:
    """Fit a fingerprint into a width: a well-known prefix is dropped first; what it ends in is never cut."""
    shown = inert(text)
    if cell_len(shown) <= width:
        return shown
    for prefix in _KNOWN_PREFIXES:
        if shown.startswith(prefix):
            shown = more + shown.removeprefix(prefix)
            break
    return clip_start(shown, width, more)


def wrap(text: str, width: int) -> list[str]:
    """Break a text between words into lines of at most ``width`` cells; longer words are broken anywhere. Inert."""
    lines: list[str] = []
    line = ""
    for word in inert(text).split(" "):
        rest = word
        candidate = f"{line} {rest}" if line else rest
        if cell_len(candidate) <= width:
            line = candidate
            continue
        if line:
            lines.append(line)
        while cell_len(rest) > width:
            head = set_cell_size(rest, width).rstrip(" ")
            lines.append(head)
            rest = rest[len(head) :]
        line = rest
    return [*lines, line] if line or not lines else lines


def number(value: int) -> str:
    """Write a count as people read it: thousands with a comma."""
    return f"{value:,}"


def titled_rule(title: str, width: int, sign: str, *, fact: Line | None = None, focused: bool = False) -> Line:
    """Begin a section: its title flush left, a rule, and a fact or keys at the right end."""
    line = Line().add(title, Tone.ACCENT if focused else Tone.TEXT, bold=True).add(" ")
    tail = fact.cells + 1 if fact is not None else 0
    line.rule_to(width - tail, sign, Tone.ACCENT if focused else Tone.RULE)
    if fact is not None:
        line.add(" ").extend(fact.spans)
    return line
