"""Findings about recordings: each says what, how much and the way out, once for what went wrong in one way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.crosscheck.made import QUERY, chunk, namespace, reading, retrieval
from tests.shared_files import SAMPLES, needs_samples
from workbench.checkup.findings import Code, Finding, Severity
from workbench.checkup.recording_report import VectorTotals
from workbench.checkup.recordings import judge_joined, judge_recording
from workbench.core.fingerprint import Fingerprint
from workbench.crosscheck.joining import join
from workbench.recordings.model import (
    Candidate,
    ClippedChunk,
    IndexReport,
    LoadedEntry,
    Mismatch,
    Note,
    Reading,
    RecordedError,
    Run,
)
from workbench.sources import show_recording

NOTHING = VectorTotals(0, 0, 100, 100)


def findings_of(told: Reading, *namespaces: object) -> tuple[Finding, ...]:
    return judge_joined(join(told, namespaces))  # type: ignore[arg-type]


def test_a_sound_recording_has_no_finding() -> None:
    held = namespace(chunk("x", chars=10))
    joined = join(reading(retrieval("x")), [held])
    assert judge_recording(Run(complete=True, dropped_events=0), (), joined, NOTHING) == ()


def test_retrievals_that_went_wrong_in_one_way_are_one_finding_that_names_them() -> None:
    entries = (LoadedEntry("x", "other", 64),)
    wrong = [replace(retrieval("x", n=n), entries=entries) for n in (1, 2, 5, 7)]
    (found,) = findings_of(reading(*wrong, retrieval("x", n=9)))
    assert found.code is Code.WRONG_SPACE_RETRIEVAL
    assert found.severity is Severity.WARNING
    for part in ("retrievals 1, 2, 5 and 1 more", "'small@64'", "'other@64'", "4 entries", "model"):
        assert part in found.message
    assert "re-index" in found.fix


def test_two_embedders_in_the_way_are_two_findings() -> None:
    first = replace(retrieval("x", n=1), entries=(LoadedEntry("x", "other", 64),))
    second = replace(retrieval("x", n=2), entries=(LoadedEntry("x", "third", 64),))
    assert len(findings_of(reading(first, second))) == 2


def test_a_silent_search_is_told_as_silent_with_the_index_and_as_suspect_without() -> None:
    told = reading(replace(retrieval(), corpus_empty=True))
    (sure,) = findings_of(told, namespace(chunk("x"), fingerprint="other@64"))
    (suspect,) = findings_of(told)
    assert "'other@64'" in sure.message
    assert "was not refused" in sure.message
    assert "either it is empty, or" in suspect.message
    assert "--index" in suspect.fix


def test_one_model_under_two_names_is_said_to_be_maybe_that() -> None:
    asked = retrieval("x", fingerprint=Fingerprint("all-minilm", 384))
    held = namespace(chunk("x"), fingerprint="sentence-transformers/all-MiniLM-L6-v2@384")
    (found,) = findings_of(reading(asked), held)
    assert "may be the same model under another name" in found.message


def test_chunks_that_were_read_in_part_are_listed_with_their_fate() -> None:
    held = namespace(chunk("manual#0", chars=1_183), chunk("manual#1", chars=1_337), chunk("manual#2", chars=9))
    candidates = [
        Candidate("manual#1", admitted=True),
        Candidate("manual#0", admitted=False, reason="over-max-entries"),
    ]
    (found,) = findings_of(reading(retrieval(*candidates, "manual#2")), held)
    assert found.code is Code.RETRIEVED_CLIPPED
    assert "2 of 3 retrieved chunks" in found.message
    assert "manual#1, 437 of its 1,337 characters never read" in found.message
    assert "manual#0 (rejected: over-max-entries), 283 of its 1,183 characters never read" in found.message


def test_a_chunk_that_was_retrieved_twice_is_clipped_once() -> None:
    held = namespace(chunk("x", chars=1_000))
    (found,) = findings_of(reading(retrieval("x", n=1), retrieval("x", n=2)), held)
    assert "1 of 1 retrieved chunk was read" in found.message
    assert "retrievals 1, 2" in found.message


def test_an_indexing_report_in_the_recording_is_a_verdict_about_clipping() -> None:
    clipped = (ClippedChunk("b", 2_000), ClippedChunk("a", 2_650))
    report = IndexReport(1, "docs", Fingerprint("small", 48), 19, 900, clipped, 10)
    (found,) = findings_of(Reading(reports=(report,)))
    assert found.code is Code.CLIPPED_CHUNKS
    for part in ("10 of 19 chunks", "900 characters", "'small@48'", "a (2,650 characters), b (2,000 characters)"):
        assert part in found.message
    assert findings_of(Reading(reports=(replace(report, clipped=(), clipped_count=0),))) == ()


def test_a_refusal_that_stands_in_prose_is_an_error_once() -> None:
    refused = Mismatch("docs", Fingerprint("old", 64), Fingerprint("new", 64), "model")
    errors = (RecordedError(1, "no", refused), RecordedError(2, "again", refused), RecordedError(3, "other"))
    (found,) = findings_of(reading(errors=errors))
    assert found.code is Code.EMBEDDER_MISMATCH
    assert found.severity is Severity.ERROR
    for part in ("'docs'", "'old@64'", "'new@64'", "model"):
        assert part in found.message


@pytest.mark.parametrize(
    ("run", "notes", "said"),
    [
        (Run(complete=False), (), "did not come to its end"),
        (Run(dropped_events=3), (), "3 events were dropped"),
        (Run(), (Note("cut at byte 9", left_out=True),), "1 damaged part of the file was left out"),
    ],
)
def test_what_is_missing_makes_a_recording_incomplete(run: Run, notes: tuple[Note, ...], said: str) -> None:
    (found,) = judge_recording(run, notes, join(reading()), NOTHING)
    assert found.code is Code.INCOMPLETE_RECORDING
    assert said in found.message


def test_unknown_is_not_incomplete_and_odd_is_not_damaged() -> None:
    assert judge_recording(Run(), (Note("it holds NaN"),), join(reading()), NOTHING) == ()


def test_vectors_in_full_are_counted_with_what_they_cost_and_likely_ones_apart() -> None:
    (found,) = judge_recording(Run(), (), join(reading()), VectorTotals(14, 3, 455_791, 355_729, {"embedding": 14}))
    assert found.code is Code.VECTORS_NOT_SUMMARISED
    assert "14 vectors stand in full, 100,062 bytes of 455,791" in found.message
    assert "3 likely vectors" in found.message
    assert "--wide" in found.fix


def test_vectors_shorter_than_their_summary_save_nothing() -> None:
    (found,) = judge_recording(Run(), (), join(reading()), VectorTotals(1, 0, 40, 55))
    assert found.message == "1 vector stands in full"


def test_findings_are_told_worst_first() -> None:
    refused = Mismatch(None, Fingerprint("old", 64), QUERY, "model")
    wrong = replace(retrieval("x"), entries=(LoadedEntry("x", "other", 64),))
    told = reading(wrong, errors=(RecordedError(1, "no", refused),))
    codes = [each.code for each in judge_recording(Run(complete=False), (), join(told), VectorTotals(1, 0, 9, 1))]
    assert codes == [
        Code.EMBEDDER_MISMATCH,
        Code.WRONG_SPACE_RETRIEVAL,
        Code.INCOMPLETE_RECORDING,
        Code.VECTORS_NOT_SUMMARISED,
    ]


def test_a_secret_in_an_id_does_not_reach_a_finding() -> None:
    secret = "sk-abcdefghijklmnopqrstuvwx"
    held = namespace(chunk(secret, chars=1_000))
    (found,) = findings_of(reading(retrieval(secret)), held)
    assert secret not in found.message


def test_an_empty_answer_beside_an_index_of_the_usual_name_tells_what_that_would_mean() -> None:
    told = reading(replace(retrieval(name="default"), corpus_empty=True))
    (finding,) = judge_joined(join(told, [namespace(name="default", fingerprint="other@64", count=3)]))
    assert finding.code is Code.WRONG_SPACE_RETRIEVAL
    assert "as if it were empty" in finding.message
    assert "in index.db was indexed with 'other@64': if that is what it searched" in finding.message
    (alike,) = judge_joined(join(told, [namespace(name="default", fingerprint="?@64", count=3)]))
    assert "index.db" not in alike.message


@needs_samples
def test_an_unrelated_index_beside_real_recordings_accuses_none_of_them() -> None:
    folder = SAMPLES / "agentfootprint"
    accused = []
    for path in sorted(folder.glob("*.json")):
        if path.name == "corpus_bundle.json":
            continue
        alone, beside = show_recording(str(path)), show_recording(str(path), [str(folder / "corpus.db")])
        codes = {finding.code for finding in beside.findings}
        assert codes <= {finding.code for finding in alone.findings}, path.name
        if Code.WRONG_SPACE_RETRIEVAL in codes:
            accused.append(path.name)
    assert accused == ["silent_mismatch_inmemory.envelope.json"]
