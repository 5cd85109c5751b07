"""Another threshold or cooldown side by side, and what fits a log: ranges where nobody knows, exact where one does."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.routing.scenes import NATIVE, SPARE, Line, attempt, config, namespace, replayed
from workbench.core.routing import Leg, Outcome, RoutingConfig, RoutingDialect, RoutingState, settle_primary
from workbench.routing.what_if import what_if

WRITES = {"op": "embed", "purpose": "document", "namespace": "docs"}


def call(number: int, at: float, *legs: tuple[str, str]) -> list[Line]:
    """Give the lines of a call that writes one document."""
    return [
        attempt(leg, word, at, f"c{number}", made=NATIVE if leg == "primary" else SPARE, **WRITES) for leg, word in legs
    ]


FAILS = (("primary", "error"), ("fallback", "ok"))


def outage(failures: int, skipped: int) -> list[Line]:
    """Give a log with a call a second: failures, then skips until the window of ten seconds is over."""
    lines = [config(failures, 1000 * (skipped + 0.5)), namespace()]
    for number in range(failures):
        lines += call(number, 1000 * number, *FAILS)
    for number in range(failures, failures + skipped):
        lines += call(number, 1000 * number, ("fallback", "ok"))
    return lines + call(99, 1000 * (failures + skipped), ("primary", "ok"))


def test_the_configuration_of_the_log_gives_what_happened() -> None:
    replay = replayed(*outage(3, 5))
    same = what_if(replay)
    assert (same.switches.low, same.switches.high) == (2, 2)
    assert (same.foreign_vectors.low, same.foreign_vectors.high) == (8, 8)
    assert same.logged.foreign_vectors == 8
    assert not same.unknown.any()


def test_answers_that_nobody_knows_make_a_range() -> None:
    never = what_if(replayed(*outage(3, 5)), threshold=100)
    assert (never.foreign_vectors.low, never.foreign_vectors.high) == (3, 8)
    assert str(never.foreign_vectors) == "3 to 8"
    assert (never.if_ok.assumed, never.if_failed.assumed) == (5, 5)
    assert never.switches.high == 0
    assert never.unknown.tolist() == [False] * 3 + [True] * 5 + [False]


def test_an_earlier_opening_spares_the_primary_and_is_known() -> None:
    earlier = what_if(replayed(*outage(3, 5)), threshold=1, cooldown_ms=1e9)
    assert (earlier.foreign_vectors.low, earlier.foreign_vectors.high) == (9, 9)
    assert earlier.primary_asked.high == 1
    assert earlier.if_ok.skipped.tolist() == [False] + [True] * 8


def test_calls_that_move_to_a_fallback_nobody_saw_are_not_counted_as_foreign() -> None:
    replay = replayed(namespace(), *call(0, 0, ("primary", "error")), *call(1, 1, ("primary", "ok")))
    assert not what_if(replay, threshold=1).fallback_known


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["ok", "error", "circuit_open", "null"])), max_size=30),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([0, 10, 100]),
)
def test_without_divergence_the_same_configuration_is_the_same_course(
    steps: list[tuple[int, str]], threshold: int, cooldown: int
) -> None:
    outcomes = {
        "ok": Outcome.VECTOR,
        "error": Outcome.ERROR,
        "circuit_open": Outcome.CIRCUIT_OPEN,
        "null": Outcome.NULL,
    }
    lines, state, now = [config(threshold, cooldown), namespace()], RoutingState(), 0
    for number, (wait, word) in enumerate(steps):
        now += wait
        if state.first_leg(now) is Leg.FALLBACK:
            lines += call(number, now, ("fallback", "ok"))
            continue
        settled = settle_primary(state, outcomes[word], now, RoutingConfig(threshold, cooldown))
        state = settled.state
        lines += call(number, now, ("primary", word), *([("fallback", "ok")] if settled.next_leg else []))
    replay = replayed(*lines)
    same = what_if(replay)
    for course in (same.if_ok, same.if_failed):
        assert course.rescuing.tolist() == same.logged.rescuing.tolist()
        assert course.by_fallback.tolist() == same.logged.by_fallback.tolist()
        assert (course.switches, course.foreign_vectors) == (same.logged.switches, same.logged.foreign_vectors)
        assert course.assumed == 0


# What fits


def test_threshold_and_cooldown_are_fitted_and_offered() -> None:
    lines = [line for line in outage(2, 5) if line.get("record") != "config"]
    replay = replayed(*lines)
    assert len(replay.divergences)
    fit = replay.fit
    assert fit is not None
    assert (fit.threshold, fit.divergences) == (2, 0)
    assert 4000 < fit.cooldown_ms <= 6000


def test_a_dialect_is_fitted_and_offered() -> None:
    lines = call(0, 0, ("primary", "null"), ("fallback", "ok")) + call(1, 1, ("primary", "ok"))
    fit = replayed(*lines).fit
    assert fit is not None
    assert fit.dialect == RoutingDialect(null_counts_as_failure=True)


def test_nothing_is_offered_for_a_log_that_fits() -> None:
    assert replayed(*outage(3, 5)).fit is None
