"""A replayed routing log as the plain values that `replay --json` writes: every key of the contract, and a few more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.routing.calls import Flag
from workbench.routing.replay import LAST_ERRORS, PHASES, WARNS

if TYPE_CHECKING:
    from workbench.core.routing import RoutingDialect
    from workbench.crosscheck.ledger import ContaminatedRows
    from workbench.routing.ledger import LedgerRow
    from workbench.routing.model import LogProblem
    from workbench.routing.opening import ReplayedLog
    from workbench.routing.replay import Replay

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
        "calls": list(_calls(replay)),
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


def _calls(replay: Replay) -> Iterator[JsonObject]:
    """Write every call from the columns: a log may hold a million of them."""
    calls, columns, rows = replay.calls, replay.columns, replay.calls.rows
    shape = rows.shape[calls.first].tolist()
    instance = rows.instance[calls.first].tolist()
    first, last = rows.line[calls.first].tolist(), rows.line[calls.last].tolist()
    namespace, names = replay.ledger.namespace.tolist(), [row.namespace for row in replay.ledger.rows]
    asked = (columns.primary > 0).astype("u1") + 2 * (columns.fallback > 0).astype("u1")
    odd: dict[int, list[str]] = {}
    for index, (at, ended, called, served, phase, rescuing, streak, until, warn, kind, diverges, flags) in enumerate(
        zip(
            columns.started_ms.tolist(), columns.ended_ms.tolist(), asked.tolist(), columns.served.tolist(),
            columns.phase.tolist(), columns.rescuing.tolist(), columns.streak.tolist(), columns.until_ms.tolist(),
            columns.warn.tolist(), columns.last_error.tolist(), columns.diverges.tolist(), columns.flags.tolist(),
            strict=True,
        )
    ):  # fmt: skip
        told = replay.call(index + 1) if kind or diverges else None
        example = rows.shapes[shape[index]]
        if flags not in odd:
            odd[flags] = flag_names(Flag(flags))
        yield {
            "n": index + 1,
            "at_ms": _number(at),
            "instance": rows.instances[instance[index]],
            "op": example.op.value,
            "called": list(_CALLED[called]),
            "served_by": _SERVED[served],
            "phase": PHASES[phase].value,
            "state": "fallback" if rescuing else "primary",
            "streak": streak,
            "fallback_until_ms": _number(until),
            "warns": [] if not warn else [WARNS[warn]],
            "last_error_kind": None if not kind else str(LAST_ERRORS[kind]),
            "divergence": None if told is None else told.divergence,
            "ended_ms": _number(ended),
            "last_error": None if told is None else told.last_error,
            "namespace": None if namespace[index] < 0 else names[namespace[index]],
            "purpose": None if example.purpose is None else example.purpose.value,
            "lines": [first[index], last[index]],
            "flags": odd[flags],
        }


_CALLED = ((), ("primary",), ("fallback",), ("primary", "fallback"))
_SERVED = (None, "primary", "fallback")


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
