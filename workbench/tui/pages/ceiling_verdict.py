"""A ceiling in words: how many chunks are longer, what was never read, whose number it is, what is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checkup.wording import counted, of_all, share, verb
from workbench.tui.clipping import Clipping
from workbench.tui.draw import Line, Tone, cells, number
from workbench.tui.pages.parts import Frame, Page

if TYPE_CHECKING:
    from workbench.checkup.report import Clipped, ExactClip


def verdict(page: Page, clipping: Clipping, clipped: Clipped, ceiling: int, frame: Frame) -> None:
    """Say how many chunks are longer and how much was lost; which ceiling this is; what is certain and what is not."""
    page.add(_headline(clipped, ceiling != clipping.resolved.chars, frame))
    page.add(_whose(clipping, clipped, ceiling, frame))
    if clipping.exact is not None:
        page.add(_in_tokens(clipping.exact, clipped, frame))
    elif clipped.possible or (clipping.token_limit is not None and frame.roomy):
        page.add(_certainty(clipping, clipped, frame))


def _headline(clipped: Clipped, moved: bool, frame: Frame) -> Line:
    if not clipped.count:
        if clipped.possible:
            line = Line().add(f"{frame.signs.unknown} ", Tone.WARN, bold=True)
            return line.add(f"none of {counted(clipped.total, 'chunk')} is longer than the ceiling").cut(frame.width)
        said = (
            f"{'every chunk' if clipped.total > 1 else 'the one chunk'} {'would be' if moved else 'is'} read to its end"
        )
        return Line().add(f"{frame.signs.ok} ", Tone.OK, bold=True).add(said, Tone.TEXT, bold=True)
    count, lost = number(clipped.count), number(clipped.lost_chars)
    of = of_all(clipped.count, clipped.total, "chunk").removeprefix(count)
    longer = f"{of} {'would be' if moved else verb(clipped.count, 'is', 'are')} longer"
    part = share(clipped.lost_chars, clipped.total_chars)
    never = "would never be read" if moved else f"{verb(clipped.lost_chars, 'was', 'were')} never read"
    whole = counted(clipped.lost_chars, "character").removeprefix(lost)
    line = Line()
    for first, between, rest in (
        (longer, f"  {frame.signs.dot}  ", f"{whole} ({part}) {never}"),
        (longer, "; ", f" chars ({part}) never read"),
        (f" of {number(clipped.total)} longer", "; ", f" lost ({part})"),
    ):
        line = Line().add(count, Tone.WARN, bold=True).add(first)
        line.add(between, Tone.FAINT).add(lost, Tone.WARN, bold=True).add(rest)
        if line.cells <= frame.width:
            break
    return line.cut(frame.width, frame.signs.more)


_SAYS = {
    "explicit": ("explicit, as given with --max-chunk-chars", "explicit, as given"),
    "embedder": ("embedder, recorded with the namespace", "embedder, recorded"),
    "registry": ("registry, the model table lists it", "registry, model table"),
    "default": ("default, the embedder declares none", "default, none declared"),
}


def _whose(clipping: Clipping, clipped: Clipped, ceiling: int, frame: Frame) -> Line:
    """Name the ceiling, the keys that move it, and where the number came from."""
    dot = f" {frame.signs.dot} "
    line = Line().add("ceiling ", Tone.FAINT).add("-", Tone.ACCENT, bold=True)
    line.add(f" {number(ceiling)} ", Tone.WARN, bold=True).add("+", Tone.ACCENT, bold=True).add(" chars", Tone.MUTED)
    whole = clipped.total - clipped.count
    fit = "all" if not clipped.count else share(whole, clipped.total) if whole else "none"
    tail = Line().add(fit, Tone.MUTED).add(" fit" if whole else " fits", Tone.FAINT)
    room = frame.width - tail.cells - 2
    resolved = clipping.resolved
    if ceiling == resolved.chars:
        for said in _SAYS[resolved.source]:
            if line.cells + cells(dot + said) <= room:
                line.add(dot, Tone.FAINT).add(said, Tone.MUTED)
                break
        return line.right(tail, frame.width)
    line.add(dot, Tone.FAINT).add("what-if", Tone.WARN, bold=True)
    back = f"{number(resolved.chars)} {resolved.source}"
    for said, does in (
        (", only in this view", f" back to {back}"),
        (", only here", f" back to {back}"),
        (", only here", f" {back}"),
        ("", ""),
    ):
        if line.cells + cells(f"{said}   0{does}") <= room:
            line.add(said, Tone.MUTED).add("   0", Tone.ACCENT, bold=True).add(does, Tone.MUTED)
            break
    return line.right(tail, frame.width)


def _certainty(clipping: Clipping, clipped: Clipped, frame: Frame) -> Line:
    """Say what is certainly clipped, what may be, and what is not."""
    signs = frame.signs
    limit = counted(clipping.token_limit or 0, "token")
    certain = number(clipped.count)
    possible = number(clipped.possible)
    fine = number(clipped.total - clipped.count - clipped.possible)
    for words in (
        ("certainly clipped", f"possibly: more bytes than the {limit} it reads", "not clipped"),
        ("certainly clipped", f"possibly, over {number(clipping.token_limit or 0)} bytes", "not clipped"),
        ("clipped", "possibly", "not"),
    ):
        line = Line().add(f"{signs.clipped} ", Tone.WARN if clipped.count else Tone.FAINT)
        line.add(certain, bold=True).add(f" {words[0]}   ", Tone.MUTED)
        line.add(f"{signs.unknown} ", Tone.WARN if clipped.possible else Tone.FAINT, bold=True)
        line.add(possible, bold=clipped.possible > 0).add(f" {words[1]}   ", Tone.MUTED)
        line.add(f"{signs.ok} ", Tone.OK).add(fine).add(f" {words[2]}", Tone.MUTED)
        if line.cells <= frame.width:
            return line
    return line.cut(frame.width, signs.more)


def _in_tokens(exact: ExactClip, clipped: Clipped, frame: Frame) -> Line:
    """Put the answer of the model's own tokens beside the one in characters."""
    signs = frame.signs
    lost = counted(exact.lost_chars, "character")
    for whose, end in (
        (f" ({exact.tokenizer})", f"{lost} never read"),
        (f" ({exact.tokenizer})", f"{number(exact.lost_chars)} lost"),
        ("", f"{number(exact.lost_chars)} lost"),
    ):
        line = Line().add(f"{signs.clipped} ", Tone.WARN if exact.count else Tone.FAINT)
        line.add(number(clipped.count), bold=True).add(" by characters, ", Tone.MUTED)
        line.add(number(exact.count), bold=True).add(f" by tokens{whose}, exactly", Tone.MUTED)
        if exact.count:
            line.add(f"   {end}", Tone.MUTED)
        if line.cells <= frame.width:
            break
    return line.cut(frame.width, signs.more)


def nothing_clipped(page: Page, clipping: Clipping, clipped: Clipped, ceiling: int, frame: Frame) -> None:
    """Say how near the longest chunk comes, and what is not certain all the same."""
    page.add()
    longest = counted(clipping.longest, "character")
    said = f"The longest chunk has {longest}, {number(ceiling - clipping.longest)} below the ceiling."
    if ceiling == clipping.longest:
        said = f"The longest chunk has {longest}, just as many as the ceiling."
    page.sentence(said, frame.width, at_most=2)
    if clipped.possible and clipping.exact is None:
        page.sentence(
            "Not certain for all of them: characters are not tokens, and some chunks have more bytes than the model "
            "reads tokens.",
            frame.width,
            at_most=3,
        )
