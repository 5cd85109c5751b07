"""How many tokens a build will send, from a sample of this very corpus; what is not known is not said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.reindex.model import CostEstimate, Range

if TYPE_CHECKING:
    from workbench.embedders.models import ModelEntry
    from workbench.embedders.tokens import TokenCounter

SAMPLE = 400
"""Texts that are looked at."""

_LETTERS_PER_TOKEN = (6.0, 4.2, 3.0)
"""Code units of plain words for one token: the most, the usual, the fewest that tokenizers of today make."""

_DENSE_PER_TOKEN = (2.5, 1.2, 0.5)
"""The same of everything else: digits, punctuation, and characters outside ASCII (bytes, in the worst case)."""

_SPECIAL = (0, 2, 8)
"""Tokens that a model puts around each text."""


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """Tokens of the whole build, and where the figure comes from: ``counted``, ``sampled`` or ``estimated``."""

    tokens: Range
    basis: str


def estimate_tokens(
    sample: Sequence[str], texts: int, chars: int, counter: TokenCounter | None, most_tokens: int | None = None
) -> TokenEstimate:
    """Estimate the tokens of ``texts`` texts of ``chars`` code units in all, ``sample`` being some of them.

    With the model's own tokenizer the sample is counted, which is exact when it is all; else characters are weighed
    by how densely tokenizers read them. ``most_tokens`` is what the model reads of one text.
    """
    if not texts or not sample:
        return TokenEstimate(Range(0, 0, 0), "counted")
    if counter is not None:
        counts = [
            min(counter.count(text), most_tokens) if most_tokens is not None else counter.count(text) for text in sample
        ]
        if len(sample) == texts:
            total = sum(counts)
            return TokenEstimate(Range(total, total, total), "counted")
        mean = sum(counts) / len(counts)
        spread = math.sqrt(sum((count - mean) ** 2 for count in counts) / max(1, len(counts) - 1))
        off = 3 * spread / math.sqrt(len(counts))
        return TokenEstimate(Range(texts * max(1.0, mean - off), texts * mean, texts * (mean + off)), "sampled")
    words = sum(
        sum(character.isascii() and (character.isalpha() or character == " ") for character in t) for t in sample
    )
    sampled = max(1, sum(len(text) for text in sample))
    share = words / sampled
    figures = [
        chars * (share / plain + (1 - share) / dense) + special * texts
        for plain, dense, special in zip(_LETTERS_PER_TOKEN, _DENSE_PER_TOKEN, _SPECIAL, strict=True)
    ]
    low, likely, high = (math.ceil(figure) for figure in figures)
    return TokenEstimate(Range(low, likely, high), "estimated")


def cost_of(tokens: Range, entry: ModelEntry | None) -> CostEstimate | None:
    """Price the tokens as the model table does; None where it has no price, which is not the same as free."""
    if entry is None or entry.price_usd is None:
        return None
    price = entry.price_usd
    usd = Range(tokens.low * price / 1e6, tokens.likely * price / 1e6, tokens.high * price / 1e6)
    return CostEstimate(usd, price, entry.price_read_on)
