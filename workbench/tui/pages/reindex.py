"""The guided re-index: the line of its five steps, and the pages of choosing and confirming."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.text import inert
from workbench.reindex.model import RunState
from workbench.tui.draw import Ground, Line, Tone, cells, clip, number, short_fingerprint, titled_rule
from workbench.tui.guide import TITLES, Guide, Offer, Step
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.pages.reindex_build import build_page
from workbench.tui.pages.reindex_parts import act, ask_twice, banner, banner_of_trouble, field, say_busy
from workbench.tui.pages.reindex_plan import plan_page
from workbench.tui.pages.reindex_verify import verify_page
from workbench.tui.signs import Signs

_LABEL = 14
_NAME = 16
_STATES = {RunState.PAUSED: "paused", RunState.VERIFIED: "verified", RunState.FAILED: "did not pass its checks"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where on a page a line is typed: its row, its column and its width in cells."""

    row: int
    column: int
    width: int


def guide_page(guide: Guide, frame: Frame) -> Page:
    """Draw the step where the guide is; the cursor can stand on what can be chosen."""
    page = Page()
    page.gap(frame)
    if frame.roomy:
        page.add(_about(guide, frame))
        page.add()
    page.add(steps_line(guide.step, frame.width, frame.signs))
    page.add(Line().add(frame.signs.rule * frame.width, Tone.RULE))
    page.gap(frame)
    match guide.step:
        case Step.CHOOSE:
            _choose(page, guide, frame)
        case Step.PLAN:
            plan_page(page, guide, frame)
        case Step.CONFIRM:
            _confirm(page, guide, frame)
        case Step.BUILD:
            build_page(page, guide, frame)
        case Step.VERIFY:
            verify_page(page, guide, frame)
    return page


def _about(guide: Guide, frame: Frame) -> Line:
    signs = frame.signs
    line = Line().add("re-index", Tone.MUTED).add(f" {signs.dot} ", Tone.FAINT).add(number(guide.chunks), bold=True)
    line.add(" chunks", Tone.MUTED)
    target = guide.plan.target if guide.plan is not None else _target_of(guide)
    tail = Line()
    room = (frame.width - line.cells - 6) // 2
    tail.add(short_fingerprint(guide.origin or "not named", room, signs.more), Tone.MUTED, italic=guide.origin is None)
    if target:
        tail.add(" → ", Tone.FAINT).add(short_fingerprint(target, room, signs.more), Tone.ACCENT, bold=True)
    return line.right(tail, frame.width)


def _target_of(guide: Guide) -> str:
    if guide.unfinished is not None:
        return guide.unfinished.settings.fingerprint
    return guide.offer.fingerprint or "" if guide.offer is not None else ""


def steps_line(here: Step, width: int, signs: Signs) -> Line:
    """Give the five steps in one row: those behind with a tick, the one that it is at in bold."""
    words = sum(cells(title) for title in TITLES.values()) + 4 * (signs.state_cells + 1) + 2
    track = max(1, min(4, (width - words) // 4 - 2))
    line = Line()
    for step, title in TITLES.items():
        if step > Step.CHOOSE:
            behind = step <= here
            line.add(" ").add(signs.rule * track, Tone.OK if behind else Tone.RULE).add(" ")
        if step < here:
            line.add(signs.ok, Tone.OK, bold=True).add(f" {title}", Tone.MUTED)
        elif step is here:
            line.add(str(int(step)), Tone.ACCENT, bold=True).add(f" {title}", bold=True)
        else:
            line.add(f"{int(step)} {title}", Tone.FAINT)
    return line


# --- 1 Choose ----------------------------------------------------------------------------------------------------


def _choose(page: Page, guide: Guide, frame: Frame) -> None:
    if guide.question is not None:
        _question(page, guide, frame)
        return
    offered = guide.offered
    if offered is None:
        if guide.trouble:
            banner_of_trouble(page, guide.trouble, frame)
            act(page, frame, "enter", "look again", "nothing was sent, written or spent")
            return
        say_busy(page, guide, frame, "Reading the configuration")
        return
    banner_of_trouble(page, guide.trouble or offered.trouble, frame)
    if offered.unfinished is not None:
        _unfinished(page, guide, frame)
        return
    said = Line().add("Nothing is sent yet.", Tone.OK, bold=True)
    said.add(" This is what configuration and model table declare.", Tone.TEXT)
    page.add(said.cut(frame.width, frame.signs.more))
    page.gap(frame)
    fact = Line().add("c", Tone.ACCENT, bold=True).add(" ceiling   ", Tone.MUTED)
    page.add(
        titled_rule(
            "Target",
            frame.width,
            frame.signs.rule,
            fact=fact.add("x", Tone.ACCENT, bold=True).add(" re-split", Tone.MUTED),
            focused=True,
        )
    )
    _offers_head(page, frame)
    for place, offer in enumerate(offered.offers):
        page.stops.append(len(page.lines))
        page.add(_offer_row(offer, frame, here=place == guide.chosen))
    for place, question in enumerate(offered.questions, len(offered.offers)):
        here = place == guide.chosen
        page.stops.append(len(page.lines))
        line = Line(Ground.CURSOR if here else Ground.PLAIN)
        line.add(frame.signs.unknown.ljust(frame.signs.state_cells) + " ", Tone.WARN, bold=True)
        line.add(question.path.name, bold=here).add(" of this folder is not accepted yet: ", Tone.MUTED)
        page.add(line.add("enter", Tone.ACCENT, bold=True).add(" shows what it does", Tone.MUTED).cut(frame.width))
    if not offered.offers and not offered.questions:
        page.sentence(
            "No embedder is configured; workbench doctor says where workbench.toml is looked for.", frame.width
        )
    page.add()
    _declared(page, guide, frame)


def _offers_head(page: Page, frame: Frame) -> None:
    lead = frame.signs.state_cells + 1
    head = Line().to(lead).add("embedder", Tone.FAINT).to(lead + _NAME).add("fingerprint", Tone.FAINT)
    page.add(
        head.right(
            Line()
            .add("ceiling".rjust(11), Tone.FAINT)
            .add("  ")
            .add("texts go to".ljust(_host_cells(frame)), Tone.FAINT),
            frame.width,
        )
    )


def _host_cells(frame: Frame) -> int:
    return 20 if frame.width >= 80 else 16


def _offer_row(offer: Offer, frame: Frame, *, here: bool) -> Line:
    signs = frame.signs
    line = Line(Ground.CURSOR if here else Ground.PLAIN)
    sign, tone = (signs.ok, Tone.OK) if offer.usable else (signs.bad, Tone.ERROR)
    line.add(sign.ljust(signs.state_cells) + " ", tone, bold=True)
    line.add(clip(offer.name, _NAME - 1, signs.more), Tone.TEXT if offer.usable else Tone.MUTED, bold=here)
    line.to(signs.state_cells + 1 + _NAME)
    room = _host_cells(frame)
    chars = number(int(offer.ceiling.chars)) if offer.ceiling is not None else "unknown"
    where = "this machine" if not offer.hosts else ", ".join(offer.hosts)
    if offer.missing:
        where = "not installed"
    elif offer.conflict:
        where = "pair conflicts"
    tail = Line().add(chars.rjust(11), Tone.MUTED).add("  ")
    tail.add(clip(where, room, signs.more).ljust(room), Tone.MUTED if offer.usable else Tone.ERROR)
    print_ = short_fingerprint(
        offer.fingerprint or "length not declared", frame.width - line.cells - tail.cells - 1, signs.more
    )
    return line.add(print_, Tone.MUTED, italic=offer.fingerprint is None).right(tail, frame.width)


def _declared(page: Page, guide: Guide, frame: Frame) -> None:
    """Say what the embedder under the cursor declares, and what follows from what was chosen."""
    offer, width, signs = guide.offer, frame.width, frame.signs
    if offer is None:
        if guide.asked is not None:
            act(page, frame, "enter", "look at it", "nothing of it counts before you accept it")
        return
    page.add(
        titled_rule(clip(offer.name, 30, signs.more), width, signs.rule, fact=Line().add("as declared", Tone.FAINT))
    )
    field(
        page,
        "fingerprint",
        Line().add(short_fingerprint(offer.fingerprint or "length not declared", width - _LABEL)),
        _LABEL,
    )
    if offer.ceiling is not None:
        said = (
            Line().add(number(int(offer.ceiling.chars)), bold=True).add(f" chars, {offer.ceiling.source}", Tone.MUTED)
        )
        field(page, "ceiling", said, _LABEL)
    if offer.hosts:
        said = Line().add(clip(", ".join(offer.hosts), width - _LABEL, signs.more), Tone.WARN)
    else:
        said = Line().add("nowhere: it runs on this machine", Tone.MUTED)
    field(page, "texts go to", said, _LABEL)
    if not offer.hosts:
        price = Line().add("nothing", Tone.MUTED)
    elif offer.price_usd is None:
        price = Line().add("not known", italic=True).add(", which is not the same as free", Tone.MUTED)
    else:
        price = (
            Line()
            .add(f"$ {offer.price_usd:,.2f}" if offer.price_usd >= 0.01 else f"$ {offer.price_usd:g}", bold=True)
            .add(" a million tokens", Tone.MUTED)
        )
        price.add(f", read on {offer.price_read_on}" if offer.price_read_on else "", Tone.FAINT)
    field(page, "price", price, _LABEL)
    split = Line()
    if guide.resplit:
        split.add("cut into pieces", bold=True).add(" at paragraph, sentence, word; ids stay findable", Tone.MUTED)
    else:
        split.add("kept whole", bold=True).add(" and clipped, as the plan will count", Tone.MUTED)
    field(page, "too long", split.cut(width - _LABEL, signs.more), _LABEL)
    before = guide.standing.before if guide.standing is not None else None
    if before is not None:
        page.gap(frame)
        kept = Line().add(f"generation {before.generation}", bold=True).add(" ")
        kept.add(short_fingerprint(before.fingerprint or "no vector yet", width - _LABEL - 42, signs.more), Tone.MUTED)
        kept.add("  ").add("R", Tone.ACCENT, bold=True).add(" rolls back  ", Tone.MUTED)
        field(
            page, "kept", kept.add("X", Tone.ACCENT, bold=True).add(" drops it", Tone.MUTED).cut(width - _LABEL), _LABEL
        )
    page.gap(frame)
    if offer.conflict:
        page.sentence(offer.conflict, width, Tone.TEXT, at_most=3)
        page.sentence("Such a pair may serve queries and never builds: choose one leg alone.", width, at_most=2)
    elif offer.missing:
        page.sentence(f"It comes with the extra: pip install 'vector-workbench[{offer.missing}]'", width, Tone.TEXT)
    elif offer.usable and not ask_twice(page, guide, frame):
        act(page, frame, "enter", "plan it", "reads the namespace; nothing is sent, written or spent")


def _question(page: Page, guide: Guide, frame: Frame) -> None:
    """Ask before a file of the working folder counts."""
    question = guide.question
    assert question is not None
    first, *facts = question.facts()
    banner(page, frame, Ground.WARN, frame.signs.unknown, Tone.WARN, "may this file say where texts and keys go?")
    page.add()
    page.sentence(first, frame.width, Tone.TEXT, at_most=4)
    page.add()
    page.add(
        titled_rule("What it does", frame.width, frame.signs.rule, fact=Line().add(number(len(facts)), Tone.FAINT))
    )
    room = max(3, frame.height - len(page.lines) - 4)
    for fact in facts[:room]:
        page.sentence(f"{frame.signs.dot} {fact}", frame.width, Tone.TEXT, at_most=2)
    if len(facts) > room:
        page.add(Line().add(f"{frame.signs.more} {number(len(facts) - room)} more", Tone.WARN))
    page.add()
    act(page, frame, "a", "accept", "this content of the file; one changed byte asks again")


def _unfinished(page: Page, guide: Guide, frame: Frame) -> None:
    """Offer to go on with what was begun, or to drop it, before anything else."""
    unfinished = guide.unfinished
    assert unfinished is not None
    settings, signs, width = unfinished.settings, frame.signs, frame.width
    state = (
        "is built and verified, and not swapped in" if unfinished.state == "verified" else "was begun and not finished"
    )
    banner(page, frame, Ground.WARN, signs.warn, Tone.WARN, f"a re-index {state}")
    page.add()
    page.sentence("The living index answers as before. Going on pays only for what is missing.", width)
    page.add()
    page.add(
        titled_rule(
            "Unfinished", width, signs.rule, fact=Line().add(_STATES.get(unfinished.state, "interrupted"), Tone.FAINT)
        )
    )
    field(
        page, "to", Line().add(short_fingerprint(settings.fingerprint, width - _LABEL, signs.more), bold=True), _LABEL
    )
    field(page, "embedder", Line().add(clip(settings.embedder, width - _LABEL, signs.more)), _LABEL)
    if unfinished.done is not None and unfinished.total is not None:
        kept = Line().add(number(unfinished.done), bold=True).add(f" of {number(unfinished.total)} vectors", Tone.MUTED)
        field(page, "kept", kept, _LABEL)
    field(page, "ceiling", Line().add(f"{number(settings.max_chunk_chars)} chars", Tone.MUTED), _LABEL)
    field(page, "too long", Line().add("cut into pieces" if settings.resplit else "kept whole", Tone.MUTED), _LABEL)
    field(
        page,
        "built in",
        Line().add(clip(unfinished.path.rpartition("/")[2], width - _LABEL, signs.more), Tone.MUTED),
        _LABEL,
    )
    page.add()
    if not ask_twice(page, guide, frame):
        where = f"texts go to {settings.host}" if settings.host else "nothing leaves this machine"
        act(page, frame, "enter", "go on with it", where)


# --- 3 Confirm ---------------------------------------------------------------------------------------------------


def _confirm(page: Page, guide: Guide, frame: Frame) -> None:
    plan, width, signs = guide.plan, frame.width, frame.signs
    assert plan is not None
    offer = guide.offer
    hosts = offer.hosts if offer is not None else ()
    page.add(
        Line()
        .add("Nothing is spent yet.", Tone.OK, bold=True)
        .add(" It begins when you type the name and press enter.")
        .cut(width, signs.more)
    )
    page.gap(frame)
    page.add(titled_rule("What goes where", width, signs.rule, fact=Line().add("estimated", Tone.FAINT)))
    sends = Line().add(number(plan.pieces), bold=True).add(f" texts, {number(plan.chars)} characters", Tone.MUTED)
    field(page, "sent", sends, _LABEL)
    if hosts:
        field(page, "to", Line().add(clip(", ".join(hosts), width - _LABEL, signs.more), Tone.WARN, bold=True), _LABEL)
    else:
        field(page, "to", Line().add("nowhere: it runs on this machine", Tone.MUTED), _LABEL)
    if not hosts:
        cost = Line().add("nothing is paid", Tone.MUTED)
    elif plan.cost is None:
        cost = Line().add("not known", italic=True).add(", which is not the same as free", Tone.MUTED)
    else:
        usd = plan.cost.usd
        cost = (
            Line()
            .add(f"$ {usd.likely:,.2f}", bold=True)
            .add(f" likely, $ {usd.low:,.2f} to $ {usd.high:,.2f}", Tone.MUTED)
        )
    field(page, "cost", cost, _LABEL)
    cap = Line()
    if not hosts or plan.cost is None:
        cap.add("none" if not hosts else "none can be held: the price is not known", Tone.MUTED)
    elif guide.cap_usd is None:
        cap.add("none", italic=True).add("   ").add("^t", Tone.ACCENT, bold=True).add(
            " sets one: the build pauses there", Tone.MUTED
        )
    else:
        cap.add(f"$ {guide.cap_usd:,.2f}", bold=True).add(", then it pauses and keeps the work   ", Tone.MUTED)
        cap.add("^t", Tone.ACCENT, bold=True).add(" changes it", Tone.MUTED)
    field(page, "cap", cap.cut(width - _LABEL, signs.more), _LABEL)
    index = guide.index.rpartition("/")[2]
    built = (
        Line()
        .add(clip(f"{index}.reindex-….duckdb", width - _LABEL - 22, signs.more))
        .add(" beside the living one", Tone.MUTED)
    )
    field(page, "built in", built.cut(width - _LABEL), _LABEL)
    field(page, "then", Line().add("checked, shown to you, and swapped only when you say so", Tone.MUTED), _LABEL)
    page.add()
    page.add(titled_rule("Type the name of the namespace", width, signs.rule, focused=True))
    page.add(Line().add(clip(guide.namespace, width, signs.more), Tone.FAINT))
    page.add()  # the line that is typed floats here: see place_of_name
    page.add()
    if guide.confirmed:
        what = (
            f"sends {number(plan.pieces)} texts to {', '.join(hosts)}"
            if hosts
            else f"embeds {number(plan.pieces)} texts here"
        )
        act(page, frame, "enter", "build", what + "; esc pauses at any time")
    else:
        rest = (
            "that is not its name"
            if guide.typed and not inert(guide.namespace).startswith(guide.typed)
            else "it begins when the name is whole"
        )
        page.add(Line().add(rest, Tone.ERROR if rest.startswith("that") else Tone.FAINT))


def place_of_name(guide: Guide, frame: Frame) -> Place | None:
    """Give where the name is typed, None on the pages where it is not."""
    if guide.step is not Step.CONFIRM:
        return None
    lines = guide_page(guide, frame).lines
    return Place(len(lines) - 3, 0, frame.width)
