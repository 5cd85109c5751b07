"""Spans as plain objects: Python's console exporter, JavaScript's spans, the listing of a Phoenix server."""

from __future__ import annotations

import json
from pathlib import Path

from tests.recordings.traces import write
from tests.shared_files import SAMPLES, needs_samples
from workbench.core.fingerprint import Fingerprint
from workbench.recordings.opening import open_recording


def printed(id: str, parent: str | None = None, **attributes: object) -> dict[str, object]:
    return {
        "name": f"span {id}",
        "context": {"trace_id": "0x" + "1" * 32, "span_id": f"0x{id.rjust(16, '0')}"},
        "parent_id": None if parent is None else f"0x{parent.rjust(16, '0')}",
        "start_time": "2026-11-29T17:19:52.487388Z",
        "end_time": "2026-11-29T17:19:52.793023Z",
        "status": {"status_code": "ERROR", "description": "it broke"},
        "attributes": attributes,
    }


def test_pretty_objects_back_to_back_are_one_run(tmp_path: Path) -> None:
    path = tmp_path / "console.txt"
    path.write_text("".join(json.dumps(each, indent=4) + "\n" for each in (printed("b", "a"), printed("a"))))
    with open_recording(path) as recording:
        assert recording.format == "otel-console"
        assert [(step.parent, step.duration_ms, step.status) for step in recording.steps] == [
            (2, 305.635, "error"),
            (None, 305.635, "error"),
        ]
        assert [(error.step, error.message) for error in recording.errors] == [(1, "it broke")]


def test_javascript_times_are_pairs_and_its_vectors_are_json_in_strings(tmp_path: Path) -> None:
    span = {
        "name": "ai.embed.doEmbed",
        "spanContext": {"traceId": "1" * 32, "spanId": "2" * 16},
        "parentSpanContext": {"traceId": "1" * 32, "spanId": "3" * 16},
        "startTime": [1_770_132_006, 16_000_000],
        "endTime": [1_770_132_006, 269_719_584],
        "attributes": {"ai.operationId": "ai.embed.doEmbed"},
    }
    root = {
        "name": "search",
        "spanContext": {"traceId": "1" * 32, "spanId": "3" * 16},
        "startTime": [1_770_132_006, 16_000_001],
        "endTime": [1_770_132_007, 0],
        "attributes": {"openinference.span.kind": "RETRIEVER", "input.value": "how?"},
    }
    span["attributes"] = {
        "ai.operationId": "ai.embed.doEmbed",
        "ai.model.id": "small",
        "ai.values": ['"how?"'],
        "ai.embeddings": [json.dumps([0.5] * 16)],
    }
    with open_recording(write(tmp_path / "js.json", [span, root])) as recording:
        first, second = recording.steps
        assert (first.kind, first.duration_ms, first.parent) == ("embedding", 253.719584, 2)
        assert second.start_ms == 1_770_132_006_016.000001
        assert recording.retrievals[0].fingerprint == Fingerprint("small", 16)


@needs_samples
def test_a_phoenix_listing_gives_its_steps_and_its_retrieval() -> None:
    with open_recording(SAMPLES / "recordings" / "phoenix" / "rest_spans.json") as recording:
        assert recording.format == "phoenix"
        assert sorted(step.kind for step in recording.steps) == ["chain", "embedding", "llm", "retriever"]
        (found,) = recording.retrievals
        assert found.fingerprint is not None
        assert found.candidates


@needs_samples
def test_the_vercel_span_is_an_embedding_of_a_quarter_second() -> None:
    with open_recording(SAMPLES / "recordings" / "openinference" / "vercel_ai_embed_doEmbed.json") as recording:
        assert [(step.kind, step.name, step.duration_ms) for step in recording.steps] == [
            ("embedding", "ai.embed.doEmbed", 253.719584)
        ]
