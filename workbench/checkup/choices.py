"""Embedders that can be picked instead of typed: those known by name and those of the model table, found fuzzily."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from workbench.checkup.options import KNOWN_EMBEDDERS
from workbench.core.fingerprint import Fingerprint, fingerprint_text
from workbench.embedders.models import model_table

_EXACT, _START, _WORD, _INSIDE = 100.0, 80.0, 60.0, 45.0
_SCATTERED = 30.0
_LOOSEST = 4
"""Scattered letters count only when they lie within this many times their number."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One embedder with one length of vectors.

    Attributes:
        fingerprint: what it would write and search with.
        source: who makes or serves it; ``by name`` for one that commands know by its name, ``in use`` for one that an
            index names and nobody else knows.
        max_input_chars: how much it reads, in UTF-16 code units; None when nobody says.
        spellings: what it is found by, in lower case.
    """

    fingerprint: Fingerprint
    source: str
    max_input_chars: int | None
    spellings: tuple[str, ...]

    @property
    def text(self) -> str:
        """The fingerprint as it is typed."""
        return fingerprint_text(self.fingerprint)


@cache
def known_choices() -> tuple[Choice, ...]:
    """Give every embedder that is known, each length of its vectors once, the usual length first."""
    made: dict[str, Choice] = {}
    for known in KNOWN_EMBEDDERS.values():
        names = (known.name.lower(), str(known.fingerprint.id).lower())
        made[fingerprint_text(known.fingerprint)] = Choice(known.fingerprint, "by name", known.max_input_chars, names)
    for entry in model_table().entries:
        spellings = tuple(text.lower() for text in (entry.id, *entry.aliases, entry.provider))
        for dims in (entry.dims, *entry.smaller):
            choice = Choice(Fingerprint(entry.id, dims), entry.provider, entry.max_input_chars, spellings)
            made.setdefault(choice.text, choice)
    return tuple(made.values())


def choices_with(in_use: Iterable[Fingerprint]) -> tuple[Choice, ...]:
    """Give the known embedders, and before them those that are in use and known to nobody else."""
    known = known_choices()
    texts = {choice.text for choice in known}
    own: dict[str, Choice] = {}
    for fingerprint in in_use:
        text = fingerprint_text(fingerprint)
        if fingerprint.id is not None and text not in texts:
            own[text] = Choice(fingerprint, "in use", None, (fingerprint.id.lower(),))
    return (*own.values(), *known)


@dataclass(frozen=True, slots=True)
class Match:
    """An embedder that fits what was typed, and how well; higher is better."""

    choice: Choice
    score: float


def matching(typed: str, among: Sequence[Choice]) -> tuple[Match, ...]:
    """Give the embedders that fit what is typed, best first, equals in the order given.

    Every word must be found in an id, alias, provider or name, in any case, if need be with letters left out. Digits
    behind the last ``@`` must begin the length of the vectors; a text that ends in ``@`` asks for no length.
    """
    words, dims = _asked(typed)
    found: list[Match] = []
    for choice in among:
        if dims and not str(choice.fingerprint.dims).startswith(dims):
            continue
        score = sum(scores) if all(scores := [_best(word, choice.spellings) for word in words]) else 0.0
        if score > 0 or not words:
            found.append(Match(choice, score))
    return tuple(sorted(found, key=lambda match: -match.score))


def _asked(typed: str) -> tuple[list[str], str]:
    """Split what is typed into words to find and the beginning of a length."""
    id, at, digits = typed.strip().lower().rpartition("@")
    if not at or not (digits.isdecimal() or digits == ""):
        return typed.lower().split(), ""
    return ([] if id == "?" else id.split()), digits


def _best(word: str, spellings: tuple[str, ...]) -> float:
    return max(closeness(word, spelling) for spelling in spellings)


def closeness(word: str, text: str) -> float:
    """Say how well a word stands for a text, 0 to 100: the whole, its start, the start of a part, inside, scattered."""
    if word == text:
        return _EXACT
    # Of two texts the one that is less than the word leaves out stands nearer to it.
    share = len(word) / (len(text) + 1)
    if text.startswith(word):
        return _START + 10 * share
    at = text.find(word)
    if at >= 0:
        starts = not text[at - 1].isalnum() or re.search(rf"[^a-z0-9]{re.escape(word)}", text) is not None
        return (_WORD if starts else _INSIDE) + 10 * share
    span = _span(word, text)
    return _SCATTERED * len(word) / span if 0 < span <= _LOOSEST * len(word) else 0.0


def _span(word: str, text: str) -> int:
    """Count the characters over which the letters of a word are scattered in a text in their order; 0 when not all."""
    best = 0
    start = text.find(word[0])
    while start >= 0:
        at = start
        for letter in word[1:]:
            at = text.find(letter, at + 1)
            if at < 0:
                return best
        best = min(best or len(text), at - start + 1)
        start = text.find(word[0], start + 1)
    return best
