"""A trace driven through the provider: its steps, and what was seen after each, in the words of the traces."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.embedders.legs import Clock, Leg
from workbench.core.fingerprint import Fingerprint
from workbench.core.routing import RoutingSnapshot
from workbench.embedders.auto_fallback import AutoFallbackEmbeddingProvider
from workbench.embedders.destination import vectors_for
from workbench.embedders.protocol import Purpose
from workbench.routing.log_writing import RoutingLog

Trace = dict[str, Any]


@dataclass
class Routed:
    """A provider over two legs that do as told, its clock and its warnings, and optionally its log."""

    threshold: float = 3
    cooldown_ms: float = 300_000
    log: Path | None = None
    primary_model: tuple[str, int] = ("primary-model", 3)
    fallback_model: tuple[str, int] = ("fallback-model", 3)
    clock: Clock = field(default_factory=Clock)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.primary = Leg("primary", *self.primary_model, clock=self.clock)
        self.fallback = Leg("fallback", *self.fallback_model, clock=self.clock)
        self.provider = AutoFallbackEmbeddingProvider(
            self.primary,
            self.fallback,
            failure_streak_threshold=self.threshold,
            cooldown_ms=self.cooldown_ms,
            warn=self.warnings.append,
            now=self.clock,
            log=None if self.log is None else RoutingLog(self.log),
        )

    async def call(self, primary: str, fallback: str = "ok", *, purpose: Purpose = "document") -> str:
        """Make one call; says what came of it: vector, null, or raise."""
        self.primary.word, self.fallback.word = primary, fallback
        try:
            value = await self.provider.embed("a text", purpose=purpose)
        except Exception:
            return "raise"
        return "null" if value is None else "vector"

    async def batch(self, primary: str, fallback: str = "ok", *, items: int, purpose: Purpose = "document") -> str:
        """Make one call for several texts; says what came of it, ``partial`` when some came back without a vector."""
        self.primary.word, self.fallback.word = primary, fallback
        try:
            vectors = await self.provider.embed_batch(["a text"] * items, purpose=purpose)
        except Exception:
            return "raise"
        missing = sum(vector is None for vector in vectors)
        return "vector" if not missing else "null" if missing == items else "partial"


def routed_for(trace: Trace, log: Path | None = None) -> Routed:
    """Make the provider that a trace describes."""
    config = trace["config"]
    named = {"model_id": "fallback-model", "dims": 3}
    primary, fallback = config.get("primary", named | {"model_id": "primary-model"}), config.get("fallback", named)
    return Routed(
        config["failure_streak_threshold"],
        config["cooldown_ms"],
        log,
        (primary["model_id"], primary["dims"]),
        (fallback["model_id"], fallback["dims"]),
    )


@dataclass(frozen=True)
class Step:
    """What was seen after one step of a trace, and the state of the machine then."""

    seen: dict[str, object]
    snapshot: RoutingSnapshot


async def play(trace: Trace, log: Path | None = None) -> list[Step]:
    """Drive the provider through a trace."""
    routed = routed_for(trace, log)
    namespace = trace["config"].get("namespace")
    fingerprint = None if namespace is None else Fingerprint(namespace["model_id"], namespace["dims"])
    steps, served_texts = [], 0
    for step in trace["steps"]:
        routed.clock.now_ms = step["at_ms"]
        items = step.get("items", 2 if step["op"] == "embed_batch" else 1)
        document = step.get("purpose", "document") == "document"
        keys = [f"{served_texts + number:04x}_0" for number in range(items)] if document else []
        served_texts += items
        with vectors_for("notes", keys, fingerprint=fingerprint):
            steps.append(await _step(routed, step, items))
    return steps


async def _step(routed: Routed, step: Trace, items: int) -> Step:
    primary, fallback, provider = routed.primary, routed.fallback, routed.provider
    primary.asked.clear()
    fallback.asked.clear()
    before = len(routed.warnings)
    primary.takes_ms = step.get("primary_ms", 0)
    primary.null_items = fallback.null_items = step.get("null_items", 0)
    purpose = step.get("purpose", "document")
    result = None
    match step["op"]:
        case "embed":
            result = await routed.call(step["primary"], step["fallback"], purpose=purpose)
        case "embed_batch":
            result = await routed.batch(step["primary"], step["fallback"], items=items, purpose=purpose)
        case "healthcheck":
            primary.word, fallback.word = step["primary"], step["fallback"]
            await provider.healthcheck()
        case "reset":
            provider.reset()
        case "dispose":
            await provider.dispose()
        case "peek":
            provider.snapshot()
        case other:
            raise AssertionError(f"the tests do not know the step {other}")
    called = [name for name, leg in (("primary", primary), ("fallback", fallback)) if leg.asked]
    snapshot = provider.snapshot()
    at_ms = step["at_ms"]
    until = snapshot.fallback_until_ms
    seen = {
        "called": called,
        "served_by": None if result in (None, "raise") else called[-1],
        "result": result,
        "state": provider.routing_state,
        "streak": snapshot.streak,
        "fallback_until_ms": until,
        "warns": [warning.split()[2].rstrip(":") for warning in routed.warnings[before:]],
        "last_error_kind": kind_of(provider.last_error),
        "cooldown_active": until is not None and at_ms < until,
    }
    return Step(seen, snapshot)


def kind_of(last_error: str | None) -> str | None:
    """Say whose messages a last error holds; the fake legs name themselves at the end of theirs."""
    if last_error is None:
        return None
    if last_error.startswith("primary: "):
        assert " of the primary | fallback: " in last_error or "by the primary | fallback: " in last_error
        return "both"
    return last_error.rsplit(maxsplit=1)[-1]
