"""The overview of one namespace: the verdict as a sentence, what to do, the concerns worst first, the lengths."""

from __future__ import annotations

from workbench.checkup.report import Code, NamespaceReport
from workbench.tui.draw import Ground, Line, Tone, clip, number, titled_rule, wrap
from workbench.tui.pages.chart import histogram
from workbench.tui.pages.parts import SHARE_CELLS, Frame, Page, keys_line, share_bar
from workbench.tui.signs import Signs
from workbench.tui.state import Space, State, Status
from workbench.tui.verdicts import FILLS, TONES, Concern, concerns, lead_of, sign_of, tallies

_CHART_ROWS = 9


def overview(space: Space, frame: Frame) -> Page:
    """Everything that is known about a namespace, or how far its reading has come."""
    if space.report is None:
        return _unread(space, frame)
    report = space.report
    rows = concerns(report)
    page = Page()
    page.gap(frame)
    if frame.roomy:
        page.add(_facts(report, frame.signs, rows, frame.width))
        page.add()
    chosen = rows[min(frame.selected, len(rows) - 1)]
    _headline(page, chosen, rows, frame)
    _table(page, rows, chosen, frame)
    _fingerprints(page, report, frame)
    _lengths(page, space, report, frame)
    return page


def _facts(report: NamespaceReport, signs: Signs, rows: tuple[Concern, ...], width: int) -> Line:
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
    """Give the sentence of the concern under the cursor and its way out, in as many rows as the longest of them takes.

    So the table below stays where it is while the cursor moves through it. In a low pane the chosen one alone counts.
    """
    at_most = (4, 2) if frame.roomy else (4, 2) if frame.wide else (5, 3)
    indent = frame.signs.state_cells + 1
    room = frame.width - indent
    everyone = rows if frame.focused or frame.roomy else (chosen,)
    said_rows = min(at_most[0], max(len(wrap(each.sentence, room)) for each in everyone))
    fix_rows = min(at_most[1], max(len(_way_out(each, room)) for each in everyone))
    said = Page()
    said.sentence(_capital(chosen.sentence), room, Tone.TEXT, said_rows)
    tone = TONES[chosen.state]
    for place, line in enumerate(said.lines):
        lead = lead_of(chosen.state, frame.signs)
        made = Line(Ground.BAD if chosen.state is State.BAD else Ground.PLAIN)
        page.add(made.add(lead if place == 0 else " " * len(lead), tone, bold=True).extend(line.spans))
    _pad(page, said_rows - len(said.lines))
    ways = _way_out(chosen, room)[:fix_rows]
    for line in ways:
        page.add(Line().to(indent).extend(line.spans))
    _pad(page, fix_rows - len(ways))
    if frame.roomy or not frame.wide:
        page.add()


def _pad(page: Page, rows: int) -> None:
    for _ in range(rows):
        page.add()


def _way_out(concern: Concern, width: int) -> list[Line]:
    """Give the key that acts, if there is one, then the fix."""
    hint = keys_line([(concern.key, "hold another embedder against it")]) if concern.key else None
    lines = [Line().add(row, Tone.MUTED) for row in wrap(_capital(concern.fix), width)] if concern.fix else []
    return [hint, *lines] if hint is not None else lines


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _table(page: Page, rows: tuple[Concern, ...], chosen: Concern, frame: Frame) -> None:
    signs, width = frame.signs, frame.width
    name_at = signs.state_cells + 1
    verdict_at = name_at + (14 if frame.wide else 12)
    right = (7 + 1 + SHARE_CELLS + 5) if frame.wide else 3
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
        verdict = clip(concern.verdict, width - verdict_at - right - 1, signs.more)
        line.add(verdict, Tone.MUTED if fine else Tone.TEXT, italic=concern.absent)
        page.stops.append(len(page.lines))
        page.add(line.right(_amount(concern, frame, fine), width))
    page.gap(frame)


def _amount(concern: Concern, frame: Frame, fine: bool) -> Line:
    """Count, share and key at the right end of a row."""
    tail = Line()
    if frame.wide:
        if concern.count:
            tail.add(number(concern.count).rjust(7)).add(" ")
            tail.extend(share_bar(concern.count, concern.total, FILLS.get(concern.state, Tone.DATA), frame.signs).spans)
        tail.to(7 + 1 + SHARE_CELLS).add("    ")
    return tail.add(concern.key or " ", Tone.FAINT if fine else Tone.ACCENT, bold=True)


def _fingerprints(page: Page, report: NamespaceReport, frame: Frame) -> None:
    """Which spaces a namespace is made of, when it is more than one."""
    counts = report.fingerprints.counts
    if Code.MIXED_FINGERPRINTS not in {finding.code for finding in report.fingerprints.findings}:
        return
    if not frame.roomy and len(page.lines) + 2 > frame.height:
        return
    page.add(titled_rule("Fingerprints", frame.width, frame.signs.rule, fact=Line().add("vectors", Tone.FAINT)))
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


def _lengths(page: Page, space: Space, report: NamespaceReport, frame: Frame) -> None:
    """Give the histogram, as high as the rest of the page allows, and not at all below three rows."""
    shape = space.shape
    if shape is None or not any(shape.bins):
        return
    rows = min(_CHART_ROWS, frame.height - len(page.lines) - 3)
    if rows < 3:
        return
    ceiling = report.ceiling.ceiling
    fact = (
        Line().add(f"ceiling {number(int(ceiling.chars))}", Tone.WARN, bold=True).add(f" {ceiling.source}", Tone.FAINT)
    )
    if ceiling.chars > 2 * max(1, shape.longest):
        fact.add(", beyond the right edge", Tone.FAINT)
    fact.add(f" {frame.signs.dot} log scale", Tone.FAINT)
    page.add(titled_rule("Lengths", frame.width, frame.signs.rule, fact=fact))
    for line in histogram(shape, int(ceiling.chars), frame.width, rows, frame.signs):
        page.add(line)


def _unread(space: Space, frame: Frame) -> Page:
    """Give a namespace without a report yet: waiting, being read, stopped, or failed."""
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
