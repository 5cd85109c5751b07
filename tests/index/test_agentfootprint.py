"""The seed library's SQLite file is read as the seed reads it, and no further."""

from __future__ import annotations

import hashlib
import math
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.checkup.agentfootprint_file import Index, Row
from tests.shared_files import SAMPLES, needs_samples
from workbench.checkup.options import CheckOptions
from workbench.core.fingerprint import Fingerprint
from workbench.core.job import Cancelled, Job
from workbench.index import sqlite_file
from workbench.index.adapters.agentfootprint import open_sqlite_source
from workbench.index.model import FingerprintCount, Namespace, Problem, SourceError, Unusable
from workbench.sources import check_paths

NOW = 1_795_973_100_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


def only(path: Path) -> Namespace:
    (namespace,) = open_sqlite_source(path).namespaces()
    return namespace


def said(namespace: Namespace) -> dict[str, int]:
    return {each.fingerprint: each.count for each in namespace.fingerprints()}


def problem_of(path: Path) -> SourceError:
    with pytest.raises(SourceError) as refused:
        open_sqlite_source(path)
    return refused.value


@needs_samples
def test_all_seven_namespaces_of_the_sample_are_there_with_their_records() -> None:
    with open_sqlite_source(SAMPLES / "agentfootprint" / "corpus.db") as source:
        found = {namespace.name: namespace.recorded for namespace in source.namespaces()}
        counts = {namespace.name: namespace.count() for namespace in source.namespaces()}
    assert found == {
        "_/_/_global": Fingerprint("hash-bow-small", 48),
        "acme%2Feu/50%25/notes": Fingerprint("mock", 32),
        "_/_/unnamed-embedder": Fingerprint("default-embedder", 16),
        "_/_/chat-9": Fingerprint(None, 24),
        "_/_/upgraded": Fingerprint("named", 3),
        "_/_/odd": Fingerprint("odd@home", 4),
        "_/_/emptied": Fingerprint("gone", 2),
    }
    assert list(counts.values()) == [19, 7, 3, 4, 2, 5, 0]


@needs_samples
def test_the_odd_namespace_of_the_sample_is_counted_row_by_row() -> None:
    with open_sqlite_source(SAMPLES / "agentfootprint" / "corpus.db") as source:
        (odd,) = (namespace for namespace in source.namespaces() if namespace.name == "_/_/odd")
        health = odd.health(NOW)
        assert (health.count, health.missing, health.zero, health.non_finite, health.wrong_dims) == (5, 1, 1, 2, 0)
        assert [row.reason for row in odd.unusable_rows(10)] == [
            Unusable.ZERO,
            Unusable.MISSING,
            Unusable.NON_FINITE,
            Unusable.NON_FINITE,
        ]
        assert said(odd) == {"odd@home@4": 3, "?@4": 1}


@needs_samples
def test_the_samples_are_not_changed_by_a_byte_and_nothing_is_left_beside_them() -> None:
    folder = SAMPLES / "agentfootprint"
    before = {entry: hashlib.sha256(entry.read_bytes()).hexdigest() for entry in folder.iterdir()}
    with open_sqlite_source(folder / "corpus.db") as source:
        for namespace in source.namespaces():
            namespace.health(NOW)
            namespace.lengths()
            namespace.page(0, 10)
    assert {entry: hashlib.sha256(entry.read_bytes()).hexdigest() for entry in folder.iterdir()} == before


def test_an_emptied_namespace_is_still_shown_with_its_record(path: Path) -> None:
    namespace = only(Index(records={"gone": "old@7"}).write(path))
    assert (namespace.name, namespace.recorded, namespace.count()) == ("gone", Fingerprint("old", 7), 0)
    assert namespace.health(NOW).dims == 7
    lengths = namespace.lengths()
    assert lengths is not None
    assert lengths.total == 0
    assert namespace.page(0, 10) == ()
    assert namespace.search(np.ones(7), k=3, now_ms=NOW).hits == ()


def test_rows_without_a_record_are_a_namespace_of_their_own(path: Path) -> None:
    namespace = only(Index([Row("a")]).write(path))
    assert namespace.recorded is None
    assert namespace.keeps_records


def test_a_file_without_the_table_of_records_keeps_none(path: Path) -> None:
    assert not only(Index([Row("a")], keeps_records=False).write(path)).keeps_records


def test_the_blob_decides_the_length_not_what_the_row_says(path: Path) -> None:
    rows = [Row("a", vector=(1, 0, 0), fingerprint="acme@2"), Row("b", vector=(1, 0), fingerprint="acme@2")]
    namespace = only(Index(rows, {"docs": "acme@2"}).write(path))
    assert said(namespace) == {"acme@3": 1, "acme@2": 1}
    assert namespace.health(NOW).wrong_dims == 1


def test_fingerprints_come_most_frequent_first_and_anonymous_ones_by_their_length(path: Path) -> None:
    stored = ["b@2", "b@2", "?@2", None, "no at sign", "@2", "x@y@2"]
    rows = [Row(str(place), fingerprint=each) for place, each in enumerate(stored)]
    assert only(Index(rows).write(path)).fingerprints() == (
        FingerprintCount("?@2", 4),
        FingerprintCount("b@2", 2),
        FingerprintCount("x@y@2", 1),
    )


def test_without_a_record_the_most_frequent_length_counts_and_the_smaller_on_a_tie(path: Path) -> None:
    rows = [Row("a", vector=(1, 2, 3)), Row("b", vector=(1, 2)), Row("c", vector=(1, 2)), Row("d", vector=(3, 2, 1))]
    health = only(Index(rows).write(path)).health(NOW)
    assert (health.dims, health.wrong_dims) == (2, 2)


def test_every_kind_of_unusable_vector_is_counted_once(path: Path) -> None:
    rows = [
        Row("good", vector=(3, 4)),
        Row("tiny", vector=(1e-38, 0)),
        Row("none", vector=None),
        Row("empty", vector=b""),
        Row("nan", vector=(math.nan, 1)),
        Row("infinite", vector=(1, -math.inf)),
        Row("overflow", vector=(1e39, 1)),
        Row("zero", vector=(0, -0.0)),
        Row("long", vector=(1, 2, 3)),
        Row("long-nan", vector=(1, 2, math.nan)),
        Row("torn", vector=b"\0\0\x80\x3f\0\0\0\0\x01"),
    ]
    namespace = only(Index(rows, {"docs": "acme@2"}).write(path))
    health = namespace.health(NOW)
    assert (health.missing, health.non_finite, health.zero, health.wrong_dims) == (2, 3, 1, 3)
    assert health.norm is not None
    assert (health.norm.min, health.norm.max) == (0.0, 5.0)
    details = {row.id: row.detail for row in namespace.unusable_rows(20)}
    assert details["nan"] == "element 0 is NaN"
    assert details["infinite"] == "element 1 is infinite"
    assert details["long"] == "3 numbers instead of 2"
    assert len(details) == health.unusable + health.missing
    assert len(namespace.unusable_rows(2)) == 2


def test_a_search_ranks_only_what_can_be_ranked_and_agrees_with_the_health(path: Path) -> None:
    rows = [
        Row("same", vector=(2, 0)),
        Row("near", vector=(1, 1)),
        Row("opposite", vector=(-5, 0)),
        Row("nan", vector=(math.nan, 1)),
        Row("zero", vector=(0, 0)),
        Row("long", vector=(1, 2, 3)),
        Row("none", vector=None),
        Row("expired", vector=(1, 0), ttl=NOW),
    ]
    namespace = only(Index(rows, {"docs": "acme@2"}).write(path))
    result = namespace.search(np.array([1.0, 0.0]), k=10, now_ms=NOW)
    assert [hit.id for hit in result.hits] == ["same", "near", "opposite"]
    assert [hit.score for hit in result.hits] == pytest.approx([1.0, math.sqrt(0.5), -1.0])
    assert result.left_out == namespace.health(NOW).unusable == 3
    assert (result.missing, result.expired) == (1, 1)


def test_ties_are_ordered_by_id_in_utf16_code_units(path: Path) -> None:
    ids = ["b", "\ue000", "\U0001f600", "a"]
    namespace = only(Index([Row(id) for id in ids]).write(path))
    hits = namespace.search(np.array([1.0, 0.0]), k=3, now_ms=NOW).hits
    assert [hit.id for hit in hits] == ["a", "b", "\U0001f600"]


def test_a_search_agrees_with_plain_numpy_over_several_batches(path: Path) -> None:
    random = np.random.default_rng(7)
    vectors = random.normal(size=(9_000, 6)).astype(np.float32)
    rows = [Row(f"{place:05}", vector=vector.tobytes(), fingerprint="acme@6") for place, vector in enumerate(vectors)]
    namespace = only(Index(rows).write(path))
    query = random.normal(size=6)
    scores = (vectors @ query) / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))
    expected = [f"{place:05}" for place in np.argsort(-scores)[:25]]
    assert [hit.id for hit in namespace.search(query, k=25, now_ms=NOW).hits] == expected


def test_a_search_leaves_out_a_chunk_and_other_tiers(path: Path) -> None:
    rows = [Row("a", tier="hot"), Row("b", tier="hot"), Row("c", tier="cold"), Row("d")]
    namespace = only(Index(rows).write(path))
    query = np.array([1.0, 0.0])
    assert [hit.id for hit in namespace.search(query, k=9, now_ms=NOW, tiers=["hot"], without="a").hits] == ["b"]


def test_a_query_of_another_length_is_an_error_and_a_dead_one_finds_nothing(path: Path) -> None:
    namespace = only(Index([Row("a")]).write(path))
    with pytest.raises(ValueError, match="3 numbers"):
        namespace.search(np.ones(3), k=1, now_ms=NOW)
    for dead in ([0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]):
        assert namespace.search(np.array(dead), k=1, now_ms=NOW).hits == ()


def test_a_row_expires_at_its_time_to_live(path: Path) -> None:
    rows = [Row("past", ttl=NOW - 1), Row("now", ttl=NOW), Row("later", ttl=NOW + 1), Row("never")]
    assert only(Index(rows).write(path)).health(NOW).expired == 2


def test_the_text_is_the_content_if_it_is_a_string_else_the_text(path: Path) -> None:
    values = {
        "content": '{"content": "short", "text": "not this"}',
        "empty": '{"content": "", "text": "not this"}',
        "text": '{"content": 5, "text": "longer"}',
        "neither": '{"role": "user"}',
        "no object": "[1, 2]",
        "no json": "{broken",
        "deep": "[" * 20_000,
        "astral": '{"text": "\U0001f600"}',
        "half": '{"text": "\\ud83d"}',
    }
    namespace = only(Index([Row(id, value=value) for id, value in values.items()]).write(path))
    page = {row.id: row.chars for row in namespace.page(0, 20)}
    assert page == {
        "content": 5,
        "empty": 0,
        "text": 6,
        "neither": None,
        "no object": None,
        "no json": None,
        "deep": None,
        "astral": 2,
        "half": 1,
    }
    lengths = namespace.lengths()
    assert lengths is not None
    assert (lengths.total, lengths.clip(1).total_chars, lengths.clip(1).count) == (9, 14, 3)
    assert [each.id for each in lengths.longest[:3]] == ["text", "content", "astral"]


def test_possible_counts_chunks_with_more_bytes_than_tokens(path: Path) -> None:
    namespace = only(Index([Row("a", text="ää"), Row("b", text="aa"), Row("c", text="a" * 9)]).write(path))
    lengths = namespace.lengths(token_limit=3)
    assert lengths is not None
    assert lengths.clip(5).possible == 1


def test_the_source_comes_from_the_row_else_from_the_value(path: Path) -> None:
    rows = [
        Row("a", source_uri="row.md", value='{"text": "x", "docUri": "value.md"}'),
        Row("b", value='{"text": "x", "docUri": "value.md", "metadata": {"page": 1}}'),
    ]
    namespace = only(Index(rows).write(path))
    assert [row.source for row in namespace.page(0, 2)] == ["row.md", "value.md"]
    chunk = namespace.chunk("b")
    assert chunk is not None
    assert (chunk.source, chunk.metadata, chunk.dims, chunk.norm) == ("value.md", '{"page": 1}', 2, 1.0)
    assert namespace.chunk("not there") is None


def test_pages_follow_the_order_of_the_file_without_gaps(path: Path) -> None:
    rows = [Row(f"{place * 7 % 50:02}", namespace=("docs", "other")[place % 2]) for place in range(50)]
    docs, _ = open_sqlite_source(Index(rows).write(path)).namespaces()
    paged = [row for start in range(0, 30, 7) for row in docs.page(start, 7)]
    assert [row.id for row in paged] == [row.id for row in rows if row.namespace == "docs"]
    assert [row.position for row in paged] == list(range(25))


def test_duplicate_ids_are_counted_where_the_key_of_the_seed_is_missing(path: Path) -> None:
    rows = [Row("a"), Row("a"), Row("a"), Row("b"), Row("b"), Row("c"), Row("a", namespace="other")]
    docs, other = open_sqlite_source(Index(rows, primary_key=False).write(path)).namespaces()
    assert (docs.duplicates().ids, docs.duplicates().rows) == (2, 5)
    assert other.duplicates().ids == 0


@pytest.mark.parametrize(
    "name", ["plain", "a/b", "", "'; DROP TABLE af_vectors --", "\x1b]52;c;x\x07", "[/x]", "\u202e"]
)
def test_names_and_ids_are_only_ever_values(path: Path, name: str) -> None:
    namespace = only(Index([Row(name, namespace=name)], {name: "acme@2"}).write(path))
    assert namespace.name == name
    assert namespace.count() == 1
    chunk = namespace.chunk(name)
    assert chunk is not None
    assert chunk.id == name


def test_text_that_is_no_utf8_is_kept_byte_for_byte(path: Path) -> None:
    Index([Row("a")]).write(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE af_vectors SET id = CAST(x'61ff62' AS TEXT), namespace = CAST(x'fe' AS TEXT)")
    connection.commit()
    connection.close()
    namespace = only(path)
    assert namespace.name.encode("utf-8", "surrogateescape") == b"\xfe"
    assert namespace.count() == 1
    chunk = namespace.chunk(namespace.page(0, 1)[0].id)
    assert chunk is not None
    assert chunk.id.encode("utf-8", "surrogateescape") == b"a\xffb"


@pytest.mark.parametrize("version", ["2", "99", "one", "", "-1", "1.5", "9" * 40])
def test_a_newer_schema_is_refused_by_name(path: Path, version: str) -> None:
    refused = problem_of(Index([Row("a")], schema_version=version).write(path))
    assert refused.problem is Problem.TOO_NEW
    assert version[:40] in refused.message


def test_vectors_of_other_columns_are_not_readable_yet(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE af_vectors (namespace TEXT, id TEXT, vec BLOB)")
    connection.close()
    refused = problem_of(path)
    assert (refused.problem, refused.container) == (Problem.NOT_READABLE_YET, "sqlite")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE other (id TEXT, embedding BLOB)",
        "CREATE VIEW af_vectors AS SELECT 1 AS namespace",
        "CREATE TABLE af_vectors (namespace TEXT PRIMARY KEY, id, value, metadata, embedding BLOB, dims, embedder_fp,"
        " ttl, tier, source_uri) WITHOUT ROWID",
        "CREATE TABLE af_vectors (namespace, id, value, metadata, embedding BLOB, dims, embedder_fp, ttl, tier,"
        " source_uri, rowid)",
        "CREATE VIRTUAL TABLE af_vectors USING fts5(namespace, id, value, metadata, embedding, dims, embedder_fp,"
        " ttl, tier, source_uri)",
        "CREATE TABLE plain (a INTEGER)",
    ],
)
def test_whatever_else_a_sqlite_file_holds_is_one_clear_sentence(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    refused = problem_of(path)
    assert refused.problem in (Problem.NOT_READABLE_YET, Problem.NOT_AN_INDEX)
    assert refused.container == "sqlite"


@needs_samples
@pytest.mark.parametrize(
    ("file", "producer"),
    [
        ("llm_embeddings.db", "llm"),
        ("sqlite_vec_basic.db", "sqlite-vec"),
        ("qmd_index.sqlite", "qmd"),
        ("chroma_dir/chroma.sqlite3", "Chroma"),
    ],
)
def test_layouts_of_other_programs_are_named(file: str, producer: str) -> None:
    refused = problem_of(SAMPLES / "indexes" / file)
    assert refused.problem is Problem.NOT_READABLE_YET
    assert producer in refused.message


def test_a_cancelled_job_stops_every_long_read(path: Path) -> None:
    namespace = only(Index([Row(str(place)) for place in range(50)]).write(path))
    job = Job()
    job.cancel()
    for read in (
        lambda: namespace.health(NOW, job),
        lambda: namespace.lengths(job=job),
        lambda: namespace.fingerprints(job),
        lambda: namespace.search(np.array([1.0, 0.0]), k=1, now_ms=NOW, job=job),
        lambda: namespace.page(0, 5, job),
        lambda: namespace.duplicates(job),
    ):
        with pytest.raises(Cancelled):
            read()


def test_progress_counts_up_to_all_rows(path: Path) -> None:
    namespace = only(Index([Row(f"{place:05}") for place in range(5_000)]).write(path))
    seen: list[tuple[int, int]] = []
    namespace.health(NOW, Job(lambda done, total: seen.append((done, total))))
    assert seen[-1] == (5_000, 5_000)
    assert len(seen) > 1


def test_one_source_answers_several_threads(path: Path) -> None:
    namespace = only(Index([Row(f"{place:05}") for place in range(3_000)]).write(path))
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(namespace.health(NOW).count)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [3_000] * 4


def test_a_damaged_schema_of_broken_bytes_is_called_damaged(path: Path) -> None:
    Index([Row("a")]).write(path)
    damaged = path.read_bytes().replace(
        b"CREATE TABLE af_vectors (namespace", b"CREATE TABLE af_vectors (\xff\xfemesp\xd4 ,"
    )
    path.write_bytes(damaged)
    assert problem_of(path).problem is Problem.DAMAGED


def test_a_row_larger_than_is_read_is_said_to_be_that(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "_LONGEST_VALUE", 100_000)
    Index([Row("a"), Row("big", text="x" * 200_000)]).write(path)
    (source,) = check_paths([path], CheckOptions()).sources
    assert source.problem is Problem.NOT_READABLE_YET
    assert "larger than is read here" in str(source.message)
