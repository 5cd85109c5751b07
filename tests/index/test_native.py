"""A native file is recognised by its tables, and what its registry says of them is looked at before it is believed."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.index.plainly import ask
from workbench.checkup.options import CheckOptions
from workbench.core.fingerprint import Fingerprint
from workbench.index.adapters.native import native_mappings, native_notes
from workbench.index.mapping import ModelColumn, TableMapping
from workbench.index.model import Problem, SourceError
from workbench.index.opening import attach
from workbench.index.store import Entry, VectorStore
from workbench.index.table import DuckDBNamespace
from workbench.sources import check_paths, open_source

NOW = 1_700_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "index.duckdb"
    times = iter(range(NOW, NOW + 100))
    with VectorStore.open(made, read_only=False, now=lambda: next(times)) as store:
        store.create_namespace("zebra", max_input_chars=1_000)
        store.put_many("docs", [Entry("a", "x" * 9, [1, 2, 3], ttl=NOW, tier="t")], embedder_id="acme")
        store.put_many("docs", [Entry("b", "no vector")], embedder_id=None)
    return made


def recognised(path: Path) -> tuple[list[TableMapping], tuple[str, ...]]:
    with attach(path) as attachment, attachment.cursor() as cursor:
        return native_mappings(cursor), native_notes(cursor)


def test_namespaces_come_in_the_order_of_their_making_with_what_is_recorded(path: Path) -> None:
    (zebra, docs), notes = recognised(path)
    assert notes == ()
    assert (zebra.namespace, zebra.vector, zebra.recorded, zebra.max_input_chars) == ("zebra", None, None, 1_000)
    assert docs == TableMapping(
        namespace="docs",
        adapter="workbench",
        schema="main",
        table="chunks_2",
        vector="embedding",
        element_type="FLOAT",
        fixed_dims=3,
        id="id",
        id_unique=True,
        text="text",
        metadata="metadata",
        source="source_uri",
        tier="tier",
        expires_ms="expires_ms",
        char_count="char_count",
        byte_count="byte_count",
        order="seq",
        model="embedder_fp",
        model_kind=ModelColumn.FINGERPRINT,
        recorded=Fingerprint("acme", 3),
        keeps_records=True,
        recorded_dims=3,
        alternative="point this program at another index file or namespace",
    )


def test_a_native_namespace_is_measured_like_any_table(path: Path) -> None:
    (_, docs), _ = recognised(path)
    with attach(path) as attachment:
        namespace = DuckDBNamespace(attachment, docs)
        health = namespace.health(NOW)
        assert (health.count, health.missing, health.expired, health.dims) == (2, 1, 1, 3)
        assert [found.fingerprint for found in namespace.fingerprints()] == ["acme@3"]
        lengths = namespace.lengths()
        assert lengths is not None
        assert lengths.basis == "stored"
        assert lengths.clip(8).count == 2


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE workbench_meta",
        "ALTER TABLE generations RENAME COLUMN embedder_fp TO fp",
        "DROP TABLE vector_namespaces; CREATE VIEW vector_namespaces AS SELECT 'x' AS namespace, 1::BIGINT AS"
        " active_generation, 'cosine' AS metric, 0::BIGINT AS created_ms, 0::BIGINT AS updated_ms",
        "ALTER TABLE generations ALTER dims TYPE VARCHAR",
    ],
)
def test_a_file_without_our_registry_is_not_native(path: Path, change: str) -> None:
    ask(path, change)
    assert recognised(path) == ([], ())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE generations SET table_name = 'nowhere'", "no table 'nowhere'"),
        (
            "UPDATE generations SET table_name = NULL WHERE false; DELETE FROM generations WHERE generation = 2",
            "not in the registry",
        ),
        ("UPDATE generations SET namespace = 'else'", "not in the registry"),
        ("UPDATE generations SET table_name = 'generations'", "has no id, seq, text"),
        ("CREATE VIEW v AS FROM chunks_2; UPDATE generations SET table_name = 'v'", "no table 'v'"),
        ("UPDATE generations SET table_name = 'main.chunks_2'", "no table 'main.chunks_2'"),
        ("CREATE SCHEMA s; CREATE TABLE s.t AS FROM chunks_2; UPDATE generations SET table_name = 't'", "no table 't'"),
        ("ALTER TABLE chunks_2 RENAME COLUMN text TO body", "has no text"),
        ("ALTER TABLE chunks_2 ALTER embedding TYPE VARCHAR", "are VARCHAR"),
    ],
)
def test_a_namespace_whose_table_is_not_ours_is_left_out_and_said(path: Path, change: str, said: str) -> None:
    ask(path, change)
    mappings, notes = recognised(path)
    assert "docs" not in [mapping.namespace for mapping in mappings]
    assert any("'docs'" in note and said in note for note in notes)


def test_columns_that_are_not_ours_are_read_without_and_said(path: Path) -> None:
    ask(path, "ALTER TABLE chunks_2 DROP COLUMN tier; ALTER TABLE chunks_2 ALTER char_count TYPE VARCHAR")
    (_, docs), notes = recognised(path)
    assert notes == ()
    assert (docs.tier, docs.char_count, docs.text) == (None, None, "text")
    assert docs.notes == ("the table has no char_count, tier as this program writes it, and is read without",)


def test_vectors_kept_as_lists_are_read_too(path: Path) -> None:
    ask(path, "ALTER TABLE chunks_2 ALTER embedding TYPE DOUBLE[]")
    (_, docs), _ = recognised(path)
    assert (docs.element_type, docs.fixed_dims, docs.recorded_dims) == ("DOUBLE", None, 3)


def test_a_table_without_its_key_does_not_promise_unique_ids(path: Path) -> None:
    ask(path, "CREATE TABLE copied AS FROM chunks_2; UPDATE generations SET table_name = 'copied' WHERE generation = 2")
    (_, docs), _ = recognised(path)
    assert docs.id_unique is False


def test_a_namespace_that_stands_twice_in_the_registry_is_read_once_and_said(path: Path) -> None:
    ask(
        path,
        "CREATE TABLE n AS FROM vector_namespaces; INSERT INTO n FROM vector_namespaces; DROP TABLE vector_namespaces;"
        " ALTER TABLE n RENAME TO vector_namespaces",
    )
    mappings, notes = recognised(path)
    assert [mapping.namespace for mapping in mappings] == ["zebra", "docs"]
    assert len(notes) == 2
    assert "more than once" in notes[0]


@pytest.mark.parametrize("ceiling", ["NULL", "0", "-5"])
def test_a_ceiling_that_is_no_length_is_none(path: Path, ceiling: str) -> None:
    ask(path, f"UPDATE generations SET max_input_chars = {ceiling}")
    mappings, _ = recognised(path)
    assert [mapping.max_input_chars for mapping in mappings] == [None, None]


def test_names_of_a_hostile_registry_run_nothing(path: Path) -> None:
    name = "x\"; DROP TABLE generations; --'\x1b[31m"
    quoted = name.replace('"', '""')
    with duckdb.connect(str(path)) as connection:
        connection.execute(f'ALTER TABLE chunks_2 RENAME TO "{quoted}"')
        connection.execute("UPDATE generations SET table_name = ? WHERE generation = 2", [name])
        connection.execute("UPDATE generations SET namespace = ? WHERE generation = 2", [name])
        connection.execute("UPDATE vector_namespaces SET namespace = ? WHERE active_generation = 2", [name])
        connection.execute("CREATE MACRO parse_fingerprint(x) AS error('run')")
    mappings, _ = recognised(path)
    assert [mapping.namespace for mapping in mappings] == ["zebra", name]
    with VectorStore.open(path) as store:
        assert store.ids(name) == ["a", "b"]
    assert len(ask(path, "FROM generations")) == 2


@pytest.mark.parametrize("version", ["2", "0", "next"])
@pytest.mark.parametrize("also", ["", "; DROP TABLE generations"])
def test_a_file_of_a_newer_version_is_not_checked_as_if_it_were_known(path: Path, version: str, also: str) -> None:
    ask(path, f"UPDATE workbench_meta SET value = '{version}' WHERE key = 'schema_version'{also}")
    with pytest.raises(SourceError, match=f"schema version '{version}'") as refused:
        open_source(path)
    assert refused.value.problem is Problem.TOO_NEW


def test_a_file_that_does_not_say_its_version_is_damaged(path: Path) -> None:
    ask(path, "DELETE FROM workbench_meta WHERE key = 'schema_version'")
    with pytest.raises(SourceError, match="does not say its schema version") as refused:
        open_source(path)
    assert refused.value.problem is Problem.DAMAGED


def test_a_registry_that_fits_no_table_is_not_an_index_in_which_nothing_is_wrong(path: Path) -> None:
    ask(path, "UPDATE generations SET table_name = 'generations'")
    with pytest.raises(SourceError, match="registry does not fit its tables") as refused:
        open_source(path)
    assert refused.value.problem is Problem.DAMAGED


def test_an_index_without_a_namespace_is_readable(tmp_path: Path) -> None:
    VectorStore.open(tmp_path / "new.duckdb", read_only=False).close()
    with open_source(tmp_path / "new.duckdb") as source:
        assert source.namespaces() == ()


def test_a_ceiling_beyond_every_number_clips_nothing(path: Path) -> None:
    ask(path, f"UPDATE generations SET max_input_chars = {2**63 - 1}")
    report = check_paths([path], CheckOptions())
    assert [source.problem for source in report.sources] == [None]
    clipped = [namespace.ceiling.clipped for namespace in report.sources[0].namespaces]
    assert [each.count for each in clipped if each is not None] == [0, 0]
