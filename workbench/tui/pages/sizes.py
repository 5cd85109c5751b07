"""What a slim copy saves, and where: the places with the most vector bytes, and likely vectors that stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checkup.wording import counted, size_text
from workbench.recordings.secrets import mask_text
from workbench.tui.draw import Ground, Line, Tone, cells, clip_start, number, titled_rule
from workbench.tui.pages.parts import Frame, Page, share_bar

if TYPE_CHECKING:
    from workbench.checkup.recording_report import VectorTotals
    from workbench.recordings.heaviest import Heaviest, HeavyPlace
    from workbench.tui.state import SlimChoice

_COUNT, _SIZE, _SHARE, _BAR = 9, 11, 9, 14


def sizes_page(
    vectors: VectorTotals, heaviest: Heaviest | None, why: str, choice: SlimChoice, out: str, frame: Frame
) -> Page:
    """Draw it; ``heaviest`` is None while it is being measured, or cannot be, which ``why`` says."""
    page = Page()
    page.gap(frame)
    _what_w_writes(page, vectors, choice, out, frame)
    page.add()
    if heaviest is None:
        page.add(titled_rule("Vectors", frame.width, frame.signs.rule, focused=frame.focused))
        page.add(Line().add(why or f"being measured {frame.signs.reading}", Tone.MUTED))
        return page
    fact = Line().add("most bytes first", Tone.FAINT)
    page.add(titled_rule("Vectors", frame.width, frame.signs.rule, fact=fact, focused=frame.focused))
    if heaviest.seed:
        _places(page, heaviest.seed, heaviest.size, frame, Tone.DATA)
    else:
        page.add(Line().add("none stands in full", Tone.MUTED))
    if heaviest.likely:
        page.add()
        fact = Line().add("other keys, base64, JSON in strings", Tone.FAINT)
        page.add(titled_rule("Likely vectors, not summarised", frame.width, frame.signs.rule, fact=fact))
        _places(page, heaviest.likely, heaviest.size, frame, Tone.WARN_FILL)
    listed = (*heaviest.seed, *heaviest.likely)
    if frame.selected < len(listed):
        page.add()
        page.sentence(f"at {mask_text(listed[frame.selected].path)}", frame.width, at_most=4)
    if heaviest.more:
        page.add(Line().add(f"{frame.signs.more} {counted(heaviest.more, 'vector')} at further places", Tone.FAINT))
    return page


def _what_w_writes(page: Page, vectors: VectorTotals, choice: SlimChoice, out: str, frame: Frame) -> None:
    page.add(titled_rule("Slim copy", frame.width, frame.signs.rule))
    if vectors.bytes_after is None:
        page.sentence("No slim copy can be written of this format, or of a damaged file.", frame.width)
        return
    before, after = size_text(vectors.bytes_before), size_text(vectors.bytes_after)
    line = Line().add("size", Tone.FAINT).to(9).add(f"{before} → ", Tone.MUTED).add(after, bold=True)
    saved = vectors.bytes_before - vectors.bytes_after
    line.add(f"  {counted(vectors.count, 'vector')}", Tone.MUTED)
    page.add(line.add(f" as shape saves {_share(saved, vectors.bytes_before)}", Tone.MUTED).cut(frame.width))
    line = Line().add("where", Tone.FAINT).to(9)
    tail = Line().add("  w", Tone.ACCENT, bold=True).add(" write", Tone.MUTED)
    page.add(line.add(clip_start(out, frame.width - 10 - tail.cells, frame.signs.more)).right(tail, frame.width))
    likely = "no vector by other rules"
    if vectors.likely:
        kept = "summarised too" if choice.wide else "kept as they are"
        likely = f"{counted(vectors.likely, 'likely vector')} {kept}"
    does = ("takes them", "keeps them") if vectors.likely else None
    _option(page, "likely", likely, "t", does, choice.wide, frame)
    masked = "masked in the copy" if choice.redact else "kept as they are"
    _option(page, "secrets", masked, "m", ("masks them", "keeps them"), choice.redact, frame)


def _option(page: Page, name: str, said: str, key: str, does: tuple[str, str] | None, on: bool, frame: Frame) -> None:
    """Say how it is chosen, and what the key does: the first while it is off, the second while it is on."""
    tail = Line()
    if does is not None:
        tail.add(f"  {key}", Tone.ACCENT, bold=True).add(f" {does[on]}", Tone.MUTED)
    line = Line().add(name, Tone.FAINT).to(9).add(said, Tone.TEXT if on else Tone.MUTED)
    page.add(line.cut(frame.width - tail.cells, frame.signs.more).right(tail, frame.width))


def _places(page: Page, places: tuple[HeavyPlace, ...], size: int, frame: Frame, tone: Tone) -> None:
    bar = _BAR + 2 if frame.wide else 0
    name = frame.width - _COUNT - _SIZE - _SHARE - bar - 6
    head = Line().add("path", Tone.FAINT)
    head.right(Line().add("vectors", Tone.FAINT), name + _COUNT).right(
        Line().add("bytes", Tone.FAINT), name + _COUNT + _SIZE
    )
    head.right(Line().add("share", Tone.FAINT), name + _COUNT + _SIZE + _SHARE)
    page.add(head.right(Line().add("rule", Tone.FAINT), frame.width))
    for each in places:
        here = len(page.stops) == frame.selected
        page.stops.append(len(page.lines))
        path = clip_start(mask_text(each.path) or "the record itself", name - 1, frame.signs.more)
        line = Line((Ground.CURSOR if frame.focused else Ground.CURSOR_BLURRED) if here else Ground.PLAIN)
        line.add(path, bold=here)
        line.right(Line().add(number(each.count), Tone.MUTED), name + _COUNT)
        line.right(Line().add(size_text(each.size), bold=True), name + _COUNT + _SIZE)
        line.right(Line().add(_share(each.size, size), Tone.MUTED), name + _COUNT + _SIZE + _SHARE)
        if bar:
            line.to(name + _COUNT + _SIZE + _SHARE + 2)
            line.extend(share_bar(each.size, size, tone, frame.signs, _BAR).spans)
        rule = "seed" if not each.rule.startswith("W") else each.rule
        assert cells(rule) <= 4
        page.add(line.right(Line().add(rule, Tone.FAINT), frame.width))


def _share(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else "0 %"
