"""CPU time of `workbench --version` against `python -c pass`, each in fresh processes, interleaved.

    python -m tests.bench.bench_start [--runs N]

What `--version` loads is a test (tests/test_project.py), not a benchmark.
"""

from __future__ import annotations

import argparse
import sys

from tests.bench.measure import Ratio, process_medians

AT_MOST = 1.4


def main() -> int:
    """Print the ratio; 0 when it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=41)
    runs = parser.parse_args().runs
    spent = process_medians(
        {
            "version": [sys.executable, "-m", "workbench", "--version"],
            "pass": [sys.executable, "-c", "pass"],
            "help": [sys.executable, "-m", "workbench", "--help"],
        },
        runs,
    )
    print(f"medians of {runs} interleaved runs; `workbench --help`: {spent['help'] * 1e3:.1f} ms CPU")
    held = Ratio(
        "start", "workbench --version", "python -c pass", spent["version"], spent["pass"], at_most=AT_MOST
    ).print()
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
