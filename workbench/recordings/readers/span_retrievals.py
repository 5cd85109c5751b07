"""Searches of a trace joined with their surroundings: the embedder of the query, and the passages the model got."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from workbench.core.fingerprint import Fingerprint
from workbench.recordings.model import Candidate, Passage, Retrieval, Step
from workbench.recordings.readers.lenient import strings_in
from workbench.recordings.readers.span_meaning import Embedding, Meaning, Search

_SHORTEST_PASSAGE = 16  # code points; a shorter text may stand in a prompt by chance
_MOST_PROMPT = 8 << 20


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
    prompts = _by_trace(each for each in meanings if each.prompt is not None)
    retrievals: list[Retrieval] = []
    for meaning in _once(meanings):
        search = meaning.search
        if search is None:
            continue
        candidates, passages = _with_passages(search, _texts_behind(meaning, prompts, prompt))
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
    return below


def _by_trace(meanings: Iterable[Meaning]) -> dict[str | None, list[Meaning]]:
    traces: dict[str | None, list[Meaning]] = {}
    for meaning in meanings:
        traces.setdefault(meaning.trace, []).append(meaning)
    return traces


def _query_embedder(
    meaning: Meaning, search: Search, embeddings: Mapping[str, Sequence[Meaning]]
) -> Fingerprint | None:
    """Find what embedded the query: a call inside the search, else one beside and before it.

    Where the text that was embedded is the query, that decides; else only a single embedder does, since two would be
    a guess.
    """
    inside = embeddings.get(meaning.key, ()) if meaning.key is not None else ()
    beside = embeddings.get(meaning.parent, ()) if meaning.parent is not None else ()
    before = [
        each
        for each in beside
        if each.start_ns is None or meaning.start_ns is None or each.start_ns <= meaning.start_ns
    ]
    for group in (inside, before):
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


def _texts_behind(
    meaning: Meaning,
    prompts: Mapping[str | None, Sequence[Meaning]],
    prompt: Callable[[Meaning], Iterable[object]],
) -> str:
    """Give what language models of the same trace were asked after the search, as one text."""
    if meaning.search is None or not any(each.text for each in meaning.search.candidates or ()):
        return ""
    parts: list[str] = []
    size = 0
    for call in prompts.get(meaning.trace, ()):
        if call.start_ns is None or meaning.end_ns is None or call.start_ns < meaning.end_ns:
            continue
        for value in prompt(call):
            for text in strings_in(value):
                size += len(text)
                if size > _MOST_PROMPT:
                    return "\n".join(parts)
                parts.append(text)
    return "\n".join(parts)


def _with_passages(search: Search, asked: str) -> tuple[tuple[Candidate, ...] | None, tuple[Passage, ...]]:
    """Mark the candidates whose very text stands in a later prompt as admitted; the others stay as they are."""
    if search.candidates is None:
        return None, ()
    candidates: list[Candidate] = []
    passages: list[Passage] = []
    for candidate in search.candidates:
        text = candidate.text
        if text is not None and len(text) >= _SHORTEST_PASSAGE and text in asked:
            passages.append(Passage(candidate.id, text))
            candidate = replace(candidate, admitted=True) if candidate.admitted is None else candidate
        candidates.append(candidate)
    return tuple(candidates), tuple(passages)
