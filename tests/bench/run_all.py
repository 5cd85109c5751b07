"""Runs every benchmark in a process of its own and ends with how many bounds were missed.

python -m tests.bench.run_all FOLDER [--rows N] [--dims N] [--runs N]
"""

from __future__ import annotations

import subprocess
import sys

SCRIPTS = ("bench_clipped", "bench_health", "bench_pages", "bench_memory", "bench_screens", "bench_routing")


def main() -> int:
    """Pass the arguments on; 0 when every script ended with 0."""
    missed = []
    for script, arguments in (("bench_start", []), *((script, sys.argv[1:]) for script in SCRIPTS)):
        print(f"\n== {script}", flush=True)
        if subprocess.run([sys.executable, "-m", f"tests.bench.{script}", *arguments], check=False).returncode:
            missed.append(script)
    print(f"\n{'all bounds hold' if not missed else 'missed: ' + ', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
