"""Writes the night in which a fallback answered: an archive is indexed by a routed provider while its server fails.

The log is what the provider itself writes, under a clock of its own and with ids from a seeded generator. The archive
is one namespace by the primary's name, and holds what the fallback made of some of its chunks; nothing in the index
tells them apart, only the log does:

    21:00  well               the letters are indexed
    21:07  an outage          twenty minutes; three failures open the breaker, probes fail, the last one closes it
    21:33  well
    22:10  flapping           every second call fails: never three in a row, so nothing is announced, and the
                              fallback's vectors leak in all the while
    22:50  a new process      the rest
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from chunks import SampleChunk, digest, read_chunks, read_questions
from layout import WORDLLAMA

from workbench import AutoFallbackEmbeddingProvider, Entry, ProviderHealth, VectorStore
from workbench.embedders.destination import vectors_for
from workbench.routing.log_writing import RoutingLog

Vector = np.ndarray[Any, np.dtype[np.float32]]
Vectors = dict[str, Vector]

ARCHIVE = "archive"
IN_THE_ARCHIVE = ("letters.md", "recipes.md", "postcards.md", "visitors.md", "logbook.md", "almanac.md")
EVENING_MS = 1_767_387_600_000
"""2 January 2026, 21:00 UTC."""
MINUTE_MS = 60_000
COOLDOWN_MS = 300_000
DIMS = 256
FALLBACK = "word-hash"


class Clock:
    """The time of the night, moved by whoever takes some."""

    def __init__(self) -> None:
        self.ms = EVENING_MS

    def now(self) -> float:
        """Give it in epoch milliseconds."""
        return self.ms

    def until(self, minute: int) -> None:
        """Wait until so many minutes after nine, unless that has passed."""
        self.ms = max(self.ms, EVENING_MS + minute * MINUTE_MS)


class ServerDown(Exception):
    """What the primary's server answers while it is down."""

    status = 503


class Leg:
    """One of the two embedders, with a latency and a switch that makes it fail."""

    last_error: str | None = None
    max_input_chars = 1_000_000
    dimensions = DIMS

    def __init__(self, clock: Clock, model_id: str, latency_ms: int) -> None:
        self.model_id = model_id
        self.kind = "openai" if model_id == WORDLLAMA else "local"
        self.failing = False
        self._clock = clock
        self._latency_ms = latency_ms

    def vector(self, text: str) -> Vector:
        """Make the vector of one text."""
        raise NotImplementedError

    async def embed(self, text: str, *, purpose: str) -> Vector:
        """Embed one text."""
        return (await self.embed_batch([text], purpose=purpose))[0]

    async def embed_batch(self, texts: Sequence[str], *, purpose: str) -> list[Vector]:
        """Embed several, or fail."""
        self._clock.ms += self._latency_ms + 3 * len(texts)
        if self.failing:
            raise ServerDown
        return [self.vector(text) for text in texts]

    async def healthcheck(self) -> ProviderHealth:
        """Say whether it would answer."""
        return ProviderHealth(not self.failing, self.kind, self.model_id, DIMS)

    async def dispose(self) -> None:
        """Hold nothing."""


class Primary(Leg):
    """The model of the archive, from the stored vectors."""

    def __init__(self, clock: Clock, vectors: Vectors) -> None:
        super().__init__(clock, WORDLLAMA, 40)
        self._vectors = vectors

    def vector(self, text: str) -> Vector:
        """Look it up by the text's digest."""
        return self._vectors[digest(text)]


class Fallback(Leg):
    """What stands in: every word counts at a place that its hash tells. As long as the primary's, and another space."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, FALLBACK, 2)

    def vector(self, text: str) -> Vector:
        """Add the words up, to a length of one."""
        vector = np.zeros(DIMS, np.float32)
        for word in re.findall(r"\w+", text.casefold()):
            code = hashlib.sha256(word.encode()).digest()
            vector[code[0]] += 1 if code[1] % 2 else -1
        return vector / np.linalg.norm(vector)


class Night:
    """The indexer at work: what is still to be written, and the provider that it asks."""

    def __init__(self, store: VectorStore, log: RoutingLog, vectors: Vectors) -> None:
        self.clock = Clock()
        self.primary, self.fallback = Primary(self.clock, vectors), Fallback(self.clock)
        self._waiting = [chunk for name in IN_THE_ARCHIVE for chunk in read_chunks(name)]
        (self._question,) = read_questions("wordllama")
        self._store, self._log = store, log
        self.start()

    def start(self) -> None:
        """Begin as a new process does: nothing is remembered."""
        self._provider = AutoFallbackEmbeddingProvider(
            self.primary,
            self.fallback,
            cooldown_ms=COOLDOWN_MS,
            warn=lambda message: None,
            now=self.clock.now,
            log=self._log,
        )

    async def write(self, count: int = 1) -> None:
        """Embed the next chunks, and store them under the name of the primary, whoever made their vectors."""
        chunks, self._waiting = self._waiting[:count], self._waiting[count:]
        with vectors_for(ARCHIVE, [chunk.id for chunk in chunks], fingerprint=self._store.fingerprint_of(ARCHIVE)):
            vectors = await self._provider.embed_batch([chunk.text for chunk in chunks], purpose="document")
        entries = [_entry(chunk, vector) for chunk, vector in zip(chunks, vectors, strict=True)]
        self._store.put_many(ARCHIVE, entries, embedder_id=self._provider.model_id)

    async def ask(self) -> None:
        """Embed a question that a visitor asks of the archive."""
        with vectors_for(ARCHIVE, fingerprint=self._store.fingerprint_of(ARCHIVE)):
            await self._provider.embed(self._question, purpose="query")

    @property
    def done(self) -> bool:
        """Whether everything is in the archive."""
        return not self._waiting


async def live_through(night: Night) -> None:
    """Let the night happen."""
    for minute in range(6):
        night.clock.until(minute)
        await night.write(2)
    for minute in range(7, 37):
        night.clock.until(minute)
        night.primary.failing = minute < 27
        await (night.write() if minute % 5 else night.ask())
    for minute in (45, 52, 61):
        night.clock.until(minute)
        await night.ask()
    for minute in range(70, 86):
        night.clock.until(minute)
        night.primary.failing = minute % 2 == 0
        await (night.write() if minute not in (74, 79) else night.ask())
    night.clock.until(110)
    night.primary.failing = False
    night.start()
    while not night.done:
        await night.write(3)


def _entry(chunk: SampleChunk, vector: Vector) -> Entry:
    return Entry(
        chunk.id, chunk.text, vector, metadata={"title": chunk.title, "heading": chunk.heading}, source_uri=chunk.source
    )


def write_night(store: VectorStore, log: Path, vectors: Vectors) -> None:
    """Write the archive into a store, and the log beside it; the log is the same bytes on every run."""
    log.unlink(missing_ok=True)
    store.create_namespace(ARCHIVE, max_input_chars=Leg.max_input_chars)
    ids = random.Random(0)
    with mock.patch.object(uuid, "uuid4", side_effect=lambda: uuid.UUID(int=ids.getrandbits(128), version=4)):
        routing_log = RoutingLog(log)
        asyncio.run(live_through(Night(store, routing_log, vectors)))
        routing_log.close()
