"""Embedding spans in OTLP/JSON as a routing log, by the conventions of OTel GenAI or OpenInference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from workbench.core.routing import Leg, Outcome
from workbench.routing.foreign.asked import Asked
from workbench.routing.foreign.bodies import Answer, as_text, as_whole
from workbench.routing.foreign.otlp_spans import FoundSpan, Nesting, spans_of
from workbench.routing.foreign.reading import Problems, read_asked, with_answer
from workbench.routing.foreign.values import in_utf8, json_values
from workbench.routing.foreign.words import Where, address_of, failure_of, kind_of_failure, where_of
from workbench.routing.model import Attempt, LogProblem, Operation, Record

_WHERE = ("namespace", "db.collection.name", "purpose", "keys")
_NS_PER_MS = 1_000_000
_ITEM = re.compile(r"embedding\.embeddings\.(\d{1,7})\.embedding\.(text|vector)")
_MEASURES_WHAT_CAME = ("opentelemetry.instrumentation.openai_v2",)
"""Instrumentations that overwrite the length asked for by the length of what came."""
_EMBEDDING_KINDS = {b"EMBEDDING", b"embeddings", b"embedding"}
_CONVENTIONS = {b"openinference.span.kind": "OpenInference", b"gen_ai.operation.name": "OTel GenAI"}
_MOST_ITEMS = 100_000
_SNIFFED = re.compile(
    rb'"key"\s*:\s*"(openinference\.span\.kind|gen_ai\.operation\.name|gen_ai\.request\.model|embedding\.model_name)"'
    rb'\s*,\s*"value"\s*:\s*\{\s*"stringValue"\s*:\s*"([^"\\]{1,200})"'
)


def recognise(head: bytes) -> str | None:
    """Say how the beginning of a file shows that it is a routing log; None when it does not.

    A trace is one when embedders are all that it is about, and more than one of them is asked: with a model or a
    retrieval in it there is more to see as a recording, and with one embedder there is nothing to route.
    """
    found = _Sniffed.of(head)
    only_embeddings = found.kinds <= _EMBEDDING_KINDS
    return found.why if only_embeddings and len(found.models) > 1 else None


def recognise_embeddings(head: bytes) -> str | None:
    """Say that there are embedding spans at all, which is enough for a file that was given as a routing log."""
    return _Sniffed.of(head).why


class _Sniffed(NamedTuple):
    """What the beginning of a trace says of its spans; ``why`` is None when no embedding is among them."""

    kinds: frozenset[bytes]
    models: frozenset[bytes]
    why: str | None

    @staticmethod
    def of(head: bytes) -> _Sniffed:
        head = in_utf8(head)
        kinds: set[bytes] = set()
        models: set[bytes] = set()
        conventions: dict[str, None] = {}
        for key, value in _SNIFFED.findall(head) if b'"resourceSpans"' in head else ():
            convention = _CONVENTIONS.get(key)
            if convention is None:
                models.add(value)
            else:
                kinds.add(value)
                conventions.setdefault(convention)
        why = f"embedding spans in OTLP/JSON, by the conventions of {' and '.join(conventions)}"
        return _Sniffed(frozenset(kinds), frozenset(models), why if kinds & _EMBEDDING_KINDS else None)


def read(file: BinaryIO, primary: str | None = None) -> Iterator[Record | LogProblem]:
    """Give the attempts that a trace shows, and how its legs were told.

    The file, which is read twice, stands at its beginning and can be rewound. ``primary`` names the leg that is asked
    first (a model or an address), where the trace leaves a doubt.
    """
    nesting = Nesting()

    def attempts(file: BinaryIO, problems: Problems) -> Iterator[Asked]:
        return _attempts(file, problems, nesting)

    return read_asked(file, attempts, primary=primary, scope_is_one_request=False)


def _attempts(file: BinaryIO, problems: Problems, nesting: Nesting) -> Iterator[Asked]:
    for found in json_values(file):
        if isinstance(found, LogProblem):
            problems.add(found)
            continue
        spans = spans_of(found.data)
        if spans is None:
            problems.unreadable(found.line)
        for span in spans or ():
            # In the first of the two readings what is wrapped may still follow: it is asked about in the second.
            nesting.see(span)
            if nesting.wraps(span):
                problems.count("{count} embedding spans only wrap another and are no attempts of their own")
                continue
            asked = _asked(found.line, span, problems)
            if asked is not None:
                yield asked


def _asked(line: int, span: FoundSpan, problems: Problems) -> Asked | None:
    if span.start_ns is None:
        problems.at(line, "holds a span that does not say when it began")
        return None
    attributes = span.attributes
    duration_ns = None if span.end_ns is None else span.end_ns - span.start_ns
    if duration_ns is not None and duration_ns < 0:
        problems.at(line, "holds a span that ends before it begins; its duration is taken as not said")
        duration_ns = None
    answer, texts = _answer(span)
    said_error = attributes.text("error.type")
    failed = span.failed or said_error is not None
    error_type = kind_of_failure(said_error or span.exception) if failed else None
    parameters = attributes.json("embedding.invocation_parameters") or {}
    named = attributes.text("embedding.model_name")
    request_model = attributes.text("gen_ai.request.model") or as_text(parameters.get("model")) or named
    response_model = None if failed else attributes.text("gen_ai.response.model") or named
    stated = attributes.whole("gen_ai.embeddings.dimension.count") or as_whole(parameters.get("dimensions"))
    measured = not failed and response_model is not None and span.scope in _MEASURES_WHAT_CAME
    where = _where(span)
    attempt = Attempt(
        line=line,
        instance=span.instance,
        leg=Leg.PRIMARY,
        op=Operation.EMBED_BATCH if texts.number > 1 else Operation.EMBED,
        started_ms=span.start_ns / _NS_PER_MS,
        duration_ms=None if duration_ns is None else duration_ns / _NS_PER_MS,
        outcome=failure_of(error_type) if failed else Outcome.VECTOR,
        error_type=error_type,
        provider=attributes.text("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system"),
        request_model=request_model,
        response_model=response_model,
        requested_dims=None if measured else stated,
        observed_dims=stated if measured else None,
        input_count=texts.number or 1,
        purpose=where.purpose,
        namespace=where.namespace,
        keys=where.keys,
        status_code=attributes.whole("http.response.status_code", "http.status_code"),
        server=_server(span),
    )
    if not failed:
        attempt = with_answer(attempt, answer, problems)
    return Asked(
        attempt, (request_model, attempt.server), span.trace if span.parent else None, span.parent, texts.digest
    )


class _Texts(NamedTuple):
    """How many texts a span embeds, and a hash of them; 0 and None when it does not say."""

    number: int
    digest: int | None


def _answer(span: FoundSpan) -> tuple[Answer | None, _Texts]:
    """Measure the vectors that a span carries, and count its texts; no vector and no text is kept."""
    texts: dict[int, int] = {}
    widths: dict[int, int | None] = {}
    for key in span.attributes:
        item = _ITEM.fullmatch(key) if key.startswith("embedding.e") else None
        if item is None or len(widths) + len(texts) >= _MOST_ITEMS:
            continue
        number = int(item[1])
        if item[2] == "text":
            texts[number] = span.attributes.hash_of(key)
        else:
            widths[number] = span.attributes.width(key)
    counted = _Texts(max(len(texts), len(widths)), hash(tuple(sorted(texts.items()))) if texts else None)
    # Where vectors were kept out of the trace altogether, their absence says nothing.
    if not any(width is not None for width in widths.values()):
        return None, counted
    return Answer(None, tuple(widths.get(number) for number in sorted({*texts, *widths}))), counted


def _where(span: FoundSpan) -> Where:
    """Find where the vectors go: in the metadata that the program attached, else in attributes of the span itself."""
    attributes = span.attributes
    attached = where_of(attributes.json("metadata"))
    if attached != Where() or not attributes.any_of(_WHERE):
        return attached
    return where_of(
        {
            "namespace": attributes.text(*_WHERE[:2]),
            "purpose": attributes.text("purpose"),
            "keys": attributes.texts("keys"),
        }
    )


def _server(span: FoundSpan) -> str | None:
    address = address_of(span.attributes.text("server.address", "url.full"))
    port = span.attributes.text("server.port")
    return address if address is None or port is None else f"{address}:{port}"
