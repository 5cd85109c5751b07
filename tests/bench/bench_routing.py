"""Replaying a long routing log against parsing its lines with orjson; scrubbing to any call; what stays in memory.

    python -m tests.bench.bench_routing FOLDER [--attempts N] [--runs N]

The log holds outages, a flapping hour, batches of documents with their keys and queries, from two processes that share
the file. Replay is the whole way from the file to states, divergences and ledger; what it is held against only parses.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from tests.bench.measure import Ratio, own_cpu_seconds, run_process
from workbench.routing.log_format import timestamp_of
from workbench.routing.opening import NATIVE, ReplayedLog

if TYPE_CHECKING:
    from workbench.routing.replay import Replay

AT_MOST = 3.0
SCRUB_AT_MOST_S = 0.016
BYTES_A_CALL_AT_MOST = 600
_THRESHOLD, _COOLDOWN_MS, _BEGIN_MS = 3, 300_000, 1_764_403_200_000


def main() -> int:
    """Print the ratio, the slowest scrub and the memory; 0 when all hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--attempts", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)
    asked, _ = parser.parse_known_args()  # what it shares with the other benchmarks may ask for rows and dims
    if asked.memory_of is not None:
        return _hold(asked.memory_of)
    asked.folder.mkdir(parents=True, exist_ok=True)
    path = asked.folder / f"routing_{asked.attempts}.jsonl"
    if not path.exists():
        _write(path, asked.attempts)
    replay_seconds, parse_seconds = _measure(path, asked.runs)
    print(f"{path.name}: {asked.attempts:,} attempts, {path.stat().st_size / 1e6:,.0f} MB, {asked.runs} runs")
    held = Ratio(
        "replay", "file to ledger", "orjson.loads of each line", replay_seconds, parse_seconds, at_most=AT_MOST
    )
    ok = held.print()
    ok &= _scrub(path)
    return 0 if ok & _memory(path, asked.attempts) else 1


def _measure(path: Path, runs: int) -> tuple[float, float]:
    from workbench.routing.opening import open_routing_log
    from workbench.routing.replay import replay_log

    times: list[tuple[float, float]] = []
    for _ in range(runs):
        begun = own_cpu_seconds()
        with open_routing_log(path) as log:
            replay = replay_log(log.pieces)
        replayed = own_cpu_seconds() - begun
        assert not len(replay.divergences), replay.first_divergence
        assert replay.ledger.contaminated
        del replay
        begun = own_cpu_seconds()
        with path.open("rb") as file:
            for line in file:
                orjson.loads(line)
        times.append((replayed, own_cpu_seconds() - begun))
    replayed, parsed = (statistics.median(column) for column in zip(*times, strict=True))
    return replayed, parsed


def _scrub(path: Path) -> bool:
    """Jump about: the state at any call, its ledger, the warning after it."""
    from workbench.routing.opening import open_routing_log
    from workbench.routing.replay import replay_log

    with open_routing_log(path) as log:
        replay = replay_log(log.pieces)
    chosen = random.Random(5)
    slowest = 0.0
    for n in (chosen.randint(1, replay.count) for _ in range(500)):
        begun = time.process_time()
        call = replay.call(n)
        totals = replay.ledger.totals_at(n)
        following = replay.next_marked(n, replay.transition_calls)
        slowest = max(slowest, time.process_time() - begun)
        assert call.n == n
        assert totals
        assert following is None or following > n
    ok = slowest <= SCRUB_AT_MOST_S
    print(f"{'ok  ' if ok else 'MISS'} scrub: the slowest of 500 jumps {slowest * 1e3:.2f} ms CPU (at most 16 ms)")
    return ok & _draw(replay)


def _draw(replay: Replay) -> bool:
    """Jump about on the screen: the page for any call, all calls and a few of them in sight."""
    from workbench.tui.pages.parts import Frame
    from workbench.tui.pages.replay import Shown, cells_wide, replay_page
    from workbench.tui.pages.replay_ledger import entries_of
    from workbench.tui.replay_cells import Window, cells_of, grid_of
    from workbench.tui.routed import Routed
    from workbench.tui.signs import UNICODE

    frame = Frame(84, 38, UNICODE, focused=True)
    routed = Routed(ReplayedLog("log", NATIVE, "", replay))
    entries, chosen = entries_of(replay), random.Random(6)
    slowest = [0.0, 0.0]
    for place, seen in enumerate((replay.count, 1_000)):
        cells = None
        for _ in range(200):
            n = chosen.randint(1, replay.count)
            begun = time.process_time()
            if cells is None or not cells.grid.window.holds(n):
                # The calls in sight change with a jump, unless all are in sight.
                first = min(n - 1, replay.count - seen)
                cells = cells_of(replay, grid_of(Window(first, first + seen), cells_wide(84)))
            replay_page(Shown(routed, replay, replay.call(n), cells, entries), frame)
            slowest[place] = max(slowest[place], time.process_time() - begun)
    ok = max(slowest) <= SCRUB_AT_MOST_S
    print(
        f"{'ok  ' if ok else 'MISS'} draw: the slowest of 200 jumps {slowest[0] * 1e3:.1f} ms CPU with all calls in "
        f"sight, {slowest[1] * 1e3:.1f} ms with 1,000 (at most 16 ms)"
    )
    return ok


def _memory(path: Path, attempts: int) -> bool:
    script = [sys.executable, "-m", "tests.bench.bench_routing", str(path.parent), "--memory-of", str(path)]
    held = run_process(script)
    a_call = held.peak_mb * 1e6 / attempts
    ok = held.code == 0 and a_call <= BYTES_A_CALL_AT_MOST
    print(
        f"{'ok  ' if ok else 'MISS'} memory: {held.peak_mb:,.0f} MB at most, {a_call:,.0f} bytes an attempt "
        f"(at most {BYTES_A_CALL_AT_MOST}), of a file of {path.stat().st_size / attempts:,.0f} bytes an attempt"
    )
    return ok


def _hold(path: Path) -> int:
    from workbench.routing.opening import open_routing_log
    from workbench.routing.replay import replay_log

    with open_routing_log(path) as log:
        return 0 if replay_log(log.pieces).count else 1


def _write(path: Path, attempts: int) -> None:
    with path.open("wb") as file:
        for line in _lines(attempts):
            file.write(orjson.dumps(line) + b"\n")


def _lines(attempts: int) -> Iterator[dict[str, object]]:
    """Give the lines of two processes under the documented machine."""
    yield {"record": "config", "failure_streak_threshold": _THRESHOLD, "cooldown_ms": _COOLDOWN_MS}
    for name in ("handbook", "tickets"):
        yield {"record": "namespace", "id": name, "model": "acme-embed", "dimensions": 1536}
    chance = random.Random(1)
    machines: dict[str, tuple[int, float]] = {"ingest-1": (0, 0.0), "ingest-2": (0, 0.0)}
    written, call, now = 0, 0, float(_BEGIN_MS)
    while written < attempts:
        call += 1
        now += chance.randint(60, 400)
        instance = "ingest-1" if call % 3 else "ingest-2"
        streak, until = machines[instance]
        hour = call % 60_000
        down = 20_000 <= hour < 23_000 or (40_000 <= hour < 44_000 and hour % 2 == 0)
        line = _attempt(instance, call, now)
        legs = ["fallback"] if now < until else ["primary", "fallback"] if down else ["primary"]
        for leg in legs:
            failed = leg == "primary" and down
            yield {**line, **_leg(leg, failed=failed), "timestamp": timestamp_of(now), "duration_ms": 25}
            now += 25
            written += 1
            if failed:
                streak += 1
                until = now + _COOLDOWN_MS if streak >= _THRESHOLD else until
            elif leg == "primary":
                streak, until = 0, 0.0
        machines[instance] = streak, until


def _attempt(instance: str, call: int, now: float) -> dict[str, object]:
    query = call % 5 == 0
    line: dict[str, object] = {
        "record": "attempt", "timestamp": now, "duration_ms": 25, "service.instance.id": instance,
        "call.id": f"{instance}-{call:08x}", "leg": "", "op": "embed" if query else "embed_batch",
        "gen_ai.operation.name": "embeddings", "outcome": "", "input.count": 1 if query else 4, "null.count": 0,
        "purpose": "query" if query else "document", "namespace": "handbook" if call % 2 else "tickets",
    }  # fmt: skip
    if not query:
        line["keys"] = [f"{call * 2_654_435_761 % 2**32:08x}_{seq}" for seq in range(4)]
    return line


def _leg(leg: str, *, failed: bool) -> dict[str, object]:
    own: dict[str, object] = {
        "leg": leg,
        "outcome": "error" if failed else "success",
        "gen_ai.provider.name": "acme" if leg == "primary" else "spare",
        "gen_ai.request.model": "acme-embed" if leg == "primary" else "spare-embed",
        "gen_ai.embeddings.dimension.count": 1536,
        "server.address": f"{leg}.example.com",
    }
    if failed:
        return {**own, "error.type": "503", "http.response.status_code": 503}
    return {**own, "gen_ai.response.model": own["gen_ai.request.model"], "embedding.dimensions": 1536}


if __name__ == "__main__":
    sys.exit(main())
