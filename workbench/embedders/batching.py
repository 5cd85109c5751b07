"""How many texts fit one request: the limits that are known, and the ones that a server's refusals teach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.core.text import utf16_length
from workbench.embedders.failures import BatchTooLarge

_CHARS_PER_TOKEN = 2
"""Fewer than prose has: a batch that is refused costs a round trip, one that is a little small costs nothing."""

_MARGIN = 0.9


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What one request may hold: texts, and UTF-16 code units of them together (None: no limit but the number)."""

    max_inputs: int
    max_chars: int | None = None

    def lower(self, refused: BatchTooLarge, inputs: int, chars: int) -> BatchLimits:
        """Give the limits after a batch of so many texts and characters was refused: always less than that batch."""
        if refused.unit == "inputs":
            said = inputs // 2 if refused.limit is None else refused.limit
            return BatchLimits(max(1, min(said, inputs - 1, self.max_inputs)), self.max_chars)
        share = 0.5
        if refused.limit is not None and refused.given is not None and 0 < refused.limit < refused.given:
            share = refused.limit / refused.given * _MARGIN
        most = max(1, min(int(chars * share), chars - 1))
        return BatchLimits(self.max_inputs, most if self.max_chars is None else min(most, self.max_chars))


DEFAULT_LIMITS = BatchLimits(64, 200_000)
"""For servers that nobody has described; they keep small batches in memory whole."""

_OF_PROVIDER = {
    "openai": BatchLimits(2_048, 300_000 * _CHARS_PER_TOKEN),
    "mistral": BatchLimits(512, 16_384 * _CHARS_PER_TOKEN),
    "voyage": BatchLimits(1_000, 120_000 * _CHARS_PER_TOKEN),
    "cohere": BatchLimits(96),
}


def limits_of(provider: str | None) -> BatchLimits:
    """Give what the hosted service of this provider takes in one request, as the model table names it."""
    return DEFAULT_LIMITS if provider is None else _OF_PROVIDER.get(provider, DEFAULT_LIMITS)


def next_batch(texts: Sequence[str], limits: BatchLimits) -> int:
    """Say how many of the leading texts fit one request: at least one, however long it is."""
    chars = 0
    for number, text in enumerate(texts[: limits.max_inputs]):
        chars += utf16_length(text)
        if limits.max_chars is not None and chars > limits.max_chars and number > 0:
            return number
    return min(len(texts), limits.max_inputs)
