"""The routing replay as one page: verdict, lanes, ribbons, the state at a call, warnings, ledger, what-if."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.checkup.findings import Severity
from workbench.checkup.routing_wording import fit_text, moment, verdicts
from workbench.checkup.wording import counted
from workbench.routing.opening import NATIVE
from workbench.tui.draw import Ground, Line, Tone, cells, clip, number, titled_rule, wrap
from workbench.tui.pages.parts import Frame
from workbench.tui.pages.replay_lanes import LABEL, axis, cursor_line, fallback_segments, lanes, ribbon
from workbench.tui.pages.replay_ledger import (
    NOTHING_TRIED,
    Entry,
    Tried,
    keys_hint,
    ledger_lines,
    what_if_lines,
    what_if_note,
)
from workbench.tui.pages.replay_state import call_lines, warning_lines
from workbench.tui.pages.replay_words import clock_text, span_text, threshold_text

if TYPE_CHECKING:
    from workbench.routing.fitting import Fit
    from workbench.routing.replay import Replay, ReplayedCall
    from workbench.routing.what_if import WhatIf
    from workbench.tui.replay_cells import Bytes, Cells
    from workbench.tui.routed import Routed

_FINE_MS = 10_000.0
_BOX_ROWS = 5
_ROOMY_BOX_ROWS = 7
_LEDGER_ROWS, _ROOMY_LEDGER_ROWS = 4, 6
"""How much room the ledger, with its title, is left at least."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Everything that the page says.

    Attributes:
        routed: the log; ``replay`` is its own replay, or that under a fitted configuration (``applied``).
        call: where the cursor is.
        cells: the calls that are seen, summed up for the width there is.
        entries, entry: rows of the ledger, and the one that is chosen.
        playing: the pace in words, "paused" when it stands.
        tried, answer, answer_modes: what is tried instead, and what came of it.
        fit: a configuration that fits the log better.
        said: whether all sentences stand in the place of the lower half, ``scroll`` of them out of sight.
    """

    routed: Routed
    replay: Replay
    call: ReplayedCall
    cells: Cells
    entries: tuple[Entry, ...]
    entry: int = 0
    playing: str = "paused"
    tried: Tried = NOTHING_TRIED
    answer: WhatIf | None = None
    answer_modes: Bytes | None = None
    fit: Fit | None = None
    applied: bool = False
    said: bool = False
    scroll: int = 0


@dataclass(slots=True)
class Painted:
    """Finished lines, and what stands where, for the mouse.

    Attributes:
        lines: the rows.
        lanes: rows on which a click means a call.
        warnings: of a row the call of the warning that stands there, from the column ``warnings_at`` on.
        entries: of a row the entry of the ledger.
    """

    lines: list[Line] = field(default_factory=list)
    lanes: range = range(0)
    warnings: dict[int, int] = field(default_factory=dict)
    warnings_at: int = 0
    entries: dict[int, int] = field(default_factory=dict)


def replay_page(shown: Shown, frame: Frame, *, upper_only: bool = False) -> Painted:
    """Draw the page; ``upper_only`` leaves out whatever is below the lanes."""
    painted = Painted()
    lines = painted.lines
    if frame.roomy:
        lines.append(Line())
    lines.append(facts_line(shown, frame))
    if frame.roomy:
        lines.append(Line())
    headline = [] if upper_only else headline_lines(shown, frame)
    lines += headline
    if headline and frame.roomy:
        lines.append(Line())
    begin = len(lines)
    lines += _upper(shown, frame)
    painted.lanes = range(begin, len(lines))
    if upper_only:
        return painted
    if frame.roomy:
        lines.append(Line())
    if shown.said:
        lines += _said(shown, frame, frame.height - len(lines))
    else:
        _lower(shown, frame, painted)
    return painted


def facts_line(shown: Shown, frame: Frame) -> Line:
    """Say how many calls there are, under which configuration, and the worst at the right."""
    replay, signs = shown.replay, frame.signs
    config, calls = replay.config, replay.count
    line = Line().add(number(calls), bold=True).add(" call" if calls == 1 else " calls", Tone.MUTED)
    tone = Tone.ACCENT if shown.applied else Tone.MUTED
    for text in (
        f"threshold {threshold_text(config.failure_streak_threshold)}",
        f"cooldown {span_text(config.cooldown_ms)}",
    ):
        line.add(f" {signs.dot} ", Tone.FAINT).add(text, tone)
    if shown.applied:
        line.add(" fitted", Tone.ACCENT, bold=True)
    tail = _counts(shown, frame, brief=False)
    if line.cells + tail.cells + 2 > frame.width:
        tail = _counts(shown, frame, brief=True)
    log = shown.routed.log.format
    if log != NATIVE and line.cells + cells(log) + 3 + tail.cells + 2 <= frame.width:
        line.add(f" {signs.dot} ", Tone.FAINT).add(log, Tone.MUTED)
    return line.right(tail, frame.width)


def _counts(shown: Shown, frame: Frame, *, brief: bool) -> Line:
    """Count what is wrong, the worst last; ``brief`` names only the worst."""
    signs, replay = frame.signs, shown.replay
    foreign = sum(row.foreign_vectors for row in replay.ledger.rows)
    counts = [
        (count, sign, one if count == 1 else many, tone)
        for count, sign, one, many, tone in (
            (len(shown.routed.doubts), signs.unknown, "doubt", "doubts", Tone.MUTED),
            (len(replay.transition_calls), signs.warn, "switch", "switches", Tone.WARN),
            (len(replay.divergences), signs.bad, "diverges", "diverge", Tone.ERROR),
            (foreign, signs.differs, "vector", "vectors", Tone.ERROR),
        )
        if count
    ]
    tail = Line()
    for place, (count, sign, word, tone) in enumerate(counts):
        tail.add("   " if place else "").add(f"{sign} ", tone, bold=True).add(number(count), tone, bold=True)
        if not brief or place == len(counts) - 1:
            tail.add(f" {word}", tone, bold=True)
    return tail if counts else tail.add(f"{signs.ok} ", Tone.OK, bold=True).add("went as configured", Tone.OK)


def headline_lines(shown: Shown, frame: Frame) -> list[Line]:
    """Say where log and machine part: at this call, else first; with the configuration that would fit."""
    replay, signs, width = shown.replay, frame.signs, frame.width
    first = replay.first_divergence
    if first is None or first.divergence is None:
        return []
    call, count = shown.call, len(replay.divergences)
    here = call.divergence is not None
    which = f"call {number(call.n if here else first.n)}"
    if count > 1:
        place = int(replay.divergences.searchsorted(call.n)) + 1 if here else 1
        which += f", {number(place)} of {number(count)}" if place > 1 else f", first of {number(count)}"
    rows = wrap(f"{which}: {call.divergence if here else first.divergence}", width - signs.state_cells - 3)
    most = 3
    if len(rows) > most:
        rows = [*rows[: most - 1], clip(f"{rows[most - 1]} {signs.more}", width - 4, signs.more)]
    lines = []
    for place, row in enumerate(rows):
        line = Line(Ground.BAD).add(signs.bad if place == 0 else "", Tone.ERROR, bold=True).to(signs.state_cells + 1)
        lead = which if place == 0 else ""
        lines.append(line.add(lead, Tone.ERROR, bold=True).add(row.removeprefix(lead)))
    offer = _offer(shown, frame)
    return [*lines, offer] if offer is not None else lines


def _offer(shown: Shown, frame: Frame) -> Line | None:
    fit = shown.fit
    if fit is None or shown.applied:
        return None
    left = (
        "nothing diverges"
        if not fit.divergences
        else f"{number(fit.divergences)} of {number(fit.before)} still diverge"
    )
    dialect = _dialect(fit)
    line = Line(Ground.ACTION).add("a", Tone.ACCENT, bold=True).add(" hold it against ", Tone.MUTED)
    line.add(f"threshold {threshold_text(fit.threshold)}, cooldown {span_text(fit.cooldown_ms)}", bold=True)
    return line.add(f"{dialect}, as fitted: {left}", Tone.MUTED).cut(frame.width, frame.signs.more)


def _dialect(fit: Fit) -> str:
    from workbench.checkup.routing_json import dialect_names

    names = dialect_names(fit.dialect)
    return f", {', '.join(names)}" if names else ""


def _upper(shown: Shown, frame: Frame) -> list[Line]:
    signs, width = frame.signs, frame.width
    replay, cells_ = shown.replay, shown.cells
    grid = cells_.grid
    at = grid.cell_of(shown.call.n)
    lines = [titled_rule("Replay", width, signs.rule, fact=_scale_fact(shown, frame), focused=frame.focused)]
    columns = replay.columns
    begun, ended = float(columns.started_ms[0]), float(columns.ended_ms[-1])
    said = f"call {number(shown.call.n)} {signs.dot} {_when(shown.call.at_ms, begun, ended)}"
    lines.append(cursor_line(said, grid, at, width, signs))
    lines += lanes(cells_, at, 2 if frame.roomy else 1, signs, gaps=frame.roomy and frame.height >= 36)
    told = [_lasted(replay, *each) for each in fallback_segments(cells_.did, grid)]
    lines.append(ribbon("it did", Tone.MUTED, cells_.did, told, cells_.diverges.astype("uint8"), grid, at, signs))
    if shown.answer_modes is not None:
        modes = shown.answer_modes
        told = [_lasted(replay, *each) for each in fallback_segments(modes, grid)]
        lines.append(ribbon("what if", Tone.ACCENT, modes, told, None, grid, at, signs))
    else:
        line = Line().add("what if", Tone.FAINT if shown.tried.nothing else Tone.ACCENT).to(LABEL)
        if not shown.tried.nothing:
            line.add(f" asking {signs.more}", Tone.ACCENT)
        elif frame.roomy:
            line.add(signs.dot * grid.cells, Tone.RULE)
        else:
            line.add("t", Tone.ACCENT, bold=True).add(" another threshold, ", Tone.FAINT)
            line.add("c", Tone.ACCENT, bold=True).add(" another cooldown", Tone.FAINT)
        lines.append(line)
    if frame.roomy:
        lines.append(axis(grid, at, signs))
    return lines


def _lasted(replay: Replay, first: int, last: int) -> str:
    """Give how long the fallback served, from the first of these calls to the one behind the last."""
    times = replay.columns.started_ms
    lasted = float(times[min(last, replay.count - 1)] - times[first - 1])
    return clock_text(lasted) if lasted >= 1_000 else ""


def _scale_fact(shown: Shown, frame: Frame) -> Line:
    signs, grid = frame.signs, shown.cells.grid
    columns = shown.replay.columns
    window = grid.window
    begun, ended = float(columns.started_ms[window.first]), float(columns.ended_ms[window.end - 1])
    span = f"{_when(begun, begun, ended)} {signs.dash} {_when(ended, begun, ended)} UTC"
    if grid.wide > 1 or grid.calls_a_cell <= 1:
        scale = f"{number(grid.wide)} cells = 1 call" if grid.wide > 1 else "1 cell = 1 call"
    else:
        scale = (
            f"1 cell ≈ {grid.calls_a_cell:,.1f} calls"
            if grid.calls_a_cell < 10
            else f"1 cell ≈ {grid.calls_a_cell:,.0f} calls"
        )
    if signs.state_cells > 1:
        scale = scale.replace("≈", "~")
    part = (
        "" if window.count == shown.replay.count else f"{number(window.first + 1)} {signs.dash} {number(window.end)}   "
    )
    fact = Line()
    if frame.width >= 74:
        fact.add(part, Tone.ACCENT).add(f"{span}   ", Tone.MUTED)
    fact.add(f"{scale}   ", Tone.FAINT)
    return fact.add(shown.playing, Tone.TEXT if shown.playing == "paused" else Tone.ACCENT, bold=True)


def _when(ms: float, begun: float, ended: float) -> str:
    """Write a time of day as finely as calls between two times ask for.

    With the day where they go on over midnight, with parts of a second where all of it took a few.
    """
    if moment(begun, date=True)[:10] != moment(ended, date=True)[:10]:
        return moment(ms, date=True)[5:16]
    return f"{moment(ms)}.{int(ms % 1_000):03}" if ended - begun < _FINE_MS else moment(ms)


def _lower(shown: Shown, frame: Frame, painted: Painted) -> None:
    lines, signs = painted.lines, frame.signs
    gap = 1 if frame.roomy else 0
    bottom = _what_if(shown, frame)
    room = frame.height - len(lines) - len(bottom)
    ledger = 1 + gap + max(1, len(shown.entries))
    hint = _hint(shown, frame)
    ledger += 1 if hint is not None and frame.roomy else 0
    most, kept = (_ROOMY_BOX_ROWS, _ROOMY_LEDGER_ROWS) if frame.roomy else (_BOX_ROWS, _LEDGER_ROWS)
    box = min(most, max(2, room - 1 - 2 * gap - min(ledger, kept)))
    spare = room - (1 + box + gap) - ledger - gap
    if spare > 0:
        box += min(spare, max(0, len(shown.replay.transition_calls) - box), 10)
    _boxes(shown, frame, painted, box)
    if frame.roomy:
        lines.append(Line())
    left = frame.height - len(lines) - len(bottom) - (1 if hint is not None and frame.roomy else 0)
    begin = len(lines)
    made, places = ledger_lines(shown.replay, shown.entries, shown.entry, max(2, left), frame, focused=frame.focused)
    lines += made
    painted.entries = {begin + 1 + row: place for row, place in enumerate(places) if place >= 0}
    if hint is not None and frame.roomy:
        lines.append(hint)
    lines += bottom
    doubts = shown.routed.doubts
    free = frame.height - len(lines) - 2
    if doubts and frame.roomy and free >= 2:
        lines.append(Line())
        lines.append(
            titled_rule(
                "Doubts",
                frame.width,
                signs.rule,
                fact=Line().add("v", Tone.ACCENT, bold=True).add(" all that is said", Tone.MUTED),
            )
        )
        rows = _sentences([(Tone.MUTED, signs.unknown, each) for each in doubts], frame)
        if len(rows) > free - 1:
            rows[free - 2] = Line().add(f"{rows[free - 2].text.rstrip()} {signs.more}", Tone.MUTED)
        lines += rows[: free - 1]


def _hint(shown: Shown, frame: Frame) -> Line | None:
    if not shown.entries:
        return None
    entry = shown.entries[shown.entry]
    return keys_hint(entry, shown.routed.joined, shown.routed.looked_up, frame.width, frame.signs.more)


def _boxes(shown: Shown, frame: Frame, painted: Painted, rows: int) -> None:
    """Put the state at the call and the warnings beside each other."""
    width = frame.width
    left = (30 if width < 82 else 36) if width >= 74 else width
    state = call_lines(shown.replay, shown.call, shown.answer, left, rows, frame)
    begin = len(painted.lines)
    if left == width:
        painted.lines += state
        return
    told = warning_lines(shown.replay, shown.call.n, width - left - 3, rows, frame)
    painted.warnings_at = left + 3
    painted.warnings = {begin + 1 + row: n for row, n in enumerate(told.calls)}
    for place in range(max(len(state), len(told.lines))):
        line = Line().extend(state[place].spans if place < len(state) else ())
        painted.lines.append(line.to(left + 3).extend(told.lines[place].spans if place < len(told.lines) else ()))


def _what_if(shown: Shown, frame: Frame) -> list[Line]:
    """Say what is tried and what came of it: a section, or one row where there is little room."""
    lines = what_if_lines(shown.replay, shown.tried, shown.answer, frame)
    if not frame.roomy:
        return [] if shown.tried.nothing else lines
    fact = Line().add("t", Tone.ACCENT, bold=True).add(" threshold   ", Tone.MUTED)
    fact.add("c", Tone.ACCENT, bold=True).add(" cooldown", Tone.MUTED)
    note = what_if_note(shown.answer, frame.width, frame.signs.more)
    title = titled_rule("What if", frame.width, frame.signs.rule, fact=fact)
    return [Line(), title, *lines, *([note] if note is not None else [])]


_SEVERITIES = {Severity.ERROR: Tone.ERROR, Severity.WARNING: Tone.WARN, Severity.INFO: Tone.MUTED, None: Tone.OK}


def _said(shown: Shown, frame: Frame, room: int) -> list[Line]:
    """Everything that is said of the log, in full."""
    signs = frame.signs
    marks = {Severity.ERROR: signs.bad, Severity.WARNING: signs.warn, Severity.INFO: signs.unknown, None: signs.ok}
    told = [(_SEVERITIES[severity], marks[severity], text) for severity, text in verdicts(shown.replay)]
    fitted = fit_text(shown.replay) if shown.fit is not None and not shown.applied else None
    told += [(Tone.ACCENT, signs.warn, fitted)] if fitted is not None else []
    told += [(Tone.MUTED, signs.unknown, text) for text in shown.routed.doubts]
    rows = _sentences(told, frame)
    fact = Line().add("v", Tone.ACCENT, bold=True).add(" back", Tone.MUTED)
    top = min(shown.scroll, max(0, len(rows) - room + 1))
    seen = rows[top : top + max(0, room - 1)]
    if seen and top + len(seen) < len(rows):
        seen[-1] = Line().add(f"  {signs.more} {counted(len(rows) - top - len(seen) + 1, 'more row')}", Tone.FAINT)
    return [titled_rule("All that is said", frame.width, signs.rule, fact=fact), *seen]


def _sentences(told: Sequence[tuple[Tone, str, str]], frame: Frame) -> list[Line]:
    lines = []
    lead = frame.signs.state_cells + 1
    for tone, sign, text in told:
        for place, row in enumerate(wrap(text, frame.width - lead)):
            line = Line().add(sign if place == 0 else "", tone, bold=True).to(lead)
            lines.append(line.add(row, Tone.TEXT if tone in (Tone.ERROR, Tone.WARN) else Tone.MUTED))
    return lines


def cells_wide(width: int) -> int:
    """Give how many cells the lanes have in a width."""
    return max(8, width - LABEL)
