"""The sample data: every finding once, made again by its script, and texts that hold what no search can reach."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from workbench.core.text import utf16_length

SAMPLE = Path(__file__).resolve().parents[1] / "sample_data"
DATABASES = ("index.duckdb", "keeper.duckdb", "langchain.duckdb")
CEILING = 1_000

# Where each code stands, and nowhere else.
FINDINGS = {
    ("index.duckdb", "handbook"): {"embedder-mismatch", "clipped-chunks"},
    ("index.duckdb", "logbook"): {"missing-vectors"},
    ("index.duckdb", "visitors"): {"fingerprint-lost"},
    ("keeper.duckdb", "letters"): {"mixed-fingerprints", "wrong-dims"},
    ("keeper.duckdb", "recipes"): {"zero-vectors", "non-finite-vectors", "duplicate-ids"},
    ("langchain.duckdb", "embeddings"): {"fingerprint-unknown"},
    ("cut_short.duckdb", None): {"unreadable-source"},
}
# What is found in the recordings when they are held against the indexes beside them.
RECORDED = {
    "cut_to_fit.jsonl": {"wrong-space-retrieval", "vectors-not-summarised"},
    "index_again.json": {"clipped-chunks"},
    "long_evening.json": {"incomplete-recording", "vectors-not-summarised"},
    "other_embedder.json": {"embedder-mismatch", "incomplete-recording"},
    "spare_float.json": {"retrieved-clipped"},
    "spring_tide.json": set[str](),
}
# Longer than the ceiling in UTF-16 code units; the signals are so only because of their pictures.
CLIPPED = {
    "building.md#5",
    "collection.md#6",
    "crossing.md#5",
    "emergencies.md#4",
    "fog-signal.md#6",
    "lamp-room.md#4",
    "tours.md#7",
}


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """Run the command over the folder, with the embedder that README names."""
    ended = subprocess.run(
        [sys.executable, "-m", "workbench", "check", str(SAMPLE), "--incoming", "wordllama@256", "--json"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, str]]:
    """Return every chunk of every readable sample as table, id and text, read from copies by plain DuckDB."""
    folder = tmp_path_factory.mktemp("sample")
    found: list[tuple[str, str, str]] = []
    for name in DATABASES:
        with duckdb.connect(shutil.copy(SAMPLE / name, folder), read_only=True) as connection:
            for table, column in _text_columns(connection):
                chunks = connection.execute(f'SELECT id, "{column}" FROM "{table}"').fetchall()
                found += [(table, chunk_id, text) for chunk_id, text in chunks]
    return found


def _text_columns(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Return the tables of chunks and their text columns."""
    return connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE column_name IN ('text', 'body') AND NOT internal"
    ).fetchall()


def _content(path: Path) -> dict[str, tuple[list[tuple[str, str]], list[str]]]:
    """Return every table of a file: its columns with their types, and its rows in an order of their own."""
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"
            ).fetchall()
        ]
        content = {}
        for table in tables:
            columns = connection.execute(
                "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? AND NOT internal "
                "ORDER BY column_index",
                [table],
            ).fetchall()
            read = connection.execute(f'SELECT * FROM "{table}"').fetchall()
            content[table] = (columns, sorted(map(repr, read)))  # repr, since a NaN equals nothing
        return content


def test_every_finding_code_about_an_index_occurs_exactly_once(report: dict[str, Any]) -> None:
    from workbench.checkup.findings import RECORDING_CODES, ROUTING_CODES, Code

    indexes = [source for source in report["sources"] if source["container"] not in ("recording", "routing-log")]
    found = [finding["code"] for source in indexes for finding in source["findings"]]
    found += [
        finding["code"] for source in indexes for namespace in source["namespaces"] for finding in namespace["findings"]
    ]
    assert Counter(found) == dict.fromkeys(
        (code.value for code in Code if code not in RECORDING_CODES | ROUTING_CODES), 1
    )


def test_every_finding_stands_where_it_was_planted(report: dict[str, Any]) -> None:
    found: dict[tuple[str, str | None], set[str]] = {}
    for source in report["sources"]:
        name = Path(source["path"]).name
        if source["container"] in ("recording", "routing-log"):
            continue
        if source["findings"]:
            found[name, None] = {finding["code"] for finding in source["findings"]}
        for namespace in source["namespaces"]:
            if namespace["findings"]:
                found[name, namespace["name"]] = {finding["code"] for finding in namespace["findings"]}
    assert found == FINDINGS


def test_every_finding_code_about_a_recording_occurs_where_it_was_planted(report: dict[str, Any]) -> None:
    from workbench.checkup.findings import RECORDING_CODES, Code

    found = {
        Path(source["path"]).name: {finding["code"] for finding in source["findings"]}
        for source in report["sources"]
        if source["container"] == "recording"
    }
    assert found == RECORDED
    about_recordings = {*RECORDING_CODES, Code.CLIPPED_CHUNKS, Code.EMBEDDER_MISMATCH}
    assert set.union(*found.values()) == {code.value for code in about_recordings}


def test_the_recorded_answer_was_lost_because_the_end_of_its_chunk_was_never_read() -> None:
    recording = SAMPLE / "recordings" / "spare_float.json"
    shown = _shown(recording)
    (retrieval,) = shown["retrievals"]
    assert retrieval["fingerprint"] == "onnx:all-MiniLM-L6-v2:int8@384"
    (gauge,) = (each for each in retrieval["candidates"] if each["id"] == "building.md#5")
    assert (gauge["admitted"], gauge["reason"]) == (False, "over-max-entries")
    assert gauge["chunk"]["namespace"] == "handbook"
    assert gauge["chunk"]["lost"] > 0
    assert "ginger beer bottle" not in recording.read_text(encoding="utf-8")


def test_each_retrieved_id_of_the_recordings_is_a_chunk_of_the_sample_index() -> None:
    for name in ("cut_to_fit.jsonl", "long_evening.json", "spare_float.json", "spring_tide.json"):
        (retrieval,) = _shown(SAMPLE / "recordings" / name)["retrievals"]
        assert retrieval["query"], name
        assert all(candidate["chunk"] is not None for candidate in retrieval["candidates"]), name


def _shown(recording: Path) -> dict[str, Any]:
    """Run `workbench show` on a recording beside the sample index."""
    ended = subprocess.run(
        [sys.executable, "-m", "workbench", "show", str(recording), "--index", str(SAMPLE / "index.duckdb"), "--json"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert ended.returncode in (0, 1), ended.stderr
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


def test_the_clipped_chunks_are_those_of_the_handbook_that_are_too_long_for_its_model(report: dict[str, Any]) -> None:
    (handbook,) = (
        namespace
        for source in report["sources"]
        for namespace in source["namespaces"]
        if namespace["name"] == "handbook"
    )
    assert handbook["fingerprint"] == "onnx:all-MiniLM-L6-v2:int8@384"
    assert handbook["ceiling"] == {"chars": CEILING, "source": "embedder"}
    assert {chunk["id"] for chunk in handbook["clipped"]["chunks"]} == CLIPPED
    assert handbook["clipped"]["total"] == 81


def test_a_namespace_in_order_and_an_empty_one_have_no_findings(report: dict[str, Any]) -> None:
    (index,) = (source for source in report["sources"] if source["path"].endswith("index.duckdb"))
    counts = {namespace["name"]: namespace["count"] for namespace in index["namespaces"] if not namespace["findings"]}
    assert counts == {"almanac": 14, "notices": 0}


def test_the_script_makes_the_committed_files_again_row_by_row(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, str(SAMPLE / "make.py"), str(tmp_path)],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    for name in DATABASES:
        committed = Path(shutil.copy(SAMPLE / name, tmp_path / f"committed-{name}"))
        assert _content(tmp_path / name) == _content(committed), name
    assert (tmp_path / "recordings").is_dir()
    for recording in sorted((SAMPLE / "recordings").iterdir()):
        made = tmp_path / "recordings" / recording.name
        assert made.read_bytes() == recording.read_bytes(), recording.name
    assert (tmp_path / "cut_short.duckdb").stat().st_size == (SAMPLE / "cut_short.duckdb").stat().st_size


def test_the_sample_is_small(rows: list[tuple[str, str, str]]) -> None:
    assert 120 <= len(rows) <= 150
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file()) < 1_500_000


@pytest.mark.parametrize(
    "lost", json.loads((SAMPLE / "texts" / "lost_facts.json").read_text(encoding="utf-8")), ids=lambda f: f["id"]
)
def test_a_lost_fact_stands_once_behind_the_ceiling_and_nowhere_else(
    lost: dict[str, str], rows: list[tuple[str, str, str]]
) -> None:
    fact = lost["fact"]
    holders = [(chunk_id, text) for _, chunk_id, text in rows if fact in text]
    assert [chunk_id for chunk_id, _ in holders] == [lost["id"]]
    (_, text), before = holders[0], holders[0][1].partition(fact)[0]
    assert utf16_length(before) >= CEILING
    assert lost["id"] in CLIPPED
    assert text.count(fact) == 1


def test_one_chunk_is_too_long_only_as_utf16(rows: list[tuple[str, str, str]]) -> None:
    (signals,) = (text for _, chunk_id, text in rows if chunk_id == "fog-signal.md#6")
    assert len(signals) <= CEILING < utf16_length(signals)


def test_the_texts_hold_pictures_other_scripts_and_combining_marks(rows: list[tuple[str, str, str]]) -> None:
    everything = "".join(text for _, _, text in rows)
    assert re.search("[\N{HIRAGANA LETTER A}-\N{HIRAGANA LETTER N}]", everything)
    assert re.search("[\U0001f300-\U0001faff]", everything)
    assert "\N{COMBINING GRAVE ACCENT}" in everything
