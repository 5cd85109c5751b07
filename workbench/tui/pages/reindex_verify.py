"""The fifth step: what was checked, what comes back that was lost, who holds the file, the swap and the way back."""

from __future__ import annotations

from workbench.reindex.model import RunState, Verification
from workbench.tui.draw import Ground, Line, Tone, cells, clip, number, short_fingerprint, titled_rule
from workbench.tui.guide import Guide, Standing
from workbench.tui.pages.parts import Frame, Page, share_bar
from workbench.tui.pages.reindex_parts import (
    act,
    ask_twice,
    banner,
    banner_of_trouble,
    beside,
    money,
    on_screen,
    percent,
)
from workbench.tui.signs import Signs

_LISTED = 5


def verify_page(page: Page, guide: Guide, frame: Frame) -> None:
    """Draw the gate, or what it came to."""
    outcome = guide.outcome
    if guide.trouble:
        banner_of_trouble(page, on_screen(guide.trouble), frame)
    elif guide.rolled is not None:
        said = f"generation {guide.rolled.generation} answers again"
        banner(page, frame, Ground.GOOD, frame.signs.ok, Tone.OK, said, f"{guide.rolled.left} is kept")
    elif outcome is not None:
        _headline(page, guide, frame)
    verification = outcome.verification if outcome is not None else None
    page.gap(frame)
    if verification is not None:
        _checks_and_ranks(page, verification, frame)
        page.gap(frame)
        _neighbours(page, verification, frame)
    _quarantined(page, guide, frame)
    _swap(page, guide, frame)
    if guide.busy:
        page.gap(frame)
        page.add(Line().add(f"{guide.busy} {frame.signs.reading}", bold=True))
    else:
        _action(page, guide, frame)


def _headline(page: Page, guide: Guide, frame: Frame) -> None:
    outcome = guide.outcome
    assert outcome is not None
    signs = frame.signs
    checks = outcome.verification.checks if outcome.verification is not None else ()
    passed = sum(check.ok for check in checks)
    tally = f"{passed} of {len(checks)} checks" if checks else ""
    if outcome.state is RunState.SWAPPED:
        said = f"generation {outcome.generation} answers now" if outcome.generation else "the new vectors answer now"
        banner(page, frame, Ground.GOOD, signs.ok, Tone.OK, said, tally)
        rest = outcome.message.removeprefix("swapped").strip()
        if rest:
            page.sentence(rest, frame.width, at_most=2)
    elif outcome.state is RunState.VERIFIED:
        banner(
            page, frame, Ground.GOOD, signs.ok, Tone.OK, "the new generation is verified; the old one answers", tally
        )
    else:
        head, _, rest = on_screen(outcome.message).partition(" (")
        banner(page, frame, Ground.BAD, signs.bad, Tone.ERROR, head, tally)
        if rest:
            page.sentence(rest.removesuffix(")"), frame.width, Tone.TEXT, at_most=3)


def _checks_and_ranks(page: Page, verification: Verification, frame: Frame) -> None:
    if not verification.regained:
        page.lines += _checks(verification, frame.width, frame.signs)
        return
    left = max(frame.width * 52 // 100, frame.width - 37)
    ranks = _ranks(verification, frame.width - left - 3, frame.signs)
    page.lines += beside(_checks(verification, left, frame.signs), ranks, left, frame.width)


def _checks(verification: Verification, width: int, signs: Signs) -> list[Line]:
    lines = [titled_rule("Checks", width, signs.rule)]
    for check in verification.checks:
        line = Line().add(
            (signs.ok if check.ok else signs.bad).ljust(signs.state_cells) + " ",
            Tone.OK if check.ok else Tone.ERROR,
            bold=True,
        )
        line.add(check.name, Tone.MUTED if check.ok else Tone.TEXT, bold=not check.ok).to(signs.state_cells + 13)
        detail = clip(_brief(check.detail, width - line.cells - 1), width - line.cells - 1, signs.more)
        lines.append(line.right(Line().add(detail, Tone.TEXT if not check.ok else Tone.MUTED), width))
    return lines


def _brief(detail: str, room: int) -> str:
    """Leave out the end of a sentence, part by part, until it fits."""
    for end in (" (", ", ", " for ", " from", " land"):
        if cells(detail) <= room:
            break
        detail = detail.partition(end)[0]
    return detail


def _ranks(verification: Verification, width: int, signs: Signs) -> list[Line]:
    regained = verification.regained
    lines = [titled_rule("Lost texts, found again", width, signs.rule, fact=Line().add("rank", Tone.FAINT))]
    for each in regained[:_LISTED]:
        before = signs.unknown if not each.measured else "lost" if each.before is None else number(each.before)
        tail = Line().add(before, Tone.ERROR if each.measured else Tone.MUTED, bold=True)
        tail = Line().to(max(0, 6 - tail.cells)).extend(tail.spans).add(" → ", Tone.FAINT)
        good = each.after is not None and (each.before is None or each.after <= each.before)
        tail.add(
            ("lost" if each.after is None else number(each.after)).rjust(4), Tone.OK if good else Tone.ERROR, bold=True
        )
        line = Line().add(clip(each.id, width - tail.cells - 1, signs.more))
        lines.append(line.right(tail, width))
    if len(regained) > _LISTED:
        first = sum(each.after == 1 for each in regained)
        lines.append(
            Line().add(
                f"{signs.more} {number(len(regained) - _LISTED)} more, {number(first)} of all at rank 1",
                Tone.FAINT,
            )
        )
    if verification.not_measured is not None and not all(each.measured for each in regained):
        said = f"{signs.unknown} {verification.not_measured}"
        lines.append(Line().add(clip(said, width, signs.more), Tone.FAINT))
    return lines


def _neighbours(page: Page, verification: Verification, frame: Frame) -> None:
    overlap = verification.neighbour_overlap
    if overlap is None:
        return
    fact = Line().add("same top 10 ", Tone.FAINT).add(percent(overlap), bold=True)
    page.add(titled_rule("Neighbours", frame.width, frame.signs.rule, fact=fact))
    page.add(share_bar(round(1_000 * overlap), 1_000, Tone.DATA, frame.signs, frame.width))
    page.gap(frame)


def _quarantined(page: Page, guide: Guide, frame: Frame) -> None:
    outcome = guide.outcome
    if outcome is None or not outcome.quarantined:
        return
    fact = Line().add(number(len(outcome.quarantined)), Tone.WARN, bold=True)
    page.add(titled_rule("Without a vector", frame.width, frame.signs.rule, fact=fact))
    for each in outcome.quarantined[: 3 if frame.roomy else 1]:
        line = Line().add(clip(each.id, frame.width // 3, frame.signs.more)).to(frame.width // 3 + 2)
        page.add(line.add(clip(each.reason, frame.width - line.cells, frame.signs.more), Tone.MUTED))
    page.gap(frame)


def _swap(page: Page, guide: Guide, frame: Frame) -> None:
    standing = guide.standing
    if standing is None:
        return
    fact = Line().add("nothing is deleted", Tone.FAINT)
    page.add(titled_rule("Generations", frame.width, frame.signs.rule, fact=fact))
    now = standing.now
    done = guide.outcome is not None and guide.outcome.state is RunState.SWAPPED
    rows: list[Line] = []
    if now is not None:
        rows.append(_generation("now", f"generation {now.generation}", now.fingerprint, now.count, frame, strong=done))
    if not done and guide.rolled is None and guide.outcome is not None:
        target = (
            guide.plan.target
            if guide.plan is not None
            else (guide.unfinished.settings.fingerprint if guide.unfinished is not None else None)
        )
        made = guide.outcome.embedded + guide.outcome.reused
        rows.append(_generation("then", "the new one", target, made, frame, strong=True))
        if now is not None:
            back = Line().add("back", Tone.FAINT).to(9)
            rows.append(
                back.add(f"R returns to generation {now.generation}, which is kept until you drop it", Tone.MUTED)
            )
    elif standing.before is not None:
        before = standing.before
        rows.append(
            _generation(
                "back", f"generation {before.generation}", before.fingerprint, before.count, frame, strong=False
            )
        )
    for row in rows:
        page.add(row.cut(frame.width, frame.signs.more))
    page.gap(frame)
    _held(page, standing, guide, frame, done=done)


def _generation(lead: str, name: str, fingerprint: str | None, count: int, frame: Frame, *, strong: bool) -> Line:
    tone = Tone.TEXT if strong else Tone.MUTED
    line = Line().add(lead, Tone.FAINT).to(9).add(name, tone).to(24)
    tail = Line().add(number(count).rjust(10), tone)
    room = frame.width - line.cells - tail.cells - 1
    return line.add(
        short_fingerprint(fingerprint or "no vector yet", room, frame.signs.more), tone, italic=fingerprint is None
    ).right(tail, min(frame.width, 84))


def _held(page: Page, standing: Standing, guide: Guide, frame: Frame, *, done: bool) -> None:
    held = standing.held
    if done or guide.rolled is not None:
        if standing.written_since and guide.rolled is None:
            said = (
                f"{number(standing.written_since)} chunks were written since the swap; rolling back leaves them behind"
            )
            page.add(
                Line()
                .add(f"{frame.signs.warn} ", Tone.WARN, bold=True)
                .add(clip(said, frame.width - 2, frame.signs.more))
            )
        return
    if held is None:
        page.add(
            Line().add(f"{frame.signs.ok} ", Tone.OK, bold=True).add("no other program holds the file", Tone.MUTED)
        )
        return
    line = Line().add(f"{frame.signs.warn} ", Tone.WARN, bold=True)
    line.add("written by " if held.writes else "open in ")
    who = f" (pid {held.holder.pid})"
    rest = "  it has to close it first" if held.writes else "  it sees the new one when it reopens"
    room = frame.width - line.cells - cells(who) - cells(rest)
    line.add(clip(held.holder.program, room, frame.signs.more), bold=True).add(who, Tone.MUTED)
    page.add(line.add(rest, Tone.MUTED).cut(frame.width, frame.signs.more))


def _action(page: Page, guide: Guide, frame: Frame) -> None:
    outcome, standing = guide.outcome, guide.standing
    kept = standing is not None and standing.before is not None
    back = "R rolls back to the old generation, X drops it" if kept else "no older generation is kept"
    page.gap(frame)
    if ask_twice(page, guide, frame):
        return
    if guide.rolled is not None:
        act(page, frame, "esc", "done", "the re-indexed generation is kept, and can be built again")
    elif outcome is not None and outcome.state is RunState.SWAPPED:
        act(page, frame, "esc", "done", back)
    elif outcome is not None and outcome.state is RunState.VERIFIED:
        act(page, frame, "enter", "swap", "the new generation answers at once; the old one is kept")
    elif outcome is not None:
        act(page, frame, "enter", "go on", "brings in what was written, checks again; D drops it")


def spent_said(guide: Guide) -> str:
    """Say what it has cost so far, for the footer."""
    progress = guide.building.progress if guide.building is not None else None
    if progress is None:
        return "nothing spent"
    return f"{money(progress.cost_usd)} spent" if progress.cost_usd is not None else ""
