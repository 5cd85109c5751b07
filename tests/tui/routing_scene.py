"""Routing logs that tests and snapshots show: an outage, a flapping hour, contamination, a log of another program."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from tests.tui import scenes
from tests.tui.fakes import FakeReader, FakeSource
from workbench.index.problems import Problem, SourceError
from workbench.routing.log import read_log
from workbench.routing.model import LogProblem
from workbench.routing.opening import NATIVE, ReplayedLog
from workbench.routing.replay import replay_log

LOG = "support/routing.jsonl"
PARTING = "support/parting.jsonl"
FOREIGN = "support/foreign.jsonl"
HOSTILE = "support/hostile.jsonl"
CLEAN = "support/clean.jsonl"
EMPTY = "support/empty.jsonl"
INDEX = "support/index.duckdb"

_BEGIN = datetime(2026, 3, 4, 14, 2, 7, tzinfo=UTC)
_STEP_S = 8.0
_OWN, _SPARE = ("acme-embed", 1536), ("backup-embed", 1536)
HOSTILE_NAME = "\x1b[31mred\x1b]0;title\x07 [bold]no markup[/bold] \u202e‮"


def _at(second: float) -> str:
    return (_BEGIN + timedelta(seconds=second)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _attempt(call: int, leg: str, second: float, more: dict[str, object], *, failed: bool = False) -> dict[str, object]:
    model, dims = _OWN if leg == "primary" else _SPARE
    line: dict[str, object] = {
        "record": "attempt",
        "timestamp": _at(second),
        "duration_ms": 40,
        "call.id": f"call-{call}",
        "leg": leg,
        "op": "embed_batch",
        "outcome": "error" if failed else "success",
        "gen_ai.request.model": model,
        "embedding.dimensions": None if failed else dims,
        "input.count": 2,
    }
    if failed:
        line |= {"error.type": "503", "http.response.status_code": 503}
    return line | more


def _purpose(call: int, namespace: str) -> dict[str, object]:
    if call % 5 == 0:
        return {"purpose": "query", "namespace": namespace, "op": "embed", "input.count": 1}
    keys = [f"guide/part-{call % 90}.md#{part}" for part in range(2)]
    return {"purpose": "document", "namespace": namespace, "keys": keys}


def lines(
    calls: int = 214,
    *,
    down: Iterable[range] = (range(25, 60), range(138, 140), range(172, 190)),
    namespace: str = "handbook",
    skips_early: int | None = None,
) -> list[dict[str, object]]:
    """Give a log of a provider that went as configured; ``skips_early`` is a call that skips the primary unasked."""
    down = [*down]
    written: list[dict[str, object]] = [
        {"record": "config", "failure_streak_threshold": 3, "cooldown_ms": 300_000},
        {"record": "namespace", "id": namespace, "model": _OWN[0], "dimensions": _OWN[1]},
        {"record": "namespace", "id": "changelog", "model": _OWN[0], "dimensions": _OWN[1]},
    ]
    streak, until = 0, -1.0
    for call in range(1, calls + 1):
        second = call * _STEP_S
        more = _purpose(call, "changelog" if call % 31 == 0 else namespace)
        if second < until or call == skips_early:
            written.append(_attempt(call, "fallback", second, more))
            continue
        if not any(call in each for each in down):
            streak, until = 0, -1.0
            written.append(_attempt(call, "primary", second, more))
            continue
        written.append(_attempt(call, "primary", second, more, failed=True))
        written.append(_attempt(call, "fallback", second + 0.1, more))
        streak += 1
        until = second + 0.04 + 300 if streak >= 3 else until
    return written


def log(
    path: str, written: list[dict[str, object]], *, format: str = NATIVE, doubts: tuple[str, ...] = ()
) -> ReplayedLog:
    """Replay lines as the reader of files does."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in written)
    records = [*read_log(io.BytesIO(data)), *(LogProblem(None, doubt) for doubt in doubts)]
    return ReplayedLog(path, format, "its lines tell of attempts by their leg and outcome", replay_log(records))


def outage() -> ReplayedLog:
    """Give two outages and a short one that never opens the window."""
    return log(LOG, lines())


def parting() -> ReplayedLog:
    """Give one in which the primary was skipped too early: its threshold was 2."""
    written = lines(60, down=[range(20, 22)])
    for line in written:
        if line.get("call.id") in {f"call-{n}" for n in range(22, 30)}:
            line |= {"leg": "fallback", "gen_ai.request.model": _SPARE[0]}
    return log(PARTING, written)


def foreign() -> ReplayedLog:
    """Give a log of another program, with what was guessed of it."""
    doubts = (
        "'documents' is taken to be the primary and 'documents-backup' the fallback, asked after its failures (3 "
        "times)",
    )
    return log(FOREIGN, lines(40, down=[range(12, 14)]), format="litellm", doubts=doubts)


def hostile() -> ReplayedLog:
    """Give one whose names would command a terminal."""
    written = lines(40, down=[range(10, 14)], namespace=HOSTILE_NAME)
    for line in written:
        if "keys" in line:
            line["keys"] = [f"{HOSTILE_NAME}{line['call.id']}"]
        if line.get("outcome") == "error":
            line["error.message"] = HOSTILE_NAME
        if line.get("leg") == "fallback":
            line["gen_ai.request.model"] = HOSTILE_NAME
    return log(HOSTILE, written)


def clean() -> ReplayedLog:
    """Nothing failed."""
    return log(CLEAN, lines(30, down=[]))


def reader() -> FakeReader:
    """Give the logs beside the index that the outage wrote into."""
    paths: dict[str, FakeSource | ReplayedLog | SourceError] = {
        LOG: outage(),
        PARTING: parting(),
        FOREIGN: foreign(),
        HOSTILE: hostile(),
        CLEAN: clean(),
        EMPTY: SourceError(
            Problem.EMPTY,
            f"{EMPTY} holds no call that can be read, so there is nothing to replay",
            container="routing-log",
        ),
        INDEX: scenes.index(),
    }
    return FakeReader(paths)


def with_key_of(log: ReplayedLog) -> str:
    """Give the first key to embed again."""
    return next(row for row in log.replay.ledger.rows if row.keys).keys[0]
