"""Peak memory and time of a whole `workbench check` process over each generated file.

python -m tests.bench.bench_memory FOLDER
"""

from __future__ import annotations

import sys

from tests.bench.big_files import read_arguments
from tests.bench.generate_index import KINDS
from tests.bench.measure import run_process

AT_MOST_MB = 400.0


def main() -> int:
    """Print the peak for every file; 0 when all are below the bound."""
    asked = read_arguments(__doc__)
    held = True
    for kind in KINDS:
        path = asked.file(kind)
        ended = run_process(
            [sys.executable, "-m", "workbench", "check", str(path), "--incoming", f"bench-embed@{asked.dims}", "--json"]
        )
        assert ended.code in (0, 1), f"workbench check ended with {ended.code}"
        kept = ended.peak_mb < AT_MOST_MB
        held &= kept
        print(
            f"{'ok  ' if kept else 'MISS'} check of {path.name} ({path.stat().st_size / 1e6:,.0f} MB): "
            f"peak {ended.peak_mb:.0f} MB (below {AT_MOST_MB:g}), {ended.cpu_seconds:.2f} s CPU",
            flush=True,
        )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
