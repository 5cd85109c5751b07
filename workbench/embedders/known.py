"""Embedders that are known by name without configuration: what they declare holds whether or not they are installed."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.fingerprint import Fingerprint


@dataclass(frozen=True, slots=True)
class KnownEmbedder:
    """What an embedder declares of itself: its fingerprint and how much it reads.

    ``max_input_chars`` is None when it declares nothing. ``max_input_tokens`` is None when it reads text of any length,
    or nobody says.
    """

    name: str
    fingerprint: Fingerprint
    max_input_chars: int | None
    max_input_tokens: int | None = None


WORDLLAMA = KnownEmbedder("wordllama", Fingerprint("wordllama", 256), 1_000_000)
MINILM = KnownEmbedder("minilm", Fingerprint("onnx:all-MiniLM-L6-v2:int8", 384), 1_000, 256)

KNOWN_EMBEDDERS = {each.name: each for each in (WORDLLAMA, MINILM)}
