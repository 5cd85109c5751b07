"""`workbench import`: every row comes into a native file, what does not fit is named, and nothing is there half."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from tests.cli.running import environment, workbench
from tests.reindex import foreign_files as files
from tests.shared_files import SAMPLES, needs_samples
from workbench import Entry, VectorStore


def checked(home: Path, path: Path) -> dict[str, Any]:
    return {each["name"]: each for each in workbench(home, "check", path, "--json").json["sources"][0]["namespaces"]}


def test_counts_equal_those_of_check(tmp_path: Path) -> None:
    source, target = files.langchain(tmp_path / "store.duckdb"), tmp_path / "native.duckdb"
    content = source.read_bytes()
    ran = workbench(tmp_path, "import", source, target, "--json")
    assert ran.code == 0
    assert source.read_bytes() == content
    before, after = checked(tmp_path, source)["embeddings"], checked(tmp_path, target)["embeddings"]
    for name in ("count", "dims", "vectors"):
        assert after[name] == before[name]
    assert {**after["clipped"], "basis": None} == {**before["clipped"], "basis": None}
    said = ran.json["namespaces"][0]
    assert (said["count"], said["vectors"]) == (before["count"], before["count"] - before["vectors"]["missing"])


def test_metadata_and_what_has_no_place_of_its_own_are_kept(tmp_path: Path) -> None:
    source, target = files.plain(tmp_path / "notes.duckdb"), tmp_path / "native.duckdb"
    assert workbench(tmp_path, "import", source, target).code == 0
    first = files.rows(target, "SELECT text, extra FROM chunks_1 ORDER BY seq LIMIT 1")[0]
    assert first[0] == files.TEXTS[0]
    assert json.loads(first[1]) == {"chapter": 0, "number": 100, "shout": files.TEXTS[0].upper()}
    store = files.langchain(tmp_path / "store.duckdb")
    workbench(tmp_path, "import", store, target)
    metadata = files.rows(target, "SELECT metadata FROM chunks_2 WHERE id = 'k3'")[0][0]
    assert json.loads(metadata) == {"page": 3}


def test_vectors_are_the_same_and_answer_the_same(tmp_path: Path) -> None:
    source, target = files.langchain(tmp_path / "store.duckdb"), tmp_path / "native.duckdb"
    workbench(tmp_path, "import", source, target)
    ask = ("--namespace", "embeddings", "--like", "k0", "-k", "3", "--json")
    before, after = workbench(tmp_path, "search", source, *ask), workbench(tmp_path, "search", target, *ask)
    assert [hit["id"] for hit in after.json["hits"]] == [hit["id"] for hit in before.json["hits"]]


def test_a_vector_that_does_not_fit_is_named_and_its_row_kept(tmp_path: Path) -> None:
    source, target = tmp_path / "odd.duckdb", tmp_path / "native.duckdb"
    with duckdb.connect(str(source)) as connection:
        connection.execute("CREATE TABLE t (id VARCHAR, text VARCHAR, embedding FLOAT[])")
        for number, text in enumerate(files.TEXTS):
            connection.execute(
                "INSERT INTO t VALUES (?, ?, ?)", [f"k{number}", text, files.old_vector(number).tolist()]
            )
        connection.execute("INSERT INTO t SELECT 'short', text, embedding[1:9] FROM t LIMIT 1")
        connection.execute("INSERT INTO t SELECT 'hole', text, list_append(embedding[1:15], NULL) FROM t LIMIT 1")
        connection.execute(
            "INSERT INTO t SELECT 'zero', text, list_transform(embedding, lambda x: 0::FLOAT) FROM t LIMIT 1"
        )
        connection.execute("INSERT INTO t SELECT 'k1', 'the same id again', embedding FROM t LIMIT 1")
    ran = workbench(tmp_path, "import", source, target, "--json")
    said = ran.json["namespaces"][0]
    assert (ran.code, said["count"], said["renamed"]) == (1, len(files.TEXTS) + 4, 1)
    assert {each["id"]: each["reason"] for each in said["left_out"]} == {
        "short": "the vector has 9 numbers and not 16",
        "hole": "element 15 of the vector is NULL",
    }
    with VectorStore.open(target) as store:
        assert {"short", "hole", "zero", "k1", "k1 (2)"} <= set(store.ids("t"))
    assert checked(tmp_path, target)["t"]["vectors"]["zero"] == 1


def test_a_native_file_comes_over_with_all_that_it_says(tmp_path: Path) -> None:
    source, target = tmp_path / "one.duckdb", tmp_path / "two.duckdb"
    with VectorStore.open(source, read_only=False) as store:
        store.create_namespace("notes", max_input_chars=500)
        entry = Entry("a", "a text", np.ones(4), metadata={"b": [1]}, source_uri="a.md", tier="hot", ttl=4e12)
        store.put_many("notes", [entry], embedder_id="some-model")
        store.create_namespace("empty")
    with duckdb.connect(str(source)) as connection:
        connection.execute("UPDATE chunks_1 SET parent_id = 'whole', char_start = 3, char_end = 9, read_chars = 6")
        connection.execute(
            "UPDATE generations SET document_prefix = 'passage: ', tokenizer = 'words' WHERE generation = 1"
        )
    assert workbench(tmp_path, "import", source, target).code == 0
    columns = "id, text, char_count, content_hash, metadata, source_uri, tier, expires_ms, embedder_fp, parent_id"
    columns += ", char_start, char_end, read_chars, extra, embedding"
    statement = f"SELECT {columns} FROM chunks_1"
    assert files.rows(target, statement) == files.rows(source, statement)
    statement = "SELECT namespace, embedder_fp, dims, max_input_chars, document_prefix, tokenizer FROM generations"
    assert files.rows(target, statement) == files.rows(source, statement)


def test_a_namespace_that_is_there_is_not_written_into(tmp_path: Path) -> None:
    source, target = files.langchain(tmp_path / "store.duckdb"), tmp_path / "native.duckdb"
    workbench(tmp_path, "import", source, target)
    content = files.rows(target, "SELECT * FROM chunks_1")
    ran = workbench(tmp_path, "import", source, target)
    assert ran.code == 1
    assert "embeddings" in ran.err
    assert files.rows(target, "SELECT * FROM chunks_1") == content


def test_only_the_namespaces_that_are_named_come_in(tmp_path: Path) -> None:
    source, target = tmp_path / "one.duckdb", tmp_path / "two.duckdb"
    with VectorStore.open(source, read_only=False) as store:
        for name in ("a", "b", "c"):
            store.put_many(name, [Entry("x", name, [1.0, 2.0])], embedder_id=None)
    assert workbench(tmp_path, "import", source, target, "--namespace", "a", "--namespace", "c").code == 0
    with VectorStore.open(target) as store:
        assert [each.name for each in store.namespaces()] == ["a", "c"]
    unknown = workbench(tmp_path, "import", source, tmp_path / "three.duckdb", "--namespace", "d")
    assert unknown.code == 2
    assert not (tmp_path / "three.duckdb").exists()


@pytest.mark.parametrize("target", ["store.duckdb", "link.duckdb"])
def test_a_file_is_not_imported_into_itself(tmp_path: Path, target: str) -> None:
    source = files.langchain(tmp_path / "store.duckdb")
    (tmp_path / "link.duckdb").symlink_to(source)
    ran = workbench(tmp_path, "import", source, tmp_path / target)
    assert ran.code == 1
    assert "itself" in ran.err


def test_a_file_of_another_program_is_no_target(tmp_path: Path) -> None:
    source, target = files.langchain(tmp_path / "store.duckdb"), files.plain(tmp_path / "notes.duckdb")
    content = target.read_bytes()
    ran = workbench(tmp_path, "import", source, target)
    assert ran.code == 2
    assert target.read_bytes() == content


def big(path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 'k' || i AS id, repeat('text number ' || i, 20) AS text,"
            " [sin(i * j)::FLOAT FOR j IN range(1, 65)] AS embedding FROM range(60000) r(i)"
        )
    return path


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_an_import_that_is_ended_leaves_no_target(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    source, target = big(tmp_path / "big.duckdb"), tmp_path / "native.duckdb"
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", "import", source, target],
        env=environment(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".native.duckdb.importing-*")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(sent)
    assert process.wait(60) == code
    assert not target.exists()
    small = files.langchain(tmp_path / "small.duckdb")
    assert workbench(tmp_path, "import", small, target).code == 0
    assert not list(tmp_path.glob(".native.duckdb.importing-*"))


@needs_samples
def test_the_seed_librarys_own_file_comes_in_whole(tmp_path: Path) -> None:
    source, target = SAMPLES / "agentfootprint" / "corpus.db", tmp_path / "native.duckdb"
    ran = workbench(tmp_path, "import", source, target, "--json")
    assert ran.code == 0
    before, after = checked(tmp_path, source), checked(tmp_path, target)
    assert list(after) == list(before)
    for name, each in before.items():
        assert (after[name]["count"], after[name]["dims"]) == (each["count"], each["dims"])
        assert after[name]["clipped"]["total_chars"] == each["clipped"]["total_chars"]
        for kind in ("missing", "zero", "non_finite", "wrong_dims", "expired"):
            assert after[name]["vectors"][kind] == each["vectors"][kind]
    with sqlite3.connect(f"file:{source}?mode=ro", uri=True) as connection:
        version = connection.execute("SELECT version FROM af_vectors ORDER BY rowid LIMIT 1").fetchone()[0]
    kept = json.loads(files.rows(target, "SELECT extra FROM chunks_1 ORDER BY seq LIMIT 1")[0][0])
    assert kept["version"] == version
    assert os.listdir(source.parent) == os.listdir(source.parent)


def test_a_folder_that_is_not_there_is_named_as_it_was_given(tmp_path: Path) -> None:
    source = files.langchain(tmp_path / "store.duckdb")
    ran = workbench(tmp_path, "import", source, "nowhere/native.duckdb")
    assert ran.code == 2
    assert "nowhere/native.duckdb" in " ".join(ran.err.split())
    assert "importing" not in ran.err


@needs_samples
def test_what_is_not_built_again_in_place_is_sent_to_the_import(tmp_path: Path) -> None:
    source = SAMPLES / "agentfootprint" / "corpus.db"
    ran = workbench(tmp_path, "reindex", source, "--namespace", "_/_/_global", "--embedder", "wordllama", "--plan")
    assert ran.code == 2
    assert "workbench import" in " ".join(ran.err.split())
