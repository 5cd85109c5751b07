"""Embedding spans as a routing log: traces that OpenTelemetry's exporter wrote, and the odd ways of such traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.routing.foreign_logs import WRITTEN, attempts_and_problems, batch, lines, span
from workbench.core.routing import Leg, Outcome
from workbench.recordings import recognising
from workbench.routing.foreign import otlp
from workbench.routing.model import Attempt, LogProblem, Operation, Purpose
from workbench.routing.opening import UnreadableLog, open_routing_log, recognise
from workbench.routing.replay import replay_log

GENAI = WRITTEN / "otlp_genai.jsonl"
OPENINFERENCE = WRITTEN / "otlp_openinference.jsonl"
BOTH = pytest.mark.parametrize("log", [GENAI, OPENINFERENCE], ids=["genai", "openinference"])


@BOTH
def test_a_trace_tells_its_legs_by_who_is_asked_after_whom_within_a_span(log: Path) -> None:
    attempts, problems = attempts_and_problems(otlp.read, log)
    assert [attempt.leg.value[0] for attempt in attempts] == list("pppfpfffpp")
    assert problems == [
        "'acme-embed' is taken to be the primary and 'house-embed' the fallback, asked after its failures (2 times)"
    ]


@BOTH
def test_the_attempts_under_one_span_are_one_call_of_one_process(log: Path) -> None:
    attempts, _ = attempts_and_problems(otlp.read, log)
    calls = [attempt.call_id for attempt in attempts]
    assert len(set(calls)) == 8
    assert calls[2] == calls[3]
    assert calls[4] == calls[5]
    assert {attempt.instance for attempt in attempts} == {"indexer-1"}


@BOTH
def test_the_length_of_the_vectors_that_came_is_known(log: Path) -> None:
    attempts, _ = attempts_and_problems(otlp.read, log)
    assert [attempt.observed_dims for attempt in attempts] == [8, 8, None, 6, None, 6, 6, None, 8, 8]
    failed = attempts[2]
    assert failed.outcome is Outcome.ERROR
    assert failed.error_type is not None
    assert failed.error_type.endswith("InternalServerError")
    assert (failed.request_model, failed.response_model) == ("acme-embed", None)


def test_openinference_says_how_many_texts_and_where_they_go() -> None:
    attempts, _ = attempts_and_problems(otlp.read, OPENINFERENCE)
    assert {attempt.input_count for attempt in attempts} == {2}
    assert {attempt.op for attempt in attempts} == {Operation.EMBED_BATCH}
    assert (attempts[3].namespace, attempts[3].purpose) == ("handbook", Purpose.DOCUMENT)
    assert attempts[3].keys == ("page-2#0", "page-2#1")


def test_its_replay_finds_vectors_of_another_length_in_the_namespace() -> None:
    with open_routing_log(OPENINFERENCE) as log:
        replay = replay_log(log.records)
    (row,) = replay.ledger.rows
    assert (row.native, row.foreign_same_dims, row.foreign_dims_mismatch) == (8, 0, 6)
    assert "page-2#0" in row.keys


@BOTH
def test_no_text_no_vector_and_no_message_of_an_error_is_kept(log: Path) -> None:
    with log.open("rb") as file:
        kept = repr(list(otlp.read(file)))
    assert "text 2" not in kept
    assert "being moved" not in kept
    assert "0.115" not in kept


@BOTH
def test_the_times_keep_parts_of_a_millisecond(log: Path) -> None:
    attempts, _ = attempts_and_problems(otlp.read, log)
    document = json.loads(log.read_text(encoding="utf-8").splitlines()[0])
    first = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert abs(attempts[0].started_ms - int(first["startTimeUnixNano"]) / 1e6) < 0.001
    assert all(attempt.duration_ms is not None and attempt.duration_ms > 0 for attempt in attempts)


def test_a_trace_of_two_embedders_alone_is_a_routing_log_and_can_be_shown_as_a_recording_too() -> None:
    found = recognise(GENAI)
    assert found is not None
    assert (found.format.name, found.why) == ("otlp", "embedding spans in OTLP/JSON, by the conventions of OTel GenAI")
    shown = recognising.recognise(GENAI)
    assert shown is not None
    assert shown.format == "otlp"


def test_a_trace_with_a_model_or_a_retrieval_in_it_stays_a_recording_until_it_is_given_as_a_log(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.json"
    chat = span("chatty", 3)
    chat["attributes"][0]["value"]["stringValue"] = "chat"
    for other in (
        chat,
        {**span("x", 4), "attributes": [{"key": "openinference.span.kind", "value": {"stringValue": "RETRIEVER"}}]},
    ):
        path.write_bytes(lines(batch(span("a", 0, ok=False), span("b", 1), other)))
        assert recognise(path) is None
        with open_routing_log(path) as log:
            assert len([each for each in log.records if hasattr(each, "leg")]) == 2


def test_one_embedder_has_nothing_to_route_unless_its_trace_is_given_as_a_log(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(lines(batch(span("a", 0), span("a", 1))))
    assert recognise(path) is None
    with open_routing_log(path) as log:
        found = list(log.records)
    assert [each.leg for each in found if isinstance(each, Attempt)] == [Leg.PRIMARY, Leg.PRIMARY]
    assert LogProblem(None, "'a' is taken to be the primary; the log shows no fallback") in found


def test_a_trace_without_any_embedding_is_no_routing_log_even_when_given_as_one(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(lines(batch({**span("a", 0), "attributes": []})))
    with pytest.raises(UnreadableLog):
        open_routing_log(path)


@pytest.mark.parametrize("form", ["lines", "one document", "indented", "array"])
def test_every_form_in_which_exporters_and_collectors_write_is_read(form: str) -> None:
    spans = [span("a", 0, ok=False, parent="00f067aa0ba902b7"), span("b", 1, parent="00f067aa0ba902b7")]
    log = {
        "lines": lines(*(batch(each) for each in spans)),
        "one document": json.dumps(batch(*spans)).encode(),
        "indented": json.dumps(batch(*spans), indent=2).encode(),
        "array": json.dumps([batch(each) for each in spans]).encode(),
    }[form]
    attempts, problems = attempts_and_problems(otlp.read, log)
    assert [attempt.leg.value[0] for attempt in attempts] == ["p", "f"]
    assert len({attempt.call_id for attempt in attempts}) == 1
    assert len(problems) == 1


def test_many_calls_under_one_span_are_told_apart() -> None:
    parent = "00f067aa0ba902b7"
    asked = [("a", True), ("a", False), ("b", True), ("b", True), ("a", False), ("a", True)]
    log = lines(batch(*(span(model, n, ok=ok, parent=parent) for n, (model, ok) in enumerate(asked))))
    attempts, _ = attempts_and_problems(otlp.read, log)
    assert [(attempt.call_id or "").removeprefix(parent) for attempt in attempts] == ["", "#2", "#2", "#3", "#4", "#5"]


def test_a_rescue_belongs_to_the_failure_under_its_own_parent() -> None:
    first, second = "00f067aa0ba902b7", "11f067aa0ba902b7"
    spans = [span("a", 0, ok=False, parent=first), span("a", 1, ok=False, parent=second), span("b", 2, parent=first)]
    attempts, _ = attempts_and_problems(otlp.read, lines(batch(*spans)))
    assert [attempt.call_id for attempt in attempts] == [first, second, first]


def test_a_rescue_under_another_parent_of_the_trace_still_finds_its_failure() -> None:
    spans = [span("a", 0, ok=False, parent="00f067aa0ba902b7"), span("b", 1, parent="11f067aa0ba902b7")]
    attempts, _ = attempts_and_problems(otlp.read, lines(batch(*spans)))
    assert [(attempt.leg.value[0], attempt.call_id) for attempt in attempts] == [
        ("p", "00f067aa0ba902b7"),
        ("f", "00f067aa0ba902b7"),
    ]


def test_calls_side_by_side_under_one_span_each_find_their_own_rescue() -> None:
    def texts(text: str) -> list[dict[str, object]]:
        values = {"openinference.span.kind": "EMBEDDING", "embedding.embeddings.0.embedding.text": text}
        return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]

    def asked(model: str, at: float, text: str, ok: bool) -> dict[str, object]:
        made = span(model, at, ok=ok, parent="00f067aa0ba902b7")
        model_name = {"key": "embedding.model_name", "value": {"stringValue": model}}
        return {**made, "attributes": [*texts(text), model_name]}

    spans = [
        asked("a", 0, "one", False),
        asked("a", 0, "two", False),
        asked("b", 1, "two", True),
        asked("a", 1, "one", False),
        asked("b", 2, "one", True),
    ]
    attempts, _ = attempts_and_problems(otlp.read, lines(batch(*spans)))
    one, two, *others = [attempt.call_id for attempt in attempts]
    assert one != two
    assert others == [two, one, one]


def test_embedding_spans_without_a_parent_are_left_to_adjacency_and_that_is_said() -> None:
    attempts, problems = attempts_and_problems(otlp.read, lines(batch(span("a", 0, ok=False), span("b", 0.2))))
    assert [(attempt.leg, attempt.call_id) for attempt in attempts] == [(Leg.PRIMARY, None), (Leg.FALLBACK, None)]
    assert problems[1] == "2 attempts do not say which call they belong to and are paired by adjacency"


def test_two_instrumentations_of_one_request_count_it_once() -> None:
    inner = span("a", 0.01, parent="1111111111111111")
    outer = {**span("a", 0, parent="00f067aa0ba902b7"), "spanId": "1111111111111111"}
    attempts, problems = attempts_and_problems(otlp.read, lines(batch(inner), batch(outer)))
    assert len(attempts) == 1
    assert problems[1] == "1 embedding spans only wrap another and are no attempts of their own"


def test_every_process_has_an_instance_of_its_own() -> None:
    log = lines(
        batch(span("a", 0), service_instance_id="one"),
        batch(span("a", 1), service_name="indexer", host_name="h", process_pid="7"),
        batch(span("a", 2)),
    )
    attempts, _ = attempts_and_problems(otlp.read, log)
    assert [attempt.instance for attempt in attempts] == ["one", "indexer/h/7", None]


def test_a_failure_of_one_process_is_not_rescued_by_another() -> None:
    parent = "00f067aa0ba902b7"
    log = lines(
        batch(span("a", 0, ok=False, parent=parent), span("b", 1, parent=parent), service_name="x"),
        batch(span("a", 2, ok=False, parent=parent), service_name="x"),
        batch(span("b", 3, parent=parent), service_name="y"),
    )
    attempts, _ = attempts_and_problems(otlp.read, log)
    assert len({attempt.call_id for attempt in attempts}) == 3


def test_a_length_is_the_one_asked_for_unless_the_instrumentation_measures_what_came() -> None:
    made = span("a", 0)
    made["attributes"].append({"key": "gen_ai.embeddings.dimension.count", "value": {"intValue": "256"}})
    (asked,), _ = attempts_and_problems(otlp.read, lines(batch(made)))
    (measured,), _ = attempts_and_problems(
        otlp.read, lines(batch(made, scope="opentelemetry.instrumentation.openai_v2"))
    )
    assert (asked.requested_dims, asked.observed_dims) == (256, None)
    assert (measured.requested_dims, measured.observed_dims) == (None, 256)


def test_legs_of_one_model_on_two_hosts_are_told_by_their_address() -> None:
    def on(host: str, at: float, ok: bool) -> dict[str, object]:
        made = span("same", at, ok=ok, parent="00f067aa0ba902b7")
        made["attributes"].append({"key": "server.address", "value": {"stringValue": host}})
        made["attributes"].append({"key": "server.port", "value": {"intValue": "443"}})
        return made

    log = lines(batch(on("east.example", 0, False), on("west.example", 1, True)))
    attempts, problems = attempts_and_problems(otlp.read, log)
    assert [attempt.server for attempt in attempts] == ["east.example:443", "west.example:443"]
    assert "'east.example:443' is taken to be the primary and 'west.example:443' the fallback" in problems[0]


def test_a_missing_vector_between_others_is_a_null_and_hidden_ones_are_none() -> None:
    def made(**vectors: str) -> dict[str, object]:
        values = {"openinference.span.kind": "EMBEDDING", "embedding.model_name": "a"}
        values |= {f"embedding.embeddings.{n}.embedding.text": "t" for n in range(3)}
        values |= {f"embedding.embeddings.{n[1:]}.embedding.vector": vector for n, vector in vectors.items()}
        pairs = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
        return {**span("a", 0), "attributes": pairs}

    (partial,), _ = attempts_and_problems(otlp.read, lines(batch(made(n0="[1, 2]", n2="[3, 4]"))))
    assert (partial.outcome, partial.observed_dims, partial.null_indexes) == (Outcome.PARTIAL, 2, (1,))
    (hidden,), _ = attempts_and_problems(otlp.read, lines(batch(made())))
    assert (hidden.outcome, hidden.observed_dims, hidden.null_count, hidden.input_count) == (Outcome.VECTOR, None, 0, 3)


def test_a_half_written_batch_is_said_and_other_signals_are_not() -> None:
    log = lines(batch(span("a", 0)), {"resourceLogs": []}) + lines(batch(span("a", 1)))[:80]
    attempts, problems = attempts_and_problems(otlp.read, log)
    assert len(attempts) == 1
    assert problems[0] == "line 3 is half written, or nothing that this format holds, and was passed over"


def test_a_document_that_is_cut_is_said_to_be_unfinished() -> None:
    log = json.dumps(batch(span("a", 0)), indent=2).encode()[:-40]
    attempts, problems = attempts_and_problems(otlp.read, log)
    assert not attempts
    assert problems[0] == "the document that begins on line 1 is not finished"


def test_a_span_without_a_beginning_is_said_and_one_that_ends_before_it_has_no_duration() -> None:
    log = lines(batch({**span("a", 0), "startTimeUnixNano": "0"}, {**span("a", 5), "endTimeUnixNano": "1"}))
    (attempt,), problems = attempts_and_problems(otlp.read, log)
    assert attempt.duration_ms is None
    assert problems[:2] == [
        "line 1 holds a span that does not say when it began",
        "line 1 holds a span that ends before it begins; its duration is taken as not said",
    ]


@settings(max_examples=60, deadline=None)
@given(st.integers(min_value=0, max_value=40_000))
def test_a_trace_cut_anywhere_never_raises(size: int) -> None:
    data = OPENINFERENCE.read_bytes()[:size]
    attempts, _ = attempts_and_problems(otlp.read, data)
    assert len(attempts) <= 10


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(span("a", 0))), _ODD), _ODD)
def test_whatever_a_span_or_an_attribute_holds_nothing_is_raised(odd: dict[str, object], value: object) -> None:
    attribute = {"key": "embedding.embeddings.0.embedding.vector", "value": value}
    made = span("b", 1)
    made["attributes"].append(attribute)
    attempts_and_problems(otlp.read, lines(batch(span("a", 0), made), batch({**span("a", 2), **odd})))


def test_vectors_that_were_masked_are_not_missing() -> None:
    values = {
        "openinference.span.kind": "EMBEDDING",
        "embedding.model_name": "a",
        "embedding.embeddings.0.embedding.text": "__REDACTED__",
        "embedding.embeddings.0.embedding.vector": "__REDACTED__",
    }
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    (attempt,), _ = attempts_and_problems(otlp.read, lines(batch({**span("a", 0), "attributes": pairs})))
    assert (attempt.outcome, attempt.observed_dims, attempt.null_count) == (Outcome.VECTOR, None, 0)


@pytest.mark.parametrize("status", [{"code": 2}, {"code": "STATUS_CODE_ERROR"}])
def test_a_status_tells_a_failure_in_either_spelling(status: dict[str, object]) -> None:
    (attempt,), _ = attempts_and_problems(otlp.read, lines(batch({**span("a", 0), "status": status})))
    assert (attempt.outcome, attempt.error_type, attempt.response_model) == (Outcome.ERROR, "error", None)


def test_a_kind_of_error_tells_a_failure_also_without_a_status() -> None:
    (attempt,), _ = attempts_and_problems(otlp.read, lines(batch({**span("a", 0, ok=False), "status": {}})))
    assert (attempt.outcome, attempt.error_type) == (Outcome.ERROR, "500")


def test_a_parent_of_zeros_is_none() -> None:
    log = lines(batch(span("a", 0, parent="0000000000000000")))
    (attempt,), _ = attempts_and_problems(otlp.read, log)
    assert attempt.call_id is None
