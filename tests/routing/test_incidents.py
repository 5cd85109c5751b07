"""What people were bitten by in public, retold: what they would now have seen in the replay, the ledger, the provider.

Each test names its thread. Where the provider of this package would have behaved as theirs did, it writes the log;
where another router did what ours never does, the log is written line by line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import workbench
from tests.embedders.routed import Routed
from workbench.core.fingerprint import Fingerprint
from workbench.core.routing import Leg, Outcome
from workbench.embedders.destination import vectors_for
from workbench.embedders.pairs import EmbedderPairError, refuse_mixed_write
from workbench.routing.log_writing import RoutingLog
from workbench.routing.model import (
    Attempt,
    LoggedConfig,
    LoggedNamespace,
    LoggedStart,
    Operation,
    Purpose,
    Record,
)
from workbench.routing.opening import open_routing_log
from workbench.routing.replay import replay_log
from workbench.routing.what_if import what_if

MINUTE = 60_000
HOUR = 60 * MINUTE


@dataclass(frozen=True)
class Told:
    """What `workbench replay --json` said, and how it ended."""

    code: int
    document: dict[str, Any]

    @property
    def calls(self) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = self.document["calls"]
        return calls

    @property
    def row(self) -> dict[str, Any]:
        """The only namespace of the log."""
        (row,) = self.document["ledger"]
        assert isinstance(row, dict)
        return row

    @property
    def divergences(self) -> list[tuple[int, str]]:
        """The calls that diverge, each with what is said of it."""
        return [(call["n"], call["divergence"]) for call in self.calls if call["divergence"] is not None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "routing.jsonl"


def replay(path: Path, *options: str) -> Told:
    """Run the program over a log."""
    ran = workbench(path.parent, "replay", path, "--json", *options)
    assert ran.code in (0, 1), ran.err
    return Told(ran.code, ran.json)


def write(path: Path, *records: Record) -> None:
    log = RoutingLog(path)
    for record in records:
        log.write(record)
    log.close()


def attempt(at_ms: float, outcome: Outcome = Outcome.VECTOR, leg: Leg = Leg.PRIMARY, **said: Any) -> Attempt:  # noqa: ANN401
    """Make an attempt as another router logs it: documents for the namespace ``notes``, unless said otherwise."""
    usual: dict[str, Any] = {
        "request_model": f"{leg}-model", "observed_dims": 768 if outcome is Outcome.VECTOR else None,
        "purpose": Purpose.DOCUMENT, "namespace": "notes",
    }  # fmt: skip
    return Attempt(line=0, leg=leg, started_ms=at_ms, outcome=outcome, **(usual | said))


def rescue(at_ms: float, **said: Any) -> Attempt:  # noqa: ANN401
    return attempt(at_ms, leg=Leg.FALLBACK, **said)


def failed(at_ms: float, **said: Any) -> Attempt:  # noqa: ANN401
    return attempt(at_ms, Outcome.ERROR, **({"error_type": "ConnectionError"} | said))


async def store(routed: Routed, primary: str, *keys: str, namespace: Fingerprint) -> str:
    """Embed documents for ``notes`` through the provider."""
    with vectors_for("notes", keys, fingerprint=namespace):
        return await routed.batch(primary, items=len(keys))


async def ask(routed: Routed, primary: str, *, namespace: Fingerprint) -> str:
    """Embed a query to be searched in ``notes``."""
    with vectors_for("notes", fingerprint=namespace):
        return await routed.call(primary, purpose="query")


async def test_01_a_remote_api_that_is_down_at_start_puts_short_vectors_into_a_long_table(path: Path) -> None:
    """doobidoo/mcp-memory-service#551: every store and search failed, and the service seemed to start well."""
    table = Fingerprint("nomic-embed-text", 768)
    routed = Routed(log=path, primary_model=("nomic-embed-text", 768), fallback_model=("all-MiniLM-L6-v2", 384))
    await store(routed, "error", "a_0", "b_0", namespace=table)
    await ask(routed, "error", namespace=table)
    told = replay(path)
    assert told.code == 1
    assert (told.calls[0]["called"], told.calls[0]["served_by"]) == (["primary", "fallback"], "fallback")
    assert (told.row["fingerprint"], told.row["first_call"]) == ("nomic-embed-text@768", 1)
    assert (told.row["foreign_dims_mismatch"], told.row["foreign_same_dims"], told.row["native"]) == (2, 0, 0)
    assert told.row["cross_space_queries"] == 1
    assert told.row["keys"] == ["a_0", "b_0"]
    # And before anything was stored: the pair is named, and refused for writing.
    with pytest.raises(EmbedderPairError, match="dimensions"):
        refuse_mixed_write(routed.provider, "notes")


async def test_01_a_primary_that_never_answered_is_known_by_the_length_that_it_was_to_have(path: Path) -> None:
    """The same start, with nothing that says what the table was built with."""
    routed = Routed(log=path, primary_model=("nomic-embed-text", 768), fallback_model=("all-MiniLM-L6-v2", 384))
    with vectors_for("notes", ["a_0"]):
        await routed.batch("error", items=1)
    told = replay(path)
    assert (told.row["fingerprint"], told.row["assumed"]) == ("nomic-embed-text@768", True)
    assert (told.row["foreign_dims_mismatch"], told.row["foreign_same_dims"]) == (1, 0)


def test_03_a_router_that_stays_on_its_fallback_after_the_outage_diverges_when_its_window_ends(path: Path) -> None:
    """openclaw/openclaw#96534: latched until a full restart; both models make 768 numbers, so nothing else told."""
    write(
        path,
        LoggedConfig(line=0, failure_streak_threshold=3, cooldown_ms=5 * MINUTE),
        LoggedNamespace(line=0, name="notes", model="primary-model", dims=768),
        *(each for at in range(3) for each in (failed(at, call_id=f"c{at}"), rescue(at, call_id=f"c{at}"))),
        *(rescue(minute * MINUTE, call_id=f"m{minute}", keys=(f"{minute}_0",)) for minute in range(1, 30)),
    )
    told = replay(path)
    first, said = told.divergences[0]
    assert told.calls[first - 1]["at_ms"] == 6 * MINUTE
    assert "the primary was skipped, though its window ended" in said
    assert told.document["divergences"] == 24
    assert told.calls[-1]["phase"] == "probe-due"
    assert told.row["foreign_same_dims"] == 3 + 29


async def test_04_queries_of_the_fallback_searched_among_the_primarys_vectors_are_counted(path: Path) -> None:
    """openclaw/openclaw#91719: ranks were noise, and looked like answers."""
    built = Fingerprint("nomic-embed-text", 768)
    routed = Routed(log=path, primary_model=("nomic-embed-text", 768), fallback_model=("embeddinggemma-300m", 768))
    await store(routed, "ok", "a_0", namespace=built)
    for word in ("ok", "timeout", "timeout", "ok"):
        await ask(routed, word, namespace=built)
    told = replay(path)
    assert told.code == 1
    assert (told.row["cross_space_queries"], told.row["first_call"], told.row["last_call"]) == (2, 3, 4)
    assert (told.row["foreign_same_dims"], told.row["keys"]) == (0, [])
    assert told.row["foreign"] == [{"fingerprint": "embeddinggemma-300m@768", "vectors": 0, "queries": 2}]
    assert "primary->fallback" not in [warn for call in told.calls for warn in call["warns"]]


async def test_05_what_the_fallback_wrote_meanwhile_is_listed_for_embedding_again(path: Path) -> None:
    """openclaw/openclaw#32277: entries piled up under the local fallback, not found once the provider was back."""
    built = Fingerprint("remote", 1024)
    routed = Routed(log=path, primary_model=("remote", 1024), fallback_model=("local", 768))
    await store(routed, "ok", "before_0", namespace=built)
    for number in range(5):
        await store(routed, "error", f"outage_{number}", namespace=built)
    routed.clock.now_ms = 10 * MINUTE
    await store(routed, "ok", "after_0", namespace=built)
    told = replay(path)
    assert told.row["keys"] == [f"outage_{number}" for number in range(5)]
    assert (told.row["native"], told.row["first_call"], told.row["last_call"]) == (2, 2, 6)
    assert [each["warn"] for each in told.document["transitions"]] == ["primary->fallback", "fallback->primary"]
    listed = workbench(path.parent, "replay", path, "--keys")
    assert listed.out.split() == told.row["keys"]


async def test_07_good_health_does_not_hide_two_spaces_in_one_namespace(path: Path) -> None:
    """scrypster/muninndb#582: 384 numbers beside 1024, and `health: good` all along."""
    built = Fingerprint("bge-m3", 1024)
    routed = Routed(log=path, primary_model=("bge-m3", 1024), fallback_model=("bge-small-en-v1.5", 384))
    await store(routed, "ok", "old_0", "old_1", namespace=built)
    for number in range(3):
        await store(routed, "error", f"new_{number}", namespace=built)
    health = await routed.provider.healthcheck()
    assert health.ok
    assert (health.model_id, health.error) == ("bge-m3", "error of the primary")
    told = replay(path)
    assert told.calls[-1]["op"] == "healthcheck"
    assert told.code == 1
    assert (told.row["native"], told.row["foreign_dims_mismatch"]) == (2, 3)
    assert told.row["foreign"] == [{"fingerprint": "bge-small-en-v1.5@384", "vectors": 3, "queries": 0}]


def test_09_a_label_of_one_model_on_vectors_of_another_length_is_a_contradiction(path: Path) -> None:
    """matrixarkai/TemporalStore PR #1318: thousands of vectors labelled a 3072-d model were 32 long."""
    labelled: dict[str, Any] = {"request_model": "text-embedding-3-large", "response_model": "text-embedding-3-large"}
    write(
        path,
        LoggedNamespace(line=0, name="notes", model="text-embedding-3-large", dims=3072),
        attempt(0, call_id="a", keys=("a_0",), **(labelled | {"observed_dims": 3072})),
        rescue(1, call_id="b", keys=("b_0",), **(labelled | {"observed_dims": 32, "requested_dims": 3072})),
    )
    told = replay(path)
    assert (told.row["native"], told.row["foreign_dims_mismatch"], told.row["keys"]) == (1, 1, ["b_0"])
    assert told.row["foreign"][0]["fingerprint"] == "text-embedding-3-large@32"


def test_12_two_hosts_with_two_models_of_one_length_are_told_apart(path: Path) -> None:
    """DariuszNewecki/CORE#887: one collection of 768 numbers a vector, half of it another model's."""
    write(
        path,
        LoggedNamespace(line=0, name="notes", model="nomic-embed-text", dims=768),
        *(
            attempt(n, call_id=f"a{n}", keys=(f"a_{n}",), instance="laptop", server="10.0.0.1",
                    request_model="nomic-embed-text")
            for n in range(4)
        ),
        *(
            attempt(n, call_id=f"b{n}", keys=(f"b_{n}",), instance="server", server="10.0.0.2",
                    request_model="nomic-embed-text", response_model="bge-base-en-v1.5")
            for n in range(4)
        ),
    )  # fmt: skip
    told = replay(path)
    assert (told.row["native"], told.row["foreign_same_dims"]) == (4, 4)
    assert told.row["foreign"] == [{"fingerprint": "bge-base-en-v1.5@768", "vectors": 4, "queries": 0}]
    assert told.row["keys"] == [f"b_{n}" for n in range(4)]
    assert {call["instance"] for call in told.calls if call["n"] > 4} == {"server"}
    assert told.document["divergences"] == 0


def test_18_a_router_that_keeps_the_first_shorter_deadline_diverges_when_it_asks_too_early(path: Path) -> None:
    """BerriAI/litellm#40130: a slower failure should have moved the deadline, and did not."""
    write(
        path,
        LoggedConfig(line=0, failure_streak_threshold=1, cooldown_ms=MINUTE),
        failed(0, call_id="quick"),
        rescue(0, call_id="quick"),
        failed(-1_000, duration_ms=31_000, call_id="slow"),
        rescue(30_000, call_id="slow"),
        rescue(45_000, call_id="skipped"),
        failed(61_000, call_id="early"),
        rescue(61_000, call_id="early"),
    )
    told = replay(path)
    ((n, said),) = told.divergences
    assert told.calls[n - 1]["at_ms"] == 61_000
    assert "the primary was asked, though its window is open for 29,000 ms more" in said


def test_20_a_half_open_circuit_without_a_probe_is_stuck_and_a_flood_of_probes_is_seen(path: Path) -> None:
    """nodeshift/opossum#276, #119: no probe ever came back; or all callers were let through at once."""
    opened = [each for at in range(3) for each in (failed(at, call_id=f"c{at}"), rescue(at, call_id=f"c{at}"))]
    write(
        path,
        LoggedConfig(line=0, failure_streak_threshold=3, cooldown_ms=MINUTE),
        *opened,
        *(rescue(at * MINUTE, call_id=f"stuck{at}") for at in (2, 3, 4)),
    )
    stuck = replay(path)
    assert [n for n, _ in stuck.divergences] == [4, 5, 6]
    assert stuck.document["transitions"][0]["warn"] == "primary->fallback"
    assert len(stuck.document["transitions"]) == 1
    path.unlink()
    write(
        path,
        LoggedConfig(line=0, failure_streak_threshold=3, cooldown_ms=MINUTE),
        *opened,
        *(failed(2 * MINUTE, duration_ms=100 + n, call_id=f"probe{n}") for n in range(20)),
        *(rescue(2 * MINUTE + 100 + n, call_id=f"probe{n}") for n in range(20)),
    )
    flood = replay(path)
    probes = [call for call in flood.calls if call["at_ms"] == 2 * MINUTE]
    assert len(probes) == 20
    assert all(call["called"][0] == "primary" for call in probes)
    assert all("overlaps" in call["flags"] for call in probes[1:])
    # Each was let through because it began before any of them had failed: that is no divergence, and it is visible.
    assert flood.document["divergences"] == 0
    assert flood.calls[-1]["streak"] == 23


async def test_20_the_probe_of_our_own_provider_cannot_be_lost(path: Path) -> None:
    """There is no token to hold: whatever becomes of a probe, the next call after the window asks the primary again."""
    routed = Routed(1, MINUTE, log=path)
    await routed.call("error")
    for minute in (1, 2, 3):
        routed.clock.now_ms = minute * MINUTE
        routed.primary.asked.clear()
        await routed.call("circuit_open")
        assert routed.primary.asked
    assert replay(path).document["divergences"] == 0


def test_23_a_clock_that_stepped_back_and_a_stamp_kept_over_a_restart_are_marked(path: Path) -> None:
    """redhat-data-and-ai/template-agent#232; fabfuel/circuitbreaker#31: stuck open, for no reason the clock showed."""
    threshold = LoggedConfig(line=0, failure_streak_threshold=1, cooldown_ms=MINUTE)
    write(
        path,
        threshold,
        failed(HOUR, call_id="a"),
        rescue(HOUR, call_id="a"),
        rescue(MINUTE, call_id="stepped back"),
        rescue(HOUR - 1, call_id="still"),
        attempt(HOUR + MINUTE, call_id="probe"),
    )
    stepped = replay(path)
    assert stepped.document["divergences"] == 0
    assert [call["n"] for call in stepped.calls if "clock-back" in call["flags"]] == [2]
    assert stepped.calls[1]["fallback_until_ms"] - stepped.calls[1]["at_ms"] > MINUTE
    path.unlink()
    write(
        path,
        LoggedStart(line=0, instance="one", at_ms=0),
        threshold,
        failed(0, call_id="a", instance="one"),
        rescue(0, call_id="a", instance="one"),
        LoggedStart(line=0, instance="two", at_ms=1_000),
        rescue(2_000, call_id="b", instance="two"),
    )
    restarted = replay(path)
    ((n, said),) = restarted.divergences
    assert (n, restarted.calls[n - 1]["flags"]) == (2, ["restarted"])
    assert "the primary was skipped, though no window is open" in said


async def test_25_a_fallback_asked_for_the_primarys_model_fails_whenever_the_primary_does(path: Path) -> None:
    """zeroclaw-labs/zeroclaw#9812: both legs failing in step, and no provider left."""
    routed = Routed(log=path, primary_model=("text-embedding-3-small", 3), fallback_model=("text-embedding-3-small", 3))
    for word in ("rate_limited", "ok", "rate_limited", "rate_limited", "rate_limited"):
        routed.clock.now_ms += 1_000
        with vectors_for("notes", ["a_0"]):
            await routed.batch(word, "error", items=1)
    told = replay(path)
    nobody = [call for call in told.calls if call["served_by"] is None]
    assert len(nobody) == 4
    assert {call["last_error_kind"] for call in nobody} == {"both"}
    assert all(call["last_error"].startswith("primary: HTTP 429 | fallback: ") for call in nobody)
    assert [each["warn"] for each in told.document["transitions"]] == ["primary->fallback"]
    models = {line["gen_ai.request.model"] for line in _attempts(path)}
    assert models == {"text-embedding-3-small"}
    shown = " ".join(workbench(path.parent, "replay", path).out.split())
    assert "both legs were asked for the model 'text-embedding-3-small', and the fallback never answered" in shown


async def test_25_the_primarys_model_from_another_host_is_no_reason_for_a_remark(path: Path) -> None:
    """What the refusal of a mixed pair recommends must not be held against anybody."""
    routed = Routed(log=path, primary_model=("bge-m3", 3), fallback_model=("bge-m3", 3))
    await routed.batch("error", items=1)
    assert "both legs" not in workbench(path.parent, "replay", path).out


def test_26_a_primary_that_is_never_left_alone_shows_its_attempts_and_what_a_threshold_would_have_spared(
    path: Path,
) -> None:
    """BerriAI/litellm#40405: 33 attempts at a dead primary for 11 requests, five seconds each."""
    records: list[Record] = [LoggedConfig(line=0, failure_streak_threshold=float("inf"), cooldown_ms=0)]
    for request in range(11):
        begin = request * 5_400
        said: dict[str, Any] = {"call_id": f"r{request}", "op": Operation.EMBED}
        records += [failed(begin + 1_500 * turn, duration_ms=1_400, **said) for turn in range(3)]
        records.append(rescue(begin + 4_500, duration_ms=800, **said))
    write(path, *records)
    told = replay(path)
    assert (len(told.calls), told.document["divergences"]) == (11, 0)
    assert all("retried" in call["flags"] for call in told.calls)
    lines = sum(call["lines"][1] - call["lines"][0] + 1 for call in told.calls)
    assert lines - len(told.calls) == 33
    assert all(call["ended_ms"] - call["at_ms"] == 5_300 for call in told.calls)
    # Under a threshold of 1 and half a minute of cooldown nine of these calls would have been spared the dead leg.
    with open_routing_log(path) as file:
        other = what_if(replay_log(file.pieces), 1, 30_000)
    assert (other.logged.primary_asked, str(other.primary_asked)) == (11, "2")
    assert not other.unknown.any()


def _attempts(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [line for line in lines if line["record"] == "attempt"]
