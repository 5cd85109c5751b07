"""Embedding what the sibling still lacks: bounded requests at once, every vector checked, committed batch by batch.

Nothing is decided here about money or consent: the caller has both, and a cap that ends the build within one batch.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.fingerprint import parse_fingerprint
from workbench.core.text import utf16_length
from workbench.embedders.batching import next_batch
from workbench.embedders.failures import (
    BatchTooLarge,
    EmbedderError,
    InputTooLong,
    Refusal,
    RequestRefused,
    UnusableVectors,
    VectorProblem,
    WrongAnswer,
)
from workbench.index.writing import transaction
from workbench.reindex.model import Progress, Resumable
from workbench.reindex.sibling import JOURNAL, QUARANTINED, VECTORS, Sibling, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.embedders.protocol import BuildingProvider, Vector

CONCURRENCY = 4
"""Requests under way at once."""

_READ_AHEAD = 2_048
_INCOMING = "workbench_vectors"


@dataclass(frozen=True, slots=True)
class Text:
    """One text on its way: its row, its chunk, and what is sent."""

    seq: int
    id: str
    text: str


@dataclass(slots=True)
class Answered:
    """What one batch came to: vectors by row, rows that were not taken and why, and the requests it took."""

    vectors: list[tuple[int, NDArray[np.float32], int]] = field(default_factory=list)
    refused: list[tuple[int, str, str]] = field(default_factory=list)
    texts: int = 0
    chars: int = 0
    requests: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """When a build stops by itself: more money than this, or more than this share of chunks that are not taken."""

    max_cost_usd: float | None = None
    price_usd: float | None = None
    chars_per_token: float = 4.0
    max_quarantined_share: float = 0.01


class Stop:
    """Ends a build after the batches that are under way; what they bring is kept. Safe from any thread."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def ask(self, reason: str) -> None:
        """End it, for this reason; the first one counts."""
        if self.reason is None:
            self.reason = reason


class Builder:
    """One build of one sibling, to its end or to where it stopped."""

    def __init__(
        self,
        sibling: Sibling,
        provider: BuildingProvider,
        limits: Limits,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        now_ms: Callable[[], int],
        stop: Stop | None = None,
    ) -> None:
        self._sibling = sibling
        self._provider = provider
        self._limits = limits
        self._on_progress = on_progress
        self._now_ms = now_ms
        self._stop = stop or Stop()
        self._dims = int(parse_fingerprint(sibling.settings.fingerprint).dims)
        self._total, self._done, self._quarantined = sibling.counts()
        self._reused = sibling.reused()
        self._requests, self._tokens, self._chars, _ = sibling.journal_totals()
        self._spent_here = 0
        self._began = time.monotonic()
        self._committing = asyncio.Lock()

    async def run(self) -> None:
        """Embed everything that is pending.

        Raises:
            Resumable: it stopped half-way; what was committed is kept.
        """
        batches = self._batches()
        running: set[asyncio.Task[None]] = set()
        failure: BaseException | None = None
        try:
            while failure is None and self._stop.reason is None:
                while len(running) < CONCURRENCY and (batch := next(batches, None)) is not None:
                    running.add(asyncio.create_task(self._one(batch)))
                    if self._over_cap(running):
                        break
                if not running:
                    break
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                failure = next((task.exception() for task in done if task.exception() is not None), None)
                self._check_quarantine()
                self._check_cap()
            if running:
                # What is under way is paid for: it is waited for and kept.
                done, running = await asyncio.wait(running)
                failure = failure or next((task.exception() for task in done if task.exception() is not None), None)
        except asyncio.CancelledError:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            raise
        if failure is not None:
            raise self._halted(failure) from failure
        if self._stop.reason is not None:
            raise Resumable(f"paused: {self._stop.reason}; {self._kept()}")

    def progress(self, waiting: str | None = None) -> Progress:
        """Say how far it is."""
        price = self._limits.price_usd
        return Progress(
            done=self._done,
            total=self._total,
            reused=self._reused,
            quarantined=self._quarantined,
            requests=self._requests,
            retries=0,
            chars=self._chars,
            tokens=self._tokens,
            tokens_counted=self._provider.counter is not None,
            cost_usd=None if price is None else self._tokens * price / 1e6,
            seconds=time.monotonic() - self._began,
            waiting=waiting,
        )

    def _batches(self) -> Iterator[list[Text]]:
        """Give what is pending in batches of one request each, read a page at a time in the order of the rows."""
        pending = self._sibling.pending()
        waiting: deque[Text] = deque()
        at = 0
        while at < len(pending) or waiting:
            if at < len(pending) and len(waiting) < _READ_AHEAD // 2:
                page = pending[at : at + _READ_AHEAD]
                wanted = set(page.tolist())
                rows = self._sibling.texts(int(page[0]), int(page[-1]))
                waiting.extend(Text(*row) for row in rows if row[0] in wanted)
                at += len(page)
            limits = self._provider.batch_limits
            size = next_batch([each.text for each in list(waiting)[: limits.max_inputs]], limits)
            yield [waiting.popleft() for _ in range(size)]

    async def _one(self, batch: list[Text]) -> None:
        began = time.monotonic()
        answered = Answered()
        try:
            await self._embed(batch, answered)
        finally:
            # Also after a failure: what came before it was paid for.
            answered.seconds = time.monotonic() - began
            if answered.vectors or answered.refused:
                async with self._committing:
                    await asyncio.to_thread(self._commit, answered)
        if self._on_progress is not None:
            self._on_progress(self.progress())

    async def _embed(self, batch: Sequence[Text], answered: Answered) -> None:
        """Embed a batch; one that fails for its texts is halved until it is known which one it is."""
        answered.requests += 1
        try:
            vectors = await self._provider.embed_batch([each.text for each in batch], purpose="document")
        except InputTooLong as error:
            await self._without(batch, error.index, str(error), error.finished, answered)
        except BatchTooLarge as error:
            if len(batch) == 1:
                answered.refused.append((batch[0].seq, batch[0].id, str(error)))
                return
            await self._halves(batch, answered)
        except RequestRefused as error:
            if error.refusal is not Refusal.REQUEST:
                raise
            await self._without(batch, None, str(error), error.finished, answered)
        except UnusableVectors as error:
            if not error.vectors or any(bad.problem is VectorProblem.DIMS for bad in error.bad):
                raise
            self._take(batch, error.vectors, answered, {bad.index: bad.problem.value for bad in error.bad})
        except EmbedderError as error:
            self._take(batch[: len(error.finished)], error.finished, answered, {})
            raise
        else:
            if len(vectors) != len(batch):
                raise Resumable(f"the embedder gave {len(vectors)} vectors for {len(batch)} texts")
            self._take(batch, vectors, answered, {})

    async def _without(
        self,
        batch: Sequence[Text],
        index: int | None,
        reason: str,
        finished: Sequence[Vector | None],
        answered: Answered,
    ) -> None:
        self._take(batch[: len(finished)], finished, answered, {})
        rest = batch[len(finished) :]
        if len(rest) == 1:
            answered.refused.append((rest[0].seq, rest[0].id, reason))
            return
        at = None if index is None else index - len(finished)
        if at is not None and 0 <= at < len(rest):
            answered.refused.append((rest[at].seq, rest[at].id, reason))
            others = [*rest[:at], *rest[at + 1 :]]
            if others:
                await self._embed(others, answered)
            return
        await self._halves(rest, answered)

    async def _halves(self, batch: Sequence[Text], answered: Answered) -> None:
        middle = (len(batch) + 1) // 2
        await self._embed(batch[:middle], answered)
        if batch[middle:]:
            await self._embed(batch[middle:], answered)

    def _take(
        self, batch: Sequence[Text], vectors: Sequence[Vector | None], answered: Answered, bad: dict[int, str]
    ) -> None:
        """Check every vector once more, whoever made it, and keep what may be stored."""
        for number, (each, vector) in enumerate(zip(batch, vectors, strict=True)):
            length = utf16_length(each.text)
            answered.texts += 1
            answered.chars += length
            if vector is None:
                answered.refused.append((each.seq, each.id, f"no usable vector came back ({bad.get(number, 'null')})"))
                continue
            with np.errstate(over="ignore"):
                row = np.asarray(vector, np.float32)
            if row.shape != (self._dims,):
                raise Resumable(
                    f"the embedder gave a vector of {row.size:,} numbers where {self._dims:,} are declared; "
                    "none of this answer was stored"
                )
            if not np.isfinite(row).all() or not row.any():
                answered.refused.append((each.seq, each.id, "the vector that came back is zero or not finite"))
                continue
            answered.vectors.append((each.seq, row, self._read(each.text, length)))

    def _read(self, text: str, length: int) -> int:
        """Say how many code units of a text the embedder read: exactly where its tokens are counted."""
        counter = self._provider.counter
        cut = None if counter is None else counter.cut_at(text)
        if counter is not None:
            return length if cut is None else cut
        return min(length, self._sibling.settings.max_chunk_chars)

    def _commit(self, answered: Answered) -> None:
        """Write vectors, what was not taken, and the journal, together."""
        tokens = self._tokens_of(answered.chars)
        with self._sibling.cursor() as cursor, transaction(cursor):
            if answered.vectors:
                count = len(answered.vectors)
                matrix = np.stack([row for _, row, _ in answered.vectors])
                rows = np.empty(count, object)
                rows[:] = list(matrix)
                cursor.register(
                    _INCOMING,
                    {
                        "seq": np.array([seq for seq, _, _ in answered.vectors], np.int64),
                        "embedding": rows,
                        "read_chars": np.array([read for _, _, read in answered.vectors], np.int64),
                    },
                )
                cursor.execute(
                    f"INSERT INTO {table(VECTORS)} SELECT seq, embedding::FLOAT[{self._dims}], read_chars, false"
                    f" FROM {_INCOMING}"
                )
                cursor.unregister(_INCOMING)
            for refused in answered.refused:
                cursor.execute(f"INSERT INTO {table(QUARANTINED)} VALUES (?, ?, ?)", refused)
            cursor.execute(
                f"INSERT INTO {table(JOURNAL)} VALUES (?, ?, ?, ?, ?, ?)",
                [self._now_ms(), answered.texts, answered.chars, tokens, answered.requests, answered.seconds],
            )
        self._done += len(answered.vectors)
        self._quarantined += len(answered.refused)
        self._requests += answered.requests
        self._chars += answered.chars
        self._tokens += tokens
        self._spent_here += tokens

    def _tokens_of(self, chars: int) -> int:
        return round(chars / self._limits.chars_per_token)

    def _over_cap(self, running: set[asyncio.Task[None]]) -> bool:
        """Whether one more request at once could pass the cap by more than one batch."""
        return self._limits.max_cost_usd is not None and len(running) >= 1

    def _check_cap(self) -> None:
        cap, price = self._limits.max_cost_usd, self._limits.price_usd
        if cap is not None and price is not None and self._tokens * price / 1e6 >= cap:
            self._stop.ask(f"the cap of ${cap:g} is reached")

    def _check_quarantine(self) -> None:
        allowed = max(1.0, self._total * self._limits.max_quarantined_share)
        if self._quarantined > allowed:
            self._stop.ask(
                f"{self._quarantined:,} of {self._total:,} chunks were not taken by the embedder, more than "
                f"{self._limits.max_quarantined_share:.0%}"
            )

    def _halted(self, failure: BaseException) -> BaseException:
        if isinstance(failure, EmbedderError | WrongAnswer | Resumable):
            return Resumable(f"paused: {failure}; {self._kept()}")
        return failure

    def _kept(self) -> str:
        return f"{self._done:,} of {self._total:,} vectors are kept, and --resume goes on with the rest"
