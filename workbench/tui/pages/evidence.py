"""The evidence of one retrieval: what was asked, in which space, what was kept and what rejected, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.fingerprint import fingerprint_text
from workbench.recordings.secrets import mask_text
from workbench.tui.draw import (
    Ground,
    Line,
    Tone,
    cells,
    clip,
    clip_middle,
    number,
    short_fingerprint,
    titled_rule,
    wrap,
)
from workbench.tui.pages.parts import Frame, Page, share_bar
from workbench.tui.signs import Signs

if TYPE_CHECKING:
    from workbench.crosscheck.joining import JoinedChunk, JoinedRetrieval
    from workbench.recordings.model import Candidate

_LABEL = 7
_MOST_TEXT = 4_000
_GRAIN = 10_000
_TIGHT = 60
"""Below so many columns scores have two decimals."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One retrieval as rows.

    Attributes:
        joined: with what the open indexes know.
        rows: places of candidates, the kept ones first; None is the row of the threshold between them.
        kept: how many were kept.
        stops: the rows that are candidates.
        highest: what a full bar stands for: 1, or the highest score where that is more.
    """

    joined: JoinedRetrieval
    rows: tuple[int | None, ...]
    kept: int
    stops: tuple[int, ...]
    highest: float

    def candidate(self, stop: int) -> tuple[Candidate, JoinedChunk | None] | None:
        """Give the candidate at a stop of the cursor, and its chunk."""
        place = self.rows[self.stops[stop]] if stop < len(self.stops) else None
        listed = self.joined.retrieval.candidates or ()
        return None if place is None else (listed[place], self.joined.chunks[place])


def evidence_of(joined: JoinedRetrieval) -> Evidence:
    """Put the candidates into the order of their rows."""
    listed = joined.retrieval.candidates or ()
    kept = [place for place, each in enumerate(listed) if each.admitted is not False]
    rejected = [place for place, each in enumerate(listed) if each.admitted is False]
    line: list[int | None] = [None] if rejected or (listed and joined.retrieval.threshold is not None) else []
    scores = [each.score for each in listed if each.score is not None and math.isfinite(each.score)]
    rows = (*kept, *line, *rejected)
    stops = tuple(place for place, row in enumerate(rows) if row is not None)
    return Evidence(joined, rows, len(kept), stops, max([1.0, *scores]))


def evidence_head(evidence: Evidence, place: int, of: int, width: int, signs: Signs, *, focused: bool) -> list[Line]:
    """Say what was asked, in which space, and where."""
    retrieval = evidence.joined.retrieval
    fact = Line().add(f"{number(place + 1)} of {number(of)}", Tone.FAINT)
    rows = [titled_rule(f"Retrieval #{retrieval.n}", width, signs.rule, fact=fact, focused=focused)]
    kept = Line()
    if retrieval.candidates is not None:
        kept.add(f"{number(evidence.kept)} of {number(len(retrieval.candidates))} kept", Tone.MUTED)
    query = Line().add("query", Tone.FAINT).to(_LABEL)
    if retrieval.query is None:
        query.add("not recorded in words", Tone.MUTED, italic=True)
    else:
        asked = " ".join(mask_text(retrieval.query[:_MOST_TEXT]).split())
        room = max(8, width - _LABEL - kept.cells - 4)
        query.add(f"“{clip(asked, room, signs.more)}”")
    rows.append(query.right(kept, width))
    rows.append(_space(evidence.joined, width, signs))
    rows.append(_where(evidence.joined, width, signs))
    return rows


def _space(joined: JoinedRetrieval, width: int, signs: Signs) -> Line:
    line = Line().add("space", Tone.FAINT).to(_LABEL)
    asked, wrong, namespace = joined.retrieval.fingerprint, joined.space, joined.namespace
    if asked is None:
        return line.add("the query's embedder is not recorded", Tone.MUTED)
    text = mask_text(fingerprint_text(asked))
    if wrong is None:
        line.add(short_fingerprint(text, width // 2, signs.more))
        if namespace is None or namespace.fingerprint is None:
            return (
                line.add(f"  {signs.unknown} ", Tone.MUTED, bold=True)
                .add("nothing to hold it against", Tone.FAINT)
                .cut(width, signs.more)
            )
        if namespace.fingerprint.id is None or asked.id is None:
            return (
                line.add(f"  {signs.unknown} ", Tone.MUTED, bold=True)
                .add("only the lengths agree", Tone.FAINT)
                .cut(width, signs.more)
            )
        return (
            line.add(f"  {signs.ok} ", Tone.OK, bold=True)
            .add("in the index's space", Tone.FAINT)
            .cut(width, signs.more)
        )
    what = {"chunks": "chunks", "entries": "loaded entries"}.get(wrong.against.value, "index")
    word = "another model" if wrong.conflict == "model" else "other dims"
    room = (width - _LABEL - cells(f"  {signs.differs} {what}   {word}")) // 2
    if wrong.other is None:
        line.add(short_fingerprint(text, width // 3, signs.more)).add(f"  {signs.differs} ", Tone.ERROR, bold=True)
        return line.add("it found nothing at all, without a word of refusal", Tone.WARN).cut(width, signs.more)
    line.add(short_fingerprint(text, room, signs.more)).add(f"  {signs.differs} ", Tone.ERROR, bold=True)
    other = short_fingerprint(mask_text(fingerprint_text(wrong.other)), room, signs.more)
    return line.add(f"{what} ", Tone.MUTED).add(other, bold=True).add(f"  {word}", Tone.WARN).cut(width, signs.more)


def _where(joined: JoinedRetrieval, width: int, signs: Signs) -> Line:
    line = Line().add("in", Tone.FAINT).to(_LABEL)
    retrieval, namespace = joined.retrieval, joined.namespace
    if namespace is not None:
        found = " (found by its ids)" if joined.searched else ""
        line.add(mask_text(namespace.name)).add(f" of {namespace.source}{found}", Tone.MUTED)
    else:
        line.add(mask_text(retrieval.namespace) if retrieval.namespace is not None else "not recorded", Tone.MUTED)
        line.add(f" {signs.dot} no open index has it", Tone.FAINT)
    return line.cut(width, signs.more)


def candidate_line(evidence: Evidence, row: int, width: int, signs: Signs, *, here: bool) -> Line:
    """Draw one candidate, or the threshold."""
    place = evidence.rows[row]
    if place is None:
        return _threshold_line(evidence, width, signs)
    candidate = (evidence.joined.retrieval.candidates or ())[place]
    chunk = evidence.joined.chunks[place]
    kept = candidate.admitted is not False
    tone = Tone.TEXT if kept else Tone.MUTED
    rank = "" if candidate.rank is None else number(candidate.rank)
    at_score, at_bar, bar = _columns(width)
    line = Line().add(clip(rank, at_score - 1, signs.more), Tone.TEXT if kept else Tone.FAINT).to(at_score)
    score = candidate.score
    text = "-" if score is None else f"{score:.4f}" if width >= _TIGHT else f"{score:.2f}"
    line.add(text[: at_bar - at_score], tone, bold=kept).to(at_bar)
    if score is not None:
        amount = max(0, round(_GRAIN * score / evidence.highest))
        drawn = share_bar(amount, _GRAIN, Tone.ACCENT, signs, bar)
        if not kept:
            drawn = Line().add(signs.lost_bar * max(1, round(bar * amount / _GRAIN)), Tone.FAINT)
        line.extend(drawn.spans)
    line.to(at_bar + bar + (2 if width >= _TIGHT else 1))
    tail = _tail(candidate, chunk, evidence, signs, width)
    room = width - line.cells - tail.cells - 2
    name = "no id recorded" if candidate.id is None else mask_text(candidate.id)
    if width < _TIGHT:
        # The folder goes first: the end tells the chunks of one index from each other.
        name = name.rpartition("/")[2] or name
    line.add(clip_middle(name, max(4, room), signs.more), tone, bold=here, italic=candidate.id is None)
    return line.right(tail, width)


def _columns(width: int) -> tuple[int, int, int]:
    """Give where scores and bars begin, and how long a full bar is."""
    return (5, 13, max(8, min(20, width // 4))) if width >= _TIGHT else (3, 8, max(8, min(14, width // 4)))


def _tail(candidate: Candidate, chunk: JoinedChunk | None, evidence: Evidence, signs: Signs, width: int) -> Line:
    """Say why it was rejected, and what of it was never read."""
    tail = Line()
    if candidate.reason:
        tail.add(clip(mask_text(candidate.reason), max(8, width // 4), signs.more), Tone.MUTED)
    if chunk is not None and chunk.clipped:
        lost = f"{signs.clipped} {number(chunk.lost)}" if chunk.lost else signs.clipped
        tail.add("  " if tail.spans else "").add(lost, Tone.WARN, bold=True)
    elif chunk is None and evidence.joined.namespace is not None and not (candidate.reason and width < 80):
        tail.add("  " if tail.spans else "").add("not in the index", Tone.FAINT)
    if chunk is not None and chunk.changed:
        tail.add("  " if tail.spans else "").add(f"{signs.differs} text", Tone.WARN)
    return tail


def _threshold_line(evidence: Evidence, width: int, signs: Signs) -> Line:
    retrieval = evidence.joined.retrieval
    rejected = len(evidence.stops) - evidence.kept
    tail = Line().add(" ").add(f"{number(rejected)} rejected", Tone.MUTED)
    if retrieval.complete is False:
        tail.add(", not all recorded", Tone.WARN)
    label = "no threshold recorded" if retrieval.threshold is None else f"threshold {retrieval.threshold:.4g}"
    _, at_bar, bar = _columns(width)
    begin = min(at_bar + bar + (1 if width >= _TIGHT else 0), width - tail.cells - cells(label) - 2)
    line = Line().rule_to(max(2, begin), signs.cut, Tone.WARN_FILL)
    line.add(" ").add(label, Tone.WARN, bold=True).add(" ")
    return line.rule_to(width - tail.cells, signs.cut, Tone.WARN_FILL).extend(tail.spans)


def no_candidates(evidence: Evidence) -> str:
    """Say why no candidate is listed."""
    retrieval = evidence.joined.retrieval
    if retrieval.candidates is None:
        return "its candidates were not recorded" + (f": {mask_text(retrieval.note)}" if retrieval.note else "")
    if retrieval.corpus_empty:
        return "it says that there was nothing to search"
    return "it found nothing"


def candidate_page(evidence: Evidence, stop: int, frame: Frame) -> Page:
    """Say of the candidate under the cursor where it is from, what of it was read, and what the model got."""
    page = Page()
    found = evidence.candidate(stop)
    page.gap(frame)
    if found is None:
        page.add(titled_rule("Evidence", frame.width, frame.signs.rule))
        _findings(page, evidence, frame)
        return page
    candidate, chunk = found
    name = mask_text(candidate.id) if candidate.id is not None else "a chunk without id"
    fact = Line().add("enter", Tone.ACCENT, bold=True).add(" go to chunk", Tone.MUTED)
    openable = chunk is not None and chunk.source is not None
    title = clip_middle(name, max(8, frame.width - fact.cells - 6), frame.signs.more)
    page.add(titled_rule(title, frame.width, frame.signs.rule, fact=fact if openable else None))
    origin = Line()
    for label, value in (("document", candidate.document), ("page", candidate.page), ("heading", candidate.heading)):
        if value is not None:
            origin.add("   " if origin.spans else "").add(f"{label} ", Tone.FAINT).add(mask_text(value)[:_MOST_TEXT])
    if origin.spans:
        page.add(origin.cut(frame.width, frame.signs.more))
    _chunk(page, chunk, evidence, frame)
    _findings(page, evidence, frame)
    got = next((each.text for each in evidence.joined.retrieval.passages if each.id == candidate.id), None)
    text = got if got is not None else candidate.text
    if text is not None:
        page.add(Line().add("what the model got" if got is not None else "its text as recorded", Tone.FAINT))
        for part in mask_text(text[:_MOST_TEXT]).splitlines():
            for row in wrap(part, frame.width) or [""]:
                page.add(Line().add(row, Tone.MUTED))
        if len(text) > _MOST_TEXT:
            page.add(Line().add(f"{frame.signs.more} {number(len(text) - _MOST_TEXT)} characters more", Tone.FAINT))
    return page


def _chunk(page: Page, chunk: JoinedChunk | None, evidence: Evidence, frame: Frame) -> None:
    signs = frame.signs
    if chunk is None:
        if evidence.joined.namespace is not None:
            page.add(Line().add(f"{signs.unknown} not in the index", Tone.MUTED))
        return
    chars = "length not known" if chunk.chars is None else f"{number(chunk.chars)} chars"
    whose = "the open index" if chunk.source is not None else "the recording itself"
    if chunk.clipped:
        line = Line().add(f"{signs.clipped} ", Tone.WARN, bold=True).add(chars)
        lost = f", {number(chunk.lost)} never read" if chunk.lost else ", read only in part"
        line.add(lost, Tone.WARN, bold=True)
        if chunk.lost and chunk.ceiling is not None:
            line.add(f" by characters (ceiling {number(int(chunk.ceiling))})", Tone.MUTED)
        says = f"  says {whose}"
        line.add(says if line.cells + cells(says) <= frame.width else "", Tone.FAINT)
    else:
        line = Line().add(f"{signs.ok} ", Tone.OK, bold=True).add(chars).add(", all of it read", Tone.MUTED)
    page.add(line.cut(frame.width, signs.more))
    if chunk.clipped and chunk.unread is not None:
        only = f"only there: {', '.join(chunk.unread.words)}" if chunk.unread.words else "never read"
        said = f"{mask_text(only)} {signs.dot} “{mask_text(chunk.unread.excerpt)}”"
        page.add(Line().to(2).add(clip(said, max(8, frame.width - 2), signs.more), Tone.MUTED))
    if chunk.changed:
        changed = Line().add(f"{signs.differs} ", Tone.WARN, bold=True)
        page.add(
            changed.add("the index holds another text now than was retrieved", Tone.WARN).cut(frame.width, signs.more)
        )


def _findings(page: Page, evidence: Evidence, frame: Frame) -> None:
    """Say the wrong space in the sentence of ``show``."""
    from workbench.checkup.findings import Code
    from workbench.checkup.recordings import judge_joined
    from workbench.crosscheck.joining import Joined

    if evidence.joined.space is None:
        return
    for finding in judge_joined(Joined((evidence.joined,), (), ())):
        if finding.code is Code.WRONG_SPACE_RETRIEVAL:
            page.add(
                Line(Ground.WARN)
                .add(f"{frame.signs.differs} ", Tone.WARN, bold=True)
                .add("scored in the wrong space", Tone.WARN, bold=True)
                .to(frame.width)
            )
            page.sentence(finding.message, frame.width, Tone.TEXT, at_most=5)
            page.sentence(finding.fix, frame.width, at_most=3)
