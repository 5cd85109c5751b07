"""Who holds a file: real processes that read and write it are named, and asking takes no lock away."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from workbench.index.holders import held_by_another
from workbench.index.model import SourceError
from workbench.index.opening import attach
from workbench.index.store import Entry, VectorStore

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says who holds a file")

_HOLDER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "index.duckdb"
    with VectorStore.open(path, read_only=False) as store:
        store.put_many("notes", [Entry("a", "text", [1.0, 2.0])], embedder_id="x")
    return path


@contextmanager
def holder(path: Path, how: str) -> Iterator[int]:
    """Hold the file in another process for the block; gives its id."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process.pid
    finally:
        process.communicate()


def test_nobody_holds_a_file_that_nobody_has_open(index: Path) -> None:
    assert held_by_another(index) is None


@pytest.mark.parametrize(("how", "writes"), [("read", False), ("write", True)])
def test_another_process_is_named_with_what_it_does(index: Path, how: str, writes: bool) -> None:
    with holder(index, how) as process:
        held = held_by_another(index)
        assert held is not None
        assert (held.holder.pid, held.writes) == (process, writes)
        assert "python" in held.holder.program
    assert held_by_another(index) is None


def test_a_lease_of_this_process_is_no_holder_and_serves_again_afterwards(index: Path) -> None:
    with attach(index) as attachment:
        with attachment.cursor() as cursor:
            assert cursor.execute("SELECT 1").fetchone() == (1,)
        assert held_by_another(index) is None
        with attachment.cursor() as cursor:
            assert cursor.execute("SELECT count(*) FROM ix.main.vector_namespaces").fetchone() == (1,)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        held_by_another(tmp_path / "none.duckdb")
