"""The values behind a step as a tree of JSON that is unfolded a level at a time: its nodes, and the rows of them.

What is made from the file is made on a thread, see payload_reading.py; nodes are joined to the tree on the event loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from workbench.recordings.secrets import mask_text

if TYPE_CHECKING:
    from workbench.recordings.browsing import Text
    from workbench.recordings.model import Span

Name = str | int
Shapes = dict[tuple[Name, ...], tuple[int, float]]


class Sort(StrEnum):
    """What stands on a row."""

    HOLDS = "holds others"
    TEXT = "text"
    LINE = "a line of a text"
    SCALAR = "scalar"
    VECTOR = "vector"
    SECRET = "secret"
    LEFT_OUT = "left out"


class Holds(StrEnum):
    """What a node unfolds into."""

    NOTHING = "nothing"
    MEMBERS = "members"
    JSON = "the JSON in a string"
    LINES = "the lines of a text"


@dataclass(slots=True, eq=False)
class Node:
    """One value.

    Attributes:
        text, span: where its bytes are.
        name: its key or index; None for a value that stands alone.
        place: which child it is of the node ``up``, from 0.
        under: the name that tells whether it is a secret.
        shown: what is drawn of it, secrets masked.
        shape: dims and norm of a vector.
        repeated: which one it is of how many with the same key; None for a key that is there once.
        children: those that are made, from the one with the number ``first`` on.
        following: where the next ones begin; None when there are no more.
    """

    text: Text
    span: Span
    name: Name | None
    up: Node | None
    place: int
    under: str
    shown: str
    sort: Sort
    holds: Holds = Holds.NOTHING
    repeated: tuple[int, int] | None = None
    shape: tuple[int, float] | None = None
    depth: int = 0
    open: bool = False
    made: bool = False
    first: int = 0
    following: int | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def names(self) -> tuple[Name, ...]:
        """The way to it by names."""
        way: list[Name] = []
        at: Node | None = self
        while at is not None:
            if at.name is not None:
                way.append(at.name)
            at = at.up
        return tuple(reversed(way))

    @property
    def path(self) -> str:
        """The way to it in words, secrets masked; a line of a text is its text's."""
        if self.sort is Sort.LINE and self.up is not None:
            return self.up.path
        return mask_text(".".join(map(str, self.names)))

    @property
    def key(self) -> str:
        """Its key as it is drawn."""
        return "" if self.name is None or self.sort is Sort.LINE else mask_text(str(self.name))


class Beyond(StrEnum):
    """A row that stands for children that are not made."""

    BEFORE = "before"
    BEHIND = "behind"


@dataclass(frozen=True, slots=True)
class PayloadRow:
    """A row of the tree: a node, or what of its children is not there."""

    node: Node
    beyond: Beyond | None = None

    @property
    def depth(self) -> int:
        """How far it is indented."""
        return self.node.depth + (self.beyond is not None)


@dataclass(frozen=True, slots=True)
class Made:
    """Children of a node that were made; ``behind`` puts them behind those that are there."""

    node: Node
    children: list[Node]
    first: int
    following: int | None
    behind: bool = False


class PayloadTree:
    """The payload of a step: ``tops`` are the values of its spans, those that are shown as their children only too."""

    def __init__(self, tops: list[Node]) -> None:
        self.tops = tops
        self.rows: list[PayloadRow] = []
        self.lay_out()

    def lay_out(self) -> None:
        """Make the rows anew after something was folded or unfolded."""
        rows: list[PayloadRow] = []
        waiting: list[PayloadRow] = [PayloadRow(top) for top in reversed(self.tops)]
        while waiting:
            row = waiting.pop()
            node = row.node
            if row.beyond is not None:
                rows.append(row)
                continue
            if node.depth >= 0:
                rows.append(row)
            if not node.open:
                continue
            if node.following is not None:
                waiting.append(PayloadRow(node, Beyond.BEHIND))
            waiting += [PayloadRow(child) for child in reversed(node.children)]
            if node.first:
                waiting.append(PayloadRow(node, Beyond.BEFORE))
        self.rows = rows

    def place_of(self, node: Node) -> int | None:
        """Give the row of a node."""
        return next((at for at, row in enumerate(self.rows) if row.node is node and row.beyond is None), None)

    def take(self, all_made: Iterable[Made]) -> None:
        """Join made children to their nodes, and unfold these."""
        for made in all_made:
            node = made.node
            if made.behind:
                node.children += made.children
            else:
                node.children, node.first = list(made.children), made.first
            node.following, node.made, node.open = made.following, True, True
            mark_repeated(node)
        self.lay_out()

    def fold(self, node: Node) -> None:
        """Fold a node; what was made of it stays."""
        node.open = False
        self.lay_out()

    def fold_all(self) -> None:
        """Fold everything but the first level."""
        waiting = list(self.tops)
        while waiting:
            node = waiting.pop()
            waiting += node.children
            node.open = node.depth < 0
        self.lay_out()


def mark_repeated(node: Node) -> None:
    """Say of each child whose key is there more than once which one it is."""
    if node.sort is not Sort.HOLDS and node.holds is not Holds.JSON:
        return
    count: dict[Name | None, int] = {}
    for child in node.children:
        count[child.name] = count.get(child.name, 0) + 1
    if len(count) == len(node.children):
        return
    seen: dict[Name | None, int] = {}
    for child in node.children:
        if count[child.name] > 1:
            seen[child.name] = seen.get(child.name, 0) + 1
            child.repeated = (seen[child.name], count[child.name])
