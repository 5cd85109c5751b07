"""Recordings and indexes made for tests: plain values, no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.core.ceiling import ChunkCeiling
from workbench.core.fingerprint import Fingerprint, parse_fingerprint
from workbench.core.job import Job
from workbench.crosscheck.indexed import IndexedNamespace
from workbench.index.model import Chunk
from workbench.recordings.model import Candidate, Reading, RecordedError, Retrieval

QUERY = Fingerprint("small", 64)


@dataclass
class Held:
    """The chunks of a namespace, and how often one was asked for."""

    chunks: Mapping[str, Chunk]
    asked: list[str] = field(default_factory=list)

    def chunk(self, id: str, job: Job | None = None) -> Chunk | None:
        if job is not None:
            job.checkpoint()
        self.asked.append(id)
        return self.chunks.get(id)


def chunk(id: str, text: str | None = None, *, chars: int | None = None, fingerprint: str | None = None) -> Chunk:
    """Make a chunk; its length is that of its text unless given."""
    length = len(text) if text is not None and chars is None else chars
    return Chunk(id, text, length, None, fingerprint, 64, 1.0, None)


def namespace(
    *chunks: Chunk,
    name: str = "docs",
    fingerprint: str | None = "small@64",
    ceiling: int = 900,
    source: str = "index.db",
    count: int | None = None,
) -> IndexedNamespace:
    """Make a namespace of an index."""
    return IndexedNamespace(
        source,
        name,
        None if fingerprint is None else parse_fingerprint(fingerprint),
        ChunkCeiling(ceiling, "embedder"),
        len(chunks) if count is None else count,
        Held({each.id: each for each in chunks}),
    )


def retrieval(
    *candidates: Candidate | str, n: int = 1, fingerprint: Fingerprint | None = QUERY, name: str | None = "docs"
) -> Retrieval:
    """Make a retrieval; a candidate may be an id alone."""
    listed = tuple(Candidate(each) if isinstance(each, str) else each for each in candidates)
    return Retrieval(n, n, "how?", fingerprint, namespace=name, candidates=listed)


def reading(*retrievals: Retrieval, errors: tuple[RecordedError, ...] = ()) -> Reading:
    """Make what a reader would give."""
    return Reading(retrievals=retrievals, errors=errors)
