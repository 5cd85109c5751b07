"""Health of all vectors, in a file with every kind of unusable one, against one bare array_inner_product scan.

    python -m tests.bench.bench_health FOLDER

The bare scan runs on a file of the same rows without unusable vectors, since on the other one it would end in an
error. The lists of a plain table are held against a bare list_inner_product, which TRY lets pass over bad rows.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from tests.bench.big_files import CHUNKS, DOCUMENTS, Asked, by_bare_sql, by_product, read_arguments
from tests.bench.generate_index import planted_in
from tests.bench.measure import Ratio, own_cpu_seconds

AT_MOST = 1.5
NOW_MS = 1_767_348_000_000


def main() -> int:
    """Print the ratios; 0 when the promised one holds."""
    asked = read_arguments(__doc__)
    health, bare = _measure(
        asked, "planted", asked.file("native"), f"SELECT sum(array_inner_product(embedding, embedding)) FROM {CHUNKS}"
    )
    print(f"{asked.rows:,} x {asked.dims}, medians of {asked.runs} interleaved runs")
    held = Ratio(
        "health of all vectors", "health()", "one bare array_inner_product scan", health, bare, at_most=AT_MOST
    ).print()
    health, bare = _measure(
        asked,
        "plain",
        asked.file("plain"),
        f"SELECT sum(TRY(list_inner_product(embedding, embedding))) FROM {DOCUMENTS}",
    )
    Ratio(
        "the same in lists of any length", "health()", "one bare list_inner_product scan", health, bare, at_most=AT_MOST
    ).print()
    return 0 if held else 1


def _measure(asked: Asked, kind: str, bare_path: Path, statement: str) -> tuple[float, float]:
    """Return median CPU seconds of the product's health and of the bare scan; the counts must be those planted."""
    planted = planted_in(kind, asked.rows)
    path = asked.file(kind)
    times: list[tuple[float, float]] = []
    for _ in range(asked.runs + 1):
        with by_product(path) as (_, namespace):
            begun = own_cpu_seconds()
            found = namespace.health(NOW_MS)
            health = own_cpu_seconds() - begun
        assert found.count == asked.rows
        assert (found.missing, found.wrong_dims, found.non_finite, found.zero) == (
            planted.missing,
            planted.wrong_dims,
            planted.non_finite,
            planted.zero,
        ), (found, planted)
        with by_bare_sql(bare_path, asked.folder / "spill") as connection:
            begun = own_cpu_seconds()
            connection.execute(statement).fetchall()
            times.append((health, own_cpu_seconds() - begun))
    subject, basis = (statistics.median(column) for column in zip(*times[1:], strict=True))
    return subject, basis


if __name__ == "__main__":
    sys.exit(main())
