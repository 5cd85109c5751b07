"""Every recorded trace, written as the log of its scenario, comes back from the replay state by state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.running import workbench
from tests.core.cases import FOLDERS, traces
from tests.routing.scenes import log_of, replayed, written

CALLS = ("embed", "embed_batch", "healthcheck")
HELD = ("called", "served_by", "state", "streak", "fallback_until_ms", "warns", "last_error_kind")


@pytest.mark.parametrize("folder", FOLDERS)
def test_replay_json_holds_what_the_trace_expects(folder: Path, tmp_path: Path) -> None:
    for trace in traces(folder)[::8]:  # each in a process of its own; all of them in the test below
        path = written(tmp_path / f"{trace['name']}.jsonl", log_of(trace))
        ran = workbench(tmp_path, "replay", path, "--json")
        _holds(trace, ran.json, 1 if _contaminated(ran.json) else 0, ran.code)


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("warns", [True, False])
def test_every_trace_comes_back_from_its_log(folder: Path, ids: bool, warns: bool, tmp_path: Path) -> None:
    from workbench.checkup.routing_json import replay_as_json
    from workbench.routing.opening import replay_file

    for trace in traces(folder):
        log = replay_file(written(tmp_path / "routing.jsonl", log_of(trace, ids=ids, warns=warns)))
        document = orjson.loads(orjson.dumps(replay_as_json(log)))
        _holds(trace, document, 1 if _contaminated(document) else 0, log.replay.exit_code)


@pytest.mark.parametrize("folder", FOLDERS)
def test_line_by_line_and_in_columns_give_the_same(folder: Path) -> None:
    for trace in traces(folder):
        lines = log_of(trace)
        one, other = replayed(*lines), replayed(*lines, by_record=True)
        assert [one.call(n + 1) for n in range(one.count)] == [other.call(n + 1) for n in range(other.count)]
        assert one.ledger.rows == other.ledger.rows


def _holds(trace: dict[str, Any], document: dict[str, Any], expected_code: int, code: int) -> None:
    name = trace["name"]
    steps = [step for step in trace["steps"] if step["op"] in CALLS]
    assert document["config"]["failure_streak_threshold"] == trace["config"]["failure_streak_threshold"]
    assert document["config"]["cooldown_ms"] == trace["config"]["cooldown_ms"]
    assert [call["n"] for call in document["calls"]] == list(range(1, len(steps) + 1)), name
    for call, step in zip(document["calls"], steps, strict=True):
        expected = {key: step["expect"][key] for key in HELD}
        assert {key: call[key] for key in HELD} == expected, f"{name}, call {call['n']}"
        assert call["at_ms"] == step["at_ms"]
        assert call["op"] == step["op"]
        assert call["divergence"] is None, f"{name}, call {call['n']}"
        if not step.get("primary_ms"):
            assert (call["phase"] == "cooldown") == step["expect"]["cooldown_active"]
    assert document["divergences"] == 0
    totals = steps[-1]["expect"].get("totals")
    if totals is not None:
        (row,) = document["ledger"]
        assert {key: row[key] for key in totals} == totals, name
    assert code == expected_code


def _contaminated(document: dict[str, Any]) -> bool:
    kinds = ("foreign_same_dims", "foreign_dims_mismatch", "cross_space_queries")
    return any(row[kind] for row in document["ledger"] for kind in kinds)
