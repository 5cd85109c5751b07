"""The ceiling of a namespace where there is nothing to draw: no text, no chunks, or lengths that are not read yet."""

from __future__ import annotations

from workbench.checkup.wording import counted
from workbench.tui.draw import Line, Tone, number
from workbench.tui.pages.parts import Frame, Page, keys_line, share_bar


def no_text_page(why: str, ceiling: int, frame: Frame) -> Page:
    """Say that lengths cannot be known, and what that means."""
    page = Page()
    page.gap(frame)
    head = Line().add(f"{frame.signs.unknown} ", Tone.MUTED, bold=True)
    page.add(
        head.add("nobody can say what was clipped: the text of the chunks is not here", bold=True).cut(frame.width)
    )
    page.add()
    page.sentence(f"{why[:1].upper()}{why[1:]}.", frame.width, at_most=4)
    page.sentence(
        f"A chunk longer than {counted(ceiling, 'character')} was embedded without its end, and only its text could "
        "show that. The vectors themselves can be searched as ever; where the texts are kept, the same question can "
        "be asked.",
        frame.width,
        at_most=5,
    )
    return page


def empty_page(ceiling: int, frame: Frame) -> Page:
    """Say that there is no chunk, and what would hold for one."""
    page = Page()
    page.gap(frame)
    page.add(Line().add(f"{frame.signs.empty} ", Tone.FAINT).add("no chunks yet", bold=True))
    page.add()
    page.sentence(f"What is indexed here would be read up to {counted(ceiling, 'character')}.", frame.width, at_most=3)
    return page


def measuring_page(done: int, total: int, frame: Frame) -> Page:
    """Say that the lengths are being read, and how far that is."""
    page = Page()
    page.gap(frame)
    title = Line().add(f"Reading the lengths {frame.signs.reading}", bold=True)
    page.add(title.right(keys_line([("esc", "cancel")]), frame.width))
    if total:
        page.add(share_bar(done, total, Tone.ACCENT, frame.signs, frame.width))
        said = Line().add(number(done), bold=True).add(" of ", Tone.FAINT).add(number(total))
        page.add(said.add(" rows so far", Tone.MUTED))
    return page


def stopped_page(why: str, frame: Frame) -> Page:
    """Say that the lengths were not read to the end."""
    page = Page()
    page.gap(frame)
    page.add(Line().add("The lengths were not read to the end", bold=True))
    if why:
        page.sentence(why, frame.width, at_most=4)
    page.add(keys_line([("enter", "read them again")]))
    return page
