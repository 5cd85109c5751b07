"""Files that producers wrote, and disguised copies of them, against an independent pass with plain duckdb and numpy."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.index.oracle import Vector, cosine, judge, same_health
from tests.shared_files import SAMPLES, needs_samples
from workbench.index.duckdb_source import open_duckdb_source
from workbench.index.model import Namespace, SourceError

INDEXES = SAMPLES / "indexes"
CEILING = 2_000


@dataclass(frozen=True)
class Planted:
    """One table of a sample and what stands in which column; the pass over it needs no recognition."""

    file: str
    table: str
    adapter: str
    vector: str
    id: str | None = "id"
    text: str | None = "text"
    model: str | None = None
    fingerprint: bool = False
    schema: str = "main"
    recorded: str | None = None
    facts: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.table if self.schema == "main" else f"{self.schema}.{self.table}"


PLAIN = "plain-table"
PLANTED = [
    Planted("langchain_default", "embeddings", "langchain", "embedding", facts={"count": 120, "dims": 384}),
    Planted(
        "langchain_custom_keys", "kb_chunks", "langchain", "vec", "doc_id", "body", facts={"count": 80, "dims": 96}
    ),
    Planted("llamaindex_fixed_dim", "documents", "llamaindex", "embedding", "node_id", facts={"count": 120}),
    Planted("llamaindex_list", "kb", "llamaindex", "embedding", "node_id", facts={"count": 80, "dims": 128}),
    Planted("native_empty_table", "documents", "llamaindex", "embedding", "node_id", facts={"count": 0, "dims": 1536}),
    Planted("haystack_schema", "haystack_documents", PLAIN, "embedding", text="content", facts={"count": 70}),
    Planted("vss_hnsw_cosine", "docs", PLAIN, "embedding", facts={"count": 100, "dims": 64}),
    Planted("lumen_schema", "documents", PLAIN, "embedding", recorded="text-embedding-3-small", facts={"count": 90}),
    Planted("chunkhound_schema", "embeddings_384", PLAIN, "embedding", text=None, model="model", facts={"count": 80}),
    Planted("chunkhound_schema", "embeddings_1024", PLAIN, "embedding", text=None, model="model", facts={"count": 40}),
    Planted("ragnar_v2_schema", "embeddings", PLAIN, "embedding", None, None, facts={"count": 71}),
    Planted(
        "native_nan_vectors",
        "chunks",
        PLAIN,
        "embedding",
        text="content",
        model="embedding_model",
        facts={"count": 120, "non_finite": 6, "missing": 1},
    ),
    Planted("native_zero_vectors", "items", PLAIN, "vec", facts={"count": 150, "zero": 5}),
    Planted(
        "native_mixed_dims_list",
        "embeddings",
        "langchain",
        "embedding",
        facts={"count": 140, "dims": 64, "wrong_dims": 25, "missing": 4},
    ),
    Planted("native_model_swapped_same_dims", "chunks", PLAIN, "embedding", model="model", facts={"count": 160}),
    Planted("native_model_swapped_unlabelled", "chunks", PLAIN, "embedding", facts={"count": 160}),
    Planted(
        "native_clipped_6_of_26",
        "passages",
        PLAIN,
        "embedding",
        model="embedder_fp",
        fingerprint=True,
        facts={"count": 26, "clipped": 6},
    ),
    Planted(
        "native_two_tables",
        "handbook_chunks",
        PLAIN,
        "v",
        "chunk_id",
        "body",
        recorded="text-embedding-3-small",
        facts={"count": 100, "dims": 128},
    ),
    Planted(
        "native_two_tables",
        "ticket_chunks",
        PLAIN,
        "v",
        "chunk_id",
        "body",
        schema="notes",
        recorded="potion-base-8M",
        facts={"count": 60, "dims": 48},
    ),
    *(
        Planted("native_encodings", table, PLAIN, "embedding", facts={"count": 50, "dims": 24})
        for table in ("enc_double_list", "enc_double_array", "enc_int8")
    ),
]
HERE = [planted for planted in PLANTED if (INDEXES / f"{planted.file}.duckdb").exists()]


def label(planted: Planted) -> str:
    return f"{planted.file}:{planted.table}"


@dataclass(frozen=True)
class Rows:
    """A table read with plain duckdb."""

    type: str
    ids: list[str]
    texts: list[str | None]
    vectors: list[Vector]
    models: list[str | None]

    @property
    def declared(self) -> int | None:
        length = self.type.rpartition("[")[2].rstrip("]")
        return int(length) if length else None


def rows_of(path: Path, planted: Planted) -> Rows:
    with duckdb.connect(str(path), read_only=True) as connection:
        read = ", ".join(f'"{column}"::VARCHAR' if column else "NULL" for column in (planted.text, planted.model))
        id = f'"{planted.id}"::VARCHAR' if planted.id else "rowid::VARCHAR"
        table = f'"{planted.schema}"."{planted.table}"'
        rows = connection.execute(f'SELECT {id}, {read}, "{planted.vector}" FROM {table} ORDER BY rowid').fetchall()
        described = {name: type for name, type, *_ in connection.execute(f"DESCRIBE {table}").fetchall()}
    ids, texts, models, vectors = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    return Rows(described[planted.vector], ids, texts, vectors, models)


def check_everything(namespace: Namespace, rows: Rows, planted: Planted) -> None:
    """Hold every answer of a namespace against the pass over the same rows."""
    judged = judge(rows.vectors, rows.declared)
    health = namespace.health(0)
    assert same_health(health, judged.health())
    assert {row.id for row in namespace.unusable_rows(10_000)} == {
        rows.ids[n] for n in (*judged.missing, *judged.wrong_dims, *judged.non_finite, *judged.zero)
    }
    said: Counter[str] = Counter()
    for model, vector in zip(rows.models, rows.vectors, strict=True):
        if vector:
            id = model.rpartition("@")[0] if model and planted.fingerprint else model
            said[f"{id or '?'}@{len(vector)}"] += 1
    assert {one.fingerprint: one.count for one in namespace.fingerprints()} == said
    check_texts(namespace, rows)
    check_search(namespace, rows, judged.usable, health.unusable)
    assert [row.id for row in namespace.page(0, 10_000)] == rows.ids


def check_texts(namespace: Namespace, rows: Rows) -> None:
    profile = namespace.lengths()
    if rows.ids and all(text is None for text in rows.texts):
        assert profile is None
        assert namespace.no_text
        return
    lengths = [len((text or "").encode("utf-16-le")) // 2 for text in rows.texts]
    assert profile is not None
    clip = profile.clip(CEILING)
    assert (clip.count, clip.total) == (sum(n > CEILING for n in lengths), len(lengths))
    assert clip.lost_chars == sum(max(0, n - CEILING) for n in lengths)
    longest = sorted(range(len(lengths)), key=lambda n: (-lengths[n], n))[:1_000]
    assert [(chunk.id, chunk.chars) for chunk in profile.longest] == [(rows.ids[n], lengths[n]) for n in longest]


def check_search(namespace: Namespace, rows: Rows, usable: list[int], unusable: int) -> None:
    if not usable:
        return
    query = [float(x or 0) for x in rows.vectors[usable[len(usable) // 2]] or ()]
    result = namespace.search(np.array(query), k=15, now_ms=0)
    scores = sorted((cosine([float(x or 0) for x in rows.vectors[n] or ()], query) for n in usable), reverse=True)
    assert [hit.score for hit in result.hits] == pytest.approx(scores[:15], abs=1e-12)
    assert {hit.id for hit in result.hits} <= {rows.ids[n] for n in usable}
    assert result.left_out == unusable


def check_facts(namespace: Namespace, planted: Planted) -> None:
    health = namespace.health(0)
    for name, expected in planted.facts.items():
        if name == "clipped":
            profile = namespace.lengths()
            assert profile is not None
            assert profile.clip(CEILING).count == expected
        else:
            assert getattr(health, name) == expected, name


def named(path: Path, name: str) -> Iterator[Namespace]:
    with open_duckdb_source(path) as source, source.hold():
        yield next(namespace for namespace in source.namespaces() if namespace.name == name)


@needs_samples
@pytest.mark.parametrize("planted", HERE, ids=label)
def test_a_sample_shows_what_is_planted_in_it(planted: Planted) -> None:
    path = INDEXES / f"{planted.file}.duckdb"
    rows = rows_of(path, planted)
    for namespace in named(path, planted.name):
        assert namespace.adapter == planted.adapter
        assert (namespace.recorded.id if namespace.recorded else None) == planted.recorded
        check_facts(namespace, planted)
        check_everything(namespace, rows, planted)


@needs_samples
@pytest.mark.parametrize("path", sorted(INDEXES.glob("*.duckdb")), ids=lambda path: path.stem)
def test_a_sample_is_left_as_it_was(path: Path) -> None:
    def state() -> tuple[str, set[str], int]:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return digest, {beside.name for beside in path.parent.iterdir()}, path.stat().st_mtime_ns

    before = state()
    try:
        with open_duckdb_source(path) as source:
            for namespace in source.namespaces():
                namespace.health(0)
                namespace.lengths()
    except SourceError:
        pass  # a file of texts alone; it must be left alone as well
    assert state() == before


def disguise(planted: Planted, target: Path, seed: int, *, faults: bool) -> Planted:
    """Copy a table: new names, rows in another order, a key only if one was there, faults at random rows."""
    random_ = random.Random(seed)
    source = INDEXES / f"{planted.file}.duckdb"
    with duckdb.connect(str(target)) as connection:
        connection.execute(f"ATTACH '{source}' AS old (READ_ONLY)")
        old = f'old."{planted.schema}"."{planted.table}"'
        described = connection.execute(f"DESCRIBE {old}").fetchall()
        new = {name: f"c {place}" for place, (name, *_) in enumerate(described)}
        copied = ", ".join(f'"{name}" AS "{new[name]}"' for name in new)
        connection.execute(f'CREATE TABLE "t\'able" AS SELECT {copied} FROM {old} ORDER BY hash(rowid + {seed})')
        keys = connection.execute(
            "SELECT constraint_column_names FROM duckdb_constraints() WHERE database_name = 'old' AND table_name = ?"
            " AND schema_name = ? AND constraint_type = 'PRIMARY KEY'",
            [planted.table, planted.schema],
        ).fetchall()
        for (columns,) in keys:
            key = ", ".join(f'"{new[column]}"' for column in columns)
            connection.execute(f'ALTER TABLE "t\'able" ADD PRIMARY KEY ({key})')
        if faults:
            plant(
                connection, new[planted.vector], {name: type for name, type, *_ in described}[planted.vector], random_
            )
    return replace(
        planted,
        table="t'able",
        schema="main",
        vector=new[planted.vector],
        id=new[planted.id] if planted.id else None,
        text=new[planted.text] if planted.text else None,
        model=new[planted.model] if planted.model else None,
        recorded=None,
    )


def plant(connection: duckdb.DuckDBPyConnection, column: str, type: str, random_: random.Random) -> None:
    """Spoil about a tenth of the rows, each in one of the ways that the type can hold."""
    (count,) = connection.execute('SELECT count(*) FROM "t\'able"').fetchall()[0]
    rows = random_.sample(range(count), count // 12)
    element, _, rest = type.partition("[")
    ways = [
        "NULL",
        "list_transform(v, lambda x: 0)",
        "list_transform(v, lambda x, i: CASE WHEN i = 3 THEN NULL ELSE x END)",
    ]
    if element != "TINYINT":
        ways += [
            f"list_transform(v, lambda x, i: CASE WHEN i = 2 THEN '{value}'::{element} ELSE x END)"
            for value in ("nan", "inf", "-inf", "3e30", "1e-40")
        ]
    if rest == "]":
        ways += ["v[1:9]", "[]", "list_append(v, 0.5)"]
    for row in rows:
        spoilt = random_.choice(ways).replace("v", f'("{column}"::{element}[])', 1)
        connection.execute(f'UPDATE "t\'able" SET "{column}" = ({spoilt})::{type} WHERE rowid = {row}')


@needs_samples
@pytest.mark.parametrize("faults", [False, True], ids=["as it was", "with faults"])
@pytest.mark.parametrize("planted", [one for one in HERE if one.facts["count"]], ids=label)
def test_a_disguised_copy_shows_the_same_and_what_was_planted_in_it(
    planted: Planted, faults: bool, tmp_path: Path
) -> None:
    path = tmp_path / "copy.duckdb"
    disguised = disguise(planted, path, seed=len(planted.table) + faults, faults=faults)
    rows = rows_of(path, disguised)
    for namespace in named(path, "t'able"):
        assert namespace.adapter == planted.adapter
        if not faults:
            check_facts(namespace, disguised)
        check_everything(namespace, rows, disguised)


@needs_samples
@pytest.mark.skipif(not (INDEXES / "native_two_tables.duckdb").exists(), reason="this sample is not at hand")
def test_a_lost_registry_row_is_a_lost_record(tmp_path: Path) -> None:
    path = tmp_path / "copy.duckdb"
    path.write_bytes((INDEXES / "native_two_tables.duckdb").read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM vector_namespaces WHERE namespace = 'tickets'")
    with open_duckdb_source(path) as source:
        found = {namespace.name: namespace for namespace in source.namespaces()}
    assert set(found) == {"handbook_chunks", "notes.ticket_chunks"}
    lost = found["notes.ticket_chunks"]
    assert (lost.recorded, lost.keeps_records) == (None, True)
    assert found["handbook_chunks"].recorded is not None


@needs_samples
@pytest.mark.skipif(not (INDEXES / "native_encodings.duckdb").exists(), reason="this sample is not at hand")
def test_decoys_are_kept_out_and_other_encodings_are_named() -> None:
    with open_duckdb_source(INDEXES / "native_encodings.duckdb") as source:
        names = {namespace.name for namespace in source.namespaces()}
        notes = " ".join(source.notes)
    assert names == {"enc_double_list", "enc_double_array", "enc_int8"}
    assert "enc_blob_f32" in notes
    assert "enc_json_text" in notes
    assert "not_vectors" not in notes
