"""Writes big index files with SQL alone, the same on every run: native, native with every unusable row, and plain.

    python -m tests.bench.generate_index FOLDER [--rows N] [--dims N] [--kinds native planted plain]

Texts are pseudo-words, 200 to 12,000 characters long, log-normal (mean about 1,450). Vectors are of length about one.
``planted`` and ``plain`` hold unusable vectors of every kind; ``plain`` is somebody's own table of lists, with no
stored lengths, whose wrong lengths a fixed array could not hold.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

from workbench.index import schema
from workbench.index.sql import CATALOG, qualified

MODEL = "bench-embed"
NAMESPACE = "bench"
PLAIN_TABLE = "documents"
KINDS = ("native", "planted", "plain")
MADE_MS = 1_767_348_000_000
EVERY = 20_000
"""One row of each planted kind in so many rows (fewer in a small file)."""
BATCH = 100_000


@dataclass(frozen=True, slots=True)
class Planted:
    """How many rows of each kind a generated file holds, as ``VectorHealth`` counts them."""

    missing: int
    wrong_dims: int
    non_finite: int
    zero: int


def main() -> None:
    """Write the kinds that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for kind in asked.kinds:
        started = time.perf_counter()
        path = generate(asked.folder, kind, asked.rows, asked.dims)
        seconds = time.perf_counter() - started
        print(f"{path.name}: {asked.rows:,} x {asked.dims}, {path.stat().st_size / 1e6:,.0f} MB, {seconds:.0f} s")


def path_of(folder: Path, kind: str, rows: int, dims: int) -> Path:
    """Name the file of one kind."""
    return folder / f"{kind}_{rows}_{dims}.duckdb"


def planted_in(kind: str, rows: int) -> Planted:
    """Say what a generated file holds."""
    each = len(range(0, rows, _period(rows)))
    if kind == "native":
        return Planted(0, 0, 0, 0)
    if kind == "planted":
        return Planted(missing=each, wrong_dims=0, non_finite=4 * each, zero=each)
    return Planted(missing=2 * each, wrong_dims=each, non_finite=4 * each, zero=each)


def generate(folder: Path, kind: str, rows: int, dims: int) -> Path:
    """Write one file, in an unfinished name until it is whole; one that is there already is kept."""
    path = path_of(folder, kind, rows, dims)
    if path.exists():
        return path
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    with duckdb.connect(config={"threads": 2, "memory_limit": "1500MB", "temp_directory": str(folder / "spill")}) as c:
        c.execute("SET enable_progress_bar = false")
        c.execute("SET checkpoint_threshold = '100GB'")
        c.execute(
            f"ATTACH ? AS {CATALOG} "
            f"(STORAGE_VERSION '{schema.STORAGE_VERSION}', ROW_GROUP_SIZE {schema.ROW_GROUP_SIZE})",
            [str(unfinished)],
        )
        _make_paragraphs(c)
        if kind == "plain":
            _fill_plain(c, rows, dims)
        else:
            _fill_native(c, rows, dims, planted=kind == "planted")
        c.execute(f"CHECKPOINT {CATALOG}")
    unfinished.rename(path)
    return path


def _period(rows: int) -> int:
    """Give the distance between two planted rows of one kind."""
    return max(min(EVERY, rows), 40)


def _make_paragraphs(c: duckdb.DuckDBPyConnection) -> None:
    """Make 500 paragraphs of about 20,000 characters, of 4,000 words with a few frequent ones, to cut texts from."""
    c.execute(
        "CREATE TEMP TABLE words AS SELECT list(w ORDER BY k) AS ws FROM (SELECT k, array_to_string(list_transform("
        "range(2 + (hash(k) % 9)::BIGINT), lambda j: "
        "substr('etaoinshrdlucmfwypvbgk', 1 + (hash(k * 16 + j) % 22)::BIGINT, 1)), '') AS w FROM range(4000) r(k))"
    )
    c.execute(
        "CREATE TEMP TABLE paragraphs AS SELECT p, array_to_string(list_transform(range(3000), lambda j: "
        "ws[1 + (3999 * pow((hash(p * 3001 + j) % 100000)::DOUBLE / 100000, 3))::BIGINT]), ' ') AS body "
        "FROM range(500) r(p), words"
    )


def _text(i: str) -> str:
    """Give the SQL of the text of row ``i``: a piece of a paragraph, of log-normal length by Box and Muller."""
    uniform_1 = f"(((hash({i}, 1) % 1000000) + 1)::DOUBLE / 1000001)"
    uniform_2 = f"((hash({i}, 2) % 1000000)::DOUBLE / 1000000)"
    normal = f"sqrt(-2 * ln({uniform_1})) * cos(2 * pi() * {uniform_2})"
    length = f"least(12000, greatest(200, round(exp(7.05 + 0.7 * {normal}))))::BIGINT"
    return f"substr(body, 1 + (hash({i}, 7) % 6000)::BIGINT, {length})"


def _usable(i: str, dims: int) -> str:
    """Give the SQL of the vector of row ``i``: uniform elements, scaled so that its norm is about one."""
    scale = (dims / 3) ** 0.5
    element = f"((hash({i} * {dims} + j) >> 40)::BIGINT - 8388608)::FLOAT / 8388608 / {scale:.6f}"
    return f"list_transform(range({dims}), lambda j: ({element})::FLOAT)"


def _vector(i: str, dims: int, period: int, *, lists: bool) -> str:
    """Give the SQL of a vector with every kind of unusable one planted, and two that only look unusable."""
    usable = _usable(i, dims)

    def first(element: str, rest: str) -> str:
        return f"list_transform(range({dims}), lambda j: CASE WHEN j = 0 THEN {element} ELSE {rest} END::FLOAT)"

    cases = [
        "NULL",
        first("0", "0"),
        first("'nan'::FLOAT", "0.05"),
        first("'inf'::FLOAT", "0.05"),
        first("'-inf'::FLOAT", "0.05"),
        first("NULL", "0.05"),
        first("3e30", "1"),  # its square overflows float32, and it is usable
        first("1e-30", "0"),  # its square vanishes in float32, and it is usable
    ]
    if lists:
        cases += ["[]::FLOAT[]", f"({usable})[:{dims * 3 // 4}]"]
    branches = " ".join(f"WHEN {3 * n + 5} THEN {case}" for n, case in enumerate(cases))
    return f"CASE {i} % {period} {branches} ELSE {usable} END"


def _fill_native(c: duckdb.DuckDBPyConnection, rows: int, dims: int, *, planted: bool) -> None:
    """Write the layout of the store, with its own table definitions."""
    schema.create_registry(c)
    table = schema.chunk_table(1)
    schema.create_chunks(c, table)
    chunks = qualified(schema.SCHEMA, table)
    c.execute(f"ALTER TABLE {chunks} ADD COLUMN {schema.EMBEDDING} FLOAT[{dims}]")
    c.execute(
        f"INSERT INTO {qualified(schema.SCHEMA, schema.NAMESPACES)} BY NAME SELECT ? AS namespace, "
        "1 AS active_generation, 'cosine' AS metric, ? AS created_ms, ? AS updated_ms",
        [NAMESPACE, MADE_MS, MADE_MS],
    )
    c.execute(
        f"INSERT INTO {qualified(schema.SCHEMA, schema.GENERATIONS)} BY NAME SELECT 1 AS generation, ? AS namespace, "
        "? AS table_name, ? AS embedder_fp, ? AS dims, ? AS row_count, 'active' AS state, ? AS created_ms, "
        "? AS activated_ms",
        [NAMESPACE, table, f"{MODEL}@{dims}", dims, rows, MADE_MS, MADE_MS],
    )
    vector = _vector("i", dims, _period(rows), lists=False) if planted else _usable("i", dims)
    for start in range(0, rows, BATCH):
        c.execute(
            f"INSERT INTO {chunks} BY NAME SELECT i + 1 AS seq, 'doc-' || (i // 7) || '#' || (i % 7) AS id, text, "
            "length(text) AS char_count, strlen(text) AS byte_count, sha256(text) AS content_hash, "
            "'{\"page\": ' || (i % 300) || '}' AS metadata, 'doc-' || (i // 7) || '.md' AS source_uri, "
            f"CASE WHEN embedding IS NULL THEN NULL ELSE '{MODEL}@{dims}' END AS embedder_fp, "
            "$3::BIGINT AS created_ms, $3::BIGINT AS updated_ms, embedding FROM "
            f"(SELECT i, {_text('i')} AS text, ({vector})::FLOAT[{dims}] AS embedding "
            "FROM range($1::BIGINT, $2::BIGINT) r(i) JOIN paragraphs ON p = hash(i, 3) % 500) ORDER BY i",
            [start, min(start + BATCH, rows), MADE_MS],
        )


def _fill_plain(c: duckdb.DuckDBPyConnection, rows: int, dims: int) -> None:
    """Write a table of somebody's own: vectors in lists, a model column, no stored lengths."""
    table = qualified("main", PLAIN_TABLE)
    c.execute(f"CREATE TABLE {table} (id VARCHAR, body VARCHAR, model VARCHAR, embedding FLOAT[])")
    for start in range(0, rows, BATCH):
        c.execute(
            f"INSERT INTO {table} SELECT 'doc-' || (i // 7) || '#' || (i % 7), {_text('i')}, '{MODEL}', "
            f"{_vector('i', dims, _period(rows), lists=True)} "
            "FROM range($1::BIGINT, $2::BIGINT) r(i) JOIN paragraphs ON p = hash(i, 3) % 500 ORDER BY i",
            [start, min(start + BATCH, rows)],
        )


if __name__ == "__main__":
    main()
