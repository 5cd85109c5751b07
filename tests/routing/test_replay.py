"""The rules of a replay, one by one: pairing, restarts, calls side by side, clocks, divergences, flags."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.routing.scenes import Line, attempt, config, replayed
from workbench.core.routing import (
    LastErrorKind,
    Leg,
    Outcome,
    Phase,
    RoutingConfig,
    RoutingDialect,
    RoutingState,
    settle_primary,
)
from workbench.routing.calls import Flag
from workbench.routing.replay import PHASES, Replay
from workbench.routing.stepping import Asked


def failing(count: int, at: float = 0, prefix: str = "f") -> list[Line]:
    """Give calls in which the primary fails and the fallback answers, a millisecond apart."""
    return [
        attempt(leg, "error" if leg == "primary" else "ok", at + number, f"{prefix}{number}")
        for number in range(count)
        for leg in ("primary", "fallback")
    ]


def divergence(replay: Replay, n: int) -> str:
    text = replay.call(n).divergence
    assert text is not None, f"call {n} does not diverge"
    return text


def called(replay: Replay) -> list[tuple[Leg, ...]]:
    return [replay.call(n).called for n in range(1, replay.count + 1)]


# Which attempts make a call


def test_attempts_of_one_id_are_one_call_though_others_stand_between_them() -> None:
    replay = replayed(
        attempt("primary", "error", 0, "a"),
        attempt("primary", "error", 1, "b"),
        attempt("fallback", "ok", 2, "b"),
        attempt("fallback", "ok", 3, "a"),
    )
    assert called(replay) == [(Leg.PRIMARY, Leg.FALLBACK)] * 2
    assert [replay.call(n).lines for n in (1, 2)] == [(1, 4), (2, 3)]
    assert not replay.call(1).flags & Flag.BY_ADJACENCY


def test_attempts_without_an_id_are_paired_by_adjacency_and_marked() -> None:
    replay = replayed(attempt("primary", "error", 0), attempt("fallback", "ok", 0), attempt("primary", "ok", 5))
    assert called(replay) == [(Leg.PRIMARY, Leg.FALLBACK), (Leg.PRIMARY,)]
    assert replay.call(1).flags & Flag.BY_ADJACENCY
    assert not replay.call(2).flags & Flag.BY_ADJACENCY


def test_without_ids_a_rescue_goes_to_the_failure_that_it_follows_in_time() -> None:
    replay = replayed(
        attempt("primary", "error", 0, duration_ms=10),
        attempt("primary", "error", 3, duration_ms=20),
        attempt("fallback", "ok", 10),
        attempt("fallback", "ok", 23),
    )
    assert [replay.call(n).lines for n in (1, 2)] == [(1, 3), (2, 4)]


def test_an_id_that_is_used_again_begins_another_call() -> None:
    replay = replayed(*failing(1), *failing(1, at=10))
    assert called(replay) == [(Leg.PRIMARY, Leg.FALLBACK)] * 2


def test_a_leg_that_was_asked_again_in_one_call_counts_once_and_is_marked() -> None:
    replay = replayed(
        attempt("primary", "error", 0, "a"), attempt("primary", "error", 1, "a"), attempt("fallback", "ok", 2, "a")
    )
    assert replay.count == 1
    assert replay.call(1).streak == 1
    assert replay.call(1).flags & Flag.RETRIED


def test_a_health_check_is_a_call_that_moves_nothing_and_leaves_the_last_error() -> None:
    replay = replayed(*failing(2), attempt("primary", "ok", 5, "h", op="healthcheck"), attempt("primary", "ok", 6, "x"))
    check = replay.call(3)
    assert (check.op, check.served_by, check.streak) == ("healthcheck", None, 2)
    assert check.last_error_kind is LastErrorKind.PRIMARY
    assert replay.call(4).streak == 0


# One machine a process


def test_each_process_has_a_machine_of_its_own() -> None:
    lines = []
    for number in range(3):
        for instance in ("one", "two"):
            lines.append(attempt("primary", "error", number, f"{instance}{number}", service__instance__id=instance))
            lines.append(attempt("fallback", "ok", number, f"{instance}{number}", service__instance__id=instance))
    replay = replayed(*lines)
    assert [replay.call(n).streak for n in range(1, 7)] == [1, 1, 2, 2, 3, 3]
    assert [each.n for each in replay.transitions] == [5, 6]
    assert not len(replay.divergences)


def test_a_start_begins_anew_and_warns_nobody() -> None:
    replay = replayed(*failing(3), {"record": "start", "timestamp": 5}, attempt("primary", "ok", 6, "x"))
    fresh = replay.call(4)
    assert (fresh.phase, fresh.streak, fresh.warns) == (Phase.HEALTHY, 0, ())
    assert fresh.flags & Flag.RESTARTED
    assert not len(replay.divergences)


def test_a_restart_of_one_process_leaves_the_others_alone() -> None:
    own = [line | {"service.instance.id": "one"} for line in failing(3)]
    replay = replayed(
        *own,
        {"record": "start", "service.instance.id": "two"},
        attempt("primary", "ok", 6, "x", service__instance__id="two"),
        attempt("fallback", "ok", 7, "y", service__instance__id="one"),
    )
    assert replay.call(5).phase is Phase.COOLDOWN
    assert not len(replay.divergences)


def test_a_process_for_each_call_never_opens() -> None:
    lines = [line | {"service.instance.id": line["call.id"]} for line in failing(10)]
    replay = replayed(*lines)
    assert {replay.call(n).streak for n in range(1, 11)} == {1}
    assert not replay.transitions


def test_a_reset_forgets_without_a_warning() -> None:
    replay = replayed(*failing(3), {"record": "reset", "timestamp": 4}, attempt("primary", "ok", 5, "x"))
    assert replay.call(4).warns == ()
    assert not len(replay.divergences)


# Configuration


def test_options_win_over_the_log_and_the_log_over_the_defaults() -> None:
    lines = [config(2, 1000), *failing(2)]
    assert replayed(*lines).call(2).state is Leg.FALLBACK
    assert replayed(*failing(2)).call(2).state is Leg.PRIMARY
    replay = replayed(*lines, asked=Asked(failure_streak_threshold=5))
    assert replay.call(2).state is Leg.PRIMARY
    assert replay.config == RoutingConfig(5, 1000)


def test_each_process_is_held_against_its_own_config_line() -> None:
    lines = [{**config(1, 1000), "service.instance.id": "one"}, {**config(5, 1000), "service.instance.id": "two"}]
    for instance in ("one", "two"):
        lines += [line | {"service.instance.id": instance} for line in failing(1, prefix=instance)]
    replay = replayed(*lines)
    assert [replay.call(n).state for n in (1, 2)] == [Leg.FALLBACK, Leg.PRIMARY]


def test_the_dialect_of_the_log_counts_unless_another_is_asked() -> None:
    lines = [{**config(3), "dialect": ["opens_above_threshold"]}, *failing(3)]
    assert replayed(*lines).call(3).state is Leg.PRIMARY
    assert replayed(*lines, dialect=RoutingDialect()).call(3).state is Leg.FALLBACK


# Side by side


def test_two_probes_that_overlap_are_no_divergence() -> None:
    window = [config(3, 1000), *failing(3)]
    replay = replayed(
        *window,
        attempt("primary", "error", 1100, "p", duration_ms=50),
        attempt("primary", "error", 1110, "q", duration_ms=60),
        attempt("fallback", "ok", 1150, "p"),
        attempt("fallback", "ok", 1170, "q"),
    )
    assert not len(replay.divergences)
    assert replay.call(5).flags & Flag.OVERLAPS
    assert replay.call(5).streak == 5
    assert replay.call(5).fallback_until_ms == 2170


def test_a_late_success_closes_what_opened_while_it_ran() -> None:
    slow = attempt("primary", "ok", 0, "slow", duration_ms=500)
    replay = replayed(config(3, 10_000), *failing(3, at=100), slow)
    assert replay.transitions[-1].warn == "fallback->primary"
    assert replay.call(4).phase is Phase.HEALTHY
    assert not len(replay.divergences)


def test_outcomes_take_effect_in_the_order_of_the_log() -> None:
    replay = replayed(
        attempt("primary", "error", 5, "a", duration_ms=5),
        attempt("primary", "ok", 0, "b", duration_ms=20),
        attempt("fallback", "ok", 10, "a", duration_ms=15),
    )
    assert replay.call(1).streak == 0


def test_many_calls_at_once_see_the_machine_as_it_was_when_they_began() -> None:
    lines = [attempt("primary", "error", number, f"c{number}", duration_ms=1000) for number in range(300)]
    lines += [attempt("fallback", "ok", 1000 + number, f"c{number}", duration_ms=1000) for number in range(300)]
    replay = replayed(*sorted(lines, key=lambda line: line["timestamp"] + line["duration_ms"]))
    assert not len(replay.divergences)
    assert replay.call(300).streak == 300


# Clocks


def test_a_call_that_ends_before_the_line_above_is_flagged_and_stays_in_its_place() -> None:
    replay = replayed(config(3, 1000), *failing(3, at=5000), attempt("fallback", "ok", 1000, "x"))
    assert replay.call(4).flags & Flag.CLOCK_BACK
    assert replay.call(4).phase is Phase.COOLDOWN
    assert not len(replay.divergences)


def test_equal_times_beyond_the_whole_milliseconds_are_no_step_back() -> None:
    replay = replayed(attempt("primary", at=1e18, call="a"), attempt("primary", at=1e18, call="b"))
    assert not replay.call(2).flags & Flag.CLOCK_BACK


def test_clocks_of_two_processes_are_not_held_against_each_other() -> None:
    replay = replayed(
        attempt("primary", "ok", 5000, "a", service__instance__id="one"),
        attempt("primary", "ok", 1000, "b", service__instance__id="two"),
    )
    assert not replay.columns.flags.any()


# Divergences


def test_a_primary_asked_in_its_window_diverges_and_the_machine_goes_on_with_its_answer() -> None:
    replay = replayed(*failing(3), attempt("primary", "ok", 1000, "x"), attempt("primary", "ok", 1001, "y"))
    assert "the primary was asked, though its window is open for 299,002 ms more" in divergence(replay, 4)
    assert replay.call(4).phase is Phase.HEALTHY
    assert replay.divergences.tolist() == [4]
    assert replay.exit_code == 1


def test_a_primary_skipped_without_a_window_diverges_and_names_the_threshold_that_would_explain_it() -> None:
    replay = replayed(*failing(2), attempt("fallback", "ok", 10, "x"))
    assert "skipped, though no window is open and its streak is 2 of 3" in divergence(replay, 3)
    assert "a threshold of 2" in divergence(replay, 3)


def test_after_a_divergence_the_machine_keeps_its_own_window() -> None:
    replay = replayed(config(3, 1000), *failing(3), attempt("fallback", "ok", 1500, "x"))
    assert "its window ended 498 ms before" in divergence(replay, 4)
    assert replay.call(4).fallback_until_ms == 1002
    assert replay.call(4).phase is Phase.PROBE_DUE


def test_a_failure_without_a_rescue_diverges_unless_the_log_ends_there() -> None:
    lost = replayed(attempt("primary", "error", 0, "a"), attempt("primary", "ok", 5, "b"))
    assert "the fallback was not asked" in divergence(lost, 1)
    ended = replayed(attempt("primary", "ok", 0, "a"), attempt("primary", "error", 5, "b"))
    assert not len(ended.divergences)
    assert ended.call(2).flags & Flag.UNFINISHED
    killed = replayed(attempt("primary", "error", 0, "a"), {"record": "start"}, attempt("primary", "ok", 9, "b"))
    assert not len(killed.divergences)


def test_a_needless_rescue_diverges() -> None:
    replay = replayed(attempt("primary", "null", 0, "a"), attempt("fallback", "ok", 1, "a"))
    assert "the fallback was asked, though the primary returned" in divergence(replay, 1)
    assert "a dialect in which a null counts as a failure" in divergence(replay, 1)
    assert replay.call(1).served_by is Leg.FALLBACK


WARN = {"record": "transition", "from": "primary", "to": "fallback"}


def test_a_warning_that_the_log_tells_and_the_machine_does_not_diverges() -> None:
    replay = replayed(*failing(1), WARN, *failing(1, at=5, prefix="g"))
    assert "the log tells a warning that the machine does not give" in divergence(replay, 1)


def test_a_warning_that_the_log_lacks_diverges_only_where_it_tells_of_warnings_at_all() -> None:
    silent = [*failing(3), attempt("fallback", "ok", 10, "x")]
    assert not len(replayed(*silent).divergences)
    closing = [attempt("primary", "ok", 400_000, "y"), {"record": "transition", "from": "fallback", "to": "primary"}]
    assert "the machine warns primary->fallback and the log does not" in divergence(replayed(*silent, *closing), 3)


def test_warnings_that_name_no_process_are_held_against_none_of_several() -> None:
    lines = [line | {"service.instance.id": name} for name in ("one", "two") for line in failing(3, prefix=name)]
    assert not len(replayed(*lines, WARN).divergences)


@pytest.mark.parametrize("place", [4, 5, 6])
def test_a_warning_may_stand_before_or_behind_the_attempts_of_its_call(place: int) -> None:
    lines = failing(3)
    lines.insert(place, WARN)
    assert not len(replayed(*lines).divergences)


def test_a_warning_a_call_too_early_is_no_match() -> None:
    lines = failing(3)
    lines.insert(3, WARN)
    assert len(replayed(*lines).divergences)


# What was told of errors


def test_the_last_error_speaks_of_the_legs_that_failed_in_this_call() -> None:
    replay = replayed(
        attempt("primary", "rate_limited", 0, "a"),
        attempt("fallback", "ok", 1, "a"),
        attempt("primary", "timeout", 2, "b"),
        attempt("fallback", "error", 3, "b"),
        attempt("primary", "null_with_error", 4, "c"),
        attempt("primary", "null", 5, "d"),
    )
    kinds = [replay.call(n).last_error_kind for n in range(1, 5)]
    assert kinds == ["primary", "both", "primary", None]
    assert replay.call(1).last_error == "HTTP 429"
    assert replay.call(2).last_error == "primary: timeout | fallback: PROVIDER_FAILURE"
    assert replay.call(2).served_by is None


def test_a_flapping_primary_serves_by_the_fallback_and_warns_nobody() -> None:
    lines: list[Line] = []
    for number in range(20):
        lines += failing(1, at=2 * number, prefix=f"f{number}-")
        lines.append(attempt("primary", "ok", 2 * number + 1, f"o{number}"))
    replay = replayed(*lines)
    assert not replay.transitions
    assert replay.served_unnoticed == 20


# Looking around


def test_calls_are_found_by_time_and_by_mark() -> None:
    replay = replayed(config(3, 1000), *failing(3), attempt("primary", "ok", 2000, "x"))
    assert [replay.at(ms) for ms in (-5, 0, 1.5, 1999, 2000, 9999)] == [1, 1, 2, 3, 4, 4]
    marked = replay.transition_calls
    assert marked.tolist() == [3, 4]
    assert [replay.next_marked(n, marked) for n in (1, 3, 4)] == [3, 4, None]
    assert [replay.next_marked(n, marked, -1) for n in (1, 4)] == [None, 3]
    with pytest.raises(IndexError):
        replay.call(5)


# The machine itself

WORDS = ["ok", "partial_null", "null", "error", "timeout", "circuit_open", "abort"]
OUTCOMES = dict(
    zip(
        WORDS,
        [Outcome.VECTOR, Outcome.PARTIAL, Outcome.NULL, Outcome.ERROR, Outcome.ERROR, Outcome.CIRCUIT_OPEN,
         Outcome.ABORT],
        strict=True,
    )
)  # fmt: skip
dialects = st.builds(RoutingDialect, *[st.booleans()] * 5)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from(WORDS), st.sampled_from(["ok", "error"])), max_size=25),
    st.sampled_from([-1, 0, 1, 2, 3]),
    st.sampled_from([-5, 0, 10, 100]),
    dialects,
)
def test_states_are_those_of_the_machine_in_every_dialect(
    steps: list[tuple[int, str, str]], threshold: float, cooldown: float, dialect: RoutingDialect
) -> None:
    lines, states, state, now = [config(threshold, cooldown)], [], RoutingState(), 0
    for number, (wait, word, rescue) in enumerate(steps):
        now += wait
        leg = state.first_leg(now)
        if leg is Leg.PRIMARY:
            settled = settle_primary(state, OUTCOMES[word], now, RoutingConfig(threshold, cooldown), dialect)
            state = settled.state
            line = attempt("primary", word, now, f"c{number}")
            lines.append(line | ({"null.count": 1, "input.count": 2} if word == "partial_null" else {}))
            if settled.next_leg is not None:
                lines.append(attempt("fallback", rescue, now, f"c{number}"))
        else:
            lines.append(attempt("fallback", rescue, now, f"c{number}"))
        states.append((state, state.phase(now)))
    replay = replayed(*lines, dialect=dialect)
    seen = [replay.call(n) for n in range(1, replay.count + 1)]
    assert [(RoutingState(each.state, each.streak, each.fallback_until_ms), each.phase) for each in seen] == states
    assert not len(replay.divergences)
    assert not replay.columns.flags.any() or {"abort"} & {word for _, word, _ in steps}
    _invariants(replay)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["primary", "fallback"]),
            st.sampled_from(WORDS),
            st.integers(-20, 60),
            st.sampled_from(["a", "b", "c", None]),
            st.sampled_from([None, "one", "two"]),
            st.integers(0, 30),
        ),
        max_size=30,
    )
)
def test_any_log_is_replayed_and_keeps_the_invariants(
    steps: list[tuple[str, str, int, str | None, str | None, int]],
) -> None:
    now, lines = 0, []
    for leg, word, wait, call, instance, lasted in steps:
        now += wait
        line = attempt(leg, word, now, call, duration_ms=lasted)
        lines.append(line if instance is None else line | {"service.instance.id": instance})
    replay = replayed(*lines)
    assert replay.count <= len(steps)
    attempts = sum(len(each.called) for each in map(replay.call, range(1, replay.count + 1)))
    retried = (replay.columns.flags & np.uint8(Flag.RETRIED)).any()
    assert attempts == len(steps) or retried
    _invariants(replay)


def _invariants(replay: Replay) -> None:
    columns = replay.columns
    for index in range(replay.count):
        call = replay.call(index + 1)
        assert PHASES[columns.phase[index]] is call.phase
        assert (call.state is Leg.PRIMARY) <= (call.fallback_until_ms is None) or replay.dialect != RoutingDialect()
        if call.phase in (Phase.HEALTHY, Phase.DEGRADED):
            assert call.state is Leg.PRIMARY
        if call.divergence is None and not call.flags and call.called == (Leg.FALLBACK,) and call.op != "healthcheck":
            assert call.last_error_kind in (None, LastErrorKind.FALLBACK)
            assert call.warns == ()
    if len(replay.calls.rows.instances) <= 1:
        assert all(one.warn != other.warn for one, other in pairwise(replay.transitions))
