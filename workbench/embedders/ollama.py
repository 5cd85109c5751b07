"""Embedders behind Ollama's own ``/api/embed``, which can be told not to cut what is too long."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.embedders.answers import json_object, tokens_of
from workbench.embedders.failures import Wrong, WrongAnswer
from workbench.embedders.protocol import Purpose
from workbench.embedders.serving import Answer, ServedProvider
from workbench.embedders.vectors import decoded

if TYPE_CHECKING:
    from workbench.embedders.endpoint import HttpAnswer

DEFAULT_URL = "http://localhost:11434"


class OllamaProvider(ServedProvider):
    """Speaks ``POST <base_url>/api/embed`` with ``truncate: false``, since the default there is to cut in silence.

    One model answered with zero vectors instead of refusing; these are found as every zero vector is.
    """

    kind = "ollama"

    def _request(self, texts: Sequence[str], purpose: Purpose) -> tuple[str, bytes]:
        body: dict[str, object] = {
            **dict(self._served.send),
            "model": self.model_id,
            "input": list(texts),
            "truncate": False,
        }
        if self._served.send_dimensions and self._dims is not None:
            body["dimensions"] = self._dims
        return "api/embed", json.dumps(body, ensure_ascii=False).encode()

    def _read(self, answer: HttpAnswer) -> Answer:
        host = self._endpoint.address.host
        document = json_object(answer, host)
        rows = document.get("embeddings")
        if not isinstance(rows, list):
            raise WrongAnswer(f"{host} answered without a list of embeddings", wrong=Wrong.SHAPE)
        model = document.get("model")
        return Answer(
            vectors=tuple(decoded(row, host) for row in rows),
            tokens=tokens_of(document, "prompt_eval_count"),
            model=model if isinstance(model, str) and model else None,
        )
