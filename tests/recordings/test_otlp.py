"""OTLP/JSON: spans as steps whatever their spelling, times to the nanosecond, evidence of both conventions."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.recordings.traces import START, TRACE, batch, documents, snake, span, write, write_lines
from tests.shared_files import SAMPLES, needs_samples
from workbench.core.fingerprint import Fingerprint
from workbench.recordings.model import Node, Retrieval, Step
from workbench.recordings.opening import open_recording
from workbench.recordings.readers import otlp
from workbench.recordings.readers.trace_spans import RawSpan


def steps_of(path: Path) -> tuple[Step, ...]:
    with open_recording(path) as recording:
        assert recording.format == "otlp", recording.why
        return tuple(recording.steps)


def retrievals_of(path: Path) -> tuple[Retrieval, ...]:
    with open_recording(path) as recording:
        return recording.retrievals


def notes_of(path: Path) -> list[str]:
    with open_recording(path) as recording:
        return [note.message for note in recording.notes]


def test_a_document_a_batch_a_line_and_a_span_a_line_are_the_same_steps(tmp_path: Path) -> None:
    root, child = span("a", "root"), span("b", "child", parent="a")
    document = steps_of(write(tmp_path / "one.json", batch(root, child)))
    batches = steps_of(write_lines(tmp_path / "batches.jsonl", [batch(root), batch(child)]))
    spans = steps_of(write_lines(tmp_path / "spans.jsonl", [root, child]))
    for steps in (document, batches, spans):
        assert [(step.n, step.parent, step.name, step.orphan) for step in steps] == [
            (1, None, "root", False),
            (2, 1, "child", False),
        ]


def test_keys_with_underscores_ids_in_base64_and_the_name_of_scopes_before_1_0_are_read_alike(tmp_path: Path) -> None:
    plain = batch(span("a", "root"), span("b", "child", parent="a", attributes={"openinference.span.kind": "TOOL"}))
    expected = [(step.name, step.kind, step.parent, step.key) for step in steps_of(write(tmp_path / "a.json", plain))]

    old = json.loads(json.dumps(plain).replace("scopeSpans", "instrumentationLibrarySpans"))
    coded = json.loads(json.dumps(plain))
    for each in coded["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in each:
                each[key] = base64.b64encode(bytes.fromhex(each[key])).decode()
    for number, spelling in enumerate((snake(plain), old, coded)):
        steps = steps_of(write(tmp_path / f"{number}.json", spelling))
        assert [(step.name, step.kind, step.parent, step.key) for step in steps] == expected


def test_a_duration_is_exact_to_the_nanosecond(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.json", batch(span("a", end=str(START + 1)), span("b", start=START, end=START + 305_635_627))
    )
    first, second = steps_of(path)
    assert (first.duration_ms, second.duration_ms) == (0.000001, 305.635627)


@pytest.mark.parametrize("before", [1, 5_000_000_000])
def test_a_span_that_ends_before_it_began_has_no_duration_however_little_is_missing(
    tmp_path: Path, before: int
) -> None:
    path = write(tmp_path / "t.json", batch(span("a", end=str(START - before))))
    assert steps_of(path)[0].duration_ms is None
    assert notes_of(path) == ["1 step ends before it began, so its duration is unknown"]


def test_a_parent_may_come_later_and_one_that_never_comes_makes_an_orphan(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [span("b", parent="a"), span("c", parent="dead"), span("a")])
    assert [(step.parent, step.orphan) for step in steps_of(path)] == [(3, False), (None, True), (None, False)]
    assert notes_of(path) == ["1 step names a parent that is not in the recording"]


def test_a_parent_of_another_trace_is_not_taken_for_one_of_this(tmp_path: Path) -> None:
    other = {**span("a"), "traceId": "0" * 31 + "1"}
    assert [step.orphan for step in steps_of(write_lines(tmp_path / "t.jsonl", [other, span("b", parent="a")]))] == [
        False,
        True,
    ]


def test_a_ring_of_parents_is_cut_and_said(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", batch(span("a", parent="b"), span("b", parent="a"), span("c", parent="c")))
    assert [step.parent for step in steps_of(path)] == [None, 1, None]
    assert any("ring" in note for note in notes_of(path))


def test_the_same_span_exported_twice_counts_once_with_its_retrieval(tmp_path: Path) -> None:
    searched = span("a", attributes={"openinference.span.kind": "RETRIEVER", **documents({"id": "x", "score": 0.5})})
    path = write_lines(tmp_path / "t.jsonl", [batch(searched), batch(searched)])
    assert len(steps_of(path)) == 1
    assert len(retrievals_of(path)) == 1
    assert "1 step was exported twice and counted once" in notes_of(path)


def test_an_error_is_said_in_its_own_words_once_at_the_innermost_step(tmp_path: Path) -> None:
    event = {
        "name": "exception",
        "attributes": [
            {"key": "exception.type", "value": {"stringValue": "TimeoutError"}},
            {"key": "exception.message", "value": {"stringValue": "no answer"}},
        ],
    }
    failed = {"code": "STATUS_CODE_ERROR"}
    path = write(
        tmp_path / "t.json",
        batch(
            span("c", parent="b", status=failed, events=[event]),
            span("b", parent="a", status=failed, events=[event]),
            span("a", status={"code": 2, "message": "the chain failed"}),
            span("d", status={"code": 1}),
            span("e", end="0"),
        ),
    )
    with open_recording(path) as recording:
        assert [step.status for step in recording.steps] == ["error", "error", "error", "ok", "unfinished"]
        assert [(error.step, error.message) for error in recording.errors] == [
            (1, "TimeoutError: no answer"),
            (3, "the chain failed"),
        ]


def test_a_retriever_gives_its_candidates_with_what_their_metadata_says(tmp_path: Path) -> None:
    metadata = json.dumps({"source": "guide.md", "page": 4, "heading": "Care", "embedding_model": "small@64"})
    searched = span(
        "a",
        attributes={
            "openinference.span.kind": "retriever",
            "input.value": "how?",
            **documents({"id": "x", "content": "Wipe it.", "score": 0.81, "metadata": metadata}, {"id": "y"}),
        },
    )
    (found,) = retrievals_of(write(tmp_path / "t.json", batch(searched)))
    assert found.candidates is not None
    first, second = found.candidates
    assert (found.query, found.step, found.fingerprint) == ("how?", 1, None)
    assert (first.id, first.rank, first.score, first.document, first.page, first.heading, first.text) == (
        "x",
        1,
        0.81,
        "guide.md",
        "4",
        "Care",
        "Wipe it.",
    )
    assert (second.id, second.rank, second.score, second.admitted) == ("y", 2, None, None)
    assert [(entry.model, entry.dims) for entry in found.entries] == [("small", 64)]


def test_documents_are_numbered_by_their_number_and_not_by_their_place(tmp_path: Path) -> None:
    attributes = {"openinference.span.kind": "RETRIEVER", **documents(*({"id": f"d{n}"} for n in range(12)))}
    shuffled = dict(sorted(attributes.items()))
    (found,) = retrievals_of(write(tmp_path / "t.json", batch(span("a", attributes=shuffled))))
    assert [each.id for each in found.candidates or ()] == [f"d{n}" for n in range(12)]


def test_the_query_is_of_the_embedder_that_embedded_its_very_text(tmp_path: Path) -> None:
    vector = [0.5] * 8
    embedded = {"openinference.span.kind": "EMBEDDING", "embedding.embeddings.0.embedding.vector": vector}
    path = write(
        tmp_path / "t.json",
        batch(
            span("a", attributes={**embedded, "embedding.model_name": "right", "input.value": "how?"}, parent="f"),
            span("b", attributes={**embedded, "embedding.model_name": "other", "input.value": "why?"}, parent="f"),
            span("c", parent="f", attributes={"openinference.span.kind": "RETRIEVER", "input.value": "how?"}),
            span("d", parent="f", attributes={"openinference.span.kind": "RETRIEVER", "input.value": "who?"}),
        ),
    )
    first, second = retrievals_of(path)
    assert first.fingerprint == Fingerprint("right", 8)
    assert second.fingerprint is None  # two embedders, and neither embedded this


def test_an_embedder_that_ran_after_the_search_did_not_embed_its_query(tmp_path: Path) -> None:
    later = str(START + 5_000_000)
    embedded = {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": "m",
        "gen_ai.embeddings.dimension.count": 8,
    }
    path = write(
        tmp_path / "t.json",
        batch(
            span("a", parent="f", attributes={"gen_ai.operation.name": "retrieval"}),
            span("b", parent="f", attributes=embedded, start=later, end=later),
        ),
    )
    assert retrievals_of(path)[0].fingerprint is None


def test_genai_documents_are_ids_in_a_json_string_and_the_answering_model_wins(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.json",
        batch(
            span(
                "a",
                parent="b",
                attributes={
                    "gen_ai.operation.name": "embeddings",
                    "gen_ai.request.model": "asked",
                    "gen_ai.response.model": "answered",
                    "gen_ai.embeddings.dimension.count": 64,
                },
            ),
            span(
                "b",
                attributes={
                    "gen_ai.operation.name": "retrieval",
                    "gen_ai.data_source.id": "kb",
                    "gen_ai.request.top_k": 3.0,
                    "gen_ai.retrieval.query.text": "how?",
                    "gen_ai.retrieval.documents": '[{"id": "doc-1", "score": 0.81}, {"id": 2, "score": "0.5"}]',
                },
            ),
        ),
    )
    (found,) = retrievals_of(path)
    assert (found.query, found.namespace, found.top_k) == ("how?", "kb", 3)
    assert found.fingerprint == Fingerprint("answered", 64)
    assert [(each.id, each.score) for each in found.candidates or ()] == [("doc-1", 0.81), ("2", 0.5)]


def test_observed_dims_win_over_stated_ones(tmp_path: Path) -> None:
    attributes = {
        "openinference.span.kind": "EMBEDDING",
        "embedding.model_name": "m",
        "gen_ai.embeddings.dimension.count": 64,
        "embedding.embeddings.0.embedding.vector": json.dumps([0.25] * 12),
    }
    path = write(
        tmp_path / "t.json",
        batch(
            span("a", parent="b", attributes=attributes),
            span("b", attributes={"openinference.span.kind": "RETRIEVER"}),
        ),
    )
    assert retrievals_of(path)[0].fingerprint == Fingerprint("m", 12)


def test_a_reranker_keeps_some_and_rejects_the_others(tmp_path: Path) -> None:
    attributes = {
        "openinference.span.kind": "RERANKER",
        "reranker.query": "how?",
        "reranker.top_k": 1,
        **documents({"id": "a", "score": 0.9}, {"id": "b", "score": 0.2}, prefix="reranker.input_documents"),
        **documents({"id": "b", "score": 7.5}, prefix="reranker.output_documents"),
    }
    (found,) = retrievals_of(write(tmp_path / "t.json", batch(span("a", attributes=attributes))))
    assert [(each.id, each.rank, each.score, each.admitted) for each in found.candidates or ()] == [
        ("b", 1, 7.5, True),
        ("a", None, 0.9, False),
    ]
    assert (found.candidates or ())[1].reason == "not kept by the reranker"


def test_what_a_retriever_returned_as_json_in_a_string_is_evidence(tmp_path: Path) -> None:
    output = json.dumps(
        json.dumps({"documents": [{"page_content": "Wipe it.", "metadata": {"source": "a.md"}, "id": "x"}]})
    )
    attributes = {"openinference.span.kind": "RETRIEVER", "output.value": output}
    (found,) = retrievals_of(write(tmp_path / "t.json", batch(span("a", attributes=attributes))))
    assert [(each.id, each.text, each.document) for each in found.candidates or ()] == [("x", "Wipe it.", "a.md")]


def test_a_retriever_without_documents_says_that_they_are_not_recorded(tmp_path: Path) -> None:
    (found,) = retrievals_of(
        write(tmp_path / "t.json", batch(span("a", attributes={"openinference.span.kind": "RETRIEVER"})))
    )
    assert found.candidates is None
    assert found.note == "the span does not record what was retrieved"


def test_the_passages_are_the_texts_that_stand_in_a_later_prompt(tmp_path: Path) -> None:
    after = str(START + 2_000_000)
    searched = {
        "openinference.span.kind": "RETRIEVER",
        **documents(
            {"id": "kept", "content": "Hold the key for ten seconds."},
            {"id": "left", "content": "The box contains a cable."},
        ),
    }
    prompt = json.dumps({"messages": [{"content": "Answer from: Hold the key for ten seconds."}]})
    path = write(
        tmp_path / "t.json",
        batch(
            span("a", attributes=searched),
            span("b", attributes={"openinference.span.kind": "LLM", "input.value": prompt}, start=after, end=after),
            span(
                "c",
                attributes={"openinference.span.kind": "LLM", "input.value": "The box contains a cable."},
                start=str(START - 9_000_000),
                end=str(START - 8_000_000),
            ),
        ),
    )
    (found,) = retrievals_of(path)
    assert [(each.id, each.text) for each in found.passages] == [("kept", "Hold the key for ten seconds.")]
    assert [each.admitted for each in found.candidates or ()] == [True, None]


def test_a_search_that_carries_the_vector_of_its_query_names_its_embedder_itself(tmp_path: Path) -> None:
    attributes = {
        "openinference.span.kind": "RETRIEVER",
        "embedding.model_name": "small",
        "embedding.embeddings.0.embedding.vector": [0.5] * 8,
    }
    (found,) = retrievals_of(write(tmp_path / "t.json", batch(span("a", attributes=attributes))))
    assert found.fingerprint == Fingerprint("small", 8)


def test_many_searches_and_many_prompts_of_one_trace_are_read_a_bounded_number_of_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = []
    for number in range(60):
        at = START + number * 10_000
        found = {"id": f"d{number}", "content": f"The passage with number {number}."}
        searched = {"openinference.span.kind": "RETRIEVER", **documents(found)}
        asked = {"openinference.span.kind": "LLM", "input.value": f"Use this: The passage with number {number}."}
        spans.append(span(f"{number:x}a", attributes=searched, start=at, end=at + 1_000))
        spans.append(span(f"{number:x}b", attributes=asked, start=at + 2_000, end=at + 3_000))
    path = write(tmp_path / "t.json", batch(*spans))
    reads = 0
    again = otlp._again

    def counted(node: Node) -> RawSpan | None:
        nonlocal reads
        reads += 1
        return again(node)

    monkeypatch.setattr(otlp, "_again", counted)
    assert [[each.id for each in found.passages] for found in retrievals_of(path)] == [[f"d{n}"] for n in range(60)]
    assert reads == 60


def test_what_is_no_span_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [batch(span("a")), {"hello": 1}, batch(), {"resourceLogs": []}, "text"])
    assert len(steps_of(path)) == 1
    assert notes_of(path) == ["2 values are no spans and stand in no step"]


def test_odd_values_are_read_as_nothing_and_never_raise(tmp_path: Path) -> None:
    deep = '{"arrayValue":{"values":[' * 400 + '{"stringValue":"x"}' + "]}}" * 400
    odd = """{"spanId": 7, "traceId": null, "name": ["x"], "startTimeUnixNano": "soon", "endTimeUnixNano": 1e400,
        "events": "none", "status": [2], "attributes": [null, 3, {"key": 1},
            {"key": "openinference.span.kind", "value": {"stringValue": "RETRIEVER"}},
            {"key": "retrieval.documents", "value": DEEP}]}""".replace("DEEP", deep)
    path = tmp_path / "t.json"
    path.write_text(json.dumps(batch({"spanId": "7"})).replace('{"spanId": "7"}', odd))
    (step,) = steps_of(path)
    assert (step.kind, step.name, step.start_ms, step.duration_ms) == ("retriever", "", None, None)


def test_the_header_names_trace_service_and_time(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", batch(span("a"), span("b", end=str(START + 9_000_000), droppedEventsCount=2)))
    with open_recording(path) as recording:
        run = recording.run
        assert (run.id, run.complete, run.dropped_events) == (TRACE, None, None)
        assert run.manifest == (("service", "demo"),)
        assert run.ended_ms is not None
        assert run.started_ms is not None
        assert run.ended_ms - run.started_ms == pytest.approx(9, abs=0.001)
        assert "2 attributes and events" in run.not_recorded[0]
        assert "top key resourceSpans" in recording.why


def test_a_step_leads_to_its_span(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [batch(span("a", "first")), batch(span("b", "second"))])
    with open_recording(path) as recording:
        (payload,) = recording.payload(recording.steps[1])
        assert isinstance(payload, dict)
        assert payload["name"] == "second"


@needs_samples
def test_both_exporters_of_one_run_say_the_same() -> None:
    told = []
    for name in ("otlp_file_openinference.jsonl", "console_exporter_concatenated.json"):
        with open_recording(SAMPLES / "recordings" / "otlp" / name) as recording:
            told.append(
                (
                    sorted((step.kind, step.name, step.status) for step in recording.steps),
                    [
                        (each.query, each.fingerprint, each.namespace, each.top_k, each.candidates, each.passages)
                        for each in recording.retrievals
                    ],
                )
            )
    assert told[0] == told[1]
    assert [each[1] for each in told[0][1]] == [
        Fingerprint("text-embedding-3-small", 64),
        Fingerprint("text-embedding-3-small", 64),
        Fingerprint("text-embedding-ada-002", 64),
        Fingerprint("text-embedding-ada-002", 64),
    ]
    assert len(told[0][0]) == 12


@needs_samples
def test_the_example_of_the_specification_has_one_orphan_of_a_second() -> None:
    (step,) = steps_of(SAMPLES / "recordings" / "otlp" / "spec_example_trace.json")
    assert (step.name, step.orphan, step.parent, step.start_ms, step.duration_ms) == (
        "I'm a server span",
        True,
        None,
        1_544_712_660_000.0,
        1_000.0,
    )
