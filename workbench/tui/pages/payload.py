"""One value of a payload as a row: its key at its depth, and the value in a tone of its own."""

from __future__ import annotations

import re

from workbench.tui.draw import Line, Tone, cells, clip, clip_start, number, titled_rule
from workbench.tui.pages.marking import mark
from workbench.tui.pages.parts import Frame
from workbench.tui.payload import Beyond, Holds, Node, PayloadRow, Sort
from workbench.tui.signs import Signs

_DEEPEST = 12
_KEY = 20
_BEFORE_HIT = 12

_TONES = {
    Sort.HOLDS: Tone.FAINT,
    Sort.TEXT: Tone.TEXT,
    Sort.LINE: Tone.TEXT,
    Sort.SCALAR: Tone.TEXT,
    Sort.VECTOR: Tone.ACCENT,
    Sort.SECRET: Tone.WARN,
    Sort.LEFT_OUT: Tone.FAINT,
}


def payload_line(
    row: PayloadRow, width: int, signs: Signs, *, here: bool, pattern: re.Pattern[str] | None = None
) -> Line:
    """Draw one value; what holds others is marked as open or closed, what was searched for stands out."""
    node = row.node
    line = Line().to(2 * min(max(0, row.depth), _DEEPEST))
    if row.beyond is not None:
        return line.add("  ").add(f"{signs.more} {_beyond(row)}", Tone.FAINT).cut(width, signs.more)
    line.add(_fold(node, signs), Tone.MUTED).to(line.cells + (2 if node.holds is Holds.NOTHING else 1))
    room = width - line.cells
    if node.sort is Sort.LINE:
        return mark(line.add(clip(node.shown, room, signs.more), Tone.TEXT), pattern)
    start = line.cells
    line.add(clip(node.key, max(4, min(_KEY * 2, width // 2)), signs.more), Tone.MUTED, bold=here)
    if node.repeated is not None:
        line.add(f" {number(node.repeated[0])} of {number(node.repeated[1])}", Tone.WARN, bold=True)
    line.add("  " if node.key else "").to(start + min(_KEY, width // 4) if node.key else start)
    shown = node.shown
    if node.sort is Sort.VECTOR and cells(shown) > width - line.cells:
        shown = shown.replace(" dims", "", 1)
    text = _around(shown, pattern, width - line.cells, signs)
    return mark(line.add(clip(text, max(0, width - line.cells), signs.more), _TONES[node.sort]), pattern)


def _fold(node: Node, signs: Signs) -> str:
    if node.holds is Holds.NOTHING:
        return ""
    return signs.opened if node.open else signs.closed


def _around(text: str, pattern: re.Pattern[str] | None, room: int, signs: Signs) -> str:
    """Begin a text shortly before what was searched for where that would not be seen otherwise."""
    found = pattern.search(text) if pattern is not None else None
    if found is None or found.end() < room - 1:
        return text
    return signs.more + text[max(0, found.start() - _BEFORE_HIT) :]


def _beyond(row: PayloadRow) -> str:
    """Say what of the children is not there, and how it comes."""
    node = row.node
    if row.beyond is Beyond.BEFORE:
        return f"{number(node.first)} before, enter shows them from the first on"
    return f"more behind the first {number(node.first + len(node.children))}, enter shows them"


def payload_head(title: str, path: str, frame: Frame, said: str = "") -> Line:
    """Begin the payload: which step, and the way to the value under the cursor, which keeps its end."""
    room = max(8, frame.width // 2 - 6)
    fact = Line()
    if said:
        fact.add(said, Tone.WARN).add("  " if path else "")
    if path:
        fact.add("path ", Tone.FAINT)
        fact.add(clip_start(path, max(8, room - cells(said)), frame.signs.more), Tone.MUTED)
    shown = clip(title, max(8, frame.width - fact.cells - 6), frame.signs.more)
    assert cells(shown) <= frame.width
    return titled_rule(shown, frame.width, frame.signs.rule, fact=fact if fact.spans else None, focused=frame.focused)
