"""Whether an embedder reads to the end of a text, and how far it reads, found out by asking it.

Two texts with one long beginning and two different endings: when their vectors are equal, the endings were not read.
The searches here send texts and may cost money. They are called only after the user has agreed; the callers see to it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from workbench.embedders.failures import EmbedderError, InputTooLong, UnusableVectors
from workbench.embedders.protocol import EmbeddingProvider, Vector

_ENDINGS = ("zebra", "tulip")
"""Of one length, and short: a cut inside an ending that is read in part would go unseen."""

_SAME = 1e-6
"""How far two vectors of length one may lie apart and still be equal: what float32 moves."""

_NOISE = 2.0
"""A server that never answers twice the same is allowed this many times what one text was seen to move."""

_SHORTEST = 64
_LEAST_STEP = 16

_WORDS = (
    "river market engine letter window garden silver doctor bridge summer winter travel paper music stone light "
    "metal forest village kitchen history number picture island animal reason colour morning evening station"
)


class Beyond(Enum):
    """What an embedder does with a text of some length."""

    READ = "read"
    CLIPPED = "clipped"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Probe:
    """One length that was asked: UTF-16 code units, what happened, and how far apart the two vectors lay."""

    chars: int
    beyond: Beyond
    distance: float | None


@dataclass(frozen=True, slots=True)
class ProbedCeiling:
    """How much of a text an embedder reads.

    Attributes:
        chars: the longest length that was seen to be read whole; 0 when not even the shortest was.
        beyond: what happens with the shortest length that was not; None when all that was asked was read.
        first_lost: that length; None when all was read.
        texts: how many texts were sent; ``probes`` are the lengths in the order asked.
    """

    chars: int
    beyond: Beyond | None
    first_lost: int | None
    texts: int
    probes: tuple[Probe, ...]


def probe_texts(chars: int) -> tuple[str, str]:
    """Give two texts of exactly this length (at least 64 UTF-16 code units) that differ in their last word alone."""
    beginning = _prose(chars - len(_ENDINGS[0]) - 1)
    return f"{beginning} {_ENDINGS[0]}", f"{beginning} {_ENDINGS[1]}"


def _prose(chars: int) -> str:
    words: list[str] = []
    length = 0
    for word in _endless_words():
        if length + len(word) + 1 > chars:
            break
        words.append(word)
        length += len(word) + 1
    text = " ".join(words)
    return text + "s" * (chars - len(text))


def _endless_words() -> Iterator[str]:
    """Give words in an order without a short period, the same every time."""
    words = _WORDS.split()
    state = 1
    for _ in itertools.count():
        state = (state * 48_271) % 2_147_483_647
        yield words[state % len(words)]


async def probe_clipping(provider: EmbeddingProvider, chars: int, *, noise: float = 0.0) -> Probe:
    """Send two texts of this length and say whether their endings were read. Only after consent: two texts are sent.

    ``noise`` is how far apart two answers to one text were seen to lie.

    Raises:
        EmbedderError: nobody answered, or in a way that says nothing about length.
    """
    texts = probe_texts(chars)
    try:
        first, second = await provider.embed_batch(texts, purpose="document")
    except InputTooLong:
        return Probe(chars, Beyond.REFUSED, None)
    except UnusableVectors as error:
        # A zero vector is how one server says that a text is too long for it.
        if not error.vectors:
            raise
        return Probe(chars, Beyond.REFUSED, None)
    if first is None or second is None:
        raise EmbedderError(f"the embedder '{provider.model_id}' gave no vector for a text of {chars:,} characters")
    distance = _distance(first, second)
    return Probe(chars, Beyond.CLIPPED if distance <= max(_SAME, _NOISE * noise) else Beyond.READ, distance)


async def find_ceiling(
    provider: EmbeddingProvider, *, start: int = 1_000, most: int = 200_000, within: float = 0.02
) -> ProbedCeiling:
    """Find how much an embedder reads, by doubling from ``start`` and then halving, to within this share of it.

    Only after consent: each length sends two texts, up to ``most`` UTF-16 code units each. The ceiling is that of the
    probe's English words; denser text has more tokens in as many characters.

    Raises:
        EmbedderError: nobody answered, or in a way that says nothing about length.
    """
    probes: list[Probe] = []
    noise = 0.0

    async def ask(chars: int) -> Probe:
        probes.append(await probe_clipping(provider, chars, noise=noise))
        return probes[-1]

    noise = await _noise(provider)

    read, lost = 0, None
    chars = start
    while lost is None:
        found = await ask(min(chars, most))
        if found.beyond is not Beyond.READ:
            lost = found
        elif found.chars >= most:
            break
        else:
            read, chars = found.chars, chars * 2
    if lost is None:
        return ProbedCeiling(most, None, None, 2 + 2 * len(probes), tuple(probes))
    while lost.chars - read > max(_LEAST_STEP, within * lost.chars) and lost.chars > _SHORTEST:
        found = await ask(max(_SHORTEST, (read + lost.chars) // 2))
        if found.beyond is Beyond.READ:
            read = found.chars
        else:
            lost = found
    return ProbedCeiling(read, lost.beyond, lost.chars, 2 + 2 * len(probes), tuple(probes))


def most_requests(*, start: int = 1_000, most: int = 200_000, within: float = 0.02) -> int:
    """Say how many requests ``find_ceiling`` sends at most, where nobody has to be asked again."""
    doubled, chars = 1, start
    while chars < most:
        doubled, chars = doubled + 1, min(2 * chars, most)
    return 2 + doubled + max(1, math.ceil(math.log2(1 / within)))


async def _noise(provider: EmbeddingProvider) -> float:
    """Send one short text twice and say how far apart the two answers lie."""
    text, _ = probe_texts(_SHORTEST)
    answers = [await provider.embed(text, purpose="document") for _ in range(2)]
    first, second = answers
    return 0.0 if first is None or second is None else _distance(first, second)


def _distance(first: Vector, second: Vector) -> float:
    """Give the distance of two vectors scaled to length one; infinite when their lengths differ."""
    import numpy as np

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        return float("inf")
    return float(np.linalg.norm(a / np.linalg.norm(a) - b / np.linalg.norm(b)))
