"""A list of chunks as rows: which columns there is room for, the summary above them, one row, one row to come."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.index.model import ChunkRow
from workbench.index.query import ListingQuery, SortBy
from workbench.tui.draw import Ground, Line, Tone, cells, clip, clip_middle, clip_start, number, short_fingerprint
from workbench.tui.pages.ceiling import bar
from workbench.tui.pages.parts import Frame
from workbench.tui.pages.scale import Scale
from workbench.tui.signs import Signs

_CHARS = 9
_GAP = 2
_FINGERPRINT = 20
_ID_LEAST = 18
_LAST_LEAST = 14
_BAR_LEAST = 12
_BAR_SHARE = 5
"""The bar has a fifth of the row."""

TITLES = {
    SortBy.STORED: "as stored",
    SortBy.ID: "id",
    SortBy.CHARS: "chars",
    SortBy.FINGERPRINT: "fingerprint",
    SortBy.SOURCE: "source",
}
_ORDERS = {
    (SortBy.STORED, False): "as stored",
    (SortBy.STORED, True): "as stored, last first",
    (SortBy.ID, False): "by id",
    (SortBy.ID, True): "by id, last first",
    (SortBy.CHARS, False): "shortest first",
    (SortBy.CHARS, True): "longest first",
    (SortBy.FINGERPRINT, False): "by fingerprint",
    (SortBy.FINGERPRINT, True): "by fingerprint, last first",
    (SortBy.SOURCE, False): "by source",
    (SortBy.SOURCE, True): "by source, last first",
}


@dataclass(frozen=True, slots=True)
class Shows:
    """What the rows of a namespace have to show.

    ``source`` is shown where it says more than the ids do, ``fingerprint`` where there are several.
    """

    chars: bool = True
    source: bool = True
    fingerprint: bool = False
    preview: bool = True


@dataclass(frozen=True, slots=True)
class Columns:
    """Where each column begins and how wide it is, in cells from the sign on; width 0 where it is left out."""

    id: tuple[int, int]
    bar: tuple[int, int]
    chars: tuple[int, int]
    last: tuple[int, int]
    fingerprint: tuple[int, int]
    last_is: str = ""

    def sort_at(self, cell: int) -> SortBy | None:
        """Give what the head at a cell sorts by."""
        if cell < self.bar[0] or (not self.bar[1] and cell < self.chars[0]):
            return SortBy.ID
        if self.chars[1] and cell < self.chars[0] + self.chars[1] + 1:
            return SortBy.CHARS
        if self.fingerprint[1] and cell >= self.fingerprint[0] - 1:
            return SortBy.FINGERPRINT
        return SortBy.SOURCE if self.last_is == "source" else None


def columns_for(width: int, shows: Shows, signs: Signs) -> Columns:
    """Share out a width: id first, then lengths, then what else there is room for."""
    at = cells(signs.clipped) + 1
    rest = width - at
    chars = _CHARS if shows.chars else 0
    rest -= chars + (_GAP if chars else 0)
    wide = width >= 60
    bar_cells = max(_BAR_LEAST, width // _BAR_SHARE) if chars and wide else 0
    rest -= bar_cells + (_GAP if bar_cells else 0)
    fingerprint = _FINGERPRINT if shows.fingerprint and wide else 0
    rest -= fingerprint + (_GAP if fingerprint else 0)
    last_is = "source" if shows.source else "text" if shows.preview else ""
    last = 0
    if last_is and wide:
        last = rest - _GAP - max(_ID_LEAST, rest // 2)
        last = last if last >= _LAST_LEAST else 0
    id = rest - (last + _GAP if last else 0)
    placed: list[tuple[int, int]] = []
    for size in (id, bar_cells, chars, last, fingerprint):
        placed.append((at, size))
        at += size + _GAP if size else 0
    return Columns(placed[0], placed[1], placed[2], placed[3], placed[4], last_is if last else "")


def head_line(columns: Columns, query: ListingQuery, signs: Signs) -> Line:
    """Name the columns; the one that is sorted by is marked with its direction."""
    line = Line()

    def head(title: str, sort: SortBy | None, *, at: int, size: int, right: bool = False) -> None:
        if not size:
            return
        here = sort is query.sort and sort is not None
        mark = f" {signs.sorted_down if query.descending else signs.sorted_up}" if here else ""
        line.to(at + size - cells(title + mark) if right else at)
        line.add(title, Tone.TEXT if here else Tone.FAINT, bold=here).add(mark, Tone.ACCENT, bold=True)

    head("id", SortBy.ID, at=columns.id[0], size=columns.id[1])
    head("read", None, at=columns.bar[0], size=columns.bar[1])
    head("chars", SortBy.CHARS, at=columns.chars[0], size=columns.chars[1], right=True)
    sort = SortBy.SOURCE if columns.last_is == "source" else None
    head(columns.last_is, sort, at=columns.last[0], size=columns.last[1])
    head("fingerprint", SortBy.FINGERPRINT, at=columns.fingerprint[0], size=columns.fingerprint[1])
    return line


@dataclass(frozen=True, slots=True)
class Summary:
    """What is listed, and how far that is known: ``total`` rows of ``everything``.

    While a listing is being made ``so_far`` counts what was found; ``why`` says that it could not be made.
    """

    query: ListingQuery
    total: int | None = None
    everything: int | None = None
    cursor: int = 0
    making: bool = False
    so_far: int | None = None
    why: str = ""
    foreign: int = 0


def summary_line(summary: Summary, frame: Frame) -> Line:
    """Say how many chunks are listed, of how many, why these, and in which order; at the right where the cursor is."""
    signs, query, line = frame.signs, summary.query, Line()
    if summary.why:
        line.add(f"{signs.bad} ", Tone.ERROR, bold=True).add(summary.why)
        return line.cut(frame.width, signs.more)
    filtered = bool(query.contains) or query.min_chars is not None
    if summary.making:
        count = f"{number(summary.so_far)} so far" if summary.so_far is not None and filtered else "searching"
        line.add(count if filtered else "sorting", Tone.ACCENT, bold=True).add(f" {signs.more}", Tone.ACCENT)
    elif summary.total is None:
        line.add(f"counting {signs.more}", Tone.ACCENT)
    else:
        line.add(number(summary.total), bold=True)
        if filtered and summary.everything is not None:
            line.add(" of ", Tone.MUTED).add(number(summary.everything))
        line.add(" chunk" if summary.total == 1 and not filtered else " chunks", Tone.MUTED)
    tail = _standing(summary)
    if summary.foreign and not filtered:
        said = Line().add(f" {signs.dot} ", Tone.FAINT).add(f"{signs.differs} ", Tone.ERROR, bold=True)
        said.add(number(summary.foreign), Tone.ERROR, bold=True).add(" by another embedder", Tone.ERROR)
        if line.cells + said.cells + tail.cells + 2 <= frame.width:
            line.extend(said.spans)
    room = frame.width - tail.cells - 2
    for tone, text in _reasons(query):
        if line.cells + cells(text) > room:
            text = clip(text, max(0, room - line.cells), signs.more)
        line.add(text, tone)
    order = f" {signs.dot} {_ORDERS[query.sort, query.descending]}"
    if line.cells + cells(order) <= room:
        line.add(order, Tone.FAINT)
    return line.right(tail, frame.width)


def _reasons(query: ListingQuery) -> list[tuple[Tone, str]]:
    reasons: list[tuple[Tone, str]] = []
    if query.min_chars is not None:
        reasons.append((Tone.WARN, f" longer than {number(query.min_chars)}"))
    if query.contains:
        reasons += [(Tone.MUTED, " with "), (Tone.TEXT, f"“{query.contains}”")]
    return reasons


def _standing(summary: Summary) -> Line:
    tail = Line()
    if summary.total and not summary.making:
        tail.add("row ", Tone.FAINT).add(number(summary.cursor + 1), Tone.MUTED)
    return tail


def row_line(
    row: ChunkRow,
    columns: Columns,
    scale: Scale | None,
    ceiling: int | None,
    frame: Frame,
    here: bool,
    *,
    foreign: bool = False,
) -> Line:
    """Draw one chunk: the scissors when it is clipped, its id, how much of it was read, how long it is.

    One that holds a foreign vector has that sign instead: no search in its space finds what it says.
    """
    signs = frame.signs
    line = Line(_ground(here, frame.focused))
    clipped = ceiling is not None and row.chars is not None and row.chars > ceiling
    if foreign:
        line.add(signs.differs, Tone.ERROR, bold=True)
    else:
        line.add(signs.clipped if clipped else "", Tone.WARN)
    line.to(columns.id[0]).add(clip_middle(row.id, columns.id[1], signs.more), bold=here)
    if columns.bar[1]:
        line.to(columns.bar[0])
        if scale is not None and row.chars is not None:
            line.extend(read_bar(row.chars, scale, frame).spans)
    if columns.chars[1]:
        chars = number(row.chars) if row.chars is not None else signs.dash
        tone = Tone.WARN if clipped else Tone.MUTED
        line.to(columns.chars[0] + columns.chars[1] - cells(chars)).add(chars, tone, bold=clipped)
    if columns.last[1]:
        line.to(columns.last[0]).extend(_last(row, columns, signs).spans)
    if columns.fingerprint[1]:
        line.to(columns.fingerprint[0])
        if row.fingerprint is None:
            line.add("no vector", Tone.FAINT, italic=True)
        else:
            line.add(short_fingerprint(row.fingerprint, columns.fingerprint[1], signs.more), Tone.MUTED)
    return line.cut(frame.width, signs.more).to(frame.width)


def _last(row: ChunkRow, columns: Columns, signs: Signs) -> Line:
    size = columns.last[1]
    if columns.last_is == "source":
        if row.source is None:
            return Line().add(signs.dash, Tone.FAINT)
        return Line().add(clip_start(row.source, size, signs.more), Tone.MUTED)
    said = " ".join(row.preview.split())
    if not said:
        return Line().add("no text" if row.chars is None else "empty", Tone.FAINT, italic=True)
    return Line().add(clip(said, size, signs.more), Tone.MUTED)


def read_bar(chars: int, scale: Scale, frame: Frame) -> Line:
    """Draw how much of a chunk was read; the ceiling runs on through the rows that do not reach it."""
    if chars > scale.ceiling:
        return bar(chars, scale, frame)
    filled = scale.column(chars) + 1 if chars else 0
    line = Line().add(frame.signs.bar * filled, Tone.DATA)
    if scale.cut is not None:
        line.to(scale.cut).add(frame.signs.ceiling, Tone.WARN)
    return line


def coming_line(columns: Columns, frame: Frame, *, here: bool) -> Line:
    """Draw a row that is not read yet."""
    line = Line(_ground(here, frame.focused)).to(columns.id[0])
    return line.add(frame.signs.dot * min(6, columns.id[1]), Tone.RULE).to(frame.width)


def _ground(here: bool, focused: bool) -> Ground:
    return Ground.PLAIN if not here else Ground.CURSOR if focused else Ground.CURSOR_BLURRED
