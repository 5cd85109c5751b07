"""Clipped chunks and lost characters at a ceiling, from the stored counts, against the same from length(text).

    python -m tests.bench.bench_clipped FOLDER

Each turn opens the file anew, so nothing is kept from the turn before. The first answer of the product reads the
stored counts; every further ceiling is answered from memory; the list of the longest chunks is timed apart.
"""

from __future__ import annotations

import statistics
import sys

from tests.bench.big_files import CHUNKS, Asked, by_bare_sql, by_product, read_arguments
from tests.bench.measure import Ratio, own_cpu_seconds

CEILINGS = (2_000, 1_000, 512, 8_000, 300)
AT_LEAST = 50.0


def main() -> int:
    """Print the ratio; 0 when it holds."""
    asked = read_arguments(__doc__)
    path = asked.file("native")
    first, further, longest, bare = _measure(asked)
    print(f"{path.name}: {asked.rows:,} chunks, medians of {asked.runs} interleaved runs")
    print(f"     the {1_000} longest chunks by id: {longest * 1e3:.2f} ms CPU")
    basis = "count and sum from length(text), bare SQL"
    held = Ratio(
        "first ceiling, from char_count", "lengths() and clip()", basis, first, bare, at_least=AT_LEAST
    ).print()
    held &= Ratio("any further ceiling", "clip()", basis, further, bare, at_least=AT_LEAST).print()
    return 0 if held else 1


def _measure(asked: Asked) -> tuple[float, float, float, float]:
    """Return median CPU seconds: first answer, a further ceiling, the longest list, and bare SQL over the texts."""
    path = asked.file("native")
    times: list[tuple[float, float, float, float]] = []
    for _ in range(asked.runs + 1):
        with by_product(path) as (_, namespace):
            begun = own_cpu_seconds()
            lengths = namespace.lengths()
            assert lengths is not None
            assert lengths.basis == "stored"
            answers = [lengths.clip(CEILINGS[0])]
            after_first = own_cpu_seconds()
            answers += [lengths.clip(ceiling) for ceiling in CEILINGS[1:]]
            after_further = own_cpu_seconds()
            assert len(lengths.longest) == min(1_000, asked.rows)
            after_longest = own_cpu_seconds()
        with by_bare_sql(path, asked.folder / "spill") as connection:
            bare_begun = own_cpu_seconds()
            ceiling = CEILINGS[0]
            row = connection.execute(
                f"SELECT count(*), sum(length(text) - {ceiling}) FROM {CHUNKS} WHERE length(text) > {ceiling}"
            ).fetchone()
            bare = own_cpu_seconds() - bare_begun
        assert row == (answers[0].count, answers[0].lost_chars), (row, answers[0])
        further = (after_further - after_first) / (len(CEILINGS) - 1)
        times.append((after_first - begun, further, after_longest - after_further, bare))
    first, further, longest, bare = (statistics.median(column) for column in zip(*times[1:], strict=True))
    return first, further, longest, bare


if __name__ == "__main__":
    sys.exit(main())
