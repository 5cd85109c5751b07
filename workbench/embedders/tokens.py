"""Exact lengths in the model's own tokens, for models whose tokenizer is at hand."""

from __future__ import annotations

from typing import Protocol


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
