"""The provider over two legs: the recorded traces, what its callers see, and what happens when calls overlap."""

from __future__ import annotations

import asyncio
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.core.cases import FOLDERS, traces
from tests.embedders.legs import ERRORS, Leg
from tests.embedders.routed import Routed, kind_of, play
from workbench.core.fingerprint import Fingerprint
from workbench.core.routing import Leg as LegName
from workbench.core.routing import Phase, RoutingSnapshot
from workbench.embedders.auto_fallback import AutoFallbackEmbeddingProvider
from workbench.embedders.batching import BatchLimits
from workbench.embedders.models import resolve_index_ceiling
from workbench.embedders.protocol import BuildingProvider, CircuitOpenError, EmbeddingProvider, ProviderHealth


@pytest.mark.parametrize("folder", FOLDERS)
async def test_every_recorded_trace_is_reproduced_by_the_provider(folder: Path) -> None:
    for trace in traces(folder):
        for number, (step, seen) in enumerate(zip(trace["steps"], await play(trace), strict=True), 1):
            expected = {key: value for key, value in step["expect"].items() if key != "totals"}
            assert seen.seen == expected, f"{trace['name']}, step {number}"


# Invariants over any sequence of steps

words = st.sampled_from(["ok", "null", "null_with_error", *ERRORS])
ops = st.sampled_from(["embed", "batch", "reset", "healthcheck", "peek", "dispose"])
random_steps = st.lists(
    st.tuples(st.one_of(st.just("embed"), ops), st.integers(-20, 60), words, words, st.sampled_from([0, 0, 7])),
    max_size=30,
)


async def drive(routed: Routed, step: tuple[str, int, str, str, int]) -> str | None:
    """Take one random step; says what a call gave, None when the step was no call."""
    op, wait, primary, fallback, takes_ms = step
    routed.clock.now_ms += wait
    routed.primary.takes_ms = takes_ms
    routed.primary.asked.clear()
    routed.fallback.asked.clear()
    if op == "embed":
        return await routed.call(primary, fallback)
    if op == "batch":
        return await routed.batch(primary, fallback, items=2)
    if op == "reset":
        routed.provider.reset()
    elif op == "healthcheck":
        routed.primary.word = "ok" if primary.startswith("null") else primary
        routed.fallback.word = "ok" if fallback.startswith("null") else fallback
        await routed.provider.healthcheck()
    elif op == "dispose":
        await routed.provider.dispose()
    return None


@given(st.sampled_from([-1, 0, 1, 2, 3]), st.sampled_from([-5, 0, 1, 10, 100]), random_steps)
def test_the_rules_of_the_machine_hold_over_any_steps(
    threshold: int, cooldown_ms: int, steps: list[tuple[str, int, str, str, int]]
) -> None:
    asyncio.run(_rules_hold(Routed(threshold, cooldown_ms), steps))


async def _rules_hold(routed: Routed, steps: list[tuple[str, int, str, str, int]]) -> None:
    provider, flips, last_warning = routed.provider, 0, "fallback->primary"
    for step in steps:
        before, told = provider.snapshot(), len(routed.warnings)
        error_before, moment = provider.last_error, routed.clock.now_ms + step[1]
        result = await drive(routed, step)
        after = provider.snapshot()
        told_now = [text.split()[2].rstrip(":") for text in routed.warnings[told:]]
        if step[0] == "reset":
            assert (after.state, after.streak, after.fallback_until_ms, told_now) == ("primary", 0, None, [])
            last_warning = "fallback->primary"
            continue
        if result is None:
            assert machine(before) == machine(after)
            assert (told_now, provider.last_error) == ([], error_before)
            continue
        changed = before.state is not after.state
        assert told_now == ([f"{before.state}->{after.state}"] if changed else [])
        for warning in told_now:
            assert warning != last_warning
            last_warning, flips = warning, flips + 1
        if after.state == "primary":
            assert after.fallback_until_ms is None
        if before.fallback_until_ms is not None and moment < before.fallback_until_ms:
            assert (routed.primary.asked, len(routed.fallback.asked)) == ([], 1)
            assert machine(before) == machine(after)
            assert kind_of(provider.last_error) in (None, "fallback")
        else:
            assert len(routed.primary.asked) == 1
        if not routed.fallback.asked:
            assert (after.state, after.streak) == ("primary", 0)
            assert result != "raise"
        if after.streak < before.streak:
            assert not routed.fallback.asked
        if after.fallback_until_ms is not None:
            assert after.streak >= max(routed.threshold, 1)
        if result == "raise":
            assert routed.fallback.asked
    assert len(routed.warnings) == flips


def machine(snapshot: RoutingSnapshot) -> tuple[object, ...]:
    """Give what the machine remembers; the phase also moves with the clock."""
    return snapshot.state, snapshot.streak, snapshot.fallback_until_ms


# What a caller sees


def test_it_is_an_embedding_provider_that_whole_namespaces_can_be_built_with() -> None:
    provider = Routed().provider
    as_embedder: EmbeddingProvider = provider
    as_builder: BuildingProvider = provider
    assert (as_embedder.kind, as_builder.host) == ("auto-fallback", None)
    assert workbench.AutoFallbackEmbeddingProvider is AutoFallbackEmbeddingProvider
    assert workbench.CircuitOpenError is CircuitOpenError


async def test_its_name_is_the_primarys_whoever_answers() -> None:
    routed = Routed(primary_model=("ours", 3), fallback_model=("theirs", 3))
    assert await routed.call("error") == "vector"
    assert routed.fallback.asked
    assert (routed.provider.model_id, routed.provider.dimensions) == ("ours", 3)


def test_the_length_is_the_fallbacks_only_while_the_primarys_is_not_known() -> None:
    primary, fallback = Leg("primary", dimensions=None), Leg("fallback", dimensions=768)
    provider = AutoFallbackEmbeddingProvider(primary, fallback)
    assert provider.dimensions == 768
    primary.dimensions = 1536
    assert provider.dimensions == 1536


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [(None, None, None), (8_000, 512, 512), (512, None, 512), (24_500, None, 2_000), (None, 100_000, 2_000)],
)
def test_it_reads_what_both_legs_read(ours: int | None, theirs: int | None, both: int | None) -> None:
    primary, fallback = Leg("primary"), Leg("fallback")
    primary.max_input_chars, fallback.max_input_chars = ours, theirs
    assert AutoFallbackEmbeddingProvider(primary, fallback).max_input_chars == both


def test_a_fallback_that_reads_less_by_the_model_table_shortens_what_both_read() -> None:
    long, short = Leg("primary", "text-embedding-3-small", 1536), Leg("fallback", "all-MiniLM-L6-v2", 384)
    own = resolve_index_ceiling(None, None, Fingerprint("all-MiniLM-L6-v2", 384))
    assert own.source == "registry"
    assert AutoFallbackEmbeddingProvider(long, short).max_input_chars == own.chars
    assert AutoFallbackEmbeddingProvider(short, long).max_input_chars is None


async def test_the_failure_of_the_fallback_is_raised_with_what_came_before_it() -> None:
    routed = Routed()
    routed.primary.word, routed.fallback.word = "timeout", "rate_limited"
    with pytest.raises(ERRORS["rate_limited"], match="rate_limited of the fallback") as raised:
        await routed.provider.embed("a text", purpose="query")
    assert isinstance(raised.value.__context__, TimeoutError)
    assert routed.provider.last_error == "primary: timeout of the primary | fallback: rate_limited of the fallback"


async def test_an_error_without_words_is_named_by_its_class() -> None:
    routed = Routed()

    async def fail(text: str, *, purpose: str) -> None:
        raise LookupError

    routed.primary.embed = fail  # type: ignore[method-assign]
    await routed.provider.embed("a text", purpose="query")
    assert routed.provider.last_error == "LookupError"


async def test_a_stale_error_of_a_leg_that_answered_is_not_the_calls() -> None:
    routed = Routed()
    await routed.call("ok")
    routed.primary.last_error = "from yesterday"

    async def answer(text: str, *, purpose: str) -> list[float]:
        return [1.0, 0.0, 0.0]

    routed.primary.embed = answer  # type: ignore[method-assign]
    await routed.provider.embed("a text", purpose="query")
    assert routed.provider.last_error is None


async def test_nulls_within_a_batch_are_passed_on_and_asked_for_nowhere_else() -> None:
    routed = Routed()
    assert await routed.batch("partial_null", items=3) == "partial"
    assert (routed.primary.asked, routed.fallback.asked) == (["embed_batch"], [])


async def test_a_warning_says_who_failed_how_and_for_how_long_it_is_left_alone() -> None:
    routed = Routed(2, 300_000, primary_model=("ours", 1536), fallback_model=("theirs", 768))
    for _ in range(2):
        await routed.call("timeout")
    assert routed.warnings == [
        "embedding route primary->fallback: 2 failures in a row of 'ours@1536' (last: timeout), left alone for 300 s; "
        "'theirs@768' answers in another space (dimensions)"
    ]
    routed.clock.now_ms = 300_000
    await routed.call("ok")
    assert routed.warnings[1] == "embedding route fallback->primary: 'ours@1536' answers again"


async def test_without_a_sink_a_warning_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    primary = Leg("primary", "ours\x1b[31m")
    primary.word = "circuit_open"
    provider = AutoFallbackEmbeddingProvider(primary, Leg("fallback"))
    await provider.embed("a text", purpose="query")
    await provider.embed("a text", purpose="query")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "circuit breaker" in err
    assert "\x1b" not in err


async def test_a_sink_that_fails_costs_no_embedding() -> None:
    def fail(message: str) -> None:
        raise RuntimeError(message)

    primary, fallback = Leg("primary"), Leg("fallback")
    provider = AutoFallbackEmbeddingProvider(primary, fallback, warn=fail)
    for word in ("circuit_open", "ok"):
        primary.word = word
        assert await provider.embed("a text", purpose="query") is not None
    assert provider.routing_state == "primary"
    assert fallback.asked == ["embed"]


async def test_a_sink_may_ask_for_the_state_that_it_is_told_of() -> None:
    seen: list[RoutingSnapshot] = []
    primary = Leg("primary")
    primary.word = "error"
    provider = AutoFallbackEmbeddingProvider(
        primary,
        Leg("fallback"),
        failure_streak_threshold=1,
        warn=lambda _: seen.append(provider.snapshot()),
        now=Routed().clock,
    )
    await provider.embed("a text", purpose="query")
    assert seen == [RoutingSnapshot(LegName.FALLBACK, Phase.COOLDOWN, 1, 300_000)]


async def test_a_sink_may_reset_what_it_is_told_of() -> None:
    primary = Leg("primary")
    primary.word = "circuit_open"
    provider = AutoFallbackEmbeddingProvider(primary, Leg("fallback"), warn=lambda _: provider.reset())
    await provider.embed("a text", purpose="query")
    assert provider.routing_state == "primary"


async def test_both_legs_are_disposed_of_when_one_of_them_refuses() -> None:
    routed = Routed()
    routed.primary.refuses_to_go = True
    with pytest.raises(RuntimeError, match="the primary does not go"):
        await routed.provider.dispose()
    assert routed.fallback.disposed


async def test_a_health_check_speaks_of_whoever_would_answer() -> None:
    routed = Routed(primary_model=("ours", 3), fallback_model=("theirs", 4))
    assert await routed.provider.healthcheck() == ProviderHealth(True, "auto-fallback", "ours", 3, 1.0, None)
    routed.primary.word = "timeout"
    assert await routed.provider.healthcheck() == ProviderHealth(
        True, "auto-fallback", "ours", 4, 1.0, "timeout of the primary"
    )
    routed.fallback.word = "error"
    unwell = await routed.provider.healthcheck()
    assert not unwell.ok
    assert unwell.error == "primary: timeout of the primary | fallback: error of the fallback"
    assert routed.provider.last_error is None


async def test_a_health_check_that_raises_is_being_unwell() -> None:
    routed = Routed()

    async def fail() -> ProviderHealth:
        raise OSError("no route")

    routed.primary.healthcheck = fail  # type: ignore[method-assign]
    health = await routed.provider.healthcheck()
    assert (health.ok, health.error) == (True, "no route")


def test_a_request_to_it_holds_what_both_legs_take() -> None:
    primary, fallback = Leg("primary"), Leg("fallback")
    primary.batch_limits, fallback.batch_limits = BatchLimits(2_048, None), BatchLimits(96, 10_000)  # type: ignore[attr-defined]
    primary.host, fallback.host = "a.example", None  # type: ignore[attr-defined]
    provider = AutoFallbackEmbeddingProvider(primary, fallback)
    assert (provider.batch_limits, provider.host) == (BatchLimits(96, 10_000), "a.example")


# Cancellation and calls that overlap


async def test_a_cancelled_call_counts_for_nothing() -> None:
    routed = Routed(1)
    routed.primary.gate = asyncio.Event()
    task = asyncio.create_task(routed.provider.embed("a text", purpose="query"))
    while not routed.primary.asked:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert machine(routed.provider.snapshot()) == (LegName.PRIMARY, 0, None)
    assert (routed.fallback.asked, routed.warnings, routed.provider.last_error) == ([], [], None)


async def test_a_deadline_of_the_caller_is_a_cancellation_and_one_of_the_leg_a_failure() -> None:
    routed = Routed()
    routed.primary.gate = asyncio.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await routed.provider.embed("a text", purpose="query")
    assert routed.provider.snapshot().streak == 0
    routed.primary.gate = None
    await routed.call("timeout")
    assert routed.provider.snapshot().streak == 1


async def test_a_call_cancelled_in_its_rescue_has_counted_the_primarys_failure() -> None:
    routed = Routed()
    routed.primary.word = "error"
    routed.fallback.gate = asyncio.Event()
    task = asyncio.create_task(routed.provider.embed("a text", purpose="query"))
    while not routed.fallback.asked:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert routed.provider.snapshot().streak == 1
    assert routed.provider.last_error == "error of the primary"


async def test_a_late_success_closes_what_opened_meanwhile() -> None:
    routed = Routed()
    routed.primary.gate = slow = asyncio.Event()
    late = asyncio.create_task(routed.provider.embed("a text", purpose="query"))
    while not routed.primary.asked:
        await asyncio.sleep(0)
    routed.primary.gate = None
    for _ in range(3):
        await routed.call("error")
    assert routed.provider.routing_state == "fallback"
    slow.set()
    await late
    assert routed.provider.snapshot() == RoutingSnapshot(LegName.PRIMARY, Phase.HEALTHY, 0, None)
    assert len(routed.warnings) == 2


async def test_a_late_failure_counts_though_the_fallback_has_taken_over() -> None:
    routed = Routed(1, 1_000)
    routed.primary.gate, routed.primary.word = asyncio.Event(), "error"
    late = asyncio.create_task(routed.provider.embed("a text", purpose="query"))
    while not routed.primary.asked:
        await asyncio.sleep(0)
    slow, routed.primary.gate = routed.primary.gate, None
    await routed.call("error")
    routed.clock.now_ms = 500
    slow.set()
    await late
    assert machine(routed.provider.snapshot()) == (LegName.FALLBACK, 2, 1_500)
    assert len(routed.warnings) == 1


def test_loops_in_several_threads_share_one_machine() -> None:
    routed = Routed(10_000)
    routed.primary.word = "error"

    async def some() -> None:
        for _ in range(200):
            await routed.provider.embed("a text", purpose="query")

    threads = [threading.Thread(target=asyncio.run, args=(some(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert routed.provider.snapshot().streak == 800


async def test_warnings_of_overlapping_calls_alternate() -> None:
    routed = Routed(1, 0)
    gates = []
    tasks = []
    for word in ["error", "ok"] * 5:
        routed.primary.word = word
        routed.primary.gate = gate = asyncio.Event()
        tasks.append(asyncio.create_task(routed.provider.embed("a text", purpose="query")))
        await asyncio.sleep(0)
        gates.append(gate)
    for gate in [*gates[5:], *gates[:5]]:
        gate.set()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    words = [text.split()[2] for text in routed.warnings]
    assert words
    assert all(one != other for one, other in pairwise(words))
