"""The vectors of one namespace: what is unusable and what that does to a search, spaces, norms, the rows by id."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from workbench.checkup.consequences import Consequence, Outcome, consequence_of, consequence_of_kind
from workbench.checkup.report import Code, NamespaceReport, worst_first
from workbench.checkup.wording import counted, of_all, share, verb
from workbench.core.text import inert
from workbench.index.model import Unusable, UnusableRow, VectorHealth
from workbench.tui.draw import Ground, Line, Tone, cells, clip, number, short_fingerprint, titled_rule, wrap
from workbench.tui.pages.norms import norm_chart
from workbench.tui.pages.parts import SHARE_CELLS, Frame, Page, keys_line, share_bar
from workbench.tui.signs import Signs
from workbench.tui.state import State
from workbench.tui.verdicts import FILLS, TONES, lead_of, length_text

NAMES = {
    Unusable.NON_FINITE: "not finite",
    Unusable.ZERO: "zero",
    Unusable.WRONG_DIMS: "other length",
    Unusable.MISSING: "missing",
}

_DOES = {
    Outcome.FAILS: "every search fails",
    Outcome.FIRST: "comes first",
    Outcome.UNORDERED: "spoils the order",
    Outcome.LAST: "comes last",
    Outcome.LEFT_OUT: "left out",
    Outcome.NEVER: "never found",
    Outcome.UNKNOWN: "cannot rank",
}
"""Each outcome in the words of one row."""

_DO = {
    Outcome.FAILS: "fail every search",
    Outcome.FIRST: "come first",
    Outcome.UNORDERED: "spoil the order",
    Outcome.LAST: "come last",
    Outcome.LEFT_OUT: "left out",
    Outcome.NEVER: "never found",
    Outcome.UNKNOWN: "cannot rank",
}
"""The same with a number of rows before it."""

_IT_DOES = {**_DOES, Outcome.FAILS: "fails every search"}

_MOST_FINGERPRINTS = 6
_CHART_ROWS = 4
_COUNT_CELLS = 9
_SHARE_CELLS = 12
_MEDIAN_FROM = 60
_BARS_FROM = 84
"""From this width on the kinds have a bar beside their numbers; the words matter more."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The rows that never rank, as far as they are known; ``why`` says why they are not."""

    rows: tuple[UnusableRow, ...] | None = None
    reading: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of row that never ranks: how many there are, and the worst that one of them does to a search.

    ``outcomes`` counts what the rows do once all rows of the kind are listed; before that it is empty.
    """

    kind: Unusable
    count: int
    does: Consequence
    outcomes: tuple[tuple[Outcome, int], ...] = ()

    @property
    def name(self) -> str:
        """In two words at most."""
        return NAMES[self.kind]

    @property
    def brief(self) -> str:
        """What they do in a few words, with the numbers where some do this and some that."""
        if len(self.outcomes) < 2:
            return self.does.brief
        return ", ".join(
            f"{number(count)} {(_IT_DOES if count == 1 else _DO)[outcome]}" for outcome, count in self.outcomes
        )

    def doing(self, outcome: Outcome) -> int:
        """How many of them do a thing, as far as it is known."""
        if self.outcomes:
            return dict(self.outcomes).get(outcome, 0)
        return self.count if self.does.outcome is outcome else 0


def kinds_of(report: NamespaceReport, listing: Listing) -> tuple[Kind, ...]:
    """Give all kinds in the order in which they are told, those that do not occur too."""
    health = report.vectors.health
    return (
        _kind(Unusable.NON_FINITE, health.non_finite, report.adapter, listing),
        _kind(Unusable.ZERO, health.zero, report.adapter, listing),
        _kind(Unusable.WRONG_DIMS, health.wrong_dims, report.adapter, listing),
        _kind(Unusable.MISSING, health.missing, report.adapter, listing),
    )


def _kind(kind: Unusable, count: int, adapter: str, listing: Listing) -> Kind:
    flaws = Counter(row.flaw for row in listing.rows or () if row.reason is kind)
    does = consequence_of_kind(adapter, kind, frozenset(flaws))
    if flaws.total() < count:
        return Kind(kind, count, does)
    outcomes: Counter[Outcome] = Counter()
    for flaw, rows in flaws.items():
        outcomes[consequence_of(adapter, flaw).outcome] += rows
    return Kind(kind, count, does, tuple(sorted(outcomes.items())))


def choices(report: NamespaceReport, listing: Listing) -> tuple[Kind | UnusableRow, ...]:
    """Give what the cursor can stand on, in order: the kinds that occur, then the rows."""
    return (*(kind for kind in kinds_of(report, listing) if kind.count), *(listing.rows or ()))


def vectors_page(report: NamespaceReport, listing: Listing, frame: Frame) -> Page:
    """Everything about the vectors: the verdict, the kinds, the spaces, the norms, and the rows one by one."""
    page = Page()
    page.gap(frame)
    kinds = kinds_of(report, listing)
    _headline(page, _verdict(report, kinds), frame)
    if report.vectors.health.count:
        _kinds(page, report.vectors.health, kinds, frame)
        _fingerprints(page, report, frame)
        _norms(page, report.vectors.health, frame)
    if any(kind.count for kind in kinds):
        _rows(page, report, kinds, listing, frame)
    return page


# --- the verdict -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The one sentence about all vectors, what follows from it, and how many of how many it is about."""

    state: State
    said: str
    why: str = ""
    amount: str = ""


def _headline(page: Page, verdict: _Verdict, frame: Frame) -> None:
    ground = {State.BAD: Ground.BAD, State.WARN: Ground.WARN}.get(verdict.state, Ground.PLAIN)
    tone = TONES[verdict.state]
    loud = ground is not Ground.PLAIN
    indent = frame.signs.state_cells + 1
    for place, text in enumerate(wrap(verdict.said, frame.width - indent)[:2]):
        line = Line(ground).add(lead_of(verdict.state, frame.signs) if place == 0 else " " * indent, tone, bold=True)
        line.add(text, tone if loud else Tone.TEXT, bold=loud)
        if place == 0 and loud and line.cells + cells(verdict.amount) + 2 <= frame.width:
            line.right(Line().add(verdict.amount, tone), frame.width)
        page.add(line)
    for text in wrap(verdict.why, frame.width - indent)[: 3 if frame.roomy else 2] if verdict.why else ():
        page.add(Line().to(indent).add(text, Tone.MUTED))
    page.gap(frame)


def _verdict(report: NamespaceReport, kinds: tuple[Kind, ...]) -> _Verdict:
    """Judge all vectors: two spaces in one first, then what does the worst to a search."""
    health = report.vectors.health
    mixed = [each for each in report.fingerprints.findings if each.code is Code.MIXED_FINGERPRINTS]
    if mixed:
        head, _, rest = mixed[0].message.partition(": ")
        counts = [each.count for each in report.fingerprints.counts]
        foreign = sum(counts[1:]) or sum(counts)
        return _Verdict(State.BAD, head, rest, f"{number(foreign)} of {number(sum(counts))} in another space")
    there = [kind for kind in kinds if kind.count]
    if not there:
        if health.count == 0:
            return _Verdict(State.EMPTY, "no vectors yet")
        expired = f", {number(health.expired)} of them expired" if health.expired else ""
        return _Verdict(State.OK, f"{_all(health.count)} usable{expired}")
    worst = min(kind.does.outcome for kind in there)
    guilty = sum(kind.doing(worst) for kind in there)
    fix = worst_first(report.vectors.findings)[0].fix if report.vectors.findings else ""
    amount = f"{number(health.unusable + health.missing)} of {number(health.count)} rows"
    return _Verdict(State.WARN, _said(worst, guilty, health.count), fix, amount)


def _all(count: int) -> str:
    return "the one vector is" if count == 1 else f"all {number(count)} vectors are"


def _said(outcome: Outcome, count: int, total: int) -> str:
    """Say the worst that happens to a search, with its number."""
    rows = counted(count, "row")
    if outcome is Outcome.FAILS:
        return f"{rows} {verb(count, 'makes', 'make')} every search fail"
    if outcome is Outcome.FIRST:
        return f"{rows} {verb(count, 'comes', 'come')} first in every search on DuckDB 2.0"
    if outcome is Outcome.UNORDERED:
        return f"{rows} {verb(count, 'spoils', 'spoil')} the order of every search"
    if outcome is Outcome.LAST:
        return f"{rows} will come first in every search once this store runs on DuckDB 2.0"
    if outcome is Outcome.LEFT_OUT:
        return f"{rows} {verb(count, 'is', 'are')} left out of every search"
    if outcome is Outcome.NEVER:
        have = verb(count, "has no vector and is", "have no vector and are")
        return f"{of_all(count, total, 'row')} {have} never found"
    return f"{rows} cannot be ranked"


# --- kinds -------------------------------------------------------------------------------------------------------


def _kinds(page: Page, health: VectorHealth, kinds: tuple[Kind, ...], frame: Frame) -> None:
    there = sum(1 for kind in kinds if kind.count)
    if not there and not frame.roomy:
        return
    fact = Line().add("what they do to a search" if there else "none", Tone.FAINT)
    page.add(
        titled_rule(
            "Unusable",
            frame.width,
            frame.signs.rule,
            fact=fact,
            focused=frame.focused and frame.selected < max(1, there),
        )
    )
    place = 0
    for kind in kinds:
        here = frame.focused and bool(kind.count) and place == frame.selected
        page_line = _kind_line(kind, health.count, frame, here=here)
        if kind.count:
            page.stops.append(len(page.lines))
            place += 1
        page.add(page_line)
        if here:
            _told(page, kind.does.sentence, frame)
    if health.expired:
        line = Line().add(lead_of(State.EMPTY, frame.signs), Tone.FAINT, bold=True).add("expired", Tone.MUTED)
        line.extend(_amount(health.expired, health.count, Tone.DATA, frame, line.cells))
        page.add(line.add("usable or not; a search that minds the time to live leaves it out", Tone.MUTED))
        line.cut(frame.width, frame.signs.more)
    page.gap(frame)


def _kind_line(kind: Kind, total: int, frame: Frame, *, here: bool) -> Line:
    state = State.WARN if kind.count else State.OK
    line = Line(Ground.CURSOR if here else Ground.PLAIN)
    line.add(lead_of(state, frame.signs), TONES[state], bold=True)
    line.add(kind.name, Tone.TEXT if kind.count else Tone.MUTED, bold=here)
    line.extend(_amount(kind.count, total, FILLS[State.WARN], frame, line.cells))
    if kind.count:
        strong = kind.does.outcome <= Outcome.UNORDERED
        line.add(kind.brief, Tone.WARN if strong else Tone.MUTED)
    return line.cut(frame.width, frame.signs.more)


def _amount(count: int, total: int, tone: Tone, frame: Frame, used: int) -> Line:
    """Count, bar and share, in the same columns whatever stands before them; nothing but the count for none."""
    start = frame.signs.state_cells + 1 + 13
    line = Line().add(" " * max(0, start - used))
    line.add(number(count).rjust(_COUNT_CELLS), Tone.TEXT if count else Tone.FAINT, bold=bool(count)).add(" ")
    if not count:
        return line
    if frame.width >= _BARS_FROM:
        line.extend(share_bar(count, total, tone, frame.signs, SHARE_CELLS - 4).spans)
    return line.add(share(count, total).rjust(_SHARE_CELLS), Tone.MUTED).add("  ")


def _told(page: Page, sentence: str, frame: Frame) -> None:
    """Say all about the row under the cursor, right below it."""
    indent = frame.signs.state_cells + 1
    rows = wrap(sentence, frame.width - indent)
    page.lines += [Line().to(indent).add(row, Tone.MUTED) for row in rows]
    page.told = len(rows)


# --- spaces ------------------------------------------------------------------------------------------------------


def _fingerprints(page: Page, report: NamespaceReport, frame: Frame) -> None:
    """One row for each space, with a letter of its own."""
    counts = report.fingerprints.counts
    if not counts:
        return
    fact = Line().add("vectors", Tone.FAINT)
    page.add(titled_rule("Fingerprints", frame.width, frame.signs.rule, fact=fact))
    total = sum(each.count for each in counts)
    for place, each in enumerate(counts[:_MOST_FINGERPRINTS]):
        tone = (Tone.ACCENT, Tone.WARN)[place] if place < 2 and len(counts) > 1 else Tone.MUTED
        fill = Tone.WARN_FILL if place == 1 else Tone.DATA
        tail = Line().add(number(each.count).rjust(_COUNT_CELLS), bold=True).add(" ")
        if frame.wide:
            tail.extend(share_bar(each.count, total, fill, frame.signs).spans)
        tail.add(share(each.count, total).rjust(_SHARE_CELLS), Tone.MUTED)
        line = Line().add(chr(ord("A") + place).ljust(frame.signs.state_cells + 1), tone, bold=True)
        room = frame.width - line.cells - tail.cells - 1
        line.add(short_fingerprint(each.fingerprint, room, frame.signs.more), Tone.TEXT)
        page.add(line.right(tail, frame.width))
    if len(counts) > _MOST_FINGERPRINTS:
        page.add(Line().add(f"{frame.signs.more} {number(len(counts) - _MOST_FINGERPRINTS)} more", Tone.FAINT))
    page.gap(frame)


# --- norms -------------------------------------------------------------------------------------------------------


def _norms(page: Page, health: VectorHealth, frame: Frame) -> None:
    norm = health.norm
    if norm is None:
        return
    least, middle, most = (length_text(value) for value in (norm.min, norm.median, norm.max))
    fact = Line().add(least, bold=True).add(f" {frame.signs.dash} ", Tone.FAINT).add(most, bold=True)
    if frame.width >= _MEDIAN_FROM:
        fact.add(f" {frame.signs.dot} median ", Tone.FAINT).add(middle, bold=True)
    if health.zero:
        fact.add("   ").add(frame.signs.warn, Tone.WARN, bold=True).add(f" {number(health.zero)} at 0", Tone.WARN)
    page.add(titled_rule("Norms", frame.width, frame.signs.rule, fact=fact))
    alone = health.unusable + health.missing == 0
    if (frame.roomy or alone) and health.norm_bins is not None and frame.height - len(page.lines) >= _CHART_ROWS + 2:
        for line in norm_chart(health.norm_bins, frame.width, _CHART_ROWS, frame.signs):
            page.add(line)
    page.gap(frame)


# --- rows --------------------------------------------------------------------------------------------------------


def _rows(page: Page, report: NamespaceReport, kinds: tuple[Kind, ...], listing: Listing, frame: Frame) -> None:
    total = sum(kind.count for kind in kinds)
    rows = listing.rows
    fact = Line()
    if rows is not None:
        fact.add("all " if len(rows) == total else "first ", Tone.FAINT).add(number(len(rows)), bold=True)
        fact.add("" if len(rows) == total else f" of {number(total)}", Tone.FAINT)
        fact.add(", in the order of the file", Tone.FAINT)
    elif listing.reading:
        fact = keys_line([("esc", "cancel")])
    first = sum(1 for kind in kinds if kind.count)
    within = frame.focused and frame.selected >= first
    page.add(titled_rule("Rows", frame.width, frame.signs.rule, fact=fact, focused=within))
    if rows is None:
        if listing.reading:
            page.add(Line().add(f"being looked up {frame.signs.reading}", Tone.MUTED))
        else:
            page.sentence(listing.why or "not looked up", frame.width)
            page.add(keys_line([("r", "look them up")]))
        return
    for place, line in enumerate(_row_lines(rows, report.adapter, frame.width, frame.signs), first):
        page.stops.append(len(page.lines))
        if frame.focused and place == frame.selected:
            row = rows[place - first]
            does = consequence_of(report.adapter, row.flaw)
            chosen = page.add(_row_line(row, does, frame.width, frame.signs, here=True))
            cut = inert(row.detail) not in chosen.text or inert(row.id) not in chosen.text
            _told(page, f"{row.id}: {row.detail}. {does.sentence}" if cut else does.sentence, frame)
        else:
            page.add(line)
    if len(rows) < total:
        page.add(Line().add(f"{frame.signs.more} {number(total - len(rows))} more are not listed", Tone.FAINT))


@lru_cache(maxsize=2)
def _row_lines(rows: tuple[UnusableRow, ...], adapter: str, width: int, signs: Signs) -> tuple[Line, ...]:
    """Draw all rows once for a width: a thousand of them take longer than a key press may."""
    return tuple(_row_line(row, consequence_of(adapter, row.flaw), width, signs) for row in rows)


def _row_line(row: UnusableRow, does: Consequence, width: int, signs: Signs, *, here: bool = False) -> Line:
    does_at = width - max(map(len, _DOES.values()))
    detail_at = min(does_at - 4, signs.state_cells + 1 + max(12, width * 2 // 5 - 6))
    line = Line(Ground.CURSOR if here else Ground.PLAIN)
    line.add(lead_of(State.WARN, signs), Tone.WARN, bold=True)
    line.add(clip(row.id, detail_at - line.cells - 2, signs.more), bold=here).to(detail_at)
    line.add(clip(row.detail, does_at - detail_at - 2, signs.more), Tone.MUTED).to(does_at)
    strong = does.outcome <= Outcome.UNORDERED
    return line.add(_DOES[does.outcome], Tone.WARN if strong else Tone.MUTED).cut(width, signs.more)
