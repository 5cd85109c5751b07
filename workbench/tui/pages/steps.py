"""Steps as rows: the name at its depth, its place in time, how long it took, and what came of it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.checkup.wording import counted, duration_text
from workbench.recordings.secrets import mask_text
from workbench.tui.draw import Line, Tone, cells, clip, number, wrap
from workbench.tui.pages.marking import mark
from workbench.tui.recorded import Recorded, StepRow
from workbench.tui.signs import Signs

if TYPE_CHECKING:
    from workbench.tui.step_tree import Choice

_DEEPEST = 8
_TICKS = 4
_TOOK = 9
_GAP = 2


@dataclass(frozen=True, slots=True)
class StepColumns:
    """Where each part of a row begins, in cells, and how wide the waterfall and the words at the end are."""

    name: int
    fall: int
    fall_cells: int
    took: int
    told: int
    told_cells: int


def step_columns(width: int) -> StepColumns:
    """Lay out the columns: the words at the end only where there is room for them."""
    told_cells = 20 if width >= 80 else 0
    name = min(40, max(18, width * 2 // 5 if not told_cells else width // 3))
    took = width - _TOOK - (told_cells + _GAP if told_cells else 0)
    fall_cells = max(0, took - _GAP - name - _GAP)
    return StepColumns(name, name + _GAP, fall_cells, took, took + _TOOK + _GAP, told_cells)


def axis_line(recorded: Recorded, width: int) -> Line:
    """Draw the times above the waterfall."""
    columns = step_columns(width)
    line = Line()
    span = recorded.ended_ms - recorded.began_ms
    if span > 0 and columns.fall_cells >= 12:
        tick = _tick(span)
        for at in range(_TICKS + 1):
            column = columns.fall + int(columns.fall_cells * at * tick / span)
            text = "0" if at == 0 else duration_text(at * tick)
            if at * tick <= span and column + cells(text) <= columns.fall + columns.fall_cells and line.cells < column:
                line.to(column).add(text, Tone.FAINT)
    return line.right(Line().add("took    ", Tone.FAINT), columns.took + _TOOK)


def _tick(span: float) -> float:
    """Give a round distance of ticks, at most four of them."""
    size = 10.0 ** math.floor(math.log10(span / _TICKS))
    return next((size * factor for factor in (1, 2, 5) if span / (size * factor) <= _TICKS), size * 10)


@dataclass(frozen=True, slots=True)
class StepLook:
    """How a row stands among those that are seen.

    Attributes:
        depth: how far it is indented.
        open: whether what is part of it is shown; None where nothing is part of it, or folding means nothing.
        inside: how many steps are folded away in it, and how many of those failed.
        pattern: what was searched for.
    """

    depth: int
    open: bool | None = None
    inside: tuple[int, int] = (0, 0)
    pattern: re.Pattern[str] | None = None


def step_line(row: StepRow, recorded: Recorded, width: int, signs: Signs, look: StepLook, *, here: bool) -> Line:
    """Draw one step."""
    columns = step_columns(width)
    sign, tone = _sign_of(row, recorded, signs)
    indent = 2 * min(look.depth, _DEEPEST)
    line = Line().to(indent)
    if look.open is not None:
        line.add(signs.opened if look.open else signs.closed, Tone.MUTED).add(" ")
        if look.inside[1] and not sign:
            sign, tone = signs.bad, Tone.ERROR
        if sign:
            line.add(sign, tone, bold=True).add(" ")
    else:
        line.add(sign, tone, bold=True).to(indent + signs.state_cells + 1)
    quiet = not (row.is_parent or row.failed or row.retrieval is not None or here)
    name = clip(step_name(row), max(4, columns.name - line.cells), signs.more)
    mark(line.add(name, Tone.MUTED if quiet else Tone.TEXT, bold=here or row.is_parent), look.pattern)
    line.to(columns.fall).extend(_fall(row, recorded, columns.fall_cells, signs).spans)
    line.to(columns.took).extend(_took(row).spans)
    if columns.told_cells:
        told, told_tone = _told(row, recorded, signs)
        if look.open is False and not told:
            told, told_tone = _folded_in(look.inside)
        line.to(columns.told).add(clip(told, columns.told_cells, signs.more), told_tone, bold=row.failed)
    return line


def hidden_fact(choice: Choice, seen: int, rows: int, any_failed: bool) -> Line:
    """Say how many steps there are, and what of them is not seen."""
    fact = Line()
    if choice.filters:
        fact.add(f"{number(seen)} of {counted(rows, 'step')}", Tone.WARN)
        if choice.errors_only:
            fact.add("; failed only", Tone.MUTED)
        if choice.hidden:
            fact.add(f"; {', '.join(sorted(map(mask_text, choice.hidden)))} hidden", Tone.MUTED)
        return fact
    if choice.errors_first:
        return fact.add("errors first" if any_failed else "no step failed", Tone.MUTED)
    return fact.add(counted(rows, "step"), Tone.FAINT)


def _folded_in(inside: tuple[int, int]) -> tuple[str, Tone]:
    steps, failed = inside
    return (
        (f"{counted(steps, 'step')}, {number(failed)} failed", Tone.ERROR)
        if failed
        else (
            counted(steps, "step"),
            Tone.FAINT,
        )
    )


def step_name(row: StepRow) -> str:
    """Give the kind and the name of a step, a name that says its kind only once; secrets masked."""
    step = row.step
    name = " ".join(mask_text(step.name).split())
    kind = mask_text(step.kind)
    said = name if kind == "span" or name.casefold().startswith(kind.casefold()) else f"{kind} {name}"
    return f"{said} (its parent is not recorded)" if step.orphan else said


def failure_lines(row: StepRow, width: int, signs: Signs, at_most: int) -> list[Line]:
    """Say in the words of the recording why a step failed; the whole of it stands in its payload."""
    rows = wrap(_failure(row), max(10, width - 2))
    lines = [Line().add("  ").add(text, Tone.ERROR) for text in rows[:at_most]]
    if len(rows) > at_most:
        lines[-1].add(f" {signs.more}", Tone.ERROR).cut(width, signs.more)
    lines[0] = Line().add(f"{signs.bad} ", Tone.ERROR, bold=True).add(rows[0], Tone.ERROR).extend(lines[0].spans[2:])
    return lines


def _failure(row: StepRow) -> str:
    return " ".join(mask_text(row.step.error or "failed").split())


def _sign_of(row: StepRow, recorded: Recorded, signs: Signs) -> tuple[str, Tone]:
    if row.failed:
        return signs.bad, Tone.ERROR
    if row.retrieval is not None:
        joined = recorded.retrievals[row.retrieval]
        if joined.space is not None:
            return signs.differs, Tone.WARN
        if any(chunk is not None and chunk.clipped for chunk in joined.chunks):
            return signs.clipped, Tone.WARN
    return (signs.unknown, Tone.WARN) if row.step.status == "unfinished" else ("", Tone.MUTED)


def _fall(row: StepRow, recorded: Recorded, width: int, signs: Signs) -> Line:
    """Place a step in time, in half cells; something is never none, and what has no time has no bar."""
    step, span = row.step, recorded.ended_ms - recorded.began_ms
    line = Line()
    if step.start_ms is None or not math.isfinite(step.start_ms) or span <= 0 or width <= 0:
        return line
    first = min(width - 1, int(width * (step.start_ms - recorded.began_ms) / span))
    halves = max(1, min(2 * (width - first), round(2 * width * (step.duration_ms or 0.0) / span)))
    tone = Tone.ERROR_FILL if row.failed else _tone(row)
    full, half = divmod(halves, 2)
    if row.is_parent and not row.failed:
        return line.to(first).add(signs.rule * (full + half), tone)
    return line.to(first).add(signs.bar * full, tone).add(signs.half * half, tone)


def _tone(row: StepRow) -> Tone:
    if row.is_parent:
        return Tone.FAINT
    if row.retrieval is not None:
        return Tone.ACCENT
    return Tone.DATA if row.step.kind in ("llm", "chat", "generation", "embedding", "tool") else Tone.MUTED


def _took(row: StepRow) -> Line:
    """Put the number flush right before its unit, and the unit in a column of its own."""
    took = row.step.duration_ms
    if took is None:
        return Line()
    value, _, unit = duration_text(took).partition(" ")
    if " " in unit:
        return Line().add(duration_text(took)[:_TOOK], Tone.MUTED)
    return Line().to(max(0, 5 - cells(value))).add(value, bold=row.is_parent).add(f" {unit}", Tone.MUTED)


def _tokens(row: StepRow, signs: Signs) -> str:
    """Say how many tokens a model read and wrote."""
    read, wrote = row.step.tokens
    if read is None and wrote is None:
        return ""
    return f"{'?' if read is None else number(read)} {signs.arrow} {'?' if wrote is None else number(wrote)} tok"


def _told(row: StepRow, recorded: Recorded, signs: Signs) -> tuple[str, Tone]:
    if row.failed:
        return _failure(row), Tone.ERROR
    if row.step.status == "unfinished":
        return "unfinished", Tone.WARN
    if row.retrieval is not None:
        retrieval = recorded.retrievals[row.retrieval].retrieval
        if retrieval.candidates is None:
            return "candidates not kept", Tone.MUTED
        kept = sum(each.admitted is not False for each in retrieval.candidates)
        return f"{number(kept)} of {number(len(retrieval.candidates))} kept", Tone.FAINT
    return _tokens(row, signs), Tone.FAINT
