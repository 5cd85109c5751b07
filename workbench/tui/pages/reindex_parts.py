"""What the pages of the guide share: the one action of a step, banners, fields, money and times."""

from __future__ import annotations

import re

from workbench.tui.draw import Ground, Line, Tone, cells, clip, number
from workbench.tui.guide import Guide
from workbench.tui.pages.parts import Frame, Page, share_bar

_KEPT = re.compile(r"; [\d,]+ of [\d,]+ vectors are kept.*$", re.DOTALL)


def act(page: Page, frame: Frame, key: str, does: str, note: str) -> None:
    """End a step with its action in a tinted row: the key, what it does, what that will cause."""
    line = Line(Ground.ACTION).add(key, Tone.ACCENT, bold=True).add(" ").add(does, bold=True).add("   ")
    page.add(line.add(clip(note, max(0, frame.width - line.cells), frame.signs.more), Tone.MUTED).to(frame.width))


def ask_twice(page: Page, guide: Guide, frame: Frame) -> bool:
    """Say what a second press would cause, when there was a first; says whether there was."""
    since = guide.standing.written_since if guide.standing is not None else 0
    asked = {
        "discard": ("D", "drop it now", "press D once more; what it has cost is lost, the index is untouched"),
        "drop": ("X", "drop the old one now", "press X once more; after that there is no way back"),
        "rollback": ("R", "roll back now", f"press R once more; {number(since)} chunks written since stay behind"),
    }.get(guide.sure)
    if asked is not None:
        act(page, frame, *asked)
    return asked is not None


def banner(page: Page, frame: Frame, ground: Ground, sign: str, tone: Tone, said: str, tail: str = "") -> None:
    """Say the one sentence of a page in its colour."""
    line = Line(ground).add(sign.ljust(frame.signs.state_cells) + " ", tone, bold=True)
    room = frame.width - line.cells - (cells(tail) + 2 if tail else 0)
    line.add(clip(said, room, frame.signs.more), tone, bold=True)
    page.add((line.right(Line().add(tail, tone), frame.width) if tail else line).to(frame.width))


def banner_of_trouble(page: Page, trouble: str, frame: Frame) -> None:
    """Say what could not be done: the head of the sentence as a banner, the rest below it."""
    if not trouble:
        return
    head, _, rest = trouble.partition(": ")
    if cells(head) > frame.width - 4:
        head, rest = "this could not be done", trouble
    banner(page, frame, Ground.BAD, frame.signs.bad, Tone.ERROR, head)
    if rest:
        page.sentence(rest, frame.width, Tone.TEXT, at_most=5 if frame.roomy else 3)
    page.add()


def field(page: Page, name: str, said: Line, label: int) -> None:
    """Name a field and say it."""
    page.add(Line().add(name, Tone.FAINT).to(label).extend(said.spans))


def say_busy(page: Page, guide: Guide, frame: Frame, doing: str) -> None:
    """Say what is going on and how far it is."""
    line = Line().add(f"{guide.busy or doing} {frame.signs.reading}", bold=True)
    page.add(line.right(Line().add("esc", Tone.ACCENT, bold=True).add(" leaves", Tone.MUTED), frame.width))
    if guide.total:
        page.add(share_bar(guide.done, guide.total, Tone.ACCENT, frame.signs, frame.width))
        page.add(Line().add(number(guide.done), bold=True).add(f" of {number(guide.total)}", Tone.MUTED))
    else:
        page.add(Line().add(frame.signs.track * frame.width, Tone.RULE))


def beside(left: list[Line], right: list[Line], width: int, whole: int) -> list[Line]:
    """Put two blocks side by side in ``whole`` cells, the left one ``width`` wide, three columns between them."""
    rows = max(len(left), len(right))
    made = []
    for at in range(rows):
        line = Line()
        if at < len(left):
            line.extend(left[at].cut(width).spans)
        line.to(width + 3)
        if at < len(right):
            line.extend(right[at].cut(whole - width - 3).spans)
        made.append(line)
    return made


def money(usd: float) -> str:
    """Write US dollars, with as many places as a small amount needs."""
    return f"$ {usd:,.2f}" if usd >= 0.995 or usd == 0 else f"$ {usd:.3f}" if usd >= 0.0005 else "< $ 0.001"


def amount(value: float) -> str:
    """Write a big count briefly: ``9,928``, ``1.71 M``."""
    return f"{value / 1e6:,.2f} M" if value >= 999_500 else number(round(value))


def clock(seconds: float) -> str:
    """Write a time as minutes and seconds: ``2:30``, ``1:02:30``."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def span(seconds: float) -> str:
    """Write a duration as people say it."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 100:
        return f"~ {seconds:.0f} s"
    return f"~ {seconds / 60:.0f} min" if seconds < 6_000 else f"~ {seconds / 3600:.1f} h"


def size(count: float) -> str:
    """Write bytes as people read them."""
    return (
        f"{count / 1e9:,.1f} GB"
        if count >= 1e9
        else f"{count / 1e6:,.1f} MB"
        if count >= 1e5
        else f"{count / 1e3:,.0f} kB"
    )


def percent(share: float, places: int = 0) -> str:
    """Write a share as people read it, the unit apart."""
    return f"{100 * share:.{places}f} %"


def on_screen(message: str) -> str:
    """Say the engine's sentence in the keys of the screen, where it names options of the command."""
    for option, key in (("--resume", "enter"), ("--swap", "enter"), ("--discard", "D"), ("--rollback", "R")):
        message = message.replace(option, key)
    return message


def halted(message: str) -> str:
    """Say why a build stopped; how much is kept stands beside it anyway."""
    return on_screen(_KEPT.sub("", message))
