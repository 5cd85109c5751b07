"""A small embedding server on this machine, for the scripts beside it: OpenAI's shape, failing when told to."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class EmbeddingServer(ThreadingHTTPServer):
    """Answers ``POST /v1/embeddings`` with vectors that depend on the text alone.

    Attributes:
        model: what it says that it is.
        dims: the length of its vectors.
        failing: an HTTP status that it answers with instead, None when it is well.
    """

    daemon_threads = True

    def __init__(self, model: str, dims: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model
        self.dims = dims
        self.failing: int | None = None

    @property
    def base_url(self) -> str:
        """Where it listens, as clients of OpenAI want to be told."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        """Answer one request."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.failing is not None:
            self._answer(
                self.server.failing, {"error": {"message": "the model is being moved", "type": "server_error"}}
            )
            return
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        data = [
            {
                "object": "embedding",
                "index": n,
                "embedding": _encode(text, self.server.dims, asked.get("encoding_format")),
            }
            for n, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": sum(len(text.split()) for text in texts), "total_tokens": 0}
        usage["total_tokens"] = usage["prompt_tokens"]
        self._answer(200, {"object": "list", "data": data, "model": self.server.model, "usage": usage})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        payload = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _encode(text: str, dims: int, encoding: str | None) -> list[float] | str:
    seed = hashlib.sha256(text.encode()).digest()
    numbers = [round(seed[n % 32] / 255 - 0.5, 4) for n in range(dims)]
    return base64.b64encode(struct.pack(f"<{dims}f", *numbers)).decode() if encoding == "base64" else numbers


@contextmanager
def embedding_server(model: str, dims: int) -> Iterator[EmbeddingServer]:
    """Run a server in a thread of its own, on a free port."""
    server = EmbeddingServer(model, dims)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
