"""What happened to the file of a recording since it was read, in one row with the keys that answer it."""

from __future__ import annotations

from workbench.tui.draw import Line, Tone
from workbench.tui.signs import Signs
from workbench.tui.state import Source

_ROOM = 64
"""From so many columns on the keys say in whole words what they do."""


def news_line(source: Source, signs: Signs, width: int) -> Line | None:
    """Say it, or that the file is followed; None when nothing happened."""
    if not source.news and not source.followed:
        return None
    line, tail, roomy = Line(), Line(), width >= _ROOM
    if source.news:
        line.add(f"{signs.warn} ", Tone.WARN, bold=True).add(source.news)
        if not source.followed:
            tail.add("r", Tone.ACCENT, bold=True).add(" reads it again   " if roomy else " again  ", Tone.MUTED)
    else:
        line.add("following ", Tone.MUTED).add("new steps come as they are written", Tone.FAINT)
    does = " follows no more" if source.followed and roomy else " leave" if source.followed else " follow"
    tail.add("F", Tone.ACCENT, bold=True).add(does, Tone.MUTED)
    return line.cut(max(0, width - tail.cells - 2), signs.more).right(tail, width)
