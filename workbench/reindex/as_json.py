"""Plans, outcomes and states as the JSON of the contract, for the command and for the report that is kept."""

from __future__ import annotations

from typing import Any

from workbench.reindex.generations import NamespaceGenerations
from workbench.reindex.model import Outcome, Plan, Range, RunState, Settings, Verification


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """Give a plan; what is not known is null."""
    cost = plan.cost
    return {
        "namespace": plan.namespace,
        "from": plan.origin,
        "to": plan.target,
        "ceiling": {"chars": plan.ceiling.chars, "source": plan.ceiling.source},
        "clipped": {"now": plan.clipped_now, "then": plan.clipped_then},
        "chunks": {
            "total": plan.chunks.total,
            "reuse": plan.chunks.reuse,
            "embed": plan.chunks.embed,
            "resplit": plan.chunks.resplit,
            "skip": plan.chunks.skip,
            "impossible": plan.chunks.impossible,
        },
        "pieces": plan.pieces,
        "chars": plan.chars,
        "tokens": {**_range(plan.tokens, whole=True), "basis": plan.tokens_basis, "probes": plan.probe_tokens},
        "cost_usd": None if cost is None else {**_range(cost.usd), "price_read_on": cost.price_read_on},
        "seconds": plan.seconds,
        "disk_bytes": plan.disk_bytes,
        "impossible_ids": list(plan.impossible_ids),
        "conflict": plan.conflict,
    }


def outcome_as_json(outcome: Outcome) -> dict[str, Any]:
    """Give how a run ended."""
    return {
        "namespace": outcome.namespace,
        "state": outcome.state.value,
        "generation": outcome.generation,
        "embedded": outcome.embedded,
        "reused": outcome.reused,
        "requests": outcome.requests,
        "quarantined": [{"id": each.id, "reason": each.reason} for each in outcome.quarantined],
        "verify": verification_as_json(outcome.verification),
        "report": outcome.report,
        "message": outcome.message,
    }


def verification_as_json(verification: Verification | None) -> dict[str, Any] | None:
    """Give the checks and what was reported beside them; null when nothing was verified."""
    if verification is None:
        return None
    return {
        "ok": verification.ok,
        "checks": [{"name": each.name, "ok": each.ok, "detail": each.detail} for each in verification.checks],
        "neighbour_overlap": verification.neighbour_overlap,
        "regained": [
            {"id": each.id, "before": each.before, "after": each.after, "of": each.of, "measured": each.measured}
            for each in verification.regained
        ],
        "not_measured": verification.not_measured,
    }


def status_as_json(
    namespaces: tuple[NamespaceGenerations, ...],
    unfinished: tuple[tuple[str, Settings, RunState], ...],
    in_use: tuple[tuple[str, str], ...] = (),
    left_behind: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Give every namespace with its generations, and the re-index that is under way.

    ``in_use`` are builds that cannot be read now, and why; ``left_behind`` are files of swaps that were killed.
    """
    under_way = {settings.namespace: (path, settings, state) for path, settings, state in unfinished}
    return {
        "namespaces": [
            {
                "namespace": each.namespace,
                "active_generation": each.active,
                "generations": [
                    {
                        "generation": one.generation,
                        "fingerprint": one.fingerprint,
                        "state": one.state,
                        "count": one.count,
                        "created_at": one.created_ms,
                    }
                    for one in each.generations
                ],
                "unfinished": _unfinished(under_way.get(each.namespace)),
            }
            for each in namespaces
        ],
        "in_use": [{"path": path, "message": message} for path, message in in_use],
        "left_behind": list(left_behind),
    }


def _unfinished(found: tuple[str, Settings, RunState] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    path, settings, state = found
    return {"path": path, "state": state.value, "to": settings.fingerprint, "embedder": settings.embedder}


def _range(given: Range, *, whole: bool = False) -> dict[str, float]:
    figures = {"low": given.low, "likely": given.likely, "high": given.high}
    return {name: round(value) if whole else value for name, value in figures.items()}
