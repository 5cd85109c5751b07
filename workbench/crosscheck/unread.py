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
_SAYS_NOTHING = frozenset(
    _WORD.findall(
        "about after again also because been before being between both could does doing down during each even every "
        "from have having here into itself just like made make many more most much must need only other over same "
        "shall should some such than that their them then there these they this those through under until upon very "
        "want well were what when where which while whom whose will with within without would your"
    )
)
"""English words that stand in any text: where they stand says nothing about an answer."""


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
        known = word.casefold()
        if known in behind and known not in before and known not in _SAYS_NOTHING:
            words.setdefault(known, word)
    start = max(0, min((behind[word] for word in words), default=0) - _LEAD)
    flat = " ".join(lost[start : start + _EXCERPT].split())
    return Unread(flat, tuple(words.values())[:_MOST_WORDS])
