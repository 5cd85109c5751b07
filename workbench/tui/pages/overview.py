"""The overview of one namespace: the verdict as a sentence, what to do, the concerns worst first, the lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checkup.findings import Code
from workbench.tui.draw import Ground, Line, Tone, cells, clip, number, short_fingerprint, titled_rule, wrap
from workbench.tui.pages.chart import histogram
from workbench.tui.pages.parts import SHARE_CELLS, Frame, Page, keys_line, share_bar
from workbench.tui.signs import Signs
from workbench.tui.state import Space, State, Status
from workbench.tui.verdicts import FILLS, TONES, WAYS, Concern, concerns, lead_of, sign_of, tallies

if TYPE_CHECKING:
    from workbench.checkup.report import NamespaceReport
    from workbench.reindex.generations import NamespaceGenerations

_CHART_ROWS = 9
_BANNERS = {State.BAD: Ground.BAD, State.WARN: Ground.WARN}


def overview(space: Space, frame: Frame, generations: NamespaceGenerations | None = None) -> Page:
    """Everything that is known about a namespace, or how far its reading has come."""
    if space.report is None:
        return _unread(space, frame)
    report = space.report
    rows = concerns(report, frame.signs)
    page = Page()
    page.gap(frame)
    chosen = rows[min(frame.selected, len(rows) - 1)]
    _headline(page, chosen, rows, frame)
    _table(page, rows, chosen, frame)
    _fingerprints(page, report, frame)
    _generations(page, generations, frame)
    _lengths(page, space, report, frame)
    return page


def facts(space: Space, signs: Signs, width: int) -> Line:
    """Give what a namespace is in one row, and how many concerns are bad, worth a look, in order."""
    report = space.report
    if report is None:
        return Line().add(space.name, bold=True)
    rows = concerns(report, signs)
    line = Line().add(number(report.fingerprints.count), bold=True).add(" chunks", Tone.MUTED)
    dims = report.vectors.health.dims
    if dims is not None:
        line.add(f" {signs.dot} ", Tone.FAINT).add(number(dims), bold=True).add(" dims", Tone.MUTED)
    line.add(f" {signs.dot} ", Tone.FAINT).add(report.adapter, Tone.MUTED)
    tail = Line()
    for state, count in tallies(rows).items():
        if count:
            tail.add("   " if tail.spans else "").add(f"{sign_of(state, signs)} {count}", TONES[state], bold=True)
    return line.right(tail, width)


def _headline(page: Page, chosen: Concern, rows: tuple[Concern, ...], frame: Frame) -> None:
    """Say the sentence of the concern under the cursor and its way out: what is wrong as a banner, why below it.

    It takes as many rows as the longest of all concerns would, so that the table stays where it is while the cursor
    moves through it; in a low pane without the focus the chosen one alone counts.
    """
    everyone = rows if frame.focused or frame.roomy else (chosen,)
    height = max(len(_said(each, frame)) for each in everyone)
    lines = _said(chosen, frame)
    page.lines += lines + [Line() for _ in range(height - len(lines))]
    page.add()


def _said(concern: Concern, frame: Frame) -> list[Line]:
    """Give the rows of one concern: the head of its sentence in its colour, the rest, the key, the fix."""
    indent = frame.signs.state_cells + 1
    room = frame.width - indent
    head, _, rest = concern.sentence.partition(": ")
    tone = TONES[concern.state]
    bad = concern.state in (State.BAD, State.WARN)
    lines: list[Line] = []
    for place, row in enumerate(wrap(head, room)[:2]):
        line = Line(_BANNERS.get(concern.state, Ground.PLAIN))
        line.add(lead_of(concern.state, frame.signs) if place == 0 else " " * indent, tone, bold=True)
        line.add(row, tone if bad else Tone.TEXT, bold=bad)
        amount = f"{number(concern.count or 0)} chunks"
        numberless = not any(character.isdigit() for character in head)
        if place == 0 and concern.count and numberless and line.cells + cells(amount) + 2 <= frame.width:
            line.right(Line().add(amount, tone), frame.width)
        lines.append(line)
    why, fix = Page(), Page()
    if rest:
        why.sentence(rest, room, at_most=5 if frame.roomy else 2 if frame.wide else 3)
    if concern.key:
        fix.add(keys_line([(concern.key, WAYS[concern.key])]))
    if concern.fix:
        fix.sentence(concern.fix, room, Tone.TEXT, at_most=3 if frame.roomy else 2)
    if frame.roomy and why.lines and fix.lines:
        why.add()
    return lines + [Line().to(indent).extend(line.spans) for line in why.lines + fix.lines]


def _table(page: Page, rows: tuple[Concern, ...], chosen: Concern, frame: Frame) -> None:
    signs, width = frame.signs, frame.width
    name_at = signs.state_cells + 1
    verdict_at = name_at + (14 if frame.wide else 12)
    if frame.roomy:
        head = Line().to(name_at).add("concern", Tone.FAINT).to(verdict_at).add("verdict", Tone.FAINT)
        if frame.wide:
            tail = (
                Line()
                .add(" chunks", Tone.FAINT)
                .add(" share", Tone.FAINT)
                .to(7 + 1 + SHARE_CELLS + 2)
                .add("key", Tone.FAINT)
            )
            head.right(tail, width)
        page.add(head)
    for concern in rows:
        fine = concern.state not in (State.BAD, State.WARN)
        here = frame.focused and concern is chosen
        line = Line(Ground.CURSOR if here else Ground.PLAIN)
        line.add(lead_of(concern.state, signs), TONES[concern.state], bold=True)
        line.add(concern.name, Tone.MUTED if fine and not here else Tone.TEXT, bold=not fine or here).to(verdict_at)
        amount = _amount(concern, frame, fine)
        room = width - verdict_at - amount.cells - 2
        verdict = (
            concern.verdict
            if cells(concern.verdict) <= room
            else clip(concern.brief or concern.verdict, room, signs.more)
        )
        line.add(verdict, Tone.MUTED if fine else Tone.TEXT, italic=concern.absent)
        page.stops.append(len(page.lines))
        page.add(line.right(amount, width))
    page.gap(frame)


def _amount(concern: Concern, frame: Frame, fine: bool) -> Line:
    """Count, share and key at the right end of a row."""
    tail = Line()
    if frame.wide and concern.count:
        tail.add(number(concern.count).rjust(7)).add(" ")
        tail.extend(share_bar(concern.count, concern.total, FILLS.get(concern.state, Tone.DATA), frame.signs).spans)
        tail.add("    ")
    return tail.add(concern.key or " ", Tone.FAINT if fine else Tone.ACCENT, bold=True)


def _fingerprints(page: Page, report: NamespaceReport, frame: Frame) -> None:
    """Which spaces a namespace is made of, when it is more than one."""
    counts = report.fingerprints.counts
    if Code.MIXED_FINGERPRINTS not in {finding.code for finding in report.fingerprints.findings}:
        return
    if not frame.roomy and len(page.lines) + 2 > frame.height:
        return
    page.add(
        titled_rule(
            "Fingerprints", frame.width, frame.signs.rule, fact=Line().add("vectors", Tone.FAINT), focused=frame.focused
        )
    )
    most = 4
    total = sum(each.count for each in counts)
    bar = SHARE_CELLS if frame.wide else 6
    for each in counts[:most]:
        tail = Line().add(number(each.count).rjust(7)).add(" ")
        tail.extend(share_bar(each.count, total, Tone.DATA, frame.signs, bar).spans)
        page.add(Line().add(clip(each.fingerprint, frame.width - 10 - bar, frame.signs.more)).right(tail, frame.width))
    if len(counts) > most:
        page.add(Line().add(f"{frame.signs.more} {number(len(counts) - most)} more", Tone.FAINT))
    page.gap(frame)


def _generations(page: Page, kept: NamespaceGenerations | None, frame: Frame) -> None:
    """List the generations where more than one is kept: the old ones stay until they are dropped."""
    if kept is None or len(kept.generations) < 2 or (not frame.roomy and len(page.lines) + 3 > frame.height):
        return
    fact = Line().add("r", Tone.ACCENT, bold=True).add(" rolls back or drops", Tone.MUTED)
    page.add(titled_rule("Generations", frame.width, frame.signs.rule, fact=fact, focused=frame.focused))
    most = 3
    for each in kept.generations[:most]:
        here = each.generation == kept.active
        tail = Line().add(number(each.count).rjust(9), Tone.TEXT if here else Tone.MUTED)
        line = Line().add("answers" if here else "kept", Tone.FAINT).to(9)
        line.add(f"generation {each.generation}", Tone.TEXT if here else Tone.MUTED, bold=here).to(25)
        room = frame.width - line.cells - tail.cells - 1
        named = short_fingerprint(each.fingerprint or "no vector yet", room, frame.signs.more)
        page.add(line.add(named, Tone.TEXT if here else Tone.MUTED).right(tail, frame.width))
    if len(kept.generations) > most:
        page.add(Line().add(f"{frame.signs.more} {number(len(kept.generations) - most)} more", Tone.FAINT))
    page.gap(frame)


def _lengths(page: Page, space: Space, report: NamespaceReport, frame: Frame) -> None:
    """Draw the histogram as high as the rest of the page allows, and not at all below three rows."""
    shape = space.shape
    if shape is None or not any(shape.bins):
        return
    rows = min(_CHART_ROWS, frame.height - len(page.lines) - 3)
    if rows < 3:
        return
    ceiling = report.ceiling.ceiling
    fact = Line().add(f"ceiling {number(int(ceiling.chars))}", Tone.WARN, bold=True)
    beyond = ", beyond the right edge" if ceiling.chars > 2 * max(1, shape.longest) else ""
    for more in (f" {ceiling.source}", beyond, f" {frame.signs.dot} log scale"):
        if fact.cells + cells(more) + 12 <= frame.width:
            fact.add(more, Tone.FAINT)
    page.add(titled_rule("Lengths", frame.width, frame.signs.rule, fact=fact, focused=frame.focused))
    for line in histogram(shape, int(ceiling.chars), frame.width, rows, frame.signs):
        page.add(line)


def _unread(space: Space, frame: Frame) -> Page:
    """Show a namespace without a report yet: waiting, being read, stopped, or failed."""
    page = Page()
    page.gap(frame)
    width = frame.width
    if space.status is Status.FAILED:
        made = (
            Line(Ground.BAD)
            .add(f"{frame.signs.bad} ", Tone.ERROR, bold=True)
            .add("could not be read to the end", Tone.ERROR, bold=True)
        )
        page.add(made.to(width))
        page.add()
        page.sentence(space.failure, width)
        page.add()
        page.add(keys_line([("r", "read it again")]))
        return page
    if space.status is Status.STOPPED:
        page.add(Line().add("Reading was stopped", bold=True))
        page.add(keys_line([("r", "read it again")]))
        return page
    title = "Reading" if space.status is Status.READING else "Waiting for its turn"
    page.add(Line().add(f"{title} {frame.signs.reading}", bold=True).right(keys_line([("esc", "cancel")]), width))
    if space.total:
        page.add(share_bar(space.done, space.total, Tone.ACCENT, frame.signs, width))
        amount = Line().add(number(space.done), bold=True).add(" of ", Tone.FAINT)
        page.add(amount.add(number(space.total)).add(" rows", Tone.MUTED))
    else:
        page.add(Line().add(frame.signs.track * width, Tone.RULE))
        page.add()
    page.add()
    waiting = lead_of(State.WAITING, frame.signs)
    for name in ("Incoming", "Fingerprint", "Ceiling", "Vectors", "Duplicates", "Norms"):
        page.add(Line().add(f"{waiting}{name}", Tone.FAINT).to(16 if frame.wide else 14).add("waiting", Tone.FAINT))
    return page
