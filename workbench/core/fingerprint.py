"""Which embedder made a vector: the fingerprint ``<id>@<dims>``, its text, its conflicts, and the one refusal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """An embedder's id, None when anonymous, and the length of its vectors."""

    id: str | None
    dims: float
