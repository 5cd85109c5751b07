"""A page of fifty rows at nine tenths of an index against the first page, native and in a plain table.

python -m tests.bench.bench_pages FOLDER
"""

from __future__ import annotations

import sys

from tests.bench.big_files import Asked, by_product, read_arguments
from tests.bench.measure import Ratio, cpu_medians

AT_MOST = 1.5
PAGE = 50


def main() -> int:
    """Print the ratios; 0 when both hold."""
    asked = read_arguments(__doc__)
    print(f"{asked.rows:,} chunks, {PAGE} rows a page, medians of {asked.runs * 9} interleaved runs")
    held = [_measure(asked, kind) for kind in ("native", "plain")]
    return 0 if all(held) else 1


def _measure(asked: Asked, kind: str) -> bool:
    """Measure one kind of file and print its ratio."""
    deep = asked.rows * 9 // 10
    with by_product(asked.file(kind)) as (_, namespace):
        for start in (0, deep):
            page = namespace.page(start, PAGE)
            assert [row.position for row in page] == list(range(start, start + PAGE))
        spent = cpu_medians(
            {"first": lambda: namespace.page(0, PAGE), "deep": lambda: namespace.page(deep, PAGE)}, asked.runs * 9
        )
    return Ratio(
        f"page at row {deep:,}, {kind}", "page at depth", "first page", spent["deep"], spent["first"], at_most=AT_MOST
    ).print()


if __name__ == "__main__":
    sys.exit(main())
