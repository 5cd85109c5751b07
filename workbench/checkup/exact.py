"""The second answer about what was never read: in the model's own tokens, where its tokenizer is at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from workbench.checkup.report import ExactClip, FingerprintVerdict
from workbench.core.text import utf16_length
from workbench.embedders.tokens import counter_of

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.embedders.tokens import TokenCounter
    from workbench.index.model import Namespace

MOST_CHARS = 50_000_000
"""More text than that takes longer to tokenise than anybody waits for a check-up."""

_SPECIAL = 2
"""The tokens that stand around those of a text."""

_kept: WeakKeyDictionary[Namespace, ExactClip] = WeakKeyDictionary()
"""A namespace keeps its answer: texts do not change while it is open, and another ceiling does not change tokens."""


def exact_clip(
    namespace: Namespace, known: FingerprintVerdict, total_chars: int, job: Job | None = None
) -> tuple[ExactClip | None, tuple[str, ...]]:
    """Count the chunks that hold more tokens than the model reads, and the UTF-16 code units behind its last token.

    Gives None where no tokenizer is at hand or the model reads everything, or with a note where there is too much text.
    """
    counter = None if known.model is None else counter_of(known.model)
    if counter is None or counter.max_tokens is None:
        return None, ()
    if total_chars > MOST_CHARS:
        note = f"the tokens of its {total_chars:,} characters were not counted, because that takes minutes"
        return None, (note,)
    found = _kept.get(namespace)
    if found is None:
        found = _kept[namespace] = _count(namespace, counter, counter.max_tokens, job)
    return found, ()


_HEAD = 20_000
"""Characters that are looked at first: where the cut lies in them, the rest needs no tokenizer."""


@dataclass(frozen=True, slots=True)
class ExactCut:
    """Where a model stopped reading one text, by its own tokens: a UTF-16 offset, None when it read all of it."""

    tokenizer: str
    at: int | None


def exact_cut(known: FingerprintVerdict, text: str) -> ExactCut | None:
    """Find where the embedder of a namespace stopped reading a text; None where its tokenizer is not at hand.

    Run it in a worker: a tokenizer is loaded, and a long text takes a moment.
    """
    counter = None if known.model is None else counter_of(known.model)
    if counter is None or counter.max_tokens is None:
        return None
    # A word that the end of the head cuts in two is far behind the last token that is read.
    cut = counter.cut_at(text[:_HEAD]) if len(text) > _HEAD else None
    near_end = cut is not None and cut > _HEAD // 2
    return ExactCut(counter.name, counter.cut_at(text) if cut is None or near_end else cut)


def _count(namespace: Namespace, counter: TokenCounter, max_tokens: int, job: Job | None) -> ExactClip:
    count = lost = 0
    # No token is shorter than a byte, so that what has fewer bytes needs no tokenizer.
    for texts in namespace.long_texts(max_tokens - _SPECIAL, job):
        for text, cut in zip(texts, counter.cuts_at(texts), strict=True):
            if cut is not None:
                count += 1
                lost += utf16_length(text) - cut
        if job is not None:
            job.checkpoint()
    return ExactClip(counter.name, count, lost)
