"""CPU time of `workbench --version` against `python -c pass`, each in fresh processes, interleaved.

    python -m tests.bench.bench_start [--runs N]

The command is the script that pip made beside this interpreter. An old pip (23) makes one that imports ``re`` before
anything else, which alone takes half of Python's own start: README's lines upgrade pip first. ``python -m`` costs what
``runpy`` costs, and is only shown.
What `--version` loads is a test (tests/test_project.py), not a benchmark.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.bench.measure import Ratio, process_medians

AT_MOST = 1.4


def main() -> int:
    """Print the ratio; 0 when it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=41)
    runs = parser.parse_args().runs
    command = str(Path(sys.executable).with_name("workbench"))
    spent = process_medians(
        {
            "workbench --version": [command, "--version"],
            "python -m workbench --version": [sys.executable, "-m", "workbench", "--version"],
            "pass": [sys.executable, "-c", "pass"],
            "workbench --help": [command, "--help"],
        },
        runs,
    )
    held = Ratio(
        "start",
        "workbench --version",
        "python -c pass",
        spent["workbench --version"],
        spent["pass"],
        at_most=AT_MOST,
    ).print()
    for name in ("python -m workbench --version", "workbench --help"):
        print(f"     {name}: {spent[name] * 1e3:.2f} ms CPU, {spent[name] / spent['pass']:.2f} times")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
