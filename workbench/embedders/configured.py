"""Embedders as a configuration describes them: values that say what would be asked, before anybody is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from workbench.core.fingerprint import Fingerprint
from workbench.core.routing import DEFAULT_COOLDOWN_MS, DEFAULT_FAILURE_STREAK_THRESHOLD
from workbench.embedders.batching import DEFAULT_LIMITS, BatchLimits
from workbench.embedders.endpoint import Address
from workbench.embedders.keys import KeySource
from workbench.embedders.known import KnownEmbedder
from workbench.embedders.models import ceiling_of_both, model_table
from workbench.embedders.protocol import PrefixPolicy
from workbench.embedders.serving import Plain


@dataclass(frozen=True, slots=True)
class ServerEmbedder:
    """A model behind a server.

    Attributes:
        dimensions: the length of its vectors: configured, else the model table's.
        send_dimensions: whether the server is asked for this length, which not every server understands.
        max_input_chars: as configured; None leaves it to the model table.
        read_timeout_s: how long to wait for the next bytes of an answer; None for the usual time.
        send: what else stands in every request.
    """

    name: str
    kind: Literal["openai", "ollama"]
    model: str
    dimensions: int
    address: Address
    key: KeySource | None = None
    send_dimensions: bool = False
    max_input_chars: int | None = None
    policy: PrefixPolicy = field(default_factory=PrefixPolicy)
    limits: BatchLimits = DEFAULT_LIMITS
    read_timeout_s: float | None = None
    send: tuple[tuple[str, Plain], ...] = ()

    @property
    def model_id(self) -> str:
        """The id of its fingerprint."""
        return self.model

    @property
    def max_input_tokens(self) -> int | None:
        """How many tokens it reads, as the model table knows."""
        entry = model_table().find(self.model)
        return None if entry is None else entry.max_input_tokens


@dataclass(frozen=True, slots=True)
class LocalEmbedder:
    """An embedder known by name that runs on this machine; ``extra`` brings it."""

    known: KnownEmbedder
    extra: str

    @property
    def name(self) -> str:
        """What it is called."""
        return self.known.name

    @property
    def model_id(self) -> str:
        """The id of its fingerprint."""
        return str(self.known.fingerprint.id)

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        return int(self.known.fingerprint.dims)

    @property
    def max_input_chars(self) -> int | None:
        """What it declares."""
        return self.known.max_input_chars

    @property
    def max_input_tokens(self) -> int | None:
        """How many tokens it reads."""
        return self.known.max_input_tokens


Leg = ServerEmbedder | LocalEmbedder


@dataclass(frozen=True, slots=True)
class RoutedEmbedder:
    """An auto-fallback over two others; its fingerprint is the primary's, whoever answers.

    ``log`` is the path of its routing log, None for none.
    """

    name: str
    primary: Leg
    fallback: Leg
    failure_streak_threshold: int = DEFAULT_FAILURE_STREAK_THRESHOLD
    cooldown_ms: int = DEFAULT_COOLDOWN_MS
    log: str | None = None

    @property
    def model_id(self) -> str:
        """The primary's."""
        return self.primary.model_id

    @property
    def dimensions(self) -> int:
        """The primary's."""
        return self.primary.dimensions

    @property
    def max_input_chars(self) -> int | None:
        """What both legs read, as the provider says it; None when the primary's own ceiling is short enough."""
        ours, theirs = (
            (leg.max_input_chars, Fingerprint(leg.model_id, leg.dimensions)) for leg in (self.primary, self.fallback)
        )
        return ceiling_of_both(ours, theirs)

    @property
    def max_input_tokens(self) -> int | None:
        """The primary's."""
        return self.primary.max_input_tokens


Configured = ServerEmbedder | LocalEmbedder | RoutedEmbedder


def hosts_of(embedder: Configured) -> tuple[str, ...]:
    """Give the hosts that texts would be sent to, each once; none when they stay on this machine."""
    if isinstance(embedder, RoutedEmbedder):
        return tuple(dict.fromkeys((*hosts_of(embedder.primary), *hosts_of(embedder.fallback))))
    return (embedder.address.host,) if isinstance(embedder, ServerEmbedder) else ()
