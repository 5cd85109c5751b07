"""The batches of the crash tests, and the process that writes them until it is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from workbench.index.store import Entry, VectorStore

DIMS = 48
ROWS = 1_500

Batch = Callable[[VectorStore], object]


def entries(first: int, count: int, *, seed: int, vectors: bool = True) -> Iterator[Entry]:
    """Give entries with ids in a row and numbers of their own."""
    numbers = np.random.default_rng(seed).standard_normal((count, DIMS), dtype=np.float32)
    for place in range(count):
        text = f"{seed}: " + "text of a chunk " * (place % 7)
        yield Entry(f"c{first + place}", text, numbers[place] if vectors else None, tier="a" if place % 2 else None)


BATCHES: tuple[Batch, ...] = (
    # The first batch makes namespace, table, column and fingerprint.
    lambda store: store.put_many("docs", entries(0, ROWS, seed=1), embedder_id=None),
    # One that upgrades the fingerprint, and replaces half of what is there.
    lambda store: store.put_many("docs", entries(ROWS // 2, ROWS, seed=2), embedder_id="acme"),
    lambda store: store.put_many("notes", entries(0, ROWS, seed=3, vectors=False), embedder_id=None),
    # The first vectors of a namespace that has rows: the column is added among them.
    lambda store: store.put_many("notes", entries(ROWS // 2, ROWS, seed=4), embedder_id="acme"),
    lambda store: store.delete("docs", [f"c{number}" for number in range(0, ROWS, 3)]),
    lambda store: store.put_many("docs", entries(0, 2 * ROWS, seed=5), embedder_id="acme"),
    lambda store: store.delete_namespace("notes"),
    lambda store: store.put_many("notes", entries(0, ROWS, seed=6), embedder_id="other"),
)


def write(path: Path, first: int, last: int) -> None:
    """Write some of the batches, each at a time of its own."""
    now = [0]
    with VectorStore.open(path, read_only=False, now=lambda: now[0]) as store:
        for number in range(first, last):
            now[0] = number
            BATCHES[number](store)


def write_and_say(path: Path, said: Connection) -> None:
    """Write all batches over and say before and after each; what is not said may still be done."""
    now = [0]
    said.send(("open", 0))
    with VectorStore.open(path, read_only=False, now=lambda: now[0]) as store:
        for number, batch in enumerate(BATCHES):
            now[0] = number
            said.send(("begin", number))
            batch(store)
            said.send(("done", number))
        said.send(("begin", len(BATCHES)))
    said.send(("closed", len(BATCHES)))
