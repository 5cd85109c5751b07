"""The signs drawn on the screen, and their plain replacements for terminals and fonts that cannot show them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signs:
    """One set of signs. Every state has a sign of its own, so that no meaning rests on a colour alone.

    ``columns`` are the eight heights of a column chart, lowest first, ``lost_column`` a full cell of what was never
    read; ``state_cells`` is the width of the sign column.
    """

    ok: str = "✓"
    bad: str = "✗"
    warn: str = "!"
    unknown: str = "?"
    empty: str = "○"
    waiting: str = "·"
    reading: str = "…"
    clipped: str = "✂"
    differs: str = "≠"
    opened: str = "▾"
    closed: str = "▸"
    path: str = "›"
    cursor: str = "▌"
    bar: str = "━"
    half: str = "╸"
    track: str = "─"
    rule: str = "─"
    ceiling: str = "│"
    foot: str = "┴"
    dot: str = "·"
    dash: str = "–"
    more: str = "…"
    columns: str = "▁▂▃▄▅▆▇█"
    lost_column: str = "▒"
    lost_bar: str = "╍"
    cross: str = "┼"
    beyond: str = "›"
    cut: str = "╌"
    read_gutter: str = "▎"
    lost_gutter: str = "╎"
    sorted_up: str = "▴"
    sorted_down: str = "▾"
    asked: str = "◦"
    arrow: str = "→"
    state_cells: int = 1


UNICODE = Signs()

ASCII = Signs(
    ok="ok",
    bad="x",
    empty="o",
    waiting=".",
    reading="~",
    clipped="8<",
    differs="!=",
    opened="v",
    closed=">",
    path="/",
    cursor=">",
    bar="=",
    half="=",
    track="-",
    rule="-",
    ceiling="|",
    foot="+",
    dot="-",
    dash="-",
    more="..",
    columns=".:-=+*#@",
    lost_column="%",
    lost_bar=".",
    cross="+",
    beyond=">",
    cut="-",
    read_gutter="|",
    lost_gutter=":",
    sorted_up="^",
    sorted_down="v",
    asked="o",
    arrow="->",
    state_cells=2,
)
"""Seven-bit signs (``--ascii``), also taken where ambiguous characters are two cells wide."""
