"""What stands in a file and cannot be read as it stands: vectors in other encodings, text in other tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.index.adapters.catalog import Column, Table
from workbench.index.adapters.roles import text_column
from workbench.index.adapters.sampling import Sample, TextSample
from workbench.index.adapters.vector_test import MIN_DIMS
from workbench.index.sql import quoted

if TYPE_CHECKING:
    import duckdb

_BLOBS = 20
_MAX_BLOB = 1 << 20
_ITEM = 4
_NORMS = (0.1, 100.0)
_MOST = 0.9
_STEM = 3


def encoded_vectors(cursor: duckdb.DuckDBPyConnection, table: Table, sample: Sample) -> list[str]:
    """Say which columns of a table hold vectors as BLOB or as JSON text, one sentence each."""
    remarks = []
    for column in table.columns:
        if column.type == "BLOB" and _holds_floats(cursor, table, column):
            remarks.append(f"table {table.shown}: column {column.name} holds vectors as BLOB, not readable yet")
        elif _is_json_vectors(sample.texts.get(column.name, ())):
            remarks.append(f"table {table.shown}: column {column.name} holds vectors as JSON text, not readable yet")
    return remarks


def _holds_floats(cursor: duckdb.DuckDBPyConnection, table: Table, column: Column) -> bool:
    """Blobs of one length that decode to finite float32 numbers of a plausible norm."""
    name = quoted(column.name)
    rows = cursor.execute(
        f"SELECT octet_length({name}), CASE WHEN octet_length({name}) <= {_MAX_BLOB} THEN {name} END"
        f" FROM {table.qualified} WHERE {name} IS NOT NULL LIMIT {_BLOBS}"
    ).fetchall()
    sizes = {size for size, _ in rows}
    if len(sizes) != 1 or min(sizes) % _ITEM or min(sizes) < MIN_DIMS * _ITEM:
        return False
    norms = [_norm(blob) for _, blob in rows if blob is not None]
    good = sum(_NORMS[0] <= norm <= _NORMS[1] for norm in norms)
    return bool(norms) and good >= _MOST * len(norms)


def _norm(blob: bytes) -> float:
    numbers = np.frombuffer(blob, "<f4").astype(np.float64)
    return float(np.sqrt(np.sum(numbers * numbers))) if np.isfinite(numbers).all() else math.nan


def _is_json_vectors(values: Sequence[TextSample]) -> bool:
    return bool(values) and sum(_starts_like_vector(value.start) for value in values) >= _MOST * len(values)


def _starts_like_vector(start: str) -> bool:
    inside = start.strip()
    if not inside.startswith("["):
        return False
    complete = inside.endswith("]")
    numbers = inside[1:].rstrip("]").split(",")
    numbers = numbers if complete else numbers[:-1]
    if len(numbers) < MIN_DIMS:
        return False
    try:
        return any(not float(number).is_integer() for number in numbers)
    except (ValueError, OverflowError):
        return False


def where_text_is(table: Table, others: Sequence[tuple[Table, Sample]]) -> str:
    """Say in one clause where the text of a table of vectors seems to be."""
    with_text = [(other, text) for other, sample in others if (text := text_column(other, sample)) is not None]
    for column in table.columns:
        stem = column.name.lower().removesuffix("_id")
        for other, text in with_text:
            if len(stem) >= _STEM and stem != column.name.lower() and other.name.lower().startswith(stem):
                slices = table.column("start") is not None and table.column("end") is not None
                how = "as slices of" if slices else "in"
                return (
                    f"the table holds vectors; the text seems to stand {how} {other.shown}.{text}, "
                    f"joined by {column.name}, which is not read yet"
                )
    if len(with_text) == 1:
        other, text = with_text[0]
        return f"the table holds vectors; the text may stand in {other.shown}.{text}, which is not read yet"
    return "the table holds vectors and no text of the chunks"
