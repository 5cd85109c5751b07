"""What of a clipped chunk was never read, and which words of a question stand only there: why an answer was lost."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.core.text import utf16_split

_EXCERPT = 160
_LEAD = 40
_MOST_WORDS = 5
_MOST_QUERY = 4_000
_WORD = re.compile(r"\w{4,}")


@dataclass(frozen=True, slots=True)
class Unread:
    """The end of a chunk that its embedder never read.

    Attributes:
        excerpt: a piece of it on one line: around the first of ``words``, else its beginning.
        words: words of the question that stand there and nowhere in what was read, as the question spells them.
    """

    excerpt: str
    words: tuple[str, ...] = ()


def unread_of(text: str, ceiling: int, query: str | None) -> Unread | None:
    """Say what of a chunk's text stands behind a ceiling in UTF-16 code units; None when nothing does."""
    read, lost = utf16_split(text, ceiling)
    if not lost:
        return None
    # The word that the cut goes through was read in part, and belongs to neither side.
    before = set(_WORD.findall(read.casefold()))
    behind = {match.group(): match.start() for match in reversed(list(_WORD.finditer(lost.casefold())))}
    words: dict[str, str] = {}
    for word in _WORD.findall((query or "")[:_MOST_QUERY]):
        if word.casefold() in behind and word.casefold() not in before:
            words.setdefault(word.casefold(), word)
    start = max(0, min((behind[word] for word in words), default=0) - _LEAD)
    flat = " ".join(lost[start : start + _EXCERPT].split())
    return Unread(flat, tuple(words.values())[:_MOST_WORDS])
