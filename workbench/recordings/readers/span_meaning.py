"""What a span did, by the attribute conventions: OpenInference, OTel GenAI, the Vercel AI SDK."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.core.fingerprint import Fingerprint
from workbench.recordings.model import Candidate, LoadedEntry, Node
from workbench.recordings.readers.documents import FoundDocument, document_of, documents_in, entry_of
from workbench.recordings.readers.lenient import as_list, as_object, as_text, as_whole, unwrapped
from workbench.recordings.readers.trace_spans import Attributes, RawSpan

_GENAI_KINDS = {
    "chat": "llm",
    "generate_content": "llm",
    "text_completion": "llm",
    "embeddings": "embedding",
    "retrieval": "retriever",
    "create_agent": "agent",
    "invoke_agent": "agent",
    "execute_tool": "tool",
    "invoke_workflow": "chain",
}
_NUMBERED_VECTOR = re.compile(r"embedding\.embeddings\.\d+\.embedding\.vector")
_NUMBERED_TEXT = re.compile(r"embedding\.embeddings\.\d+\.embedding\.text")
_DOCUMENT_PART = re.compile(r"\.(\d+)\.document\.([a-z_.]+)")
_MOST_NUMBER = 1_000_000
_QUERY_KEYS = ("query", "question", "input", "text", "search_query")


@dataclass(frozen=True, slots=True)
class Embedding:
    """A call of an embedder: its fingerprint, and the hashes of the texts that it embedded."""

    fingerprint: Fingerprint | None
    texts: frozenset[int]


@dataclass(frozen=True, slots=True)
class Search:
    """A retrieval as one span has it, before the embedder of its query is known."""

    query: str | None
    namespace: str | None
    top_k: int | None
    candidates: tuple[Candidate, ...] | None
    entries: tuple[LoadedEntry, ...]
    fingerprint: Fingerprint | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is kept of a span beside its step.

    Attributes:
        key, parent, trace: its own, its parent's and its trace's.
        start_ns, end_ns: when.
        embedding: what it embedded.
        search: what it retrieved.
        prompt: where its bytes are, when it asked a language model.
    """

    key: str | None
    parent: str | None
    trace: str | None
    start_ns: int | None
    end_ns: int | None
    embedding: Embedding | None = None
    search: Search | None = None
    prompt: Node | None = None


def kind_of(attributes: Attributes) -> str:
    """Give the kind of a span in lower case; ``span`` when no convention says."""
    said = attributes.text("openinference.span.kind")
    if said is not None:
        return said.lower()
    operation = attributes.text("gen_ai.operation.name")
    if operation is not None:
        return _GENAI_KINDS.get(operation.lower(), operation.lower())
    vercel = attributes.text("ai.operationId")
    if vercel is not None and vercel.startswith("ai."):
        return "embedding" if vercel.startswith("ai.embed") else "tool" if vercel.startswith("ai.tool") else "llm"
    return "span"


def meaning_of(span: RawSpan, kind: str) -> Meaning:
    """Read what a span embedded, retrieved or asked."""
    attributes = span.attributes
    return Meaning(
        key=span.key,
        parent=span.parent_key,
        trace=span.trace,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        embedding=_embedding(attributes) if kind == "embedding" else None,
        search=_search(attributes) if kind == "retriever" else _rerank(attributes) if kind == "reranker" else None,
        prompt=span.node if kind == "llm" else None,
    )


def prompt_of(attributes: Attributes) -> Iterator[object]:
    """Give the values in which the prompt of a language model stands."""
    for key in attributes.starting("llm.input_messages."):
        yield attributes.get(key)
    for key in ("gen_ai.input.messages", "gen_ai.prompt", "ai.prompt", "ai.prompt.messages", "input.value"):
        yield attributes.get(key)
    for key in attributes.starting("gen_ai.prompt."):
        yield attributes.get(key)


def _embedding(attributes: Attributes) -> Embedding:
    model = attributes.text(
        "gen_ai.response.model",
        "embedding.model_name",
        "gen_ai.request.model",
        "ai.model.id",
        "llm.model_name",
    )
    if attributes.text("gen_ai.response.model") is None and "embedding.model_name" not in attributes:
        # an answer's own name for the model stands in its body
        model = model or as_text(as_object(attributes.get("output.value")).get("model"))
    dims = _dims(attributes)
    texts = [
        attributes.text(key) for key in attributes.starting("embedding.embeddings.") if _NUMBERED_TEXT.fullmatch(key)
    ]
    texts += [as_text(unwrapped(each)) for each in as_list(attributes.get("ai.values"))]
    texts.append(as_text(unwrapped(attributes.get("ai.value"))))
    texts += _inputs(attributes.get("input.value"))
    return Embedding(
        None if dims is None else Fingerprint(model, dims),
        frozenset(hash(text) for text in texts if text is not None),
    )


def _inputs(value: object) -> list[str | None]:
    """Give the texts of a request that was recorded whole, or the text itself."""
    value = unwrapped(value)
    if isinstance(value, dict):
        value = value.get("input")
    return [as_text(each) for each in value] if isinstance(value, list) else [as_text(value)]


def _dims(attributes: Attributes) -> int | None:
    """Give the observed length of the vectors, else the stated one."""
    for key in attributes.starting("embedding."):
        if _NUMBERED_VECTOR.fullmatch(key) or key == "embedding.vector":
            observed = attributes.length(key)
            if observed > 1:
                return observed
    for value in (attributes.get("ai.embedding"), *as_list(attributes.get("ai.embeddings"))[:1]):
        observed = len(as_list(value))
        if observed > 1:
            return observed
    for item in as_list(as_object(attributes.get("output.value")).get("data"))[:1]:
        observed = len(as_list(as_object(item).get("embedding")))
        if observed > 1:
            return observed
    stated = as_whole(attributes.get("gen_ai.embeddings.dimension.count", "gen_ai.request.embedding.dimensions"))
    return stated if stated is not None and stated > 0 else None


def _search(attributes: Attributes) -> Search:
    documents = numbered_documents(attributes, "retrieval.documents")
    listed = bool(documents)
    for key in ("retrieval.documents", "gen_ai.retrieval.documents", "output.value"):
        if not documents and key in attributes:
            value = unwrapped(attributes.get(key))
            documents = documents_in(value)
            listed = documents != [] or isinstance(value, list)
    query = attributes.text("gen_ai.retrieval.query.text", "retrieval.query") or _query(attributes.get("input.value"))
    return Search(
        query=query,
        namespace=attributes.text("gen_ai.data_source.id", "db.collection.name", "db.namespace"),
        top_k=as_whole(attributes.get("gen_ai.request.top_k", "retrieval.top_k")),
        candidates=tuple(document.candidate(rank) for rank, document in enumerate(documents, 1)) if listed else None,
        entries=tuple(entry for document in documents if (entry := entry_of(document)) is not None),
        fingerprint=_embedding(attributes).fingerprint if attributes.starting("embedding.") else None,
        note=None if listed else "the span does not record what was retrieved",
    )


def _rerank(attributes: Attributes) -> Search:
    """Read the way from candidates to those that were kept: the outputs in their order, then the others."""
    candidates = numbered_documents(attributes, "reranker.input_documents")
    kept = numbered_documents(attributes, "reranker.output_documents")
    inputs = candidates or [document_of(each) for each in as_list(attributes.get("reranker.input_documents"))]
    outputs = kept or [document_of(each) for each in as_list(attributes.get("reranker.output_documents"))]
    taken = {document.identity for document in outputs}
    rejected = [document for document in inputs if document.identity not in taken]
    ranked = [document.candidate(rank, admitted=True) for rank, document in enumerate(outputs, 1)]
    ranked += [document.candidate(None, admitted=False, reason="not kept by the reranker") for document in rejected]
    return Search(
        query=attributes.text("reranker.query") or _query(attributes.get("input.value")),
        namespace=None,
        top_k=as_whole(attributes.get("reranker.top_k")),
        candidates=tuple(ranked) if ranked else None,
        entries=tuple(entry for document in inputs if (entry := entry_of(document)) is not None),
        fingerprint=None,
        note=None if ranked else "the span does not record what was reranked",
    )


def numbered_documents(attributes: Attributes, prefix: str) -> list[FoundDocument]:
    """Gather ``<prefix>.N.document.<part>`` by N; numbers may have gaps."""
    parts: dict[int, dict[str, object]] = {}
    for key in attributes.starting(f"{prefix}."):
        match = _DOCUMENT_PART.fullmatch(key, len(prefix))
        if match is not None and len(match[1]) < len(str(_MOST_NUMBER)):
            parts.setdefault(int(match[1]), {})[match[2]] = attributes.get(key)
    return [document_of(parts[number]) for number in sorted(parts)]


def _query(value: object) -> str | None:
    value = unwrapped(value)
    if isinstance(value, dict):
        for key in _QUERY_KEYS:
            text = as_text(value.get(key))
            if text is not None:
                return text
        return None
    return as_text(value)
