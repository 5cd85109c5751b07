"""`workbench label`: says who built what does not say it, proves it if asked, and overrules nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.cli.running import Ran, workbench
from tests.embedders.misbehaving_server import serving
from tests.reindex import foreign_files as files
from workbench import Entry, VectorStore

CLAIM = ("--namespace", "embeddings", "--fingerprint", "test-embedder@64")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    true = [files.true_vector(text) for text in files.TEXTS]
    files.langchain(tmp_path / "true.duckdb", true)
    return tmp_path


def label(home: Path, name: str, *more: str) -> Ran:
    return workbench(home, "label", name, *CLAIM, *more, "--json")


def checked(home: Path, name: str) -> Any:  # noqa: ANN401
    return workbench(home, "check", name, "--json").json["sources"][0]["namespaces"][0]


def test_a_label_is_the_record_of_the_namespace_and_says_where_it_is_from(home: Path) -> None:
    content = (home / "true.duckdb").read_bytes()
    ran = label(home, "true.duckdb")
    assert (ran.code, ran.json["labelled"], ran.json["kept"], ran.json["proof"]) == (0, True, "data-folder", None)
    assert (home / "true.duckdb").read_bytes() == content
    found = checked(home, "true.duckdb")
    assert found["fingerprint"] == "test-embedder@64"
    assert any("labelled by you on" in note and "not proved" in note for note in found["notes"])
    refused = workbench(home, "search", "true.duckdb", "--like", "k0", "--incoming", "other@64", "--json")
    assert (refused.code, refused.json["refused"]["indexed"]) == (1, "test-embedder@64")


def test_a_proof_sends_at_most_three_chunks_and_is_named(home: Path) -> None:
    with serving() as server:
        files.configure(home, server)
        ran = label(home, "true.duckdb", "--prove", "near", "--yes")
        assert sum(server.asked.times(text) for text in files.TEXTS) == 3
    assert ran.code == 0
    assert ran.json["proof"]["ok"]
    assert all(each["score"] >= 0.99 for each in ran.json["proof"]["chunks"])
    assert any("proved with near" in note for note in checked(home, "true.duckdb")["notes"])


def test_vectors_of_another_embedder_do_not_land_on_themselves(home: Path) -> None:
    shutil.copy(home / "true.duckdb", home / "false.duckdb")
    with duckdb.connect(str(home / "false.duckdb")) as connection:
        connection.execute("UPDATE embeddings SET embedding = list_reverse(embedding)")
    with serving() as server:
        files.configure(home, server)
        ran = label(home, "false.duckdb", "--prove", "near", "--yes")
    assert (ran.code, ran.json["labelled"], ran.json["proof"]["ok"]) == (1, False, False)
    assert checked(home, "false.duckdb")["fingerprint"] is None


def test_a_pipe_never_confirms_a_proof(home: Path) -> None:
    with serving() as server:
        files.configure(home, server)
        ran = label(home, "true.duckdb", "--prove", "near")
        assert server.asked.requests == 0
    assert ran.code == 2
    assert "--yes" in ran.err


def test_an_embedder_of_another_name_proves_nothing(home: Path) -> None:
    with serving() as server:
        files.configure(home, server, model="somebody-else")
        ran = label(home, "true.duckdb", "--prove", "near", "--yes")
        assert server.asked.requests == 0
    assert ran.code == 1
    assert "somebody-else@64" in " ".join(ran.err.split())


def test_a_proof_of_llamaindex_embeds_what_its_producer_embedded(home: Path) -> None:
    files.llamaindex(home / "nodes.duckdb")
    with duckdb.connect(str(home / "nodes.duckdb")) as connection:
        connection.execute("ALTER TABLE documents ALTER embedding TYPE FLOAT[64] USING NULL")
        for id, text in connection.execute("SELECT node_id, text FROM documents").fetchall():
            vector = files.true_vector(f"chapter: c{id[1:]}\n\n{text}").tolist()
            connection.execute("UPDATE documents SET embedding = ?::FLOAT[64] WHERE node_id = ?", [vector, id])
    with serving() as server:
        files.configure(home, server)
        claim = ("--namespace", "documents", "--fingerprint", "test-embedder@64")
        ran = workbench(home, "label", "nodes.duckdb", *claim, "--prove", "near", "--yes")
    assert ran.code == 0


def test_copies_and_renamed_files_are_known_by_their_vectors(home: Path) -> None:
    label(home, "true.duckdb")
    shutil.copy(home / "true.duckdb", home / "copy.duckdb")
    (home / "true.duckdb").rename(home / "renamed.duckdb")
    assert checked(home, "copy.duckdb")["fingerprint"] == "test-embedder@64"
    assert checked(home, "renamed.duckdb")["fingerprint"] == "test-embedder@64"


def test_another_file_under_the_labelled_path_is_not_labelled(home: Path) -> None:
    label(home, "true.duckdb")
    (home / "true.duckdb").unlink()
    others = [files.true_vector(text[::-1]) for text in files.TEXTS]
    files.langchain(home / "true.duckdb", others)
    assert checked(home, "true.duckdb")["fingerprint"] is None


def test_rows_may_come_go_and_change_under_a_label(home: Path) -> None:
    label(home, "true.duckdb")
    with duckdb.connect(str(home / "true.duckdb")) as connection:
        connection.execute("DELETE FROM embeddings WHERE id IN ('k1', 'k2')")
        connection.execute("UPDATE embeddings SET embedding = list_reverse(embedding) WHERE id = 'k3'")
        connection.execute("INSERT INTO embeddings SELECT 'new', text, embedding, metadata FROM embeddings LIMIT 1")
    assert checked(home, "true.duckdb")["fingerprint"] == "test-embedder@64"


def test_another_length_and_an_anonymous_name_are_refused(home: Path) -> None:
    wrong = workbench(home, "label", "true.duckdb", "--namespace", "embeddings", "--fingerprint", "test-embedder@65")
    assert wrong.code == 1
    assert "another length" in " ".join(wrong.err.split())
    none = workbench(home, "label", "true.duckdb", "--namespace", "embeddings", "--fingerprint", "?@64")
    assert none.code == 2


def test_damaged_labels_are_passed_over(home: Path) -> None:
    label(home, "true.duckdb")
    folder = next(home.rglob("labels"))
    (folder / "broken.json").write_text('{"path": 1, "anchors": "')
    (folder / "hostile.json").write_bytes(b"\xff" * 100_000)
    assert checked(home, "true.duckdb")["fingerprint"] == "test-embedder@64"


def native(home: Path, embedder_id: str | None) -> None:
    with VectorStore.open(home / "native.duckdb", read_only=False) as store:
        entries = [Entry(f"n{number}", text, files.true_vector(text)) for number, text in enumerate(files.TEXTS)]
        store.put_many("notes", entries, embedder_id=embedder_id)


def test_a_native_file_records_it(home: Path) -> None:
    native(home, None)
    ran = workbench(
        home, "label", "native.duckdb", "--namespace", "notes", "--fingerprint", "test-embedder@64", "--json"
    )
    assert (ran.code, ran.json["kept"]) == (0, "index")
    with VectorStore.open(home / "native.duckdb") as store:
        said = store.fingerprint_of("notes")
    assert said is not None
    assert (said.id, said.dims) == ("test-embedder", 64)


def test_a_native_file_that_names_another_is_not_overruled(home: Path) -> None:
    native(home, "somebody")
    ran = workbench(home, "label", "native.duckdb", "--namespace", "notes", "--fingerprint", "test-embedder@64")
    assert ran.code == 1
    assert "somebody@64" in " ".join(ran.err.split())


def test_an_unknown_namespace_is_wrong_usage_and_offers_the_others(home: Path) -> None:
    ran = workbench(home, "label", "true.duckdb", "--namespace", "embedings", "--fingerprint", "test-embedder@64")
    assert ran.code == 2
    assert "embeddings" in ran.err
