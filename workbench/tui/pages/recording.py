"""What is said of a recording as a whole: whether it is complete, how long it took, its sizes, all that is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checkup.findings import Severity
from workbench.checkup.wording import counted, duration_text, size_text
from workbench.recordings.secrets import mask_text
from workbench.tui.draw import Line, Tone, number, wrap
from workbench.tui.recorded import Recorded
from workbench.tui.signs import Signs

if TYPE_CHECKING:
    from workbench.checkup.recording_report import VectorTotals
    from workbench.recordings.model import Run
    from workbench.tui.state import SoFar

_TONES = {Severity.ERROR: Tone.ERROR, Severity.WARNING: Tone.WARN, Severity.INFO: Tone.MUTED}


def recording_facts(recorded: Recorded, signs: Signs, width: int) -> Line:
    """Say in one row whether it is complete, how long it took, how much is in it, and what a slim copy saves."""
    report = recorded.report
    line = _complete(report.run)
    if report.damaged:
        line.add(f" {signs.dot} ", Tone.FAINT).add("damaged", Tone.WARN, bold=True)
    if recorded.duration_ms is not None:
        line.add(f" {signs.dot} ", Tone.FAINT)
        _amount(line, duration_text(recorded.duration_ms))
    for count, noun in ((len(recorded.retrievals), "retrieval"), (len(report.errors), "error")):
        line.add(f" {signs.dot} ", Tone.FAINT)
        _amount(line, counted(count, noun))
    sizes = _sizes(report.vectors, signs)
    if report.vectors.bytes_after is not None and report.vectors.count and line.cells + sizes.cells + 12 <= width:
        sizes.add("   w", Tone.ACCENT, bold=True).add(" write", Tone.MUTED)
    return line.right(sizes, width)


def so_far_facts(recorded: Recorded, so_far: SoFar, signs: Signs, width: int, *, reading: bool) -> Line:
    """Say in one row how much of a big recording is known, and how far reading it came."""
    line = Line().add("so far ", Tone.FAINT)
    _amount(line, counted(len(recorded.rows), "step"))
    for count, noun in ((len(recorded.retrievals), "retrieval"), (len(recorded.report.errors), "error")):
        if count:
            line.add(f" {signs.dot} ", Tone.FAINT)
            _amount(line, counted(count, noun))
    size = size_text(so_far.size)
    share = f"{100 * so_far.done // so_far.total} %" if so_far.total else ""
    tail = Line()
    if reading:
        tail.add("reading ", Tone.MUTED).add(share or signs.more, bold=True).add(f" of {size}  ", Tone.MUTED)
        tail.add("esc", Tone.ACCENT, bold=True).add(" stops", Tone.MUTED)
    else:
        tail.add(f"stopped at {share} of {size}  " if share else f"of {size}  ", Tone.MUTED)
        tail.add("r", Tone.ACCENT, bold=True).add(" reads all", Tone.MUTED)
    return line.right(tail, width)


def _complete(run: Run) -> Line:
    line = Line()
    if run.complete is None:
        line.add("end not recorded", Tone.MUTED)
    elif run.complete:
        line.add("complete", Tone.MUTED)
    else:
        line.add("incomplete", Tone.WARN, bold=True)
    if run.dropped_events:
        line.add(", ", Tone.FAINT).add(f"{counted(run.dropped_events, 'event')} dropped", Tone.WARN, bold=True)
    return line


def _amount(line: Line, text: str) -> None:
    value, _, unit = text.partition(" ")
    line.add(value, bold=True).add(f" {unit}" if unit else "", Tone.MUTED)


def _sizes(vectors: VectorTotals, signs: Signs) -> Line:
    before = size_text(vectors.bytes_before)
    if vectors.bytes_after is None:
        return Line().add(before, Tone.MUTED)
    after = size_text(vectors.bytes_after)
    if not vectors.count:
        return Line().add(before, Tone.MUTED).add(" slim already", Tone.FAINT)
    if before.rpartition(" ")[2] == after.rpartition(" ")[2]:
        before = before.rpartition(" ")[0]
    return Line().add(f"{before} → ", Tone.MUTED).add(after, bold=True)


def worst_lines(recorded: Recorded, signs: Signs, width: int) -> list[Line]:
    """Give the worst finding in one row with the key that shows all, and what the producer did not record in another.

    None of them where nothing is to be said.
    """
    report = recorded.report
    missing = report.run.not_recorded
    said = len(report.findings) + len(missing) + len(report.notes)
    if not said:
        return []
    tail = Line().add("v", Tone.ACCENT, bold=True).add(f" {'what is said' if said == 1 else f'all {said}'}", Tone.MUTED)
    lines: list[Line] = []
    if report.findings:
        worst = report.findings[0]
        lines.append(
            Line().add(f"{_sign(worst.severity, signs)} ", _TONES[worst.severity], bold=True).add(worst.message)
        )
    if missing:
        more = f"; {len(missing) - 1} more" if len(missing) > 1 else ""
        lines.append(Line().add(f"{signs.warn} ", Tone.WARN, bold=True).add(mask_text(missing[0]) + more, Tone.MUTED))
    if not lines:
        lines.append(Line().add(f"{signs.dot} ", Tone.FAINT).add(report.notes[0].message, Tone.MUTED))
    lines[0] = lines[0].cut(max(0, width - tail.cells - 2), signs.more).right(tail, width)
    return [line.cut(width, signs.more) for line in lines]


def said_lines(recorded: Recorded, signs: Signs, width: int) -> list[Line]:
    """Give everything that is said of the recording: findings, what is not recorded, what is odd, its run."""
    report = recorded.report
    lines: list[Line] = []
    for error in report.errors:
        if error.step is None:
            lines += _told(
                Line().add(f"{signs.bad} ", Tone.ERROR, bold=True), mask_text(error.message), width, Tone.TEXT
            )
    for finding in report.findings:
        lead = Line().add(f"{_sign(finding.severity, signs)} ", _TONES[finding.severity], bold=True)
        lines += _told(lead, finding.message, width, Tone.TEXT)
        lines += _told(Line(), finding.fix, width, Tone.MUTED)
    for sentence in report.run.not_recorded:
        lines += _told(Line().add("not recorded ", Tone.FAINT), mask_text(sentence), width, Tone.MUTED)
    for note in report.notes:
        place = f" (line {number(note.line)})" if note.line is not None else ""
        place = place or (f" (byte {number(note.byte)})" if note.byte is not None else "")
        lines += _told(Line().add(f"{signs.dot} ", Tone.FAINT), note.message + place, width, Tone.MUTED)
    lines += _told(Line().add("format ", Tone.FAINT), f"{report.format}: {report.why}", width, Tone.MUTED)
    for label, value in report.run.manifest:
        lines += _told(Line().add(f"{mask_text(label)} ", Tone.FAINT), mask_text(value), width, Tone.MUTED)
    return lines


def _told(lead: Line, text: str, width: int, tone: Tone) -> list[Line]:
    """Wrap a sentence behind its lead; the following rows stand two columns in."""
    indent = 2 if lead.cells <= 2 else lead.cells
    rows = wrap(text, max(10, width - indent))
    first = lead.to(indent).add(rows[0], tone)
    return [first, *(Line().to(indent).add(row, tone) for row in rows[1:])]


def _sign(severity: Severity, signs: Signs) -> str:
    return {Severity.ERROR: signs.bad, Severity.WARNING: signs.warn, Severity.INFO: signs.unknown}[severity]
