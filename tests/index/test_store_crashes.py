"""A batch that is killed at any moment is in the file whole or not at all, seen by DuckDB alone."""

from __future__ import annotations

import multiprocessing
import random
import sys
import time
from pathlib import Path

import pytest

from tests.index import crash_batches
from tests.index.crash_batches import BATCHES
from tests.index.plainly import Dump, dump
from workbench.index.store import VectorStore

KILLS = 50

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked from one that is warm")


def clean_run(path: Path) -> tuple[list[Dump], list[float]]:
    """Give the file after 0, 1, 2… batches, and the seconds that each took."""
    crash_batches.write(path, 0, 0)
    states, seconds = [dump(path)], []
    for number in range(len(BATCHES)):
        started = time.monotonic()
        crash_batches.write(path, number, number + 1)
        seconds.append(time.monotonic() - started)
        states.append(dump(path))
    return states, seconds


def killed_run(path: Path, batch: int, delay: float) -> int:
    """Kill a writer some time after it began a batch. Returns how many batches it had said to be done."""
    # The processes are forked from one that has loaded everything and holds nothing.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.index.crash_batches"])
    hears, says = context.Pipe(duplex=False)
    process = context.Process(target=crash_batches.write_and_say, args=(path, says))
    process.start()
    says.close()
    done = 0
    try:
        while (event := hears.recv()) != ("begin", batch):
            done += event[0] == "done"
        process.join(delay)
        process.kill()
        process.join()
        while True:
            done += hears.recv()[0] == "done"
    except EOFError:
        return done
    finally:
        process.kill()
        process.join()
        hears.close()


def test_a_batch_killed_at_any_moment_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    states, seconds = clean_run(tmp_path / "clean.duckdb")
    assert len({str(state) for state in states}) == len(states)
    moments = random.Random(2)
    begun = 0
    for kill in range(KILLS):
        path = tmp_path / f"{kill}.duckdb"
        # Every batch in turn, the first one three times as often, and the checkpoint on closing.
        batch = (0, 1, 2, 3, 0, 4, 5, 6, 0, 7, 8)[kill % 11]
        longest = seconds[batch] if batch < len(BATCHES) else 0.05
        done = killed_run(path, batch, moments.uniform(0, longest))
        if not path.exists():
            continue
        begun += done < len(BATCHES)
        found = dump(path)
        assert found in states[done : done + 2], f"kill {kill}, after {done} batches"
        path.unlink()
    assert begun > KILLS // 2


def test_what_was_done_before_a_kill_goes_on_from_there(tmp_path: Path) -> None:
    path = tmp_path / "index.duckdb"
    states, _ = clean_run(tmp_path / "clean.duckdb")
    done = killed_run(path, 3, 0.0)
    with VectorStore.open(path) as store:
        assert store.fingerprint_of("docs") is not None
    # A batch of which nobody knows whether it was done is simply written again.
    crash_batches.write(path, done, len(BATCHES))
    assert {key: value for key, value in dump(path).items() if key.startswith("chunks")} == {
        key: value for key, value in states[-1].items() if key.startswith("chunks")
    }


def test_a_kill_while_a_file_is_made_leaves_nothing_or_a_file_that_can_be_finished(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.index.crash_batches"])
    moments = random.Random(3)
    for kill in range(12):
        path = tmp_path / f"{kill}.duckdb"
        hears, says = context.Pipe(duplex=False)
        process = context.Process(target=crash_batches.write_and_say, args=(path, says))
        process.start()
        says.close()
        assert hears.recv() == ("open", 0)
        process.join(moments.uniform(0, 0.15))
        process.kill()
        process.join()
        hears.close()
        crash_batches.write(path, 0, 1)
        with VectorStore.open(path) as store:
            assert len(store.ids("docs")) >= crash_batches.ROWS
