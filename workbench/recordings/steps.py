"""Steps in order: numbered, parents found, rings cut, orphans marked, nothing exported twice counted twice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.recordings.model import Note, Span, Step


@dataclass(frozen=True, slots=True)
class RawStep:
    """A step as a reader meets it, before its parent is known to exist.

    Attributes:
        key: the producer's id; None when it has none (then nothing can be its child).
        parent: the producer's id of its parent.
        kind, name, status, error, spans: as in ``Step``.
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


def finish_steps(raw: Sequence[RawStep]) -> tuple[tuple[Step, ...], tuple[Note, ...]]:
    """Give steps their numbers in the order given, and say what was wrong with their parents, times and ids.

    The same key again counts once (its first row stands). A parent that is not there gives an orphan; a ring of
    parents is cut at the step of the ring that comes first.
    """
    notes: list[Note] = []
    kept = _without_repeats(raw, notes)
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
            )
        )
    rings = _cut_rings(steps)
    if backwards:
        notes.append(Note(f"{_count(backwards, 'step ends', 'steps end')} before it began, so its duration is unknown"))
    if orphans:
        notes.append(Note(f"{_count(orphans, 'step names', 'steps name')} a parent that is not in the recording"))
    if rings:
        notes.append(Note(f"{_count(rings, 'ring', 'rings')} of steps that are each other's parents, cut"))
    return tuple(steps), tuple(notes)


def _without_repeats(raw: Sequence[RawStep], notes: list[Note]) -> list[RawStep]:
    seen: set[str] = set()
    kept: list[RawStep] = []
    for step in raw:
        if step.key is not None:
            if step.key in seen:
                continue
            seen.add(step.key)
        kept.append(step)
    if len(kept) < len(raw):
        notes.append(Note(f"{_count(len(raw) - len(kept), 'step was', 'steps were')} exported twice and counted once"))
    return kept


def _cut_rings(steps: list[Step]) -> int:
    """Take the parent from one step of each ring; give how many rings there were."""
    rings = 0
    settled = [False] * (len(steps) + 1)
    for step in list(steps):
        way: list[int] = []
        on_way: set[int] = set()
        at: int | None = step.n
        while at is not None and not settled[at]:
            if at in on_way:
                first = min(way[way.index(at) :])
                steps[first - 1] = replace(steps[first - 1], parent=None)
                rings += 1
                break
            on_way.add(at)
            way.append(at)
            at = steps[at - 1].parent
        for number in way:
            settled[number] = True
    return rings


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def in_tree_order(steps: Sequence[Step]) -> list[tuple[Step, int]]:
    """Give each step behind its parent, with its depth; those of one parent in the order of their beginnings."""
    below: dict[int | None, list[Step]] = {}
    for step in steps:
        below.setdefault(step.parent, []).append(step)
    ordered: list[tuple[Step, int]] = []
    waiting = [(step, 0) for step in reversed(_by_time(below.get(None, [])))]
    while waiting:
        step, depth = waiting.pop()
        ordered.append((step, depth))
        waiting += [(child, depth + 1) for child in reversed(_by_time(below.get(step.n, [])))]
    return ordered


def _by_time(steps: list[Step]) -> list[Step]:
    """Sort by beginning; one whose beginning is not recorded stays behind the step before it."""
    latest = -math.inf
    keyed: list[tuple[float, Step]] = []
    for step in steps:
        if step.start_ms is not None:
            latest = step.start_ms
        keyed.append((latest, step))
    return [step for _, step in sorted(keyed, key=lambda each: each[0])]
