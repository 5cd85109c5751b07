"""Files of other programs are cured where they are: with their own tables and types, and the old file kept."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.cli.running import Ran, workbench
from tests.embedders.misbehaving_server import MisbehavingServer
from tests.reindex import foreign_files as files
from tests.shared_files import SAMPLES, needs_samples


def cure(home: Path, path: Path, namespace: str, *more: str) -> Ran:
    """Build a namespace again with the test server, and swap."""
    return workbench(home, "reindex", path, "--namespace", namespace, "--embedder", "near", "--yes", "--json", *more)


@pytest.fixture
def home(tmp_path: Path, server: MisbehavingServer) -> Path:
    files.configure(tmp_path, server)
    return tmp_path


def columns(path: Path, table: str) -> list[tuple[str, str]]:
    return [
        (name, kind)
        for name, kind in files.rows(
            path,
            f"SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '{table}' ORDER BY column_index",
        )
    ]


def test_a_langchain_table_keeps_its_columns_types_and_rows(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    before, rest = columns(path, "embeddings"), files.rows(path, "SELECT id, text, metadata FROM embeddings")
    ran = cure(home, path, "embeddings")
    assert (ran.code, ran.json["state"], ran.json["embedded"]) == (0, "swapped", len(files.TEXTS))
    assert columns(path, "embeddings") == before
    assert files.rows(path, "SELECT id, text, metadata FROM embeddings") == rest
    vectors = dict(files.rows(path, "SELECT text, embedding FROM embeddings WHERE embedding IS NOT NULL"))
    assert set(vectors) == set(files.TEXTS)
    for text, vector in vectors.items():
        assert np.allclose(vector, files.true_vector(text))


def test_rows_without_a_text_are_kept_without_a_vector(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    cure(home, path, "embeddings")
    assert files.rows(path, "SELECT id, embedding FROM embeddings WHERE coalesce(text, '') = '' ORDER BY id") == [
        ("empty", None),
        ("no-text", None),
    ]


def test_the_key_still_stands_after_the_cure(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    cure(home, path, "embeddings")
    with duckdb.connect(str(path)) as connection, pytest.raises(duckdb.ConstraintException):
        connection.execute("INSERT INTO embeddings VALUES ('k0', 'again', NULL, '{}')")


def test_check_knows_the_embedder_afterwards_and_says_from_where(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    cure(home, path, "embeddings")
    checked = workbench(home, "check", path, "--json").json["sources"][0]["namespaces"][0]
    assert checked["fingerprint"] == "test-embedder@64"
    assert any("re-indexed on" in note for note in checked["notes"])


def test_llamaindex_gets_an_array_of_the_new_length_and_its_metadata_is_embedded(
    home: Path, server: MisbehavingServer
) -> None:
    path = files.llamaindex(home / "store.duckdb")
    assert cure(home, path, "documents").code == 0
    assert ("embedding", "FLOAT[64]") in columns(path, "documents")
    text, vector = files.rows(path, "SELECT text, embedding FROM documents WHERE node_id = 'n3'")[0]
    sent = f"chapter: c3\n\n{text}"
    assert np.allclose(vector, files.true_vector(sent))
    assert server.asked.times(sent) >= 1
    assert server.asked.times(text) == 0


def test_the_plan_counts_what_is_embedded_and_not_what_is_stored(home: Path) -> None:
    path = files.llamaindex(home / "store.duckdb")
    ran = workbench(home, "reindex", path, "--namespace", "documents", "--embedder", "near", "--plan")
    chars = sum(len(text) + len("chapter: c0\n\n") for text in files.TEXTS)
    assert f"{chars:,} characters" in " ".join(ran.out.split())


def test_a_table_made_by_hand_loses_nothing_else(home: Path) -> None:
    path = files.plain(home / "notes.duckdb")
    asked = {
        "others": "SELECT * FROM authors, wrote",
        "view": "SELECT body FROM long_notes ORDER BY 1",
        "rest": "SELECT chapter, body, number, shout FROM notes",
        "indexes": "SELECT index_name, sql FROM duckdb_indexes()",
        "constraints": "SELECT table_name, constraint_text FROM duckdb_constraints() ORDER BY ALL",
    }
    before = {name: files.rows(path, statement) for name, statement in asked.items()}
    assert cure(home, path, "notes").code == 0
    assert {name: files.rows(path, statement) for name, statement in asked.items()} == before
    assert ("emb", "FLOAT[64]") in columns(path, "notes")
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO notes (chapter, body, emb) SELECT 1, 'one more', emb FROM notes LIMIT 1")
        assert connection.execute("SELECT max(number) FROM notes").fetchall()[0][0] >= 109


def test_a_comment_that_names_the_embedder_names_the_new_one(home: Path) -> None:
    path = files.plain(home / "notes.duckdb")
    cure(home, path, "notes")
    checked = workbench(home, "check", path, "--json").json["sources"][0]["namespaces"][0]
    assert checked["fingerprint"] == "test-embedder@64"
    assert files.rows(
        path, "SELECT comment FROM duckdb_columns() WHERE column_name = 'emb' AND comment IS NOT NULL"
    ) == [("test-embedder@64",)]


def test_rows_without_ids_get_the_vectors_of_their_texts(home: Path) -> None:
    path = files.plain(home / "notes.duckdb")
    cure(home, path, "notes")
    for text, vector in files.rows(path, "SELECT body, emb FROM notes"):
        assert np.allclose(vector, files.true_vector(text))


def test_the_old_file_is_kept_and_put_back_by_a_roll_back(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    old = path.read_bytes()
    cure(home, path, "embeddings")
    kept = list(home.glob("store.duckdb.before-*"))
    assert [each.read_bytes() for each in kept] == [old]
    new = path.read_bytes()
    assert workbench(home, "reindex", path, "--namespace", "embeddings", "--rollback").code == 0
    assert path.read_bytes() == old
    assert [each.read_bytes() for each in home.glob("store.duckdb.before-*")] == [new]
    checked = workbench(home, "check", path, "--json").json["sources"][0]["namespaces"][0]
    assert checked["fingerprint"] is None


def test_a_roll_back_lists_first_what_was_written_since(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    cure(home, path, "embeddings")
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO embeddings VALUES ('new', 'written since', NULL, '{}')")
        connection.execute("UPDATE embeddings SET text = 'another text' WHERE id = 'k1'")
        connection.execute("DELETE FROM embeddings WHERE id = 'k2'")
    ran = workbench(home, "reindex", path, "--namespace", "embeddings", "--rollback", "--json")
    assert (sorted(ran.json["written_since"]), ran.json["written"], ran.json["deleted"]) == (["k1", "new"], 2, 1)
    assert "2 chunks were written since" in " ".join(ran.err.split())
    again = workbench(home, "reindex", path, "--namespace", "embeddings", "--rollback", "--json")
    assert again.code == 0
    assert files.rows(path, "SELECT text FROM embeddings WHERE id = 'new'") == [("written since",)]


def test_without_a_file_from_before_a_roll_back_is_refused(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    ran = workbench(home, "reindex", path, "--namespace", "embeddings", "--rollback")
    assert ran.code == 1
    assert "never re-indexed" in ran.err


def test_discard_removes_the_old_file(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    cure(home, path, "embeddings")
    assert workbench(home, "reindex", path, "--namespace", "embeddings", "--discard").code == 0
    assert sorted(each.name for each in home.glob("store*")) == ["store.duckdb"]


def test_status_lists_the_namespaces_of_a_foreign_file(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    cure(home, path, "embeddings", "--no-swap")
    ran = workbench(home, "reindex", path, "--status", "--json")
    assert ran.json["namespaces"][0]["namespace"] == "embeddings"
    assert [each["state"] for each in ran.json["namespaces"][0]["generations"]] == ["active"]
    assert ran.json["namespaces"][0]["unfinished"]


def test_status_counts_the_kept_file_as_the_generation_before(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    cure(home, path, "embeddings")
    found = workbench(home, "reindex", path, "--status", "--json").json["namespaces"][0]
    said = [(each["generation"], each["fingerprint"], each["state"]) for each in found["generations"]]
    assert said == [(2, "test-embedder@64", "active"), (1, None, "retired")]
    assert found["active_generation"] == 2


def test_what_was_written_during_the_build_is_not_lost(home: Path, server: MisbehavingServer) -> None:
    path = files.langchain(home / "store.duckdb")
    assert cure(home, path, "embeddings", "--no-swap").json["state"] == "verified"
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO embeddings VALUES ('late', 'came late', NULL, '{}')")
        connection.execute("DELETE FROM embeddings WHERE id = 'k4'")
    swap = workbench(home, "reindex", path, "--namespace", "embeddings", "--swap")
    assert swap.code == 3
    sent = server.asked.times(files.TEXTS[0])
    done = workbench(home, "reindex", path, "--namespace", "embeddings", "--resume", "--json")
    assert (done.code, done.json["state"]) == (0, "swapped")
    vectors = dict(files.rows(path, "SELECT id, embedding FROM embeddings WHERE embedding IS NOT NULL"))
    assert np.allclose(vectors["late"], files.true_vector("came late"))
    assert "k4" not in vectors
    assert server.asked.times(files.TEXTS[0]) <= sent + 1  # once more to verify, never to build


def test_beside_a_log_nothing_is_swapped(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    cure(home, path, "embeddings", "--no-swap")
    log = Path(f"{path}.wal")
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET checkpoint_threshold = '1GB'; PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("CREATE TABLE other (a INTEGER)")
    assert log.exists()
    old = path.read_bytes()
    ran = workbench(home, "reindex", path, "--namespace", "embeddings", "--swap")
    assert ran.code == 3
    assert log.name in " ".join(ran.err.split())
    assert path.read_bytes() == old
    assert not list(home.glob("store.duckdb.before-*"))


def test_pieces_are_not_put_into_the_table_of_another_program(home: Path, server: MisbehavingServer) -> None:
    path = files.langchain(home / "store.duckdb")
    ran = workbench(
        home, "reindex", path, "--namespace", "embeddings", "--embedder", "near", "--yes", "--resplit",
        "--max-chunk-chars", "5",
    )  # fmt: skip
    assert ran.code == 1
    assert "workbench import" in " ".join(ran.err.split())
    assert server.asked.requests == 0


def test_a_record_of_another_program_is_not_rewritten(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE registry (namespace VARCHAR, embedder_fp VARCHAR)")
        connection.execute("INSERT INTO registry VALUES ('embeddings', 'old-model@16')")
    old = path.read_bytes()
    ran = cure(home, path, "embeddings")
    assert ran.code == 1
    assert "workbench import" in " ".join(ran.err.split())
    assert path.read_bytes() == old


def test_a_model_column_names_the_new_embedder_row_by_row(home: Path) -> None:
    path = files.langchain(home / "store.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE embeddings ADD COLUMN model VARCHAR DEFAULT 'nomic-embed-text'")
    assert cure(home, path, "embeddings").code == 0
    assert files.rows(path, "SELECT DISTINCT model FROM embeddings WHERE embedding IS NOT NULL") == [("test-embedder",)]


def test_a_repeated_id_and_text_can_be_told_apart(home: Path) -> None:
    path = home / "twice.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (id VARCHAR, text VARCHAR, embedding FLOAT[])")
        for number, (id, text) in enumerate([("a", files.TEXTS[0]), ("a", files.TEXTS[1]), ("a", files.TEXTS[1])]):
            vector = files.old_vector(number).tolist()
            connection.execute("INSERT INTO t VALUES (?, ?, ?)", [id, text, vector])
    assert cure(home, path, "t").code == 0
    for text, vector in files.rows(path, "SELECT text, embedding FROM t"):
        assert np.allclose(vector, files.true_vector(text))


@needs_samples
def test_hnsw_indexes_are_asked_for_and_said_how_to_make_again(home: Path, server: MisbehavingServer) -> None:
    path = home / "hnsw.duckdb"
    path.write_bytes((SAMPLES / "indexes" / "vss_hnsw_cosine.duckdb").read_bytes())
    refused = cure(home, path, "docs")
    assert refused.code == 1
    assert "--hnsw-metric" in refused.err
    assert server.asked.requests == 0
    ran = cure(home, path, "docs", "--hnsw-metric", "cosine")
    assert ran.code == 0
    assert "USING HNSW (embedding) WITH (metric = 'cosine');" in ran.json["message"]
    assert files.rows(path, "SELECT count(*) FROM duckdb_indexes()") == [(0,)]
    assert files.rows(path, "SELECT count(*) FROM docs") == [(100,)]


def test_the_new_file_is_no_larger_than_one_written_at_once(home: Path) -> None:
    path, once = home / "many.duckdb", home / "once.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 'k' || i AS id, 'text number ' || i AS text,"
            " [sin(i * j)::FLOAT FOR j IN range(1, 65)] AS embedding FROM range(3000) r(i)"
        )
    assert cure(home, path, "t").code == 0
    with duckdb.connect(str(once)) as connection:
        connection.execute(f"ATTACH '{path}' AS cured (READ_ONLY)")
        connection.execute("CREATE TABLE t AS SELECT * FROM cured.t")
    assert os.path.getsize(path) <= 1.1 * os.path.getsize(once)
