"""A namespace's report as the screens show it: one state, one tag, and the concerns worst first.

Every number here is taken from the report behind ``check --json``; nothing is computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.checkup.findings import Code, Finding, Severity, worst_first
from workbench.checkup.wording import counted, in_tokens
from workbench.index.problems import Problem
from workbench.tui.draw import Tone, number, short_fingerprint
from workbench.tui.signs import Signs
from workbench.tui.state import Space, State, Status

if TYPE_CHECKING:
    from workbench.checkup.report import IncomingVerdict, NamespaceReport
    from workbench.index.model import VectorHealth

TONES = {
    State.BAD: Tone.ERROR,
    State.WARN: Tone.WARN,
    State.UNKNOWN: Tone.MUTED,
    State.STOPPED: Tone.FAINT,
    State.READING: Tone.ACCENT,
    State.WAITING: Tone.FAINT,
    State.OK: Tone.OK,
    State.EMPTY: Tone.FAINT,
}

FILLS = {State.BAD: Tone.ERROR_FILL, State.WARN: Tone.WARN_FILL}

_STATES = {Severity.ERROR: State.BAD, Severity.WARNING: State.WARN, Severity.INFO: State.UNKNOWN}

WORDS = {
    Problem.MISSING: "missing",
    Problem.NOT_A_FILE: "no file",
    Problem.DIRECTORY: "folder",
    Problem.EMPTY: "empty",
    Problem.NOT_AN_INDEX: "no index",
    Problem.NOT_READABLE_YET: "not yet",
    Problem.LOCKED: "locked",
    Problem.BEING_WRITTEN: "busy",
    Problem.TOO_NEW: "too new",
    Problem.TRUNCATED: "cut off",
    Problem.DAMAGED: "damaged",
    Problem.ENCRYPTED: "sealed",
    Problem.URL: "a URL",
}
"""Each problem in a word, for the row of the tree."""


KEYS = {"Incoming": "i", "Fingerprint": "4", "Ceiling": "3", "Vectors": "4", "Duplicates": "2", "Norms": "4"}
"""The key that goes from each concern to where more is said about it."""

WAYS = {
    "i": "hold another embedder against it",
    "2": "look at the chunks",
    "3": "see what was cut",
    "4": "look at the vectors",
}
"""What those keys do, in words."""


@dataclass(frozen=True, slots=True)
class Concern:
    """One thing that is judged, as a row: its state, verdict, how many chunks it is about, and the key that acts.

    ``sentence`` and ``fix`` are those of the worst finding of this concern, or say that it is in order. ``brief`` is
    the verdict for a narrow pane.
    """

    name: str
    state: State
    verdict: str
    sentence: str
    fix: str = ""
    count: int | None = None
    total: int = 0
    key: str = ""
    absent: bool = False
    brief: str = ""


def sign_of(state: State, signs: Signs) -> str:
    """Give the sign of a state."""
    return {
        State.BAD: signs.bad,
        State.WARN: signs.warn,
        State.UNKNOWN: signs.unknown,
        State.STOPPED: signs.waiting,
        State.READING: signs.reading,
        State.WAITING: signs.waiting,
        State.OK: signs.ok,
        State.EMPTY: signs.empty,
    }[state]


def lead_of(state: State, signs: Signs) -> str:
    """Give the sign of a state as the first column of a row: padded to the width of the column, and a blank."""
    return sign_of(state, signs).ljust(signs.state_cells) + " "


def state_of(report: NamespaceReport) -> State:
    """Give the worst of a report; a namespace without rows and without findings is empty, not in order."""
    findings = report.findings
    worst = _STATES[findings[0].severity] if findings else State.OK
    if report.fingerprints.count == 0 and worst not in (State.BAD, State.WARN):
        return State.EMPTY
    if findings:
        return worst
    if report.incoming is not None and report.incoming.compared == "dims":
        return State.UNKNOWN
    return State.OK


def space_state(space: Space) -> State:
    """Give the state of a namespace, read or not."""
    if space.report is not None:
        return state_of(space.report)
    return {
        Status.WAITING: State.WAITING,
        Status.READING: State.READING,
        Status.READ: State.OK,
        Status.STOPPED: State.STOPPED,
        Status.FAILED: State.BAD,
    }[space.status]


def tag_of(report: NamespaceReport, signs: Signs) -> tuple[str, Tone]:
    """Give the worst thing about the data in at most seven cells or so, else the refusal in one word."""
    codes = {finding.code for finding in report.findings}
    health = report.vectors.health
    if Code.MIXED_FINGERPRINTS in codes:
        return f"{signs.differs} mixed", Tone.ERROR
    if report.ceiling.clipped is not None and report.ceiling.clipped.count:
        return f"{signs.clipped} {number(report.ceiling.clipped.count)}", Tone.WARN
    for code, count, word in _vector_words(health):
        if code in codes:
            return f"{number(count)} {word}", Tone.WARN
    if Code.DUPLICATE_IDS in codes:
        return f"{number(report.duplicates.duplicates.ids)} twice", Tone.WARN
    if report.incoming is not None and report.incoming.conflict is not None:
        return ("dims" if report.incoming.conflict == "dimensions" else "model"), Tone.ERROR
    if Code.FINGERPRINT_LOST in codes:
        return "lost", Tone.WARN
    if report.fingerprints.count == 0:
        return "empty", Tone.FAINT
    if Code.FINGERPRINT_UNKNOWN in codes:
        return "unnamed", Tone.MUTED
    return "", Tone.MUTED


def _vector_words(health: VectorHealth) -> tuple[tuple[Code, int, str], ...]:
    return (
        (Code.NON_FINITE_VECTORS, health.non_finite, "NaN"),
        (Code.ZERO_VECTORS, health.zero, "zero"),
        (Code.WRONG_DIMS, health.wrong_dims, "dims"),
        (Code.MISSING_VECTORS, health.missing, "null"),
    )


def incoming_state(verdict: IncomingVerdict) -> tuple[State, str]:
    """Give the state and the one word for an incoming embedder."""
    if verdict.conflict is not None:
        return State.BAD, "refused"
    if verdict.against is None:
        return State.EMPTY, "nothing to compare"
    if verdict.compared == "dims":
        return State.UNKNOWN, "unverified"
    return (State.OK, "compatible") if verdict.fits_all else (State.WARN, "in part")


def tallies(concerns: tuple[Concern, ...]) -> dict[State, int]:
    """How many concerns are refused or broken, worth a look, in order."""
    return {state: sum(each.state is state for each in concerns) for state in (State.BAD, State.WARN, State.OK)}


def concerns(report: NamespaceReport, signs: Signs) -> tuple[Concern, ...]:
    """All concerns of a namespace, worst first, those of one state in the order of the field."""
    made = [
        _incoming(report),
        _fingerprint(report),
        _ceiling(report),
        _vectors(report),
        _duplicates(report),
        _norms(report, signs),
    ]
    keyed = [replace(concern, key=KEYS[concern.name]) for concern in made]
    return tuple(sorted(keyed, key=lambda concern: concern.state))


def _worst(findings: tuple[Finding, ...], otherwise: State) -> tuple[State, str, str]:
    """State, sentence and fix of the worst finding, or the state when there is none."""
    if not findings:
        return otherwise, "", ""
    worst = worst_first(findings)[0]
    return _STATES[worst.severity], worst.message, worst.fix


def _incoming(report: NamespaceReport) -> Concern:
    verdict = report.incoming
    if verdict is None:
        return Concern(
            "Incoming",
            State.EMPTY,
            "none given",
            "No incoming embedder was named, so nothing was held against this namespace.",
            absent=True,
        )
    if verdict.conflict is None:
        unverified = verdict.compared == "dims"
        state = State.UNKNOWN if unverified else State.OK
        said = "unverified: only the lengths were compared" if unverified else "compatible: same model, same length"
        if not unverified and not verdict.fits_all:
            state, said = State.WARN, "fits only a part of the vectors"
        if verdict.against is None:
            state, said = State.EMPTY, "nothing here to compare with yet"
        return Concern("Incoming", state, said, verdict.message)
    state, sentence, fix = _worst(verdict.findings, State.BAD)
    if verdict.conflict == "dimensions":
        said = f"refused: {_dims(verdict.fingerprint)} dims do not fit {_dims(verdict.against or '?')}"
    elif verdict.same_model:
        said = "refused: maybe the same model, another name"
    else:
        said = f"refused: not {verdict.against}"
    count = report.vectors.health.count - report.vectors.health.missing
    return Concern(
        "Incoming",
        state,
        said,
        sentence or verdict.message,
        fix,
        count,
        report.fingerprints.count,
        brief=said[len("refused: ") :],
    )


def _dims(fingerprint: str) -> str:
    """Give the part behind the last ``@``, with thousands apart where it is a whole number."""
    dims = fingerprint.rpartition("@")[2]
    return number(int(dims)) if dims.isdecimal() and len(dims) < 10 else dims


def _fingerprint(report: NamespaceReport) -> Concern:
    verdict = report.fingerprints
    state, sentence, fix = _worst(verdict.findings, State.OK)
    codes = {finding.code for finding in verdict.findings}
    names = [each.fingerprint for each in verdict.counts]
    count: int | None = None
    if Code.MIXED_FINGERPRINTS in codes:
        said = f"{len(names)} spaces in one, {number(verdict.counts[0].count)} vectors in the largest"
        if len(names) == 1:
            said = f"its vectors are {names[0]}, the record says another"
        count = sum(each.count for each in verdict.counts[1:]) or verdict.counts[0].count
    elif Code.FINGERPRINT_LOST in codes:
        said = f"no record, its vectors name {names[0]}" if names else "no record"
        count = sum(each.count for each in verdict.counts)
    elif Code.FINGERPRINT_UNKNOWN in codes:
        said = f"nothing names the model: {names[0]}" if names else "nothing names the model"
    elif not names:
        state, said = State.EMPTY, f"{verdict.shown}, no vectors yet" if verdict.shown else "no vectors yet"
    elif len(names) == 1:
        said = f"{names[0]} throughout"
    else:
        named = sum(each.count for each in verdict.counts if not each.fingerprint.startswith("?@"))
        everyone = sum(each.count for each in verdict.counts)
        said = f"{verdict.shown}, {number(named)} of {number(everyone)} vectors say so"
    if not sentence:
        sentence = f"Every vector belongs to one space, {verdict.shown}."
        if not names:
            sentence = "No vector is stored yet."
        elif len(names) > 1:
            sentence = f"The namespace is {verdict.shown}: {', '.join(verdict.notes)}."
    brief = said.replace(names[0], short_fingerprint(names[0], 24)) if names else said
    if len(names) > 1 and count is not None:
        brief = f"{len(names)} spaces in one"
    if verdict.count == 0 and state is State.UNKNOWN:
        state = State.EMPTY
    return Concern("Fingerprint", state, said, sentence, fix, count, verdict.count, brief=brief)


def _ceiling(report: NamespaceReport) -> Concern:
    verdict = report.ceiling
    chars = number(int(verdict.ceiling.chars))
    if verdict.clipped is None:
        why = verdict.text_note or "no text is stored here"
        return Concern("Ceiling", State.UNKNOWN, "no text stored", f"Clipping cannot be judged: {why}.", absent=True)
    clipped = verdict.clipped
    state, sentence, fix = _worst(verdict.findings, State.OK)
    if clipped.total == 0:
        return Concern("Ceiling", State.EMPTY, f"no chunks yet, {chars} chars each", "There is no text to be cut.")
    exact = clipped.exact
    tokens = "" if exact is None else f", {number(exact.count)} by tokens"
    beside = "" if exact is None else f"; {in_tokens(exact, clipped.total)}"
    if clipped.count:
        said = f"{number(clipped.count)} longer than {chars} chars"
        whole = f"{sentence}{beside}" if sentence else sentence
        return Concern("Ceiling", state, said + tokens, whole, fix, clipped.count, clipped.total, brief=said)
    said = f"all within {chars} chars"
    if exact is not None and exact.count:
        said += f", {number(exact.count)} cut by tokens"
    elif exact is None and clipped.possible:
        said += f", {number(clipped.possible)} maybe not in tokens"
    fits = sentence or f"Every chunk fits the ceiling of {chars} characters{beside}."
    return Concern("Ceiling", state, said, fits, fix)


def _vectors(report: NamespaceReport) -> Concern:
    health = report.vectors.health
    state, sentence, fix = _worst(report.vectors.findings, State.OK)
    expired = f", {number(health.expired)} expired" if health.expired else ""
    bad = [f"{number(count)} {word}" for _, count, word in _unusable_words(health) if count]
    if bad:
        count = health.unusable + health.missing
        return Concern("Vectors", state, ", ".join(bad) + expired, sentence, fix, count, health.count)
    if health.count == 0:
        return Concern("Vectors", State.EMPTY, "none yet", "No vector is stored yet.")
    return Concern(
        "Vectors",
        state,
        "all present, finite and of one length" + expired,
        sentence or "Every vector can be found by a search.",
        fix,
        brief="all finite, of one length",
    )


def _unusable_words(health: VectorHealth) -> tuple[tuple[Code, int, str], ...]:
    return (
        (Code.NON_FINITE_VECTORS, health.non_finite, "not finite"),
        (Code.ZERO_VECTORS, health.zero, "zero"),
        (Code.WRONG_DIMS, health.wrong_dims, "of another length"),
        (Code.MISSING_VECTORS, health.missing, "missing"),
    )


def _duplicates(report: NamespaceReport) -> Concern:
    found = report.duplicates.duplicates
    state, sentence, fix = _worst(report.duplicates.findings, State.OK)
    if found.ids:
        said = f"{counted(found.ids, 'id')} on {counted(found.rows, 'row')}"
        return Concern("Duplicates", state, said, sentence, fix, found.rows, report.fingerprints.count)
    if report.fingerprints.count == 0:
        return Concern("Duplicates", State.EMPTY, "none", "There are no rows yet.")
    return Concern("Duplicates", state, "every id stands once", sentence or "Every id stands on one row only.", fix)


def _norms(report: NamespaceReport, signs: Signs) -> Concern:
    norm = report.vectors.health.norm
    if norm is None:
        return Concern("Norms", State.EMPTY, "no finite vector", "There is no finite vector to measure.")
    least, middle, most = (length_text(value) for value in (norm.min, norm.median, norm.max))
    said = f"{least} {signs.dash} {most}, median {middle}"
    return Concern("Norms", State.OK, said, f"The finite vectors are between {least} and {most} long.")


def length_text(norm: float) -> str:
    """Write a norm with four decimals, or in powers of ten where those would say nothing."""
    plain = norm == 0 or 0.001 <= abs(norm) < 1_000_000
    return f"{norm:.4f}" if plain else f"{norm:.3g}"
