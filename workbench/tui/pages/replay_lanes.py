"""The lanes of a replay as rows: what each leg did, what was written by whom, the ribbon of modes, the cursor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.tui.draw import Ground, Line, Span, Tone, cells, number
from workbench.tui.replay_cells import Bytes, Cells, Did, Grid, Ints, Mode
from workbench.tui.signs import Signs

LABEL = 11
"""Cells of the names of the lanes."""

_EIGHTHS = 8
_WORDS = {Mode.PRIMARY: "primary", Mode.FALLBACK: "fallback", Mode.BOTH: "both", Mode.UNKNOWN: "unknown"}
_TONES = {Mode.PRIMARY: Tone.OK, Mode.FALLBACK: Tone.WARN, Mode.BOTH: Tone.WARN, Mode.UNKNOWN: Tone.MUTED}
_GROUNDS = {Mode.PRIMARY: Ground.GOOD, Mode.FALLBACK: Ground.WARN, Mode.BOTH: Ground.WARN, Mode.UNKNOWN: Ground.ACTION}


@dataclass(frozen=True, slots=True)
class Mark:
    """One cell of a lane."""

    text: str
    tone: Tone
    bold: bool = False
    solid: bool = False
    ground: Ground | None = None


def legs(name: str, did: Bytes, fill: Tone, grid: Grid, at: int, signs: Signs) -> Line:
    """Draw what one leg did."""
    block = signs.columns[3]
    marks = {
        Did.NOTHING: Mark(signs.dot, Tone.RULE),
        Did.GAVE: Mark(block, fill),
        Did.SOME_FAILED: Mark(signs.warn, Tone.ERROR),
        Did.FAILED: Mark(signs.bad, Tone.ERROR),
    }
    return _lane(name, Tone.MUTED, [marks[Did(int(each))] for each in did], grid, at, signs)


def written(
    name: str, vectors: Ints, across: Bytes | None, most: int, fill: Tone, rows: int, grid: Grid, at: int, signs: Signs
) -> list[Line]:
    """Draw how many vectors were written, in columns; a query asked across spaces is a mark where none is."""
    rows = 1 if signs.state_cells > 1 else rows
    levels = np.ceil(vectors / max(1, most) * rows * _EIGHTHS).astype(np.int64)
    full = signs.columns[-1] if signs.state_cells == 1 else ""
    columns = [Mark(each, fill, solid=each == full) for each in signs.columns]
    asked = Mark(signs.asked, Tone.ERROR)
    lines = []
    for row in range(rows - 1, -1, -1):
        track = Mark(signs.dot, Tone.RULE) if row == 0 else Mark(" ", Tone.RULE)
        marks = []
        for place, level in enumerate(levels.tolist()):
            here = min(_EIGHTHS, level - row * _EIGHTHS)
            if here > 0:
                marks.append(columns[here - 1])
            elif row == 0 and across is not None and across[place]:
                marks.append(asked)
            else:
                marks.append(track)
        tone = Tone.ERROR if fill is Tone.ERROR_FILL and most and vectors.any() else Tone.MUTED
        lines.append(_lane(name if row == 0 else "", tone, marks, grid, at, signs))
    return lines


def _lane(name: str, tone: Tone, marks: list[Mark], grid: Grid, at: int, signs: Signs) -> Line:
    """Put the marks behind the name, each as wide as its group, the cursor through them."""
    spread = [mark for mark in marks for _ in range(grid.wide)]
    if 0 <= at < len(spread):
        here = spread[at]
        empty = here.text in (signs.dot, " ")
        spread[at] = Mark(signs.ceiling, Tone.ACCENT) if empty else Mark(here.text, Tone.TEXT, bold=True)
    line = Line().add(name, tone).to(LABEL)
    return line.extend(_runs(spread))


def _runs(marks: list[Mark]) -> list[Span]:
    """Join equal marks that follow one another."""
    spans: list[Span] = []
    begun = 0
    for place in range(1, len(marks) + 1):
        mark = marks[begun]
        if place == len(marks) or (marks[place] is not mark and marks[place] != mark):
            text = mark.text * (place - begun)
            spans.append(Span(text, mark.tone, mark.bold, solid=mark.solid, ground=mark.ground))
            begun = place
    return spans


def ribbon(
    name: str,
    name_tone: Tone,
    found: Bytes,
    told: list[str],
    diverges: Bytes | None,
    grid: Grid,
    at: int,
    signs: Signs,
) -> Line:
    """Draw the modes as segments with their word inside; ``told`` is said behind the word of each fallback's segment.

    A call that goes against the machine is a mark in it.
    """
    marks: list[Mark] = []
    spoken = iter(told)
    for begin, end in _segments(found):
        mode = Mode(int(found[begin]))
        tone, ground = _TONES[mode], _GROUNDS[mode]
        size = (end - begin) * grid.wide
        more = next(spoken, "") if mode is Mode.FALLBACK else ""
        text = _inside(_WORDS[mode], more, size - 1)
        # A segment of one cell has no room for more than its letter.
        marks.append(
            Mark(signs.ceiling, tone, ground=ground)
            if size > 1
            else Mark(_WORDS[mode][0], tone, bold=True, ground=ground)
        )
        inner = text.ljust(size - 1)
        marks += [Mark(each, tone, bold=True, ground=ground) for each in inner]
    if diverges is not None:
        for group in np.flatnonzero(diverges).tolist():
            place = group * grid.wide + grid.wide // 2
            marks[place] = Mark(signs.bad[0], Tone.ERROR, bold=True, ground=marks[place].ground)
    if 0 <= at < len(marks):
        here = marks[at]
        blank = here.text == " "
        marks[at] = Mark(signs.ceiling if blank else here.text, Tone.ACCENT, bold=not blank, ground=here.ground)
    return Line().add(name, name_tone).to(LABEL).extend(_runs(marks))


def _segments(found: Bytes) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(found.astype(np.int64), prepend=-1))
    return list(zip(edges.tolist(), [*edges[1:].tolist(), len(found)], strict=True))


def fallback_segments(found: Bytes, grid: Grid) -> list[tuple[int, int]]:
    """Give the first and the last call ``n`` of each segment of the fallback."""
    return [
        (int(grid.edges[begin]) + 1, int(grid.edges[end]))
        for begin, end in _segments(found)
        if found[begin] == Mode.FALLBACK
    ]


def _inside(word: str, more: str, room: int) -> str:
    for text in (f" {word} {more}" if more else "", f" {word}", word, word[:1]):
        if text and len(text) <= room:
            return text
    return ""


def axis(grid: Grid, at: int, signs: Signs) -> Line:
    """Write numbers below the calls: the first, the last, and round ones between."""
    first, last = grid.window.first + 1, grid.window.end
    line = Line().add("call", Tone.FAINT).to(LABEL)
    end = number(last)
    step = _round_step(last - first, max(1, grid.cells // 14))
    taken = 0
    for n in [first, *range((first // step + 1) * step, last, step)]:
        text, place = number(n), grid.cell_of(n) - (0 if n == first else grid.wide // 2)
        place = 0 if n == first else place
        if place < taken or place + cells(text) + 2 > grid.cells - cells(end):
            continue
        line.to(LABEL + place).add(text, Tone.FAINT)
        taken = place + cells(text) + 2
    if last > first:
        line.to(LABEL + grid.cells - cells(end)).add(end, Tone.FAINT)
    return line


def _round_step(span: int, parts: int) -> int:
    """Give a round number of calls between two numbers of the axis."""
    step = 1
    while span > parts * step:
        for factor in (1, 2, 5):
            if span <= parts * step * factor:
                return step * factor
        step *= 10
    return step


def cursor_line(said: str, grid: Grid, at: int, width: int, signs: Signs) -> Line:
    """Say which call it is beside the top of the cursor, on the side that has room."""
    line = Line().to(LABEL + at)
    if LABEL + at + 3 + cells(said) <= width:
        return line.add(signs.ceiling, Tone.ACCENT).add(f"  {said}", Tone.ACCENT, bold=True)
    line = Line().to(LABEL + at - cells(said) - 2)
    return line.add(f"{said}  ", Tone.ACCENT, bold=True).add(signs.ceiling, Tone.ACCENT)


def lanes(cells_: Cells, at: int, rows: int, signs: Signs, *, gaps: bool) -> list[Line]:
    """Draw the four lanes."""
    grid = cells_.grid
    most = int(max(cells_.own.max(initial=0), cells_.foreign.max(initial=0)))
    own = written("own", cells_.own, None, most, Tone.DATA, rows, grid, at, signs)
    across = cells_.across.astype(np.uint8)
    foreign = written("foreign", cells_.foreign, across, most, Tone.ERROR_FILL, rows, grid, at, signs)
    if across.any() and not cells_.foreign.any():
        foreign[-1].spans[0] = Span("foreign", Tone.ERROR)
    blank = [_lane("", Tone.MUTED, [Mark(" ", Tone.RULE)] * grid.groups, grid, at, signs)] if gaps else []
    return [
        legs("primary", cells_.primary, Tone.DATA, grid, at, signs),
        legs("fallback", cells_.fallback, Tone.WARN_FILL, grid, at, signs),
        *blank,
        *own,
        *foreign,
        *blank,
    ]
