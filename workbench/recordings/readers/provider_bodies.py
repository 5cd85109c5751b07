"""Answers of embedding providers as they came, and the output, error and input files of OpenAI's batches."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.recordings.model import Document, Head, Node, Note, Reading
from workbench.recordings.readers.bodies import Answer, read_answer
from workbench.recordings.readers.calls import Calls
from workbench.recordings.readers.lenient import as_object, as_text, as_whole

_BIG = 1 << 20  # above this a body is not parsed whole: its vectors are counted and the first is measured


class ProviderBodyReader:
    """A response body, or one a line."""

    format = "provider-body"

    def detect(self, head: Head) -> str | None:
        """Recognise the answer of an embedder by the shape that its provider documents."""
        why = _shape(head.first)
        return None if why is None else f"{why}: the answer of an embedding provider"

    def read(self, document: Document) -> Reading:
        """Give each body as one call."""
        calls = Calls()
        for root in document.roots():
            answer, count = _read_body(root)
            calls.add(_counted(answer, count), "", root.span)
        return calls.reading()


class OpenAIBatchReader:
    """The lines of a batch: answers, errors, or the requests themselves."""

    format = "openai-batch"

    def detect(self, head: Head) -> str | None:
        """Recognise a line by its custom_id and what it carries."""
        for value in head.values:
            if isinstance(value, dict) and isinstance(value.get("custom_id"), str):
                if "response" in value or "error" in value:
                    return "lines with custom_id and response: output of an OpenAI batch"
                if "method" in value and "url" in value:
                    return "lines with custom_id, method and url: input of an OpenAI batch"
        return None

    def read(self, document: Document) -> Reading:
        """Give each line as one call, named by its custom_id."""
        calls = Calls()
        strangers = 0
        for root in document.roots():
            line = as_object(root.value()) if root.kind == "object" else {}
            if "custom_id" not in line:
                strangers += 1
                continue
            answered = "response" in line or "error" in line
            calls.add(_answer_of_line(line), as_text(line.get("custom_id")) or "", root.span, answered=answered)
        what = "line has" if strangers == 1 else "lines have"
        notes = [Note(f"{strangers:,} {what} no custom_id and {'is' if strangers == 1 else 'are'} no call")]
        return calls.reading(notes if strangers else ())


def _answer_of_line(line: Mapping[str, object]) -> Answer:
    response = as_object(line.get("response"))
    answer = read_answer(
        response.get("body"),
        line.get("body"),
        uri=as_text(line.get("url")),
        status=as_whole(response.get("status_code")),
    )
    own = line.get("error")
    message = as_text(as_object(own).get("message")) if isinstance(own, dict) else as_text(own)
    if answer.error is None and message is not None:
        return Answer(answer.kind, answer.model, answer.dims, answer.count, message)
    return answer


def _shape(body: Mapping[str, object]) -> str | None:
    """Say which of the documented shapes a body has."""
    first = _first(body.get("data"))
    if first.get("object") == "embedding" and "embedding" in first:
        return "data[0].object is embedding"
    if str(body.get("response_type", "")).startswith("embeddings_"):
        return "response_type begins with embeddings_"
    if "embedding" in body and ("inputTextTokenCount" in body or "embeddingsByType" in body):
        return "embedding and inputTextTokenCount"
    if isinstance(body.get("embedding"), list) and len(body) == 1:
        return "embedding is all there is"
    if isinstance(body.get("embeddings"), list):
        if "embeddingType" in _first(body.get("embeddings")):
            return "embeddings[0].embeddingType"
        if "total_duration" in body or ("model" in body and isinstance(_item(body["embeddings"]), list)):
            return "model and embeddings"
        if isinstance(_first(body.get("embeddings")).get("values"), list):
            return "embeddings[0].values"
    if isinstance(as_object(body.get("embedding")).get("values"), list):
        return "embedding.values"
    if isinstance(as_object(_first(body.get("predictions")).get("embeddings")).get("values"), list):
        return "predictions[0].embeddings.values"
    return None


def _item(value: object) -> object:
    return value[0] if isinstance(value, list) and value else None


def _first(value: object) -> dict[str, object]:
    return as_object(_item(value))


def _read_body(root: Node) -> tuple[Answer, int | None]:
    """Read a body; of a big one only the first vector, and how many there are."""
    if root.span.size <= _BIG:
        return read_answer(root.value()), None
    body, count = _sampled(root)
    return read_answer(body), count


def _sampled(node: Node) -> tuple[object, int | None]:
    """Give a value with its big lists cut to their first item, and the length of the longest of these."""
    if node.span.size <= _BIG or node.kind not in ("object", "array"):
        return node.value(), None
    longest: int | None = None
    if node.kind == "array":
        items = iter(node.children())
        first = next(items, None)
        if first is None or first[1].kind not in ("object", "array", "string"):
            return node.value(), None
        value, _ = _sampled(first[1])
        return [value], 1 + sum(1 for _ in items)
    members: dict[str, object] = {}
    for name, child in node.children():
        members[str(name)], count = _sampled(child)
        if count is not None:
            longest = max(longest or 0, count)
    return members, longest


def _counted(answer: Answer, count: int | None) -> Answer:
    if count is None or answer.dims is None:
        return answer
    return Answer(answer.kind, answer.model, answer.dims, max(count, answer.count), answer.error)
