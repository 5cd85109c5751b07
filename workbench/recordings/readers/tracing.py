"""Raw spans, from whichever tracing format, understood together as one reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbench.recordings.model import Node, Note, Reading
from workbench.recordings.readers.span_meaning import Meaning, kind_of, meaning_of, prompt_of
from workbench.recordings.readers.span_retrievals import retrievals_of
from workbench.recordings.readers.trace_spans import RawSpan, RunFacts, errors_once, finish_spans, raw_step
from workbench.recordings.steps import RawStep

_MEANT = ("retriever", "reranker", "embedding", "llm")


def read_spans(
    spans: Iterable[RawSpan], again: Callable[[Node], RawSpan | None], notes: Iterable[Note] = ()
) -> Reading:
    """Understand spans in the order of the file. ``again`` reads one of them a second time, from where it stands.

    Of each span little is kept: its step, and what it embedded or retrieved.
    """
    facts = RunFacts()
    raw: list[RawStep] = []
    durations: dict[str, int] = {}
    meanings: list[Meaning] = []
    for span in spans:
        facts.add(span)
        kind = kind_of(span.attributes)
        raw.append(raw_step(span, kind))
        if span.key is not None and span.duration_ns is not None:
            durations.setdefault(span.key, span.duration_ns)
        if kind in _MEANT:
            meanings.append(meaning_of(span, kind))
    steps, step_notes = finish_spans(raw, durations)

    def prompt(meaning: Meaning) -> Iterable[object]:
        span = None if meaning.prompt is None else again(meaning.prompt)
        return () if span is None else prompt_of(span.attributes)

    return Reading(
        run=facts.run(),
        steps=steps,
        retrievals=retrievals_of(meanings, steps, prompt),
        errors=errors_once(steps),
        notes=(*notes, *step_notes),
    )
