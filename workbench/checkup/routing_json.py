"""A replayed routing log as the plain values that `replay --json` writes: every key of the contract, and a few more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.routing.calls import Flag

if TYPE_CHECKING:
    from workbench.core.routing import RoutingDialect
    from workbench.crosscheck.ledger import ContaminatedRows
    from workbench.routing.ledger import LedgerRow
    from workbench.routing.model import LogProblem
    from workbench.routing.opening import ReplayedLog
    from workbench.routing.replay import ReplayedCall

JsonObject = dict[str, object]


def replay_as_json(replayed: ReplayedLog, joined: Sequence[ContaminatedRows] = ()) -> JsonObject:
    """Write the whole document; ``joined`` is what opened indexes hold of the keys."""
    replay = replayed.replay
    fit = replay.fit
    return {
        "path": replayed.path,
        "format": replayed.format,
        "why": replayed.why,
        "config": {
            "failure_streak_threshold": _number(replay.config.failure_streak_threshold),
            "cooldown_ms": _number(replay.config.cooldown_ms),
            "dialect": dialect_names(replay.dialect),
        },
        "calls": [_call(replay.call(n)) for n in range(1, replay.count + 1)],
        "ledger": [_row(row, joined) for row in replay.ledger.rows],
        "divergences": len(replay.divergences),
        "transitions": [
            {"n": each.n, "at_ms": _number(each.at_ms), "warn": each.warn, "cause": each.cause}
            for each in replay.transitions
        ],
        "fit": None
        if fit is None
        else {
            "failure_streak_threshold": _number(fit.threshold),
            "cooldown_ms": _number(fit.cooldown_ms),
            "dialect": dialect_names(fit.dialect),
            "divergences": fit.divergences,
        },
        "problems": [_problem(each) for each in replay.problems],
    }


def dialect_names(dialect: RoutingDialect) -> list[str]:
    """Name the switches of a dialect that are on, as ``--dialect`` takes them."""
    return [name.replace("_", "-") for name in dialect.__slots__ if getattr(dialect, name)]


def _call(call: ReplayedCall) -> JsonObject:
    return {
        "n": call.n,
        "at_ms": _number(call.at_ms),
        "instance": call.instance,
        "op": call.op.value,
        "called": [leg.value for leg in call.called],
        "served_by": None if call.served_by is None else call.served_by.value,
        "phase": call.phase.value,
        "state": call.state.value,
        "streak": call.streak,
        "fallback_until_ms": _number(call.fallback_until_ms),
        "warns": list(call.warns),
        "last_error_kind": None if call.last_error_kind is None else call.last_error_kind.value,
        "divergence": call.divergence,
        "ended_ms": _number(call.ended_ms),
        "last_error": call.last_error,
        "namespace": call.namespace,
        "purpose": call.purpose,
        "lines": list(call.lines),
        "flags": flag_names(call.flags),
    }


def flag_names(flags: Flag) -> list[str]:
    """Name what is odd about a call."""
    return [(flag.name or "").lower().replace("_", "-") for flag in Flag if flag in flags]


def _row(row: LedgerRow, joined: Sequence[ContaminatedRows]) -> JsonObject:
    return {
        "namespace": row.namespace,
        "fingerprint": row.fingerprint,
        "native": row.native,
        "foreign_same_dims": row.foreign_same_dims,
        "foreign_dims_mismatch": row.foreign_dims_mismatch,
        "missing": row.missing,
        "cross_space_queries": row.cross_space_queries,
        "first_call": row.first_call,
        "last_call": row.last_call,
        "keys": list(row.keys),
        "assumed": row.assumed,
        "foreign": [
            {"fingerprint": each.fingerprint, "vectors": each.vectors, "queries": each.queries} for each in row.foreign
        ],
        "indexed": [
            {
                "source": each.source,
                "namespace": each.namespace,
                "ids": list(each.ids),
                "absent": each.absent,
                "not_looked_up": each.not_looked_up,
            }
            for each in joined
            if each.ledger == row and each.source is not None
        ],
    }


def _problem(problem: LogProblem) -> JsonObject:
    return {"message": problem.message, "line": problem.line}


def _number(value: float | None) -> float | int | None:
    """Write whole numbers without a fraction; what JSON has no number for is null."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if value == value // 1 and abs(value) < 2**53 else value
