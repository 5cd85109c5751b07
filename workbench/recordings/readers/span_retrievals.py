"""Searches of a trace joined with their surroundings: the embedder of the query, and the passages the model got."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from workbench.core.fingerprint import Fingerprint
from workbench.recordings.model import Candidate, Passage, Retrieval, Step
from workbench.recordings.readers.lenient import strings_in
from workbench.recordings.readers.span_meaning import Embedding, Meaning, Search

_SHORTEST_PASSAGE = 16  # code points; a shorter text may stand in a prompt by chance
_CALLS_BEFORE = 256  # calls of an embedder before a search among which that of its query is looked for
_MOST_PROMPT = 4 << 20  # code points of one prompt that are looked through
_CALLS_BEHIND = 4  # calls of a model after a search in which its passages are looked for


def retrievals_of(
    meanings: Sequence[Meaning],
    steps: Sequence[Step],
    prompt: Callable[[Meaning], Iterable[object]],
) -> tuple[Retrieval, ...]:
    """Give the searches as retrievals, in the order of their steps.

    ``prompt`` reads the prompt of a call of a language model again from the file: prompts are not kept meanwhile.
    """
    numbers = {step.key: step.n for step in steps if step.key is not None}
    embeddings = _children(each for each in meanings if each.embedding is not None)
    prompts = _Prompts((each for each in meanings if each.prompt is not None), prompt)
    retrievals: list[Retrieval] = []
    for meaning in _once(meanings):
        search = meaning.search
        if search is None:
            continue
        has_text = any(each.text for each in search.candidates or ())
        candidates, passages = _with_passages(search, prompts.behind(meaning) if has_text else [])
        retrievals.append(
            Retrieval(
                n=len(retrievals) + 1,
                step=None if meaning.key is None else numbers.get(meaning.key),
                query=search.query,
                fingerprint=search.fingerprint or _query_embedder(meaning, search, embeddings),
                namespace=search.namespace,
                candidates=candidates,
                passages=passages,
                entries=search.entries,
                top_k=search.top_k,
                note=search.note,
            )
        )
    return tuple(retrievals)


def _once(meanings: Sequence[Meaning]) -> Iterable[Meaning]:
    seen: set[str] = set()
    for meaning in meanings:
        if meaning.key is not None:
            if meaning.key in seen:
                continue
            seen.add(meaning.key)
        yield meaning


def _children(meanings: Iterable[Meaning]) -> dict[str, list[Meaning]]:
    below: dict[str, list[Meaning]] = {}
    for meaning in meanings:
        if meaning.parent is not None:
            below.setdefault(meaning.parent, []).append(meaning)
    for each in below.values():
        each.sort(key=_start)
    return below


def _start(meaning: Meaning) -> int:
    return 0 if meaning.start_ns is None else meaning.start_ns


def _query_embedder(
    meaning: Meaning, search: Search, embeddings: Mapping[str, Sequence[Meaning]]
) -> Fingerprint | None:
    """Find what embedded the query: a call inside the search, else one beside and before it.

    Where the text that was embedded is the query, that decides; else only a single embedder does, since two would be
    a guess.
    """
    inside = embeddings.get(meaning.key, ()) if meaning.key is not None else ()
    beside = embeddings.get(meaning.parent, ()) if meaning.parent is not None else ()
    end = len(beside) if meaning.start_ns is None else bisect_right(beside, meaning.start_ns, key=_start)
    before = beside[max(0, end - _CALLS_BEFORE) : end]
    for group in (inside[:_CALLS_BEFORE], before):
        calls = [each.embedding for each in group if each.embedding is not None]
        same_text = [each for each in calls if search.query is not None and hash(search.query) in each.texts]
        for chosen in (same_text, calls):
            known = _one(chosen)
            if known is not None:
                return known
    return None


def _one(calls: Sequence[Embedding]) -> Fingerprint | None:
    known = {each.fingerprint for each in calls if each.fingerprint is not None}
    return next(iter(known)) if len(known) == 1 else None


class _Prompts:
    """What language models were asked, read again from the file; the last few are kept, since searches share them."""

    def __init__(self, calls: Iterable[Meaning], read: Callable[[Meaning], Iterable[object]]) -> None:
        self._read = read
        self._calls: dict[str | None, list[tuple[int, Meaning]]] = {}
        self._kept: dict[int, str] = {}
        for call in calls:
            if call.start_ns is not None:
                self._calls.setdefault(call.trace, []).append((call.start_ns, call))
        for each in self._calls.values():
            each.sort(key=lambda pair: pair[0])

    def behind(self, search: Meaning) -> list[str]:
        """Give the prompts of the first calls of a trace that began after a search had ended."""
        calls = self._calls.get(search.trace, [])
        if search.end_ns is None:
            return []
        first = bisect_left(calls, search.end_ns, key=lambda pair: pair[0])
        return [self._text(call) for _, call in calls[first : first + _CALLS_BEHIND]]

    def _text(self, call: Meaning) -> str:
        key = id(call)
        if key not in self._kept:
            if len(self._kept) >= 2 * _CALLS_BEHIND:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = self._joined(call)
        return self._kept[key]

    def _joined(self, call: Meaning) -> str:
        parts: list[str] = []
        size = 0
        for value in self._read(call):
            for text in strings_in(value):
                size += len(text)
                if size > _MOST_PROMPT:
                    return "\n".join(parts)
                parts.append(text)
        return "\n".join(parts)


def _with_passages(search: Search, asked: Sequence[str]) -> tuple[tuple[Candidate, ...] | None, tuple[Passage, ...]]:
    """Mark the candidates whose very text stands in a later prompt as admitted; the others stay as they are."""
    if search.candidates is None:
        return None, ()
    candidates: list[Candidate] = []
    passages: list[Passage] = []
    for candidate in search.candidates:
        text = candidate.text
        if text is not None and len(text) >= _SHORTEST_PASSAGE and any(text in each for each in asked):
            passages.append(Passage(candidate.id, text))
            candidate = replace(candidate, admitted=True) if candidate.admitted is None else candidate
        candidates.append(candidate)
    return tuple(candidates), tuple(passages)
