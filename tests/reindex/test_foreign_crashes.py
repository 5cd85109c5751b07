"""A swap into a foreign file that is killed, or that meets others at the file: as before or as after, never between."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.cli.running import environment, workbench
from tests.embedders.misbehaving_server import MisbehavingServer
from tests.reindex import foreign_files as files

_DYING = """
import os, signal, sys
import workbench.reindex.foreign as foreign
import workbench.reindex.swapping as swapping

def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)

point = sys.argv.pop(1)
if point == "before the rename":
    foreign.take_place = die
elif point == "between link and replace":
    os.replace = die
elif point == "before the label":
    foreign.keep_label = die
elif point == "while the new file is written":
    foreign._insert_cured = die
from workbench.cli.main import run
sys.exit(run(sys.argv[1:]))
"""

POINTS = ("while the new file is written", "before the rename", "between link and replace", "before the label")


@pytest.fixture
def built(tmp_path: Path, server: MisbehavingServer) -> Path:
    """Make a store that is built again and verified, and not swapped yet."""
    files.configure(tmp_path, server)
    path = files.langchain(tmp_path / "store.duckdb")
    ask = ("--namespace", "embeddings", "--embedder", "near", "--yes", "--no-swap")
    assert workbench(tmp_path, "reindex", path, *ask).code == 0
    return path


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_swap_is_done_or_not_and_resume_brings_it_home(
    built: Path, server: MisbehavingServer, point: str
) -> None:
    home, old = built.parent, built.read_bytes()
    arguments = [sys.executable, "-c", _DYING, point, "reindex", str(built), "--namespace", "embeddings", "--swap"]
    killed = subprocess.run(arguments, env=environment(home), capture_output=True, cwd=home)
    assert killed.returncode == -9, killed.stderr
    assert (built.read_bytes() == old) is (point != "before the label")
    asked = server.asked.requests
    done = workbench(home, "reindex", built, "--namespace", "embeddings", "--swap", "--json")
    assert (done.code, done.json["state"]) == (0, "swapped")
    assert server.asked.requests == asked
    for text, vector in files.rows(built, "SELECT text, embedding FROM embeddings WHERE embedding IS NOT NULL"):
        assert np.allclose(vector, files.true_vector(text))
    checked = workbench(home, "check", built, "--json").json["sources"][0]["namespaces"][0]
    assert checked["fingerprint"] == "test-embedder@64"
    beside = sorted(each.name.partition("-")[0] for each in home.glob("store.duckdb*"))
    assert beside == ["store.duckdb", "store.duckdb.before"]
    assert next(home.glob("store.duckdb.before-*")).read_bytes() == old


def test_a_writer_that_holds_the_file_is_named_and_waited_for(built: Path) -> None:
    old = built.read_bytes()
    with duckdb.connect(str(built)):
        ran = workbench(built.parent, "reindex", built, "--namespace", "embeddings", "--swap")
    assert ran.code == 3
    assert "python" in ran.err.lower()
    assert built.read_bytes() == old
    assert workbench(built.parent, "reindex", built, "--namespace", "embeddings", "--swap").code == 0


def test_readers_go_on_with_the_old_file_until_they_reopen(built: Path) -> None:
    with duckdb.connect(str(built), read_only=True) as reader:
        assert workbench(built.parent, "reindex", built, "--namespace", "embeddings", "--swap").code == 0
        assert len(reader.execute("SELECT embedding FROM embeddings WHERE id = 'k5'").fetchall()[0][0]) == 16
    assert len(files.rows(built, "SELECT embedding FROM embeddings WHERE id = 'k5'")[0][0]) == 64
