"""One chunk opened: what it is, its whole text with the line where the embedder stopped, its metadata as JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from workbench.core.text import utf16_length
from workbench.index.model import Chunk
from workbench.tui.draw import Line, Span, Tone, clip_middle, number, titled_rule, wrap
from workbench.tui.pages.cut import Kind, cut_lines, cut_text, text_width
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.signs import Signs

PART = 65_536
"""Characters of a text that are shown at once; the rest is said, and turned to."""

_ROWS = 10**6
_FIELD = 13
_METADATA = 65_536
_LEVELS = 12
_VECTOR = 8
"""From so many numbers on an array of nothing else is a vector, and shown as its length and norm."""


@dataclass(slots=True)
class OpenChunk:
    """A chunk as it is looked at.

    Attributes:
        row: its place in the listing, from 0, of ``total``.
        ceiling: where the embedder stops reading, None when that is not known.
        needle: what the listing was filtered by; it is marked where it stands.
        part: which piece of PART characters of the text.
        by_chars: the ceiling in UTF-16 code units, where ``ceiling`` is by tokens.
        tokenizer: whose tokens those are; None where it counts characters.
        foreign: a routing log says that a fallback wrote its vector, whatever its fingerprint claims.
    """

    chunk: Chunk
    row: int
    total: int
    ceiling: int | None = None
    needle: str = ""
    part: int = 0
    foreign: bool = False
    by_chars: int | None = None
    tokenizer: str | None = None

    @property
    def parts(self) -> int:
        """How many pieces the text has."""
        return max(1, -(-len(self.chunk.text or "") // PART))

    @property
    def start(self) -> int:
        """Where the piece begins, in characters."""
        return self.part * PART

    @property
    def shown(self) -> str:
        """The piece."""
        return (self.chunk.text or "")[self.start : self.start + PART]


@dataclass(frozen=True, slots=True)
class Landmarks:
    """Rows of the page that keys go to; -1 where there is no such."""

    matches: tuple[int, ...] = ()
    cut: int = -1
    metadata: int = -1


def chunk_page(opened: OpenChunk, frame: Frame) -> tuple[Page, Landmarks]:
    """Draw a chunk, and say where on the page its landmarks are."""
    page, chunk, signs = Page(), opened.chunk, frame.signs
    page.gap(frame)
    place = Line().add("row ", Tone.FAINT).add(number(opened.row + 1)).add(" of ", Tone.FAINT)
    place.add(number(opened.total))
    room = frame.width - place.cells - 4
    page.add(
        titled_rule(clip_middle(chunk.id, room, signs.more), frame.width, signs.rule, fact=place, focused=frame.focused)
    )
    _fields(page, opened, frame)
    page.gap(frame)
    matches, cut = _text(page, opened, frame)
    metadata = -1
    if chunk.metadata:
        page.add()
        metadata = len(page.lines)
        page.add(titled_rule("Metadata", frame.width, signs.rule))
        page.lines += metadata_lines(chunk.metadata, frame.width, signs)
    return page, Landmarks(matches, cut, metadata)


def _fields(page: Page, opened: OpenChunk, frame: Frame) -> None:
    signs, chunk = frame.signs, opened.chunk

    def add(name: str, value: Line) -> None:
        page.add(Line().add(name, Tone.FAINT).to(_FIELD).extend(value.spans).cut(frame.width, signs.more))

    if chunk.source is not None:
        add("source", Line().add(chunk.source))
    if chunk.dims is None:
        add("vector", Line().add("none: no search finds this chunk", Tone.MUTED, italic=True))
        return
    if chunk.fingerprint is not None:
        add("fingerprint", Line().add(chunk.fingerprint))
    if opened.foreign:
        said = Line().add(f"{signs.differs} ", Tone.ERROR, bold=True).add("a fallback wrote this vector", Tone.ERROR)
        add("", said.add(", says a routing log that is open", Tone.MUTED))
    add("vector", Line().add(vector_summary(chunk.dims, chunk.norm, signs), Tone.ACCENT))


def vector_summary(dims: int, norm: float | None, signs: Signs) -> str:
    """Write a vector as its length and norm: it is never drawn number by number."""
    if norm is None or not math.isfinite(norm):
        length = "not finite"
    else:
        length = f"norm {norm:.4f}" if norm == 0 or 0.001 <= norm < 1_000_000 else f"norm {norm:.3g}"
    left, right = ("<", ">") if signs.dot == "-" else ("⟨", "⟩")
    return f"{left}{number(dims)} dims {signs.dot} {length}{right}"


def _text(page: Page, opened: OpenChunk, frame: Frame) -> tuple[tuple[int, ...], int]:
    """Draw the text, or the piece of it; give the rows with matches, and the row of the cut."""
    chunk, signs, width = opened.chunk, frame.signs, frame.width
    if chunk.text is None:
        page.add(titled_rule("Text", width, signs.rule))
        page.add(Line().add("no text is stored with this chunk", Tone.MUTED, italic=True))
        return (), -1
    units = utf16_length(chunk.text)
    fact = Line().add(number(units)).add(" chars", Tone.MUTED)
    lost = units - opened.ceiling if opened.ceiling is not None else 0
    if lost > 0:
        fact.add(", ", Tone.MUTED).add(number(lost), Tone.ERROR, bold=True).add(" never read", Tone.ERROR)
    page.add(titled_rule("Text", width, signs.rule, fact=fact))
    _both_bases(page, opened, units, max(0, lost), frame)
    if not chunk.text:
        page.add(Line().add("empty", Tone.FAINT, italic=True))
        return (), -1
    before = utf16_length(chunk.text[: opened.start])
    if opened.part:
        page.add(Line().add(f"{signs.more} {number(before)} characters before", Tone.FAINT))
    ceiling = units if opened.ceiling is None else max(0, opened.ceiling - before)
    text = cut_text(opened.shown, ceiling, text_width(units, width))
    first = len(page.lines)
    # The cut stands before this part: all of it was lost, and the line is on an earlier one.
    top = text.moved(text.first, 1) if ceiling == 0 and opened.part else text.first
    lines = cut_lines(text, top, _ROWS, width, signs, start=before, units=units)
    rows = text.rows(top, _ROWS)
    cut = next((first + place for place, row in enumerate(rows) if row.kind is Kind.CUT), -1)
    matches: list[int] = []
    pattern = re.compile(re.escape(opened.needle), re.IGNORECASE) if opened.needle else None
    for place, row in enumerate(rows):
        if pattern is not None and pattern.search(row.text):
            lines[place] = marked(lines[place], row.text, pattern)
            matches.append(first + place)
    page.lines += lines
    after = units - before - utf16_length(opened.shown)
    if after:
        left = f"{signs.more} {number(after)} characters more"
        page.add(Line().add(left, Tone.FAINT).add("   > ", Tone.ACCENT, bold=True).add("shows them", Tone.MUTED))
    return tuple(matches), cut


def _both_bases(page: Page, opened: OpenChunk, units: int, by_tokens: int, frame: Frame) -> None:
    """Say what was never read by each way of counting, where tokens and characters give two answers."""
    if opened.tokenizer is None or opened.by_chars is None:
        return
    by_chars = max(0, units - opened.by_chars)
    if not by_chars and not by_tokens:
        return
    line = Line().add("never read ", Tone.FAINT).add(number(by_chars)).add(" by characters", Tone.MUTED)
    line.add(f" (ceiling {number(opened.by_chars)}), ", Tone.FAINT)
    line.add(number(by_tokens)).add(" by tokens", Tone.MUTED).add(f" ({opened.tokenizer})", Tone.FAINT)
    page.add(line.cut(frame.width, frame.signs.more))


def marked(line: Line, text: str, pattern: re.Pattern[str]) -> Line:
    """Mark what was searched for where it stands in the text of a line."""
    made = Line(line.ground, line.inset)
    for span in line.spans:
        at = 0
        for match in pattern.finditer(text) if span.text == text else ():
            if match.start() == match.end():
                continue
            made.extend([Span(span.text[at : match.start()], span.tone, span.bold)] if match.start() > at else [])
            made.add(match.group(), Tone.ACCENT, bold=True)
            at = match.end()
        made.extend([span] if at == 0 else [Span(span.text[at:], span.tone, span.bold)] if at < len(span.text) else [])
    return made


# --- metadata ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _parsed(text: str) -> tuple[bool, object]:
    try:
        return True, json.loads(text[: _METADATA + 1]) if len(text) <= _METADATA else None
    except (ValueError, RecursionError):
        return False, None


def metadata_lines(text: str, width: int, signs: Signs) -> list[Line]:
    """Draw metadata as indented JSON; what is no JSON, or too much of it, as the text it is."""
    is_json, value = _parsed(text)
    if is_json and len(text) <= _METADATA:
        return list(_json_lines("", value, 0, width, signs, last=True))
    lines = [Line().add(row, Tone.MUTED) for row in wrap(text[:_METADATA], width)]
    if len(text) > _METADATA:
        lines.append(Line().add(f"{signs.more} {number(len(text) - _METADATA)} characters more", Tone.FAINT))
    return lines


def _json_lines(key: str, value: object, level: int, width: int, signs: Signs, *, last: bool) -> Iterator[Line]:
    comma = "" if last else ","
    lead = Line().add("  " * level)
    if key:
        lead.add(json.dumps(key, ensure_ascii=False), Tone.MUTED).add(": ", Tone.FAINT)
    if isinstance(value, list) and len(value) >= _VECTOR and all(_is_number(each) for each in value):
        norm = math.hypot(*(float(each) for each in value))
        yield lead.add(vector_summary(len(value), norm, signs), Tone.ACCENT).add(comma, Tone.FAINT)
        return
    if isinstance(value, dict | list) and value:
        first, second = ("{", "}") if isinstance(value, dict) else ("[", "]")
        if level >= _LEVELS:
            yield lead.add(f"{first}{number(len(value))}{second}", Tone.FAINT).add(comma, Tone.FAINT)
            return
        yield lead.add(first, Tone.FAINT)
        inside = list(value.items()) if isinstance(value, dict) else [("", each) for each in value]
        for place, (name, each) in enumerate(inside):
            yield from _json_lines(name, each, level + 1, width, signs, last=place == len(inside) - 1)
        yield Line().add("  " * level).add(second + comma, Tone.FAINT)
        return
    rows = wrap(_scalar(value), max(8, width - lead.cells - 1))
    indent = lead.cells
    for place, row in enumerate(rows):
        line = lead if place == 0 else Line().to(indent)
        line.add(row)
        yield line.add(comma, Tone.FAINT) if place == len(rows) - 1 else line


def _scalar(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_number(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return -(2**1000) < value < 2**1000
    return isinstance(value, float)
