"""An index as a recording is held against it: namespaces with the fingerprint and the ceiling that decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from workbench.core.ceiling import ChunkCeiling
    from workbench.core.fingerprint import Fingerprint
    from workbench.core.job import Job
    from workbench.index.model import Chunk

MOST_LOOKED_UP = 2_000
"""How many distinct ids are looked up in one index; each may cost a scan where the file has no key."""


class Chunks(Protocol):
    """What is asked of a namespace here: one chunk by its id."""

    def chunk(self, id: str, job: Job | None = None) -> Chunk | None:
        """Give the chunk, None when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class IndexedNamespace:
    """One namespace of an opened index.

    Attributes:
        source: the path of the index, as given.
        name: of the namespace.
        fingerprint: what an incoming embedder is held against there; None when nothing is known.
        ceiling: how much of a chunk its embedder reads.
        count: rows.
        chunks: finds a chunk by its id.
    """

    source: str
    name: str
    fingerprint: Fingerprint | None
    ceiling: ChunkCeiling
    count: int
    chunks: Chunks


@dataclass(slots=True)
class LookUps:
    """Looks ids up, each once, and says when it stopped doing so."""

    job: Job | None = None
    found: dict[tuple[int, str], Chunk | None] = field(default_factory=dict)
    left_out: int = 0

    def chunk(self, namespace: IndexedNamespace, id: str) -> Chunk | None:
        """Give a chunk, None when there is none or when too many were looked up before."""
        key = (id_of(namespace), id)
        if key not in self.found:
            if len(self.found) >= MOST_LOOKED_UP:
                self.left_out += 1
                return None
            self.found[key] = namespace.chunks.chunk(id, self.job) if _is_text(id) else None
        return self.found[key]


def _is_text(id: str) -> bool:
    """Say whether an id can stand in an index: halves of surrogate pairs cannot."""
    try:
        id.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def id_of(namespace: IndexedNamespace) -> int:
    """Tell namespaces apart without comparing what they hold."""
    return id(namespace)


def named(indexes: Sequence[IndexedNamespace], name: str | None) -> list[IndexedNamespace]:
    """Give the namespaces of a name."""
    return [each for each in indexes if name is not None and each.name == name]
