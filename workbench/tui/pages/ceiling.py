"""The ceiling of a namespace: what lies behind it, the histogram and the bars under one line, a chunk at its cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.tui.clipping import Clipping
from workbench.tui.draw import Ground, Line, Tone, clip_middle, number, titled_rule
from workbench.tui.pages.ceiling_verdict import nothing_clipped, verdict
from workbench.tui.pages.columns import lengths_chart
from workbench.tui.pages.cut import CutText, Position, cut_lines, cut_text, text_width
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.pages.scale import Scale, scale_for

if TYPE_CHECKING:
    from workbench.checkup.exact import ExactCut
    from workbench.checkup.report import Clipped, ClippedChunk

_GUTTER = 21
_BETWEEN = 2
_TALL_CHART = 12


@dataclass(frozen=True, slots=True)
class OpenedText:
    """The chunk under the cursor as far as it is known.

    ``note`` says why there is no text, or what is odd about the one there is. ``exact`` is where its tokens end, which
    holds instead of the ceiling of the verdict.
    """

    id: str
    text: str | None = None
    note: str = ""
    exact: ExactCut | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the user stands in the view.

    Attributes:
        ceiling: the ceiling looked at, in code units; another one than the verdict's is a what-if.
        cursor: which of the listed chunks.
        top: the first row of the list, moved where the cursor would not be seen.
        opened: the chunk at the cursor.
        text_top: the first row of its text; None to show the cut.
        whole: the text has the whole view.
    """

    ceiling: int
    cursor: int = 0
    top: int = 0
    opened: OpenedText | None = None
    text_top: Position | None = None
    whole: bool = False


@dataclass(slots=True)
class Drawn:
    """A finished page, and what is where on it, for the mouse and for the motions."""

    page: Page = field(default_factory=Page)
    scale: Scale | None = None
    plot_at: int = 0
    chart: range = range(0)
    listed: range = range(0)
    top: int = 0
    text: range = range(0)
    cut: CutText | None = None
    text_top: Position | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """How the rows of the view are shared out; 0 means that a part is left out."""

    chart: int
    listed: int
    text: int
    roomy: bool

    @classmethod
    def of(cls, height: int, heads: int, chunks: int, *, roomy: bool) -> Room:
        """Share ``height`` rows: chart and list first, then the text, then more of each."""
        # Axis, ticks and the row above the chart; with chunks the rule of the list; air and heads where there is room.
        fixed = heads + 3 + (2 if roomy else 0)
        if not chunks:
            return cls(max(2, min(_TALL_CHART, height - fixed - 4)), 0, 0, roomy)
        fixed += 1 + (1 if roomy else 0)
        text_head = 2 if roomy else 1
        left = height - fixed
        chart = min(8, max(2, left // 3))
        listed = min(chunks, max(2, (left - chart) // 2 - (1 if roomy else 0)))
        text = left - chart - listed - text_head
        if text < 3:
            return cls(chart, max(1, min(chunks, left - chart)), 0, roomy)
        return cls(chart, listed, text, roomy)


def ceiling_page(clipping: Clipping, at: Standing, frame: Frame, proof: Sequence[Line] = ()) -> Drawn:
    """Draw the view for a namespace whose lengths are known; every number is answered anew.

    ``proof`` stands below the chunk under the cursor.
    """
    drawn = Drawn()
    clipped = clipping.at(at.ceiling)
    chosen = clipped.chunks[min(at.cursor, len(clipped.chunks) - 1)] if clipped.chunks else None
    if at.opened is not None and at.ceiling != clipping.resolved.chars:
        at = replace(at, opened=replace(at.opened, exact=None))
    page = drawn.page
    page.gap(frame)
    verdict(page, clipping, clipped, at.ceiling, frame)
    if at.whole and chosen is not None:
        page.gap(frame)
        _text(drawn, chosen, at, frame, max(1, frame.height - len(page.lines) - 1 - len(proof)))
        page.lines += proof
        return drawn
    rows = len(clipped.chunks) + (clipped.not_listed > 0)
    room = Room.of(frame.height - len(proof), len(page.lines), rows, roomy=frame.roomy)
    gutter, amount = _sides(clipping, frame.width)
    scale = scale_in(clipping, at.ceiling, frame.width)
    drawn.scale, drawn.plot_at = scale, gutter
    _chart(drawn, clipping, scale, room, frame)
    if clipped.chunks:
        _list(drawn, clipped, scale, at, room, amount, frame)
    else:
        nothing_clipped(page, clipping, clipped, at.ceiling, frame)
    if chosen is not None and room.text:
        if room.roomy:
            page.add()
        _text(drawn, chosen, at, frame, room.text)
        while proof and len(page.lines) < frame.height - len(proof):
            page.add()
    if chosen is not None:
        page.lines += proof
    return drawn


def _sides(clipping: Clipping, width: int) -> tuple[int, int]:
    """Give the cells left of the scale, and those of one number right of it."""
    gutter = _GUTTER if width >= 4 * _GUTTER else min(_GUTTER - 2, max(8, width // 4))
    return gutter, max(6, len(number(clipping.longest)))


def scale_in(clipping: Clipping, ceiling: int, width: int) -> Scale:
    """Give the one scale of a page of that width."""
    gutter, amount = _sides(clipping, width)
    room = width - gutter - 2 * amount - 2 - _BETWEEN
    return scale_for(room, clipping.longest, clipping.resolved.chars, ceiling, clipping.mark("p95"))


# --- the chart -----------------------------------------------------------------------------------------------------


def _chart(drawn: Drawn, clipping: Clipping, scale: Scale, room: Room, frame: Frame) -> None:
    """Draw the histogram between its gutter and the percentiles, under a row that names both."""
    page, signs = drawn.page, frame.signs
    chart = lengths_chart(clipping.columns(scale.edges, scale.ceiling), scale, room.chart, signs)
    if room.roomy:
        page.add()
    above = Line().add("chunks".rjust(drawn.plot_at - 1), Tone.FAINT)
    if scale.cut is None:
        words = Line().add("ceiling beyond the right edge ", Tone.WARN).add(signs.beyond, Tone.WARN, bold=True)
        above.to(drawn.plot_at + scale.cells - words.cells).extend(words.spans)
    else:
        after = Line().add(signs.ceiling, Tone.WARN).add(" ceiling", Tone.WARN)
        before = Line().add("ceiling ", Tone.WARN).add(signs.ceiling, Tone.WARN)
        if scale.cut + after.cells <= scale.cells:
            above.to(drawn.plot_at + scale.cut).extend(after.spans)
        else:
            above.to(drawn.plot_at + scale.cut + 1 - before.cells).extend(before.spans)
    page.add(above.cut(frame.width))
    begin = len(page.lines)
    side = _marks(clipping, room.chart)
    right_at = drawn.plot_at + scale.cells + _BETWEEN
    for place, (mark, line) in enumerate(zip(chart.marks, chart.rows, strict=True)):
        row = Line().add(mark.rjust(drawn.plot_at - 1), Tone.FAINT).to(drawn.plot_at).extend(line.spans)
        if place < len(side):
            name, value = side[place]
            row.to(right_at).add(name, Tone.FAINT)
            row.right(Line().add(value, Tone.MUTED), frame.width)
        page.add(row)
    axis = Line().to(drawn.plot_at).extend(chart.axis.spans)
    if chart.doubtful:
        axis.to(right_at).add(signs.lost_bar, Tone.WARN).add(" possibly", Tone.FAINT)
    page.add(axis.cut(frame.width))
    ticks = Line().to(drawn.plot_at).extend(chart.ticks.spans)
    page.add(ticks.right(Line().add("chars", Tone.FAINT), frame.width))
    drawn.chart = range(begin - 1, len(page.lines))


def _marks(clipping: Clipping, rows: int) -> list[tuple[str, str]]:
    """Name as many percentiles as there are rows, the longest always."""
    marks = [(name, number(value)) for name, value in clipping.marks]
    return marks if rows >= len(marks) else [*marks[: max(0, rows - 1)], marks[-1]]


# --- the list ------------------------------------------------------------------------------------------------------


def _list(drawn: Drawn, clipped: Clipped, scale: Scale, at: Standing, room: Room, amount: int, frame: Frame) -> None:
    """Draw the clipped chunks, longest first, as bars on the scale of the histogram."""
    page, chunks = drawn.page, clipped.chunks
    total = len(chunks) + (clipped.not_listed > 0)
    cursor = min(at.cursor, len(chunks) - 1)
    # The row that says what is not listed comes into view with the last chunk.
    last = cursor + (clipped.not_listed > 0 and cursor == len(chunks) - 1)
    top = min(max(0, at.top, last - room.listed + 1), cursor, max(0, total - room.listed))
    drawn.top = top
    line_at = None if scale.cut is None else drawn.plot_at + scale.cut
    if room.roomy:
        page.add(_with_line(Line(), line_at, frame))
    which = f"{number(cursor + 1)} of {number(clipped.count)}" if total > room.listed else ""
    some = f", {number(len(chunks))} listed" if clipped.not_listed else ""
    facts = [f"{which}{some}, longest first", f"{which}{some}", which] if which else ["longest first"]
    # Where the ceiling is far right, the shorter fact leaves its crossing alone.
    fact = next((each for each in facts if frame.width - len(each) - 3 > (line_at or 0)), facts[-1])
    focused = frame.focused and not at.whole
    rule = titled_rule("Clipped", frame.width, frame.signs.rule, fact=Line().add(fact, Tone.FAINT), focused=focused)
    page.add(_crossed(rule, line_at, frame))
    if room.roomy:
        page.add(_heads(drawn.plot_at, line_at, scale, amount, frame))
    begin = len(page.lines)
    for place in range(top, min(top + room.listed, len(chunks))):
        page.stops.append(len(page.lines))
        page.add(_chunk_row(chunks[place], scale, drawn.plot_at, amount, frame, here=place == cursor))
    drawn.listed = range(begin, len(page.lines))
    if top + room.listed > len(chunks):
        more = Line().add(f" {frame.signs.more} {number(clipped.not_listed)} more not listed", Tone.FAINT)
        page.add(_with_line(more, line_at, frame))


def _heads(plot_at: int, line_at: int | None, scale: Scale, amount: int, frame: Frame) -> Line:
    line = Line().add(" chunk", Tone.FAINT).to(plot_at)
    if line_at is not None:
        if scale.cut is not None and scale.cut >= 5:
            line.add("read", Tone.FAINT)
        line.to(line_at).add(frame.signs.ceiling, Tone.WARN)
        if scale.cut is not None and scale.columns - scale.cut > 11:
            line.add(" never read", Tone.FAINT)
    return line.right(Line().add("chars".rjust(amount) + "  " + "lost".rjust(amount), Tone.FAINT), frame.width)


def _chunk_row(chunk: ClippedChunk, scale: Scale, plot_at: int, amount: int, frame: Frame, *, here: bool) -> Line:
    signs = frame.signs
    line = Line((Ground.CURSOR if frame.focused else Ground.CURSOR_BLURRED) if here else Ground.PLAIN)
    line.add(" ").add(clip_middle(chunk.id, plot_at - 2, signs.more), bold=here).to(plot_at)
    line.extend(bar(chunk.chars, scale, frame).spans).to(plot_at + scale.cells)
    amounts = Line().add(number(chunk.chars).rjust(amount), Tone.MUTED)
    amounts.add("  ").add(number(chunk.lost).rjust(amount), Tone.ERROR, bold=True)
    return line.right(amounts, frame.width)


def bar(chars: int, scale: Scale, frame: Frame) -> Line:
    """Draw a chunk on the scale: read up to the ceiling, the line, what was lost; however little, one cell of it."""
    signs = frame.signs
    line = Line()
    end = scale.cell(chars)
    if scale.cut is None:
        return line.add(signs.bar * end, Tone.DATA).add(signs.beyond, Tone.ERROR_FILL, bold=True)
    line.add(signs.bar * scale.cut, Tone.DATA).add(signs.ceiling, Tone.WARN)
    lost = end - scale.cut
    if scale.beyond(chars):
        line.add(signs.lost_bar * (lost - 1), Tone.ERROR_FILL)
        return line.add(signs.beyond, Tone.ERROR_FILL, bold=True)
    return line.add(signs.lost_bar * lost, Tone.ERROR_FILL)


def _with_line(line: Line, line_at: int | None, frame: Frame) -> Line:
    """Let the ceiling run on through a row, where nothing stands in its way."""
    if line_at is not None and line.cells <= line_at:
        line.to(line_at).add(frame.signs.ceiling, Tone.WARN)
    return line


def _crossed(rule: Line, line_at: int | None, frame: Frame) -> Line:
    """Put the crossing into a titled rule; its title and its fact are never crossed."""
    if line_at is None:
        return rule
    made, at = Line(), 0
    for span in rule:
        if at <= line_at < at + span.cells and span.text == frame.signs.rule * span.cells:
            before = line_at - at
            made.add(span.text[:before], span.tone).add(frame.signs.cross, Tone.WARN)
            made.add(span.text[before + 1 :], span.tone)
        else:
            made.extend([span])
        at += span.cells
    return made


# --- the chunk -----------------------------------------------------------------------------------------------------


def _text(drawn: Drawn, chunk: ClippedChunk, at: Standing, frame: Frame, height: int) -> None:
    """Draw the chunk under the cursor, opened at its cut."""
    page, signs = drawn.page, frame.signs
    opened = at.opened if at.opened is not None and at.opened.id == chunk.id else None
    exact = opened.exact if opened is not None else None
    lost = chunk.lost if exact is None else chunk.chars - exact.at if exact.at is not None else 0
    fact = Line().add(number(chunk.chars)).add(" chars, ", Tone.MUTED)
    if lost:
        fact.add(number(lost), Tone.ERROR, bold=True).add(" never read", Tone.ERROR)
    else:
        fact.add("all of it read", Tone.OK)
    if exact is not None:
        fact.add(", by tokens", Tone.MUTED)
    room = frame.width - fact.cells - 4
    focused = frame.focused and at.whole
    title = clip_middle(chunk.id, max(4, room), signs.more)
    page.add(titled_rule(title, frame.width, signs.rule, fact=fact, focused=focused).cut(frame.width, signs.more))
    begin = len(page.lines)
    if opened is None or opened.text is None:
        note = opened.note if opened is not None else ""
        page.sentence(note or f"reading the text {signs.reading}", frame.width, Tone.FAINT, at_most=2)
    else:
        if opened.note:
            page.sentence(opened.note, frame.width, Tone.FAINT, at_most=1)
            height -= 1
            begin += 1
        cut = at.ceiling if exact is None else chunk.chars if exact.at is None else exact.at
        text = cut_text(opened.text, cut, text_width(chunk.chars, frame.width))
        top = text.around_cut(height) if at.text_top is None else text.top(at.text_top, height)
        drawn.cut, drawn.text_top = text, top
        page.lines += cut_lines(text, top, height, frame.width, signs)
    drawn.text = range(begin, begin + height)
