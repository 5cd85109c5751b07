"""What a provider answered to a call of an embedder or a model, read from the bodies of request and response."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from workbench.core.fingerprint import Fingerprint, fingerprint_text
from workbench.recordings.readers.lenient import as_list, as_object, as_text, as_whole

_COHERE_TYPES = ("float", "base64", "int8", "uint8", "binary", "ubinary")
_PACKED = ("binary", "ubinary")
_MODEL_IN_PATH = re.compile(r"/models?/([^/:]+)")
_FEWEST_FLOATS = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a provider.

    Attributes:
        kind: ``embedding``, ``llm``, ``rerank``, or ``http`` for anything else.
        model: which model answered; None when neither body nor address say.
        dims: the length of its vectors.
        count: how many vectors it gave.
        error: what the provider said went wrong.
    """

    kind: str
    model: str | None = None
    dims: int | None = None
    count: int = 0
    error: str | None = None

    @property
    def fingerprint(self) -> Fingerprint | None:
        """The embedder, when the answer holds vectors."""
        return None if self.dims is None else Fingerprint(self.model, self.dims)

    def words(self, inputs: int | None = None) -> str:
        """Name it in a few words: the embedder and how many vectors, else the model."""
        known = self.fingerprint
        if known is not None:
            return f"{fingerprint_text(known)}, {self.count:,} vector{'' if self.count == 1 else 's'}"
        return self.model or ""


def read_answer(
    response: object, request: object = None, *, uri: str | None = None, status: int | None = None
) -> Answer:
    """Read a response body, with the request that it answers where that is known."""
    body, asked = as_object(response), as_object(request)
    model = as_text(body.get("model")) or as_text(asked.get("model")) or _model_in(asked) or _model_of(uri)
    model = None if model is None else model.removeprefix("models/")
    vectors = _vectors(body, asked)
    error = _error(body, status)
    if vectors is not None:
        return Answer("embedding", model, vectors[0], vectors[1], error)
    return Answer(_kind(body, asked, uri), model, error=error)


def _model_in(asked: Mapping[str, object]) -> str | None:
    """Find the model in a batch of requests (Gemini)."""
    return next((as_text(as_object(each).get("model")) for each in as_list(asked.get("requests"))[:1]), None)


def _model_of(uri: str | None) -> str | None:
    """Find the model in an address (Bedrock, Gemini)."""
    match = _MODEL_IN_PATH.search(path_of(uri))
    return None if match is None else unquote(match[1])


def path_of(uri: str | None) -> str:
    """Give the path of an address, without what may follow it; empty when it is no address."""
    try:
        return "" if uri is None else urlsplit(uri).path
    except ValueError:
        return ""


def _kind(body: Mapping[str, object], asked: Mapping[str, object], uri: str | None) -> str:
    path = path_of(uri).lower()
    listed = next((as_object(each) for each in _list(body.get("data"))), {})
    if "embed" in path or "embedding" in listed or "embedding" in body or "embeddings" in body:
        return "embedding"
    if "rerank" in path:
        return "rerank"
    if "choices" in body or "candidates" in body or "messages" in asked:
        return "llm"
    return "http"


def _error(body: Mapping[str, object], status: int | None) -> str | None:
    said = body.get("error")
    message = as_text(as_object(said).get("message")) if isinstance(said, dict) else as_text(said)
    if message is None and status is not None and status >= 400:
        message = as_text(body.get("message")) or as_text(body.get("detail"))
    if status is not None and status >= 400:
        return f"{status}: {message}" if message else f"the provider answered with status {status}"
    return message


def _vectors(body: Mapping[str, object], asked: Mapping[str, object]) -> tuple[int, int] | None:
    """Give the length of the vectors and how many there are; None when there are none."""
    dtype = as_text(asked.get("output_dtype")) or as_text(asked.get("encoding_format"))
    data = [as_object(each) for each in _list(body.get("data"))]
    if data and all("embedding" in each for each in data):
        return _measured([each["embedding"] for each in data], dtype)
    single = body.get("embedding")
    if isinstance(single, dict):
        return _measured([single.get("values")], None)
    if single is not None:
        return _measured([single], None)
    many = body.get("embeddings")
    if isinstance(many, dict):
        for kind in _COHERE_TYPES:
            if isinstance(many.get(kind), list):
                return _measured(_list(many[kind]), kind)
    if isinstance(many, list):
        inner = [each if isinstance(each, list) else _vector_of(each) for each in many]
        return _measured(inner, None)
    predictions = [as_object(as_object(each).get("embeddings")) for each in _list(body.get("predictions"))]
    if predictions and all("values" in each for each in predictions):
        return _measured([each["values"] for each in predictions], None)
    return None


def _vector_of(value: object) -> object:
    item = as_object(value)
    return item.get("embedding", item.get("values"))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _measured(vectors: Iterable[object], dtype: str | None) -> tuple[int, int] | None:
    dims: int | None = None
    count = 0
    for vector in vectors:
        length = _length(vector, dtype)
        if length:
            dims = dims or length
            count += 1
    return None if dims is None else (dims, count)


def _length(vector: object, dtype: str | None) -> int | None:
    """Give how many numbers a vector has; eight a byte where the request asked for bits."""
    packed = 8 if dtype in _PACKED else 1
    if isinstance(vector, list):
        return len(vector) * packed
    if not isinstance(vector, str):
        return None
    try:
        size = len(base64.b64decode(vector, validate=True))
    except (binascii.Error, ValueError):
        return None
    if dtype in (*_PACKED, "int8", "uint8"):
        return size * packed
    # float32, as every provider sends it unless asked for something else; shorter is more likely bits or bytes
    return size // 4 if size % 4 == 0 and size // 4 >= _FEWEST_FLOATS else None


def inputs_of(request: object) -> int | None:
    """Count the texts that a request asks to embed."""
    asked = as_object(request)
    for key in ("input", "texts", "inputs", "requests"):
        value = asked.get(key)
        if isinstance(value, list):
            # a list of whole numbers is one text in tokens
            return 1 if value and all(as_whole(each) is not None for each in value) else len(value)
        if isinstance(value, str):
            return 1
    return 1 if isinstance(asked.get("inputText", asked.get("prompt")), str) else None
