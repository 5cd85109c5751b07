"""The fourth step: how far the build is, at which rate, what it has cost, what went wrong and was mended."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from workbench.reindex.model import Progress
from workbench.tui.draw import Ground, Line, Tone, cells, clip, number, short_fingerprint, titled_rule
from workbench.tui.guide import Building, Guide, Wait
from workbench.tui.pages.parts import Frame, Page, share_bar
from workbench.tui.pages.reindex_parts import (
    act,
    amount,
    ask_twice,
    banner,
    banner_of_trouble,
    beside,
    clock,
    halted,
    money,
    on_screen,
    percent,
)
from workbench.tui.signs import Signs

_LABEL = 13


def build_page(page: Page, guide: Guide, frame: Frame) -> None:
    """Draw the build as it is now, or as it stopped."""
    building = guide.building or Building()
    _headline(page, guide, building, frame)
    page.gap(frame)
    if not frame.roomy:
        page.add()
    left = frame.width // 2 - 4
    page.lines += beside(_own(guide, building), _theirs(guide, building, frame, left), left, frame.width)
    page.gap(frame)
    tail = 2 if frame.roomy else 1
    room = frame.height - len(page.lines) - tail
    chart = min(7, max(2, room // 3))
    if room >= chart + 4:
        _rate(page, building, frame, chart)
        page.gap(frame)
        room = frame.height - len(page.lines) - tail
    if building.warnings and room >= 3:
        _warnings(page, building, frame, 3 if frame.roomy else 1)
        room = frame.height - len(page.lines) - tail
    if room >= 2:
        _happened(page, building, frame, room - 1)
    if frame.roomy:
        page.add()
    _action(page, guide, frame)


def _headline(page: Page, guide: Guide, building: Building, frame: Frame) -> None:
    progress, width = building.progress, frame.width
    if guide.trouble:
        banner_of_trouble(page, on_screen(guide.trouble), frame)
    elif not guide.busy and guide.outcome is not None:
        said = halted(guide.outcome.message)
        if cells(said) > width - 4:
            head, _, rest = said.partition(": ")
            banner(page, frame, Ground.WARN, frame.signs.warn, Tone.WARN, head)
            page.sentence(rest, width, Tone.TEXT, at_most=4 if frame.roomy else 2)
        else:
            banner(page, frame, Ground.WARN, frame.signs.warn, Tone.WARN, said)
        page.gap(frame)
    total = _total(guide, progress)
    done = progress.done if progress is not None else building.samples[0][1] if building.samples else 0
    if progress is None and not done:
        doing = f"{building.doing or 'beginning'} {frame.signs.reading}" if guide.busy else "not begun"
        texts = Line().add(f"{number(total)} texts" if total else "", Tone.MUTED)
        page.add(Line().add(doing, bold=True).right(texts, width))
        page.add(share_bar(0, max(1, total), Tone.ACCENT, frame.signs, width))
        return
    share = 100 * done / total if total else 100.0
    line = Line().add(f"{share:.1f} %", bold=True).add("  ").add(number(done), bold=True)
    line.add(" of ", Tone.FAINT).add(number(total), Tone.TEXT).add(" vectors", Tone.MUTED)
    tail = Line()
    if guide.pausing:
        tail.add(f"pausing: waits for what is under way {frame.signs.reading}", Tone.WARN)
    elif not guide.busy:
        tail.add("paused", Tone.WARN, bold=True)
    elif building.doing not in ("", "building") or progress is None:
        tail.add(f"{building.doing} {frame.signs.reading}", Tone.ACCENT)
    elif building.left is not None:
        tail.add(clock(building.left), bold=True).add(" left", Tone.MUTED)
    page.add(line.right(tail, width))
    page.add(share_bar(done, total, Tone.ACCENT, frame.signs, width))


def _total(guide: Guide, progress: Progress | None) -> int:
    if progress is not None:
        return progress.total
    if guide.plan is not None:
        return guide.plan.pieces + guide.plan.chunks.reuse
    return guide.unfinished.total or 0 if guide.unfinished is not None else 0


def _row(name: str, said: Line, label: int = _LABEL) -> Line:
    return Line().add(name, Tone.FAINT).to(label).extend(said.spans)


def _own(guide: Guide, building: Building) -> list[Line]:
    """Give what it has done and spent."""
    progress = building.progress
    rate = Line().add("not known yet", Tone.FAINT)
    if building.rate is not None:
        rate = Line().add(f"{building.rate:,.1f}", bold=True).add(" vectors/s", Tone.MUTED)
    spent = Line().add("nothing is paid", Tone.MUTED)
    if progress is not None and progress.cost_usd is not None:
        spent = Line().add(money(progress.cost_usd), bold=True)
        spent.add(f" of {money(guide.cap_usd)} cap" if guide.cap_usd is not None else ", no cap", Tone.MUTED)
    elif host_of(guide):
        spent = Line().add("price not known", italic=True)
    tokens = Line().add("0", Tone.MUTED)
    if progress is not None:
        tokens = Line().add("" if progress.tokens_counted else "~ ", Tone.MUTED)
        tokens.add(amount(progress.tokens), bold=True)
        if guide.plan is not None:
            tokens.add(f" of {amount(guide.plan.tokens.likely)}", Tone.MUTED)
    return [
        _row("rate", rate),
        _row("elapsed", Line().add(clock(building.seconds), bold=True)),
        _row("spent", spent),
        _row("tokens", tokens),
    ]


def host_of(guide: Guide) -> str | None:
    """Give where the texts of a build go; None when they stay on this machine."""
    if guide.unfinished is not None:
        return guide.unfinished.settings.host
    offer = guide.offer
    return ", ".join(offer.hosts) or None if offer is not None else None


def _theirs(guide: Guide, building: Building, frame: Frame, left: int) -> list[Line]:
    """Give what the embedder did."""
    progress = building.progress
    flight = Line().add(number(building.in_flight if guide.busy else 0), bold=True).add(" requests", Tone.MUTED)
    if progress is not None:
        flight.add(f", {number(progress.requests)} answered", Tone.MUTED)
    count = sum(times for _, times in building.retries)
    retries = Line().add(number(count), Tone.WARN if count else Tone.MUTED, bold=bool(count))
    if building.retries:
        room = frame.width - left - 3 - _LABEL - retries.cells - 2
        retries.add("  " + clip("; ".join(f"{times} × {why}" for why, times in building.retries), room), Tone.MUTED)
    bad = progress.quarantined if progress is not None else 0
    quarantined = Line().add(number(bad), Tone.WARN if bad else Tone.MUTED, bold=bool(bad))
    if bad and progress is not None and progress.total:
        quarantined.add(f"  {percent(bad / progress.total, 2)}, stops at 1 %", Tone.MUTED)
    target = (
        guide.plan.target
        if guide.plan is not None
        else (guide.unfinished.settings.fingerprint if guide.unfinished is not None else "")
    )
    room = frame.width - left - 3 - _LABEL - (len(building.served_by) + 1 if building.served_by else 0)
    served = Line().add(short_fingerprint(target, room, frame.signs.more), bold=True)
    if building.served_by:
        served.add(f" {building.served_by}", Tone.WARN if building.served_by != "primary" else Tone.MUTED)
    return [
        _row("in flight", flight),
        _row("retries", retries),
        _row("quarantined", quarantined),
        _row("served by", served),
    ]


def _rate(page: Page, building: Building, frame: Frame, rows: int) -> None:
    fact = Line()
    if building.waits:
        waited = sum(wait.end - wait.start for wait in building.waits)
        room = frame.width - 30
        fact.add(clip(f"waited {waited:.0f} s: {building.waits[-1].reason}", room, frame.signs.more), Tone.WARN)
        fact.add("   ")
    page.add(titled_rule("Rate", frame.width, frame.signs.rule, fact=fact.add("vectors/s", Tone.FAINT)))
    whole = building.seconds + (building.left or 0.0)
    page.lines += rate_chart(building.samples, building.waits, building.seconds, whole, frame.width, rows, frame.signs)


def rate_chart(
    samples: tuple[tuple[float, int], ...],
    waits: tuple[Wait, ...],
    now: float,
    whole: float,
    width: int,
    rows: int,
    signs: Signs,
) -> list[Line]:
    """Give ``rows + 2`` lines: the rate over time, spans that waited in their colour, dots for what is left."""
    whole = max(whole, 1e-9)
    columns = max(1, min(width, round(width * now / whole))) if samples else 0
    each = now / columns if columns else 0.0
    times = [at for at, _ in samples]
    edges = [_done_at(samples, times, at * each) for at in range(columns + 1)] if columns else []
    rates = [max(0.0, after - before) for before, after in pairwise(edges)]
    top = max(rates, default=0.0) or 1.0
    levels = len(signs.columns)
    waited = [any(_waits(wait, at * each, each) for wait in waits) for at in range(columns)]
    heights = [max(1, round(rate / top * rows * levels)) if rate or waited[at] else 0 for at, rate in enumerate(rates)]
    lines = []
    for row in range(rows):
        line = Line()
        for at, height in enumerate(heights):
            filled = min(levels, max(0, height - (rows - 1 - row) * levels))
            tone = Tone.WARN_FILL if waited[at] else Tone.DATA
            solid = filled == levels and len(signs.columns[-1].encode()) > 1
            line.add(signs.columns[filled - 1] if filled else " ", tone, solid=solid)
        if row == rows - 1:
            line.add(signs.dot * (width - columns), Tone.RULE)
        lines.append(line)
    axis = Line().add(signs.rule * width, Tone.RULE)
    ticks = Line().add("0:00", Tone.FAINT)
    here, end = clock(now), clock(whole)
    if columns - len(here) > ticks.cells + 1:
        ticks.to(columns - len(here)).add(here)
    if columns < width and ticks.cells + len(end) + 2 <= width:
        ticks.to(width - len(end)).add(end, Tone.FAINT)
    return [*lines, axis, ticks]


def _waits(wait: Wait, start: float, each: float) -> bool:
    """Whether a span of time was mostly a wait, or holds the middle of one that is shorter than itself."""
    middle = (wait.start + wait.end) / 2
    held = min(wait.end, start + each) - max(wait.start, start)
    return held >= each / 2 or (wait.end - wait.start < each and start <= middle < start + each)


def _done_at(samples: tuple[tuple[float, int], ...], times: list[float], at: float) -> float:
    """How many vectors there were at a time, straight between two samples."""
    after = bisect_right(times, at)
    if after == 0 or after == len(times):
        return samples[min(after, len(times) - 1)][1]
    (start, had), (end, has) = samples[after - 1], samples[after]
    return had + (has - had) * (at - start) / (end - start)


def _warnings(page: Page, building: Building, frame: Frame, rows: int) -> None:
    """Say the last warning, in as many rows as there are for it."""
    lead = frame.signs.state_cells + 1
    said = Page()
    said.sentence(building.warnings[-1], frame.width - lead, Tone.TEXT, at_most=rows)
    for place, line in enumerate(said.lines):
        sign = frame.signs.warn.ljust(frame.signs.state_cells) + " " if place == 0 else " " * lead
        page.add(Line().add(sign, Tone.WARN, bold=True).extend(line.spans))


def _happened(page: Page, building: Building, frame: Frame, rows: int) -> None:
    fact = Line().add("committed with the journal, resumable" if frame.width >= 70 else "resumable", Tone.OK)
    page.add(titled_rule("Answers", frame.width, frame.signs.rule, fact=fact))
    signs = frame.signs
    for happened in building.happened[:rows]:
        line = Line().add(clock(happened.at).rjust(7), Tone.FAINT).add("  ")
        took = f"{happened.took:.2f} s" if happened.took is not None else ""
        line.add(took.rjust(8), Tone.MUTED).add("  ")
        line.add(
            (signs.warn if happened.bad else signs.ok).ljust(signs.state_cells) + " ",
            Tone.WARN if happened.bad else Tone.OK,
            bold=True,
        )
        page.add(
            line.add(
                clip(happened.said, frame.width - line.cells, signs.more), Tone.TEXT if happened.bad else Tone.MUTED
            )
        )


def _action(page: Page, guide: Guide, frame: Frame) -> None:
    if guide.busy:
        if guide.pausing:
            page.add(
                Line()
                .add("Everything that is committed is kept. ", Tone.FAINT)
                .add("esc", Tone.ACCENT, bold=True)
                .add(" does not wait for the rest", Tone.MUTED)
                .cut(frame.width)
            )
        else:
            page.add(
                Line()
                .add("The index answers as before. A killed run resumes and pays nothing twice.", Tone.FAINT)
                .cut(frame.width, frame.signs.more)
            )
    elif not ask_twice(page, guide, frame):
        host = host_of(guide)
        where = f"the rest goes to {host}" if host else "the rest is embedded on this machine"
        act(page, frame, "enter", "go on", f"{where}; nothing is paid for twice")
