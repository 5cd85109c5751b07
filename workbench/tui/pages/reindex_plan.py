"""The second step: what would be done with every chunk, what it is estimated to take, what is clipped now and then."""

from __future__ import annotations

from math import log1p

from workbench.reindex.model import Plan
from workbench.tui.draw import Line, Tone, clip, number, short_fingerprint, titled_rule
from workbench.tui.guide import Guide
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.pages.reindex_parts import act, amount, banner_of_trouble, beside, field, money, say_busy, size, span
from workbench.tui.signs import Signs
from workbench.tui.state import LengthShape

_LABEL = 14


def plan_page(page: Page, guide: Guide, frame: Frame) -> None:
    """Draw the plan, or that it is being made."""
    plan = guide.plan
    if plan is None:
        banner_of_trouble(page, guide.trouble, frame)
        if guide.trouble:
            act(page, frame, "b", "choose again", "nothing was sent, written or spent")
        else:
            say_busy(page, guide, frame, "Planning")
        return
    banner_of_trouble(page, guide.trouble, frame)
    said = Line().add("Nothing is spent yet.", Tone.OK, bold=True)
    page.add(said.add(" The living index is not touched until the swap.").cut(frame.width, frame.signs.more))
    page.gap(frame)
    left = frame.width * 54 // 100
    right = frame.width - left - 3
    page.lines += beside(
        _chunks(plan, guide, left, frame.signs), _estimates(plan, guide, right, frame.signs), left, frame.width
    )
    page.gap(frame)
    if plan.impossible_ids:
        shown = ", ".join(plan.impossible_ids[:20])
        line = Line().add(f"{frame.signs.warn} ", Tone.WARN, bold=True).add("without text  ", Tone.MUTED)
        page.add(line.add(clip(shown, frame.width - line.cells, frame.signs.more), Tone.TEXT))
        page.gap(frame)
    _ceiling(page, plan, guide, frame)
    _target(page, plan, guide, frame)
    act(page, frame, "enter", "continue", "next you type its name; only then is anything spent")


def _chunks(plan: Plan, guide: Guide, width: int, signs: Signs) -> list[Line]:
    chunks = plan.chunks
    lines = [titled_rule("Chunks", width, signs.rule, fact=Line().add(number(chunks.total), bold=True))]
    longer = f"longer than {number(int(plan.ceiling.chars))} chars"
    rows = (
        ("reuse", "the same text and embedder" if chunks.reuse else "nothing matches the target", chunks.reuse, False),
        ("embed", "as they are", chunks.embed, False),
        ("re-split", longer, chunks.resplit, False),
        ("skip", "empty text", chunks.skip, False),
        ("impossible", "no text stored, listed", chunks.impossible, True),
    )
    lead = signs.state_cells + 1
    for name, why, count, bad in rows:
        line = Line()
        warns = bad and count > 0
        line.add(signs.warn.ljust(signs.state_cells) + " " if warns else " " * lead, Tone.WARN, bold=True)
        line.add(name, Tone.TEXT if count else Tone.MUTED).to(lead + 12)
        tone = Tone.WARN if warns else Tone.TEXT if count else Tone.FAINT
        tail = Line().add(number(count), tone, bold=bool(count))
        line.add(clip(why, width - line.cells - tail.cells - 1, signs.more), Tone.FAINT)
        lines.append(line.right(tail, width))
    return lines


def _estimates(plan: Plan, guide: Guide, width: int, signs: Signs) -> list[Line]:
    lines = [titled_rule("Cost", width, signs.rule, fact=Line().add("estimated", Tone.FAINT))]
    cell = max(8, (width - 8) // 3)

    def row(name: str, low: str, likely: str, high: str, tone: Tone = Tone.MUTED) -> Line:
        line = Line().add(name, Tone.FAINT if not likely else Tone.TEXT)
        tail = (
            Line()
            .add(low.rjust(cell), tone)
            .add(likely.rjust(cell), Tone.TEXT if tone is Tone.MUTED else tone, bold=tone is Tone.MUTED)
        )
        return line.right(tail.add(high.rjust(cell), tone), width)

    head = row("", "low", "likely", "high", Tone.FAINT)
    tokens = plan.tokens
    lines += [head, row("tokens", amount(tokens.low), amount(tokens.likely), amount(tokens.high))]
    hosts = guide.offer.hosts if guide.offer is not None else ()
    if plan.cost is not None:
        usd = plan.cost.usd
        lines.append(row("cost", money(usd.low), money(usd.likely), money(usd.high)))
    else:
        lines.append(row("cost", "", "not known" if hosts else "nothing", ""))
    lines.append(row("time", "", "not known" if plan.seconds is None else span(plan.seconds), ""))
    lines.append(row("disk", "", size(plan.disk_bytes), ""))
    notes = [f"tokens {plan.tokens_basis}", f"{number(plan.probe_tokens)} of them to verify"]
    if plan.cost is not None and plan.cost.price_read_on:
        notes.insert(0, f"price of {plan.cost.price_read_on}")
    lines.append(Line().add(clip(", ".join(notes), width, signs.more), Tone.FAINT))
    return lines


def _ceiling(page: Page, plan: Plan, guide: Guide, frame: Frame) -> None:
    """Draw what is clipped now and then: green is what comes back, red what would still be lost."""
    now, then = guide.ceiling_now, int(plan.ceiling.chars)
    fact = Line().add("now ", Tone.FAINT).add(number(now) if now is not None else "unknown", Tone.WARN, bold=True)
    fact.add("   then ", Tone.FAINT).add(number(then), Tone.OK, bold=True).add(" chars", Tone.FAINT)
    page.add(titled_rule("Ceiling", frame.width, frame.signs.rule, fact=fact))
    clipped = Line().add("clipped  ", Tone.MUTED)
    if plan.clipped_now is None:
        clipped.add("not known", italic=True)
    else:
        clipped.add(number(plan.clipped_now), Tone.WARN if plan.clipped_now else Tone.TEXT, bold=True)
    clipped.add(" → ", Tone.FAINT).add(
        number(plan.clipped_then), Tone.ERROR if plan.clipped_then else Tone.OK, bold=True
    )
    clipped.add(" chunks", Tone.MUTED)
    if plan.clipped_then and not guide.resplit:
        clipped.add("   ").add("x", Tone.ACCENT, bold=True).add(" cuts them into pieces instead", Tone.MUTED)
    page.add(clipped.cut(frame.width))
    rest = 7 if frame.roomy else 5
    rows = min(6, frame.height - len(page.lines) - rest - 2)
    if guide.shape is not None and any(guide.shape.bins) and rows >= 2:
        page.lines += two_ceilings(guide.shape, now, then, frame.width, rows, frame.signs)
    page.gap(frame)


def two_ceilings(shape: LengthShape, now: int | None, then: int, width: int, rows: int, signs: Signs) -> list[Line]:
    """Give ``rows + 2`` lines: columns of a log scale, cut by the ceiling of now and that of then where it is near."""
    longest = max(shape.longest, now or 0, 1)
    near = then <= 2 * longest
    shown = max(longest, then) if near else longest
    step = max(1, -(-shown // (shape.width * (width - 2))))
    chars = step * shape.width
    counts = [sum(shape.bins[at : at + step]) for at in range(0, len(shape.bins), step)][: width - 2]
    marks: dict[int, tuple[str, Tone]] = {}
    if now is not None and now < shown:
        marks[round(now / chars)] = (signs.lost_gutter, Tone.WARN)
    if near and then != now:
        place = round(then / chars)
        marks[place + 1 if place in marks else place] = (signs.ceiling, Tone.OK)
    top = log1p(max(counts, default=0)) or 1.0
    levels = len(signs.columns)
    heights = [max(1, round(log1p(count) / top * rows * levels)) if count else 0 for count in counts]
    cells = max(len(heights), *(place + 1 for place in marks), 1) if marks else len(heights)

    def tone(place: int) -> Tone:
        at = place * chars
        if at >= then:
            return Tone.ERROR_FILL
        return Tone.DATA if now is None or at < now else Tone.OK_FILL

    lines = []
    for row in range(rows):
        line = Line()
        for place in range(cells):
            if place in marks:
                line.add(*marks[place])
            height = heights[place] if place < len(heights) else 0
            filled = min(levels, max(0, height - (rows - 1 - row) * levels))
            solid = filled == levels and len(signs.columns[-1].encode()) > 1
            line.add(signs.columns[filled - 1] if filled else " ", tone(place), solid=solid)
        lines.append(line.cut(width, ""))
    feet = {place + before: mark for before, (place, mark) in enumerate(sorted(marks.items()))}
    axis, ticks = Line(), Line().add("0", Tone.FAINT)
    for place, (_, colour) in sorted(feet.items()):
        axis.rule_to(place, signs.rule).add(signs.foot, colour)
        said = number(now if colour is Tone.WARN and now is not None else then)
        at = min(max(2, place - len(said) // 2), width - len(said))
        if at > ticks.cells:
            ticks.to(at).add(said, colour, bold=True)
    axis.rule_to(width, signs.rule)
    end = f"{number(chars * (width - 2))} chars"
    if ticks.cells + 2 <= width - len(end):
        ticks.to(width - len(end)).add(end, Tone.FAINT)
    return [*lines, axis, ticks]


def _target(page: Page, plan: Plan, guide: Guide, frame: Frame) -> None:
    width, signs = frame.width, frame.signs
    offer = guide.offer
    page.add(titled_rule("Target", width, signs.rule, fact=Line().add("not asked yet", Tone.FAINT)))
    field(page, "fingerprint", Line().add(short_fingerprint(plan.target, width - _LABEL, signs.more)), _LABEL)
    if frame.roomy:
        ceiling = Line().add(f"{number(int(plan.ceiling.chars))} chars, {plan.ceiling.source}", Tone.MUTED)
        field(page, "ceiling", ceiling, _LABEL)
        where = ", ".join(offer.hosts) if offer is not None and offer.hosts else "nowhere: it runs on this machine"
        field(page, "texts go to", Line().add(clip(where, width - _LABEL, signs.more), Tone.MUTED), _LABEL)
    cap = "none" if guide.cap_usd is None else f"{money(guide.cap_usd)}, then it pauses"
    field(page, "cap", Line().add(cap, Tone.MUTED), _LABEL)
    page.gap(frame)
