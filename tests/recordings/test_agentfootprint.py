"""agentfootprint's recordings against a table that was written by hand from the sample files."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.shared_files import SAMPLES, needs_samples
from workbench.core.fingerprint import Fingerprint
from workbench.recordings.model import RecordingError, Unreadable
from workbench.recordings.opening import open_recording
from workbench.recordings.readers.agentfootprint_errors import read_mismatch
from workbench.recordings.readers.agentfootprint_evidence import query_hash

FOLDER = SAMPLES / "agentfootprint"
THRESHOLD, ENTRIES = "below-threshold", "over-max-entries"
DOCS = [
    ("refunds.md#0", 0.29638141859562284, True, None),
    ("export.md#0", 0.08728715609439694, False, THRESHOLD),
    ("billing.md#0", 0.04996531390494782, False, THRESHOLD),
    ("pricing.md#0", 0.04099600308453939, False, THRESHOLD),
    ("limits.md#0", 0.03779644730092272, False, THRESHOLD),
    ("security.md#0", -0.1561440116717653, False, THRESHOLD),
]
DOCS_1024 = [
    ("refunds.md#0", 0.29638141859562284, True, None),
    ("export.md#0", 0.13093073414159542, True, None),
    ("billing.md#0", 0.0, True, None),
    ("limits.md#0", 0.0, False, ENTRIES),
    ("pricing.md#0", 0.0, False, ENTRIES),
    ("security.md#0", 0.0, False, ENTRIES),
]


@dataclass(frozen=True)
class Expected:
    """What a file holds: spans are runs, subflows, model calls and tools; instants the boundaries between them."""

    spans: int
    instants: int
    failed: int = 0
    complete: bool | None = True
    dropped: int | None = 0
    query: str | None = None
    fingerprint: Fingerprint | None = None
    threshold: float | None = None
    candidates: list[tuple[str, float, bool, str | None]] | None = None
    passages: int = 0
    errors: int = 0
    format: str = "agentfootprint"


BARE: dict[str, Any] = {"complete": None, "dropped": None}
REFUND = "How long do refunds take after approval?"
LEDGER = "Who countersigned the quarantine ledger?"
TABLE = {
    "clipped_retrieval.envelope.json": Expected(
        10, 8, query=LEDGER, fingerprint=Fingerprint("hash-bow-900", 128), threshold=0.05, passages=1,
        candidates=[
            ("manual.md#1", 0.08479772859597112, True, None), ("manual.md#0", 0.07021426916494232, False, ENTRIES),
        ],
    ),
    "unclipped_retrieval.envelope.json": Expected(
        10, 8, query=LEDGER, fingerprint=Fingerprint("hash-bow-whole", 128), threshold=0.05, passages=1,
        candidates=[
            ("manual.md#0", 0.09435887140463774, True, None), ("manual.md#1", 0.06534495288190001, False, ENTRIES),
        ],
    ),
    "clipped_tool.envelope.json": Expected(
        18, 18, query="Index the handbook please.", fingerprint=Fingerprint("hash-bow-small", 48), threshold=0.7,
        candidates=[],
    ),
    "index_chart_clipped.bare.json": Expected(12, 0, **BARE),
    "local_trace.json": Expected(9, 7, format="agentfootprint-trace", **BARE),
    "mismatch_dimensions.envelope.json": Expected(2, 0, failed=2, complete=False, errors=1),
    "mismatch_model.envelope.json": Expected(2, 0, failed=2, complete=False, errors=1),
    "rag1024_summarised.bare.json": Expected(
        10, 11, query=REFUND, fingerprint=Fingerprint("hash-bow-1024", 1024), threshold=-1, candidates=DOCS_1024,
        passages=3, **BARE,
    ),
    "rag_raw.envelope.json": Expected(
        10, 9, query=REFUND, fingerprint=Fingerprint("hash-bow", 256), threshold=0.1, candidates=DOCS, passages=1
    ),
    "rag_summarised.bare.json": Expected(
        10, 9, query=REFUND, fingerprint=Fingerprint("hash-bow", 256), threshold=0.1, candidates=DOCS, passages=1,
        **BARE,
    ),
    "rag_summarised.envelope.json": Expected(
        10, 9, query=REFUND, fingerprint=Fingerprint("hash-bow", 256), threshold=0.1, candidates=DOCS, passages=1
    ),
    "semantic_memory_write.envelope.json": Expected(
        11, 10, query="What do I prefer to drink?", fingerprint=Fingerprint("hash-bow", 40), threshold=0, passages=2,
        candidates=[("msg-1-0", 0.45643546458763845, True, None), ("msg-1-1", 0.10606601717798214, True, None)],
    ),
    "silent_mismatch_inmemory.envelope.json": Expected(
        10, 7, query="How long do refunds take?", fingerprint=Fingerprint("hash-bow-v2", 256), threshold=0.7,
        candidates=[],
    ),
    "tools_three_turns_one_recorder.bare.json": Expected(9, 10, errors=1, **BARE),
    "tools_turn1.envelope.json": Expected(26, 39, failed=1, errors=1),
    "tools_turn2.envelope.json": Expected(17, 23),
}  # fmt: skip
SPANS = {"run", "subflow", "llm", "tool", "stage"}


@needs_samples
@pytest.mark.parametrize("name", TABLE)
def test_a_recording_holds_what_stands_in_the_table(name: str) -> None:
    expected = TABLE[name]
    with open_recording(FOLDER / name) as recording:
        kinds = Counter(step.kind in SPANS for step in recording.steps)
        assert (recording.format, kinds[True], kinds[False]) == (expected.format, expected.spans, expected.instants)
        assert sum(step.status == "error" for step in recording.steps) == expected.failed
        assert (recording.run.complete, recording.run.dropped_events) == (expected.complete, expected.dropped)
        assert len(recording.errors) == expected.errors
        if expected.query is None:
            assert recording.retrievals == ()
            return
        (retrieval,) = recording.retrievals
        assert (retrieval.query, retrieval.fingerprint) == (expected.query, expected.fingerprint)
        assert (retrieval.threshold, retrieval.complete) == (expected.threshold, True)
        assert [(each.id, each.score, each.admitted, each.reason) for each in retrieval.candidates or ()] == (
            expected.candidates
        )
        assert [each.rank for each in retrieval.candidates or ()] == list(range(1, len(expected.candidates or ()) + 1))
        assert len(retrieval.passages) == expected.passages
        assert retrieval.step is not None
        assert recording.steps[retrieval.step - 1].name == "Load Memory"


@needs_samples
def test_every_sample_is_in_the_table() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == {*TABLE, "corpus_bundle.json"}


@needs_samples
def test_the_envelope_says_more_of_its_run_than_the_bare_recording() -> None:
    with open_recording(FOLDER / "rag_summarised.envelope.json") as envelope:
        assert envelope.run.id == "run-1795972990083-1"
        assert envelope.run.started_ms == 1795972990086
        assert envelope.run.ended_ms == 1795972990271
        assert ("tenant", "acme") in envelope.run.manifest
        assert ("memory docs", "hash-bow") in envelope.run.manifest
        assert envelope.run.not_recorded == ()
        assert envelope.why == '"format" is "agentfootprint.recording.v1"'
    with open_recording(FOLDER / "rag_summarised.bare.json") as bare:
        assert bare.run.id == envelope.run.id
        assert bare.run.not_recorded == ("how many events were dropped is not recorded",)
        assert "bare" in bare.why


@needs_samples
def test_steps_lie_in_each_other_and_have_times() -> None:
    with open_recording(FOLDER / "semantic_memory_write.envelope.json") as recording:
        by_name = {step.name: step for step in recording.steps if step.kind == "subflow"}
        run = recording.steps[0]
        assert (run.kind, run.parent, run.start_ms, run.duration_ms) == ("run", None, 1795973018923, 189)
        assert by_name["Final"].parent == run.n
        inner = [step for step in recording.steps if step.parent == by_name["Final"].n]
        assert [step.duration_ms for step in inner if step.kind == "subflow"] == [1]
        decision = next(step for step in recording.steps if step.kind == "decision")
        assert decision.parent == by_name["Load Memory"].n
        assert not any(step.orphan for step in recording.steps)


@needs_samples
def test_loaded_entries_say_who_embedded_them_and_passages_are_what_the_model_got() -> None:
    with open_recording(FOLDER / "rag_raw.envelope.json") as recording:
        (retrieval,) = recording.retrievals
        (entry,) = retrieval.entries
        assert (entry.id, entry.model, entry.dims) == ("refunds.md#0", "hash-bow", 256)
        (passage,) = retrieval.passages
        assert passage.text.endswith("</source>")
        best = (retrieval.candidates or ())[0]
        assert (best.document, best.page, best.heading) == ("refunds.md", "1", "refunds")


@needs_samples
@pytest.mark.parametrize(
    ("name", "incoming", "problem"),
    [
        ("mismatch_model.envelope.json", Fingerprint("hash-bow-v2", 256), "model"),
        ("mismatch_dimensions.envelope.json", Fingerprint("hash-bow", 128), "dimensions"),
    ],
)
def test_a_refusal_that_is_prose_only_is_read_back(name: str, incoming: Fingerprint, problem: str) -> None:
    with open_recording(FOLDER / name) as recording:
        (error,) = recording.errors
        assert error.message.startswith("[memory] cannot search")
        assert error.mismatch is not None
        assert error.mismatch.namespace == "_/_/_global"
        assert (error.mismatch.indexed, error.mismatch.incoming) == (Fingerprint("hash-bow", 256), incoming)
        assert error.mismatch.problem == problem
        assert error.step is not None
        assert recording.steps[error.step - 1].name == "Load Memory"


def test_prose_without_a_pair_is_no_refusal() -> None:
    assert read_mismatch("it failed for 'a@b' and 'c'") is None
    assert read_mismatch("") is None


@needs_samples
@pytest.mark.parametrize("name", ["clipped_tool.envelope.json", "index_chart_clipped.bare.json"])
def test_a_report_of_an_indexing_run_is_a_verdict_about_clipped_chunks(name: str) -> None:
    with open_recording(FOLDER / name) as recording:
        (report,) = recording.reports
        assert report.fingerprint == Fingerprint("hash-bow-small", 48)
        assert (report.chunks, report.clipped_count, len(report.clipped)) == (19, 10, 10)
        assert (report.clipped[0].id, report.clipped[0].chars) == ("handbook.md#0", 2512)


@needs_samples
def test_a_corpus_bundle_opens_as_a_tree_and_is_named_for_what_it_is() -> None:
    with open_recording(FOLDER / "corpus_bundle.json") as recording:
        assert (recording.format, recording.why) == ("json", '"format" is "agentfootprint-corpus-v1"')
        assert not recording.steps
        (note,) = recording.notes
        assert "corpus bundle" in note.message
        assert not note.left_out
        (root,) = recording.document.roots()
        entries = root.get("entries")
        assert entries is not None
        assert len(list(entries.children())) == 19


def test_a_corpus_bundle_that_is_cut_says_so_too(tmp_path: Path) -> None:
    path = tmp_path / "rec.json"
    path.write_text('{"format":"agentfootprint-corpus-v1","entries":[{"id":"a"},{"id":')
    with open_recording(path) as recording:
        assert [note.left_out for note in recording.notes] == [True, False]


def written(folder: Path, value: object) -> Path:
    (folder / "rec.json").write_text(json.dumps(value))
    return folder / "rec.json"


def event(kind: str, payload: object, **meta: object) -> dict[str, object]:
    facts = {"wallClockMs": 10, "runtimeStageId": "sf-memory-read-a/load#2", "runId": "r", **meta}
    return {"type": f"agentfootprint.{kind}", "payload": payload, "meta": facts}


def test_an_envelope_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, {"format": "agentfootprint.recording.v2", "recording": {"snapshot": {}}})
    with pytest.raises(RecordingError, match=r"agentfootprint\.recording\.v2") as refusal:
        open_recording(path)
    assert refusal.value.problem is Unreadable.TOO_NEW


def test_events_alone_are_a_recording_and_the_event_stands_where_the_evidence_is_lost(tmp_path: Path) -> None:
    text = "where is it?"
    evidence = {"queryHash": query_hash(text), "k": 2, "dimensions": 3, "namespace": "n", "candidatesComplete": False}
    candidate = {"id": "c#0", "score": None, "rank": 1, "admitted": True, "page": 4}
    events = [
        event("agent.turn_start", {"userPrompt": text}),
        event("embedding.generated", {"model": "unknown", "dimension": 3, "inputKind": "query"}),
        event("memory.retrieved", {**evidence, "candidates": [candidate]}),
        event("memory.retrieved", {**evidence, "k": 3, "candidatesOmittedReason": "no scores"}),
        event("error.fatal", {"error": "The AI call failed: it broke"}),
    ]
    with open_recording(written(tmp_path, {"events": events})) as recording:
        first, second = recording.retrievals
        assert (first.query, first.fingerprint, first.complete) == (text, Fingerprint(None, 3), False)
        assert [(each.id, each.score, each.page) for each in first.candidates or ()] == [("c#0", None, "4")]
        assert (second.candidates, second.note) == (None, "no scores")
        assert [error.message for error in recording.errors] == ["it broke"]
        assert "no boundaries are recorded, so steps have no times" in recording.run.not_recorded
        assert len(recording.steps) == 5


def test_whatever_stands_in_a_recording_it_opens(tmp_path: Path) -> None:
    odd: list[Any] = [None, 1, "x", [], {}, [1], {"a": 1}]
    for value in odd:
        for key in ("snapshot", "events", "structure"):
            whole = {"snapshot": {"commitLog": [], "executionTree": {}}, "events": [event("x.y", value)]}
            with open_recording(written(tmp_path, {**whole, key: value}), format="agentfootprint") as recording:
                assert recording.format == "agentfootprint"
        for key in ("sharedState", "executionTree", "recorders", "subflowResults"):
            snapshot = {"commitLog": [], "executionTree": {}, key: value}
            with open_recording(written(tmp_path, {"snapshot": snapshot, "events": value})) as recording:
                assert recording.format == "agentfootprint"
        rows = [{"type": "run.entry", "payload": value, "subflowPath": value, "ts": value}, value]
        snapshot = {"commitLog": [], "recorders": [{"data": rows, "meta": value}]}
        with open_recording(written(tmp_path, {"snapshot": snapshot})) as recording:
            assert len(recording.steps) == 1
