"""Logs of other programs for the tests: those that the programs wrote, and short ones of their shape."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from workbench.routing.model import Attempt, LogProblem, Record

WRITTEN = Path(__file__).resolve().parents[1] / "data" / "routing"

Reader = Callable[[BinaryIO], Iterator[Record | LogProblem]]


def attempts_and_problems(read: Reader, log: bytes | Path) -> tuple[list[Attempt], list[str]]:
    """Read a log: its attempts, and the sentences of its problems."""
    data = log.read_bytes() if isinstance(log, Path) else log
    found = list(read(io.BytesIO(data)))
    return (
        [each for each in found if isinstance(each, Attempt)],
        [each.message for each in found if isinstance(each, LogProblem)],
    )


def payload(model: str, at: float, *, ok: bool = True, trace: str | None = None, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Give the part of a LiteLLM payload that routing is about; ``at`` is in seconds."""
    return {
        "trace_id": trace,
        "call_type": "aembedding",
        "status": "success" if ok else "failure",
        "startTime": 1_700_000_000 + at,
        "endTime": 1_700_000_000 + at + 0.1,
        "model": model,
        "model_group": f"group-of-{model}",
        "model_id": f"{model}-1",
        "api_base": f"http://{model}.example/v1",
        "custom_llm_provider": "openai",
        "error_information": {} if ok else {"error_class": "InternalServerError", "error_code": "500"},
        "messages": [{"role": "user", "content": "a text"}],
        "response": {"model": model, "data": [{"embedding": [0.1, 0.2]}]} if ok else {},
        **more,
    }


def lines(*values: object) -> bytes:
    """Write values as JSON Lines."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def span(model: str, at: float, *, ok: bool = True, parent: str | None = None, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Give an OTel GenAI embedding span; ``at`` is in seconds."""
    attributes = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": model}
    attributes |= {"gen_ai.response.model": model} if ok else {"error.type": "500"}
    start = int((1_700_000_000 + at) * 1e9)
    return {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": f"{abs(hash((model, at))):016x}"[:16],
        "parentSpanId": parent,
        "name": f"embeddings {model}",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 100_000_000),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
        "status": {} if ok else {"code": 2},
        **more,
    }


def batch(*spans: object, scope: str = "app", **resource: str) -> dict[str, Any]:
    """Give an OTLP batch; ``resource`` has underscores for the dots of its keys."""
    attributes = [{"key": key.replace("_", "."), "value": {"stringValue": value}} for key, value in resource.items()]
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes},
                "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}],
            }
        ]
    }
