"""A server that embeds, over real sockets, can be told to misbehave, and counts what it was asked.

As a process: ``python -m tests.embedders.misbehaving_server --vectors hashing --reads 256 --too-long openai`` writes
its address as the first line of stdout and serves until it is ended; ``GET /asked`` gives the counts, ``POST /behave``
takes the fields of ``Behaviour`` as JSON, and ``POST /faults`` a list of names of ``Fault`` for the next requests.
"""

from __future__ import annotations

import argparse
import base64
import email.utils
import hashlib
import json
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class TooLong(Enum):
    """What it does with a text of more tokens than it reads: cut it in silence, or refuse as some server does."""

    CLIP = "clip"
    OPENAI = "openai"
    VLLM = "vllm"
    OLLAMA = "ollama"
    OLLAMA_500 = "ollama-500"
    OLLAMA_ZERO = "ollama-zero"
    TEI = "tei"
    LLAMA_CPP = "llama-cpp"


class BatchRefusal(Enum):
    """How it says that one request holds too much."""

    MISTRAL = "mistral"
    MISTRAL_CODE = "mistral-code"
    TEI = "tei"
    OPENAI = "openai"
    VOYAGE = "voyage"
    PROXY = "proxy"


class Fault(Enum):
    """What it does with one request, whatever it holds."""

    FINE = "fine"
    KEY_401 = "401"
    KEY_403 = "403"
    MODEL_404 = "404"
    CONFLICT_409 = "409"
    EARLY_425 = "425"
    QUOTA_429 = "429-quota"
    BUSY_429 = "429"
    BUSY_429_SECONDS = "429-seconds"
    BUSY_429_DATE = "429-date"
    BUSY_429_MILLISECONDS = "429-milliseconds"
    BUSY_429_DAY = "429-day"
    BROKEN_500 = "500"
    BUSY_503 = "503"
    PAGE_502 = "502-page"
    REDIRECT = "redirect"
    PAGE = "page"
    ERROR_200 = "200-error"
    HANG = "hang"
    DRIP = "drip"
    RESET = "reset"
    CUT_BODY = "cut-body"
    CUT_JSON = "cut-json"
    FLOOD = "flood"
    FEWER = "fewer"
    MORE = "more"
    SAME_INDEX = "same-index"
    NO_INDEX = "no-index"
    NO_EMBEDDINGS = "no-embeddings"
    WORDS_FOR_NUMBERS = "words-for-numbers"


@dataclass(frozen=True)
class Behaviour:
    """How it stands to all requests.

    Attributes:
        reads: how many tokens of a text it reads; None for all. Tokens are words, or those of the model behind it.
        max_inputs, max_batch_tokens: what one request may hold.
        shuffled: answers out of order, with right indexes.
        base64: ``asked`` answers as it is asked to, ``always`` and ``never`` do not care.
        wrong_dims_from, other_model_from: the number of the request (from 1) from which vectors are shorter, and from
            which it names another model.
        noise: how far each answer to the same text is moved.
    """

    reads: int | None = None
    too_long: TooLong = TooLong.CLIP
    max_inputs: int | None = None
    max_batch_tokens: int | None = None
    batch_refusal: BatchRefusal = BatchRefusal.OPENAI
    shuffled: bool = False
    base64: str = "asked"
    wrong_dims_from: int | None = None
    other_model_from: int | None = None
    noise: float = 0.0
    retry_after_s: float = 2.0


NAN_MARK, ZERO_MARK, NULL_MARK, REFUSED_MARK = "⟦nan⟧", "⟦zero⟧", "⟦null⟧", "⟦refused⟧"
"""A text that holds one of these gets such a vector, or is refused for good."""


class Embedder(Protocol):
    """What stands behind the server."""

    dims: int

    def count(self, text: str) -> int:
        """Count tokens."""

    def cut(self, text: str, tokens: int) -> str:
        """Keep so many tokens."""

    def embed(self, text: str) -> NDArray[np.float32]:
        """Give the vector of a text."""


class Hashing:
    """Words hashed into signs of 64 places: deterministic, and similar for texts that share words."""

    dims = 64

    def count(self, text: str) -> int:
        return len(text.split())

    def cut(self, text: str, tokens: int) -> str:
        return " ".join(text.split()[:tokens])

    def embed(self, text: str) -> NDArray[np.float32]:
        vector = np.full(self.dims, 1e-3, np.float32)
        for word in text.lower().split():
            digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
            vector[digest[0] % self.dims] += 1.0 if digest[1] % 2 else -1.0
            vector[digest[2] % self.dims] += 1.0 if digest[3] % 2 else -1.0
        return (vector / np.linalg.norm(vector)).astype(np.float32)


class WordLlama(Hashing):
    """Real vectors, when the extra is installed."""

    dims = 256

    def __init__(self) -> None:
        from workbench.embedders.wordllama import WordLlamaProvider

        self._provider = WordLlamaProvider()

    def embed(self, text: str) -> NDArray[np.float32]:
        return self._provider._embed_one(text)


class MiniLm(WordLlama):
    """Real vectors and real tokens, when the extra is installed."""

    dims = 384

    def __init__(self) -> None:
        from workbench.embedders.minilm import MiniLmProvider, minilm_counter

        self._minilm = MiniLmProvider()
        self._counter = minilm_counter()

    def count(self, text: str) -> int:
        return self._counter.count(text)

    def cut(self, text: str, tokens: int) -> str:
        return text  # the model behind it cuts by itself

    def embed(self, text: str) -> NDArray[np.float32]:
        return self._minilm._embed_one(text)


EMBEDDERS = {"hashing": Hashing, "wordllama": WordLlama, "minilm": MiniLm}


def digest_of(text: str) -> str:
    """Give the name under which a text is counted."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class Asked:
    """What was asked so far: requests, texts by their digest, texts that were answered, and what came in headers."""

    requests: int = 0
    texts: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def times(self, text: str) -> int:
        """Say how often a text came in."""
        return self.texts[digest_of(text)]


class MisbehavingServer:
    """Serves on a port of this machine until the block ends."""

    def __init__(self, embedder: Embedder | None = None, behaviour: Behaviour | None = None, port: int = 0) -> None:
        self.embedder: Embedder = Hashing() if embedder is None else embedder
        self.behaviour = behaviour or Behaviour()
        self.model = "test-embedder"
        self.asked = Asked()
        self.faults: deque[Fault] = deque()
        self.redirect_to = ""
        self.now: Callable[[], float] = time.time
        self.released = threading.Event()
        self.lock = threading.Lock()
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.served = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> MisbehavingServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        """The address without a path; ``/v1`` leads to the OpenAI-compatible part."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def host(self) -> str:
        """Host and port."""
        return self.url.removeprefix("http://")

    def fail(self, *faults: Fault) -> None:
        """Let the next requests fail in these ways, one each."""
        self.faults.extend(faults)

    def behave(self, **changes: Any) -> None:  # noqa: ANN401
        """Change how it stands to all requests."""
        self.behaviour = replace(self.behaviour, **changes)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    served: MisbehavingServer

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Say nothing: clients that leave are what some tests are about."""


class _Refused(Exception):
    def __init__(self, status: int, body: object, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.headers = headers


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        served = self.server.served
        if self.path == "/asked":
            asked = served.asked
            self._answer(
                200, {"requests": asked.requests, "texts": dict(asked.texts), "answered": dict(asked.answered)}
            )
        else:
            self._answer(404, {"error": "there is nothing"})

    def do_POST(self) -> None:
        served = self.server.served
        document = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        if self.path == "/behave":
            served.behave(**_behaviour_of(document))
            self._answer(200, {})
            return
        if self.path == "/faults":
            served.fail(*(Fault(name) for name in document))
            self._answer(200, {})
            return
        texts = _texts_of(document.get("input"))
        with served.lock:
            served.asked.requests += 1
            number = served.asked.requests
            served.asked.texts.update(map(digest_of, texts))
            served.asked.bodies.append(document)
            served.asked.headers.append({name.lower(): value for name, value in self.headers.items()})
            served.asked.paths.append(self.path)
            fault = served.faults.popleft() if served.faults else Fault.FINE
        try:
            self._fail(fault)
            body = self._embeddings(document, texts, number, fault)
        except _Refused as refused:
            self._answer(refused.status, refused.body, refused.headers)
            return
        if fault is Fault.CUT_JSON:
            self._raw(200, json.dumps(body).encode()[:-20])
        elif fault in (Fault.CUT_BODY, Fault.DRIP):
            self._partly(json.dumps(body).encode(), fault)
        else:
            with served.lock:
                served.asked.answered.update(map(digest_of, texts))
            self._answer(200, body)

    def _fail(self, fault: Fault) -> None:
        served = self.server.served
        wait = served.behaviour.retry_after_s
        date = email.utils.formatdate(served.now() + wait, usegmt=True)
        refusals: dict[Fault, _Refused] = {
            Fault.KEY_401: _error(401, f"Incorrect API key provided: {self._key()}. You can find your key at home."),
            Fault.KEY_403: _error(403, f"the key {self._key()} may not do this"),
            Fault.MODEL_404: _error(404, "The model `test-embedder` does not exist"),
            Fault.CONFLICT_409: _error(409, "try again"),
            Fault.EARLY_425: _error(425, "too early"),
            Fault.QUOTA_429: _Refused(
                429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
            ),
            Fault.BUSY_429: _error(429, "Rate limit reached"),
            Fault.BUSY_429_SECONDS: _error(429, "Rate limit reached", ("Retry-After", f"{wait:g}")),
            Fault.BUSY_429_DATE: _error(429, "Rate limit reached", ("Retry-After", date)),
            Fault.BUSY_429_MILLISECONDS: _error(429, "Rate limit reached", ("retry-after-ms", f"{wait * 1000:g}")),
            Fault.BUSY_429_DAY: _error(429, "Rate limit reached", ("Retry-After", "86400")),
            Fault.BROKEN_500: _error(500, f"internal error while serving {self._key()}"),
            Fault.BUSY_503: _error(503, "overloaded"),
            Fault.PAGE_502: _Refused(502, "<html><body>Bad gateway</body></html>"),
            Fault.REDIRECT: _Refused(307, {}, (("Location", served.redirect_to),)),
            Fault.PAGE: _Refused(200, "<!doctype html><html><body>Please log in</body></html>"),
            Fault.ERROR_200: _error(200, f"something went wrong for {self._key()}"),
        }
        if fault in refusals:
            raise refusals[fault]
        if fault is Fault.HANG:
            served.released.wait(30)
            raise _error(503, "gave up")
        if fault is Fault.RESET:
            self.connection.setsockopt(*_RESET)
            self.connection.close()
            raise ConnectionResetError
        if fault is Fault.FLOOD:
            self._flood()
            raise ConnectionResetError

    def _embeddings(
        self, document: dict[str, Any], texts: Sequence[str], number: int, fault: Fault
    ) -> dict[str, object]:
        served = self.server.served
        behaviour, embedder = served.behaviour, served.embedder
        ollama = self.path.endswith("/api/embed")
        if any(not text for text in texts):
            raise _error(400, "'$.input' is invalid: an input is empty")
        if any(REFUSED_MARK in text for text in texts):
            raise _error(400, "this text cannot be embedded")
        counts = [embedder.count(text) for text in texts]
        _check_batch(behaviour, len(texts), sum(counts))
        rows = [self._vector(text, count, document) for text, count in zip(texts, counts, strict=True)]
        if behaviour.wrong_dims_from is not None and number >= behaviour.wrong_dims_from:
            rows = [row[: len(row) // 2] for row in rows]
        if fault is Fault.FEWER:
            rows = rows[:-1]
        if fault is Fault.MORE:
            rows = [*rows, rows[-1]]
        named = behaviour.other_model_from is not None and number >= behaviour.other_model_from
        model = f"{document.get('model')}-other" if named else document.get("model")
        written: list[object] = [
            _with_null(row) if NULL_MARK in text else self._written(row, document)
            for row, text in zip(rows, [*texts, ""], strict=False)
        ]
        if fault is Fault.WORDS_FOR_NUMBERS:
            written = [["one", "two"] for _ in rows]
        if fault is Fault.NO_EMBEDDINGS:
            return {"model": model}
        if ollama:
            return {"model": model, "embeddings": written, "prompt_eval_count": sum(counts)}
        data: list[dict[str, object]] = [
            {"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(written)
        ]
        if fault is Fault.SAME_INDEX:
            data = [{**each, "index": 0} for each in data]
        if fault is Fault.NO_INDEX:
            data = [{"embedding": each["embedding"]} for each in data]
        if behaviour.shuffled:
            data.reverse()
        return {"object": "list", "model": model, "data": data, "usage": {"prompt_tokens": sum(counts)}}

    def _vector(self, text: str, count: int, document: dict[str, Any]) -> NDArray[np.float32]:
        served = self.server.served
        behaviour, embedder = served.behaviour, served.embedder
        if behaviour.reads is not None and count > behaviour.reads:
            zero = behaviour.too_long is TooLong.OLLAMA_ZERO
            clips = behaviour.too_long is TooLong.CLIP or document.get("truncate") is True
            if not clips and not zero:
                raise _too_long(behaviour, count)
            if zero:
                return np.zeros(embedder.dims, np.float32)
            text = embedder.cut(text, behaviour.reads)
        vector = embedder.embed(text)
        if behaviour.noise:
            rng = np.random.default_rng(served.asked.requests)
            vector = vector + rng.normal(0, behaviour.noise / np.sqrt(vector.size), vector.size).astype(np.float32)
        if NAN_MARK in text or NULL_MARK in text:
            vector = vector.copy()
            vector[1] = np.nan
        return vector * 0 if ZERO_MARK in text else vector

    def _written(self, row: NDArray[np.float32], document: dict[str, Any]) -> object:
        how = self.server.served.behaviour.base64
        if how == "always" or (how == "asked" and document.get("encoding_format") == "base64"):
            return base64.b64encode(struct.pack(f"<{row.size}f", *row.tolist())).decode()
        return [float(each) for each in row]

    def _key(self) -> str:
        return self.headers.get("Authorization", "").removeprefix("Bearer ") or self.headers.get("api-key", "")

    def _answer(self, status: int, body: object, headers: Iterable[tuple[str, str]] = ()) -> None:
        page = isinstance(body, str)
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self._raw(status, content, "text/html" if page else "application/json", headers)

    def _raw(
        self, status: int, content: bytes, kind: str = "application/json", headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _partly(self, content: bytes, fault: Fault) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if fault is Fault.CUT_BODY:
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
            return
        for byte in content:
            if self.server.served.released.wait(0.05):
                return
            self.wfile.write(bytes([byte]))

    def _flood(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        piece = b" " * 65_536
        while not self.server.served.released.is_set():
            self.wfile.write(piece)


_RESET = (1, 13, struct.pack("ii", 1, 0))  # SOL_SOCKET, SO_LINGER with no time: closing resets


def _with_null(row: NDArray[np.float32]) -> list[float | None]:
    return [float(each) if np.isfinite(each) else None for each in row]


def _error(status: int, message: str, *headers: tuple[str, str]) -> _Refused:
    return _Refused(status, {"error": {"message": message, "type": "invalid_request_error"}}, headers)


def _too_long(behaviour: Behaviour, count: int) -> _Refused:
    limit = behaviour.reads
    match behaviour.too_long:
        case TooLong.OPENAI:
            return _error(
                400, f"This model's maximum context length is {limit} tokens, however you requested {count} tokens."
            )
        case TooLong.VLLM:
            said = (
                f"This model's maximum context length is {limit} tokens. However, you requested {count} tokens in the"
            )
            return _Refused(400, {"object": "error", "message": f"{said} input.", "type": "BadRequestError"})
        case TooLong.OLLAMA:
            return _Refused(400, {"error": "the input length exceeds the context length"})
        case TooLong.OLLAMA_500:
            return _Refused(500, {"error": "the input length exceeds the context length"})
        case TooLong.TEI:
            said = f"Input validation error: `inputs` must have less than {limit} tokens. Given: {count}"
            return _Refused(413, {"error": said, "error_type": "Validation"})
        case _:
            said = f"input ({count} tokens) is too large to process. increase the physical batch size"
            said = f"{said} (current batch size: {limit})"
            return _Refused(500, {"error": {"code": 500, "message": said, "type": "server_error"}})


def _check_batch(behaviour: Behaviour, inputs: int, tokens: int) -> None:
    most, limit = behaviour.max_inputs, behaviour.max_batch_tokens
    if most is not None and inputs > most:
        match behaviour.batch_refusal:
            case BatchRefusal.TEI:
                said = f"batch size {inputs} > maximum allowed batch size {most}"
                raise _Refused(422, {"error": said, "error_type": "Validation"})
            case BatchRefusal.PROXY:
                raise _Refused(413, "<html><body>413 Request Entity Too Large</body></html>")
            case _:
                raise _error(400, f"Invalid 'input': array too long. Expected an array with maximum length {most}")
    if limit is not None and tokens > limit:
        match behaviour.batch_refusal:
            case BatchRefusal.MISTRAL:
                said = f"Too many tokens in batch. Max is {limit} got {tokens}"
                raise _Refused(400, {"object": "error", "message": said, "type": "invalid_request_prompt"})
            case BatchRefusal.MISTRAL_CODE:
                said = "Too many tokens overall, split into more batches."
                raise _Refused(400, {"object": "error", "message": said, "code": "3210"})
            case BatchRefusal.VOYAGE:
                said = f"The max allowed tokens per submitted batch is {limit}. Your batch has {tokens} tokens"
                raise _Refused(400, {"detail": said})
            case _:
                raise _error(400, f"Requested {tokens} tokens, max {limit} tokens per request")


def _texts_of(given: Any) -> list[str]:  # noqa: ANN401
    if isinstance(given, str):
        return [given]
    if isinstance(given, list):
        return [each if isinstance(each, str) else json.dumps(each) for each in given]
    return []


def _behaviour_of(document: dict[str, Any]) -> dict[str, Any]:
    kinds: dict[str, type[Enum]] = {"too_long": TooLong, "batch_refusal": BatchRefusal}
    known = {each.name for each in fields(Behaviour)}
    return {name: kinds[name](value) if name in kinds else value for name, value in document.items() if name in known}


@contextmanager
def serving(behaviour: Behaviour | None = None) -> Iterator[MisbehavingServer]:
    """Serve while the block runs."""
    with MisbehavingServer(behaviour=behaviour) as server:
        yield server


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--vectors", choices=EMBEDDERS, default="hashing")
    parser.add_argument("--reads", type=int)
    parser.add_argument("--too-long", choices=[each.value for each in TooLong], default="clip")
    parser.add_argument("--max-inputs", type=int)
    given = parser.parse_args()
    behaviour = Behaviour(reads=given.reads, too_long=TooLong(given.too_long), max_inputs=given.max_inputs)
    with MisbehavingServer(EMBEDDERS[given.vectors](), behaviour, given.port) as server:
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
