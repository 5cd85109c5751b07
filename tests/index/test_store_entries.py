"""What an entry may hold: every vector that is numbers, every string that is text; the rest in one sentence."""

from __future__ import annotations

import array
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from tests.index.plainly import ask, dump
from workbench.core.text import utf16_length
from workbench.index.entry import as_float32, prepare
from workbench.index.store import Entry, VectorStore

MISSING: list[Any] = [
    [1.0, None],
    [None],
    np.array([1.0, None], object),
    np.ma.masked_array([1.0, 2.0], mask=[False, True]),
    (1, None, 10**400),
]
NO_VECTOR: list[Any] = [
    "12",
    ["1", "2"],
    [b"1"],
    [True, False],
    [1j],
    [[1.0, 2.0]],
    [[1.0], [1.0, 2.0]],
    np.zeros((2, 2)),
    5.0,
    {"a": 1},
    [object()],
    ["1", None],
    [1.0, "x", 10**400],
    np.array(["2020-01-01"], "datetime64[D]"),
]


def sentence(entry: Entry) -> str:
    with pytest.raises(ValueError, match=r".") as refused:
        prepare(entry)
    words = str(refused.value)
    assert "\n" not in words
    assert words.isprintable()
    return words


@pytest.mark.parametrize("vector", MISSING)
def test_a_missing_element_is_refused_by_the_id_of_its_entry(vector: ArrayLike) -> None:
    words = sentence(Entry("guide.md#4", "x", vector))
    assert "guide.md#4" in words
    assert "missing (NULL)" in words


@pytest.mark.parametrize("vector", NO_VECTOR)
def test_what_is_no_flat_list_of_numbers_is_refused_by_the_id_of_its_entry(vector: ArrayLike) -> None:
    assert "guide.md#4" in sentence(Entry("guide.md#4", "x", vector))


def test_a_vector_that_is_too_long_for_the_file_is_refused() -> None:
    assert "100000" in sentence(Entry("a", "x", np.ones(100_001)))


def test_vectors_of_twelve_thousand_elements_are_written_and_replaced(tmp_path: Path) -> None:
    with VectorStore.open(tmp_path / "index.duckdb", read_only=False) as store:
        for value in (1.0, 2.0):
            entries = (Entry(str(number), "x", np.full(12_288, value, np.float32)) for number in range(400))
            store.put_many("docs", entries, embedder_id="m")
    assert ask(
        tmp_path / "index.duckdb", "SELECT count(*), min(embedding[1]), max(embedding[12288]) FROM chunks_1"
    ) == [(400, 2.0, 2.0)]


@pytest.mark.parametrize(
    "vector",
    [
        [1, 2],
        (1.0, 2.0),
        array.array("d", [1, 2]),
        np.array([1, 2], np.int8),
        np.array([1, 2], np.uint64),
        np.array([1, 2], np.float16),
        np.array([1, 2], ">f8"),
        np.array([1, 2, 9], np.float32)[:2],
        np.array([1, 9, 2], np.float64)[::2],
        [np.float32(1), 2],
        np.ma.masked_array([1.0, 2.0], mask=[False, False]),
    ],
)
def test_every_kind_of_number_list_is_a_vector(vector: ArrayLike) -> None:
    assert prepare(Entry("a", "x", vector)).vector == pytest.approx([1, 2])


@pytest.mark.parametrize("vector", [[10**400, -(10**400)], [1e39, -1e39], [math.inf, -math.inf]])
def test_what_is_beyond_float32_becomes_infinite(vector: list[float]) -> None:
    found = as_float32(vector, "it")
    assert found is not None
    assert found.tolist() == [math.inf, -math.inf]


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        (Entry("\ud800", "x"), "the id of an entry"),
        (Entry(5, "x"), "the id of an entry"),  # type: ignore[arg-type]
        (Entry("a", "\udfff"), "the text of entry 'a'"),
        (Entry("a", None), "the text of entry 'a'"),  # type: ignore[arg-type]
        (Entry("a", b"x"), "the text of entry 'a'"),  # type: ignore[arg-type]
        (Entry("a", "x", source_uri="\ud800"), "the source_uri of entry 'a'"),
        (Entry("a", "x", tier="\ud800"), "the tier of entry 'a'"),
        (Entry("a", "x", tier=1), "the tier of entry 'a'"),  # type: ignore[arg-type]
        (Entry("a", "x", embedder_id="\ud800"), "the embedder_id of entry 'a'"),
        (Entry("a", "x", metadata={"k": "\ud800"}), "the metadata of entry 'a'"),
        (Entry("a", "x", metadata={"k": object()}), "the metadata of entry 'a'"),
        (Entry("a", "x", metadata={1: 2}), "the metadata of entry 'a'"),  # type: ignore[dict-item]
        (Entry("a", "x", ttl=math.nan), "the ttl of entry 'a'"),
        (Entry("a", "x", ttl=math.inf), "the ttl of entry 'a'"),
        (Entry("a", "x", ttl=True), "the ttl of entry 'a'"),
        (Entry("a", "x", ttl=10**30), "the ttl of entry 'a'"),
        (Entry("a", "x", ttl="soon"), "the ttl of entry 'a'"),  # type: ignore[arg-type]
        (Entry("\x1b[31m", "\ud800"), r"the text of entry '\x1b[31m'"),
    ],
)
def test_what_is_no_text_or_no_time_is_refused_and_named(entry: Entry, named: str) -> None:
    assert named in sentence(entry)


def test_a_batch_with_an_entry_that_cannot_be_stored_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "index.duckdb"
    with VectorStore.open(path, read_only=False) as store:
        store.put_many("docs", [Entry("a", "x")], embedder_id="m")
    before = dump(path)
    with VectorStore.open(path, read_only=False) as store:
        null: Any = [1, None]
        for bad in (Entry("b", "x", null), Entry("b", "\ud800"), Entry("b", "x", metadata=[object()])):
            with pytest.raises(ValueError, match="'b'"):
                store.put_many("docs", [Entry("a", "replaced", [1, 2]), bad], embedder_id="m")
        with pytest.raises(ValueError, match="embedder_id"):
            store.put_many("docs", [], embedder_id="\ud800")
        with pytest.raises(ValueError, match="namespace"):
            store.put_many("\ud800", [], embedder_id=None)
        with pytest.raises(TypeError, match="Entry"):
            store.put_many("docs", [{"id": "a"}], embedder_id=None)  # type: ignore[list-item]
        with pytest.raises(ValueError, match="query vector"):
            store.search("docs", null, embedder_id=None)
    assert dump(path) == before


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NUMBERS = st.one_of(st.floats(width=64), st.integers(-(10**40), 10**40))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(TEXTS, TEXTS, st.one_of(st.none(), st.lists(NUMBERS, min_size=3, max_size=3)), st.none() | TEXTS),
        max_size=12,
    ),
    batches=st.integers(1, 4),
)
def test_any_batches_end_as_one_put_after_the_other(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str, list[float] | None, str | None]],
    batches: int,
) -> None:
    path = tmp_path_factory.mktemp("store") / "index.duckdb"
    with VectorStore.open(path, read_only=False, now=lambda: 5) as store:
        for batch in range(batches):
            entries = [Entry(id, text, vector, tier=tier) for id, text, vector, tier in rows[batch::batches]]
            assert store.put_many("docs", entries, embedder_id="m") == len(entries)
        expected = {
            id: (text, tier, None if vector is None else as_float32(vector, "it"))
            for batch in range(batches)
            for id, text, vector, tier in rows[batch::batches]
        }
        assert store.ids("docs") == list(expected)
    has_vectors = ask(path, "SELECT count(*) FROM duckdb_columns() WHERE column_name = 'embedding'") == [(1,)]
    assert has_vectors == any(vector is not None for _, _, vector, _ in rows)
    column = "embedding" if has_vectors else "NULL"
    for id, text, tier, chars, vector in ask(path, f"SELECT id, text, tier, char_count, {column} FROM chunks_1"):
        wanted_text, wanted_tier, wanted = expected[str(id)]
        assert (text, tier, chars) == (wanted_text, wanted_tier, utf16_length(wanted_text))
        assert (vector is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_array_equal(np.asarray(vector, np.float32), wanted)
