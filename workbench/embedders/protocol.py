"""What an embedder is to the rest of the program: one protocol for every provider, composed ones included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Purpose = Literal["document", "query"]

Vector = Sequence[float]
"""One embedding: a sequence of floats, or a one-dimensional float array."""


@dataclass(frozen=True, slots=True)
class ProviderHealth:
    """What a health check found; ``latency_ms`` and ``error`` are None when there is nothing to say."""

    ok: bool
    kind: str
    model_id: str
    dimensions: int | None = None
    latency_ms: float | None = None
    error: str | None = None


class EmbeddingProvider(Protocol):
    """Texts in, vectors out, of one fingerprint ``model_id@dimensions``.

    ``max_input_chars`` is how much of a text it reads (UTF-16 code units), None when it declares nothing. A null vector
    is a return ("no embedding for this one"), not a failure; failures are raised, ``CircuitOpenError`` when the
    provider's own breaker is open.
    """

    @property
    def kind(self) -> str:
        """The kind of provider, such as ``openai`` or ``auto-fallback``."""

    @property
    def model_id(self) -> str:
        """The id of the fingerprint."""

    @property
    def dimensions(self) -> int | None:
        """The length of its vectors; None while unknown."""

    @property
    def max_input_chars(self) -> int | None:
        """How many UTF-16 code units of a text it reads, as declared."""

    @property
    def last_error(self) -> str | None:
        """What went wrong in the last call, also when a value was returned."""

    async def embed(self, text: str, *, purpose: Purpose) -> Vector | None:
        """Embed one text."""

    async def embed_batch(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector | None]:
        """Embed several, answers in the order of the texts."""

    async def healthcheck(self) -> ProviderHealth:
        """Ask whether it would answer; counts for nothing."""

    async def dispose(self) -> None:
        """Give back what it holds."""


class CircuitOpenError(Exception):
    """Raised by a provider whose own circuit breaker is open: it was not asked, so it neither failed nor succeeded."""
