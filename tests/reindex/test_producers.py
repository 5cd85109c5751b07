"""After a cure in place the producer's own package opens the file, asks it and writes into it.

Its packages are looked for in this Python, or in the one that WORKBENCH_PRODUCERS names; they need another DuckDB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import workbench
from tests.embedders.misbehaving_server import MisbehavingServer
from tests.reindex import foreign_files as files

PYTHON = os.environ.get("WORKBENCH_PRODUCERS", sys.executable)
PROGRAMS = Path(__file__).parent / "producers"
_IMPORTS = {
    "langchain": "from langchain_community.vectorstores import DuckDB",
    "llamaindex": "from llama_index.vector_stores.duckdb import DuckDBVectorStore",
}


def needs(producer: str) -> None:
    """Skip the test where the producer is not installed, saying so."""
    done = subprocess.run([PYTHON, "-c", _IMPORTS[producer]], capture_output=True)
    if done.returncode:
        pytest.skip(f"{producer} is not installed here; name a Python that has it in WORKBENCH_PRODUCERS")


def produce(home: Path, producer: str, action: str, path: Path, vectors: dict[str, list[float]]) -> Any:  # noqa: ANN401
    """Let the producer make or use a store, with these vectors for these texts."""
    given = home / "vectors.json"
    given.write_text(json.dumps(vectors), "utf-8")
    program = PROGRAMS / f"{producer}_store.py"
    done = subprocess.run(
        [PYTHON, program, action, path, given], capture_output=True, env={**os.environ, "HOME": str(home)}, text=True
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_langchain_opens_asks_and_extends_a_cured_file(tmp_path: Path, server: MisbehavingServer) -> None:
    needs("langchain")
    files.configure(tmp_path, server)
    path = tmp_path / "store.duckdb"
    before = {text: files.old_vector(n).tolist() for n, text in enumerate(files.TEXTS)}
    produce(tmp_path, "langchain", "make", path, before)
    ran = workbench(tmp_path, "reindex", path, "--namespace", "embeddings", "--embedder", "near", "--yes")
    assert ran.code == 0
    after = {text: files.true_vector(text).tolist() for text in files.TEXTS}
    said = produce(tmp_path, "langchain", "use", path, after)
    assert said["before"][0] == files.TEXTS[1]
    assert said["after"][0] == files.TEXTS[-1]
    assert said["metadata"]["n"] == "added"
    assert said["rows"] == len(files.TEXTS)
    checked = workbench(tmp_path, "check", path, "--json").json["sources"][0]["namespaces"][0]
    assert (checked["fingerprint"], checked["count"]) == ("test-embedder@64", len(files.TEXTS))


def test_llamaindex_opens_asks_and_extends_a_cured_file(tmp_path: Path, server: MisbehavingServer) -> None:
    needs("llamaindex")
    files.configure(tmp_path, server)
    path = tmp_path / "store.duckdb"
    before = {text: files.old_vector(n).tolist() for n, text in enumerate(files.TEXTS)}
    embedded = produce(tmp_path, "llamaindex", "make", path, before)["embedded"]
    ran = workbench(tmp_path, "reindex", path, "--namespace", "documents", "--embedder", "near", "--yes")
    assert ran.code == 0
    # What was sent is to the letter what the producer itself embeds.
    assert all(server.asked.times(text) >= 1 for text in embedded)
    after = {text: files.true_vector(text).tolist() for text in files.TEXTS}
    after[files.TEXTS[1]] = files.true_vector(embedded[1]).tolist()
    said = produce(tmp_path, "llamaindex", "use", path, after)
    assert said["before"][0] == "node-1"
    assert said["after"][0] == "added"
    assert said["scores"][0] == pytest.approx(1.0, abs=1e-5)
