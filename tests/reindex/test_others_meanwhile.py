"""Other processes read and write the index throughout a re-index; nothing of theirs is lost, and nobody is forced."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.embedders.misbehaving_server import MisbehavingServer
from tests.index.processes import Program, holder, writer
from tests.reindex.scene import (
    NAMESPACE,
    begin,
    expected_vector,
    go,
    living,
    make_index,
    provider,
    sentence,
    siblings,
    target,
    vectors,
)
from workbench.index.store import Entry, VectorStore
from workbench.reindex import running
from workbench.reindex.leftovers import files_before
from workbench.reindex.model import Progress, RunState
from workbench.reindex.running import Controls

_WRITE = """
import sys
from workbench.index.store import Entry, VectorStore
for line in sys.stdin:
    what, id, text = line.rstrip("\\n").split("|")
    with VectorStore.open(sys.argv[1], read_only=False) as store:
        if what == "put":
            store.put_many("docs", [Entry(id, text, [0.5] * 32)], embedder_id="old")
        else:
            store.delete("docs", [id])
    print("written", flush=True)
"""

_COUNT = """
import sys, duckdb
for line in sys.stdin:
    with duckdb.connect(sys.argv[1], read_only=True) as connection:
        print(connection.execute("SELECT count(*) FROM chunks_1").fetchall()[0][0], flush=True)
"""

_KEEP = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
print("ready", flush=True)
for line in sys.stdin:
    found = connection.execute("SELECT active_generation FROM vector_namespaces WHERE namespace = 'docs'")
    print(found.fetchall()[0][0], flush=True)
"""


def is_whole(index: Path) -> bool:
    return all(vector == expected_vector(text) for text, vector in vectors(index).values() if text)


def test_others_read_and_write_while_it_is_built_and_nothing_of_theirs_is_lost(
    index: Path, server: MisbehavingServer
) -> None:
    aim = target(provider(server.url))
    path = begin(index, aim)
    changes = iter(
        ["put|c5|a changed text", "put|n1|a new one", "del|c6|", "put|n2|another", "put|n1|the new one, mended"]
    )
    counted: list[int] = []
    with Program(_WRITE, str(index)) as writes, Program(_COUNT, str(index)) as reads:

        def meanwhile(progress: Progress) -> None:
            change = next(changes, None)
            if change is not None:
                assert writes.ask(change) == "written"
                counted.append(int(reads.ask("")))

        outcome = go(index, path, aim, Controls(on_progress=meanwhile))
    assert outcome.state is RunState.SWAPPED, outcome.message
    assert counted == [100, 101, 100, 101, 101]
    found = vectors(index)
    assert (found["c5"][0], found["n1"][0], found["n2"][0]) == ("a changed text", "the new one, mended", "another")
    assert "c6" not in found
    assert len(found) == 101
    assert is_whole(index)


def write(index: Path, *entries: Entry) -> None:
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(NAMESPACE, entries, embedder_id="old")


def long_text(number: int) -> str:
    return " ".join(sentence(number + each) for each in range(6))


@pytest.mark.parametrize("chars", [None, 150])
@pytest.mark.parametrize("when", ["verifying", "swapping"])
def test_what_is_written_at_the_last_moment_is_in_the_new_generation(
    tmp_path: Path, server: MisbehavingServer, when: str, chars: int | None
) -> None:
    index = make_index(tmp_path / "index.duckdb", 30)
    write(index, Entry("long", long_text(100)), Entry("gone", long_text(1050)), Entry("kept", long_text(1090)))
    aim = target(provider(server.url), chars)
    path = begin(index, aim, resplit=chars is not None)
    done: list[str] = []

    def late(step: str) -> None:
        if step == when and not done:
            done.append(step)
            write(index, Entry("long", long_text(1020)), Entry("late", "written late"), Entry("c3", long_text(1030)))
            with VectorStore.open(index, read_only=False) as store:
                store.delete(NAMESPACE, ["gone", "c4"])

    outcome = go(index, path, aim, Controls(on_step=late))
    assert outcome.state is RunState.SWAPPED, outcome.message
    found = living(index)[1:]
    assert is_whole(index)
    by_source = {row[9] or row[0] for row in found}
    assert {"long", "late", "c3", "kept"} <= by_source
    assert not {"gone", "c4"} & by_source
    for id, text in (("long", long_text(1020)), ("c3", long_text(1030)), ("kept", long_text(1090))):
        ends = [row[11] for row in found if row[9] == id] or [len(row[1]) for row in found if row[0] == id]
        assert max(ends) == len(text)
        assert all(row[1] in text for row in found if id in (row[0], row[9]))
    # What did not change was not asked for again but to be verified.
    assert all(server.asked.times(row[1]) <= 3 for row in found)


def test_a_source_that_is_edited_in_every_round_ends_with_what_is_built_kept(
    index: Path, server: MisbehavingServer
) -> None:
    before = [0]

    def edit(step: str) -> None:
        if step == "swapping":
            before[0] += 1
            write(index, Entry("c1", f"edited {before[0]} times"))

    aim = target(provider(server.url))
    path = begin(index, aim)
    outcome = go(index, path, aim, Controls(on_step=edit))
    assert outcome.state is RunState.PAUSED
    assert "--resume" in outcome.message
    assert before[0] == running.ROUNDS
    assert go(index, path, aim).state is RunState.SWAPPED
    assert is_whole(index)


def test_readers_go_on_with_the_old_file_and_see_the_new_one_when_they_reopen(
    index: Path, server: MisbehavingServer
) -> None:
    before, mode = living(index), index.stat().st_mode
    aim = target(provider(server.url))
    path = begin(index, aim)
    with Program(_KEEP, str(index)) as reader:
        assert reader.line() == "ready"
        outcome = go(index, path, aim)
        assert outcome.state is RunState.SWAPPED
        assert "until they reopen" in outcome.message
        assert reader.ask("") == "1"
    with Program(_KEEP, str(index)) as reader:
        assert reader.line() == "ready"
        assert reader.ask("") == str(outcome.generation)
    assert is_whole(index)
    assert index.stat().st_mode == mode
    (kept,) = files_before(str(index))
    assert kept in outcome.message
    assert living(Path(kept)) == before
    assert living(index, "others")[1][0] == "x"


@pytest.mark.parametrize("when", ["verifying", "swapping"])
def test_a_writer_is_named_and_the_swap_is_done_when_it_has_gone(
    index: Path, server: MisbehavingServer, when: str
) -> None:
    before = living(index)
    aim = target(provider(server.url))
    path = begin(index, aim)
    held: list[Program] = []

    def hold(step: str) -> None:
        if step == when and not held:
            held.append(holder(index, write=True))

    outcome = go(index, path, aim, Controls(on_step=hold))
    with held[0] as program:
        assert outcome.state is RunState.VERIFIED
        assert f"(process {program.pid})" in outcome.message
        assert "--swap" in outcome.message
    assert living(index) == before
    asked = server.asked.requests
    swapped = asyncio.run(running.swap_in(str(index), path, None, Controls()))
    assert swapped.state is RunState.SWAPPED
    assert is_whole(index)
    assert server.asked.requests == asked
    assert siblings(index) == []


def test_a_writer_that_comes_while_it_is_built_does_not_stop_the_build(index: Path, server: MisbehavingServer) -> None:
    aim = target(provider(server.url))
    path = begin(index, aim)
    with holder(index, write=True) as program:
        outcome = go(index, path, aim)
        assert (outcome.state, outcome.embedded) == (RunState.VERIFIED, 100)
        assert str(program.pid) in outcome.message
    assert go(index, path, aim).state is RunState.SWAPPED


def test_a_log_beside_an_index_that_readers_hold_is_not_lost(index: Path, server: MisbehavingServer) -> None:
    code = "import os, sys, duckdb\nc = duckdb.connect(sys.argv[1])\n"
    code += "c.execute(\"UPDATE chunks_1 SET text = 'only in the log', char_count = 15, byte_count = 15,"
    code += " content_hash = sha256('only in the log'), updated_ms = 5000 WHERE id = 'c9'\")\n"
    code += "os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(index)], check=False)
    aim = target(provider(server.url))
    path = begin(index, aim)
    with holder(index, write=False):
        outcome = go(index, path, aim)
        assert outcome.state is RunState.VERIFIED
        assert "index.duckdb.wal" in outcome.message
    assert go(index, path, aim).state is RunState.SWAPPED
    assert vectors(index)["c9"][0] == "only in the log"
    assert is_whole(index)


def _raises(error: BaseException) -> Callable[..., None]:
    def raising(*_: object) -> None:
        raise error

    return raising


def test_a_file_system_without_second_names_is_one_sentence_and_the_build_is_kept(
    index: Path, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = living(index)
    aim = target(provider(server.url))
    path = begin(index, aim)
    monkeypatch.setattr(os, "link", _raises(PermissionError(1, "Operation not permitted")))
    with holder(index, write=False):
        outcome = go(index, path, aim)
    assert outcome.state is RunState.VERIFIED
    assert "Operation not permitted" in outcome.message
    assert living(index) == before
    monkeypatch.undo()
    assert siblings(index) == [Path(path).name]


# A full disk: what may be written to one file is limited, in a process of its own


_LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from tests.reindex.scene import begin, provider, target
from workbench.reindex import running
from workbench.reindex.running import Controls
index, url, limit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
aim = target(provider(url))
found = running.unfinished(str(index))
path = found[0][0] if found else begin(index, aim)
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
outcome = asyncio.run(running.run(str(index), path, aim, Controls()))
print(outcome.state.value, outcome.message.replace(chr(10), " "), sep="|")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of processes")
@pytest.mark.parametrize("most", [20_000, 60_000, 400_000])
def test_a_full_disk_is_a_pause_that_keeps_the_work(tmp_path: Path, server: MisbehavingServer, most: int) -> None:
    index = make_index(tmp_path / "index.duckdb", 300)
    before = living(index)
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(index), server.url, str(most)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    state, message = done.stdout.strip().split("|")
    if state != "swapped":
        assert state in ("paused", "verified"), message
        assert "disk" in message
        assert living(index) == before
        assert go(index, str(index.parent / siblings(index)[0]), target(provider(server.url))).state is RunState.SWAPPED
    assert most > 20_000 or state != "swapped"
    assert is_whole(index)


def test_two_names_of_one_file_are_one_index(index: Path, server: MisbehavingServer, tmp_path: Path) -> None:
    other = tmp_path / "link.duckdb"
    other.symlink_to(index)
    aim = target(provider(server.url))
    path = running.begin(str(other), NAMESPACE, aim, resplit=False, now_ms=1)
    assert Path(path).name.startswith("index.duckdb.reindex-")
    with holder(index, write=False):
        assert go(other, path, aim).state is RunState.SWAPPED
    assert other.is_symlink()
    assert is_whole(index)


def test_a_writer_at_the_beginning_is_named(index: Path, server: MisbehavingServer) -> None:
    from workbench.index.model import SourceError

    with writer(index) as program, holder(index, write=True) as held:
        assert program.ask("SELECT 1").startswith("refused")
        with pytest.raises(SourceError, match=str(held.pid)):
            begin(index, target(provider(server.url)))
    assert siblings(index) == []


def test_a_copy_of_the_index_knows_nothing_of_the_build(index: Path, server: MisbehavingServer, tmp_path: Path) -> None:
    begin(index, target(provider(server.url)))
    copy = shutil.copy(index, tmp_path / "copy.duckdb")
    assert running.unfinished(str(copy)) == ()
    with duckdb.connect(str(copy)) as connection:
        tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert tables == {"workbench_meta", "vector_namespaces", "generations", "chunks_1", "chunks_2"}
