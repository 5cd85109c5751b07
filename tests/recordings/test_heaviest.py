"""Which places hold the most vector bytes: every vector at its path, measured as it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.shared_files import SAMPLES, needs_samples
from workbench.core.job import Cancelled, Job
from workbench.recordings import heaviest as module
from workbench.recordings.heaviest import Heaviest, HeavyPlace
from workbench.recordings.opening import open_recording
from workbench.recordings.picked import parse_path
from workbench.recordings.summarize import summarize_to

_VECTOR = [0.125] * 16
_SIZE = len(json.dumps(_VECTOR))


def _of(path: Path, value: Any) -> Heaviest:  # noqa: ANN401 (any JSON)
    path.write_text(json.dumps(value))
    with open_recording(path) as recording:
        return recording.heaviest()


def _brief(places: tuple[HeavyPlace, ...]) -> list[tuple[str, int, int, str]]:
    return [(each.path, each.count, each.size, each.rule) for each in places]


def test_vectors_are_counted_by_the_pattern_of_their_path_most_bytes_first(tmp_path: Path) -> None:
    events = [{"payload": {"embedding": _VECTOR}} for _ in range(3)]
    found = _of(tmp_path / "a.json", {"events": events, "memory": {"embeddings": [_VECTOR, _VECTOR]}})
    assert _brief(found.seed) == [
        ("events[].payload.embedding", 3, 3 * _SIZE, "embedding"),
        ("memory.embeddings[]", 2, 2 * _SIZE, "embeddings"),
    ]


def test_what_only_the_wide_rules_take_stands_apart(tmp_path: Path) -> None:
    dense = [0.3, -0.5, 0.25, 0.75] * 4
    found = _of(tmp_path / "a.json", {"results": [{"vector": dense, "text": "a"}] * 2})
    assert found.seed == ()
    assert [(each.path, each.count) for each in found.likely] == [("results[].vector", 2)]


def test_a_path_can_be_given_to_summarize(tmp_path: Path) -> None:
    found = _of(tmp_path / "a.json", {"a.b": {"c[0]": {'"': {"embedding": _VECTOR}}}})
    assert parse_path(found.seed[0].path).steps == ("a.b", "c[0]", '"', "embedding")


def test_pieces_that_are_too_big_to_be_parsed_at_once_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = {
        "events": [{"payload": {"embedding": _VECTOR, "embeddings": [_VECTOR, [1, 2]]}} for _ in range(9)],
        "embeddings": [_VECTOR] * 9,
        "embedding": _VECTOR * 9,
    }
    whole = _of(tmp_path / "a.json", value)
    monkeypatch.setattr(module, "_AT_ONCE", 300)
    assert _of(tmp_path / "b.json", value) == whole


def test_keys_in_strings_and_what_is_no_vector_are_not_counted(tmp_path: Path) -> None:
    found = _of(
        tmp_path / "a.json",
        {"note": '"embedding":[1,2,3]', "embedding": ["a"], "x": {"embedding": {"dims": 3, "norm": 1}}},
    )
    assert (found.seed, found.likely) == ((), ())


def test_it_ends_when_its_caller_gives_up(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"type": "x", "embedding": _VECTOR}) + "\n" for _ in range(50)))
    job = Job()
    job.cancel()
    with open_recording(path) as recording, pytest.raises(Cancelled):
        recording.heaviest(job)


@needs_samples
@pytest.mark.parametrize(
    "name", ["rag_raw.envelope.json", "semantic_memory_write.envelope.json", "silent_mismatch_inmemory.envelope.json"]
)
def test_of_the_samples_it_counts_and_saves_what_summarize_does(name: str, tmp_path: Path) -> None:
    path = SAMPLES / "agentfootprint" / name
    with open_recording(path) as recording:
        found = recording.heaviest()
    with (tmp_path / "out").open("wb") as file:
        summary = summarize_to(path, file)
    assert sum(each.count for each in found.seed) == summary.vectors
    assert sum(each.count for each in found.likely) == summary.unsummarised_likely
    saved = sum(each.size - each.after for each in found.seed)
    assert saved == summary.bytes_before - summary.bytes_after
