"""What the wrong model wrote, namespace by namespace; and what another configuration would have made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING

from workbench.checkup.wording import counted
from workbench.tui.draw import Ground, Line, Tone, cells, clip, number, short_fingerprint, titled_rule
from workbench.tui.pages.parts import Frame, share_bar
from workbench.tui.pages.replay_words import span_text, threshold_text

if TYPE_CHECKING:
    from workbench.crosscheck.ledger import ContaminatedRows
    from workbench.routing.ledger import LedgerRow
    from workbench.routing.replay import Replay
    from workbench.routing.what_if import Range, WhatIf
    from workbench.tui.signs import Signs


_TITLE = "Written by the wrong model"


class Kind(StrEnum):
    """What a row of the ledger tells of a namespace."""

    VECTORS = "vectors"
    QUERIES = "queries across spaces"
    MISSING = "without a vector"
    CLEAN = "none"


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: which namespace, and what of it."""

    row: LedgerRow
    kind: Kind


def entries_of(replay: Replay) -> tuple[Entry, ...]:
    """Give the rows of the ledger, namespaces with most foreign vectors first."""
    found = []
    for row in sorted(replay.ledger.rows, key=lambda row: (-row.foreign_vectors, -row.cross_space_queries)):
        kinds = [
            kind
            for kind, count in (
                (Kind.VECTORS, row.foreign_vectors),
                (Kind.QUERIES, row.cross_space_queries),
                (Kind.MISSING, row.missing),
            )
            if count
        ]
        found += [Entry(row, kind) for kind in kinds or [Kind.CLEAN]]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Columns:
    name: int
    made: int
    own: int
    foreign: int
    share: int
    calls: int


def _columns(entries: Sequence[Entry], width: int, signs: Signs) -> _Columns:
    """Where each column begins or, of numbers, ends: names and calls take what they need, up to a limit."""
    longest = max((cells(entry.row.namespace) for entry in entries), default=0)
    calls = max((cells(_calls(entry.row, signs.dash)) for entry in entries), default=0)
    share = 14 if width >= 80 else 10
    foreign = width - max(5, calls) - 2 - share - 3
    name = signs.state_cells + 1
    return _Columns(name, min(max(11, longest + 2) + name, width // 3), foreign - 9, foreign, share, width)


def ledger_lines(
    replay: Replay, entries: Sequence[Entry], selected: int, room: int, frame: Frame, *, focused: bool
) -> tuple[list[Line], list[int]]:
    """Draw title, heads and rows in at most ``room`` lines, and give of each line behind the title its entry, or -1."""
    signs, width = frame.signs, frame.width
    foreign = sum(row.foreign_vectors for row in replay.ledger.rows)
    spaces = sum(1 for row in replay.ledger.rows if row.contaminated)
    if not replay.ledger.rows:
        said = "the log names no namespace, so where vectors went cannot be told"
        return [titled_rule("Written", width, signs.rule), Line().add(said, Tone.MUTED)][:room], [-1]
    fact = Line().add(number(foreign), Tone.ERROR if foreign else Tone.OK, bold=True)
    fact.add(f" vector{'' if foreign == 1 else 's'}", Tone.MUTED)
    where = f" in {counted(spaces, 'namespace')}"
    if spaces and cells(_TITLE) + fact.cells + cells(where) + 2 <= width:
        fact.add(where, Tone.MUTED)
    lines = [titled_rule(_TITLE, width, signs.rule, fact=fact)]
    columns, places = _columns(entries, width, signs), []
    if frame.roomy:
        lines.append(_heads(columns))
        places.append(-1)
    fits = max(1, room - len(lines))
    top = min(max(0, selected - fits // 2), max(0, len(entries) - fits))
    shown = entries[top : top + fits]
    for place, entry in enumerate(shown, top):
        lines.append(_row(entry, columns, frame, here=place == selected and len(entries) > 0, focused=focused))
        places.append(place)
    left = len(entries) - len(shown)
    if left and len(shown) > 1:
        lines[-1] = Line().to(columns.name).add(f"{signs.more} {number(left + 1)} more rows", Tone.FAINT)
    return lines, places


def _heads(columns: _Columns) -> Line:
    line = Line().to(columns.name).add("namespace", Tone.FAINT).to(columns.made).add("served by", Tone.FAINT)
    line.to(columns.own - 3).add("own", Tone.FAINT).to(columns.foreign - 7).add("foreign", Tone.FAINT)
    return line.to(columns.foreign + 3).add("share", Tone.FAINT).to(columns.calls - 5).add("calls", Tone.FAINT)


def _row(entry: Entry, columns: _Columns, frame: Frame, *, here: bool, focused: bool) -> Line:
    signs, row = frame.signs, entry.row
    line = Line(Ground.PLAIN if not here else Ground.CURSOR if focused else Ground.CURSOR_BLURRED)
    sign, tone = {
        Kind.VECTORS: (signs.bad, Tone.ERROR),
        Kind.QUERIES: (signs.warn, Tone.WARN),
        Kind.MISSING: (signs.warn, Tone.WARN),
        Kind.CLEAN: (signs.ok, Tone.OK),
    }[entry.kind]
    line.add(sign, tone, bold=True).to(columns.name)
    name = columns.made - columns.name - 1
    line.add(clip(row.namespace, name, signs.more), Tone.TEXT, bold=here).to(columns.made)
    last = columns.own - 8 if entry.kind in (Kind.VECTORS, Kind.CLEAN) else columns.foreign - 8
    line.add(_made(entry, last - columns.made, signs.more), Tone.MUTED)
    count, of = {
        Kind.VECTORS: (row.foreign_vectors, row.native + row.foreign_vectors),
        Kind.QUERIES: (row.cross_space_queries, 0),
        Kind.MISSING: (row.missing, 0),
        Kind.CLEAN: (0, 0),
    }[entry.kind]
    own = number(row.native) if entry.kind in (Kind.VECTORS, Kind.CLEAN) else ""
    line.to(columns.own - cells(own)).add(own, Tone.MUTED)
    shown = number(count)
    line.to(columns.foreign - cells(shown)).add(shown, tone if count else Tone.MUTED, bold=count > 0)
    if of:
        line.to(columns.foreign + 3).extend(share_bar(count, of, Tone.ERROR_FILL, signs, columns.share).spans)
    calls = _calls(row, signs.dash) if entry.kind in (Kind.VECTORS, Kind.QUERIES) else ""
    if columns.calls - cells(calls) > line.cells:
        line.to(columns.calls - cells(calls)).add(calls, Tone.MUTED)
    return line.to(frame.width)


def _made(entry: Entry, room: int, more: str) -> str:
    if entry.kind is not Kind.VECTORS:
        return clip(str(entry.kind), room, more)
    made = [each for each in entry.row.foreign if each.vectors]
    if not made:
        return "another model"
    others = f" +{len(made) - 1}" if len(made) > 1 else ""
    return short_fingerprint(made[0].fingerprint, room - len(others), more) + others


def _calls(row: LedgerRow, dash: str) -> str:
    if row.first_call is None or row.last_call is None:
        return ""
    if row.first_call == row.last_call:
        return number(row.first_call)
    return f"{number(row.first_call)} {dash} {number(row.last_call)}"


def keys_hint(entry: Entry, joined: Sequence[ContaminatedRows], looked_up: bool, width: int, more: str) -> Line | None:
    """Say what ``enter`` opens, and which of the keys are rows of an open index."""
    keys = len(entry.row.keys)
    if not keys:
        return None
    line = Line().add("enter", Tone.ACCENT, bold=True).add(f" list {counted(keys, 'key')}", Tone.MUTED)
    for rows in joined:
        if rows.ledger.namespace != entry.row.namespace:
            continue
        if rows.ids and rows.source is not None:
            line.add("   ").add(number(len(rows.ids)), Tone.ERROR, bold=True)
            line.add(f" in {PurePath(rows.source).name} › {rows.namespace}", Tone.MUTED)
        elif looked_up:
            line.add("   none of them in an open index", Tone.FAINT)
    if not looked_up:
        line.add("   open the index as well to see them in its Chunks", Tone.FAINT)
    return line.cut(width, more)


@dataclass(frozen=True, slots=True)
class Tried:
    """What is tried instead of what the log says; None for what stays."""

    threshold: float | None = None
    cooldown_ms: float | None = None

    @property
    def nothing(self) -> bool:
        """Whether all stays as it was."""
        return self.threshold is None and self.cooldown_ms is None


NOTHING_TRIED = Tried()


def what_if_lines(replay: Replay, tried: Tried, answer: WhatIf | None, frame: Frame) -> list[Line]:
    """Say what is tried, and the difference that it makes; a range where nobody knows."""
    signs, config = frame.signs, replay.config
    line = Line().add("" if frame.roomy else "what if ", Tone.ACCENT)
    if tried.nothing:
        line.add("t", Tone.ACCENT, bold=True).add(" another threshold, ", Tone.MUTED)
        return [line.add("c", Tone.ACCENT, bold=True).add(" another cooldown: what would have happened", Tone.MUTED)]
    gap = "   " if frame.roomy else " "
    for name, value, before, after in (
        ("threshold", tried.threshold, config.failure_streak_threshold, threshold_text),
        ("cooldown", tried.cooldown_ms, config.cooldown_ms, span_text),
    ):
        if value is not None:
            changed = f"{after(before)} {signs.arrow} {after(value)}" if frame.roomy else after(value)
            line.add(f"{name} ", Tone.MUTED).add(changed, Tone.ACCENT, bold=True).add(gap)
    if answer is None:
        return [line.add(f"asking {signs.more}", Tone.ACCENT)]
    parts = [
        _difference("switches", answer.logged.switches, answer.switches, frame),
        _difference("foreign vectors" if frame.roomy else "foreign", answer.logged.foreign_vectors,
                    answer.foreign_vectors, frame),
    ]  # fmt: skip
    if answer.logged.cross_space_queries or answer.cross_space_queries.high:
        parts.append(_difference("across", answer.logged.cross_space_queries, answer.cross_space_queries, frame))
    together = line.cells + sum(part.cells + len(gap) for part in parts) <= frame.width
    lines = [line] if together else [line, Line().add("" if frame.roomy else "        ")]
    for place, part in enumerate(parts):
        lines[-1].add(("   " if len(lines) > 1 else gap) if place else "").extend(part.spans)
    return [each.cut(frame.width, signs.more) for each in lines]


def _difference(name: str, before: int, after: Range, frame: Frame) -> Line:
    better, worse = after.high < before, after.low > before
    tone = Tone.OK if better else Tone.ERROR if worse else Tone.TEXT
    line = Line().add(f"{name} ", Tone.MUTED).add(f"{number(before)} {frame.signs.arrow} ", Tone.MUTED)
    return line.add(str(after), tone, bold=True)


def what_if_note(answer: WhatIf | None, width: int, more: str) -> Line | None:
    """Say why a number is a range, or cannot be told."""
    if answer is None:
        return None
    assumed = max(answer.if_ok.assumed, answer.if_failed.assumed)
    if not answer.fallback_known:
        return (
            Line()
            .add("the log never shows what the fallback makes: foreign vectors cannot be told", Tone.FAINT)
            .cut(width, more)
        )
    if not assumed:
        return None
    said = f"in {counted(assumed, 'call')} the primary was skipped: from always answered to always failed"
    return Line().add(said, Tone.FAINT).cut(width, more)
