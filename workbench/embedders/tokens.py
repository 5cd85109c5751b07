"""Exact lengths in the model's own tokens, for models whose tokenizer is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from workbench.core.fingerprint import Fingerprint
from workbench.embedders.failures import NotInstalled
from workbench.embedders.known import MINILM


class TokenCounter(Protocol):
    """Counts as the model does, its special tokens included. ``name`` says whose tokens these are."""

    @property
    def name(self) -> str:
        """The tokenizer, as shown to people."""

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a text the model reads, special ones included; None when it reads everything."""

    def count(self, text: str) -> int:
        """Count the tokens of a text, as if nothing were cut."""

    def cut_at(self, text: str) -> int | None:
        """Give the UTF-16 offset up to which the model reads; None when it reads the text whole."""

    def cuts_at(self, texts: Sequence[str]) -> list[int | None]:
        """Give ``cut_at`` of each of several texts, faster than one by one."""


def counter_of(fingerprint: Fingerprint) -> TokenCounter | None:
    """Give the exact tokenizer of the model that a fingerprint names; None where it is not at hand."""
    if fingerprint != MINILM.fingerprint:
        return None
    from workbench.embedders.minilm import minilm_counter  # which needs much that a check-up of other models does not

    try:
        return minilm_counter()
    except NotInstalled:
        return None
