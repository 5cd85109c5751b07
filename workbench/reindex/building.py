"""Embedding what the sibling still lacks: bounded requests at once, every vector checked, committed batch by batch.

Nothing is decided here about money or consent: the caller has both, and a cap that ends the build within one batch.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.fingerprint import parse_fingerprint
from workbench.core.text import utf16_length
from workbench.embedders.failures import (
    BatchTooLarge,
    EmbedderError,
    InputTooLong,
    Refusal,
    RequestRefused,
    UnusableVectors,
    VectorProblem,
)
from workbench.index.writing import WriteError, transaction
from workbench.reindex.batches import Batches, Text
from workbench.reindex.metering import Meter
from workbench.reindex.model import Progress, Resumable
from workbench.reindex.sibling import QUARANTINED, VECTORS, Sibling, note, table

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from workbench.embedders.protocol import BuildingProvider, Vector

CONCURRENCY = 4
"""Requests under way at once."""

_LOOK_S = 0.2
_CAP_MARGIN = 4
_INCOMING = "workbench_vectors"


@dataclass(slots=True)
class Answered:
    """What one batch came to: vectors by row, rows that were not taken and why."""

    vectors: list[tuple[int, NDArray[np.float32], int]] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    texts: int = 0
    chars: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """When a build stops by itself: more money than this, or more than this share of chunks that are not taken.

    Money needs the price of a million tokens. Tokens are those that the server counts, where it does.
    """

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
    """One build of one sibling, to its end or to where it stopped. The meter watches the provider already."""

    def __init__(
        self,
        sibling: Sibling,
        provider: BuildingProvider,
        limits: Limits,
        *,
        meter: Meter,
        on_progress: Callable[[Progress], None] | None = None,
        now_ms: Callable[[], int],
        stop: Stop | None = None,
    ) -> None:
        self._sibling = sibling
        self._provider = provider
        self._limits = limits
        self._meter = meter
        self._on_progress = on_progress
        self._now_ms = now_ms
        self._stop = stop or Stop()
        self._dims = int(parse_fingerprint(sibling.settings.fingerprint).dims)
        self._total, self._done, self._quarantined = sibling.counts()
        self._reused = sibling.reused()
        self._requests, self._tokens, self._chars, _ = sibling.journal_totals()
        self._began = time.monotonic()
        self._committing = asyncio.Lock()

    async def run(self) -> None:
        """Embed everything that is pending.

        Raises:
            Resumable: it stopped half-way; what was committed is kept.
        """
        batches = Batches(self._sibling, self._provider)
        running: set[asyncio.Task[None]] = set()
        failure: BaseException | None = None
        self._meter.on_wait = self._tell
        try:
            self._check_quarantine()
            while failure is None and self._stop.reason is None:
                self._start(batches, running)
                if not running:
                    break
                done, running = await asyncio.wait(running, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
                failure = _failed(done)
                self._check_quarantine()
            while running:
                # What is under way is paid for: it is waited for and kept. What only waits to be sent again is not.
                done, running = await asyncio.wait(running, timeout=_LOOK_S)
                found = _failed(done)
                failure = found if failure is None else failure
                if self._meter.waiting is not None:
                    break
        finally:
            self._meter.on_wait = None
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if failure is not None:
            raise self._halted(failure) from failure
        if self._stop.reason is not None:
            raise Resumable(f"paused: {self._stop.reason}; {self._kept()}")

    def _start(self, batches: Batches, running: set[asyncio.Task[None]]) -> None:
        """Send as many batches as may be under way at once, and as the cap lets."""
        while len(running) < CONCURRENCY and (chars := batches.next_chars()) is not None:
            if not self._affordable(chars, len(running)):
                return
            running.add(asyncio.create_task(self._one(batches.take())))

    def _affordable(self, chars: int, running: int) -> bool:
        """Whether one more batch keeps within the cap; near the cap they go out one at a time."""
        cap, price = self._limits.max_cost_usd, self._limits.price_usd
        if cap is None or price is None:
            return True
        room = cap - self._tokens * price / 1e6
        cost = self._meter.estimate(chars) * price / 1e6
        if cost <= room and (not running or cost * (running + 1) * _CAP_MARGIN <= room):
            return True
        if not running:
            self._stop.ask(
                f"the cap of ${cap:g} is reached (${cap - room:.6g} spent, the next batch costs ${cost:.6g})"
            )
        return False

    def progress(self) -> Progress:
        """Say how far it is."""
        price = self._limits.price_usd
        return Progress(
            done=self._done,
            total=self._total,
            reused=self._reused,
            quarantined=self._quarantined,
            requests=self._requests,
            retries=self._meter.retries,
            chars=self._chars,
            tokens=self._tokens,
            tokens_counted=self._meter.counted,
            cost_usd=None if price is None else self._tokens * price / 1e6,
            seconds=time.monotonic() - self._began,
            waiting=self._meter.waiting,
        )

    def _tell(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.progress())

    async def _one(self, batch: list[Text]) -> None:
        began = time.monotonic()
        answered = Answered()
        try:
            await self._embed(batch, answered)
        finally:
            # Also after a failure: what came before it was paid for.
            answered.seconds = time.monotonic() - began
            if answered.vectors or answered.refused:
                await self._kept_whole(answered)
        self._tell()

    async def _kept_whole(self, answered: Answered) -> None:
        """Commit, also when the task is given up meanwhile: it was paid for."""
        async with self._committing:
            commit = asyncio.ensure_future(asyncio.to_thread(self._commit, answered))
            try:
                await asyncio.shield(commit)
            except asyncio.CancelledError:
                await commit
                raise

    async def _embed(self, batch: Sequence[Text], answered: Answered) -> None:
        """Embed a batch; one that fails for its texts is halved until it is known which one it is."""
        try:
            vectors = await self._provider.embed_batch([each.text for each in batch], purpose="document")
        except InputTooLong as error:
            await self._without(batch, error.index, str(error), error.finished, answered)
        except BatchTooLarge as error:
            self._take(batch[: len(error.finished)], error.finished, answered)
            rest = batch[len(error.finished) :]
            if len(rest) == 1:
                answered.refused.append((rest[0].seq, str(error)))
                return
            await self._halves(rest, answered)
        except RequestRefused as error:
            if error.refusal is not Refusal.REQUEST:
                self._take(batch[: len(error.finished)], error.finished, answered)
                raise
            await self._without(batch, None, str(error), error.finished, answered)
        except UnusableVectors as error:
            if not error.vectors or any(bad.problem is VectorProblem.DIMS for bad in error.bad):
                self._take(batch[: len(error.finished)], error.finished, answered)
                raise
            await self._without_bad(batch, error, answered)
        except EmbedderError as error:
            self._take(batch[: len(error.finished)], error.finished, answered)
            raise
        else:
            if len(vectors) != len(batch):
                raise Resumable(f"the embedder gave {len(vectors)} vectors for {len(batch)} texts")
            self._take(batch, vectors, answered)

    async def _without_bad(self, batch: Sequence[Text], error: UnusableVectors, answered: Answered) -> None:
        """Keep the good vectors, set the bad texts aside, and ask for those that were not asked for yet."""
        problems = {bad.index: bad.problem.value for bad in error.bad}
        good = [index for index, vector in enumerate(error.vectors) if vector is not None and index not in problems]
        self._take([batch[index] for index in good], [error.vectors[index] for index in good], answered)
        for index, problem in problems.items():
            answered.texts += 1
            answered.chars += utf16_length(batch[index].text)
            answered.refused.append((batch[index].seq, f"the vector that came back is unusable: {problem}"))
        rest = [each for index, each in enumerate(batch) if index not in problems and error.vectors[index] is None]
        if rest:
            await self._embed(rest, answered)

    async def _without(
        self,
        batch: Sequence[Text],
        index: int | None,
        reason: str,
        finished: Sequence[Vector | None],
        answered: Answered,
    ) -> None:
        self._take(batch[: len(finished)], finished, answered)
        rest = batch[len(finished) :]
        if len(rest) == 1:
            answered.refused.append((rest[0].seq, reason))
            return
        at = None if index is None else index - len(finished)
        if at is not None and 0 <= at < len(rest):
            answered.refused.append((rest[at].seq, reason))
            await self._embed([*rest[:at], *rest[at + 1 :]], answered)
            return
        await self._halves(rest, answered)

    async def _halves(self, batch: Sequence[Text], answered: Answered) -> None:
        middle = (len(batch) + 1) // 2
        await self._embed(batch[:middle], answered)
        if batch[middle:]:
            await self._embed(batch[middle:], answered)

    def _take(self, batch: Sequence[Text], vectors: Sequence[Vector | None], answered: Answered) -> None:
        """Check every vector once more, whoever made it, and keep what may be stored."""
        for each, vector in zip(batch, vectors, strict=True):
            length = utf16_length(each.text)
            answered.texts += 1
            answered.chars += length
            if vector is None:
                answered.refused.append((each.seq, "no vector came back"))
                continue
            with np.errstate(over="ignore"):
                row = np.asarray(vector, np.float32)
            if row.shape != (self._dims,):
                raise Resumable(
                    f"the embedder gave a vector of {row.size:,} numbers where {self._dims:,} are declared; "
                    "none of this answer was stored"
                )
            if not np.isfinite(row).all() or not row.any():
                answered.refused.append((each.seq, "the vector that came back is zero or not finite"))
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
        spent = self._meter.take(answered.chars)
        with self._sibling.cursor() as cursor, transaction(cursor):
            if answered.vectors:
                self._insert(cursor, answered.vectors)
            for refused in answered.refused:
                cursor.execute(f"INSERT INTO {table(QUARANTINED)} VALUES (?, ?)", refused)
            note(cursor, self._now_ms(), spent, answered.texts, answered.chars, answered.seconds)
        self._done += len(answered.vectors)
        self._quarantined += len(answered.refused)
        self._requests += spent.requests
        self._chars += answered.chars
        self._tokens += spent.tokens

    def _insert(self, cursor: duckdb.DuckDBPyConnection, vectors: list[tuple[int, NDArray[np.float32], int]]) -> None:
        rows = np.empty(len(vectors), object)
        rows[:] = [row for _, row, _ in vectors]
        frame = {
            "seq": np.array([seq for seq, _, _ in vectors], np.int64),
            "embedding": rows,
            "read_chars": np.array([read for _, _, read in vectors], np.int64),
        }
        cursor.register(_INCOMING, frame)
        cursor.execute(
            f"INSERT INTO {table(VECTORS)} SELECT seq, embedding::FLOAT[{self._dims}], read_chars, false"
            f" FROM {_INCOMING}"
        )
        cursor.unregister(_INCOMING)

    def _check_quarantine(self) -> None:
        allowed = max(1.0, self._total * self._limits.max_quarantined_share)
        if self._quarantined > allowed:
            self._stop.ask(
                f"{self._quarantined:,} of {self._total:,} chunks were not taken by the embedder, more than "
                f"{self._limits.max_quarantined_share:.0%}: mend these texts or the embedder, and they are tried again"
            )

    def _halted(self, failure: BaseException) -> BaseException:
        if isinstance(failure, EmbedderError | Resumable | WriteError):
            return Resumable(f"paused: {failure}; {self._kept()}")
        return failure

    def _kept(self) -> str:
        return f"{self._done:,} of {self._total:,} vectors are kept, and --resume goes on with the rest"


def _failed(done: set[asyncio.Task[None]]) -> BaseException | None:
    """Give the first failure of these; all are asked for theirs, or the loop would complain of one nobody heard."""
    failures = [task.exception() for task in done]
    return next((each for each in failures if each is not None), None)
