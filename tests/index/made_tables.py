"""Small DuckDB files made for one test, and a table of them as a namespace."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from tests.index.oracle import Vector
from workbench.index.mapping import TableMapping
from workbench.index.opening import attach
from workbench.index.table import DuckDBNamespace


def make_file(path: Path, *statements: str, rows: Mapping[str, Sequence[Sequence[Any]]] | None = None) -> Path:
    """Run statements on a new file, then insert rows by table."""
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        for table, values in (rows or {}).items():
            if values:
                described = connection.execute(f"DESCRIBE {table}").fetchall()
                columns = ", ".join(f"unnest(?::{type}[])" for _, type, *_ in described)
                connection.execute(
                    f"INSERT INTO {table} SELECT {columns}", [list(column) for column in zip(*values, strict=True)]
                )
    return path


@contextmanager
def opened(path: Path, **mapping: object) -> Iterator[DuckDBNamespace]:
    """One table of a file as a namespace, without recognition in between."""
    parts: dict[str, Any] = {
        "namespace": "t",
        "adapter": "plain-table",
        "schema": "main",
        "table": "t",
        "vector": "e",
        "id": "id",
    }
    with attach(path) as attachment:
        yield DuckDBNamespace(attachment, TableMapping(**{**parts, **mapping}))


def vector_file(path: Path, type: str, vectors: Sequence[Vector]) -> Path:
    """Make a table ``t(id, e)`` with one row a vector, ids ``r0``, ``r1`` and so on."""
    return make_file(
        path, f"CREATE TABLE t (id VARCHAR, e {type})", rows={"t": [(f"r{n}", v) for n, v in enumerate(vectors)]}
    )


def faulty_vectors(random_: random.Random, count: int, dims: int, *, lists: bool, element: str) -> list[Vector]:
    """Random vectors as the column type keeps them, with every fault at random places."""

    def number() -> float:
        if element == "TINYINT":
            return random_.randint(-128, 127) or 1
        value = random_.uniform(-1, 1)
        return as_float32(value) if element == "FLOAT" else value

    vectors: list[Vector] = [[number() for _ in range(dims)] for _ in range(count)]
    faults: list[Vector] = [None, [0.0] * dims, [None, *([1.0] * (dims - 1))]]
    if element != "TINYINT":
        faults += [[*([0.5] * (dims - 1)), value] for value in (float("nan"), float("inf"), float("-inf"))]
        huge, tiny = (3e30, 1e-30) if element == "FLOAT" else (1e300, 1e-300)
        small = as_float32(tiny) if element == "FLOAT" else tiny
        large = as_float32(huge) if element == "FLOAT" else huge
        faults += [[large, 1.0, *([0.0] * (dims - 2))], [small, *([0.0] * (dims - 1))], [small] * dims, [large] * dims]
    if lists:
        faults += [[], [1.0] * (dims - 1), [0.0] * (dims + 1), [None] * (dims + 2)]
    for place, fault in zip(random_.sample(range(count), min(count, 2 * len(faults))), faults * 2, strict=False):
        vectors[place] = fault
    return vectors


def as_float32(value: float) -> float:
    """Round a number as a FLOAT column keeps it."""
    return float(np.float32(value))
