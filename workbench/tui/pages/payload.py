"""One value of a payload as a row: its key at its depth, and the value in a tone of its own."""

from __future__ import annotations

from workbench.tui.draw import Line, Tone, cells, clip, clip_start, titled_rule
from workbench.tui.pages.parts import Frame
from workbench.tui.payload import PayloadRow, Sort
from workbench.tui.signs import Signs

_DEEPEST = 12
_KEY = 20

_TONES = {
    Sort.HOLDS: Tone.FAINT,
    Sort.TEXT: Tone.TEXT,
    Sort.SCALAR: Tone.TEXT,
    Sort.VECTOR: Tone.ACCENT,
    Sort.SECRET: Tone.WARN,
    Sort.LEFT_OUT: Tone.FAINT,
}


def payload_line(row: PayloadRow, width: int, signs: Signs, *, here: bool) -> Line:
    """Draw one value; what holds others is marked as open."""
    line = Line().to(2 * min(row.depth, _DEEPEST))
    line.add(signs.opened if row.sort is Sort.HOLDS else " ", Tone.MUTED).add(" ")
    if row.sort is Sort.LEFT_OUT:
        return line.add(f"{signs.more} {row.text}", Tone.FAINT).cut(width, signs.more)
    start = line.cells
    line.add(clip(row.key, max(4, min(_KEY * 2, width // 2)), signs.more), Tone.MUTED, bold=here)
    line.add("  ").to(start + min(_KEY, width // 4))
    return line.add(clip(row.text, max(0, width - line.cells), signs.more), _TONES[row.sort])


def payload_head(title: str, path: str, frame: Frame) -> Line:
    """Begin the payload: which step, and the way to the value under the cursor, which keeps its end."""
    room = max(8, frame.width // 2 - 6)
    fact = Line()
    if path:
        fact.add("path ", Tone.FAINT).add(clip_start(path, room, frame.signs.more), Tone.MUTED)
    shown = clip(title, max(8, frame.width - fact.cells - 6), frame.signs.more)
    assert cells(shown) <= frame.width
    return titled_rule(shown, frame.width, frame.signs.rule, fact=fact if path else None, focused=frame.focused)
