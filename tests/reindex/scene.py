"""An index to build again, an embedder behind the test server to do it with, and what both hold afterwards."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from tests.embedders.misbehaving_server import Hashing, digest_of
from workbench.embedders.batching import BatchLimits
from workbench.embedders.endpoint import Address, Endpoint, Timeouts
from workbench.embedders.openai_http import OpenAIProvider
from workbench.embedders.protocol import BuildingProvider, PrefixPolicy
from workbench.embedders.retrying import RetryPolicy
from workbench.embedders.serving import Served
from workbench.index.store import Entry, VectorStore
from workbench.reindex import running
from workbench.reindex.model import Outcome
from workbench.reindex.planning import Target
from workbench.reindex.running import Controls

NAMESPACE = "docs"
MODEL = "test-embedder"
NEW = f"{MODEL}@64"
OLD_DIMS = 32
SMALL = BatchLimits(8, None)
ROOT = Path(__file__).resolve().parents[2]

_WORDS = ("harbour", "lamp", "bread", "river", "stone", "winter", "letter", "garden", "engine", "copper", "salt")


def sentence(number: int, words: int = 12, mark: str = "") -> str:
    """Give some words, the same ones for the same number."""
    rng = np.random.default_rng(number)
    return f"{mark}{number}: " + " ".join(rng.choice(_WORDS, words).tolist()) + "."


def entries(numbers: Sequence[int], mark: str = "", words: int = 12) -> Iterator[Entry]:
    """Give chunks with vectors of the old embedder."""
    for number in numbers:
        vector = np.random.default_rng(number + 1).standard_normal(OLD_DIMS, np.float32)
        yield Entry(
            f"c{number}",
            sentence(number, words, mark),
            vector.tolist(),
            metadata={"page": number},
            source_uri=f"file-{number % 3}.md",
            tier=("hot", None)[number % 2],
            ttl=None if number % 5 else 4_000_000_000_000,
        )


def make_index(path: Path, count: int = 100, mark: str = "", words: int = 12) -> Path:
    """Make an index of one namespace, built with an old embedder, beside another namespace that nobody touches."""
    with VectorStore.open(path, read_only=False, now=lambda: 1_000) as store:
        store.put_many(NAMESPACE, entries(range(count), mark, words), embedder_id="old")
        store.put_many("others", [Entry("x", "left alone", [1.0, 2.0])], embedder_id="old")
    return path


def provider(
    url: str,
    *,
    dims: int | None = 64,
    limits: BatchLimits = SMALL,
    model: str = MODEL,
    retries: int = 2,
    prefix: str = "",
    chars: int | None = None,
) -> OpenAIProvider:
    """Give a real client that does not wait long."""
    served = Served(model, dims, False, chars, PrefixPolicy(prefix), limits)
    endpoint = Endpoint(Address(f"{url}/v1"), timeouts=Timeouts(2.0, 5.0, 10.0))
    return OpenAIProvider(served, endpoint, retries=RetryPolicy(retries, first_s=0.01, longest_s=0.02))


def target(embedder: BuildingProvider, max_chunk_chars: int | None = None) -> Target:
    """Name it as a configuration would."""
    return Target("near", embedder, max_chunk_chars)


def begin(index: Path, aim: Target, *, resplit: bool = False) -> str:
    """Copy the rows into a sibling."""
    return running.begin(str(index), NAMESPACE, aim, resplit=resplit, now_ms=2_000)


def go(index: Path, path: str, aim: Target, controls: Controls | None = None) -> Outcome:
    """Run a build to where it ends."""
    return asyncio.run(running.run(str(index), path, aim, controls or Controls()))


def build(
    index: Path, embedder: BuildingProvider, controls: Controls | None = None, *, chars: int | None = None
) -> Outcome:
    """Begin and run; pieces where ``chars`` is given."""
    aim = target(embedder, chars)
    return go(index, begin(index, aim, resplit=chars is not None), aim, controls)


def siblings(index: Path) -> list[str]:
    """Give the names of all that lies beside the index and belongs to it."""
    return sorted(each.name for each in index.parent.iterdir() if each.name.startswith(index.name + "."))


def living(index: Path, namespace: str = NAMESPACE) -> list[tuple[Any, ...]]:
    """Give what answers in a namespace, read by DuckDB alone: every row, with its vector to the bit."""
    with duckdb.connect(str(index), read_only=True) as connection:
        (table, dims) = connection.execute(
            "SELECT g.table_name, g.dims FROM vector_namespaces n JOIN generations g"
            " ON g.generation = n.active_generation WHERE n.namespace = ?",
            [namespace],
        ).fetchall()[0]
        rows = connection.execute(
            "SELECT id, text, char_count, byte_count, read_chars, content_hash, metadata, extra, source_uri, parent_id,"
            " char_start, char_end, embedder_fp, tier, expires_ms, created_ms, updated_ms, embedding::FLOAT[]"
            f" FROM {table} ORDER BY seq"
        ).fetchall()
    packed = [(*row[:-1], None if row[-1] is None else np.asarray(row[-1], np.float32).tobytes()) for row in rows]
    return [("dims", dims), *packed]


def vectors(index: Path) -> dict[str, tuple[str, bytes | None]]:
    """Give text and vector of what answers, by id."""
    return {row[0]: (row[1], row[-1]) for row in living(index)[1:]}


def expected_vector(text: str) -> bytes:
    """Give the vector that the test server makes of a text."""
    return Hashing().embed(text).tobytes()


class ServerProcess:
    """The test server in a process of its own. A context manager."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.embedders.misbehaving_server", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()

    def asked(self) -> dict[str, Any]:
        """Give what it counted: requests, and how often each text came in and was answered."""
        with urllib.request.urlopen(f"{self.url}/asked", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def times(self, texts: Sequence[str]) -> list[int]:
        """Say how often each text came in."""
        counted = self.asked()["texts"]
        return [counted.get(digest_of(text), 0) for text in texts]

    def behave(self, **how: object) -> None:
        """Change how it stands to all requests."""
        self._post("/behave", how)

    def fail(self, *faults: str) -> None:
        """Let the next requests fail in these ways."""
        self._post("/faults", list(faults))

    def _post(self, path: str, document: object) -> None:
        request = urllib.request.Request(self.url + path, json.dumps(document).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10):
            pass


@contextmanager
def served(*arguments: str) -> Iterator[ServerProcess]:
    """Serve while the block runs."""
    with ServerProcess(*arguments) as server:
        yield server
