"""The routing machine against the recorded traces, and its invariants over any sequence of calls."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.cases import FOLDERS, Case, traces
from workbench.core.routing import (
    LastErrorKind,
    Leg,
    LegResult,
    Outcome,
    Phase,
    RoutedCall,
    RoutingConfig,
    RoutingDialect,
    RoutingSnapshot,
    RoutingState,
    last_error,
    legs_asked_for_health,
    reset,
    route_call,
    settle_primary,
)

WORDS = {
    "ok": LegResult(Outcome.VECTOR),
    "partial_null": LegResult(Outcome.PARTIAL),
    "null": LegResult(Outcome.NULL),
    "null_with_error": LegResult(Outcome.NULL, "tracked"),
    "error": LegResult(Outcome.ERROR, "boom"),
    "timeout": LegResult(Outcome.ERROR, "timed out"),
    "rate_limited": LegResult(Outcome.ERROR, "429"),
    "circuit_open": LegResult(Outcome.CIRCUIT_OPEN, "open"),
    "abort": LegResult(Outcome.ABORT, "aborted"),
}


def play(trace: Case) -> list[dict[str, object]]:
    """Run a trace through the machine and give what it expects to see after each step."""
    config = RoutingConfig(trace["config"]["failure_streak_threshold"], trace["config"]["cooldown_ms"])
    state, kind = RoutingState(), None
    seen: list[dict[str, object]] = []
    for step in trace["steps"]:
        now: float = step["at_ms"]
        called: tuple[Leg, ...] = ()
        warns: tuple[str, ...] = ()
        served, result = None, None
        if step["op"] == "reset":
            state = reset()
        elif step["op"] == "healthcheck":
            called = legs_asked_for_health(step["primary"] == "ok")
        elif step["op"] in ("embed", "embed_batch"):
            primary, fallback = WORDS[step["primary"]], WORDS[step["fallback"]]
            settled_ms = now + step.get("primary_ms", 0)
            call = route_call(state, primary, fallback, started_ms=now, primary_settled_ms=settled_ms, config=config)
            state, called, served, warns = call.state, call.called, call.served_by, call.warns
            kind = call.last_error_kind
            result = "raise" if served is None else (primary if served is Leg.PRIMARY else fallback).outcome
        else:
            assert step["op"] in ("peek", "dispose"), step
        seen.append(
            {
                "called": list(called), "served_by": served, "result": result, "state": state.mode,
                "streak": state.streak, "fallback_until_ms": state.fallback_until_ms, "warns": list(warns),
                "last_error_kind": kind, "cooldown_active": state.in_cooldown(now),
            }
        )  # fmt: skip
    return seen


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_trace_is_reproduced_step_by_step(folder: Path) -> None:
    for trace in traces(folder):
        for number, (step, seen) in enumerate(zip(trace["steps"], play(trace), strict=True), 1):
            expected = {key: value for key, value in step["expect"].items() if key != "totals"}
            assert seen == expected, f"{trace['name']}, step {number}"


outcomes = st.sampled_from(sorted(WORDS)).map(WORDS.__getitem__)
configs = st.builds(RoutingConfig, st.sampled_from([-1, 0, 1, 2, 3, 5]), st.sampled_from([-5, 0, 1, 10, 100]))
steps = st.lists(st.tuples(st.integers(0, 60), outcomes, outcomes), max_size=30)


def run(config: RoutingConfig, steps: list[tuple[int, LegResult, LegResult]]) -> list[tuple[RoutingState, RoutedCall]]:
    """Give the state before each call, and the call."""
    state, now = RoutingState(), 0
    calls = []
    for wait, primary, fallback in steps:
        now += wait
        call = route_call(state, primary, fallback, started_ms=now, config=config)
        calls.append((state, call))
        state = call.state
    return calls


@given(configs, steps)
def test_warnings_alternate_and_are_the_changes_of_mode(
    config: RoutingConfig, steps: list[tuple[int, LegResult, LegResult]]
) -> None:
    calls = run(config, steps)
    warns = [warn for _, call in calls for warn in call.warns]
    assert all(one != other for one, other in pairwise(warns))
    assert warns[:1] in ([], ["primary->fallback"])
    assert len(warns) == sum(before.mode is not call.state.mode for before, call in calls)


@given(configs, steps)
def test_the_rules_of_the_machine_hold_after_every_call(
    config: RoutingConfig, steps: list[tuple[int, LegResult, LegResult]]
) -> None:
    now = 0
    for (before, call), (wait, primary, _) in zip(run(config, steps), steps, strict=True):
        now += wait
        after = call.state
        if after.mode is Leg.PRIMARY:
            assert after.fallback_until_ms is None
        if before.in_cooldown(now):
            assert call.called == (Leg.FALLBACK,)
            assert after == before
            assert call.last_error_kind in (None, LastErrorKind.FALLBACK)
        if call.served_by is Leg.PRIMARY:
            assert after == RoutingState()
            assert call.called == (Leg.PRIMARY,)
        if after.streak < before.streak:
            assert call.served_by is Leg.PRIMARY
        if after.fallback_until_ms is not None:
            assert after.streak >= max(config.failure_streak_threshold, 1)
        assert (call.last_error is None) == (call.last_error_kind is None)
        assert primary.thrown or Leg.PRIMARY not in call.called or call.called == (Leg.PRIMARY,)


def fail(times: int, **options: object) -> RoutingState:
    state = RoutingState()
    for now in range(times):
        state = settle_primary(state, Outcome.ERROR, now, **options).state  # type: ignore[arg-type]
    return state


@pytest.mark.parametrize(
    ("state", "now", "phase"),
    [
        (RoutingState(), 0, Phase.HEALTHY),
        (RoutingState(Leg.PRIMARY, 2), 0, Phase.DEGRADED),
        (RoutingState(Leg.FALLBACK, 0), 0, Phase.UPSTREAM_OPEN),
        (RoutingState(Leg.FALLBACK, 3, 100), 99, Phase.COOLDOWN),
        (RoutingState(Leg.FALLBACK, 3, 100), 100, Phase.PROBE_DUE),
    ],
)
def test_a_state_has_one_of_five_phases(state: RoutingState, now: int, phase: Phase) -> None:
    assert state.phase(now) is phase
    assert state.snapshot(now) == RoutingSnapshot(state.mode, phase, state.streak, state.fallback_until_ms)


@pytest.mark.parametrize("threshold", [math.inf, math.nan])
def test_a_threshold_that_is_no_count_never_opens(threshold: float) -> None:
    state = fail(50, config=RoutingConfig(threshold))
    assert state == RoutingState(Leg.PRIMARY, 50)


def test_the_last_error_speaks_of_the_legs_that_failed() -> None:
    assert last_error(None, None) is None
    assert last_error("a", None) == "a"
    assert last_error(None, "b") == "b"
    assert last_error("a", "b") == "primary: a | fallback: b"


def test_a_failure_without_a_message_is_a_failure() -> None:
    call = route_call(RoutingState(), LegResult(Outcome.ERROR), LegResult(Outcome.CIRCUIT_OPEN), started_ms=0)
    assert call.served_by is None
    assert call.last_error_kind is LastErrorKind.BOTH
    assert call.last_error == "primary: error | fallback: circuit_open"


def test_a_late_success_closes_what_opened_meanwhile() -> None:
    opened = fail(3)
    assert opened.mode is Leg.FALLBACK
    late = settle_primary(opened, Outcome.VECTOR, 10)
    assert late.state == RoutingState()
    assert late.warn == "fallback->primary"


# Dialects


def test_dialect_the_streak_must_exceed_the_threshold() -> None:
    dialect = RoutingDialect(opens_above_threshold=True)
    assert fail(3, dialect=dialect).mode is Leg.PRIMARY
    assert fail(4, dialect=dialect).mode is Leg.FALLBACK
    assert fail(1, config=RoutingConfig(0), dialect=dialect).mode is Leg.FALLBACK
    assert fail(1, config=RoutingConfig(-1), dialect=dialect).mode is Leg.FALLBACK


def test_dialect_opening_starts_the_count_again() -> None:
    dialect = RoutingDialect(zeroes_streak_on_open=True)
    opened = fail(3, dialect=dialect)
    assert opened == RoutingState(Leg.FALLBACK, 0, 300_002)
    probe = settle_primary(opened, Outcome.ERROR, 400_000, dialect=dialect)
    assert probe.state == RoutingState(Leg.FALLBACK, 1, 300_002)


def test_dialect_an_open_breaker_starts_the_cooldown() -> None:
    dialect = RoutingDialect(circuit_open_starts_cooldown=True)
    settled = settle_primary(RoutingState(), Outcome.CIRCUIT_OPEN, 5, RoutingConfig(3, 100), dialect)
    assert settled.state == RoutingState(Leg.FALLBACK, 0, 105)


def test_dialect_a_null_counts_as_failure() -> None:
    call = route_call(
        RoutingState(),
        LegResult(Outcome.NULL),
        LegResult(Outcome.VECTOR),
        started_ms=0,
        dialect=RoutingDialect(null_counts_as_failure=True),
    )
    assert (call.state.streak, call.served_by, call.last_error_kind) == (1, Leg.FALLBACK, LastErrorKind.PRIMARY)


def test_dialect_an_abort_passes_through() -> None:
    call = route_call(
        RoutingState(Leg.PRIMARY, 2),
        LegResult(Outcome.ABORT, "aborted"),
        LegResult(Outcome.VECTOR),
        started_ms=0,
        dialect=RoutingDialect(abort_passes_through=True),
    )
    assert (call.state, call.called, call.served_by) == (RoutingState(Leg.PRIMARY, 2), (Leg.PRIMARY,), None)
    assert call.last_error == "aborted"
