"""A file that is read shuts writers out, and lets them in soon after."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import workbench
from tests.index.processes import Program, holder, leave_a_log, run, writer
from workbench.core.job import Cancelled, Job
from workbench.index import leases, opening
from workbench.index.model import Problem, SourceError

ROOT = str(Path(workbench.__file__).parents[1])
ENDLESS = "SELECT count(*) FROM range(4000000) a, range(4000000) b WHERE a.range * b.range = 7"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Release idle leases after a tenth of a second."""
    monkeypatch.setattr(leases, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(leases, "_TICK_SECONDS", 0.02)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return make_index(tmp_path / "index.duckdb")


def make_index(path: Path, rows: int = 100) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT range AS i FROM range({rows})")
    return path


def count(attachment: opening.Attachment, table: str = "t") -> int:
    with attachment.cursor() as cursor:
        found = cursor.execute(f"SELECT count(*) FROM ix.main.{table}").fetchone()
    assert found is not None
    return int(found[0])


def wait_until_released(attachment: opening.Attachment) -> None:
    deadline = time.monotonic() + 5
    while attachment.held():
        assert time.monotonic() < deadline, "the lease was never released"
        time.sleep(0.01)


def scan_without_end(attachment: opening.Attachment, job: Job, just_before: Callable[[], None]) -> None:
    with attachment.cursor(job) as cursor:
        just_before()
        cursor.execute(ENDLESS).fetchall()


def scanning(attachment: opening.Attachment, job: Job) -> threading.Thread:
    """Start an endless scan in a thread and wait until it runs."""
    started = threading.Event()

    def scan() -> None:
        with pytest.raises(Cancelled):
            scan_without_end(attachment, job, started.set)

    thread = threading.Thread(target=scan)
    thread.start()
    assert started.wait(5)
    return thread


class TestAWriterElsewhere:
    def test_is_refused_while_two_sources_are_open_under_four_names_and_a_scan_runs(
        self, index: Path, tmp_path: Path, quick: None
    ) -> None:
        symlink, hard_link = tmp_path / "symlink", tmp_path / "hardlink"
        symlink.symlink_to(index)
        os.link(index, hard_link)
        other = make_index(tmp_path / "other.duckdb")
        job = Job()
        with opening.attach(index) as first, opening.attach(other) as second, writer(index) as program:
            thread = scanning(first, job)
            for _ in range(3):
                for name in (index, symlink, hard_link):
                    assert opening.sniff(name).container == "duckdb"
                    with opening.attach(name) as again:
                        assert count(again) == 100
                    assert program.ask("INSERT INTO t VALUES (1)").startswith("refused"), name
                assert count(second) == 100
            time.sleep(0.3)  # longer than an idle lease lives
            assert program.ask("INSERT INTO t VALUES (1)").startswith("refused")
            job.cancel()
            thread.join(5)
            assert not thread.is_alive()
            assert not first.changed()

    def test_is_admitted_within_five_seconds_after_the_last_query_and_noticed(self, index: Path) -> None:
        with opening.attach(index) as attachment, writer(index) as program:
            assert count(attachment) == 100
            last_query = time.monotonic()
            while (answer := program.ask("INSERT INTO t VALUES (1)")) != "written":
                assert answer.startswith("refused")
                assert time.monotonic() - last_query < 5
            assert time.monotonic() - last_query > 1, "the lease should outlive the query for a moment"
            assert attachment.changed()
            assert count(attachment) == 101
            assert attachment.changed(), "only opening it again takes note of the new state"

    def test_is_refused_as_long_as_the_file_is_held(self, index: Path, quick: None) -> None:
        with opening.attach(index) as attachment, writer(index) as program:
            with attachment.hold():
                time.sleep(0.3)
                assert attachment.held()
                assert program.ask("INSERT INTO t VALUES (1)").startswith("refused")
            wait_until_released(attachment)
            assert program.ask("INSERT INTO t VALUES (1)") == "written"

    def test_is_admitted_at_once_when_the_file_is_closed(self, index: Path) -> None:
        with writer(index) as program:
            attachment = opening.attach(index)
            other_name = opening.attach(os.path.relpath(index))
            assert program.ask("INSERT INTO t VALUES (1)").startswith("refused")
            attachment.close()
            attachment.close()
            assert program.ask("INSERT INTO t VALUES (1)").startswith("refused"), "one handle is still open"
            other_name.close()
            assert program.ask("INSERT INTO t VALUES (1)") == "written"

    def test_is_named_with_program_and_process(self, index: Path) -> None:
        with holder(index, write=True) as program, pytest.raises(SourceError) as refused:
            opening.attach(index)
        assert refused.value.problem is Problem.LOCKED
        assert refused.value.holder is not None
        assert refused.value.holder.pid == program.pid
        assert "python" in refused.value.holder.program
        for fact in (str(index), str(program.pid), refused.value.holder.program, "the file itself is fine", "copy"):
            assert fact in refused.value.message

    def test_is_named_when_it_came_while_the_lease_was_given_back(self, index: Path, quick: None) -> None:
        with opening.attach(index) as attachment:
            wait_until_released(attachment)
            with holder(index, write=True) as program:
                with pytest.raises(SourceError) as refused:
                    count(attachment)
                assert refused.value.holder is not None
                assert refused.value.holder.pid == program.pid
            assert count(attachment) == 100, "readable again once the writer is gone"

    def test_may_read_at_the_same_time(self, index: Path) -> None:
        with holder(index, write=False), opening.attach(index) as attachment:
            assert count(attachment) == 100

    def test_keeps_our_own_store_from_writing_while_it_reads(self, index: Path) -> None:
        with holder(index, write=False) as program, pytest.raises(SourceError) as refused:
            opening.attach(index, read_only=False)
        assert refused.value.holder is not None
        assert refused.value.holder.pid == program.pid
        assert "reads it" in refused.value.message


class TestWhatChanged:
    def test_a_file_put_in_place_of_the_first_is_noticed_and_read(
        self, index: Path, tmp_path: Path, quick: None
    ) -> None:
        with opening.attach(index) as attachment:
            make_index(tmp_path / "next.duckdb", rows=7).replace(index)
            assert attachment.changed()
            assert count(attachment) == 7

    def test_a_file_put_in_place_that_is_none_is_refused(self, index: Path, quick: None) -> None:
        with opening.attach(index) as attachment:
            index.unlink()
            with pytest.raises(SourceError) as missing:
                count(attachment)
            assert missing.value.problem is Problem.MISSING
            os.mkfifo(index)
            with pytest.raises(SourceError) as pipe:
                count(attachment)
            assert pipe.value.problem is Problem.NOT_A_FILE
            assert attachment.changed()

    def test_a_log_that_a_killed_writer_left_is_noticed(self, index: Path, quick: None) -> None:
        with opening.attach(index) as attachment:
            wait_until_released(attachment)
            leave_a_log(index)
            assert attachment.changed()
            assert count(attachment) == 101


class TestALogBesideTheFile:
    def test_is_replayed_in_memory_left_alone_and_said(self, index: Path) -> None:
        log = leave_a_log(index)
        before = index.read_bytes(), log.read_bytes()
        with opening.attach(index) as attachment:
            assert count(attachment) == 101
            (note,) = attachment.notes
            assert ".wal" in note
            assert "left alone" in note
        assert (index.read_bytes(), log.read_bytes()) == before
        assert sorted(path.name for path in index.parent.iterdir()) == ["index.duckdb", "index.duckdb.wal"]

    def test_is_found_for_a_name_with_a_question_mark(self, tmp_path: Path) -> None:
        odd = make_index(tmp_path / "a?b.duckdb")
        leave_a_log(odd, tmp_path / "a.wal?b.duckdb")
        with opening.attach(odd) as attachment:
            assert count(attachment) == 101
            assert attachment.notes


class TestWritingOurOwnFile:
    def test_idle_readers_give_way_and_share(self, index: Path) -> None:
        with opening.attach(index) as reader, opening.attach(index, read_only=False) as store:
            with store.cursor() as cursor:
                cursor.execute("INSERT INTO ix.main.t VALUES (1)")
            assert count(reader) == 101
            assert reader.changed()
            assert not store.changed()
            with opening.attach(index) as late:
                assert count(late) == 101
                assert not late.notes, "the log is our own"

    def test_a_running_query_makes_the_store_wait_and_then_refuse(
        self, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(leases, "YIELD_SECONDS", 0.1)
        with opening.attach(index) as reader, reader.hold():
            with pytest.raises(SourceError) as refused:
                opening.attach(index, read_only=False)
            assert refused.value.problem is Problem.LOCKED
        with opening.attach(index, read_only=False):
            pass

    def test_is_not_given_back_when_idle_and_is_when_closed(self, index: Path, quick: None) -> None:
        with writer(index) as program:
            with opening.attach(index, read_only=False) as store, opening.attach(index):
                time.sleep(0.3)
                assert store.held()
                assert program.ask("INSERT INTO t VALUES (1)").startswith("refused")
            assert program.ask("INSERT INTO t VALUES (1)") == "written"

    def test_a_reader_left_behind_cannot_write(self, index: Path) -> None:
        with opening.attach(index) as reader:
            with opening.attach(index, read_only=False):
                pass
            with pytest.raises(duckdb.Error), reader.cursor() as cursor:
                cursor.execute("INSERT INTO ix.main.t VALUES (1)")


class TestInOneProcess:
    def test_a_connection_of_other_code_keeps_its_lock(self, index: Path, tmp_path: Path) -> None:
        os.link(index, tmp_path / "hardlink")  # DuckDB itself tells only names apart
        with writer(index) as program, duckdb.connect(str(index)):
            for name in (index, tmp_path / "hardlink"):
                assert opening.sniff(name).container == "duckdb"
                with pytest.raises(SourceError) as refused:
                    opening.attach(name)
                assert refused.value.problem is Problem.LOCKED
                assert "this same process" in refused.value.message
            assert program.ask("INSERT INTO t VALUES (1)").startswith("refused")

    def test_threads_that_open_and_close_at_random_never_lose_the_lock(self, tmp_path: Path, quick: None) -> None:
        files = [make_index(tmp_path / f"{n}.duckdb") for n in range(2)]
        for file in files:
            os.link(file, file.with_suffix(".link"))
        names = [name for file in files for name in (file, file.with_suffix(".link"))]
        failures: list[BaseException] = []
        before = set(leases._leases)
        over = threading.Event()

        def work(seed: int) -> None:
            chance = random.Random(seed)
            try:
                while not over.is_set():
                    name = chance.choice(names)
                    opening.sniff(name)
                    with opening.attach(name) as attachment:
                        for _ in range(chance.randrange(3)):
                            assert count(attachment) == 100
                        if chance.random() < 0.2:
                            over.wait(0.15)
            except BaseException as error:
                failures.append(error)

        with opening.attach(files[0]) as held, held.hold(), writer(files[0]) as program:
            threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
            for thread in threads:
                thread.start()
            answers = [program.ask("INSERT INTO t VALUES (1)") for _ in range(30)]
            over.set()
            for thread in threads:
                thread.join(20)
        assert not failures
        assert all(answer.startswith("refused") for answer in answers)
        assert set(leases._leases) == before, "everything was given back"
        assert not any(thread.is_alive() for thread in threads)

    def test_closing_interrupts_the_running_query(self, index: Path) -> None:
        attachment = opening.attach(index)
        thread = scanning(attachment, Job())
        started = time.monotonic()
        attachment.close()
        thread.join(5)
        assert not thread.is_alive()
        assert time.monotonic() - started < 1
        with pytest.raises(Cancelled), attachment.cursor():
            pass

    def test_cancelling_a_job_leaves_the_other_queries_alone(self, index: Path) -> None:
        stopped, kept = Job(), Job()
        with opening.attach(index) as attachment:
            first, second = scanning(attachment, stopped), scanning(attachment, kept)
            stopped.cancel()
            first.join(5)
            assert not first.is_alive()
            assert second.is_alive()
            kept.cancel()
            second.join(5)
            assert not second.is_alive()
            assert count(attachment) == 100

    def test_a_query_that_starts_just_after_the_cancel_is_stopped_too(self, index: Path) -> None:
        job = Job()
        with opening.attach(index) as attachment, pytest.raises(Cancelled):
            scan_without_end(attachment, job, job.cancel)

    def test_an_open_lease_does_not_keep_the_process_alive(self, index: Path) -> None:
        started = time.monotonic()
        run(
            "import sys\nfrom workbench.index import opening\na = opening.attach(sys.argv[1])\n"
            "with a.cursor() as c: c.execute('select 1').fetchall()",
            str(index),
        )
        assert time.monotonic() - started < 30


_SPILL = """
import sys
from workbench.index import opening
a = opening.attach(sys.argv[1])
with a.cursor() as c:
    print("scanning", flush=True)
    c.execute("SELECT md5(i::VARCHAR || range) AS m FROM ix.main.t, range(60000) ORDER BY m").fetchmany(1)
    print("never", flush=True)
"""


class TestAKillInTheMiddleOfAScan:
    def test_leaves_the_file_and_every_folder_as_they_were(self, tmp_path: Path) -> None:
        folders = {name: tmp_path / name for name in ("data", "cwd", "tmp", "cache")}
        for folder in folders.values():
            folder.mkdir()
        index = make_index(folders["data"] / "index.duckdb", rows=500)
        before = index.read_bytes()
        env = {"XDG_CACHE_HOME": str(folders["cache"]), "TMPDIR": str(folders["tmp"]), "PYTHONPATH": ROOT}
        with Program(_SPILL, str(index), env=env, cwd=folders["cwd"]) as program:
            assert program.line() == "scanning"
            deadline = time.monotonic() + 60
            while not list(folders["cache"].rglob("duckdb_temp*")):
                assert time.monotonic() < deadline, "the scan never spilled"
                time.sleep(0.02)
            program.kill()
        assert index.read_bytes() == before
        assert [path.name for path in folders["data"].iterdir()] == ["index.duckdb"]
        assert not list(folders["cwd"].iterdir())
        assert not list(folders["tmp"].iterdir())
        left = list(folders["cache"].rglob("duckdb_temp*"))
        assert left
        run(
            "import sys\nfrom workbench.index import opening\nopening.attach(sys.argv[1]).close()",
            str(index),
            env=env,
            cwd=folders["cwd"],
        )
        assert not any(path.is_file() for path in folders["cache"].rglob("*")), "the next start removes it"

    def test_a_scan_that_ends_removes_what_it_spilled(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        index = make_index(tmp_path / "index.duckdb", rows=500)
        monkeypatch.chdir(tmp_path)
        with opening.attach(index) as attachment, attachment.cursor() as cursor:
            query = "SELECT md5(i::VARCHAR || range) AS m FROM ix.main.t, range(12000) ORDER BY m"
            assert cursor.execute(query).fetchmany(1)
            spilled = list(Path(os.environ["XDG_CACHE_HOME"]).rglob("duckdb_temp*"))
            assert spilled
        assert not list(Path(os.environ["XDG_CACHE_HOME"]).rglob("duckdb_temp*"))
        assert [path.name for path in tmp_path.iterdir()] == ["index.duckdb"]
