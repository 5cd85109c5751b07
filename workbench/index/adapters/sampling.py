"""Some rows of a table, taken spread over it and bounded in size: what recognition rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.index.adapters.catalog import Column, Table
from workbench.index.sql import quoted

if TYPE_CHECKING:
    import duckdb

ROWS = 200
"""Rows of a sample."""

_SPOTS = 8
_ELEMENTS = 256
_CHARS = 300
_JSON_BYTES = 100_000
_ENOUGH = 20
_TOGETHER = 20
"""Columns of one query: what DuckDB needs to plan and run it grows faster than their number."""


@dataclass(frozen=True, slots=True)
class VectorSample:
    """One sampled vector, without its numbers.

    Attributes:
        length: as stored.
        fraction: an element is no whole number.
        evidence: an element is finite and not 0; a vector of zeros says nothing about its column.
        monotonic: the elements only rise or only fall, as in cumulative counts.
    """

    length: int
    fraction: bool
    evidence: bool
    monotonic: bool


@dataclass(frozen=True, slots=True)
class TextSample:
    """One sampled string: its beginning, its length in bytes, and what it looks like."""

    start: str
    bytes: int
    json_object: bool
    node_content: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """Sampled values by column, NULLs left out; ``rows`` were looked at."""

    rows: int
    vectors: dict[str, tuple[VectorSample, ...]]
    texts: dict[str, tuple[TextSample, ...]]
    others: dict[str, tuple[str, ...]]


EMPTY_SAMPLE = Sample(0, {}, {}, {})


def is_text(column: Column) -> bool:
    """Whether the column holds strings, or JSON, which DuckDB keeps as such."""
    return column.holds_strings or column.type == "JSON"


def take_sample(cursor: duckdb.DuckDBPyConnection, table: Table) -> Sample:
    """Look at up to ROWS rows of a table, at places spread over it; only a few blocks are read, whatever its size."""
    columns = [column for column in table.columns if _features(column)]
    if not columns or not table.rows:
        return EMPTY_SAMPLE
    values: dict[str, list[Any]] = {}
    for start in range(0, len(columns), _TOGETHER):
        values |= _values(cursor, table, columns[start : start + _TOGETHER])
    looked = len(values[columns[0].name])
    vectors: dict[str, tuple[VectorSample, ...]] = {}
    texts: dict[str, tuple[TextSample, ...]] = {}
    others: dict[str, tuple[str, ...]] = {}
    for column in columns:
        found = [value for value in values[column.name] if value is not None]
        if len(found) < _ENOUGH and table.rows > looked and (column.vector_type or is_text(column)):
            found = _not_null(cursor, table, column)
        if column.vector_type:
            vectors[column.name] = tuple(VectorSample(*value.values()) for value in found)
        elif is_text(column):
            texts[column.name] = tuple(TextSample(*value.values()) for value in found)
        else:
            others[column.name] = tuple(found)
    return Sample(looked, vectors, texts, others)


def _values(cursor: duckdb.DuckDBPyConnection, table: Table, columns: Sequence[Column]) -> dict[str, list[Any]]:
    features = ", ".join(f"{_features(column)} AS c{place}" for place, column in enumerate(columns))
    rows = cursor.execute(_spread(cursor, table, features)).fetchall()
    return {column.name: [row[place] for row in rows] for place, column in enumerate(columns)}


def _features(column: Column) -> str | None:
    name = quoted(column.name)
    if column.vector_type:
        start = f"({name}::DOUBLE[])[1:{_ELEMENTS}]"
        return (
            f"CASE WHEN len({name}) > 0 THEN {{'length': len({name}),"
            f" 'fraction': len(list_filter({start}, lambda x: isfinite(x) AND x <> floor(x))) > 0,"
            f" 'evidence': len(list_filter({start}, lambda x: isfinite(x) AND x <> 0)) > 0,"
            f" 'monotonic': {start} = list_sort({start}) OR {start} = list_reverse_sort({start})}} END"
        )
    if is_text(column):
        text = f"{name}::VARCHAR"
        return (
            f"CASE WHEN {name} IS NOT NULL THEN {{'start': left({text}, {_CHARS}), 'bytes': strlen({text}),"
            f" 'json_object': left(ltrim(left({text}, {_CHARS})), 1) = '{{' AND"
            f" CASE WHEN strlen({text}) > {_JSON_BYTES} THEN true ELSE json_valid({text}) END,"
            f" 'node_content': contains({text}, '\"_node_content\"')}} END"
        )
    if column.type in ("UUID", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UINTEGER", "UBIGINT", "HUGEINT"):
        return f"{name}::VARCHAR"
    return None


def _spread(cursor: duckdb.DuckDBPyConnection, table: Table, features: str) -> str:
    if table.rows <= ROWS:
        return f"SELECT {features} FROM {table.qualified}"
    first, last = cursor.execute(f"SELECT min(rowid), max(rowid) FROM {table.qualified}").fetchone() or (0, 0)
    each = ROWS // _SPOTS
    spots = [first + (last - first + 1 - each) * spot // (_SPOTS - 1) for spot in range(_SPOTS)]
    # After a deletion the place may be empty: the next rows are taken, within one block.
    return " UNION ALL ".join(
        f"(SELECT {features} FROM {table.qualified} WHERE rowid >= {spot} AND rowid < {spot + 2_048} LIMIT {each})"
        for spot in spots
    )


def _not_null(cursor: duckdb.DuckDBPyConnection, table: Table, column: Column) -> list[dict[str, object]]:
    name = quoted(column.name)
    filled = f"len({name}) > 0" if column.vector_type else f"{name} IS NOT NULL"
    rows: Sequence[tuple[dict[str, object]]] = cursor.execute(
        f"SELECT {_features(column)} FROM {table.qualified} WHERE {filled} LIMIT {ROWS}"
    ).fetchall()
    return [value for (value,) in rows]
