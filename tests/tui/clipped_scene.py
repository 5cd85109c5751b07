"""Namespaces with texts, for the Ceiling view: lengths, ids and every text are given by the test."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tests.tui.fakes import FakeLengths, FakeNamespace, FakeReader, FakeSource
from tests.tui.scenes import SMALL, bell
from workbench.core.fingerprint import Fingerprint
from workbench.core.job import Job
from workbench.core.text import utf16_length
from workbench.index.model import MAX_LISTED, Chunk, ChunkLength, ClipCount, FingerprintCount

_READ = (
    "Orders can be returned within thirty days of delivery. The refund is paid back the way it was paid, within five "
    "working days. "
)
_LOST = (
    "Exceptions apply when the order was made to measure, opened and not resealable, or delivered outside the customs "
    "union: the return window is then fourteen days, and the restocking fee is fifteen percent of the price. "
)


class WrittenLengths(FakeLengths):
    """Lengths with ids; ``over`` says which chunks have more bytes than the model reads tokens."""

    def __init__(self, ids: Sequence[str], lengths: Sequence[int], over: Sequence[bool]) -> None:
        super().__init__(lengths)
        self._ids = ids
        self._over = np.asarray(over, dtype=bool)

    @property
    def longest(self) -> Sequence[ChunkLength]:
        order = np.argsort(-self._lengths, kind="stable")[:MAX_LISTED]
        return tuple(ChunkLength(self._ids[place], int(self._lengths[place])) for place in order)

    def clip(self, ceiling: int) -> ClipCount:
        answer = super().clip(ceiling)
        possible = int((self._over & (self._lengths <= ceiling)).sum())
        return replace(answer, possible=possible)


@dataclass
class Written(FakeNamespace):
    """A namespace whose chunks are texts; ``asked`` are the ids whose text was fetched, ``closed`` holds that back."""

    written: dict[str, str] = field(default_factory=dict)
    over: dict[str, bool] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    closed: threading.Event | None = None
    lengths_gate: threading.Event | None = None
    limits: list[int | None] = field(default_factory=list)

    def lengths(self, token_limit: int | None = None, job: Job | None = None) -> WrittenLengths | None:
        self.limits.append(token_limit)
        if self.no_text is not None:
            return None
        if self.lengths_gate is not None and len(self.limits) > 2:
            assert job is not None
            job.progress(412, 1_004)
            with job.watching(_Opens(self.lengths_gate)):
                self.lengths_gate.wait()
            job.checkpoint()
        ids = [*self.written, *(f"chunk-{place}" for place in range(len(self.lengths_)))]
        lengths = [*(utf16_length(text) for text in self.written.values()), *self.lengths_]
        return WrittenLengths(ids, lengths, [self.over.get(id, False) for id in ids])

    def count(self, job: Job | None = None) -> int:
        return len(self.lengths_) + len(self.written)

    def chunk(self, id: str, job: Job | None = None) -> Chunk | None:
        self.asked.append(id)
        if self.closed is not None:
            self.closed.wait()
        text = self.written.get(id)
        if text is None:
            return None
        return Chunk(id, text, utf16_length(text), None, SMALL, 1536, 1.0, None)


@dataclass
class _Opens:
    """An interrupt that lets the waiting reader go on, as a database's makes its query return."""

    gate: threading.Event

    def interrupt(self) -> None:
        self.gate.set()


def text_of(chars: int) -> str:
    """Write an ASCII text of just that length, which changes its subject at 2,000."""
    read = (_READ * (2_000 // len(_READ) + 1))[:2_000]
    return (read + _LOST * (chars // len(_LOST) + 1))[:chars]


NAMED = {
    "guide/refunds.md#4": 7_420,
    "guide/customs.md#11": 5_054,
    "api/webhooks.md#2": 4_278,
    "guide/warranty.md#7": 4_101,
    "faq/returns.md#31": 3_927,
    "legal/terms.md#9": 3_765,
}


def handbook(**given: object) -> Written:
    """456 of its 8,214 chunks are longer than 2,000 characters; six of them have texts."""
    tail = [2_001 + (place * place * 7_919) % (60 + place * 4) for place in range(450)]
    made = Written(
        "handbook",
        recorded=Fingerprint("unlisted", 1536),
        declared_dims=1536,
        lengths_=[*bell(8_214 - 456, 900, 880), *tail],
        counts=(FingerprintCount("unlisted@1536", 8_214),),
        written={id: text_of(chars) for id, chars in NAMED.items()},
    )
    for name, value in given.items():
        setattr(made, name, value)
    return made


def only(namespace: FakeNamespace) -> FakeReader:
    """Hand out one source with one namespace."""
    return FakeReader({"support/index.duckdb": FakeSource("support/index.duckdb", (namespace,))})
