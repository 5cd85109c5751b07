"""Embedders behind any OpenAI-compatible ``/v1/embeddings``."""

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


class OpenAIProvider(ServedProvider):
    """Speaks ``POST <base_url>/embeddings``; ``float`` is asked for, base64 is understood.

    Float by default, because some servers ignore base64 and clients then read vectors of a quarter of their length.
    """

    kind = "openai"

    def _request(self, texts: Sequence[str], purpose: Purpose) -> tuple[str, bytes]:
        body: dict[str, object] = {
            **dict(self._served.send),
            "model": self.model_id,
            "input": list(texts),
            "encoding_format": "float",
        }
        if self._served.send_dimensions and self._dims is not None:
            body["dimensions"] = self._dims
        if self.policy.input_type:
            body["input_type"] = purpose
        return "embeddings", json.dumps(body, ensure_ascii=False).encode()

    def _read(self, answer: HttpAnswer) -> Answer:
        host = self._endpoint.address.host
        document = json_object(answer, host)
        data = document.get("data")
        if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
            raise WrongAnswer(f"{host} answered without a list of embeddings", wrong=Wrong.SHAPE)
        model = document.get("model")
        return Answer(
            vectors=tuple(decoded(each.get("embedding"), host) for each in _in_order(data, host)),
            tokens=tokens_of(document.get("usage"), "prompt_tokens", "total_tokens"),
            model=model if isinstance(model, str) and model else None,
        )


def _in_order(data: list[dict[str, object]], host: str) -> list[dict[str, object]]:
    """Sort by ``index``: not every server answers in the order of the texts. Without any index the order is theirs."""
    indexes = [each.get("index") for each in data]
    if all(index is None for index in indexes):
        return data
    places = {index: each for index, each in zip(indexes, data, strict=True) if type(index) is int}
    if sorted(places) != list(range(len(data))):
        raise WrongAnswer(f"{host} answered with indexes that are not those of the texts", wrong=Wrong.INDEX)
    return [places[index] for index in range(len(data))]
