"""LiteLLM's logging payloads: a log that its router wrote, and every way in which such a log can be odd."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.routing.foreign_logs import WRITTEN, attempts_and_problems, lines, payload
from workbench.core.routing import Leg, Outcome
from workbench.routing.foreign import litellm
from workbench.routing.model import Attempt, LogProblem, Operation, Purpose
from workbench.routing.opening import UnreadableLog, open_routing_log, recognise
from workbench.routing.replay import replay_log

ROUTER = WRITTEN / "litellm.jsonl"


def test_a_log_that_the_router_wrote_tells_its_legs_by_who_is_asked_after_whom() -> None:
    attempts, problems = attempts_and_problems(litellm.read, ROUTER)
    assert [attempt.leg.value[0] for attempt in attempts] == list("ppppfpfffppppf")
    (why,) = problems
    assert why == (
        "'documents' is taken to be the primary and 'documents-backup' the fallback, asked after its failures (3 times)"
    )


def test_the_attempts_of_one_request_are_one_call_by_its_trace() -> None:
    attempts, _ = attempts_and_problems(litellm.read, ROUTER)
    calls = [attempt.call_id for attempt in attempts]
    assert None not in calls
    assert len(set(calls)) == 11
    assert [calls[n] == calls[n + 1] for n in (3, 5, 12)] == [True, True, True]


def test_an_attempt_says_who_answered_how_long_its_vectors_are_and_where_they_go() -> None:
    attempts, _ = attempts_and_problems(litellm.read, ROUTER)
    failed, rescue = attempts[3:5]
    assert (failed.outcome, failed.error_type, failed.status_code) == (Outcome.ERROR, "ServiceUnavailableError", 503)
    assert (failed.response_model, failed.observed_dims) == (None, None)
    assert (rescue.outcome, rescue.model, rescue.observed_dims) == (Outcome.VECTOR, "house-embed", 8)
    assert (rescue.op, rescue.input_count) == (Operation.EMBED_BATCH, 2)
    assert (rescue.namespace, rescue.purpose) == ("handbook", Purpose.DOCUMENT)
    assert rescue.keys == failed.keys == ("page-3#0", "page-3#1")
    assert rescue.server is not None
    assert rescue.server.startswith("http://127.0.0.1:")
    assert attempts[10].purpose is Purpose.QUERY


def test_its_replay_counts_what_the_fallback_wrote_and_finds_that_the_router_opened_earlier() -> None:
    with open_routing_log(ROUTER) as log:
        replay = replay_log(log.records)
    (row,) = replay.ledger.rows
    assert (row.namespace, row.native, row.foreign_same_dims) == ("handbook", 10, 8)
    assert set(row.keys) == {f"page-{page}#{part}" for page in (3, 4, 5, 6) for part in (0, 1)}
    assert replay.divergences.tolist() == [6, 7]


def test_no_text_no_vector_and_no_message_of_an_error_is_kept() -> None:
    with ROUTER.open("rb") as file:
        kept = repr(list(litellm.read(file)))
    assert "of a page" not in kept
    assert "being moved" not in kept
    assert "0.2373" not in kept


def test_the_router_is_recognised_by_content_and_completions_alone_are_not() -> None:
    found = recognise(ROUTER)
    assert found is not None
    assert (found.format.name, found.why) == ("litellm", "LiteLLM's logging payload, of call type aembedding")
    assert litellm.recognise(lines(payload("a", 0, call_type="acompletion"))) is None
    assert litellm.recognise(b'{"call_type": "aembedding"}') is None


@pytest.mark.parametrize("form", ["lines", "array", "array over lines", "indented", "one", "batches", "callback"])
def test_every_form_in_which_loggers_keep_payloads_is_read(form: str) -> None:
    values = [json.loads(line) for line in ROUTER.read_text(encoding="utf-8").splitlines()]
    log = {
        "lines": lines(*values),
        "array": json.dumps(values).encode(),
        "array over lines": b"[\n" + b",\n".join(json.dumps(value).encode() for value in values) + b"\n]\n",
        "indented": "\n".join(json.dumps(value, indent=2) for value in values).encode(),
        "one": json.dumps(values[0], indent=1).encode(),
        "batches": lines(values[:5], values[5:]),
        "callback": lines(*({"model": "x", "standard_logging_object": value} for value in values)),
    }[form]
    attempts, problems = attempts_and_problems(litellm.read, log)
    assert len(attempts) == (1 if form == "one" else 14)
    assert len(problems) == 1
    assert [attempt.line for attempt in attempts] == sorted(attempt.line for attempt in attempts)
    assert {attempt.call_id for attempt in attempts} <= {value["trace_id"] for value in values}


def test_half_written_lines_are_said_and_cost_only_themselves() -> None:
    log = lines(payload("a", 0)) + lines(payload("b", 1))[:40] + b"\n" + lines(payload("a", 2)) + b'{"call_type": "aem'
    attempts, problems = attempts_and_problems(litellm.read, log)
    assert [attempt.line for attempt in attempts] == [1, 3]
    assert problems[:2] == [
        f"line {line} is half written, or nothing that this format holds, and was passed over" for line in (2, 4)
    ]


def test_the_attempts_of_calls_without_a_trace_are_left_to_adjacency_and_that_is_said() -> None:
    log = lines(payload("a", 0, ok=False), payload("b", 0.2), payload("a", 1))
    attempts, problems = attempts_and_problems(litellm.read, log)
    assert [attempt.leg for attempt in attempts] == [Leg.PRIMARY, Leg.FALLBACK, Leg.PRIMARY]
    assert {attempt.call_id for attempt in attempts} == {None}
    assert problems[1] == "3 attempts do not say which call they belong to and are paired by adjacency"


def test_one_group_of_two_models_has_its_legs_told_by_the_model() -> None:
    group: dict[str, Any] = {"model_group": "embed"}
    log = lines(payload("a", 0, trace="1", **group), payload("a", 1, ok=False, trace="2", **group))
    log += lines(payload("b", 1.2, trace="2", **group), payload("b", 2, trace="3", **group))
    attempts, problems = attempts_and_problems(litellm.read, log)
    assert [attempt.leg.value[0] for attempt in attempts] == list("ppff")
    assert problems == ["'a' is taken to be the primary and 'b' the fallback, asked after its failures (1 time)"]


def test_a_retry_of_the_same_group_is_the_same_call() -> None:
    log = lines(
        payload("a", 0, ok=False, trace="t"), payload("a", 0.5, ok=False, trace="t"), payload("b", 1, trace="t")
    )
    attempts, _ = attempts_and_problems(litellm.read, log)
    assert [(attempt.leg.value[0], attempt.call_id) for attempt in attempts] == [("p", "t"), ("p", "t"), ("f", "t")]


def test_a_retry_is_the_same_call_also_where_texts_are_kept_out_of_the_log() -> None:
    hidden: dict[str, Any] = {"trace": "t", "messages": "redacted-by-litellm"}
    log = lines(payload("a", 0, ok=False, **hidden), payload("a", 0.5, **hidden), payload("b", 1, trace="u"))
    attempts, _ = attempts_and_problems(litellm.read, log)
    assert [attempt.call_id for attempt in attempts] == ["t", "t", "u"]
    assert attempts[0].input_count == 1


def test_a_chain_of_fallbacks_is_one_leg_also_when_the_log_begins_within_a_cooldown() -> None:
    log = lines(
        payload("b", 0, trace="s"),
        payload("a", 1, ok=False, trace="t"),
        payload("b", 2, ok=False, trace="t"),
        payload("c", 3, trace="t"),
    )
    attempts, problems = attempts_and_problems(litellm.read, log)
    assert [attempt.leg.value[0] for attempt in attempts] == list("fpff")
    assert [attempt.call_id for attempt in attempts] == ["s", "t", "t", "t"]
    assert problems[0].startswith(
        "'group-of-a' is taken to be the primary and 'group-of-b' and 'group-of-c' the fallback"
    )


def test_a_failure_that_ends_after_an_attempt_began_is_not_what_it_rescues() -> None:
    early = payload("a", 0, ok=False, trace="t", messages="redacted-by-litellm")
    late = {**early, "endTime": early["endTime"] + 10}
    log = lines(early, payload("b", 1, trace="t", messages="redacted-by-litellm"), late)
    before, _ = attempts_and_problems(litellm.read, log)
    after, _ = attempts_and_problems(litellm.read, lines(late, payload("b", 1, trace="t"), early))
    assert len({attempt.call_id for attempt in before}) == 2
    assert after[1].call_id != after[0].call_id


def test_a_trace_that_a_program_uses_for_many_requests_is_split_by_what_is_asked() -> None:
    def ask(text: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": text}]

    log = lines(
        payload("a", 0, ok=False, trace="t", messages=ask("one")),
        payload("a", 0, ok=False, trace="t", messages=ask("two")),
        payload("b", 1, trace="t", messages=ask("two")),
        payload("b", 1, trace="t", messages=ask("one")),
        payload("a", 2, trace="t", messages=ask("three")),
    )
    attempts, _ = attempts_and_problems(litellm.read, log)
    assert [attempt.call_id for attempt in attempts] == ["t", "t#2", "t#2", "t", "t#3"]


def test_what_belongs_to_neither_leg_is_left_out_and_counted() -> None:
    log = lines(payload("a", 0, ok=False, trace="t"), payload("b", 1, trace="t"), payload("c", 2, trace="u"))
    attempts, problems = attempts_and_problems(litellm.read, log)
    assert len(attempts) == 2
    assert problems[1] == "1 attempts belong to neither leg and were left out: 'group-of-c' (1)"


def test_without_a_rescue_the_one_asked_first_is_taken_for_the_primary_and_that_is_said_to_be_a_guess() -> None:
    attempts, problems = attempts_and_problems(
        litellm.read, lines(payload("b", 0, trace="t"), payload("a", 1, trace="u"))
    )
    assert [attempt.leg for attempt in attempts] == [Leg.PRIMARY, Leg.FALLBACK]
    assert "because it is asked first" in problems[0]


def test_the_primary_can_be_named_where_the_log_leaves_a_doubt() -> None:
    log = io.BytesIO(lines(payload("b", 0, trace="t"), payload("a", 1, trace="u")))
    found = list(litellm.read(log, primary="group-of-a"))
    assert [getattr(each, "leg", None) for each in found] == [Leg.FALLBACK, Leg.PRIMARY, None]
    assert getattr(found[2], "message", "") == "'group-of-a' is the primary, as asked for"


def test_a_primary_that_nobody_is_leaves_the_legs_as_they_are_told_and_that_is_said() -> None:
    with open_routing_log(ROUTER, primary="documents-backup") as log:
        turned = [each.leg for each in log.records if isinstance(each, Attempt)]
    assert turned[:5] == [Leg.FALLBACK] * 4 + [Leg.PRIMARY]
    with open_routing_log(ROUTER, primary="document") as log:
        *_, why = log.records
    assert isinstance(why, LogProblem)
    assert why.message.startswith(
        "nobody named 'document' is asked in this log (but 'documents', 'documents-backup'); "
    )


def test_a_log_that_says_its_legs_itself_takes_no_name_of_a_primary(tmp_path: Path) -> None:
    own = tmp_path / "routing.jsonl"
    own.write_bytes(b'{"leg": "primary", "outcome": "success", "timestamp": 1}\n')
    with pytest.raises(UnreadableLog, match="says itself which leg was asked"):
        open_routing_log(own, primary="a")


def test_an_answer_out_of_the_cache_asked_no_leg() -> None:
    attempts, problems = attempts_and_problems(
        litellm.read, lines(payload("a", 0, trace="t"), payload("a", 1, trace="u", cache_hit=True))
    )
    assert len(attempts) == 1
    assert problems[1] == "1 answers came out of a cache: they asked no leg and move nothing"


def test_completions_between_the_embeddings_are_passed_over_and_counted() -> None:
    log = lines(payload("a", 0, trace="t"), payload("chat", 1, call_type="acompletion"))
    attempts, problems = attempts_and_problems(litellm.read, log)
    assert len(attempts) == 1
    assert problems[1] == "1 payloads are of no embedding and were passed over"


@pytest.mark.parametrize(
    ("data", "outcome", "dims", "nulls"),
    [
        ([{"embedding": [1, 2, 3]}], Outcome.VECTOR, 3, None),
        ([{"embedding": "AACAPwAAAEAAAEBA"}], Outcome.VECTOR, 3, None),
        ([{"embedding": [1]}, {"embedding": None}, {}], Outcome.PARTIAL, 1, (1, 2)),
        ([{"embedding": []}], Outcome.NULL, None, (0,)),
        ("not a list", Outcome.VECTOR, None, None),
        ([], Outcome.VECTOR, None, None),
    ],
)
def test_vectors_are_measured_and_missing_ones_counted(
    data: object, outcome: Outcome, dims: int | None, nulls: tuple[int, ...] | None
) -> None:
    log = lines(payload("a", 0, trace="t", response={"model": "a", "data": data}))
    (attempt,), _ = attempts_and_problems(litellm.read, log)
    assert (attempt.outcome, attempt.observed_dims, attempt.null_indexes) == (outcome, dims, nulls)


def test_a_vector_with_a_nan_is_still_measured() -> None:
    log = lines(payload("a", 0, trace="t", response={"model": "a", "data": [{"embedding": [1.0, float("nan")]}]}))
    assert b"NaN" in log
    (attempt,), _ = attempts_and_problems(litellm.read, log)
    assert attempt.observed_dims == 2


@pytest.mark.parametrize(
    ("error_class", "outcome"),
    [
        ("CancelledError", Outcome.ABORT),
        ("asyncio.exceptions.CancelledError", Outcome.ABORT),
        ("RouterRateLimitError", Outcome.CIRCUIT_OPEN),
        ("Timeout", Outcome.ERROR),
        ("", Outcome.ERROR),
    ],
)
def test_kinds_of_failure_are_told_by_the_class_of_the_error(error_class: str, outcome: Outcome) -> None:
    log = lines(payload("a", 0, ok=False, trace="t", error_information={"error_class": error_class}))
    (attempt,), _ = attempts_and_problems(litellm.read, log)
    assert attempt.outcome is outcome


def test_a_clock_that_steps_back_within_an_attempt_leaves_its_duration_unknown() -> None:
    log = lines(payload("a", 10, trace="t", endTime=1_700_000_005))
    (attempt,), problems = attempts_and_problems(litellm.read, log)
    assert attempt.duration_ms is None
    assert problems[0] == "line 1 ends before it begins; its duration is taken as not said"


def test_a_clock_that_steps_back_between_attempts_is_kept_as_logged_for_the_replay_to_flag() -> None:
    attempts, _ = attempts_and_problems(litellm.read, lines(payload("a", 100, trace="t"), payload("a", 40, trace="u")))
    assert attempts[1].started_ms - attempts[0].started_ms == -60_000


def test_times_in_words_are_read_too() -> None:
    log = lines(payload("a", 0, trace="t", startTime="2026-01-02 21:00:00", endTime="2026-01-02T21:00:01.500+00:00"))
    (attempt,), _ = attempts_and_problems(litellm.read, log)
    assert (attempt.started_ms, attempt.duration_ms) == (1_767_387_600_000, 1_500)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(sorted(payload("a", 0))),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
            max_leaves=6,
        ),
    )
)
def test_whatever_a_payload_holds_nothing_is_raised(odd: dict[str, object]) -> None:
    log = lines(payload("a", 0, ok=False, trace="t"), {**payload("b", 1, trace="t"), **odd})
    attempts_and_problems(litellm.read, log)


@settings(max_examples=60, deadline=None)
@given(st.integers(min_value=0, max_value=70_000))
def test_a_log_cut_anywhere_gives_what_stands_whole_before_the_cut(size: int) -> None:
    data = ROUTER.read_bytes()[:size]
    attempts, _ = attempts_and_problems(litellm.read, data)
    whole = data.count(b"\n")
    assert len(attempts) in (whole, whole + 1)


def test_an_object_nested_beyond_reason_is_said_and_passed_over() -> None:
    deep = b'{"call_type": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
    attempts, problems = attempts_and_problems(litellm.read, lines(payload("a", 0, trace="t")) + deep)
    assert len(attempts) == 1
    assert problems[0].startswith("line 2 is half written, or nothing that this format holds")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("https://me:pass@host.example:8/v1?key=sk-123#x", "https://host.example:8/v1"),
        ("host.example/v1", "host.example/v1"),
        ("http://host.example/v1/a@b", "http://host.example/v1/a@b"),
        ("?key=sk-123", None),
    ],
)
def test_an_address_is_kept_without_what_may_be_a_secret(said: str, kept: str | None) -> None:
    (attempt,), problems = attempts_and_problems(litellm.read, lines(payload("a", 0, trace="t", api_base=said)))
    assert attempt.server == kept
    assert "sk-123" not in repr(problems)


def test_a_kind_of_failure_that_is_a_message_is_not_kept() -> None:
    log = lines(payload("a", 0, ok=False, trace="t", error_information={"error_class": "could not embed 'a secret'"}))
    (attempt,), _ = attempts_and_problems(litellm.read, log)
    assert attempt.error_type == "error"


def test_hostile_names_are_cut_to_a_length_that_can_be_shown() -> None:
    name = "\x1b[2J" + "x" * 10_000
    _, problems = attempts_and_problems(litellm.read, lines(payload(name, 0, trace="t", model_group=name)))
    assert all(len(problem) < 300 for problem in problems)


def test_memory_does_not_grow_with_the_log() -> None:
    one = lines(*(payload("a", n, trace=str(n), response={"data": [{"embedding": [0.5] * 512}]}) for n in range(200)))

    def peak(times: int) -> int:
        file = io.BytesIO(one * times)
        tracemalloc.start()
        for _ in litellm.read(file):
            pass
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    assert peak(20) < peak(4) + 2_000_000


def test_a_text_that_was_cut_within_an_emoji_costs_nothing() -> None:
    log = lines(payload("a", 0, trace="t", messages=[{"role": "user", "content": "half \ud83d"}]))
    assert b"\\ud83d" in log
    (attempt,), _ = attempts_and_problems(litellm.read, log)
    assert attempt.observed_dims == 2
