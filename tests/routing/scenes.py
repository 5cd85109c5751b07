"""Routing logs made for tests: lines in the words of the format, and the log that a recorded trace writes."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import orjson

from workbench.core.routing import RoutingDialect
from workbench.routing.log import read_log, read_pieces
from workbench.routing.replay import Replay, replay_log
from workbench.routing.stepping import Asked

Line = dict[str, Any]

OUTCOMES = {
    "ok": ("success", None),
    "partial_null": ("success", None),
    "null": ("null", None),
    "null_with_error": ("null", "MISSING_EMBEDDING"),
    "error": ("error", "PROVIDER_FAILURE"),
    "timeout": ("error", "timeout"),
    "rate_limited": ("error", "429"),
    "abort": ("error", "abort"),
    "circuit_open": ("not_permitted", None),
}
"""How the words of traces stand in a log: outcome and kind of failure."""

NATIVE = ("acme-embed", 1536)
SPARE = ("spare-embed", 1536)


def attempt(leg: str, word: str = "ok", at: float = 0, call: str | None = None, **more: Any) -> Line:  # noqa: ANN401
    """Give the line of an attempt; ``made`` is model and length of its vectors, other names are keys."""
    outcome, error = OUTCOMES[word]
    line: Line = {"leg": leg, "timestamp": at, "op": more.pop("op", "embed"), "outcome": outcome}
    model, dims = more.pop("made", (None, None))
    named = {"error.type": error, "call.id": call, "gen_ai.request.model": model, "embedding.dimensions": dims}
    line |= {key: value for key, value in named.items() if value is not None}
    line |= {key.replace("__", "."): value for key, value in more.items()}
    return line


def config(threshold: float = 3, cooldown_ms: float = 300_000) -> Line:
    """Give a config line."""
    return {"record": "config", "failure_streak_threshold": threshold, "cooldown_ms": cooldown_ms}


def namespace(name: str = "docs", made: tuple[str, int] = NATIVE) -> Line:
    """Give the line that says what a namespace was built with."""
    return {"record": "namespace", "id": name, "model": made[0], "dimensions": made[1]}


def text_of(lines: list[Line]) -> bytes:
    """Give the log as it stands in a file."""
    return b"".join(orjson.dumps(line) + b"\n" for line in lines)


def written(path: Path, lines: list[Line]) -> Path:
    """Write a log."""
    path.write_bytes(text_of(lines))
    return path


def replayed(
    *lines: Line, asked: Asked | None = None, dialect: RoutingDialect | None = None, by_record: bool = False
) -> Replay:
    """Replay lines, the way that a file goes, or record by record."""
    file = BytesIO(text_of(list(lines)))
    return replay_log(read_log(file) if by_record else read_pieces(file), asked, dialect)


def log_of(trace: dict[str, Any], *, ids: bool = True, warns: bool = True) -> list[Line]:
    """Give the log that a provider writes which does what a trace expects."""
    said = trace["config"]
    lines = [config(said["failure_streak_threshold"], said["cooldown_ms"])]
    if "namespace" in said:
        lines.append(namespace(made=(said["namespace"]["model_id"], said["namespace"]["dims"])))
    for number, step in enumerate(trace["steps"]):
        if step["op"] == "reset":
            lines.append({"record": "reset", "timestamp": step["at_ms"]})
        if step["op"] not in ("embed", "embed_batch", "healthcheck"):
            continue
        at = step["at_ms"]
        for leg in step["expect"]["called"]:
            line = attempt(leg, step[leg], at, f"call-{number}" if ids else None, op=step["op"])
            if leg == "primary":
                line["duration_ms"] = step.get("primary_ms", 0)
                at += line["duration_ms"]
            if step[leg] == "partial_null":
                line["null.count"] = step.get("null_items") or 1
            if "items" in step or step["op"] == "embed_batch":
                line["input.count"] = step.get("items", 2)
            if leg in said:
                line |= {"gen_ai.request.model": said[leg]["model_id"], "embedding.dimensions": said[leg]["dims"]}
            if "namespace" in said:
                line |= {"namespace": "docs", "purpose": step.get("purpose", "document")}
            lines.append(line)
            if leg == "primary" and warns:
                lines += [_transition(warn, at) for warn in step["expect"]["warns"]]
    return lines


def _transition(warn: str, at: float) -> Line:
    origin, target = warn.split("->")
    return {"record": "transition", "timestamp": at, "from": origin, "to": target}
