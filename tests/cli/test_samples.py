"""What is planted in the shared samples is found by `check`, and `search` never ranks what `check` counts."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.shared_files import SAMPLES, needs_samples
from workbench.cli.main import run

INDEXES = SAMPLES / "indexes"

pytestmark = needs_samples

_READABLE = [
    "agentfootprint_corpus.db",
    "chunkhound_schema.duckdb",
    "haystack_schema.duckdb",
    "langchain_default.duckdb",
    "llamaindex_fixed_dim.duckdb",
    "lumen_schema.duckdb",
    "native_clipped_6_of_26.duckdb",
    "native_encodings.duckdb",
    "native_mixed_dims_list.duckdb",
    "native_model_swapped_same_dims.duckdb",
    "native_nan_vectors.duckdb",
    "native_two_tables.duckdb",
    "native_zero_vectors.duckdb",
    "ragnar_v2_schema.duckdb",
    "vss_hnsw_cosine.duckdb",
]


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Give the log back to the tests that follow: a run in this process sends it to a file."""
    logger = logging.getLogger("workbench")
    handlers, propagate = list(logger.handlers), logger.propagate
    yield
    logger.handlers, logger.propagate = handlers, propagate


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:  # noqa: ANN401 (whatever the document is)
    capsys.readouterr()
    run([*arguments, "--json"])
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def namespaces(capsys: pytest.CaptureFixture[str], file: str) -> dict[str, Any]:
    (source,) = answer(capsys, "check", str(INDEXES / file))["sources"]
    assert source["readable"], source["message"]
    return {namespace["name"]: namespace for namespace in source["namespaces"]}


def codes(namespace: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in namespace["findings"]}


def test_six_of_twenty_six_chunks_are_clipped(capsys: pytest.CaptureFixture[str]) -> None:
    (namespace,) = namespaces(capsys, "native_clipped_6_of_26.duckdb").values()
    clipped = namespace["clipped"]
    assert (clipped["count"], clipped["total"], len(clipped["chunks"])) == (6, 26, 6)
    assert sum(chunk["lost"] for chunk in clipped["chunks"]) == clipped["lost_chars"]
    assert all(chunk["lost"] == chunk["chars"] - 2_000 for chunk in clipped["chunks"])
    assert codes(namespace) == {"clipped-chunks"}


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("native_nan_vectors.duckdb", {"non_finite": 6, "missing": 1, "zero": 0, "wrong_dims": 0}),
        ("native_zero_vectors.duckdb", {"non_finite": 0, "missing": 0, "zero": 5, "wrong_dims": 0}),
        ("native_mixed_dims_list.duckdb", {"non_finite": 0, "missing": 4, "zero": 0, "wrong_dims": 25}),
    ],
)
def test_every_unusable_vector_is_counted(
    capsys: pytest.CaptureFixture[str], file: str, counts: dict[str, int]
) -> None:
    (namespace,) = namespaces(capsys, file).values()
    assert counts.items() <= namespace["vectors"].items()
    said = {"non_finite": "non-finite-vectors", "missing": "missing-vectors", "zero": "zero-vectors"}
    said["wrong_dims"] = "wrong-dims"
    assert {said[key] for key, count in counts.items() if count} == codes(namespace) & set(said.values())


def test_the_model_that_changes_half_way_is_a_mixture(capsys: pytest.CaptureFixture[str]) -> None:
    (namespace,) = namespaces(capsys, "native_model_swapped_same_dims.duckdb").values()
    assert [each["count"] for each in namespace["fingerprints"]] == [120, 40]
    assert "mixed-fingerprints" in codes(namespace)


def test_two_tables_have_their_own_length_record_and_ceiling(capsys: pytest.CaptureFixture[str]) -> None:
    found = namespaces(capsys, "native_two_tables.duckdb")
    states = {name: (each["count"], each["dims"], each["ceiling"]["source"]) for name, each in found.items()}
    assert states == {
        "handbook_chunks": (100, 128, "embedder"),
        "notes.ticket_chunks": (60, 48, "embedder"),
    }
    assert all(each["fingerprint"] for each in found.values())


def test_an_empty_table_knows_its_length_from_the_type(capsys: pytest.CaptureFixture[str]) -> None:
    (namespace,) = namespaces(capsys, "native_empty_table.duckdb").values()
    assert (namespace["count"], namespace["dims"], namespace["vectors"]["norm"]) == (0, 1_536, None)
    path = str(INDEXES / "native_empty_table.duckdb")
    (source,) = answer(capsys, "check", path, "--incoming", "all-MiniLM-L6-v2@384")["sources"]
    assert source["namespaces"][0]["incoming"]["conflict"] == "dimensions"


@pytest.mark.parametrize("file", ["chunkhound_schema.duckdb", "ragnar_v2_schema.duckdb"])
def test_where_the_text_stands_elsewhere_clipping_is_not_judged_and_that_is_said(
    capsys: pytest.CaptureFixture[str], file: str
) -> None:
    for namespace in namespaces(capsys, file).values():
        assert namespace["clipped"] is None
        assert namespace["text_note"]


@pytest.mark.parametrize("file", _READABLE)
def test_a_search_leaves_out_exactly_what_check_counts(capsys: pytest.CaptureFixture[str], file: str) -> None:
    from workbench.sources import open_source

    for name, checked in namespaces(capsys, file).items():
        with open_source(INDEXES / file) as source:
            (namespace,) = (each for each in source.namespaces() if each.name == name)
            dead = {row.id for row in namespace.unusable_rows(1_000)}
            alive = next(row.id for row in namespace.page(0, 100) if row.id not in dead)
        found = answer(
            capsys, "search", str(INDEXES / file), "--namespace", name, "--like", alive, "-k", str(checked["count"])
        )
        vectors = checked["vectors"]
        assert found["left_out"] == vectors["zero"] + vectors["non_finite"] + vectors["wrong_dims"]
        never = found["left_out"] + found["other_model"] + vectors["missing"]
        assert len(found["hits"]) == checked["count"] - never - 1
        assert not dead & {hit["id"] for hit in found["hits"]}
        assert all(-1 <= hit["score"] <= 1 for hit in found["hits"])
