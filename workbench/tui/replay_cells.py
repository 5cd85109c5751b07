"""The calls of a replayed log summed up into the cells of a row, by column: as quick for a million calls as for ten."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from workbench.routing.replay import Replay
    from workbench.routing.what_if import WhatIf

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Did(IntEnum):
    """What a leg did in the calls of a cell."""

    NOTHING = 0
    GAVE = 1
    SOME_FAILED = 2
    FAILED = 3


class Mode(IntEnum):
    """Which leg the calls of a cell are routed to; ``BOTH`` where it changed more than once."""

    PRIMARY = 0
    FALLBACK = 1
    BOTH = 2
    UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class Window:
    """The calls that are seen: indexes from ``first`` up to, without, ``end``."""

    first: int
    end: int

    @property
    def count(self) -> int:
        """How many calls."""
        return self.end - self.first

    def holds(self, n: int) -> bool:
        """Whether call ``n`` (from 1) is seen."""
        return self.first < n <= self.end


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """How the calls of a window share the cells of a row.

    Attributes:
        window: the calls.
        edges: where the calls of each group begin, and where the last ones end.
        wide: cells that each group takes: more than one where there are fewer calls than cells.
    """

    window: Window
    edges: Ints
    wide: int

    @property
    def groups(self) -> int:
        """How many groups of calls there are."""
        return len(self.edges) - 1

    @property
    def cells(self) -> int:
        """How many cells are taken."""
        return self.groups * self.wide

    def cell_of(self, n: int) -> int:
        """Give the cell in which call ``n`` is seen, at its middle."""
        group = int(np.searchsorted(self.edges, n - 1, "right")) - 1
        return min(max(group, 0), self.groups - 1) * self.wide + self.wide // 2

    def call_at(self, cell: int) -> int:
        """Give the first call ``n`` of a cell; of the last one for cells behind it."""
        group = min(max(cell, 0) // self.wide, self.groups - 1)
        return int(self.edges[group]) + 1

    @property
    def calls_a_cell(self) -> float:
        """How many calls a cell stands for."""
        return self.window.count / max(1, self.cells)


def grid_of(window: Window, width: int) -> Grid:
    """Share a row of ``width`` cells out among the calls of a window."""
    count = window.count
    if count >= width:
        return Grid(window, window.first + np.arange(width + 1) * count // width, 1)
    return Grid(window, np.arange(window.first, window.end + 1), width // max(1, count))


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What is seen in every group of a grid; arrays have one element a group.

    Attributes:
        grid: where the groups are.
        primary, fallback: ``Did`` of each leg.
        own, foreign: vectors that were written by the embedder of their namespace, and by another.
        across: whether a query was asked across spaces.
        did: ``Mode`` of the machine.
        diverges: whether a call goes against the machine.
    """

    grid: Grid
    primary: Bytes
    fallback: Bytes
    own: Ints
    foreign: Ints
    across: Flags
    did: Bytes
    diverges: Flags


def cells_of(replay: Replay, grid: Grid) -> Cells:
    """Sum the calls of a grid up."""
    from workbench.routing.ledger import Written

    columns, ledger = replay.columns, replay.ledger
    part = slice(grid.window.first, grid.window.end)
    written, vectors = ledger.written[part], ledger.vectors[part]
    foreign = (written == Written.FOREIGN_SAME_DIMS) | (written == Written.FOREIGN_DIMS)
    return Cells(
        grid=grid,
        primary=_did(columns.primary[part], grid),
        fallback=_did(columns.fallback[part], grid),
        own=_sum(np.where(written == Written.NATIVE, vectors, 0), grid),
        foreign=_sum(np.where(foreign, vectors, 0), grid),
        across=_sum(written == Written.ASKED_ACROSS, grid) > 0,
        did=modes(columns.rescuing, grid),
        diverges=_sum(columns.diverges[part], grid) > 0,
    )


def modes(rescuing: Flags, grid: Grid) -> Bytes:
    """Give the mode of every group, from the mode after each call of the whole log."""
    part = rescuing[grid.window.first : grid.window.end]
    share = _sum(part, grid) / np.diff(grid.edges)
    changes = np.zeros(len(part), np.bool_)
    changes[1:] = part[1:] != part[:-1]
    found = np.where(share >= 0.5, Mode.FALLBACK, Mode.PRIMARY).astype(np.uint8)
    found[_sum(changes, grid) > 1] = Mode.BOTH
    return found


def what_if_modes(answer: WhatIf, grid: Grid) -> Bytes:
    """Give the mode of every group had it been configured otherwise; ``UNKNOWN`` where that hangs on what nobody knows.

    A group is known when all of its calls are.
    """
    found = modes(answer.if_ok.rescuing, grid)
    unknown = answer.unknown[grid.window.first : grid.window.end]
    found[_sum(unknown, grid) > 0] = Mode.UNKNOWN
    return found


def _did(leg: Bytes, grid: Grid) -> Bytes:
    from workbench.routing.columns import GAVE, THREW

    gave, threw = _sum(leg == GAVE, grid), _sum(leg == THREW, grid)
    found = np.zeros(grid.groups, np.uint8)
    found[gave > 0] = Did.GAVE
    found[(threw > 0) & (gave > 0)] = Did.SOME_FAILED
    found[(threw > 0) & (threw >= gave)] = Did.FAILED
    return found


def _sum(values: NDArray[Any], grid: Grid) -> Ints:
    if not grid.groups:
        return np.zeros(0, np.int64)
    return np.add.reduceat(values, grid.edges[:-1] - grid.window.first, dtype=np.int64)
