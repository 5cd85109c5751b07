"""Steps by the hundred thousand: in columns of plain numbers, each made into a Step only when it is looked at."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import overload

from workbench.recordings.model import Note, Span, Step
from workbench.recordings.steps import RawStep, cut_rings, finish_steps, step_notes

_MANY = 20_000
"""So many steps are kept as they are: a few MB, and quicker to look at."""


class _Texts:
    """Texts one behind another; "" stands for none."""

    __slots__ = ("_bytes", "_ends")

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = array("Q", (0,))

    def append(self, text: str | None) -> None:
        if text:
            self._bytes += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._bytes))

    def __getitem__(self, place: int) -> str:
        return self._bytes[self._ends[place] : self._ends[place + 1]].decode("utf-8", "surrogatepass")


class _Words:
    """Texts of which there are few different ones: each is kept once."""

    __slots__ = ("_numbers", "_places", "_words")

    def __init__(self) -> None:
        self._places: dict[str | None, int] = {}
        self._words: list[str | None] = []
        self._numbers = array("I")

    def append(self, word: str | None) -> None:
        place = self._places.setdefault(word, len(self._words))
        if place == len(self._words):
            self._words.append(word)
        self._numbers.append(place)

    def __getitem__(self, place: int) -> str | None:
        return self._words[self._numbers[place]]


class StepTable(Sequence[Step]):
    """A sequence of steps, equal to a tuple of them in everything but its size and that each look makes a new one."""

    def __init__(self) -> None:
        self._kinds, self._statuses = _Words(), _Words()
        self._names, self._keys = _Texts(), _Texts()
        self._starts, self._durations = array("d"), array("d")
        self._span_ends = array("I", (0,))
        self._spans = array("Q")
        self._errors: dict[int, str] = {}
        self._orphans: set[int] = set()
        self.parents = array("I")  # numbers, 0 for none

    def append(self, raw: RawStep) -> bool:
        """Take a step, its parent not yet known; say whether it ends before it began."""
        self._kinds.append(raw.kind)
        self._statuses.append(raw.status)
        self._names.append(raw.name)
        self._keys.append(raw.key)
        self._starts.append(math.nan if raw.start_ms is None else raw.start_ms)
        took = math.nan if raw.start_ms is None or raw.end_ms is None else raw.end_ms - raw.start_ms
        self._durations.append(took if took >= 0 else math.nan)
        for span in raw.spans:
            self._spans.extend((span.start, span.end))
        self._span_ends.append(len(self._spans))
        if raw.error is not None:
            self._errors[len(self.parents)] = raw.error
        self.parents.append(0)
        return took < 0

    def set_parent(self, place: int, number: int | None) -> None:
        """Say whose part a step is; None when that is not in the recording."""
        if number is None:
            self._orphans.add(place)
        else:
            self.parents[place] = number

    @property
    def orphans(self) -> int:
        """How many steps name a parent that is not there."""
        return len(self._orphans)

    def __len__(self) -> int:
        """Count the steps."""
        return len(self.parents)

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, place: int | slice) -> Step | tuple[Step, ...]:
        """Make the step at a place, or those of a slice."""
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(len(self))))
        place = range(len(self))[place]
        spans = self._spans[self._span_ends[place] : self._span_ends[place + 1]]
        return Step(
            n=place + 1,
            parent=self.parents[place] or None,
            orphan=place in self._orphans,
            kind=self._kinds[place] or "",
            name=self._names[place],
            status=self._statuses[place],
            start_ms=_known(self._starts[place]),
            duration_ms=_known(self._durations[place]),
            error=self._errors.get(place),
            spans=tuple(Span(spans[at], spans[at + 1]) for at in range(0, len(spans), 2)),
            key=self._keys[place] or None,
        )

    def __iter__(self) -> Iterator[Step]:
        """Make one step after another."""
        return (self[place] for place in range(len(self)))


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number


def finish_stream(raw: Iterable[RawStep]) -> tuple[Sequence[Step], tuple[Note, ...]]:
    """Do what ``finish_steps`` does with steps that come one by one; of very many none is kept as an object."""
    steps = iter(raw)
    first = list(islice(steps, _MANY))
    following = next(steps, None)
    if following is None:
        return finish_steps(first)
    table = StepTable()
    numbers: dict[str, int] = {}
    wanted: dict[int, str] = {}
    backwards = twice = 0
    for step in chain(_drained(first), (following,), steps):
        if step.key is not None:
            if step.key in numbers:
                twice += 1
                continue
            numbers[step.key] = len(table) + 1
        if step.parent is not None:
            wanted[len(table)] = step.parent
        backwards += table.append(step)
    for place, parent in wanted.items():
        table.set_parent(place, numbers.get(parent))
    rings = 0
    for place in cut_rings(table.parents):
        table.parents[place] = 0
        rings += 1
    return table, step_notes(twice=twice, backwards=backwards, orphans=table.orphans, rings=rings)


def _drained(steps: list[RawStep]) -> Iterator[RawStep]:
    """Give steps and let go of each."""
    steps.reverse()
    while steps:
        yield steps.pop()
