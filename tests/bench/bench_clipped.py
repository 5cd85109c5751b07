"""Clipped chunks and lost characters at a ceiling, from the stored counts, against the same from length(text).

    python -m tests.bench.bench_clipped FOLDER

The product reads the stored counts once, after comparing some with their texts, and then answers every ceiling from
memory. Bounded are a ceiling's answer, and the two numbers in SQL from the stored column, which is what storing it is
worth. What comes once a file (the first answer, and the list of the longest) is timed apart. Each turn opens the file
anew, so nothing is kept from the turn before.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import astuple, dataclass
from pathlib import Path

import duckdb

from tests.bench.big_files import CHUNKS, Asked, by_bare_sql, by_product, read_arguments
from tests.bench.measure import Ratio, own_cpu_seconds
from workbench.index.model import MAX_LISTED

CEILINGS = (2_000, 1_000, 512, 8_000, 300)
AT_LEAST = 50.0


@dataclass(frozen=True, slots=True)
class Times:
    """CPU seconds of one turn."""

    first: float
    ceiling: float
    longest: float
    stored: float
    texts: float


def main() -> int:
    """Print the ratios; 0 when both hold."""
    asked = read_arguments(__doc__)
    path = asked.file("native")
    turns = [_measure(path, asked) for _ in range(asked.runs + 1)][1:]  # the first turn only warms the file cache
    median = Times(*(statistics.median(column) for column in zip(*map(astuple, turns), strict=True)))
    print(f"{path.name}: {asked.rows:,} chunks, medians of {asked.runs} interleaved runs")
    basis = "count and sum from length(text)"
    held = Ratio("any ceiling", "clip() of the product", basis, median.ceiling, median.texts, at_least=AT_LEAST).print()
    held &= Ratio(
        "the same in SQL", "count and sum from char_count", basis, median.stored, median.texts, at_least=AT_LEAST
    ).print()
    cheaper = median.texts / median.first
    print(f"     once a file: the first answer, {median.first * 1e3:.2f} ms CPU, {cheaper:.0f} times cheaper")
    print(f"     once a file: the {MAX_LISTED:,} longest chunks by id, {median.longest * 1e3:.2f} ms CPU")
    return 0 if held else 1


def _measure(path: Path, asked: Asked) -> Times:
    """Answer all ceilings by the product, and the first of them by bare SQL both ways; all must agree."""
    with by_product(path) as (_, namespace):
        begun = own_cpu_seconds()
        lengths = namespace.lengths()
        assert lengths is not None
        assert lengths.basis == "stored"
        answers = [lengths.clip(CEILINGS[0])]
        first = own_cpu_seconds()
        answers += [lengths.clip(ceiling) for ceiling in CEILINGS[1:]]
        further = own_cpu_seconds()
        assert len(lengths.longest) == min(MAX_LISTED, asked.rows)
        listed = own_cpu_seconds()
    expected = (answers[0].count, answers[0].lost_chars)
    with by_bare_sql(path, asked.folder / "spill") as connection:
        stored = _count(connection, "char_count", expected)
        texts = _count(connection, "length(text)", expected)
    return Times(first - begun, (further - first) / (len(CEILINGS) - 1), listed - further, stored, texts)


def _count(connection: duckdb.DuckDBPyConnection, length: str, expected: tuple[int, int]) -> float:
    """Return the CPU seconds of the two numbers in bare SQL, which must be the product's."""
    begun = own_cpu_seconds()
    row = connection.execute(
        f"SELECT count(*), sum({length} - {CEILINGS[0]}) FROM {CHUNKS} WHERE {length} > {CEILINGS[0]}"
    ).fetchone()
    spent = own_cpu_seconds() - begun
    assert row == expected, (row, expected)
    return spent


if __name__ == "__main__":
    sys.exit(main())
