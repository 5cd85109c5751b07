"""Steps in order: numbered, parents found, rings cut, orphans marked, nothing exported twice counted twice."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from workbench.recordings.model import Note, Span, Step


@dataclass(frozen=True, slots=True)
class RawStep:
    """A step as a reader meets it, before its parent is known to exist.

    Attributes:
        key: the producer's id; None when it has none (then nothing can be its child).
        parent: the producer's id of its parent.
        kind, name, status, error, spans, tokens: as in ``Step``.
        start_ms: when it began.
        end_ms: when it ended; a step whose end lies before its start has no duration, and that is said.
    """

    key: str | None
    parent: str | None
    kind: str
    name: str
    start_ms: float | None = None
    end_ms: float | None = None
    status: str | None = None
    error: str | None = None
    spans: tuple[Span, ...] = ()
    tokens: tuple[int | None, int | None] = (None, None)


def finish_steps(raw: Sequence[RawStep]) -> tuple[tuple[Step, ...], tuple[Note, ...]]:
    """Give steps their numbers in the order given, and say what was wrong with their parents, times and ids.

    The same key again counts once (its first row stands). A parent that is not there gives an orphan; a ring of
    parents is cut at the step of the ring that comes first.
    """
    kept = _without_repeats(raw)
    numbers = {step.key: number for number, step in enumerate(kept, 1) if step.key is not None}
    steps: list[Step] = []
    backwards = orphans = 0
    for number, step in enumerate(kept, 1):
        parent = numbers.get(step.parent) if step.parent is not None else None
        orphan = step.parent is not None and parent is None
        duration = None
        if step.start_ms is not None and step.end_ms is not None:
            duration = step.end_ms - step.start_ms
            if duration < 0:
                duration, backwards = None, backwards + 1
        orphans += orphan
        steps.append(
            Step(
                number,
                parent,
                orphan,
                step.kind,
                step.name,
                step.status,
                step.start_ms,
                duration,
                step.error,
                step.spans,
                step.key,
                step.tokens,
            )
        )
    rings = 0
    for place in cut_rings(array("I", [step.parent or 0 for step in steps])):
        steps[place] = replace(steps[place], parent=None)
        rings += 1
    return tuple(steps), step_notes(twice=len(raw) - len(kept), backwards=backwards, orphans=orphans, rings=rings)


def step_notes(*, twice: int, backwards: int, orphans: int, rings: int) -> tuple[Note, ...]:
    """Say what was wrong with so many steps."""
    notes = []
    if twice:
        notes.append(Note(f"{_count(twice, 'step was', 'steps were')} exported twice and counted once"))
    if backwards:
        notes.append(Note(f"{_count(backwards, 'step ends', 'steps end')} before it began, so its duration is unknown"))
    if orphans:
        notes.append(Note(f"{_count(orphans, 'step names', 'steps name')} a parent that is not in the recording"))
    if rings:
        notes.append(Note(f"{_count(rings, 'ring', 'rings')} of steps that are each other's parents, cut"))
    return tuple(notes)


def _without_repeats(raw: Sequence[RawStep]) -> list[RawStep]:
    seen: set[str] = set()
    kept: list[RawStep] = []
    for step in raw:
        if step.key is not None:
            if step.key in seen:
                continue
            seen.add(step.key)
        kept.append(step)
    return kept


def cut_rings(parents: array[int]) -> list[int]:
    """Give the places at which a parent is to be taken away, one in each ring; ``parents`` are numbers, 0 for none."""
    places: list[int] = []
    settled = bytearray(len(parents) + 1)
    for number in range(1, len(parents) + 1):
        way: list[int] = []
        on_way: set[int] = set()
        at = number
        while at and not settled[at]:
            if at in on_way:
                places.append(min(way[way.index(at) :]) - 1)
                break
            on_way.add(at)
            way.append(at)
            at = parents[at - 1]
        for each in way:
            settled[each] = True
    return places


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def in_tree_order(steps: Sequence[Step]) -> Iterator[tuple[Step, int]]:
    """Give each step behind its parent, with its depth; those of one parent in the order of their beginnings."""
    below = _children(steps)
    waiting = [iter(below.get(0, ()))]
    while waiting:
        number = next(waiting[-1], None)
        if number is None:
            waiting.pop()
            continue
        yield steps[number - 1], len(waiting) - 1
        if number in below:
            waiting.append(iter(below[number]))


def _children(steps: Sequence[Step]) -> dict[int, array[int]]:
    """Give the numbers of the steps below each, 0 for none, by beginning.

    One whose beginning is not recorded stays behind the step before it.
    """
    below: dict[int, array[int]] = {}
    latest: dict[int, float] = {}
    times = array("d")
    unordered: set[int] = set()
    for step in steps:
        parent = step.parent or 0
        below.setdefault(parent, array("I")).append(step.n)
        before = latest.get(parent, -math.inf)
        time = before if step.start_ms is None else step.start_ms
        if time < before:
            unordered.add(parent)
        latest[parent] = time
        times.append(time)
    for parent in unordered:
        below[parent] = array("I", sorted(below[parent], key=lambda number: times[number - 1]))
    return below
