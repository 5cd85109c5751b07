"""Which layouts are recognised, and which part each column plays: small files in the shape that producers write."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.index.made_tables import make_file
from workbench.core.fingerprint import Fingerprint
from workbench.index.adapters.detect import Detection, detect
from workbench.index.duckdb_source import open_duckdb_source
from workbench.index.mapping import ModelColumn, TableMapping
from workbench.index.model import Problem, SourceError
from workbench.index.opening import attach


def recognised(path: Path, known_model: Callable[[str], bool] = lambda model: False) -> Detection:
    with attach(path) as attachment, attachment.cursor() as cursor:
        return detect(cursor, known_model)


def only(path: Path, known_model: Callable[[str], bool] = lambda model: False) -> TableMapping:
    found = recognised(path, known_model).mappings
    assert len(found) == 1, [mapping.namespace for mapping in found]
    return found[0]


def vector(random_: random.Random, dims: int = 16) -> list[float]:
    return [random_.uniform(-1, 1) for _ in range(dims)]


def prose(random_: random.Random) -> str:
    return " ".join(random_.choices(["gulls", "harbour", "lamp", "keeper", "the", "a", "tide"], k=12)) + "."


def langchain_rows(count: int = 40) -> list[tuple[object, ...]]:
    random_ = random.Random(1)
    return [(f"lc-{n}", prose(random_), vector(random_), json.dumps({"source": f"{n}.md"})) for n in range(count)]


def llamaindex_rows(count: int = 40) -> list[tuple[object, ...]]:
    random_ = random.Random(2)
    node = json.dumps({"_node_content": json.dumps({"id_": "n"}), "_node_type": "TextNode"})
    return [(f"n-{n}", prose(random_), vector(random_), node) for n in range(count)]


@pytest.mark.parametrize(
    "names", [("id", "text", "embedding", "metadata"), ("doc_id", "body", "vec", "meta"), ("a", "b", "c", "d")]
)
def test_langchain_is_recognised_under_any_names(tmp_path: Path, names: tuple[str, ...]) -> None:
    id, text, embedding, metadata = names
    path = make_file(
        tmp_path / "x.duckdb",
        f"CREATE TABLE kb ({id} VARCHAR PRIMARY KEY, {text} VARCHAR, {embedding} FLOAT[], {metadata} VARCHAR)",
        rows={"kb": langchain_rows()},
    )
    found = only(path)
    assert found.adapter == "langchain"
    assert (found.namespace, found.id, found.text, found.vector, found.metadata) == ("kb", *names)
    assert found.id_unique
    assert found.fixed_dims is None
    assert "table_name" in found.alternative


def test_langchain_is_recognised_without_its_key_and_with_columns_in_another_order(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE kb (d VARCHAR, c FLOAT[], b VARCHAR, a VARCHAR)",
        rows={"kb": [(d, c, b, a) for a, b, c, d in langchain_rows()]},
    )
    found = only(path)
    assert (found.adapter, found.id, found.id_unique, found.text, found.metadata) == ("langchain", "a", False, "b", "d")
    assert any("column a is taken for the id" in note for note in found.notes)


def test_an_empty_langchain_table_is_recognised_by_the_default_names(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE embeddings (id VARCHAR PRIMARY KEY, text VARCHAR, embedding FLOAT[], metadata VARCHAR)",
    )
    assert only(path).adapter == "langchain"
    with open_duckdb_source(path) as source:
        assert source.namespaces()[0].health(0).dims is None


@pytest.mark.parametrize("type", ["FLOAT[16]", "FLOAT[]"])
@pytest.mark.parametrize("names", [("node_id", "text", "embedding", "metadata_"), ("a", "b", "c", "d")])
def test_llamaindex_is_recognised_under_any_names(tmp_path: Path, type: str, names: tuple[str, ...]) -> None:
    id, text, embedding, metadata = names
    path = make_file(
        tmp_path / "x.duckdb",
        f"CREATE TABLE t7 ({id} VARCHAR PRIMARY KEY, {text} VARCHAR, {embedding} {type}, {metadata} JSON)",
        rows={"t7": llamaindex_rows()},
    )
    found = only(path)
    assert found.adapter == "llamaindex"
    assert (found.namespace, found.id, found.text, found.vector, found.metadata) == ("t7", *names)
    assert "persist_dir" in found.alternative


@pytest.mark.parametrize("type", ["FLOAT[16]", "FLOAT[]"])
def test_an_empty_llamaindex_table_is_recognised_by_its_columns(tmp_path: Path, type: str) -> None:
    path = make_file(
        tmp_path / "x.duckdb", f"CREATE TABLE x (node_id VARCHAR, text VARCHAR, embedding {type}, metadata_ JSON)"
    )
    assert only(path).adapter == "llamaindex"


def test_colours_scores_and_histograms_are_no_vectors(tmp_path: Path) -> None:
    random_ = random.Random(3)
    rows = [
        (
            n,
            [random_.random() for _ in range(3)],
            [random_.random() for _ in range(n % 9 + 1)],
            sorted(random_.random() for _ in range(12)),
            [random_.randrange(100) for _ in range(12)],
            [random_.random() for _ in range(random_.randrange(40))],
        )
        for n in range(60)
    ]
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id INTEGER, rgb FLOAT[3], scores FLOAT[], cumulative DOUBLE[12], hist INTEGER[12],"
        " embedding FLOAT[])",
        rows={"t": rows},
    )
    assert recognised(path).mappings == ()


@pytest.mark.parametrize("type", ["DOUBLE[]", "DOUBLE[16]", "FLOAT[16]", "TINYINT[16]", "DECIMAL(9,6)[16]"])
def test_vectors_of_every_number_type_are_recognised(tmp_path: Path, type: str) -> None:
    random_ = random.Random(4)
    scale = 100 if type.startswith("TINYINT") else 1
    rows = [(n, [round(scale * x, 6 if scale == 1 else 0) for x in vector(random_)]) for n in range(30)]
    path = make_file(tmp_path / "x.duckdb", f"CREATE TABLE t (id INTEGER, v {type})", rows={"t": rows})
    found = only(path)
    assert (found.adapter, found.vector, found.id) == ("plain-table", "v", "id")
    with open_duckdb_source(path) as source:
        health = source.namespaces()[0].health(0)
        assert (health.dims, health.unusable, health.count) == (16, 0, 30)


def test_a_mixture_of_lengths_does_not_hide_an_index(tmp_path: Path) -> None:
    random_ = random.Random(5)
    rows = [(n, vector(random_, random_.choice([16, 24])) if n % 40 else vector(random_, 5)) for n in range(200)]
    path = make_file(tmp_path / "x.duckdb", "CREATE TABLE t (id INTEGER, v FLOAT[])", rows={"t": rows})
    assert only(path).vector == "v"


def test_vectors_that_begin_late_in_the_table_are_found(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t AS SELECT i AS id, CASE WHEN i > 49990 THEN [sin(i), cos(i), 1, 2, 3, 4, 5, -6] END::FLOAT[]"
        " AS v FROM range(50000) r(i)",
    )
    assert only(path).vector == "v"


def test_an_index_of_zeros_is_an_index(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t AS SELECT i AS id, list_transform(range(16), lambda x: 0)::FLOAT[] AS embedding"
        " FROM range(9) r(i)",
    )
    assert only(path).vector == "embedding"


def test_several_vector_columns_are_several_namespaces(tmp_path: Path) -> None:
    random_ = random.Random(6)
    rows = [(n, vector(random_), vector(random_, 32)) for n in range(20)]
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE SCHEMA s",
        "CREATE TABLE s.t (id INTEGER, title_vec FLOAT[16], body_vec FLOAT[32])",
        rows={"s.t": rows},
    )
    assert [found.namespace for found in recognised(path).mappings] == ["s.t.title_vec", "s.t.body_vec"]


def test_two_namespaces_never_share_a_name(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE SCHEMA s",
        "CREATE TABLE s.t (id INTEGER, v FLOAT[16])",
        'CREATE TABLE "s.t" (id INTEGER, v FLOAT[16])',
    )
    names = [found.namespace for found in recognised(path).mappings]
    assert names == ["s.t", "s.t (2)"]


def test_a_table_without_a_key_goes_by_its_row_number(tmp_path: Path) -> None:
    random_ = random.Random(7)
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (v FLOAT[16], text VARCHAR)",
        "CREATE TABLE u (doc INTEGER, part INTEGER, v FLOAT[16], PRIMARY KEY (doc, part))",
        rows={
            "t": [(vector(random_), prose(random_)) for _ in range(9)],
            "u": [(1, n, vector(random_)) for n in range(9)],
        },
    )
    t, u = recognised(path).mappings
    assert (t.id, t.text) == (None, "text")
    assert u.id is None
    assert any("doc, part" in note for note in u.notes)


def test_an_id_that_stands_twice_is_still_the_id(tmp_path: Path) -> None:
    random_ = random.Random(8)
    rows = [(f"c{n % 15}", vector(random_)) for n in range(30)]
    path = make_file(tmp_path / "x.duckdb", "CREATE TABLE t (id VARCHAR, v FLOAT[16])", rows={"t": rows})
    with open_duckdb_source(path) as source:
        found = source.namespaces()[0].duplicates()
        assert (found.ids, found.rows) == (15, 30)


@pytest.mark.parametrize(
    ("column", "values", "kind"),
    [
        ("model", ["nomic-embed-text", "other"], ModelColumn.MODEL_ID),
        ("embedder_fp", ["local@16", "?@16"], ModelColumn.FINGERPRINT),
        ("zz", ["local@16", "other@16"], ModelColumn.FINGERPRINT),
        ("zz", ["nomic-embed-text", "jina-embeddings-v2-base-code"], ModelColumn.MODEL_ID),
        ("zz", ["frobnicator-9", "frobnicator-9"], ModelColumn.MODEL_ID),
    ],
)
def test_the_column_that_names_the_model_is_found(
    tmp_path: Path, column: str, values: list[str], kind: ModelColumn
) -> None:
    random_ = random.Random(9)
    rows = [(f"c{n}", "ollama", prose(random_), vector(random_), values[n % 2]) for n in range(30)]
    path = make_file(
        tmp_path / "x.duckdb",
        f"CREATE TABLE t (a VARCHAR PRIMARY KEY, p VARCHAR, b VARCHAR, v FLOAT[16], {column} VARCHAR)",
        rows={"t": rows},
    )
    found = only(path, lambda model: model == "frobnicator-9")
    assert (found.model, found.model_kind, found.text) == (column, kind, "b")


def test_two_models_in_an_enum_column_are_not_overlooked(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TYPE maker AS ENUM ('acme-embed@8', 'other-embed@8')",
        "CREATE TYPE document AS ENUM ('handbook.md', 'almanac.md')",
        "CREATE TABLE t AS SELECT i AS id, 'the text of chunk ' || i AS text,"
        " [sin(i), 1, 2, 3, 4, 5, 6, 1]::FLOAT[8] AS v,"
        " (CASE WHEN i < 20 THEN 'acme-embed@8' ELSE 'other-embed@8' END)::maker AS embedding_model,"
        " 'handbook.md'::document AS source FROM range(30) r(i)",
    )
    found = only(path)
    assert (found.model, found.model_kind, found.source) == ("embedding_model", ModelColumn.FINGERPRINT, "source")
    with open_duckdb_source(path) as source:
        (namespace,) = source.namespaces()
        said = [(each.fingerprint, each.count) for each in namespace.fingerprints()]
        assert said == [("acme-embed@8", 20), ("other-embed@8", 10)]
        assert namespace.page(0, 1)[0].source == "handbook.md"


def test_a_vector_behind_two_thousand_other_columns_is_found(tmp_path: Path) -> None:
    filler = ", ".join(f"i + {n} AS c{n}" for n in range(2_000))
    path = make_file(
        tmp_path / "x.duckdb",
        f"CREATE TABLE t AS SELECT i AS id, {filler}, 'the text of chunk ' || i AS text,"
        " [sin(i), 1, 2, 3, 4, 5, 6, 1]::FLOAT[8] AS v FROM range(300) r(i)",
    )
    found = only(path)
    assert (found.id, found.text, found.vector) == ("id", "text", "v")


def test_a_table_of_many_vector_columns_is_looked_at_a_few_columns_at_a_time(tmp_path: Path) -> None:
    # All 2,000 columns of one table in one query took 2.7 GB.
    vectors = ", ".join(f"[sin(i), 1, 2, 3, 4, 5, 6, 1]::FLOAT[8] AS v{n}" for n in range(100))
    path = make_file(tmp_path / "x.duckdb", f"CREATE TABLE t AS SELECT i AS id, {vectors} FROM range(300) r(i)")
    assert len(recognised(path).mappings) == 100
    together: list[int] = []
    with attach(path) as attachment, attachment.cursor() as cursor:

        class Spy:
            """A cursor that counts the columns that a statement looks at."""

            def execute(self, query: str, parameters: object = None) -> duckdb.DuckDBPyConnection:
                together.append(len({f"v{n}" for n in range(100) if f'"v{n}"' in query}))
                return cursor.execute(query, parameters)

        detect(Spy())  # type: ignore[arg-type]
    assert 0 < max(together) <= 20


def test_links_hashes_paths_and_json_are_no_text(tmp_path: Path) -> None:
    random_ = random.Random(10)
    rows = [
        (
            n,
            f"https://example.org/{'x' * 90}/{n}",
            f"docs/{'y' * 90}{n}.md",
            f"{n:064x}",
            '{"k": "' + "z" * 200 + '"}',
            prose(random_),
            vector(random_),
        )
        for n in range(30)
    ]
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, c VARCHAR, d VARCHAR, e VARCHAR, f VARCHAR, v FLOAT[16])",
        rows={"t": rows},
    )
    found = only(path)
    assert (found.text, found.metadata) == ("f", "e")


def test_a_text_column_of_nulls_is_no_text(tmp_path: Path) -> None:
    random_ = random.Random(11)
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id INTEGER, text VARCHAR, v FLOAT[16])",
        rows={"t": [(n, None, vector(random_)) for n in range(9)]},
    )
    found = only(path)
    assert found.text is None
    assert found.no_text is not None


def test_text_in_another_table_is_named_and_not_taken_for_here(tmp_path: Path) -> None:
    random_ = random.Random(12)
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE chunks (id INTEGER PRIMARY KEY, code VARCHAR)",
        "CREATE TABLE embeddings_16 (id INTEGER PRIMARY KEY, chunk_id INTEGER, provider VARCHAR, model VARCHAR,"
        " embedding FLOAT[16], dims INTEGER)",
        rows={
            "chunks": [(n, prose(random_)) for n in range(20)],
            "embeddings_16": [(n, n, "ollama", "all-minilm", vector(random_), 16) for n in range(20)],
        },
    )
    found = only(path)
    assert (found.text, found.model) == (None, "model")
    assert found.no_text is not None
    assert "chunks.code" in found.no_text


def registry_file(path: Path, *rows: tuple[object, ...]) -> Path:
    random_ = random.Random(13)
    tables = {"handbook_chunks": 16, "tickets_of_june": 24, "x": 32, "y": 32}
    return make_file(
        path,
        "CREATE TABLE vector_namespaces"
        " (namespace VARCHAR, embedder_fp VARCHAR, dims INTEGER, max_input_chars INTEGER)",
        *(f"CREATE TABLE {name} (id INTEGER, v FLOAT[{dims}])" for name, dims in tables.items()),
        rows={
            "vector_namespaces": list(rows),
            **{name: [(n, vector(random_, dims)) for n in range(9)] for name, dims in tables.items()},
        },
    )


def test_a_registry_is_joined_by_name_by_prefix_and_by_length_and_is_no_namespace(tmp_path: Path) -> None:
    path = registry_file(
        tmp_path / "x.duckdb", ("y", "b@32", 32, 700), ("handbook", "a@16", 16, None), ("help desk", "c@24", 24, 900)
    )
    found = {mapping.namespace: mapping for mapping in recognised(path).mappings}
    assert list(found) == ["handbook_chunks", "tickets_of_june", "x", "y"]
    assert found["handbook_chunks"].recorded == Fingerprint("a", 16)
    assert found["tickets_of_june"].recorded == Fingerprint("c", 24)
    assert found["y"].recorded == Fingerprint("b", 32)
    assert [found[name].max_input_chars for name in ("handbook_chunks", "tickets_of_june", "y")] == [None, 900, 700]
    assert found["x"].recorded is None, "the only record of its length belongs to y by name"
    assert all(mapping.keeps_records for mapping in found.values())


def test_a_lost_record_is_a_loss(tmp_path: Path) -> None:
    found = recognised(registry_file(tmp_path / "x.duckdb", ("handbook", None, None, None))).mappings
    assert [mapping.recorded for mapping in found] == [None] * 4
    assert all(mapping.keeps_records for mapping in found)


def test_a_registry_under_other_names_is_known_by_its_fingerprints(tmp_path: Path) -> None:
    random_ = random.Random(14)
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE r (q VARCHAR, w VARCHAR, z INTEGER)",
        "CREATE TABLE t (a VARCHAR PRIMARY KEY, b VARCHAR, v FLOAT[16])",
        rows={
            "r": [("one", "m@16", 16), ("two", "k@48", 48)],
            "t": [(f"c{n}", prose(random_), vector(random_)) for n in range(9)],
        },
    )
    assert only(path).recorded == Fingerprint("m", 16)


@pytest.mark.parametrize("comment", ["COMMENT ON TABLE t", "COMMENT ON COLUMN t.v"])
def test_a_comment_that_is_a_fingerprint_of_the_right_length_is_a_record(tmp_path: Path, comment: str) -> None:
    random_ = random.Random(15)

    def with_comment(name: str, text: str) -> TableMapping:
        rows = {"t": [(n, vector(random_)) for n in range(9)]}
        path = make_file(
            tmp_path / name, "CREATE TABLE t (id INTEGER, v FLOAT[16])", f"{comment} IS '{text}'", rows=rows
        )
        return only(path)

    assert with_comment("right.duckdb", "acme-embed@16").recorded == Fingerprint("acme-embed", 16)
    assert with_comment("other.duckdb", "acme-embed@17").recorded is None
    assert with_comment("prose.duckdb", "vectors by ada").recorded is None


def test_settings_that_name_the_embedder_are_a_record(tmp_path: Path) -> None:
    random_ = random.Random(16)
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE documents (id BIGINT PRIMARY KEY, text VARCHAR, metadata JSON, embedding FLOAT[16])",
        "CREATE TABLE vector_store_metadata (key VARCHAR PRIMARY KEY, value JSON)",
        rows={
            "documents": [(n, prose(random_), "{}", vector(random_)) for n in range(9)],
            "vector_store_metadata": [("embeddings", '{"class": "E", "params": {"model": "acme-embed"}}')],
        },
    )
    assert only(path).recorded == Fingerprint("acme-embed", 16)


def problem_of(path: Path) -> SourceError:
    with pytest.raises(SourceError) as caught:
        open_duckdb_source(path)
    return caught.value


def test_vectors_in_other_encodings_are_named_as_not_readable_yet(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE b (id INTEGER, e BLOB)",
        "CREATE TABLE j (id INTEGER, e VARCHAR)",
        "INSERT INTO b SELECT i, '\\x00\\x00\\x00\\x3F\\x00\\x00\\x00\\x3F\\x00\\x00\\x00\\x3F\\x00\\x00\\x00\\x3F"
        "\\x00\\x00\\x00\\x3F\\x00\\x00\\x00\\x3F\\x00\\x00\\x00\\x3F\\x00\\x00\\x00\\x3F'::BLOB FROM range(9) r(i)",
        "INSERT INTO j SELECT i, '[0.1, 0.2, 0.3, -0.4, 0.5, 0.6, 0.7, 0.8, 0.9]' FROM range(9) r(i)",
    )
    error = problem_of(path)
    assert error.problem is Problem.NOT_READABLE_YET
    assert "table b: column e holds vectors as BLOB" in error.message
    assert "table j: column e holds vectors as JSON text" in error.message


def test_a_file_of_texts_alone_is_no_index_and_says_what_it_is(tmp_path: Path) -> None:
    random_ = random.Random(17)
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE sections (indexid INTEGER PRIMARY KEY, id VARCHAR, text VARCHAR)",
        rows={"sections": [(n, f"t{n}", prose(random_)) for n in range(9)]},
    )
    error = problem_of(path)
    assert error.problem is Problem.NOT_AN_INDEX
    assert "sections.text" in error.message
    assert problem_of(make_file(tmp_path / "none.duckdb", "CREATE VIEW v AS SELECT 1")).problem is Problem.NOT_AN_INDEX


def test_views_are_never_looked_at(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (id INTEGER, v FLOAT[16])",
        "CREATE VIEW w AS SELECT * FROM t",
        "CREATE VIEW host AS SELECT content, [1, 2]::FLOAT[2] AS v FROM read_text('/etc/hostname')",
    )
    assert only(path).table == "t"


def test_a_column_named_like_the_row_number_is_not_taken_for_it(tmp_path: Path) -> None:
    random_ = random.Random(18)
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t (rowid VARCHAR, v FLOAT[16])",
        rows={"t": [("same", vector(random_)) for _ in range(9)]},
    )
    error = problem_of(path)
    assert error.problem is Problem.NOT_READABLE_YET
    assert "rowid" in error.message


def test_recognition_reads_samples_only(tmp_path: Path) -> None:
    path = make_file(
        tmp_path / "x.duckdb",
        "CREATE TABLE t AS SELECT 'c' || i AS id, 'the text of chunk ' || i AS text,"
        " [sin(i), cos(i), 1, 2, 3, 4, 5, -6]::FLOAT[8] AS v FROM range(100000) r(i)",
    )
    statements: list[str] = []
    with attach(path) as attachment, attachment.cursor() as cursor:

        class Spy:
            """A cursor that counts statements and rows."""

            def execute(self, query: str, parameters: object = None) -> Spy:
                self.rows = cursor.execute(query, parameters).fetchall()
                assert len(self.rows) <= 400
                statements.append(query)
                return self

            def fetchall(self) -> list[tuple[object, ...]]:
                return self.rows

            def fetchone(self) -> tuple[object, ...] | None:
                return next(iter(self.rows), None)

        detect(Spy())  # type: ignore[arg-type]
    assert len(statements) < 15
