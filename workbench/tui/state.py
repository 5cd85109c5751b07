"""What is opened, as the main screen keeps it: folders, sources, namespaces, and how far each has been read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.checkup.report import NamespaceReport
    from workbench.index.model import LockHolder, Problem
    from workbench.tui.recorded import Recorded
    from workbench.tui.routed import Routed


class Status(StrEnum):
    """How far something has been read."""

    WAITING = "waiting"
    READING = "reading"
    READ = "read"
    STOPPED = "stopped"
    FAILED = "failed"


class State(IntEnum):
    """What a sign says, worst first; sorting by it puts the worst on top."""

    BAD = 0
    WARN = 1
    UNKNOWN = 2
    STOPPED = 3
    READING = 4
    WAITING = 5
    OK = 6
    EMPTY = 7


@dataclass(frozen=True, slots=True)
class LengthShape:
    """Chunks by length: ``bins[i]`` counts lengths over ``i * width``, up to and with ``(i + 1) * width``.

    Length 0 is in the first bin.
    So a ceiling that is a multiple of ``width`` lies exactly between two bins, and a chunk of just that length is
    left of it, where it belongs: it is read whole.
    """

    bins: tuple[int, ...]
    width: int
    longest: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a source cannot be read, as drawn: the problem, the sentence, and who holds the file."""

    problem: Problem | None
    message: str
    container: str | None = None
    holder: LockHolder | None = None

    @property
    def passing(self) -> bool:
        """Whether it goes away by itself, so that waiting helps."""
        return self.problem in ("locked", "being-written")


@dataclass(slots=True)
class Space:
    """One namespace of an open source; ``foreign``: ids that hold vectors of a fallback, as routing logs say."""

    name: str
    status: Status = Status.WAITING
    report: NamespaceReport | None = None
    shape: LengthShape | None = None
    done: int = 0
    total: int = 0
    failure: str = ""
    foreign: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SoFar:
    """How much of a big recording is read: its size in bytes, and ``done`` of ``total`` of the way; 0 at its start."""

    size: int
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class SlimChoice:
    """How the slim copy of a recording is to be: with what only the wide rules take, with its secrets masked."""

    wide: bool = False
    redact: bool = False


@dataclass(slots=True)
class Source:
    """One path, opened or not: an index with its namespaces, what is ``recorded`` in a recording, what was ``routed``.

    ``request`` numbers the readings of this source: an answer with another number is late and dropped. ``so_far`` is
    there while only the first steps of a recording are known. ``news`` is what happened to its file since it was read;
    ``followed`` reads it anew when something does.
    """

    key: int
    path: str
    label: str
    status: Status = Status.WAITING
    request: int = 0
    container: str = ""
    adapter: str = ""
    notes: tuple[str, ...] = ()
    spaces: list[Space] = field(default_factory=list)
    recorded: Recorded | None = None
    routed: Routed | None = None
    so_far: SoFar | None = None
    news: str = ""
    followed: bool = False
    slim: SlimChoice = SlimChoice()
    trouble: Trouble | None = None
    expanded: bool = True
    awaited: bool = False
    held: bool = False
    took_ms: int = 0
    folder: int | None = None


@dataclass(slots=True)
class Folder:
    """One folder that was given: the sources found in it, and how many files are none."""

    key: int
    path: str
    label: str
    status: Status = Status.WAITING
    request: int = 0
    sources: list[int] = field(default_factory=list)
    unopened: list[str] = field(default_factory=list)
    skipped: int = 0
    expanded: bool = True
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """What the cursor can stand on: a folder, a source, a namespace of a source, or the rest of a folder."""

    folder: int | None = None
    source: int | None = None
    space: int | None = None
    rest: bool = False


@dataclass(slots=True)
class Opened:
    """Everything opened, in the order given; ``roots`` are the top rows."""

    sources: dict[int, Source] = field(default_factory=dict)
    folders: dict[int, Folder] = field(default_factory=dict)
    roots: list[Node] = field(default_factory=list)

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to show."""
        return not self.roots

    def find(self, path: str, namespace: str) -> Node | None:
        """Give a namespace by its name, in the source that was opened by a path."""
        for source in self.sources.values():
            for place, space in enumerate(source.spaces):
                if source.path == path and space.name == namespace:
                    return Node(source=source.key, space=place)
        return None

    def space(self, node: Node) -> Space | None:
        """Give the namespace at a node, if it is one and still there."""
        source = self.sources.get(node.source) if node.source is not None else None
        if source is None or node.space is None or node.space >= len(source.spaces):
            return None
        return source.spaces[node.space]
