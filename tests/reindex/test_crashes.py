"""A process killed at any moment of a re-index: the living namespace is whole, and what was paid is not paid again."""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.embedders.misbehaving_server import digest_of
from tests.index.processes import holder
from tests.reindex.dying import POINTS, RENAMING, Worker
from tests.reindex.scene import (
    NAMESPACE,
    ServerProcess,
    begin,
    living,
    make_index,
    provider,
    served,
    siblings,
    target,
)
from workbench.reindex import running
from workbench.reindex.leftovers import left_behind
from workbench.reindex.sibling import Sibling, siblings_of
from workbench.reindex.verifying import _sample

KILLS = int(os.environ.get("WORKBENCH_REINDEX_KILLS", "4"))
COUNT = 60

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked from one that is warm")


@pytest.fixture(scope="module")
def url() -> Iterator[ServerProcess]:
    with served() as server:
        yield server


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory, url: ServerProcess) -> tuple[Path, Path, Path]:
    """Give an index before, after an uninterrupted run, and after one that re-splits; texts are asked for once here."""
    folder = tmp_path_factory.mktemp("clean")
    before = make_index(folder / "before.duckdb", COUNT)
    made = []
    for name, chars in (("after", None), ("split", 50)):
        path = Path(shutil.copy(before, folder / f"{name}.duckdb"))
        worker = Worker(path, url.url, "build", chars=chars)
        ended = worker.end()
        assert ended is not None
        assert ended[0] == "swapped", ended
        made.append(path)
    return before, made[0], made[1]


def committed(index: Path) -> list[str]:
    """Give the texts whose vectors are committed in the sibling, read by DuckDB alone."""
    texts: list[str] = []
    for path in siblings_of(str(index)):
        with duckdb.connect(path) as connection:
            names = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
            if "vectors" in names:
                rows = connection.execute("SELECT r.text FROM rows r JOIN vectors v USING (seq)").fetchall()
                journal = connection.execute("SELECT coalesce(sum(texts), 0) FROM journal").fetchall()[0][0]
                assert journal == len(rows), "vectors and journal are not of one transaction"
                texts += [text for (text,) in rows]
    return texts


def bring_home(index: Path, url: ServerProcess, chars: int | None = None) -> list[str]:
    """Resume to the end, in two steps, so that what verifying asks again can be told from what is paid twice.

    Gives what was warned of.
    """
    paid = committed(index)
    before = url.asked()["texts"]
    ended = Worker(index, url.url, "resume", chars=chars, swap=False).end()
    assert ended is not None
    warned = ended[2]
    if ended[0] == "verified":
        (path,) = siblings_of(str(index))
        with Sibling(path) as sibling:
            probes = {digest_of(text) for text, _ in _sample(sibling)}
        now = url.asked()["texts"]
        for text in map(digest_of, paid):
            assert now.get(text, 0) - before.get(text, 0) == (text in probes), "a text was paid for again"
        ended = Worker(index, url.url, "resume", chars=chars).end()
        assert ended is not None
    assert ended[0] == "swapped", ended
    return warned


def check_home(index: Path, expected: list[Any]) -> None:
    assert living(index) == expected
    assert [name for name in siblings(index) if ".before-" not in name] == []
    assert left_behind(str(index)) == ()


@pytest.mark.parametrize(
    ("point", "chars"),
    [
        *((point, None) for point in POINTS),
        # With pieces a swap that was done already could not be told by comparing rows.
        ("begin: rows copied", 50),
        ("between vectors and journal", 50),
        ("swap: rows copied, not committed", 50),
        ("swap: committed", 50),
        ("swap: the sibling half removed", 50),
    ],
)
def test_killed_at_a_point_it_answers_as_before_or_as_after_and_is_brought_home(
    tmp_path: Path, url: ServerProcess, clean: tuple[Path, Path, Path], point: str, chars: int | None
) -> None:
    before, after, split = clean
    expected = living(split if chars else after)
    index = Path(shutil.copy(before, tmp_path / "index.duckdb"))
    assert Worker(index, url.url, "build", point=point, chars=chars).end() is None
    assert living(index) in (living(before), expected)
    bring_home(index, url, chars)
    check_home(index, expected)


@pytest.mark.parametrize("point", RENAMING)
def test_killed_while_readers_hold_the_index_it_is_brought_home(
    tmp_path: Path, url: ServerProcess, clean: tuple[Path, Path, Path], point: str
) -> None:
    before, after, _ = clean
    index = Path(shutil.copy(before, tmp_path / "index.duckdb"))
    with holder(index, write=False):
        assert Worker(index, url.url, "build", point=point).end() is None
        assert living(index) in (living(before), living(after))
        left = left_behind(str(index))
        warned = bring_home(index, url)
    assert bool(left) == any("removed" in said and name in said for said in warned for name in left)
    check_home(index, living(after))
    # The namespace was swapped once, not once more for having been killed behind it.
    with duckdb.connect(str(index)) as connection:
        assert connection.execute("SELECT count(*) FROM generations WHERE namespace = ?", [NAMESPACE]).fetchall() == [
            (2,)
        ]


@pytest.mark.parametrize(
    "point",
    [
        "begin: an empty sibling",
        "begin: a sibling without rows",
        "between vectors and journal",
        "verified",
        "swap: committed",
        "rename: the new file half made",
        "rename: between link and replace",
        "rename: replaced",
    ],
)
def test_killed_at_a_point_it_can_be_dropped_without_a_trace(
    tmp_path: Path, url: ServerProcess, clean: tuple[Path, Path, Path], point: str
) -> None:
    before, _, _ = clean
    index = Path(shutil.copy(before, tmp_path / "index.duckdb"))
    if point in RENAMING:
        with holder(index, write=False):
            assert Worker(index, url.url, "build", point=point).end() is None
    else:
        assert Worker(index, url.url, "build", point=point).end() is None
    answers = living(index)
    from tests.cli.running import workbench

    ran = workbench(tmp_path, "reindex", index, "--namespace", NAMESPACE, "--discard")
    assert ran.code == 0, ran.err
    assert siblings(index) == []
    assert living(index) == answers


def test_killed_at_random_moments_it_is_brought_home(
    tmp_path: Path, url: ServerProcess, clean: tuple[Path, Path, Path]
) -> None:
    before, after, _ = clean
    moments = random.Random(6)
    started = time.monotonic()
    Worker(Path(shutil.copy(before, tmp_path / "timed.duckdb")), url.url, "build").end()
    longest = time.monotonic() - started
    expected, old, at_work = living(after), living(before), 0
    for kill in range(KILLS):
        index = Path(shutil.copy(before, tmp_path / f"{kill}.duckdb"))
        worker = Worker(index, url.url, "build")
        worker.began()
        at_work += worker.kill_after(moments.uniform(0, longest))
        assert living(index) in (old, expected), f"kill {kill}"
        if living(index) == old or siblings(index):
            bring_home(index, url)
        check_home(index, expected)
        index.unlink()
    assert at_work > KILLS // 3


def test_a_build_that_another_process_has_is_named(tmp_path: Path, clean: tuple[Path, Path, Path]) -> None:
    from tests.cli.running import workbench

    index = Path(shutil.copy(clean[0], tmp_path / "index.duckdb"))
    path = begin(index, target(provider("http://127.0.0.1:9")))
    with holder(Path(path), write=True) as other:
        for way in ("--resume", "--discard", "--swap"):
            ran = workbench(tmp_path, "reindex", index, "--namespace", NAMESPACE, way)
            assert (ran.code, str(other.pid) in ran.err) == (2, True), ran.err
        status = workbench(tmp_path, "reindex", index, "--status", "--json")
        assert status.code == 0
        assert str(other.pid) in status.json["in_use"][0]["message"]
    assert running.unfinished(str(index))
