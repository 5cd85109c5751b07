"""SQLite files are read in place while nobody writes them, else from a consistent copy, and nothing is left beside."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.index.processes import Program, run
from workbench.core.job import Cancelled, Job
from workbench.index import opening
from workbench.index.model import Problem, SourceError

# Every transaction moves an amount between two rows far apart: any torn state has another sum.
_BUSY = """
import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA journal_mode = " + sys.argv[2])
c.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, n INTEGER, pad BLOB)")
c.execute("BEGIN")
c.executemany("INSERT OR IGNORE INTO t VALUES (?, 100, zeroblob(2000))", [(i,) for i in range(300)])
c.execute("COMMIT")
print("ready", flush=True)
pause = float(sys.argv[3])
for round in range(10**9):
    c.execute("BEGIN IMMEDIATE")
    c.execute("UPDATE t SET n = n - 1 WHERE id = ?", (round % 150,))
    c.execute("UPDATE t SET n = n + 1 WHERE id = ?", (299 - round % 150,))
    c.execute("COMMIT")
    time.sleep(pause)
"""

_OPEN_WAL = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA journal_mode = WAL")
c.execute("CREATE TABLE t (i)")
c.execute("INSERT INTO t VALUES (1), (2)")
print("ready", flush=True)
for line in sys.stdin:
    c.execute(line)
    print("done", flush=True)
"""

# Pages reach the file before the commit because the cache is tiny; then the power fails.
_CRASH = """
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA cache_size = 2")
c.execute("BEGIN")
c.execute("UPDATE t SET i = i + 1000")
os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make(tmp_path / "index.db", "CREATE TABLE t (i)", "INSERT INTO t VALUES (1), (2), (3)")


def make(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return path


def total(source: opening.SqliteFile, what: str = "sum(i)") -> int:
    with source.cursor() as connection:
        (found,) = connection.execute(f"SELECT {what} FROM t").fetchone()
    return int(found)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


def read_and_write(block: AbstractContextManager[object], file: Path) -> None:
    """Write the file while it is read."""
    with block:
        make(file, "INSERT INTO t VALUES (4)")


def sum_or_problem(path: Path) -> int | Problem:
    try:
        with opening.open_sqlite(path) as source:
            return total(source, "sum(n)")
    except SourceError as error:
        return error.problem


class TestInPlace:
    def test_a_file_at_rest_is_read_where_it_lies(self, file: Path, cache: Path) -> None:
        file.chmod(0o444)
        before = contents(file.parent)
        with opening.open_sqlite(file) as source:
            assert total(source) == 6
            assert source.notes == ()
            assert not source.held()
            assert not source.changed()
            assert not [path for path in cache.rglob("*") if path.is_file()]
        assert contents(file.parent) == before

    def test_a_file_in_wal_mode_gets_no_log_beside_it(self, file: Path) -> None:
        make(file, "PRAGMA journal_mode = WAL", "INSERT INTO t VALUES (4)")
        (file.parent / "index.db-wal").touch()
        with opening.open_sqlite(file) as source:
            assert total(source) == 10
            assert source.notes == ()
        assert sorted(path.name for path in file.parent.iterdir()) == ["index.db", "index.db-wal"]

    def test_a_journal_that_is_only_kept_for_reuse_is_no_reason_to_copy(self, file: Path) -> None:
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("PRAGMA journal_mode = PERSIST")
        connection.execute("INSERT INTO t VALUES (4)")
        connection.close()
        assert (file.parent / "index.db-journal").stat().st_size
        with opening.open_sqlite(file) as source:
            assert total(source) == 10
            assert source.notes == ()

    def test_writers_are_never_shut_out_and_what_they_write_is_noticed(self, file: Path) -> None:
        with opening.open_sqlite(file) as source:
            assert total(source) == 6
            make(file, "INSERT INTO t VALUES (4)")
            assert source.changed()
            assert total(source) == 10

    def test_an_answer_during_which_the_file_was_written_is_refused(self, file: Path) -> None:
        with opening.open_sqlite(file) as source:
            with pytest.raises(SourceError) as refused:
                read_and_write(source.cursor(), file)
            assert refused.value.problem is Problem.BEING_WRITTEN
            assert total(source) == 10
            with pytest.raises(SourceError):
                read_and_write(source.hold(), file)


class TestACopy:
    def test_holds_what_is_only_in_the_log_and_says_so(self, tmp_path: Path, cache: Path) -> None:
        path = tmp_path / "live.db"
        with Program(_OPEN_WAL, str(path)) as program:
            assert program.line() == "ready"
            before = contents(tmp_path)
            with opening.open_sqlite(path) as source:
                assert total(source) == 3
                (note,) = source.notes
                assert f"copy of {time.strftime('%H:')}" in note
                assert not source.changed()
                assert program.ask("INSERT INTO t VALUES (3)") == "done", "the writer is not shut out"
                assert source.changed()
                assert total(source) == 3, "a copy stays what it is"
                with source.hold():
                    assert total(source) == 3
                assert [path for path in cache.rglob("*") if path.is_file()]
            assert not [path for path in cache.rglob("*") if path.is_file()]
            with opening.open_sqlite(path) as again:
                assert total(again) == 6
            assert sorted(contents(tmp_path)) == sorted(before)

    def test_undoes_a_transaction_that_crashed_and_leaves_the_file_to_its_owner(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "index.db",
            "CREATE TABLE t (i, pad)",
            "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
            " SELECT i, zeroblob(900) FROM n",
        )
        run(_CRASH, str(path))
        assert (tmp_path / "index.db-journal").stat().st_size, "a hot journal"
        before = contents(tmp_path)
        with opening.open_sqlite(path) as source:
            assert total(source) == 500 * 501 // 2
            assert source.notes
        assert contents(tmp_path) == before

    def test_a_journal_that_names_another_file_is_not_followed(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "index.db",
            "CREATE TABLE t (i, pad)",
            "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
            " SELECT i, zeroblob(900) FROM n",
        )
        run(_CRASH, str(path))
        precious = tmp_path / "precious.txt"
        precious.write_text("SQLite deletes a super-journal that no journal names any more")
        name = os.fsencode(precious)
        with open(tmp_path / "index.db-journal", "ab") as journal:
            journal.write(
                b"\0\0\0\0" + name + len(name).to_bytes(4, "big") + (sum(name) & 0xFFFFFFFF).to_bytes(4, "big")
            )
            journal.write(bytes.fromhex("d9d505f920a163d7"))
        with pytest.raises(SourceError) as refused:
            opening.open_sqlite(path)
        assert refused.value.problem is Problem.BEING_WRITTEN
        assert precious.exists()

    @pytest.mark.parametrize("mode", ["WAL", "DELETE"])
    @pytest.mark.parametrize("pause", ["0", "0.03"])
    def test_under_a_busy_writer_is_consistent_or_refused(self, tmp_path: Path, mode: str, pause: str) -> None:
        path = tmp_path / "busy.db"
        outcomes: list[int | Problem] = []
        with Program(_BUSY, str(path), mode, pause) as program:
            assert program.line() == "ready"
            for _ in range(4):
                outcomes.append(sum_or_problem(path))
            program.kill()
        assert set(outcomes) <= {300 * 100, Problem.BEING_WRITTEN}
        assert sum_or_problem(path) == 300 * 100, "readable once the writer is gone"

    def test_two_sources_of_one_process_do_not_disturb_a_writer_in_it(self, tmp_path: Path) -> None:
        path = tmp_path / "own.db"
        mine = sqlite3.connect(path, isolation_level=None)
        mine.execute("PRAGMA journal_mode = WAL")
        mine.execute("CREATE TABLE t (i)")
        mine.execute("INSERT INTO t VALUES (1)")
        mine.execute("BEGIN EXCLUSIVE")
        mine.execute("INSERT INTO t VALUES (5)")
        with opening.open_sqlite(path) as source, opening.open_sqlite(path) as second:
            assert total(source) == total(second) == 1
        answer = run(
            "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], timeout=0)\n"
            "try:\n c.execute('INSERT INTO t VALUES (9)')\nexcept sqlite3.OperationalError as e: print(e)",
            str(path),
        )
        assert "locked" in answer
        mine.execute("COMMIT")
        mine.close()


class TestHostileSqlite:
    def test_views_and_triggers_of_the_file_never_run(self, file: Path) -> None:
        make(
            file,
            "CREATE VIEW v AS SELECT i FROM t",
            "CREATE VIEW af_vectors AS SELECT hex(zeroblob(100000000)) AS id FROM t",
            "CREATE TRIGGER g INSTEAD OF INSERT ON v BEGIN SELECT 1; END",
        )
        with opening.open_sqlite(file) as source:
            for view in ("v", "af_vectors"):
                with (
                    pytest.raises(sqlite3.DatabaseError, match=r"prohibited|not authorized"),
                    source.cursor() as connection,
                ):
                    connection.execute(f"SELECT * FROM {view}").fetchall()
            assert total(source) == 6

    def test_statements_can_only_read(self, file: Path, tmp_path: Path) -> None:
        other = make(tmp_path / "other.db", "CREATE TABLE t (i)")
        for statement in (
            "INSERT INTO t VALUES (1)",
            "CREATE TABLE x (i)",
            f"ATTACH '{other}' AS other",
            f"VACUUM INTO '{tmp_path / 'out.db'}'",
            "PRAGMA writable_schema = ON",
            "SELECT load_extension('x')",
        ):
            with (
                opening.open_sqlite(file) as source,
                pytest.raises(sqlite3.Error),
                source.cursor() as connection,
            ):
                connection.execute(statement).fetchall()
        assert not (tmp_path / "out.db").exists()

    def test_what_readers_need_is_allowed(self, file: Path) -> None:
        with opening.open_sqlite(file) as source, source.cursor() as connection:
            nested = "WITH a AS (SELECT i FROM t) SELECT count(*), sum(i) FROM (SELECT * FROM a)"
            assert connection.execute(nested).fetchone() == (3, 6)
            assert connection.execute("PRAGMA table_info(t)").fetchall()
            assert connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall() == [("t",)]
            assert connection.execute("SELECT json_extract('{\"a\": 2}', '$.a')").fetchone() == (2,)

    def test_a_value_without_end_is_refused(self, file: Path) -> None:
        with (
            opening.open_sqlite(file) as source,
            pytest.raises(SourceError) as refused,
            source.cursor() as connection,
        ):
            connection.execute("SELECT zeroblob(1000000000)").fetchall()
        assert refused.value.problem is Problem.NOT_READABLE_YET

    def test_a_file_that_is_sqlite_only_by_its_first_bytes_is_damage(self, tmp_path: Path) -> None:
        path = tmp_path / "index.db"
        path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
        with opening.open_sqlite(path) as source, pytest.raises(SourceError) as refused, source.cursor():
            pass
        assert refused.value.problem is Problem.DAMAGED
        assert refused.value.container == "sqlite"


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def scan_without_end(source: opening.SqliteFile, job: Job | None, started: threading.Event) -> None:
    with source.cursor(job) as connection:
        started.set()
        connection.execute(ENDLESS).fetchall()


class TestStopping:
    def test_cancelling_the_job_and_closing_stop_the_query(self, file: Path) -> None:
        job = Job()
        source = opening.open_sqlite(file)
        for stop in (job.cancel, source.close):
            started, stopped = threading.Event(), threading.Event()

            def scan(used: Job | None, started: threading.Event, stopped: threading.Event) -> None:
                with pytest.raises(Cancelled):
                    scan_without_end(source, used, started)
                stopped.set()

            thread = threading.Thread(target=scan, args=(job if stop == job.cancel else None, started, stopped))
            thread.start()
            assert started.wait(5)
            stop()
            assert stopped.wait(5)
            thread.join()
        with pytest.raises(Cancelled), source.cursor():
            pass
        source.close()
