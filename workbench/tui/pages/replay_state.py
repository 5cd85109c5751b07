"""The machine as it was at a call, and the warnings up to it: two boxes side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.checkup.routing_wording import moment
from workbench.checkup.wording import counted, verb
from workbench.core.routing import LastErrorKind, Leg, Phase
from workbench.tui.draw import Line, Tone, cells, clip, number, short_fingerprint, titled_rule, wrap
from workbench.tui.pages.parts import Frame, share_bar
from workbench.tui.pages.replay_words import clock_text, odd_text, threshold_text

if TYPE_CHECKING:
    from workbench.routing.replay import Replay, ReplayedCall, Transition
    from workbench.routing.what_if import WhatIf

LABEL = 11
_PHASES = {
    Phase.DEGRADED: "counting",
    Phase.UPSTREAM_OPEN: "its circuit is open",
    Phase.COOLDOWN: "cooldown",
    Phase.PROBE_DUE: "probe due",
}
_LEGS = {Leg.PRIMARY: "primary", Leg.FALLBACK: "fallback"}
_TONES = {Leg.PRIMARY: Tone.OK, Leg.FALLBACK: Tone.WARN}


def call_lines(
    replay: Replay, call: ReplayedCall, answer: WhatIf | None, width: int, rows: int, frame: Frame
) -> list[Line]:
    """Draw the state at a call: what matters most first, at most ``rows`` of it below the title."""
    signs = frame.signs
    odd = odd_text(call.flags)
    room = width - cells(f"At call {number(call.n)}") - 4
    fact = Line().add(clip(odd, room, signs.more), Tone.WARN) if odd and room > 8 else None
    lines = [
        _field("route", _route(call)),
        _field("streak", _streak(call)),
        _field("cooldown", _cooldown(call, width - LABEL, frame)),
        _field("served by", _served(call, width - LABEL, frame)),
        _field("last error", _last_error(call)),
        *([_field("what if", _if(call, answer))] if answer is not None else []),
        *_wrote(replay, call),
    ]
    if len(lines) > rows:
        lines = [line for place, line in enumerate(lines) if place != 3]
    kept = [line.cut(width, signs.more) for line in lines[:rows]]
    return [titled_rule(f"At call {number(call.n)}", width, signs.rule, fact=fact), *kept]


def _field(name: str, value: Line) -> Line:
    return Line().add(name, Tone.FAINT).to(LABEL).extend(value.spans)


def _route(call: ReplayedCall) -> Line:
    line = Line().add(_LEGS[call.state], _TONES[call.state], bold=True)
    phase = _PHASES.get(call.phase)
    return line.add(f", {phase}", Tone.MUTED) if phase else line


def _streak(call: ReplayedCall) -> Line:
    line = Line().add(number(call.streak), Tone.WARN if call.streak else Tone.MUTED, bold=call.streak > 0)
    return line.add(
        f" of {threshold_text(call.threshold)}", Tone.WARN if call.streak else Tone.MUTED, bold=call.streak > 0
    )


def _cooldown(call: ReplayedCall, room: int, frame: Frame) -> Line:
    left = call.cooldown_left_ms
    if call.fallback_until_ms is None:
        return Line().add("none", Tone.MUTED)
    if left <= 0:
        return Line().add("over", Tone.TEXT).add(", the primary is asked next", Tone.MUTED)
    line = Line().add(f"{clock_text(left)} left ", bold=True)
    size = min(14, room - line.cells)
    if size >= 4:
        line.extend(share_bar(min(round(left), round(max(1.0, call.cooldown_ms))), round(max(1.0, call.cooldown_ms)),
                              Tone.WARN_FILL, frame.signs, size).spans)  # fmt: skip
    return line


def _served(call: ReplayedCall, room: int, frame: Frame) -> Line:
    if call.served_by is None:
        asked = "a health check" if call.op.value == "healthcheck" else "nobody: both legs failed"
        return Line().add(
            asked if call.called else "nobody", Tone.MUTED if call.op.value == "healthcheck" else Tone.ERROR
        )
    leg = call.primary if call.served_by is Leg.PRIMARY else call.fallback
    made = "" if leg is None or leg.model is None else leg.model if leg.dims is None else f"{leg.model}@{leg.dims}"
    if not made:
        return Line().add(_LEGS[call.served_by]).add(", model not named", Tone.FAINT, italic=True)
    return Line().add(short_fingerprint(made, room, frame.signs.more))


def _last_error(call: ReplayedCall) -> Line:
    if call.last_error is None:
        return Line().add("none", Tone.MUTED)
    line = Line().add(call.last_error)
    if call.last_error_kind in (LastErrorKind.PRIMARY, LastErrorKind.FALLBACK):
        line.add(f", {call.last_error_kind.value}", Tone.MUTED)
    return line


def _if(call: ReplayedCall, answer: WhatIf) -> Line:
    place = call.n - 1
    if answer.unknown[place]:
        return Line().add("unknown", Tone.ACCENT, bold=True).add(": the primary was skipped", Tone.MUTED)
    rescuing = bool(answer.if_ok.rescuing[place])
    return Line().add("fallback" if rescuing else "primary", Tone.ACCENT)


def _wrote(replay: Replay, call: ReplayedCall) -> list[Line]:
    """Say what the call did to its namespace, and how much is contaminated by then."""
    from workbench.routing.ledger import Written

    did = Written(int(replay.ledger.written[call.n - 1]))
    count = int(replay.ledger.vectors[call.n - 1])
    totals = replay.ledger.totals_at(call.n)
    so_far = sum(each.foreign_same_dims + each.foreign_dims_mismatch for each in totals)
    lines = []
    where = f" into {call.namespace}" if call.namespace is not None else ""
    if did in (Written.NATIVE, Written.FOREIGN_SAME_DIMS, Written.FOREIGN_DIMS):
        foreign = did is not Written.NATIVE
        line = Line().add(number(count), Tone.ERROR if foreign else Tone.TEXT, bold=foreign)
        line.add(" foreign" if foreign else "", Tone.ERROR, bold=True).add(where, Tone.MUTED)
        lines.append(_field("wrote", line))
    elif did in (Written.ASKED, Written.ASKED_ACROSS):
        across = did is Written.ASKED_ACROSS
        line = Line().add("across spaces" if across else "a query", Tone.ERROR if across else Tone.TEXT, bold=across)
        lines.append(_field("asked", line.add(f" in {call.namespace}" if call.namespace else "", Tone.MUTED)))
    if call.missing:
        lines.append(_field("missing", Line().add(number(call.missing), Tone.WARN, bold=True)))
    of = sum(row.foreign_vectors for row in replay.ledger.rows)
    if of:
        tone = Tone.ERROR if so_far else Tone.MUTED
        lines.append(
            _field(
                "foreign", Line().add(number(so_far), tone, bold=so_far > 0).add(f" of {number(of)} so far", Tone.MUTED)
            )
        )
    return lines


def _warning(transition: Transition, room: int, arrow: str) -> str:
    """Give a warning in as many of its words as there is room for."""
    way = transition.warn.replace("->", f" {arrow} ")
    cause = transition.cause
    brief = cause.partition(", the last:")[0]
    shorter = brief.replace(" in a row", "").replace("the primary answered again", "recovered")
    for text in (f"{way}: {cause}", f"{way}: {brief}", f"{way}: {shorter}"):
        if cells(text) <= room:
            return text
    return f"{way}: {shorter}"


@dataclass(frozen=True, slots=True)
class WarningRows:
    """The lines, and of each below the title the call that it speaks of."""

    lines: list[Line]
    calls: list[int]


def warning_lines(replay: Replay, n: int, width: int, rows: int, frame: Frame) -> WarningRows:
    """Draw the warnings around call ``n``: those still to come are faint."""
    signs = frame.signs
    marked = replay.transition_calls
    passed = int(np.searchsorted(marked, n, "right"))
    total = len(marked)
    fact = Line().add(number(passed), Tone.MUTED).add(f" of {number(total)} so far", Tone.FAINT)
    title = titled_rule("Warnings", width, signs.rule, fact=fact if total else None)
    if not total:
        quiet = replay.served_unnoticed
        said = "no warning was due"
        if quiet:
            served = f"{counted(quiet, 'call')} {verb(quiet, 'was', 'were')} served by the fallback"
            said = f"no warning was due, though {served}"
        tone = Tone.WARN if quiet else Tone.MUTED
        return WarningRows([title, *(Line().add(row, tone) for row in wrap(said, width)[:rows])], [])
    top = min(max(0, passed - max(1, rows // 2) - 1), max(0, total - rows))
    lines, calls = [title], []
    digits = max(3, cells(number(int(marked[min(total, top + rows) - 1]))))
    for place in range(top, min(total, top + rows)):
        transition = replay.transition(int(marked[place]))
        now, coming = place == passed - 1, place >= passed
        to_fallback = transition.warn.startswith("primary")
        tone = Tone.FAINT if coming else Tone.MUTED
        line = Line().add(moment(transition.at_ms), tone).add(number(transition.n).rjust(digits + 1), tone).add(" ")
        text = _warning(transition, width - line.cells, signs.arrow)
        said = Tone.FAINT if coming else Tone.MUTED if not now else Tone.WARN if to_fallback else Tone.OK
        lines.append(line.add(clip(text, width - line.cells, signs.more), said, bold=now))
        calls.append(transition.n)
    return WarningRows(lines, calls)
