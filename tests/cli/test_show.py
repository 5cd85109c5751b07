"""`workbench show`: the document of the contract, the exit codes, what people read, and nothing that is secret."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import UNSAFE, workbench
from tests.recordings.traces import batch, documents, span, write, write_lines
from tests.shared_files import SAMPLES, needs_samples
from workbench import Entry, VectorStore
from workbench.cli.main import run
from workbench.index.model import SourceError
from workbench.index.opening import sniff

KEYS = ["path", "format", "why", "run", "steps", "retrievals", "errors", "vectors", "bytes", "findings", "problems"]
STEP_KEYS = ["n", "parent", "kind", "name", "status", "start_ms", "duration_ms", "error"]
RETRIEVAL_KEYS = ["n", "step", "query", "fingerprint", "namespace", "threshold", "complete", "passages", "candidates"]
CANDIDATE_KEYS = ["id", "rank", "score", "admitted", "reason", "document", "page", "heading", "chunk"]
SECRET = "sk-abcdefghijklmnopqrstuvwx"
HOSTILE = "\x1b]52;c;eA==\x07[/x]\u202e\x9b"


def index(path: Path, *, embedder: str = "small", ceiling: int = 900) -> Path:
    with VectorStore.open(path, read_only=False) as store:
        store.create_namespace("docs", max_input_chars=ceiling)
        entries = [
            Entry("manual#0", "x" * 1_183, np.ones(8)),
            Entry("manual#1", "y" * 300, np.ones(8)),
        ]
        store.put_many("docs", entries, embedder_id=embedder)
    return path


def trace(path: Path, *ids: str, model: str = "small", query: str = "how?", name: str = "search") -> Path:
    embedded = {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": model,
        "gen_ai.embeddings.dimension.count": 8,
    }
    searched = {
        "openinference.span.kind": "RETRIEVER",
        "gen_ai.data_source.id": "docs",
        "input.value": query,
        **documents(*({"id": id, "score": 0.5 - place / 10} for place, id in enumerate(ids))),
    }
    return write(path, batch(span("a", "embed", parent="b", attributes=embedded), span("b", name, attributes=searched)))


def test_the_document_has_every_key_of_the_contract(tmp_path: Path) -> None:
    path = trace(tmp_path / "run.json", "manual#0", "gone")
    ran = workbench(tmp_path, "show", path, "--index", index(tmp_path / "i.duckdb"), "--json")
    assert ran.code == 1
    assert ran.err == ""
    document = ran.json
    assert list(document) == KEYS
    assert set(document["run"]) >= {"id", "started_ms", "ended_ms", "complete", "dropped_events"}
    assert set(document["vectors"]) >= {"count", "by_rule", "likely"}
    assert set(document["bytes"]) == {"before", "after"}
    assert all(set(step) >= set(STEP_KEYS) for step in document["steps"])
    (retrieval,) = document["retrievals"]
    assert set(retrieval) >= set(RETRIEVAL_KEYS)
    assert retrieval["fingerprint"] == "small@8"
    first, second = retrieval["candidates"]
    assert set(first) >= set(CANDIDATE_KEYS)
    assert {key: first["chunk"][key] for key in ("source", "namespace", "chars", "lost")} == {
        "source": str(tmp_path / "i.duckdb"),
        "namespace": "docs",
        "chars": 1_183,
        "lost": 283,
    }
    assert second["chunk"] is None
    assert [each["code"] for each in document["findings"]] == ["retrieved-clipped"]


def test_a_sound_join_ends_with_zero_and_a_wrong_space_with_one(tmp_path: Path) -> None:
    held = index(tmp_path / "i.duckdb")
    sound = workbench(tmp_path, "show", trace(tmp_path / "a.json", "manual#1"), "--index", held, "--json")
    wrong = workbench(
        tmp_path, "show", trace(tmp_path / "b.json", "manual#1", model="other"), "--index", held, "--json"
    )
    assert (sound.code, sound.json["findings"]) == (0, [])
    assert wrong.code == 1
    assert [each["code"] for each in wrong.json["findings"]] == ["wrong-space-retrieval"]
    assert wrong.json["retrievals"][0]["wrong_space"]["fingerprint"] == "small@8"


def test_without_an_index_a_finding_leaves_the_exit_code_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", {"data": [{"object": "embedding", "embedding": [0.5] * 64}]})
    ran = workbench(tmp_path, "show", path, "--json")
    assert ran.code == 0
    assert [each["code"] for each in ran.json["findings"]] == ["vectors-not-summarised"]
    assert (ran.json["vectors"]["count"], ran.json["vectors"]["by_rule"]) == (1, {"embedding": 1})
    assert ran.json["bytes"]["after"] < ran.json["bytes"]["before"] == path.stat().st_size


def test_damaged_parts_that_were_left_out_end_with_one_and_are_said(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [batch(span("a")), batch(span("b"))])
    path.write_text(path.read_text()[:-40])
    ran = workbench(tmp_path, "show", path, "--json")
    assert ran.code == 1
    assert len(ran.json["steps"]) == 1
    assert ran.json["problems"][0]["left_out"] is True
    assert workbench(tmp_path, "show", path).code == 1


def test_odd_but_readable_ends_with_zero_and_stands_in_problems(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", batch(span("a", parent="dead", attributes={"x": float("nan")})))
    ran = workbench(tmp_path, "show", path, "--json")
    assert ran.code == 0
    assert ran.json["steps"][0]["orphan"] is True
    assert ran.json["steps"][0]["parent"] is None
    assert ran.json["problems"]


@pytest.mark.parametrize("arguments", [("missing.json",), (".",), ("a.json", "--index", "missing.duckdb"), ()])
def test_what_cannot_be_read_ends_with_two_and_one_sentence(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    trace(tmp_path / "a.json", "x")
    ran = workbench(tmp_path, "show", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err


def test_a_format_may_be_asked_for_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    path = trace(tmp_path / "a.json", "x")
    assert workbench(tmp_path, "show", path, "--format", "json", "--json").json["format"] == "json"
    refused = workbench(tmp_path, "show", path, "--format", "jason")
    assert refused.code == 2
    assert "otlp" in refused.err


def test_a_secret_is_masked_wherever_it_stands_and_counts_of_tokens_stay(tmp_path: Path) -> None:
    path = trace(tmp_path / "a.json", SECRET, query=f"use Bearer abcdefghijkl and {SECRET}", name=f"call {SECRET}")
    for ran in (workbench(tmp_path, "show", path), workbench(tmp_path, "show", path, "--json")):
        assert ran.code == 0
        assert SECRET not in ran.out
        assert "abcdefghijkl" not in ran.out
        assert "[redacted]" in ran.out


def test_hostile_strings_are_inert_as_text_and_exact_as_json(tmp_path: Path) -> None:
    path = trace(tmp_path / "a.json", HOSTILE, query=HOSTILE, name=HOSTILE)
    text, document = workbench(tmp_path, "show", path), workbench(tmp_path, "show", path, "--json")
    assert not UNSAFE.search(text.out)
    assert not UNSAFE.search(document.out)
    assert document.json["retrievals"][0]["query"] == HOSTILE
    assert document.json["retrievals"][0]["candidates"][0]["id"] == HOSTILE
    assert document.json["steps"][1]["name"] == HOSTILE


def test_text_fits_eighty_columns_and_tells_what_was_found(tmp_path: Path) -> None:
    long = "a word and " * 40
    path = trace(tmp_path / "a.json", "manual#0", "manual#1", query=long, name=long)
    ran = workbench(tmp_path, "show", path, "--index", index(tmp_path / "i.duckdb"))
    assert all(len(line) <= 80 for line in ran.out.splitlines() if str(tmp_path) not in line)
    assert "283 of 1,183 characters never read" in ran.out
    assert "small@8" in ran.out
    assert ran.out.splitlines()[-1] == "2 steps, 1 retrieval, 0 errors, 1 finding, 1 retrieved chunk read in part"


def test_children_stand_below_their_parents_in_the_order_of_time(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "a.jsonl",
        [
            span("c", "second", parent="a", start="3000000000"),
            span("b", "first", parent="a", start="2000000000"),
            span("a", "root", start="1000000000"),
        ],
    )
    lines = workbench(tmp_path, "show", path).out.splitlines()
    names = [line.split()[1] for line in lines if line.lstrip()[:1].isdigit() and line.startswith("   ")]
    assert names == ["root", "first", "second"]


def test_a_cassette_in_yaml_tells_its_likely_vectors_by_rule_and_how_small_it_can_be(tmp_path: Path) -> None:
    body = json.dumps({"model": "m", "data": [{"object": "embedding", "embedding": [0.123456] * 64}]})
    path = tmp_path / "a.yaml"
    path.write_text(
        "interactions:\n- request: {method: POST, uri: 'http://x/v1/embeddings'}\n"
        f"  response:\n    body: {{string: '{body}'}}\n    status: {{code: 200}}\nversion: 1\n"
    )
    document = workbench(tmp_path, "show", path, "--json").json
    assert document["format"] == "vcr"
    assert (document["vectors"]["likely"], document["vectors"]["likely_by_rule"]) == (1, {"W2": 1})
    assert document["bytes"] == {"before": path.stat().st_size, "after": path.stat().st_size}
    path.write_text(path.read_text().replace("body: {string:", "parsed_body: {embedding: [3, 4], string:"))
    document = workbench(tmp_path, "show", path, "--json").json
    assert document["vectors"]["by_rule"] == {"embedding": 1}
    assert document["bytes"]["after"] == path.stat().st_size - len("[3, 4]") + len("{dims: 2, norm: 5}")


def test_check_joins_recordings_with_the_indexes_among_its_paths(tmp_path: Path) -> None:
    trace(tmp_path / "run.json", "manual#0")
    (tmp_path / "package.json").write_text('{"name": "x"}')
    index(tmp_path / "z.duckdb")
    ran = workbench(tmp_path, "check", tmp_path, "--json")
    sources = ran.json["sources"]
    assert [(source["container"], source["adapter"]) for source in sources] == [
        ("recording", "otlp"),
        ("duckdb", "workbench"),
    ]
    assert [finding["code"] for finding in sources[0]["findings"]] == ["retrieved-clipped"]
    assert ran.json["skipped"] == [{"folder": str(tmp_path), "count": 1}]
    alone = workbench(tmp_path, "check", tmp_path / "run.json", "--json")
    assert alone.code == 0
    assert alone.json["sources"][0]["findings"] == []


def test_check_tells_a_recording_in_words(tmp_path: Path) -> None:
    ran = workbench(tmp_path, "check", trace(tmp_path / "run.json", "x"))
    assert ran.code == 0
    assert "recording · otlp" in ran.out
    assert "2 steps, 1 retrieval, 0 errors" in " ".join(ran.out.split())


def test_check_keeps_its_refusal_for_json_that_holds_nothing_of_a_recording(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x"}')
    ran = workbench(tmp_path, "check", tmp_path / "package.json", "--json")
    assert ran.code == 2
    assert ran.json["sources"][0]["problem"] == "not-an-index"


@needs_samples
def test_why_the_answer_was_lost_stands_beside_the_retrieval(tmp_path: Path) -> None:
    """The chunk with the answer came second and was rejected, since its end was never read."""
    held = tmp_path / "manual.duckdb"
    with VectorStore.open(held, read_only=False) as store:
        store.create_namespace("_/_/_global", max_input_chars=900)
        entries = [Entry("manual.md#0", "x" * 1_183, np.ones(128)), Entry("manual.md#1", "y" * 1_337, np.ones(128))]
        store.put_many("_/_/_global", entries, embedder_id="hash-bow-900")
    sample = SAMPLES / "agentfootprint" / "clipped_retrieval.envelope.json"
    ran = workbench(tmp_path, "show", sample, "--index", held, "--json")
    assert ran.code == 1
    (found,) = ran.json["findings"]
    assert found["code"] == "retrieved-clipped"
    assert "manual.md#0 (rejected: over-max-entries), 283 of its 1,183 characters never read" in found["message"]


def corpus(path: Path, embedder: str, texts: dict[str, str]) -> Path:
    """Write a corpus file as agentfootprint does, which records no ceiling."""
    with closing(sqlite3.connect(f"file:{SAMPLES / 'agentfootprint' / 'corpus.db'}?immutable=1", uri=True)) as sample:
        schema = [text for (text,) in sample.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    with closing(sqlite3.connect(path)) as made, made:
        for statement in schema:
            made.execute(statement)
        facts = (("schema_version", "1"), ("fp:_/_/_global", f"{embedder}@128"))
        made.executemany("INSERT INTO af_index_meta VALUES (?, ?)", facts)
        for id, text in texts.items():
            made.execute(
                "INSERT INTO af_vectors (namespace, id, value, embedding, dims, embedder_fp, version, created_at, "
                "updated_at, last_accessed_at, access_count, embedding_model) "
                "VALUES ('_/_/_global', ?, ?, ?, 128, ?, 1, 0, 0, 0, 0, ?)",
                (id, json.dumps({"id": id, "text": text}), np.ones(128, "<f4").tobytes(), f"{embedder}@128", embedder),
            )
    return path


def loaded_texts(*names: str) -> dict[str, str]:
    """Read the chunks that stand whole in recordings."""
    texts: dict[str, str] = {}
    for name in names:
        document = json.loads((SAMPLES / "agentfootprint" / f"{name}.envelope.json").read_text())
        inner = document["recording"]["snapshot"]["subflowResults"]["sf-memory-read-manual"]["treeContext"]
        texts |= {each["id"]: each["value"]["text"] for each in inner["globalContext"]["loaded"]}
    return texts


@needs_samples
def test_a_pair_of_runs_tells_why_the_answer_was_lost(tmp_path: Path) -> None:
    """What was asked for stands only behind the ceiling of one embedder, and the other read it."""
    texts = loaded_texts("clipped_retrieval", "unclipped_retrieval")
    lost = corpus(tmp_path / "lost.db", "hash-bow-900", {"manual.md#0": texts["manual.md#0"]})
    sample = SAMPLES / "agentfootprint" / "clipped_retrieval.envelope.json"
    ran = workbench(tmp_path, "show", sample, "--index", lost, "--max-chunk-chars", "900", "--json")
    assert ran.code == 1
    (found,) = ran.json["findings"]
    only = "read, and only there stand 'countersigned', 'quarantine', 'ledger' of the question"
    assert f"manual.md#0 (rejected: over-max-entries), 283 of its 1,183 characters never {only}" in found["message"]
    chunk = ran.json["retrievals"][0]["candidates"][1]["chunk"]
    assert "The quarantine ledger is countersigned by the harbour master." in chunk["unread"]["excerpt"]
    checked = workbench(tmp_path, "check", sample, lost, "--max-chunk-chars", "900")
    assert only in " ".join(checked.out.split())

    read = corpus(tmp_path / "read.db", "hash-bow-whole", texts)
    sample = SAMPLES / "agentfootprint" / "unclipped_retrieval.envelope.json"
    ran = workbench(tmp_path, "show", sample, "--index", read, "--max-chunk-chars", "20000", "--json")
    assert ran.code == 0
    first = ran.json["retrievals"][0]["candidates"][0]
    assert (first["id"], first["admitted"]) == ("manual.md#0", True)
    assert (first["chunk"]["lost"], first["chunk"]["changed"], first["chunk"]["unread"]) == (0, False, None)


@needs_samples
def test_the_silent_mismatch_is_named_with_the_index_and_suspected_without(tmp_path: Path) -> None:
    folder = SAMPLES / "agentfootprint"
    sample = folder / "silent_mismatch_inmemory.envelope.json"
    for arguments, code in (((), 0), (("--index", folder / "corpus.db"), 1)):
        ran = workbench(tmp_path, "show", sample, *arguments, "--json")
        assert ran.code == code
        assert [each["code"] for each in ran.json["findings"]] == ["wrong-space-retrieval"]


@needs_samples
@pytest.mark.parametrize("name", ["mismatch_model", "mismatch_dimensions"])
def test_a_mismatch_that_is_prose_only_is_read_back(tmp_path: Path, name: str) -> None:
    ran = workbench(tmp_path, "show", SAMPLES / "agentfootprint" / f"{name}.envelope.json", "--json")
    codes = [each["code"] for each in ran.json["findings"]]
    assert codes == ["embedder-mismatch", "incomplete-recording"]
    assert ran.json["errors"][0]["mismatch"]["problem"] == name.removeprefix("mismatch_")


@needs_samples
@pytest.mark.parametrize("name", ["clipped_tool.envelope", "index_chart_clipped.bare"])
def test_an_index_report_inside_a_recording_is_a_verdict(tmp_path: Path, name: str) -> None:
    ran = workbench(tmp_path, "show", SAMPLES / "agentfootprint" / f"{name}.json", "--json")
    (found,) = [each for each in ran.json["findings"] if each["code"] == "clipped-chunks"]
    assert "10 of 19 chunks" in found["message"]


@needs_samples
@pytest.mark.parametrize(
    "path",
    sorted(path for path in (SAMPLES / "recordings").glob("*/*") if path.is_file()),
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_every_sample_is_shown_or_refused_in_one_sentence(
    tmp_path: Path, path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    code = run(["show", str(path)])
    told = capsys.readouterr()
    assert code in (0, 1, 2)
    assert (code == 2) == (told.out == "")
    assert not UNSAFE.search(told.out)
    assert "does not foresee" not in told.err


def test_where_only_indexes_are_opened_a_recording_is_sent_to_show(tmp_path: Path) -> None:
    path = trace(tmp_path / "a run.json", "manual#0")
    with pytest.raises(SourceError) as refusal:
        sniff(path)
    words = f"only indexes are opened here for now; read it with: workbench show '{path}'"
    assert refusal.value.message == f"{path} is a recording, and {words}"
    assert workbench(tmp_path, "show", path).code == 0
