"""Which steps are seen: filtered by kind and failure, folded, failed ones on top; quick for a million of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from workbench.tui.recorded import StepRow

Places = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(slots=True)
class Choice:
    """What a user chose to see.

    Attributes:
        hidden: kinds that are left out.
        errors_only: only failed steps.
        errors_first: failed steps on top.
        folded: by the number of a step, whether what is part of it is left out.
    """

    hidden: frozenset[str] = frozenset()
    errors_only: bool = False
    errors_first: bool = False
    folded: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    @property
    def filters(self) -> bool:
        """Whether steps are left out for what they are."""
        return self.errors_only or bool(self.hidden)


@dataclass(frozen=True, slots=True)
class Seen:
    """The rows that are seen: their places among all rows, and how deep each is indented."""

    places: Places
    depths: Places

    def row_of(self, place: int) -> int | None:
        """Give the row that stands at a place among all rows."""
        found = np.flatnonzero(self.places == place)
        return int(found[0]) if len(found) else None


class StepTree:
    """How the rows of all steps hang together: those that are part of a step follow it, one deeper."""

    def __init__(self, rows: Sequence[StepRow]) -> None:
        """Take all rows of a recording, at least one. It takes time by their number: not for the event loop."""
        count = len(rows)
        self.numbers: Places = np.fromiter((row.step.n for row in rows), np.int64, count)
        self.depth: Places = np.fromiter((row.depth for row in rows), np.int64, count)
        self.failed: Flags = np.fromiter((row.failed for row in rows), np.bool_, count)
        self.searched: Flags = np.fromiter((row.retrieval is not None for row in rows), np.bool_, count)
        self.is_parent: Flags = np.fromiter((row.is_parent for row in rows), np.bool_, count)
        names = sorted({row.step.kind for row in rows})
        code = {name: at for at, name in enumerate(names)}
        self._kinds = names
        self._kind: Places = np.fromiter((code[row.step.kind] for row in rows), np.int64, count)
        self._place = np.full(int(self.numbers.max()) + 1, -1, dtype=np.int64)
        self._place[self.numbers] = np.arange(count)
        self.parent: Places = np.full(count, -1, dtype=np.int64)
        self.end: Places = np.full(count, count, dtype=np.int64)
        open_: list[int] = []
        for place, depth in enumerate(self.depth.tolist()):
            while len(open_) > depth:
                self.end[open_.pop()] = place
            if open_:
                self.parent[place] = open_[-1]
            open_.append(place)
        order = np.argsort(self.depth, kind="stable")
        self._levels = np.split(order, np.flatnonzero(np.diff(self.depth[order])) + 1)
        self._failed_before = np.concatenate(([0], np.cumsum(self.failed)))

    @property
    def kinds(self) -> tuple[tuple[str, int], ...]:
        """The kinds with how many steps are of each, most first."""
        counts = np.bincount(self._kind, minlength=len(self._kinds)).tolist()
        return tuple(sorted(zip(self._kinds, counts, strict=True), key=lambda each: (-each[1], each[0])))

    def place_of(self, number: int) -> int | None:
        """Give the place of a step among all rows."""
        place = int(self._place[number]) if 0 <= number < len(self._place) else -1
        return place if place >= 0 else None

    def fits(self, choice: Choice) -> Flags:
        """Say of each row whether it is of what was chosen, folded or not."""
        fits = np.ones(len(self.depth), dtype=np.bool_)
        if choice.hidden:
            hidden = np.array([name in choice.hidden for name in self._kinds], dtype=np.bool_)
            fits &= ~hidden[self._kind]
        if choice.errors_only:
            fits &= self.failed
        return fits

    def seen(self, choice: Choice) -> Seen:
        """Give the rows that are seen. What failed is never folded away where failed steps are asked for."""
        fits, depths = self.fits(choice), self.depth
        if choice.filters:
            depths = self._below(np.zeros(len(fits), dtype=np.int64), fits)
        shown = fits & self._unfolded(choice, fits)
        if choice.errors_only:
            shown = fits
        places = np.flatnonzero(shown)
        if choice.errors_first:
            failed = np.flatnonzero(fits & self.failed)
            places = np.concatenate((failed, np.flatnonzero(shown & ~self.failed)))
        return Seen(places, depths[places])

    def _below(self, depths: Places, fits: Flags) -> Places:
        """Count the parents that are seen above each row."""
        for level in self._levels[1:]:
            parents = self.parent[level]
            depths[level] = depths[parents] + fits[parents]
        return depths

    def _unfolded(self, choice: Choice, fits: Flags) -> Flags:
        unfolded = np.ones(len(fits), dtype=np.bool_)
        folded = self.folded(choice) & fits
        if folded.any():
            for level in self._levels[1:]:
                parents = self.parent[level]
                unfolded[level] = unfolded[parents] & ~folded[parents]
        return unfolded

    def folded(self, choice: Choice) -> Flags:
        """Say of each row whether it is folded; steps that came since the choice was made are not."""
        missing = len(self._place) - len(choice.folded)
        if missing > 0:
            choice.folded = np.concatenate((choice.folded, np.zeros(missing, dtype=np.bool_)))
        return choice.folded[self.numbers] & self.is_parent

    def set_folded(self, choice: Choice, place: int, *, folded: bool) -> None:
        """Fold or unfold one row."""
        self.folded(choice)
        choice.folded[self.numbers[place]] = folded

    def fold_all(self, choice: Choice, *, folded: bool) -> None:
        """Fold or unfold all."""
        self.folded(choice)
        choice.folded[self.numbers] = folded

    def reveal(self, choice: Choice, place: int) -> None:
        """Unfold everything that a row is part of."""
        at = int(self.parent[place])
        while at >= 0:
            self.set_folded(choice, at, folded=False)
            at = int(self.parent[at])

    def inside(self, place: int) -> tuple[int, int]:
        """Count the steps that are part of one, and those of them that failed."""
        end = int(self.end[place])
        return end - place - 1, int(self._failed_before[end] - self._failed_before[place + 1])

    def beside(self, flags: Flags, choice: Choice, place: int, by: int) -> int | None:
        """Give the next row with a flag that is of what was chosen, or the one before; after the last comes the first.

        None where there is none.
        """
        places = np.flatnonzero(flags & self.fits(choice))
        if not len(places):
            return None
        at = np.searchsorted(places, place, side="right") if by > 0 else np.searchsorted(places, place) - 1
        return int(places[int(at) % len(places)])
