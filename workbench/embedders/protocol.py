"""What an embedder is to the rest of the program: one protocol for every provider, composed ones included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from workbench.embedders.activity import Observer
    from workbench.embedders.batching import BatchLimits
    from workbench.embedders.tokens import TokenCounter

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


@dataclass(frozen=True, slots=True)
class PrefixPolicy:
    """What is put before each document and each query; a search must use the policy that its index was built with.

    ``input_type`` says that the server is told the purpose and puts its own text before (Voyage, Cohere).
    """

    document: str = ""
    query: str = ""
    input_type: bool = False

    def before(self, purpose: Purpose) -> str:
        """Give what is put before a text of this purpose."""
        return self.document if purpose == "document" else self.query


class EmbeddingProvider(Protocol):
    """Texts in, vectors out, of one fingerprint ``model_id@dimensions``.

    ``max_input_chars`` is how much of a text it reads (UTF-16 code units), None when it declares nothing. A null vector
    is a return ("no embedding for this one": the empty text has none), not a failure; failures are raised,
    ``CircuitOpenError`` when the provider's own breaker is open.

    The providers of this package raise the types of ``failures.py``; after a failure in the middle of a batch its
    ``finished`` holds what was answered before. Their vectors are one-dimensional float32 arrays that were checked: of
    the right length, finite, not zero. Calls of one provider may overlap, within one event loop at a time; they end
    when their task is cancelled. Nothing is asked of anybody before ``embed``, ``embed_batch`` or ``healthcheck`` is
    called.
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


class BuildingProvider(EmbeddingProvider, Protocol):
    """What a provider also says when whole namespaces are built with it; those of this package all do.

    ``batch_limits`` is what one request holds: a batch within it is one request, a larger one is split. ``policy`` is
    what is put before a text. ``host`` is where texts go, None when they stay on this machine. ``answered_model`` is
    the model that the server says it used, None before the first answer; another one later is refused
    (``WrongAnswer``), and a resumed build compares it with the recorded one. ``counter`` counts tokens exactly, None
    where the tokenizer is not at hand.
    """

    @property
    def batch_limits(self) -> BatchLimits:
        """How many texts and characters one request holds, as far as known so far."""

    @property
    def policy(self) -> PrefixPolicy:
        """What is put before documents and queries."""

    @property
    def host(self) -> str | None:
        """The host that texts are sent to."""

    @property
    def answered_model(self) -> str | None:
        """The model that the last answer named."""

    @property
    def counter(self) -> TokenCounter | None:
        """Its tokenizer."""

    def watch(self, observer: Observer) -> None:
        """Tell this observer of requests, answers, waits and retries from now on, instead of the one before."""


class CircuitOpenError(Exception):
    """Raised by a provider whose own circuit breaker is open: it was not asked, so it neither failed nor succeeded."""
