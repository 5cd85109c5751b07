"""Embedders that do as they are told, and a clock that stands still: for tests of what routes between two of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from workbench.embedders.protocol import CircuitOpenError, ProviderHealth, Purpose, Vector


class Clock:
    """Time in milliseconds, moved by hand."""

    def __init__(self, now_ms: float = 0) -> None:
        self.now_ms = now_ms

    def __call__(self) -> float:
        return self.now_ms


class AbortError(Exception):
    """As other languages' clients name the caller's own abort."""


class RateLimited(Exception):
    status_code = 429


ERRORS: dict[str, type[Exception]] = {
    "error": ConnectionError,
    "timeout": TimeoutError,
    "rate_limited": RateLimited,
    "circuit_open": CircuitOpenError,
    "abort": AbortError,
}
"""What a leg raises for each word of the traces."""


class Leg:
    """An embedder that does the next thing it was told, in the words of the traces, and counts who asks."""

    kind = "fake"
    max_input_chars: int | None = None

    def __init__(
        self, role: str, model_id: str = "model", dimensions: int | None = 3, clock: Clock | None = None
    ) -> None:
        self.role = role
        self.model_id = model_id
        self.dimensions = dimensions
        self.last_error: str | None = None
        self.word = "ok"
        self.null_items = 0
        self.takes_ms = 0.0
        self.asked: list[str] = []
        self.disposed = False
        self.refuses_to_go = False
        self.gate: asyncio.Event | None = None
        self._clock = clock

    async def embed(self, text: str, *, purpose: Purpose) -> Vector | None:
        await self._act("embed")
        return None if self.word in ("null", "null_with_error") else self._vector()

    async def embed_batch(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector | None]:
        await self._act("embed_batch")
        if self.word in ("null", "null_with_error"):
            return [None] * len(texts)
        missing = max(1, self.null_items) if self.word == "partial_null" else 0
        return [None if index < missing else self._vector() for index in range(len(texts))]

    async def healthcheck(self) -> ProviderHealth:
        self.asked.append("healthcheck")
        ok = self.word == "ok"
        error = None if ok else f"{self.word} of the {self.role}"
        return ProviderHealth(ok, self.kind, self.model_id, self.dimensions, 1.0, error)

    async def dispose(self) -> None:
        self.disposed = True
        if self.refuses_to_go:
            raise RuntimeError(f"the {self.role} does not go")

    async def _act(self, what: str) -> None:
        self.asked.append(what)
        self.last_error = f"tracked by the {self.role}" if self.word == "null_with_error" else None
        word = self.word
        if self.gate is not None:
            await self.gate.wait()
        if self._clock is not None:
            self._clock.now_ms += self.takes_ms
        if word in ERRORS:
            raise ERRORS[word](f"{word} of the {self.role}")

    def _vector(self) -> list[float]:
        return [0.5] * (3 if self.dimensions is None else self.dimensions)
