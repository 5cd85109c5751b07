"""What a re-index costs beyond its embedder: against executemany, from N chunks to 2N, and in bytes on the disk.

    python -m tests.bench.bench_reindex FOLDER [--rows N] [--dims N]

The embedder has its vectors ready, so that all that is measured is copying, committing, verifying and swapping. What it
is held against writes the same vectors into a plain table with executemany.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from tests.bench.measure import Ratio, own_cpu_seconds
from workbench.embedders.activity import AnswerCame, Observer, RequestSent, unobserved
from workbench.embedders.batching import BatchLimits
from workbench.embedders.protocol import PrefixPolicy, ProviderHealth, Purpose, Vector
from workbench.embedders.tokens import TokenCounter
from workbench.index.store import Entry, VectorStore
from workbench.reindex import running
from workbench.reindex.generations import drop_retired
from workbench.reindex.planning import Target
from workbench.reindex.running import Controls

COST_AT_MOST = 0.1
FLAT_AT_MOST = 1.15
SIZE_AT_MOST = 1.1
_FEW = 500
_BATCH = 256


class Ready:
    """A ``BuildingProvider`` whose vectors are there before they are asked for."""

    kind = "ready"
    model_id = "ready"
    max_input_chars = 100_000
    last_error = None
    batch_limits = BatchLimits(_BATCH, None)
    policy = PrefixPolicy()
    host = None
    answered_model = "ready"
    counter: TokenCounter | None = None

    def __init__(self, dims: int) -> None:
        self.dimensions: int | None = dims
        rng = np.random.default_rng(2)
        self._made = [row.copy() for row in rng.standard_normal((1_009, dims), dtype=np.float32)]
        self._observer: Observer = unobserved

    async def embed(self, text: str, *, purpose: Purpose) -> Vector | None:
        """Give a vector."""
        return (await self.embed_batch([text], purpose=purpose))[0]

    async def embed_batch(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector | None]:
        """Give the same vector for the same text."""
        self._observer(RequestSent(len(texts), 0, 1))
        await asyncio.sleep(0)
        self._observer(AnswerCame(len(texts), None, 0.0, self.model_id))
        return [self._made[sum(text.encode()) % len(self._made)] for text in texts]

    async def healthcheck(self) -> ProviderHealth:
        """Be well."""
        return ProviderHealth(True, self.kind, self.model_id, self.dimensions)

    async def dispose(self) -> None:
        """Hold nothing."""

    def watch(self, observer: Observer) -> None:
        """Tell it what is asked."""
        self._observer = observer


def _entries(rows: int, dims: int) -> Iterator[Entry]:
    rng = np.random.default_rng(1)
    for number in range(rows):
        vector = rng.standard_normal(dims, dtype=np.float32)
        text = f"{number}: " + "some words that a chunk may hold " * (10 + number % 20)
        yield Entry(f"chunk-{number}", text, vector.tolist(), metadata={"page": number})


def _index(folder: Path, rows: int, dims: int) -> Path:
    path = folder / f"reindex_{rows}_{dims}.duckdb"
    path.unlink(missing_ok=True)
    with VectorStore.open(path, read_only=False) as store:
        store.put_many("docs", _entries(rows, dims), embedder_id="old")
    return path


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of the CPU and of the clock."""

    cpu: float
    clock: float

    def less(self, other: Took) -> Took:
        """Take off what another took."""
        return Took(self.cpu - other.cpu, self.clock - other.clock)

    def each(self, chunks: int) -> Took:
        """Give the share of one of so many chunks."""
        return Took(self.cpu / chunks, self.clock / chunks)


def _rebuilt(path: Path, dims: int) -> Took:
    """Build the namespace again, whole."""
    aim = Target("ready", Ready(dims))
    before, began = own_cpu_seconds(), time.monotonic()
    sibling = running.begin(str(path), "docs", aim, resplit=False, now_ms=1)
    outcome = asyncio.run(running.run(str(path), sibling, aim, Controls()))
    took = Took(own_cpu_seconds() - before, time.monotonic() - began)
    assert outcome.state.value == "swapped", outcome.message
    print(f"  {path.name}: {took.cpu:.2f} s CPU, {took.clock:.2f} s, {outcome.requests} requests", flush=True)
    return took


def _executemany(folder: Path, dims: int) -> Took:
    """Write a few chunks one by one, with what a re-index writes of each; gives what one took."""
    path = folder / "executemany.duckdb"
    path.unlink(missing_ok=True)
    rows = [
        [number, entry.id, entry.text, len(entry.text), len(entry.text), len(entry.text), "0" * 64, "{}", entry.vector]
        for number, entry in enumerate(_entries(_FEW, dims))
    ]
    columns = "seq BIGINT, id VARCHAR PRIMARY KEY, text VARCHAR, chars BIGINT, bytes BIGINT, read_chars BIGINT,"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE chunks ({columns} hash VARCHAR, metadata JSON, embedding FLOAT[{dims}])")
        before, began = own_cpu_seconds(), time.monotonic()
        connection.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        return Took(own_cpu_seconds() - before, time.monotonic() - began).each(_FEW)


def _size(name: str, subject: int, basis: int) -> bool:
    held = subject <= basis * SIZE_AT_MOST
    print(
        f"{'ok  ' if held else 'MISS'} {name}: {subject / basis:.2f} times the bytes (at most {SIZE_AT_MOST:g})\n"
        f"     {subject / 1e6:.1f} MB; written at once {basis / 1e6:.1f} MB",
        flush=True,
    )
    return held


def _written_at_once(path: Path) -> int:
    """Give the size of a file that holds the same and was written in one go."""
    other = path.with_suffix(".copy")
    other.unlink(missing_ok=True)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS old (READ_ONLY)")
        connection.execute(f"ATTACH '{other}' AS new (STORAGE_VERSION 'v1.2.0', ROW_GROUP_SIZE 4096)")
        connection.execute("COPY FROM DATABASE old TO new")
    size = other.stat().st_size
    other.unlink()
    return size


def main() -> int:
    """Print three ratios; 0 when all hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--dims", type=int, default=384)
    asked, _ = parser.parse_known_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_STATE_HOME"] = str(asked.folder / "state")
    _rebuilt(_index(asked.folder, 500, asked.dims), asked.dims)  # loads what is loaded once
    once, twice = _index(asked.folder, asked.rows, asked.dims), _index(asked.folder, 2 * asked.rows, asked.dims)
    small = _rebuilt(once, asked.dims)
    large = _rebuilt(twice, asked.dims)
    one_by_one = _executemany(asked.folder, asked.dims)
    # What a run costs whatever its size (opening files, loading) is told apart from what a chunk costs.
    chunk = large.less(small).each(asked.rows)
    print(
        f"     a chunk: {chunk.cpu * 1e3:.3f} ms CPU, {chunk.clock * 1e3:.3f} ms; by executemany: "
        f"{one_by_one.cpu * 1e3:.3f} ms CPU, {one_by_one.clock * 1e3:.3f} ms"
    )
    names = ("re-index", "a chunk, beyond its embedder", "a chunk by executemany")
    ok = Ratio(*names, chunk.cpu, one_by_one.cpu, at_most=COST_AT_MOST).print()
    names = ("from N to 2N", "a chunk of 2N", "a chunk of N")
    ok &= Ratio(*names, large.cpu / 2 / asked.rows, small.cpu / asked.rows, at_most=FLAT_AT_MOST).print()
    ok &= _size("both generations", twice.stat().st_size, _written_at_once(twice))
    drop_retired(str(twice), "docs")
    print(
        f"     without the old one: {twice.stat().st_size / 1e6:.1f} MB; at once {_written_at_once(twice) / 1e6:.1f} MB"
    )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
