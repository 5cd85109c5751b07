"""The native index as a library: what is written, replaced, found, refused and forgotten."""

from __future__ import annotations

import io
import json
import struct
import threading
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.index.plainly import ask, dump
from tests.index.processes import holder, writer
from workbench.core.ceiling import ChunkCeiling
from workbench.core.fingerprint import EmbedderMismatchError, Fingerprint
from workbench.index import schema
from workbench.index.model import Problem, SourceError
from workbench.index.store import Entry, VectorStore

NOW = 1_700_000_000_000


class Clock:
    """Epoch milliseconds that stand still until told to go on."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.duckdb"


def make(path: Path, *entries: Entry, namespace: str = "docs", embedder_id: str | None = "acme") -> None:
    with VectorStore.open(path, read_only=False) as store:
        store.put_many(namespace, entries, embedder_id=embedder_id)


def found_ids(path: Path, vector: list[float], **options: object) -> list[str]:
    with VectorStore.open(path) as store:
        return [hit.id for hit in store.search("docs", vector, embedder_id="acme", **options)]  # type: ignore[arg-type]


def test_what_was_written_is_found_again_best_first(path: Path) -> None:
    make(path, Entry("north", "up", [0, 1]), Entry("east", "right", [1, 0]), Entry("north-east", "both", [1, 1]))
    with VectorStore.open(path) as store:
        hits = store.search("docs", [0, 2], embedder_id="acme")
        assert [hit.id for hit in hits] == ["north", "north-east", "east"]
        assert [hit.score for hit in hits] == pytest.approx([1, 0.5**0.5, 0])
        assert [hit.text for hit in hits] == ["up", "both", "right"]
        assert store.ids("docs") == ["north", "east", "north-east"]


def test_a_namespace_says_its_rows_its_fingerprint_and_its_ceiling(path: Path) -> None:
    with VectorStore.open(path, read_only=False) as store:
        store.create_namespace("empty", max_input_chars=24_500)
        store.put_many("docs", [Entry("a", "x", [1, 2, 3]), Entry("b", "no vector")], embedder_id="acme")
        empty, docs = store.namespaces()
    assert (empty.name, empty.count, empty.fingerprint) == ("empty", 0, None)
    assert empty.ceiling == ChunkCeiling(24_500, "embedder")
    assert (docs.name, docs.count, docs.fingerprint) == ("docs", 2, Fingerprint("acme", 3))
    assert docs.ceiling == ChunkCeiling(2_000, "default")


def test_a_chunk_is_stored_with_its_lengths_as_the_seed_library_counts_them(path: Path) -> None:
    make(path, Entry("a", "né 𝄞\0x", [1.5, -2], metadata={"page": 3}, source_uri="s.md", tier="gold", ttl=NOW + 0.5))
    row = ask(
        path,
        "SELECT char_count, byte_count, metadata::VARCHAR, source_uri, tier, expires_ms, embedder_fp, embedding,"
        " content_hash = sha256(text) FROM chunks_1",
    )
    assert row == [(7, 10, '{"page":3}', "s.md", "gold", NOW + 1, "acme@2", (1.5, -2.0), True)]


def test_the_file_can_be_read_by_duckdb_1_2_and_is_never_upgraded(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]))
    make(path, *(Entry(f"b{n}", "x", [1, 2]) for n in range(5_000)))
    head = path.read_bytes()[:20]
    assert head[8:12] == b"DUCK"
    assert struct.unpack("<Q", head[12:20]) == (65,)
    assert not path.with_name("index.duckdb.wal").exists()


def test_an_entry_of_the_same_id_is_replaced_and_keeps_its_place_and_birth(path: Path) -> None:
    clock = Clock()
    with VectorStore.open(path, read_only=False, now=clock) as store:
        old = Entry("a", "old", [1, 2], metadata=[1], source_uri="u", tier="t", ttl=NOW * 2)
        store.put_many("docs", [old, Entry("b", "b", [1, 2])], embedder_id="acme")
        clock.now += 5
        assert store.put_many("docs", [Entry("a", "new", [3, 4]), Entry("c", "c")], embedder_id="acme") == 2
        assert store.ids("docs") == ["a", "b", "c"]
    assert ask(
        path,
        "SELECT seq, text, embedding, metadata, source_uri, tier, expires_ms, created_ms, updated_ms FROM chunks_1"
        " WHERE id = 'a'",
    ) == [(0, "new", (3.0, 4.0), None, None, None, None, NOW, NOW + 5)]
    assert ask(path, "SELECT row_count FROM generations") == [(3,)]


def test_a_replacement_without_a_vector_takes_the_old_vector_away(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]))
    make(path, Entry("a", "x"))
    assert ask(path, "SELECT embedding, embedder_fp FROM chunks_1") == [(None, None)]
    assert ask(path, "SELECT embedder_fp FROM generations") == [("acme@2",)]


def test_what_an_import_kept_beside_an_entry_goes_with_it(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]))
    ask(path, "UPDATE chunks_1 SET extra = '{}', read_chars = 1, parent_id = 'p', char_start = 0, char_end = 1")
    make(path, Entry("a", "y", [1, 2]))
    assert ask(path, "SELECT extra, read_chars, parent_id, char_start, char_end FROM chunks_1") == [(None,) * 5]


@pytest.mark.parametrize("between", [0, 3, 2_047, 2_048, 5_000])
def test_the_last_of_several_entries_with_one_id_wins(path: Path, between: int) -> None:
    others = [Entry(f"o{number}", "o", [1, 2]) for number in range(between)]
    make(path, Entry("a", "first", [1, 2]), *others, Entry("a", "second", [3, 4]), Entry("a", "third", [5, 6]))
    assert ask(path, "SELECT seq, text, embedding FROM chunks_1 WHERE id = 'a'") == [(0, "third", (5.0, 6.0))]
    assert ask(path, "SELECT count(*) FROM chunks_1") == [(between + 1,)]


def test_rows_keep_the_fingerprint_that_they_arrived_with(path: Path) -> None:
    make(path, Entry("old", "x", [1, 2]), embedder_id=None)
    make(path, Entry("new", "x", [1, 2]), Entry("other", "x", [1, 2], embedder_id="acme"), embedder_id="acme")
    make(path, Entry("unnamed", "x", [1, 2]), embedder_id=None)
    assert ask(path, "SELECT id, embedder_fp FROM chunks_1 ORDER BY seq") == [
        ("old", "?@2"),
        ("new", "acme@2"),
        ("other", "acme@2"),
        ("unnamed", "?@2"),
    ]
    assert ask(path, "SELECT embedder_fp, dims FROM generations") == [("acme@2", 2)]


def test_the_entrys_own_embedder_wins_over_that_of_the_call(path: Path) -> None:
    with VectorStore.open(path, read_only=False) as store:
        store.put_many("docs", [Entry("a", "x", [1, 2], embedder_id="own")], embedder_id="call")
        assert store.fingerprint_of("docs") == Fingerprint("own", 2)
        with pytest.raises(EmbedderMismatchError):
            store.put_many("docs", [Entry("b", "x", [1, 2])], embedder_id="call")
        store.put_many("docs", [Entry("b", "x", [1, 2], embedder_id="own")], embedder_id="call")


def test_an_empty_id_is_named_when_it_comes_and_anonymous_when_it_stands(path: Path) -> None:
    with VectorStore.open(path, read_only=False) as store:
        store.put_many("docs", [Entry("a", "x", [1, 2])] * 2, embedder_id="")
        assert store.fingerprint_of("docs") == Fingerprint(None, 2)
        entries = [Entry("b", "x", [1, 2], embedder_id="acme"), Entry("c", "x", [1, 2], embedder_id="")]
        with pytest.raises(EmbedderMismatchError) as refused:
            store.put_many("docs", entries, embedder_id=None)
        assert (refused.value.indexed, refused.value.incoming) == ("acme@2", "@2")
        assert store.fingerprint_of("docs") == Fingerprint(None, 2)
        store.put_many("docs", entries[:1], embedder_id=None)
        assert store.fingerprint_of("docs") == Fingerprint("acme", 2)


def test_vectors_may_follow_rows_that_have_none(path: Path) -> None:
    make(path, *(Entry(f"t{number}", "text only") for number in range(3_000)), Entry("v", "x", [1, 2]))
    make(path, Entry("w", "x", [2, 1]), Entry("t0", "x", [0, 1]))
    assert ask(path, "SELECT count(*), count(embedding) FROM chunks_1") == [(3_001 + 1, 3)]
    assert found_ids(path, [0, 1]) == ["t0", "v", "w"]


@pytest.mark.parametrize("vector", [None, [], (), np.zeros(0)])
def test_an_entry_without_a_vector_leaves_the_fingerprint_alone(path: Path, vector: object) -> None:
    make(path, Entry("a", "x", vector, embedder_id="other"))  # type: ignore[arg-type]
    assert ask(path, "SELECT embedder_fp, dims FROM generations") == [(None, None)]
    assert ask(path, "SELECT embedder_fp FROM chunks_1") == [(None,)]
    assert found_ids(path, [1, 2]) == []
    make(path, Entry("b", "x", [1, 2]))
    make(path, Entry("c", "x", vector, embedder_id="third"))  # type: ignore[arg-type]
    assert ask(path, "SELECT embedder_fp FROM generations") == [("acme@2",)]


def test_a_refused_first_batch_leaves_nothing_behind_on_disk_or_in_memory(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]), namespace="other")
    before = dump(path)
    with VectorStore.open(path, read_only=False) as store:
        good = [Entry(str(number), "x", [1, 2]) for number in range(3_000)]
        with pytest.raises(EmbedderMismatchError):
            store.put_many("docs", [*good, Entry("bad", "x", [1, 2, 3])], embedder_id="acme")
        assert store.fingerprint_of("docs") is None
        assert [found.name for found in store.namespaces()] == ["other"]
    assert dump(path) == before
    with VectorStore.open(path, read_only=False) as store:
        with pytest.raises(EmbedderMismatchError):
            store.put_many("docs", [*good, Entry("bad", "x", [1, 2, 3])], embedder_id="acme")
        store.put_many("docs", [Entry("a", "x", [1, 2, 3, 4])], embedder_id="third")
        assert store.fingerprint_of("docs") == Fingerprint("third", 4)


@pytest.mark.parametrize("named", [True, False])
def test_a_refused_batch_leaves_tables_rows_and_fingerprint_as_they_were(path: Path, named: bool) -> None:
    make(path, Entry("a", "x", [1, 2]), Entry("b", "y"), embedder_id="acme" if named else None)
    before = dump(path)
    with VectorStore.open(path, read_only=False) as store:
        batch = [
            Entry("a", "replaced", [5, 6]),
            Entry("c", "z", [1, 2], embedder_id="acme"),
            Entry("d", "z", [1, 2, 3]),
        ]
        with pytest.raises(EmbedderMismatchError, match="write to"):
            store.put_many("docs", batch, embedder_id=None)
    assert dump(path) == before


@pytest.mark.parametrize("error", [RuntimeError("the embedder died"), KeyboardInterrupt()])
def test_a_batch_whose_source_fails_leaves_nothing_behind(path: Path, error: BaseException) -> None:
    make(path, Entry("a", "x", [1, 2]))
    before = dump(path)

    def entries() -> object:
        yield Entry("a", "replaced", [3, 4])
        yield from (Entry(f"b{number}", "x", [1, 2]) for number in range(3_000))
        raise error

    with VectorStore.open(path, read_only=False) as store:
        with pytest.raises(type(error)):
            store.put_many("docs", entries(), embedder_id="acme")  # type: ignore[arg-type]
        assert store.ids("docs") == ["a"]
    assert dump(path) == before


def test_a_database_error_in_a_batch_rolls_all_of_it_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(path, Entry("a", "x", [1, 2]))
    before = dump(path)
    monkeypatch.setitem(schema.CHUNK_COLUMNS, "tier", "VARCHAR")
    monkeypatch.setattr("workbench.index.writing._SETTERS", {"text": "error('disk full')"})
    with VectorStore.open(path, read_only=False) as store:
        with pytest.raises(Exception, match=r"nothing was written: .*disk full"):
            store.put_many("docs", [Entry("b", "x", [1, 2])], embedder_id="acme")
        assert store.ids("docs") == ["a"]
    assert dump(path) == before


def test_a_commit_that_did_not_last_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(path, Entry("a", "x", [1, 2]))
    with VectorStore.open(path, read_only=False) as store:
        # As the database does after an error that nobody noticed: the commit returns, and has rolled back.
        monkeypatch.setattr("workbench.index.writing._COMMIT", "ROLLBACK")
        with pytest.raises(Exception, match="did not last"):
            store.put_many("docs", [Entry("b", "x", [1, 2])], embedder_id="acme")


def test_a_query_of_another_embedder_is_refused_and_an_anonymous_one_compares_by_length(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]))
    with VectorStore.open(path) as store:
        for embedder_id, vector, problem in [
            ("b", [1, 2], "model"),
            ("acme", [1, 2, 3], "dimensions"),
            (None, [1], "dimensions"),
        ]:
            with pytest.raises(EmbedderMismatchError) as refused:
                store.search("docs", vector, embedder_id=embedder_id)
            assert (refused.value.problem, refused.value.operation) == (problem, "search")
            assert refused.value.alternative == "point this program at another index file or namespace"
        assert [hit.id for hit in store.search("docs", [1, 2], embedder_id=None)] == ["a"]


def test_a_zero_query_of_another_embedder_is_refused_too(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]))
    with VectorStore.open(path) as store, pytest.raises(EmbedderMismatchError):
        store.search("docs", [0, 0], embedder_id="b")


@pytest.mark.parametrize("query", [[0, 0], [float("nan"), 1], [float("inf"), 1], [1e300, 1], [1e-60, 0]])
def test_a_query_that_points_nowhere_finds_nothing(path: Path, query: list[float]) -> None:
    make(path, Entry("a", "x", [1, 2]))
    assert found_ids(path, query) == []


def test_an_unusable_vector_is_stored_as_it_is_and_never_ranks(path: Path) -> None:
    nan, inf = float("nan"), float("inf")
    odd: dict[str, list[float]] = {
        "nan": [nan, 1],
        "inf": [inf, 1],
        "zero": [0, 0],
        "overflow": [1e39, 1],
        "vanished": [1e-50, 0],
    }
    make(path, *(Entry(id, "x", vector) for id, vector in odd.items()), Entry("good", "x", [1, 2]))
    assert found_ids(path, [1, 1]) == ["good"]
    make(path, Entry("nan", "x", [nan, 1]), Entry("zero", "x", [0, 0]))
    stored = {row[0]: row[1] for row in ask(path, "SELECT id, embedding FROM chunks_1")}
    assert stored["overflow"] == (inf, 1.0)
    assert stored["vanished"] == (0.0, 0.0)
    assert str(stored["nan"]) == "(nan, 1.0)"
    assert ask(path, "SELECT embedder_fp FROM generations") == [("acme@2",)]


def test_ties_rank_by_id_in_the_order_of_utf_16(path: Path) -> None:
    ids = ["b", "a", "\ufffd", "𝄞", "B"]
    make(path, *(Entry(id, "x", [1, 2]) for id in ids))
    assert found_ids(path, [1, 2]) == ["B", "a", "b", "𝄞", "\ufffd"]


@pytest.mark.parametrize(("k", "count"), [(2, 2), (2.9, 2), (0, 1), (-3, 1), (0.5, 1), (1e18, 12), (float("inf"), 12)])
def test_k_is_rounded_down_and_at_least_one(path: Path, k: float, count: int) -> None:
    make(path, *(Entry(str(number), "x", [1, 2]) for number in range(12)))
    assert len(found_ids(path, [1, 2], k=k)) == count
    assert len(found_ids(path, [1, 2])) == 10


def test_an_expired_entry_is_left_out_from_its_last_millisecond_on(path: Path) -> None:
    clock = Clock()
    with VectorStore.open(path, read_only=False, now=clock) as store:
        store.put_many("docs", [Entry("a", "x", [1, 2], ttl=NOW + 1), Entry("b", "x", [1, 2])], embedder_id="acme")
        assert [hit.id for hit in store.search("docs", [1, 2], embedder_id="acme")] == ["a", "b"]
        clock.now += 1
        assert [hit.id for hit in store.search("docs", [1, 2], embedder_id="acme")] == ["b"]
        assert store.ids("docs") == ["a", "b"]
        store.delete("docs", ["b"])
        assert store.fingerprint_of("docs") == Fingerprint("acme", 2)


def test_tiers_limit_a_search_to_entries_of_one_of_them(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2], tier="gold"), Entry("b", "x", [1, 2], tier="tin"), Entry("c", "x", [1, 2]))
    assert found_ids(path, [1, 2], tiers=["gold"]) == ["a"]
    assert found_ids(path, [1, 2], tiers=["tin", "gold", "\ud800"]) == ["a", "b"]
    assert found_ids(path, [1, 2], tiers=[]) == []
    with pytest.raises(TypeError, match="list of labels"):
        found_ids(path, [1, 2], tiers="gold")


def test_what_is_not_there_is_empty(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]), namespace="other")
    with VectorStore.open(path, read_only=False) as store:
        for name in ("docs", "Other", "other ", "\ud800"):
            assert store.search(name, [1, 2], embedder_id="b") == []
            assert store.ids(name) == []
            assert store.fingerprint_of(name) is None
            assert store.delete(name, ["a"]) == 0
            assert store.delete_namespace(name) is False


def test_deleting_every_entry_leaves_the_fingerprint(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]), Entry("b", "x"))
    with VectorStore.open(path, read_only=False) as store:
        assert store.delete("docs", ["a", "a", "b", "not there", "\ud800"]) == 2
        assert store.ids("docs") == []
        assert store.fingerprint_of("docs") == Fingerprint("acme", 2)
        with pytest.raises(EmbedderMismatchError):
            store.put_many("docs", [Entry("a", "x", [1, 2])], embedder_id="b")
        with pytest.raises(TypeError, match="list of ids"):
            store.delete("docs", "ab")
    assert ask(path, "SELECT row_count FROM generations") == [(0,)]


def test_deleting_a_namespace_clears_its_fingerprint_and_spares_the_others(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]))
    make(path, Entry("a", "x", [1, 2, 3]), namespace="other", embedder_id="b")
    with VectorStore.open(path, read_only=False) as store:
        assert store.delete_namespace("docs") is True
        assert store.fingerprint_of("docs") is None
        assert store.fingerprint_of("other") == Fingerprint("b", 3)
        store.put_many("docs", [Entry("a", "x", [1, 2, 3, 4])], embedder_id="c")
        assert store.fingerprint_of("docs") == Fingerprint("c", 4)
    assert ask(path, "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'chunks%' ORDER BY 1") == [
        ("chunks_2",),
        ("chunks_3",),
    ]


def test_a_namespace_is_made_once(path: Path) -> None:
    with VectorStore.open(path, read_only=False) as store:
        store.create_namespace("docs")
        with pytest.raises(ValueError, match="there already"):
            store.create_namespace("docs")
        for wrong in (0, -1, 1.5, True, "9"):
            with pytest.raises(ValueError, match="whole number"):
                store.create_namespace("x", max_input_chars=wrong)  # type: ignore[arg-type]
        assert [found.name for found in store.namespaces()] == ["docs"]


def test_strange_names_and_texts_come_back_exactly(path: Path) -> None:
    names = ["", "a\0b", 'quo"te', "it's", "; DROP TABLE generations; --", "[/x]", "\x1b[31m", "𝄞" * 50, "x" * 200_000]
    with VectorStore.open(path, read_only=False) as store:
        for name in names:
            store.put_many(name, [Entry(id, id, [1, 2]) for id in names], embedder_id=name)
        assert [found.name for found in store.namespaces()] == names
        for name in names:
            assert store.ids(name) == names
            assert store.fingerprint_of(name) == Fingerprint(name or None, 2)
            assert {hit.text for hit in store.search(name, [1, 2], embedder_id=None)} == set(names)


def test_texts_of_a_megabyte_are_stored_whole(path: Path) -> None:
    texts = {str(number): chr(0x1D11E + number) * 250_000 for number in range(40)}
    make(path, *(Entry(id, text, [1, 2]) for id, text in texts.items()))
    assert ask(path, "SELECT sum(byte_count), sum(char_count), sum(strlen(text)) FROM chunks_1") == [
        (40_000_000, 20_000_000, 40_000_000)
    ]


def test_two_threads_may_write_through_one_store(path: Path) -> None:
    with VectorStore.open(path, read_only=False) as store:

        def put(name: str) -> None:
            for number in range(5):
                store.put_many("docs", [Entry(f"{name}{number}", "x", [1, 2])], embedder_id="acme")

        threads = [threading.Thread(target=put, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.ids("docs")) == 20
    assert ask(path, "SELECT count(DISTINCT seq) FROM chunks_1") == [(20,)]


def test_two_stores_of_one_file_see_each_others_writes(path: Path, tmp_path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]))
    link = tmp_path / "link.duckdb"
    link.symlink_to(path)
    with VectorStore.open(path, read_only=False) as one, VectorStore.open(link, read_only=False) as other:
        one.put_many("docs", [Entry("b", "x", [1, 2])], embedder_id="acme")
        assert other.ids("docs") == ["a", "b"]
        other.delete_namespace("docs")
        assert one.fingerprint_of("docs") is None
        one.put_many("docs", [Entry("c", "x", [1, 2, 3])], embedder_id="b")
        assert other.fingerprint_of("docs") == Fingerprint("b", 3)


def test_a_store_opened_read_only_refuses_to_write(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]))
    before = path.read_bytes()
    with VectorStore.open(path) as store:
        for write in (
            lambda: store.put_many("docs", [], embedder_id=None),
            lambda: store.create_namespace("x"),
            lambda: store.delete("docs", ["a"]),
            lambda: store.delete_namespace("docs"),
        ):
            with pytest.raises(io.UnsupportedOperation, match="read-only"):
                write()
    assert path.read_bytes() == before


def test_a_closed_store_says_that_it_is_closed(path: Path) -> None:
    with VectorStore.open(path, read_only=False) as store:
        store.create_namespace("docs")
    store.close()
    with pytest.raises(ValueError, match="closed"):
        store.namespaces()
    with pytest.raises(ValueError, match="closed"):
        store.put_many("docs", [], embedder_id=None)
    with pytest.raises(ValueError, match="closed"):
        store.search("docs", [1], embedder_id=None)


def test_a_missing_file_is_made_only_for_writing(path: Path) -> None:
    with pytest.raises(SourceError) as refused:
        VectorStore.open(path)
    assert refused.value.problem is Problem.MISSING
    assert not path.exists()


def test_a_file_whose_making_was_interrupted_is_finished(path: Path) -> None:
    duckdb.connect(str(path)).close()
    with pytest.raises(SourceError) as refused:
        VectorStore.open(path)
    assert refused.value.problem is Problem.NOT_AN_INDEX
    make(path, Entry("a", "x", [1, 2]))
    assert found_ids(path, [1, 2]) == ["a"]


def test_another_programs_file_is_refused_and_left_alone(path: Path) -> None:
    ask(path, "CREATE TABLE embeddings (id VARCHAR, embedding FLOAT[2])")
    before = path.read_bytes()
    for read_only in (True, False):
        with pytest.raises(SourceError, match="another program") as refused:
            VectorStore.open(path, read_only=read_only)
        assert refused.value.problem is Problem.NOT_AN_INDEX
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", ["2", "99", "1.1", "next", "0", "", "１"])
def test_an_unknown_schema_version_is_refused_by_name(path: Path, version: str) -> None:
    make(path, Entry("a", "x", [1, 2]))
    ask(path, f"UPDATE workbench_meta SET value = '{version}' WHERE key = 'schema_version'")
    for read_only in (True, False):
        with pytest.raises(SourceError, match=f"schema version '{version}'") as refused:
            VectorStore.open(path, read_only=read_only)
        assert refused.value.problem is Problem.TOO_NEW


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM workbench_meta WHERE key = 'schema_version'",
        "DROP TABLE generations",
        "ALTER TABLE vector_namespaces DROP COLUMN metric",
        "DROP TABLE generations; CREATE VIEW generations AS FROM read_csv('/etc/passwd')",
    ],
)
def test_a_registry_that_is_not_as_we_write_it_is_refused(path: Path, damage: str) -> None:
    make(path, Entry("a", "x", [1, 2]))
    ask(path, damage)
    with pytest.raises(SourceError) as refused:
        VectorStore.open(path)
    assert refused.value.problem is Problem.DAMAGED


@pytest.mark.parametrize(
    "damage",
    [
        "ALTER TABLE chunks_1 DROP COLUMN tier",
        "UPDATE generations SET table_name = 'workbench_meta'",
        "UPDATE generations SET embedder_fp = 'acme@3'",
        "DELETE FROM generations",
    ],
)
def test_a_namespace_whose_table_is_not_as_we_make_it_is_not_written(path: Path, damage: str) -> None:
    make(path, Entry("a", "x", [1, 2]))
    ask(path, damage)
    before = dump(path)
    with VectorStore.open(path, read_only=False) as store:
        with pytest.raises(SourceError, match="cannot be written"):
            store.put_many("docs", [Entry("b", "x", [1, 2])], embedder_id="acme")
        with pytest.raises(SourceError, match="cannot be written"):
            store.delete("docs", ["a"])
    assert dump(path) == before


def test_deleting_a_namespace_never_drops_what_the_registry_should_not_name(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]))
    make(path, Entry("a", "x", [1, 2]), namespace="other")
    ask(
        path,
        "INSERT INTO generations SELECT 7, 'docs', 'chunks_2', * EXCLUDE (generation, namespace, table_name)"
        " FROM generations WHERE generation = 1",
    )
    ask(
        path,
        "INSERT INTO generations SELECT 8, 'docs', 'workbench_meta', * EXCLUDE (generation, namespace, table_name)"
        " FROM generations WHERE generation = 1",
    )
    with VectorStore.open(path, read_only=False) as store:
        assert store.delete_namespace("docs") is True
        assert store.ids("other") == ["a"]
    assert ask(path, "SELECT count(*) FROM workbench_meta") == [(3,)]


def test_vectors_that_name_another_model_than_the_query_never_rank(path: Path) -> None:
    make(path, Entry("named", "x", [1, 2]), Entry("silent", "x", [1, 2]), Entry("other", "x", [1, 2]))
    ask(
        path,
        "UPDATE chunks_1 SET embedder_fp = CASE id WHEN 'silent' THEN '?@2' WHEN 'other' THEN 'b@2' END"
        " WHERE id <> 'named'",
    )
    with VectorStore.open(path) as store:
        assert [hit.id for hit in store.search("docs", [1, 2], embedder_id="acme")] == ["named", "silent"]
        assert [hit.id for hit in store.search("docs", [1, 2], embedder_id=None)] == ["named", "other", "silent"]


def test_vectors_whose_record_was_lost_still_decide_by_their_length(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]))
    ask(path, "UPDATE generations SET embedder_fp = NULL, dims = NULL")
    with VectorStore.open(path, read_only=False) as store:
        assert store.fingerprint_of("docs") is None
        assert [hit.id for hit in store.search("docs", [1, 2], embedder_id="acme")] == ["a"]
        assert store.search("docs", [1, 2], embedder_id="b") == []
        with pytest.raises(EmbedderMismatchError) as refused:
            store.put_many("docs", [Entry("b", "x", [1, 2, 3])], embedder_id="acme")
        assert refused.value.indexed == "?@2"
        store.put_many("docs", [Entry("b", "x", [1, 2])], embedder_id="acme")
        assert store.fingerprint_of("docs") == Fingerprint("acme", 2)


@pytest.mark.parametrize("write", [True, False])
def test_a_file_that_another_program_holds_is_refused_by_its_name_and_number(path: Path, write: bool) -> None:
    make(path, Entry("a", "x", [1, 2]))
    with holder(path, write=write) as other:
        with pytest.raises(SourceError) as refused:
            VectorStore.open(path, read_only=False)
        assert refused.value.problem is Problem.LOCKED
        assert refused.value.holder is not None
        assert refused.value.holder.pid == other.pid
        assert "python" in refused.value.holder.program


def test_other_programs_are_shut_out_while_a_store_is_open_for_writing(path: Path) -> None:
    make(path, Entry("a", "x", [1, 2]))
    with writer(path) as other:
        with VectorStore.open(path, read_only=False) as store:
            assert other.ask("CREATE TABLE t (i INT)").startswith("refused")
            store.put_many("docs", [Entry("b", "x", [1, 2])], embedder_id="acme")
            assert other.ask("CREATE TABLE t (i INT)").startswith("refused")
        assert other.ask("CREATE TABLE t (i INT)") == "written"
    assert found_ids(path, [1, 2]) == ["a", "b"]


def test_metadata_comes_back_as_it_was_given(path: Path) -> None:
    given = {"n": 1, "s": "é\0\x1b", "list": [1.5, None, True], "deep": {"a": {"b": []}}}
    make(path, Entry("a", "x", metadata=given), Entry("b", "x", metadata=[]), Entry("c", "x"))
    stored = [text for (text,) in ask(path, "SELECT metadata::VARCHAR FROM chunks_1 ORDER BY seq")]
    assert [None if text is None else json.loads(str(text)) for text in stored] == [given, [], None]
