"""The incoming embedder while it is typed: what the text means so far, what it does to every namespace, what fits it.

Every verdict is the one of ``check --json``; here it is only named in a word and put in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.checkup.choices import Choice, matching
from workbench.checkup.report import Code
from workbench.core.fingerprint import Fingerprint, fingerprint_text, parse_fingerprint, parse_incoming
from workbench.core.text import inert
from workbench.tui.state import Node, Opened, Source, Space, State, Status
from workbench.tui.verdicts import incoming_state, space_state

if TYPE_CHECKING:
    from workbench.checkup.report import IncomingVerdict

MAX_TYPED = 200
"""Characters of an embedder's name that can be typed or pasted."""

_MOST_IN_USE = 200

Judge = Callable[[Fingerprint], "IncomingVerdict | None"]
"""Holds an embedder against the namespace that is looked at; None where nothing has been read."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A text, and the embedder that it names; ``missing`` says what it lacks when it names none yet."""

    text: str
    fingerprint: Fingerprint | None = None
    missing: str = ""


def read_typed(text: str) -> Typed:
    """Read what stands in the line. Nothing before the only ``@`` is an embedder that is not named."""
    wanted = text.strip()
    if not wanted:
        return Typed(text, None, "nothing typed yet")
    id, at, digits = wanted.rpartition("@")
    try:
        return Typed(text, parse_incoming(f"?{wanted}" if at and not id else wanted))
    except ValueError:
        if not at:
            return Typed(text, None, "the length of its vectors is missing")
        if not digits:
            return Typed(text, None, "behind the @ belongs the length of its vectors")
        return Typed(text, None, "behind the last @ belongs a whole number of at least 1")


@dataclass(frozen=True, slots=True)
class Effect:
    """What the incoming embedder meets in one namespace.

    Attributes:
        node: where it stands in the tree.
        name: how it is called here: with its source where two have the same name.
        state, word: the verdict; the word is empty when no embedder is held against it.
        against: the fingerprint that decides, None when nothing says anything.
        vectors: how many it holds.
        mixed: whether it holds vectors of other spaces as well.
    """

    node: Node
    name: str
    state: State
    word: str
    against: Fingerprint | None = None
    vectors: int = 0
    mixed: bool = False


def word_of(verdict: IncomingVerdict) -> str:
    """Give a verdict in a word or two."""
    if verdict.conflict == "model" and verdict.same_model:
        return "other spelling"
    if verdict.conflict is not None:
        return verdict.conflict
    state, word = incoming_state(verdict)
    return {State.UNKNOWN: "lengths only", State.EMPTY: "not compared"}.get(state, word)


Held = Callable[[Node], "Fingerprint | None"]
"""Gives the fingerprint that decides in a namespace, also while no embedder is held against it."""


def effects_of(opened: Opened, incoming: Fingerprint | None, held: Held) -> list[Effect]:
    """Give every namespace of every source, worst first, equals in their order."""
    asked = fingerprint_text(incoming) if incoming is not None else None
    everywhere = list(_everywhere(opened))
    names = Counter(space.name for _, _, space in everywhere)
    made = [
        _effect(node, space.name if names[space.name] == 1 else f"{source.label} / {space.name}", space, asked, held)
        for node, source, space in everywhere
    ]
    return sorted(made, key=lambda effect: effect.state)


def _everywhere(opened: Opened) -> Iterator[tuple[Node, Source, Space]]:
    for source in opened.sources.values():
        for place, space in enumerate(source.spaces):
            yield Node(source=source.key, space=place), source, space


def _effect(node: Node, name: str, space: Space, asked: str | None, held: Held) -> Effect:
    report = space.report
    if report is None:
        word = {Status.FAILED: "not readable", Status.STOPPED: "stopped"}.get(space.status, "not read yet")
        return Effect(node, name, space_state(space), word)
    vectors = sum(each.count for each in report.fingerprints.counts)
    mixed = any(finding.code is Code.MIXED_FINGERPRINTS for finding in report.fingerprints.findings)
    verdict = report.incoming
    if verdict is None or verdict.fingerprint != asked:
        # Not judged yet, in the fraction of a second that a thousand namespaces take.
        state = State.WAITING if asked is None else State.READING
        return Effect(node, name, state, "", held(node), vectors, mixed)
    against = parse_fingerprint(verdict.against) if verdict.against is not None else None
    return Effect(node, name, incoming_state(verdict)[0], word_of(verdict), against, vectors, mixed)


def tally_of(effects: Sequence[Effect]) -> tuple[tuple[State, str], ...]:
    """Count the namespaces by verdict, worst first: ``3 refused``, ``1 unverified``."""
    words = {
        State.BAD: "refused",
        State.WARN: "in part",
        State.UNKNOWN: "unverified",
        State.OK: "compatible",
        State.EMPTY: "empty",
        State.STOPPED: "not read",
        State.READING: "being read",
    }
    counts = Counter(State.STOPPED if effect.word == "not readable" else effect.state for effect in effects)
    waiting = sum(effect.state is State.WAITING and effect.word != "" for effect in effects)
    counts[State.READING] += waiting
    counts[State.WAITING] = 0
    return tuple((state, f"{counts[state]:,} {words[state]}") for state in words if counts[state])


@dataclass(frozen=True, slots=True)
class Offer:
    """An embedder to pick, and its verdict on the namespace that is looked at."""

    choice: Choice
    state: State
    word: str


def offers_of(typed: str, among: Sequence[Choice], judge: Judge) -> list[Offer]:
    """Give the embedders that fit what is typed: the closest first, of those equally close the compatible first."""
    made: list[tuple[float, int, Offer]] = []
    for match in matching(typed, among):
        verdict = judge(match.choice.fingerprint)
        state, word = (State.WAITING, "") if verdict is None else (incoming_state(verdict)[0], word_of(verdict))
        made.append((-match.score, -state, Offer(match.choice, state, word)))
    return [offer for _, _, offer in sorted(made, key=lambda each: each[:2])]


def in_use(opened: Opened) -> list[Fingerprint]:
    """Give the embedders that the namespaces name themselves, each once, the first ones of very many.

    Names that could not be typed are left out: nobody uses them, and nothing may be written that was not read so.
    """
    found: dict[str, Fingerprint] = {}
    for _, _, space in _everywhere(opened):
        if space.report is None:
            continue
        known = space.report.fingerprints
        named = [each.fingerprint for each in known.counts[:3]]
        for fingerprint in (*([known.recorded] if known.recorded else ()), *map(parse_fingerprint, named)):
            if (
                fingerprint.id is not None
                and len(fingerprint.id) < MAX_TYPED - 20
                and inert(fingerprint.id) == fingerprint.id
            ):
                found.setdefault(f"{fingerprint.id}@{fingerprint.dims}", fingerprint)
        if len(found) >= _MOST_IN_USE:
            break
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Way:
    """One thing to do about a verdict, and the key that does it where one does."""

    text: str
    key: str = ""


def ways_of(verdict: IncomingVerdict | None, name: str, alternative: str) -> tuple[Way, ...]:
    """Give the ways out: those of the refusal in the unit of whoever keeps the vectors; how to be sure."""
    if verdict is None or verdict.against is None:
        return ()
    if verdict.conflict is not None:
        named = parse_fingerprint(verdict.fingerprint).id is not None
        again = Way(f"re-index all of {name} with {verdict.fingerprint if named else 'it'}", "^r")
        ways = (again, Way(alternative))
        if verdict.same_model and verdict.conflict == "model":
            return (Way(f"name it as the index does, if it is the same: {verdict.against}"), *ways)
        return ways
    if verdict.compared == "dims":
        silent = [
            Way(text)
            for fingerprint, text in (
                (verdict.fingerprint, "type the model before the @, so that the models are compared as well"),
                (verdict.against, f"find out which model built {name}: nothing in it says"),
            )
            if parse_fingerprint(fingerprint).id is None
        ]
        return tuple(silent)
    return ()


def subject_of(effects: Iterable[Effect], node: Node | None) -> Effect | None:
    """Choose the namespace to look at: the one at the cursor, else the first with vectors of its source, else of all.

    The order of the tree decides and not the verdict, so that it stays the same while one types.
    """
    ordered = sorted(effects, key=lambda effect: (effect.node.source or 0, effect.node.space or 0))
    if node is not None and node.source is not None:
        own = [effect for effect in ordered if effect.node.source == node.source]
        exact = [effect for effect in own if effect.node.space == node.space]
        ordered = exact or own or ordered
    return next((effect for effect in ordered if effect.vectors), ordered[0] if ordered else None)
