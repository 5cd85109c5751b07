"""What the routed provider writes into its log, and what happens when the log cannot be written."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.embedders.legs import Clock, Leg
from tests.embedders.routed import Routed
from workbench.core.fingerprint import Fingerprint
from workbench.embedders.auto_fallback import AutoFallbackEmbeddingProvider
from workbench.embedders.destination import current_destination, vectors_for
from workbench.routing.log_writing import RoutingLog

Entries = dict[str, Any]


def lines(path: Path) -> list[Entries]:
    """Read a log as plain JSON."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def attempts(path: Path) -> list[Entries]:
    return [entries for entries in lines(path) if entries["record"] == "attempt"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "routing.jsonl"


async def test_a_rescued_call_is_two_lines_that_say_who_failed_how_and_who_answered(path: Path) -> None:
    routed = Routed(log=path, primary_model=("ours", 1536), fallback_model=("theirs", 768))
    routed.primary.takes_ms = 30
    with workbench.vectors_for("notes", ["a_0", "b_0"], fingerprint=Fingerprint("ours", 1536)):
        await routed.batch("timeout", items=2)
    start, config, namespace, failed, rescue = lines(path)
    instance = start["service.instance.id"]
    assert start == {"record": "start", "timestamp": "1970-01-01T00:00:00.000Z", "service.instance.id": instance}
    assert config == {
        "record": "config", "service.instance.id": instance, "failure_streak_threshold": 3, "cooldown_ms": 300_000,
        "dialect": [],
    }  # fmt: skip
    assert namespace == {
        "record": "namespace", "id": "notes", "model": "ours", "dimensions": 1536, "fingerprint": "ours@1536",
    }  # fmt: skip
    both = {
        "record": "attempt", "service.instance.id": instance, "call.id": failed["call.id"], "op": "embed_batch",
        "gen_ai.operation.name": "embeddings", "gen_ai.provider.name": "fake", "input.count": 2,
        "purpose": "document", "namespace": "notes", "keys": ["a_0", "b_0"], "null.count": 0,
    }  # fmt: skip
    assert failed == both | {
        "timestamp": "1970-01-01T00:00:00.000Z", "duration_ms": 30, "leg": "primary", "outcome": "error",
        "error.type": "timeout", "gen_ai.request.model": "ours",
        "gen_ai.embeddings.dimension.count": 1536,
    }  # fmt: skip
    assert rescue == both | {
        "timestamp": "1970-01-01T00:00:00.030Z", "duration_ms": 0, "leg": "fallback", "outcome": "success",
        "gen_ai.request.model": "theirs", "gen_ai.embeddings.dimension.count": 768, "embedding.dimensions": 768,
    }  # fmt: skip


async def test_neither_texts_nor_messages_of_errors_are_written(path: Path) -> None:
    routed = Routed(log=path)
    for word in ("error", "circuit_open", "rate_limited"):
        await routed.call(word)
    written = path.read_text("utf-8")
    assert "a text" not in written
    assert "of the primary" not in written
    assert [entries.get("error.type") for entries in attempts(path) if entries["leg"] == "primary"] == [
        "ConnectionError", None, "429",
    ]  # fmt: skip
    assert attempts(path)[-2]["http.response.status_code"] == 429


async def test_a_query_says_so_and_names_the_space_it_is_asked_in(path: Path) -> None:
    routed = Routed(log=path)
    with vectors_for("notes"):
        await routed.call("ok", purpose="query")
    (entries,) = attempts(path)
    assert (entries["purpose"], entries["namespace"], "keys" in entries) == ("query", "notes", False)


async def test_a_batch_says_which_of_its_texts_have_no_vector(path: Path) -> None:
    routed = Routed(log=path)
    routed.primary.null_items = 2
    await routed.batch("partial_null", items=3)
    (entries,) = attempts(path)
    assert (entries["outcome"], entries["null.count"], entries["null.indexes"]) == ("success", 2, [0, 1])
    assert entries["embedding.dimensions"] == 3


async def test_a_batch_that_came_back_short_lacks_its_last_vectors(path: Path) -> None:
    routed = Routed(log=path)

    async def short(texts: list[str], *, purpose: str) -> list[list[float]]:
        return [[1.0, 2.0]]

    routed.primary.embed_batch = short  # type: ignore[method-assign, assignment]
    await routed.provider.embed_batch(["a", "b", "c"], purpose="document")
    assert attempts(path)[0]["null.indexes"] == [1, 2]


async def test_a_null_beside_a_tracked_error_says_that_one_is_missing(path: Path) -> None:
    routed = Routed(log=path)
    await routed.call("null_with_error")
    await routed.call("null")
    assert [entries.get("error.type") for entries in attempts(path)] == ["MISSING_EMBEDDING", None]
    assert [entries["outcome"] for entries in attempts(path)] == ["null", "null"]


async def test_a_change_of_route_and_a_reset_stand_after_what_led_to_them(path: Path) -> None:
    routed = Routed(1, log=path)
    await routed.call("error")
    routed.provider.reset()
    assert [entries["record"] for entries in lines(path)[2:]] == ["attempt", "transition", "attempt", "reset"]
    transition = lines(path)[3]
    assert (transition["from"], transition["to"]) == ("primary", "fallback")
    assert transition["message"] == routed.warnings[0]


async def test_a_namespace_is_described_once_and_again_when_that_changes(path: Path) -> None:
    routed = Routed(log=path)
    for dims in (3, 3, 4):
        with vectors_for("notes", fingerprint=Fingerprint("ours", dims)):
            await routed.call("ok")
    described = [entries["dimensions"] for entries in lines(path) if entries["record"] == "namespace"]
    assert described == [3, 4]


async def test_health_checks_are_attempts_that_say_so(path: Path) -> None:
    routed = Routed(log=path)
    routed.primary.word = "timeout"
    await routed.provider.healthcheck()
    assert [(entries["op"], entries["leg"], entries["outcome"]) for entries in attempts(path)] == [
        ("healthcheck", "primary", "error"), ("healthcheck", "fallback", "success"),
    ]  # fmt: skip


async def test_calls_that_overlap_are_written_as_they_end_and_keep_their_own_ids_and_keys(path: Path) -> None:
    routed = Routed(log=path)
    routed.primary.gate = slow = asyncio.Event()

    async def write(key: str) -> None:
        with vectors_for("notes", [key]):
            await routed.provider.embed("a text", purpose="document")

    first = asyncio.create_task(write("first"))
    while not routed.primary.asked:
        await asyncio.sleep(0)
    routed.primary.gate, routed.clock.now_ms = None, 5
    await write("second")
    routed.clock.now_ms = 9
    slow.set()
    await first
    assert [(entries["keys"], entries["duration_ms"]) for entries in attempts(path)] == [
        (["second"], 0),
        (["first"], 9),
    ]
    assert len({entries["call.id"] for entries in attempts(path)}) == 2


async def test_a_cancelled_attempt_is_written_as_such(path: Path) -> None:
    routed = Routed(log=path)
    routed.primary.gate = asyncio.Event()
    task = asyncio.create_task(routed.provider.embed("a text", purpose="query"))
    while not routed.primary.asked:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(entries["outcome"], "error.type" in entries) for entries in attempts(path)] == [("cancelled", False)]


async def test_the_model_that_a_server_names_is_written_and_another_spelling_of_the_asked_one_is_that_one(
    path: Path,
) -> None:
    routed = Routed(log=path, primary_model=("text-embedding-ada-002", 3))
    for answered in (None, "ada-002", "something-else"):
        routed.primary.answered_model = answered  # type: ignore[attr-defined]
        await routed.call("ok")
    assert [entries.get("gen_ai.response.model") for entries in attempts(path)] == [
        None, "text-embedding-ada-002", "something-else",
    ]  # fmt: skip


async def test_two_providers_over_one_log_are_two_instances(path: Path) -> None:
    log = RoutingLog(path)
    for _ in range(2):
        provider = AutoFallbackEmbeddingProvider(Leg("primary"), Leg("fallback"), log=log)
        await provider.embed("a text", purpose="query")
    assert len({entries["service.instance.id"] for entries in attempts(path)}) == 2


async def test_a_provider_that_is_never_asked_writes_nothing(path: Path) -> None:
    routed = Routed(log=path)
    routed.provider.snapshot()
    await routed.provider.dispose()
    assert not path.exists()


async def test_the_file_is_given_back_with_the_provider(path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    routed = Routed(log=path)
    await routed.call("ok")
    await routed.provider.dispose()
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    assert after == before


# When the log cannot be written


async def test_a_log_that_cannot_be_written_fails_no_call_and_is_said_once(tmp_path: Path) -> None:
    routed = Routed(log=tmp_path / "nowhere" / "routing.jsonl")
    for _ in range(3):
        assert await routed.call("ok") == "vector"
    assert len(routed.warnings) == 1
    assert "cannot be written, calls go on without it" in routed.warnings[0]


async def test_after_a_gap_the_log_goes_on_under_a_new_instance(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(log: RoutingLog, record: object, *, cancelled: bool = False) -> None:
        raise OSError("no space left")

    routed = Routed(log=path)
    with vectors_for("notes", fingerprint=Fingerprint("ours", 3)):
        await routed.call("error")
        with monkeypatch.context() as patch:
            patch.setattr(RoutingLog, "write", full)
            await routed.call("error")
        await routed.call("ok")
    one_life = ["start", "config", "namespace", "attempt"]
    records = [entries["record"] for entries in lines(path)]
    assert records == [*one_life, "attempt", *one_life]
    starts = [entries["service.instance.id"] for entries in lines(path) if entries["record"] == "start"]
    assert starts == [lines(path)[0]["service.instance.id"], lines(path)[-1]["service.instance.id"]]
    assert len(set(starts)) == 2
    assert [warning for warning in routed.warnings if "no space left" in warning] == routed.warnings


def test_a_forked_child_is_an_instance_of_its_own(path: Path) -> None:
    script = (
        "import asyncio, os, sys\n"
        "from tests.embedders.routed import Routed\n"
        "from pathlib import Path\n"
        "routed = Routed(log=Path(sys.argv[1]))\n"
        "asyncio.run(routed.call('ok'))\n"
        "child = os.fork()\n"
        "asyncio.run(routed.call('ok'))\n"
        "os._exit(0) if child == 0 else os.waitpid(child, 0)\n"
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, cwd=root)
    instances = Counter(entries["service.instance.id"] for entries in attempts(path))
    assert sorted(instances.values()) == [1, 2]


async def test_keys_that_no_log_can_hold_cost_no_embedding(path: Path) -> None:
    routed = Routed(log=path)
    with vectors_for("notes", [b"bytes"]):  # type: ignore[list-item]
        assert await routed.call("ok") == "vector"
    assert routed.fallback.asked == []
    assert "cannot be written" in routed.warnings[0]


# Where vectors go


async def test_a_destination_holds_for_what_begins_inside_its_block() -> None:
    assert current_destination() is None
    with vectors_for("outer", ["a"]) as outer:
        with vectors_for("inner"):
            inside = asyncio.create_task(_destination())
        assert current_destination() == outer
        assert await inside == ("inner", ())
    assert current_destination() is None


async def _destination() -> tuple[str, tuple[str, ...]]:
    destination = current_destination()
    assert destination is not None
    return destination.namespace, destination.keys


@pytest.mark.parametrize("cooldown_ms", range(1, 20))
async def test_the_time_that_decided_is_the_time_that_is_written(path: Path, cooldown_ms: int) -> None:
    """A clock that moves between two looks at it must not make the log contradict the decision."""

    class Ticking(Clock):
        def __call__(self) -> float:
            self.now_ms += 1
            return self.now_ms

    routed = Routed(1, cooldown_ms, log=path, clock=Ticking())
    until = None
    for _ in range(12):
        before = len(attempts(path)) if path.exists() else 0
        await routed.call("error")
        first = attempts(path)[before]
        started = float(first["timestamp"][-4:-1])
        if until is not None:
            assert (first["leg"] == "fallback") == (started < until)
        until = routed.provider.snapshot().fallback_until_ms
