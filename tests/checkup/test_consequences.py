"""What is said of each flaw is what the DuckDB at hand does with it in the queries of the stores."""

from __future__ import annotations

import math
from pathlib import Path

import duckdb
import pytest

from tests.index.made_tables import opened, vector_file
from workbench.checkup.consequences import Consequence, Outcome, consequence_of, consequence_of_kind
from workbench.index.model import Flaw, Unusable

NAN, INF = math.nan, math.inf
Vector = list[float | None] | None

FLAWED: tuple[tuple[Flaw, Vector], ...] = (
    (Flaw.ABSENT, None),
    (Flaw.EMPTY, []),
    (Flaw.OTHER_LENGTH, [1.0, 2.0]),
    (Flaw.OTHER_LENGTH, [1.0, NAN, 3.0, 4.0]),
    (Flaw.NULL_ELEMENT, [1.0, None, 3.0]),
    (Flaw.NULL_ELEMENT, [NAN, None, 3.0]),
    (Flaw.NOT_FINITE, [1.0, NAN, 3.0]),
    (Flaw.NOT_FINITE, [1.0, INF, 3.0]),
    (Flaw.NOT_FINITE, [1.0, -INF, 3.0]),
    (Flaw.ZERO, [0.0, -0.0, 0.0]),
)
SOUND: tuple[Vector, ...] = ([1.0, 2.0, 3.0], [1.0, 2.0, 2.0], [-1.0, -2.0, -3.0])
FITS_AN_ARRAY = tuple((flaw, vector) for flaw, vector in FLAWED if vector is None or len(vector) == 3)

LANGCHAIN = "SELECT id, list_cosine_similarity(e, [1, 2, 3]::FLOAT[]) AS score FROM t ORDER BY score DESC"
LLAMAINDEX_LIST = (
    "SELECT id, score FROM (SELECT *, list_cosine_similarity(e, [1, 2, 3]::FLOAT[]) AS score FROM t)"
    " WHERE score IS NOT NULL ORDER BY score DESC"
)
LLAMAINDEX_ARRAY = LLAMAINDEX_LIST.replace("list_", "array_").replace("FLOAT[]", "FLOAT[3]")
PLAIN_ARRAY = LANGCHAIN.replace("list_", "array_").replace("FLOAT[]", "FLOAT[3]")

STOCK = [
    *(("langchain", "FLOAT[]", LANGCHAIN, *flawed) for flawed in FLAWED),
    *(("llamaindex", "FLOAT[]", LLAMAINDEX_LIST, *flawed) for flawed in FLAWED),
    *(("llamaindex", "FLOAT[3]", LLAMAINDEX_ARRAY, *flawed) for flawed in FITS_AN_ARRAY),
    *(("plain-table", "FLOAT[]", LANGCHAIN, *flawed) for flawed in FLAWED),
    *(("plain-table", "FLOAT[3]", PLAIN_ARRAY, *flawed) for flawed in FITS_AN_ARRAY),
    *(("plain-table", "DOUBLE[3]", PLAIN_ARRAY.replace("FLOAT", "DOUBLE"), *flawed) for flawed in FITS_AN_ARRAY),
]


def searched(path: Path, query: str) -> Outcome:
    """Run the stock query over the sound rows r0 to r2 and the flawed r3, and say what became of it."""
    with duckdb.connect(str(path), read_only=True) as connection:
        try:
            ids = [id for id, _ in connection.execute(query).fetchall()]
        except duckdb.InvalidInputException:
            return Outcome.FAILS
    if "r3" not in ids:
        return Outcome.NEVER
    return Outcome.FIRST if ids[0] == "r3" else Outcome.NEVER if ids[-1] == "r3" else Outcome.UNORDERED


@pytest.mark.parametrize(
    ("adapter", "type", "query", "flaw", "vector"), STOCK, ids=lambda value: str(value).split("(")[0].replace(" ", "_")
)
def test_the_stock_query_does_what_is_said(
    tmp_path: Path, adapter: str, type: str, query: str, flaw: Flaw, vector: Vector
) -> None:
    path = vector_file(tmp_path / "x.duckdb", type, [*SOUND, vector])
    said = consequence_of(adapter, flaw)
    found = searched(path, query)
    if said.outcome is Outcome.LAST:  # with the DuckDB below 1.4 that LlamaIndex asks for; this one is 2.0
        assert found is Outcome.FIRST
        assert "first on DuckDB 2.0" in said.brief
    else:
        assert found is said.outcome


@pytest.mark.parametrize(("flaw", "vector"), FLAWED)
def test_a_row_with_the_flaw_is_listed_with_it(tmp_path: Path, flaw: Flaw, vector: Vector) -> None:
    path = vector_file(tmp_path / "x.duckdb", "FLOAT[]", [*SOUND, vector])
    with opened(path) as namespace:
        (row,) = namespace.unusable_rows(10)
    assert (row.id, row.flaw, row.reason) == ("r3", flaw, flaw.reason)


@pytest.mark.parametrize(("flaw", "vector"), FITS_AN_ARRAY)
def test_a_search_of_our_own_leaves_it_out_and_counts_it(tmp_path: Path, flaw: Flaw, vector: Vector) -> None:
    path = vector_file(tmp_path / "x.duckdb", "FLOAT[3]", [*SOUND, vector])
    with opened(path, fixed_dims=3) as namespace:
        query = namespace.vector("r0")
        assert query is not None
        found = namespace.search(query, k=10, now_ms=0)
    assert [hit.id for hit in found.hits] == ["r0", "r1", "r2"]
    said = consequence_of("workbench", flaw).outcome
    assert (found.left_out, found.missing) == ((1, 0) if said is Outcome.LEFT_OUT else (0, 1))


@pytest.mark.parametrize("adapter", ["workbench", "langchain", "llamaindex", "plain-table", "agentfootprint"])
def test_every_adapter_says_something_of_every_flaw_its_files_can_hold(adapter: str) -> None:
    # A blob of floats holds no NULL.
    flaws = set(Flaw) - ({Flaw.NULL_ELEMENT} if adapter == "agentfootprint" else set())
    for flaw in flaws:
        said = consequence_of(adapter, flaw)
        assert said.outcome is not Outcome.UNKNOWN
        assert len(said.brief) <= 32
        assert said.sentence.endswith(".")


def test_what_is_not_known_is_said_to_be_not_known() -> None:
    assert consequence_of("of-somebody", Flaw.ZERO).outcome is Outcome.UNKNOWN


def test_a_kind_does_the_worst_of_what_was_seen_of_it() -> None:
    def said(*seen: Flaw) -> Consequence:
        return consequence_of_kind("langchain", Unusable.NON_FINITE, frozenset(seen))

    assert said().outcome is Outcome.FIRST
    assert said(Flaw.NOT_FINITE, Flaw.NULL_ELEMENT).outcome is Outcome.FAILS
    assert said(Flaw.EMPTY, Flaw.NOT_FINITE).outcome is Outcome.FIRST
