"""What embedders that run on this machine do alike: loaded once, off the event loop, one text at a time."""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from workbench.core.text import utf16_length
from workbench.embedders.activity import AnswerCame, Observer, RequestSent, unobserved
from workbench.embedders.batching import BatchLimits
from workbench.embedders.failures import EmbedderError
from workbench.embedders.known import KnownEmbedder
from workbench.embedders.protocol import PrefixPolicy, ProviderHealth, Purpose, Vector
from workbench.embedders.vectors import checked
from workbench.embedders.well_formed import well_formed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.embedders.tokens import TokenCounter

_LIMITS = BatchLimits(64, 200_000)
"""A batch is only how much is done before somebody hears of it: texts are embedded one by one, so that a vector never
depends on its neighbours."""


class LocalProvider(ABC):
    """A ``BuildingProvider`` in this process. Subclasses load the model and embed one text; both run in its thread."""

    def __init__(self, known: KnownEmbedder, *, observer: Observer = unobserved) -> None:
        self._known = known
        self._observer = observer
        self._last_error: str | None = None
        self._thread: ThreadPoolExecutor | None = None

    @property
    def kind(self) -> str:
        """The name that it is known by."""
        return self._known.name

    @property
    def model_id(self) -> str:
        """The id of the fingerprint."""
        return str(self._known.fingerprint.id)

    @property
    def dimensions(self) -> int | None:
        """The length of its vectors."""
        return int(self._known.fingerprint.dims)

    @property
    def max_input_chars(self) -> int | None:
        """What it declares."""
        return self._known.max_input_chars

    @property
    def last_error(self) -> str | None:
        """What went wrong in the last call."""
        return self._last_error

    @property
    def batch_limits(self) -> BatchLimits:
        """How much is worth one call."""
        return _LIMITS

    @property
    def policy(self) -> PrefixPolicy:
        """Nothing is put before a text."""
        return PrefixPolicy()

    @property
    def host(self) -> str | None:
        """None: texts stay on this machine."""
        return None

    @property
    def answered_model(self) -> str | None:
        """The model itself."""
        return self.model_id

    @property
    @abstractmethod
    def counter(self) -> TokenCounter | None:
        """Its tokenizer."""

    def watch(self, observer: Observer) -> None:
        """Tell this observer from now on."""
        self._observer = observer

    async def embed(self, text: str, *, purpose: Purpose) -> Vector | None:
        """Embed one text; the empty text has no embedding. Raises EmbedderError."""
        return (await self.embed_batch([text], purpose=purpose))[0]

    async def embed_batch(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector | None]:
        """Embed texts in a thread; a cancelled task lets it end after the text that it is at.

        Raises:
            NotInstalled: the extra is not installed.
            UnusableVectors: a text, such as one that holds no token, has no usable vector.
        """
        self._last_error = None
        asked = [index for index, text in enumerate(texts) if text]
        if not asked:
            return [None] * len(texts)
        sent = [well_formed(texts[index]) for index in asked]
        self._observer(RequestSent(len(sent), sum(map(utf16_length, sent)), 1))
        began = time.perf_counter()
        try:
            rows = await self._in_thread(sent)
            self._observer(AnswerCame(len(sent), None, time.perf_counter() - began, self.model_id))
            good = checked(rows, self.dimensions, f"'{self.kind}'")
        except EmbedderError as error:
            self._last_error = str(error)
            raise error.in_call(asked, len(texts)) from None
        vectors: list[Vector | None] = [None] * len(texts)
        for index, vector in zip(asked, good, strict=True):
            vectors[index] = vector
        return vectors

    async def healthcheck(self) -> ProviderHealth:
        """Load the model, and embed one short text."""
        began = time.perf_counter()
        try:
            await self._in_thread(["health"])
        except EmbedderError as error:
            return ProviderHealth(False, self.kind, self.model_id, self.dimensions, None, str(error))
        return ProviderHealth(True, self.kind, self.model_id, self.dimensions, (time.perf_counter() - began) * 1000)

    async def dispose(self) -> None:
        """Let the thread end; the model goes with the last reference to it."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self._thread = None

    @abstractmethod
    def _embed_one(self, text: str) -> NDArray[np.float32]:
        """Embed one text that is not empty, loading the model when it is not there yet."""

    async def _in_thread(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        stopped = threading.Event()

        def work() -> list[NDArray[np.float32]]:
            rows: list[NDArray[np.float32]] = []
            for text in texts:
                if stopped.is_set():
                    break
                rows.append(self._embed_one(text))
            return rows

        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self.kind)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            stopped.set()
