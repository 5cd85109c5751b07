"""Answers of embedding providers: which model, how many vectors of which length, and what went wrong."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest

from tests.recordings.traces import write, write_lines
from tests.shared_files import SAMPLES, needs_samples
from workbench.recordings.opening import open_recording
from workbench.recordings.readers.bodies import inputs_of, read_answer

FLOATS = [0.25, -0.5] * 16
PACKED = base64.b64encode(struct.pack("<32f", *FLOATS)).decode()


@pytest.mark.parametrize(
    ("body", "asked", "expected"),
    [
        ({"data": [{"embedding": FLOATS}] * 3, "model": "m"}, None, ("m", 32, 3)),
        ({"data": [{"embedding": PACKED}], "model": "m"}, None, ("m", 32, 1)),
        ({"data": [{"embedding": PACKED}]}, {"model": "asked", "output_dtype": "int8"}, ("asked", 128, 1)),
        ({"data": [{"embedding": "Z2GBRX8/yhM="}]}, {"output_dtype": "ubinary"}, (None, 64, 1)),
        ({"embeddings": [FLOATS, FLOATS], "model": "all-minilm"}, None, ("all-minilm", 32, 2)),
        ({"embedding": FLOATS}, {"model": "llama3"}, ("llama3", 32, 1)),
        ({"embeddings": {"float": [FLOATS], "int8": [[1] * 32]}}, {"model": "embed-v4.0"}, ("embed-v4.0", 32, 1)),
        ({"embeddings": {"ubinary": [[1] * 4]}}, None, (None, 32, 1)),
        ({"embeddings": [{"values": FLOATS}]}, {"requests": [{"model": "models/g"}]}, ("g", 32, 1)),
        ({"embedding": {"values": FLOATS}}, None, (None, 32, 1)),
        ({"predictions": [{"embeddings": {"values": FLOATS}}]}, None, (None, 32, 1)),
        ({"embeddings": [{"embedding": FLOATS, "embeddingType": "TEXT"}]}, None, (None, 32, 1)),
    ],
)
def test_every_shape_tells_model_length_and_count(
    body: object, asked: object, expected: tuple[str | None, int, int]
) -> None:
    for written in (body, json.dumps(body)):
        answer = read_answer(written, asked)
        assert (answer.kind, answer.model, answer.dims, answer.count) == ("embedding", *expected)


def test_a_short_string_without_a_stated_type_has_no_known_length() -> None:
    answer = read_answer({"data": [{"object": "embedding", "embedding": "Z2GBRX8/yhM="}], "model": "v"})
    assert (answer.kind, answer.model, answer.dims, answer.fingerprint) == ("embedding", "v", None, None)


def test_the_model_may_stand_in_the_address_only() -> None:
    bedrock = "https://bedrock-runtime.example/model/amazon.titan-embed-text-v2%3A0/invoke"
    assert read_answer({"embedding": FLOATS}, {}, uri=bedrock).model == "amazon.titan-embed-text-v2:0"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"error": {"message": "too long"}}, 400, "400: too long"),
        ({"message": "slow down"}, 429, "429: slow down"),
        ("<html>", 502, "the provider answered with status 502"),
        ({"error": "boom"}, 200, "boom"),
        ({"data": []}, 200, None),
    ],
)
def test_what_went_wrong_is_said_with_its_status(body: object, status: int, message: str | None) -> None:
    assert read_answer(body, status=status).error == message


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"input": "a"}, 1),
        ({"input": ["a", "b"]}, 2),
        ({"input": [1, 2, 3]}, 1),
        ({"texts": ["a", "b", "c"]}, 3),
        ({"inputText": "a"}, 1),
        ({}, None),
    ],
)
def test_inputs_are_counted_and_a_list_of_tokens_is_one_text(asked: object, count: int | None) -> None:
    assert inputs_of(asked) == count


def test_a_big_body_is_measured_by_its_first_vector(tmp_path: Path) -> None:
    body = {"model": "m", "object": "list", "data": [{"object": "embedding", "embedding": [0.123456789] * 512}] * 300}
    path = write(tmp_path / "body.json", body)
    assert path.stat().st_size > 1 << 20
    with open_recording(path) as recording:
        assert recording.format == "provider-body"
        assert recording.run.manifest == (("embedder", "m@512, 300 vectors"),)


def test_a_batch_gives_each_line_as_a_call_and_each_failure_as_an_error(tmp_path: Path) -> None:
    good = {"custom_id": "a", "response": {"status_code": 200, "body": {"model": "m", "data": [{"embedding": FLOATS}]}}}
    bad = {
        "custom_id": "b",
        "response": {"status_code": 400, "body": {"error": {"message": "too long"}}},
        "error": None,
    }
    worse = {"custom_id": "c", "response": None, "error": {"code": "batch_expired", "message": "expired"}}
    with open_recording(write_lines(tmp_path / "batch.jsonl", [good, bad, worse, {"x": 1}])) as recording:
        assert recording.format == "openai-batch"
        assert [(step.name, step.status) for step in recording.steps] == [
            ("a: m@32, 1 vector", "ok"),
            ("b", "error"),
            ("c", "error"),
        ]
        assert [(error.step, error.message) for error in recording.errors] == [(2, "400: too long"), (3, "expired")]
        assert [note.message for note in recording.notes] == ["1 line has no custom_id and is no call"]


def test_a_request_that_was_never_answered_is_not_called_ok(tmp_path: Path) -> None:
    line = {"custom_id": "a", "method": "POST", "url": "/v1/embeddings", "body": {"model": "m", "input": "x"}}
    with open_recording(write_lines(tmp_path / "input.jsonl", [line, line])) as recording:
        assert [(step.kind, step.status) for step in recording.steps] == [("embedding", None)] * 2


def test_a_body_can_be_read_as_plain_json_when_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "body.json", {"data": [{"object": "embedding", "embedding": FLOATS}]})
    with open_recording(path, format="json") as recording:
        assert (recording.format, recording.why) == ("json", "asked for")


@needs_samples
@pytest.mark.parametrize(
    "path", sorted((SAMPLES / "recordings" / "lookalikes").glob("*.json")), ids=lambda path: path.stem
)
def test_a_look_alike_is_no_answer_of_a_provider(path: Path) -> None:
    with open_recording(path) as recording:
        assert recording.format == "json"
