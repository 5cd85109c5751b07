"""A question to a namespace and what it found: rank, score, id, how much of each hit was never read, its passage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.checkup.wording import counted
from workbench.tui.draw import Ground, Line, Tone, clip, clip_middle, number, titled_rule
from workbench.tui.pages.parts import Frame, Page, keys_line, share_bar

if TYPE_CHECKING:
    from workbench.checkup.probing import Answered
    from workbench.index.model import Hit

_LABEL = 8
_BAR = 14
_RANK = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked, and what is known of it: an answer, why there is none, or neither while it is being found.

    ``text`` is the question in words; None when the vector of the chunk ``like`` asks.
    """

    text: str | None = None
    like: str | None = None
    answer: Answered | None = None
    why: str = ""


def probe_page(asked: Asked | None, ceiling: int | None, busy: bool, frame: Frame) -> Page:
    """Draw the question and its hits; ``ceiling`` is that of the namespace, where its texts are stored."""
    page = Page()
    _draw(page, asked, ceiling, busy, frame)
    page.lines = [line.cut(frame.width, frame.signs.more) for line in page.lines]
    return page


def _draw(page: Page, asked: Asked | None, ceiling: int | None, busy: bool, frame: Frame) -> None:
    signs = frame.signs
    page.gap(frame)
    if asked is None:
        page.add(Line().add("Ask this namespace something", bold=True))
        page.sentence(
            "Every vector is compared, nothing is approximated: what is missing here cannot be found by any search.",
            frame.width,
            at_most=3,
        )
        page.gap(frame)
        page.add(keys_line([("t", "ask with a text"), ("c", "ask with a chunk, by its id")]))
        return
    _question(page, asked, frame)
    page.gap(frame)
    if asked.why:
        page.add(Line().add(f"{signs.bad} ", Tone.ERROR, bold=True).add("nothing was searched", bold=True))
        page.sentence(asked.why, frame.width, at_most=6)
        return
    if asked.answer is None:
        said = f"Searching {signs.reading}" if busy else "It was stopped"
        page.add(Line().add(said, bold=True).right(keys_line([("esc", "cancel")] if busy else []), frame.width))
        return
    _hits(page, asked.answer, ceiling, frame)


def _question(page: Page, asked: Asked, frame: Frame) -> None:
    line = Line()
    if asked.text is not None:
        room = frame.width - _LABEL - 2
        line.add("query", Tone.FAINT).to(_LABEL)
        line.add(f"“{clip(' '.join(asked.text.split()), room, frame.signs.more)}”")
    else:
        line.add("like", Tone.FAINT).to(_LABEL)
        line.add(clip_middle(asked.like or "", frame.width - _LABEL, frame.signs.more), bold=True)
    page.add(line)
    if asked.answer is not None:
        space = Line().add("space", Tone.FAINT).to(_LABEL)
        if asked.answer.asked_with is None:
            space.add(f"{frame.signs.unknown} ", Tone.MUTED, bold=True).add("only the lengths agree", Tone.MUTED)
        else:
            space.add(clip_middle(asked.answer.asked_with, frame.width - _LABEL - 4, frame.signs.more), Tone.MUTED)
            space.add(f"  {frame.signs.ok}", Tone.OK, bold=True)
        page.add(space)


def _hits(page: Page, answer: Answered, ceiling: int | None, frame: Frame) -> None:
    result = answer.result
    fact = Line().add(counted(len(result.hits), "nearest chunk"), Tone.FAINT)
    page.add(titled_rule("Hits", frame.width, frame.signs.rule, fact=fact, focused=frame.focused))
    for place, hit in enumerate(result.hits):
        page.stops.append(len(page.lines))
        page.add(_hit(place, hit, ceiling, frame))
        if frame.height - frame.above > 2 * len(result.hits) and hit.text:
            room = frame.width - _RANK - 2
            passage = clip(" ".join(hit.text[: 4 * room].split()), room, frame.signs.more)
            page.add(Line().to(_RANK + 2).add(passage, Tone.FAINT))
    if not result.hits:
        page.add(Line().add(f"{frame.signs.empty} ", Tone.FAINT).add("nothing to rank", Tone.MUTED, italic=True))
    page.gap(frame)
    for amount, why in (
        (result.other_model, "of another model left out: scores between two models mean nothing"),
        (result.left_out, "left out: zero, not finite, or of another length"),
        (result.missing, "without a vector"),
        (result.expired, "expired and left out"),
    ):
        if amount:
            page.add(
                Line().add(number(amount), bold=True).add(f" {why}", Tone.MUTED).cut(frame.width, frame.signs.more)
            )


def _hit(place: int, hit: Hit, ceiling: int | None, frame: Frame) -> Line:
    signs, here = frame.signs, frame.focused and place == frame.selected
    line = Line(Ground.CURSOR if here else Ground.PLAIN)
    line.add(f"{place + 1}".rjust(_RANK), Tone.MUTED).add(f" {hit.score:7.4f} ", bold=here)
    # A hit that points away from the question has no share of it to draw.
    line.extend(share_bar(round(1_000 * max(0.0, hit.score)), 1_000, Tone.ACCENT, signs, _BAR).spans).add("  ")
    lost = max(0, hit.chars - ceiling) if hit.chars is not None and ceiling is not None else 0
    tail = Line()
    if lost:
        tail.add(f"{signs.clipped} ", Tone.WARN).add(number(lost), Tone.WARN).add(" lost", Tone.FAINT)
    room = frame.width - line.cells - tail.cells - 1
    line.add(clip_middle(hit.id, max(4, room), signs.more), bold=here)
    return line.right(tail, frame.width)
