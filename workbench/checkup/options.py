"""What a check-up is asked: the incoming embedder, the ceiling, and embedders that are known by name."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.fingerprint import Fingerprint
from workbench.embedders.known import KNOWN_EMBEDDERS as KNOWN_EMBEDDERS
from workbench.embedders.known import KnownEmbedder as KnownEmbedder


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What to hold every namespace against.

    Attributes:
        incoming: the embedder about to be used; None asks nothing.
        explicit_ceiling: the caller's ceiling in UTF-16 code units.
        embedder: an embedder whose declared ceiling counts, and whose fingerprint is incoming when none is given.
        namespaces: only those of these names; empty means all.
    """

    incoming: Fingerprint | None = None
    explicit_ceiling: int | None = None
    embedder: KnownEmbedder | None = None
    namespaces: tuple[str, ...] = ()

    @property
    def asked(self) -> Fingerprint | None:
        """The incoming fingerprint, given or of the embedder."""
        if self.incoming is None and self.embedder is not None:
            return self.embedder.fingerprint
        return self.incoming

    def wants(self, namespace: str) -> bool:
        """Whether a namespace is to be checked."""
        return not self.namespaces or namespace in self.namespaces
