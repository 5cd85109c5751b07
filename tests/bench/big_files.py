"""The generated files as a benchmark uses them: made when missing, opened by the product, and by bare SQL."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tests.bench.generate_index import PLAIN_TABLE, generate
from workbench import open_source
from workbench.index import schema
from workbench.index.model import IndexSource, Namespace
from workbench.index.sql import CATALOG, qualified

CHUNKS = qualified(schema.SCHEMA, schema.chunk_table(1))
DOCUMENTS = qualified("main", PLAIN_TABLE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for."""

    folder: Path
    rows: int
    dims: int
    runs: int

    def file(self, kind: str) -> Path:
        """Return the generated file of one kind, made now when it is not there."""
        return generate(self.folder, kind, self.rows, self.dims)


def read_arguments(description: str | None) -> Asked:
    """Read FOLDER, --rows, --dims and --runs."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the generated files are, or are put (several gigabytes)")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    return Asked(asked.folder, asked.rows, asked.dims, asked.runs)


@contextmanager
def by_product(path: Path) -> Iterator[tuple[IndexSource, Namespace]]:
    """Open a file as the product does, and hold its lease for the length of the block."""
    with open_source(str(path)) as source:
        (namespace,) = source.namespaces()
        with source.hold():
            yield source, namespace


@contextmanager
def by_bare_sql(path: Path, spill: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Attach a file with the memory, threads and access that the product gives itself, and nothing else."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 2,
        "memory_limit": "176MB",
        "temp_directory": str(spill),
    }
    with duckdb.connect(config=config) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"ATTACH ? AS {CATALOG} (READ_ONLY)", [str(path)])
        yield connection
