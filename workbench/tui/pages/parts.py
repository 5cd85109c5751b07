"""What several pages are made of: the page itself, wrapped sentences, share bars, key hints."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.tui.draw import Line, Tone, clip, wrap
from workbench.tui.signs import Signs

SHARE_CELLS = 14
ROOMY = 30
"""From this many rows of terminal on there are blank rows around titles."""
FRAME_ROWS = 2
"""Rows of the terminal that are header and footer."""


@dataclass(slots=True)
class Frame:
    """The room a page has: cells across, rows down, whether the pane has the focus, and the signs.

    ``selected`` is the place of the cursor among the stops; ``above`` the rows of the pane that are not the page's.
    """

    width: int
    height: int
    signs: Signs
    focused: bool = False
    selected: int = 0
    above: int = 0

    @property
    def roomy(self) -> bool:
        """Whether there is room for blank rows."""
        return self.height + self.above + FRAME_ROWS >= ROOMY

    @property
    def wide(self) -> bool:
        """Whether a table has room for its count and share columns."""
        return self.width >= 72


@dataclass(slots=True)
class Page:
    """Finished lines, which of them the cursor can stand on, and how many below it say more about its row."""

    lines: list[Line] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    told: int = 0

    def add(self, line: Line | None = None) -> Line:
        """Append a line, an empty one without argument, and return it."""
        made = line if line is not None else Line()
        self.lines.append(made)
        return made

    def gap(self, frame: Frame) -> None:
        """Leave a blank row where there is room for one."""
        if frame.roomy:
            self.lines.append(Line())

    def sentence(self, text: str, width: int, tone: Tone = Tone.MUTED, at_most: int = 99) -> int:
        """Append a sentence wrapped to the width and say how many rows it took; what is left out is marked."""
        rows = wrap(text, width)
        for place, row in enumerate(rows[:at_most]):
            left_out = place == at_most - 1 and len(rows) > at_most
            self.add(Line().add(clip(f"{row} …", width) if left_out else row, tone))
        return min(len(rows), at_most)


def share_bar(count: int, total: int, tone: Tone, signs: Signs, width: int = SHARE_CELLS) -> Line:
    """Draw an amount on its track in half cells: something is never none, less than all never full."""
    halves = 0
    if total > 0 and count > 0:
        halves = min(2 * width, max(1, round(2 * width * count / total)))
        if count < total:
            halves = min(halves, 2 * width - 1)
    full, half = divmod(halves, 2)
    return (
        Line()
        .add(signs.bar * full, tone)
        .add(signs.half * half, tone)
        .add(signs.track * (width - full - half), Tone.RULE)
    )


def keys_line(pairs: list[tuple[str, str]]) -> Line:
    """Keys with what they do, one after the other."""
    line = Line()
    for place, (key, does) in enumerate(pairs):
        line.add("   " if place else "").add(key, Tone.ACCENT, bold=True).add(" ").add(does, Tone.MUTED)
    return line
