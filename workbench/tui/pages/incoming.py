"""The incoming embedder: verdict, both fingerprints above each other, why, the ways out, and what it does to all.

Everything below the line that is typed is one page, so that nothing on it can stand beside what it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.core.fingerprint import Fingerprint, fingerprint_conflict, fingerprint_text
from workbench.tui.draw import Ground, Line, Tone, cells, clip, clip_start, number, short_fingerprint, titled_rule, wrap
from workbench.tui.incoming import Effect, Offer, Typed, Way, tally_of
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.signs import Signs
from workbench.tui.state import State
from workbench.tui.verdicts import TONES, lead_of

if TYPE_CHECKING:
    from workbench.checkup.report import IncomingVerdict

_LABEL = 12
"""Cells of the labels before the two fingerprints."""

_WORD = 14
"""Cells of the verdict in a word, at the right of both lists."""

_WHY_ROWS, _WAY_ROWS = 2, 2
"""Rows that are kept for them where there is room, so that nothing below moves while one types."""

_MOST_WHY_ROWS = 5

_TO_BEGIN = (
    "Type the embedder that is about to write or to search, or pick a known one. "
    "What it does to every namespace shows at once; nothing is changed."
)

_TONES = {**TONES, State.UNKNOWN: Tone.WARN, State.WAITING: Tone.FAINT}
_LOUD = (State.BAD, State.WARN, State.UNKNOWN)
_GROUNDS = {State.BAD: Ground.BAD, State.WARN: Ground.WARN, State.UNKNOWN: Ground.WARN, State.OK: Ground.GOOD}


@dataclass(frozen=True, slots=True)
class Shown:
    """Everything that the page is drawn from.

    Attributes:
        subject: the namespace that is looked at, None when there is none.
        verdict: on that namespace; None as long as no embedder is named.
        effects_from: the first effect in view; ``offers_from`` the first offer.
        chosen: which offer stands in the line now, None when it was typed.
        known: how many embedders could be picked in all.
    """

    typed: Typed
    subject: Effect | None = None
    verdict: IncomingVerdict | None = None
    ways: Sequence[Way] = ()
    effects: Sequence[Effect] = ()
    effects_from: int = 0
    offers: Sequence[Offer] = ()
    offers_from: int = 0
    chosen: int | None = None
    picking: bool = False
    known: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a list in view: ``rows`` of it from the row ``top`` of the page on, the first being the ``first``."""

    top: int = 0
    rows: int = 0
    first: int = 0

    def at(self, y: int) -> int | None:
        """Give the entry at a row of the page."""
        return self.first + y - self.top if self.top <= y < self.top + self.rows else None


@dataclass(slots=True)
class Drawn:
    """The finished lines, and where the two lists are on them."""

    lines: list[Line] = field(default_factory=list)
    effects: Window = field(default_factory=Window)
    offers: Window = field(default_factory=Window)


def incoming_page(shown: Shown, frame: Frame) -> Drawn:
    """Draw all of it: on a low screen one of the two lists, the one that is asked for."""
    drawn = Drawn()
    lines = drawn.lines
    lines.append(_banner(shown, frame))
    if frame.roomy or shown.verdict is not None:
        lines.append(Line())
        lines.extend(_parts(shown, frame))
        lines.append(Line())
        lines.extend(_why(shown, frame))
        lines.extend(_ways(shown, frame))
    room = frame.height - len(lines)
    if frame.roomy:
        lines.append(Line())
        both = room - 4
        # Half of the room each; what one list does not need is the other's.
        rows = max(1, min(len(shown.effects), max(both // 2, both - max(2, len(shown.offers)))))
        drawn.effects = _effects(lines, shown, frame, rows)
        lines.append(Line())
        drawn.offers = _offers(lines, shown, frame, both - rows)
        return drawn
    if shown.verdict is None or room > len(shown.offers if shown.picking else shown.effects) + 1:
        lines.append(Line())
        room -= 1
    if shown.picking:
        drawn.offers = _offers(lines, shown, frame, room - 1)
    else:
        drawn.effects = _effects(lines, shown, frame, room - 1)
    return drawn


# --- the verdict on one namespace ------------------------------------------------------------------------------


def _banner(shown: Shown, frame: Frame) -> Line:
    signs = frame.signs
    subject, verdict = shown.subject, shown.verdict
    tail = Line()
    if subject is not None and frame.width >= 60:
        state = State.WAITING if verdict is None else subject.state
        tail.add(clip(subject.name, 24, signs.more), _TONES[state])
        tail.add(f", {number(subject.vectors)} vector{'' if subject.vectors == 1 else 's'}", _TONES[state])
    if subject is None or verdict is None:
        said = shown.typed.missing if subject is not None else "nothing has been read yet to hold it against"
        return Line().add(lead_of(State.WAITING, signs), Tone.FAINT).add(said, Tone.MUTED).right(tail, frame.width)
    state = subject.state
    line = Line(_GROUNDS.get(state, Ground.PLAIN)).add(lead_of(state, signs), _TONES[state], bold=True)
    said = _said(verdict)
    if cells(said) + tail.cells + 6 > frame.width:
        tail = Line().add(f"{number(subject.vectors)} vectors", _TONES[state])
    return line.add(said, _TONES[state], bold=True).right(tail, frame.width)


def _said(verdict: IncomingVerdict) -> str:
    if verdict.against is None:
        return "compared with nothing: it holds no vectors yet"
    if verdict.conflict == "dimensions":
        return "refused: other dimensions"
    if verdict.conflict is not None:
        return "refused: maybe the same model, spelled otherwise" if verdict.same_model else "refused: another model"
    if verdict.compared == "dims":
        return "unverified: only the lengths were compared"
    if not verdict.fits_all:
        return "fits only a part of the vectors"
    return "compatible: the same model, the same dimensions"


def _parts(shown: Shown, frame: Frame) -> list[Line]:
    """Put the two fingerprints above each other, and beneath each part how it compares."""
    end = frame.width - _WORD - 2
    head = Line().to(_LABEL).add("model", Tone.FAINT)
    lines = [_at_end(head, Line().add("dims", Tone.FAINT), end)]
    stored = shown.subject.against if shown.subject is not None else None
    lines += _fingerprint("indexed", stored, "nothing stored says", end, frame.signs)
    lines += _fingerprint("incoming", shown.typed.fingerprint, "not named yet", end, frame.signs)
    marks = Line().to(_LABEL)
    verdict, incoming = shown.verdict, shown.typed.fingerprint
    if verdict is None or stored is None or incoming is None:
        return [*lines, marks]
    sign, word, tone = _model_mark(stored, incoming, verdict, frame.signs)
    marks.add(f"{sign} ", tone, bold=True).add(word, tone, bold=True)
    equal = verdict.conflict != "dimensions"
    tone = Tone.OK if equal else Tone.ERROR
    tail = Line().add("= " if equal else f"{frame.signs.differs} ", tone, bold=True)
    return [*lines, _at_end(marks, tail.add("equal" if equal else "differ", tone, bold=True), end)]


def _model_mark(
    stored: Fingerprint, incoming: Fingerprint, verdict: IncomingVerdict, signs: Signs
) -> tuple[str, str, Tone]:
    """Sign, word and tone below the models. Where the lengths decided, the rule is asked once more without them."""
    if verdict.compared == "dims":
        return signs.unknown, "not compared", Tone.WARN
    if fingerprint_conflict(replace(stored, dims=incoming.dims), incoming) is None:
        return "=", "equal", Tone.OK
    if verdict.same_model:
        return signs.differs, "spelled otherwise", Tone.ERROR
    return signs.differs, "differ", Tone.ERROR


def _fingerprint(label: str, fingerprint: Fingerprint | None, absent: str, end: int, signs: Signs) -> list[Line]:
    """One of the two; a long model takes a second row, and what does not fit in that either loses its beginning."""
    first = Line().add(label, Tone.MUTED).to(_LABEL)
    if fingerprint is None:
        return [first.add(absent, Tone.FAINT, italic=True)]
    dims = Line().add(_dims(fingerprint, signs))
    if fingerprint.id is None:
        return [_at_end(first.add("not named", Tone.MUTED, italic=True), dims, end)]
    room = end - _LABEL - dims.cells - 2
    rows = wrap(fingerprint.id, room)
    if len(rows) > 2:
        rows = [rows[0], clip_start(fingerprint.id, room, signs.more)]
    lines = [_at_end(first.add(rows[0], bold=True), dims, end)]
    return lines + [Line().to(_LABEL).add(row, bold=True) for row in rows[1:]]


def _dims(fingerprint: Fingerprint, signs: Signs) -> str:
    """Write a length as people read it, also one that a damaged record claims."""
    text = fingerprint_text(replace(fingerprint, id=None)).removeprefix("?@")
    return number(int(text)) if text.isdecimal() and len(text) < 16 else clip(text, 16, signs.more)


def _at_end(line: Line, tail: Line, end: int) -> Line:
    """Put a number right-aligned at a column."""
    return line.to(end - tail.cells).extend(tail.spans)


def _why(shown: Shown, frame: Frame) -> list[Line]:
    """Say why, in the words of the check; before there is a verdict, what to do."""
    verdict = shown.verdict
    if verdict is None:
        reason = _TO_BEGIN if not shown.typed.text.strip() else _to_go_on(shown)
    else:
        # A reason that begins with a name is left as it is.
        reason = verdict.reason if verdict.conflict is None else verdict.reason[:1].upper() + verdict.reason[1:]
    page = Page()
    page.sentence(reason, frame.width, at_most=_MOST_WHY_ROWS)
    lines = page.lines if reason else []
    return lines + [Line() for _ in range(_WHY_ROWS - len(lines) if frame.roomy else 0)]


def _to_go_on(shown: Shown) -> str:
    if not shown.offers:
        return "Type its id, an @, and how many numbers each of its vectors has."
    return f"tab completes it to {shown.offers[0].choice.text}"


def _ways(shown: Shown, frame: Frame) -> list[Line]:
    """Give the ways out below their title; where there are none, as many blank rows."""
    ways = list(shown.ways)
    lines: list[Line] = []
    if ways:
        refused = shown.verdict is not None and shown.verdict.conflict is not None
        keys = Line()
        for key, does in (("^o", "open another index"), ("^y", "copy why")):
            if refused:
                keys.add("   " if keys.spans else "").add(key, Tone.ACCENT, bold=True).add(f" {does}", Tone.MUTED)
        title = "Ways out" if refused else "To be sure"
        if frame.roomy:
            lines.append(Line())
        lines.append(titled_rule(title, frame.width, frame.signs.rule, fact=keys if keys.spans else None))
        lines += [Line().add(clip(way.text, frame.width, frame.signs.more)) for way in ways]
    return lines + [Line() for _ in range(2 + _WAY_ROWS - len(lines) if frame.roomy else 0)]


# --- the two lists ---------------------------------------------------------------------------------------------


def _window(count: int, first: int, rows: int) -> tuple[int, int]:
    """Give the first entry in view and how many are, leaving no row empty that could show one."""
    shown = max(0, min(count, rows))
    return max(0, min(first, count - shown)), shown


def _effects(lines: list[Line], shown: Shown, frame: Frame, rows: int) -> Window:
    first, count = _window(len(shown.effects), shown.effects_from, rows)
    fact = Line()
    for state, text in tally_of(shown.effects):
        fact.add(f" {frame.signs.dot} " if fact.spans else "", Tone.FAINT).add(
            text, _TONES[state] if state is State.BAD else Tone.MUTED, bold=state is State.BAD
        )
    part = f"  {first + 1}{frame.signs.dash}{first + count} of {number(len(shown.effects))}"
    if count < len(shown.effects) and fact.cells + cells(part) + 21 <= frame.width:
        fact.add(part, Tone.FAINT)
    lines.append(titled_rule("On every namespace", frame.width, frame.signs.rule, fact=fact if fact.spans else None))
    window = Window(len(lines), count, first)
    in_view = shown.effects[first : first + count]
    names = min(18 if frame.width < 76 else 20, max((cells(effect.name) for effect in in_view), default=0))
    for effect in in_view:
        here = shown.subject is not None and effect.node == shown.subject.node
        lines.append(_effect(effect, max(8, names), frame, here=here))
    lines.extend(Line() for _ in range(rows - count))
    return window


def _effect(effect: Effect, names: int, frame: Frame, *, here: bool) -> Line:
    signs, width = frame.signs, frame.width
    count_end = width - _WORD - 2
    dims_end = count_end - 9
    model_at = signs.state_cells + 1 + names + 2
    tone = _TONES[effect.state]
    line = Line().add(lead_of(effect.state, signs), tone, bold=effect.state in _LOUD)
    line.add(clip_start(effect.name, names, signs.more), bold=here).to(model_at)
    line.extend(_stored(effect, dims_end - 7 - model_at, signs).spans)
    dims = Line()
    if effect.against is not None:
        dims.add(_dims(effect.against, signs), Tone.MUTED)
    _at_end(line, dims, dims_end)
    _at_end(line, Line().add(number(effect.vectors) if effect.word not in _UNREAD else "", Tone.MUTED), count_end)
    return line.to(count_end + 2).add(clip(effect.word, _WORD, signs.more), tone).cut(width, signs.more)


_UNREAD = ("not read yet", "not readable", "stopped")


def _stored(effect: Effect, room: int, signs: Signs) -> Line:
    """Name the model that decides in a namespace, and mark one that is not alone there."""
    mark = f" {signs.differs}" if effect.mixed else ""
    line = Line()
    if effect.word in _UNREAD:
        return line
    if effect.against is None:
        return line.add("no vectors yet", Tone.FAINT, italic=True)
    if effect.against.id is None:
        line.add("not named", Tone.MUTED, italic=True)
    else:
        line.add(short_fingerprint(effect.against.id, room - cells(mark), signs.more), Tone.MUTED)
    return line.add(mark, Tone.ERROR, bold=True)


def _offers(lines: list[Line], shown: Shown, frame: Frame, rows: int) -> Window:
    first, count = _window(len(shown.offers), shown.offers_from, rows)
    if not shown.offers:
        said = f"none of {number(shown.known)} matches"
    elif len(shown.offers) == shown.known:
        said = f"all {number(shown.known)}"
    else:
        said = f"{number(len(shown.offers))} of {number(shown.known)} match"
    lines.append(titled_rule("Known embedders", frame.width, frame.signs.rule, fact=Line().add(said, Tone.MUTED)))
    if rows > 0 and not shown.offers:
        lines.append(Line().add("It need not be known: type its id and the length of its vectors.", Tone.FAINT))
    window = Window(len(lines), count, first)
    in_view = shown.offers[first : first + count]
    widths = (
        max((cells(offer.choice.source) for offer in in_view), default=0),
        max((cells(_reads(offer)) for offer in in_view), default=0),
    )
    for place in range(first, first + count):
        lines.append(_offer(shown.offers[place], widths, frame, here=place == shown.chosen))
    lines.extend(Line() for _ in range(rows - max(count, 0 if shown.offers else 1)))
    return window


def _reads(offer: Offer) -> str:
    reads = offer.choice.max_input_chars
    return f"{number(reads)} chars" if reads is not None else ""


def _offer(offer: Offer, widths: tuple[int, int], frame: Frame, *, here: bool) -> Line:
    signs, width = frame.signs, frame.width
    count_end = width - _WORD - 2
    tone = _TONES[offer.state]
    line = Line(Ground.CURSOR if here else Ground.PLAIN)
    line.add(lead_of(offer.state, signs), tone, bold=offer.state in _LOUD)
    source, reads = widths
    facts = Line().add(offer.choice.source.ljust(source), Tone.FAINT)
    facts.add("  " + _reads(offer).rjust(reads), Tone.MUTED)
    room = count_end - facts.cells - line.cells - 2
    if cells(offer.choice.text) > room:
        # The name is worth more than who makes it.
        facts = Line().add(_reads(offer), Tone.MUTED)
        room = count_end - facts.cells - line.cells - 2
    line.add(short_fingerprint(offer.choice.text, room, signs.more), Tone.TEXT if here else Tone.MUTED, bold=here)
    _at_end(line, facts, count_end)
    return line.to(count_end + 2).add(offer.word, tone)
