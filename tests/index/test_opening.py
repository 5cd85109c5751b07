"""Whatever a path names, it is opened safely or refused in one clear sentence."""

from __future__ import annotations

import os
import socket
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.index.processes import leave_a_log
from tests.shared_files import SAMPLES, needs_samples
from workbench.index import opening, sniffing
from workbench.index.model import Problem, SourceError


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return cache


def make_duckdb(path: Path, rows: int = 3, storage: str = "v1.2.0") -> Path:
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"ATTACH ? AS made (STORAGE_VERSION '{storage}')", [str(path)])
        connection.execute(f"CREATE TABLE made.t AS SELECT range AS i, 'text ' || range AS s FROM range({rows})")
    return path


def make_sqlite(path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (i)")
        connection.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (3,)])
    connection.close()
    return path


def refusal(path: str | Path) -> SourceError:
    """Sniff a path that cannot be opened; check what holds for every such message."""
    with pytest.raises(SourceError) as refused:
        opening.sniff(path)
    error = refused.value
    assert str(path) in error.message
    assert "Traceback" not in error.message
    assert not error.message.endswith(".")
    assert ";" in error.message or ":" in error.message or "," in error.message, "it says what to do"
    return error


class TestByContent:
    @pytest.mark.parametrize(
        ("content", "problem", "container", "says"),
        [
            (b"", Problem.EMPTY, None, "empty"),
            (b"# notes\n", Problem.NOT_AN_INDEX, None, "text"),
            (b"\x00\x01\xfe" * 40, Problem.NOT_AN_INDEX, None, "unknown kind"),
            (b"\x89PNG\r\n\x1a\n", Problem.NOT_AN_INDEX, None, "picture"),
            (b"\x93NUMPY\x01\x00", Problem.NOT_AN_INDEX, None, "numpy"),
            (b'{"name": "x", "version": 3}', Problem.NOT_AN_INDEX, None, "JSON"),
            (b"PAR1" + bytes(40), Problem.NOT_READABLE_YET, "parquet", "Parquet"),
            (b'{"format": "agentfootprint.recording.v1"}', Problem.NOT_READABLE_YET, "recording", "recording"),
            (b'\xef\xbb\xbf {"resourceSpans": []}', Problem.NOT_READABLE_YET, "recording", "recording"),
            (b"interactions:\n- request: {}\n", Problem.NOT_READABLE_YET, "recording", "recording"),
            (b'{"record": "start"}\n', Problem.NOT_READABLE_YET, "routing-log", "routing log"),
            (b'{"leg": "primary", "outcome": "success"}\n', Problem.NOT_READABLE_YET, "routing-log", "routing log"),
            (bytes(8) + b"DUCK" + bytes(8), Problem.TRUNCATED, "duckdb", "cut short"),
        ],
    )
    def test_other_content_is_named(
        self, tmp_path: Path, content: bytes, problem: Problem, container: str | None, says: str
    ) -> None:
        path = tmp_path / "index.duckdb"  # the name says nothing
        path.write_bytes(content)
        error = refusal(path)
        assert (error.problem, error.container) == (problem, container)
        assert says in error.message

    def test_duckdb_and_sqlite_are_told_by_their_headers(self, tmp_path: Path) -> None:
        database = make_duckdb(tmp_path / "notes.txt")
        found = opening.sniff(database)
        assert found.container == "duckdb"
        assert (found.inode, found.size) == (database.stat().st_ino, database.stat().st_size)
        assert found.mtime_ns == database.stat().st_mtime_ns
        assert opening.sniff(make_sqlite(tmp_path / "index.duckdb")).container == "sqlite"

    def test_attaching_what_is_sqlite_and_the_other_way_round_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match="is a SQLite file, not a DuckDB file"):
            opening.attach(make_sqlite(tmp_path / "a"))
        with pytest.raises(SourceError):
            opening.open_sqlite(make_duckdb(tmp_path / "b"))


class TestWhatIsNoFile:
    def test_missing(self, tmp_path: Path) -> None:
        assert refusal(tmp_path / "none.duckdb").problem is Problem.MISSING
        assert refusal(make_duckdb(tmp_path / "file") / "below").problem is Problem.MISSING
        assert refusal("x" * 5000).problem is Problem.MISSING
        assert refusal("nul\0byte").problem is Problem.MISSING
        assert list(tmp_path.iterdir()) == [tmp_path / "file"], "nothing is created by looking"

    def test_an_empty_path_is_not_taken_for_the_working_folder(self) -> None:
        error = refusal("")
        assert error.problem is Problem.MISSING
        assert "empty path" in error.message

    def test_links_that_lead_nowhere(self, tmp_path: Path) -> None:
        dangling, circle = tmp_path / "dangling", tmp_path / "circle"
        dangling.symlink_to(tmp_path / "gone.duckdb")
        circle.symlink_to(circle)
        assert refusal(dangling).problem is Problem.MISSING
        assert "link" in refusal(dangling).message
        assert refusal(circle).problem is Problem.MISSING

    def test_pipes_sockets_and_devices_are_never_opened(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)  # a socket's name has to be short
        os.mkfifo("pipe")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket")
            monkeypatch.setattr(os, "open", _never)
            for path in ("pipe", "socket", "/dev/null", "/dev/zero"):
                assert refusal(path).problem is Problem.NOT_A_FILE

    def test_folders(self, tmp_path: Path) -> None:
        plain, chroma, lance = tmp_path / "plain", tmp_path / "chroma", tmp_path / "lance"
        for folder in (plain, chroma, lance, lance / "docs.lance"):
            folder.mkdir()
        make_sqlite(chroma / "chroma.sqlite3")
        assert refusal(plain).problem is Problem.DIRECTORY
        for folder, container in ((chroma, "chroma"), (lance, "lance"), (lance / "docs.lance", "lance")):
            error = refusal(folder)
            assert (error.problem, error.container) == (Problem.NOT_READABLE_YET, container)

    @pytest.mark.parametrize(
        "name",
        ["s3://bucket/index.duckdb", "https://example.org/i.duckdb", "file:///tmp/i.duckdb", "md:my_db", "motherduck:x",
         "postgres:dbname=x", "hf://datasets/x", "s3:bucket", "az://c/x", "quack:x", "MD:x"],
    )  # fmt: skip
    def test_urls_are_never_handed_on(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(duckdb, "connect", _never)
        assert refusal(name).problem is Problem.URL
        with pytest.raises(SourceError) as refused:
            opening.create(name, storage_version="v1.2.0")
        assert refused.value.problem is Problem.URL
        with pytest.raises(SourceError):
            opening.attach(name)

    def test_permission_denied(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = make_duckdb(tmp_path / "index.duckdb")
        path.chmod(0)
        if os.geteuid() == 0:  # may read everything
            monkeypatch.setattr(os, "open", _denied)
        assert "permission" in refusal(path).message
        with pytest.raises(SourceError, match="permission"):
            opening.attach(path)


class TestOddNames:
    NAMES = (
        "~tilde.duckdb", "-leading", "it's", 'quo"te', "semi;colon", "two words", "new\nline", "häß🦆", "que?ry=1",
        "ha#sh", "per%25cent", "star*[a]", "md:x", ":memory:", "s3:x", "\x1b[31mred",
    )  # fmt: skip

    @pytest.mark.parametrize("name", NAMES)
    def test_are_opened_as_they_stand(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.chdir(tmp_path)
        make_duckdb(tmp_path / "made").rename(tmp_path / name)
        with opening.attach(name) as attachment, attachment.cursor() as cursor:
            assert cursor.execute("SELECT count(*) FROM ix.main.t").fetchone() == (3,)
        make_sqlite(tmp_path / "lite").replace(tmp_path / name)
        with opening.open_sqlite(name) as file, file.cursor() as connection:
            assert connection.execute("SELECT count(*) FROM t").fetchone() == (3,)
        assert [path.name for path in tmp_path.iterdir()] == [name]

    def test_a_relative_name_survives_a_change_of_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        make_duckdb(tmp_path / "index.duckdb")
        monkeypatch.chdir(tmp_path)
        with opening.attach("index.duckdb") as attachment:
            monkeypatch.chdir("/")
            assert attachment.path == "index.duckdb"
            with attachment.cursor() as cursor:
                assert cursor.execute("SELECT count(*) FROM ix.main.t").fetchone() == (3,)

    def test_a_backslash_is_refused_by_name(self, tmp_path: Path) -> None:
        error = refusal(make_duckdb(tmp_path / "made").rename(tmp_path / "back\\slash"))
        assert error.container == "duckdb"
        assert "backslash" in error.message

    def test_bytes_that_are_no_utf8_are_refused_by_name(self, tmp_path: Path) -> None:
        name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.duckdb")
        os.rename(make_duckdb(tmp_path / "made"), name)
        assert "UTF-8" in refusal(name).message


class TestDamage:
    def test_cut_short_is_found_at_opening(self, tmp_path: Path) -> None:
        path = make_duckdb(tmp_path / "index.duckdb", rows=300_000)
        for size in (100, 12_288, 100_000, path.stat().st_size // 2):
            os.truncate(path, size)
            assert attach_refusal(path).problem is Problem.TRUNCATED
            path.unlink()
            make_duckdb(path, rows=300_000)

    def test_a_flipped_bit_is_found_by_the_scan_that_meets_it(self, tmp_path: Path) -> None:
        path = make_duckdb(tmp_path / "index.duckdb", rows=300_000)
        flip(path, path.stat().st_size // 2)
        with (
            opening.attach(path) as attachment,
            pytest.raises(SourceError) as refused,
            attachment.cursor() as cursor,
        ):
            cursor.execute("SELECT sum(length(s)), sum(i) FROM ix.main.t").fetchall()
        assert refused.value.problem is Problem.DAMAGED
        assert str(path) in refused.value.message

    def test_a_flipped_header_and_a_foreign_log_are_damage(self, tmp_path: Path) -> None:
        path = make_duckdb(tmp_path / "index.duckdb")
        flip(path, 4100)
        assert attach_refusal(path).problem is Problem.DAMAGED
        sound = make_duckdb(tmp_path / "sound.duckdb", storage="latest")
        log = leave_a_log(make_duckdb(tmp_path / "other.duckdb", storage="latest")).replace(
            tmp_path / "sound.duckdb.wal"
        )
        content = log.read_bytes()
        with pytest.raises(SourceError) as refused:
            opening.attach(sound)
        assert refused.value.problem is Problem.DAMAGED
        assert ".wal" in refused.value.message
        assert log.read_bytes() == content

    @pytest.mark.parametrize("seed", range(12))
    def test_random_damage_is_never_more_than_one_sentence(self, tmp_path: Path, seed: int) -> None:
        path = make_duckdb(tmp_path / "index.duckdb", rows=2_000)
        flip(path, (seed * 7_919 * 31 + 8) % path.stat().st_size)
        error = problem_of(path, "SELECT sum(length(s)), sum(i) FROM ix.main.t")
        found = error.problem if error else None
        assert found in (None, Problem.DAMAGED, Problem.TOO_NEW, Problem.ENCRYPTED, Problem.NOT_AN_INDEX)

    def test_an_error_in_the_statement_is_not_taken_for_damage(self, tmp_path: Path) -> None:
        with (
            opening.attach(make_duckdb(tmp_path / "i")) as attachment,
            pytest.raises(duckdb.CatalogException),
            attachment.cursor() as cursor,
        ):
            cursor.execute("SELECT * FROM ix.main.none")


class TestVersions:
    def test_a_newer_storage_version_is_named(self, tmp_path: Path) -> None:
        path = make_duckdb(tmp_path / "index.duckdb")
        content = bytearray(path.read_bytes())
        content[12:20] = struct.pack("<Q", sniffing.NEWEST_STORAGE + 1)
        path.write_bytes(content)
        error = refusal(path)
        assert error.problem is Problem.TOO_NEW
        assert str(sniffing.NEWEST_STORAGE + 1) in error.message
        assert "upgrade" in error.message

    def test_the_newest_version_known_is_what_the_library_writes(self, tmp_path: Path) -> None:
        newest = make_duckdb(tmp_path / "index.duckdb", storage="latest").read_bytes()
        assert struct.unpack_from("<Q", newest, 12) == (sniffing.NEWEST_STORAGE,)
        assert opening.sniff(tmp_path / "index.duckdb").container == "duckdb"

    def test_a_version_message_of_the_library_is_understood(self) -> None:
        words = "IO Error: ... file was created with version 70, but we can only read versions between 64 and 68"
        assert opening.translate(duckdb.IOException(words), "x").problem is Problem.TOO_NEW

    def test_an_encrypted_file_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "secret.duckdb"
        with duckdb.connect(":memory:") as connection:
            connection.execute("SET force_mbedtls_unsafe = 'true'")
            connection.execute("ATTACH ? AS e (ENCRYPTION_KEY 'key')", [str(path)])
            connection.execute("CREATE TABLE e.t AS SELECT 1")
        assert refusal(path).problem is Problem.ENCRYPTED


class TestCreate:
    def test_makes_an_empty_file_of_the_version_asked_for(self, tmp_path: Path) -> None:
        path = tmp_path / "new.duckdb"
        opening.create(path, storage_version="v1.2.0")
        assert struct.unpack_from("<Q", path.read_bytes(), 12) == (65,)
        with opening.attach(path, read_only=False) as store, store.cursor() as cursor:
            cursor.execute("CREATE TABLE ix.main.t AS SELECT 1 AS i")
        with duckdb.connect(str(path), read_only=True) as connection:
            assert connection.execute("SELECT i FROM t").fetchall() == [(1,)]
        assert [entry.name for entry in tmp_path.iterdir()] == ["new.duckdb"]

    def test_never_over_something_that_is_there(self, tmp_path: Path) -> None:
        taken, log = tmp_path / "taken", tmp_path / "new.duckdb.wal"
        taken.write_text("mine")
        log.write_text("a log of an earlier file")
        (tmp_path / "link").symlink_to(tmp_path / "gone")
        for name in ("taken", "link", "new.duckdb"):
            with pytest.raises(FileExistsError):
                opening.create(tmp_path / name, storage_version="v1.2.0")
        assert taken.read_text() == "mine"
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "new.duckdb.wal", "taken"]

    def test_without_files_that_have_no_name_the_result_is_the_same(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
        opening.create(tmp_path / "new.duckdb", storage_version="v1.2.0")
        with pytest.raises(FileExistsError):
            opening.create(tmp_path / "new.duckdb", storage_version="v1.2.0")
        assert opening.sniff(tmp_path / "new.duckdb").container == "duckdb"
        assert [entry.name for entry in tmp_path.iterdir()] == ["new.duckdb"]

    def test_a_missing_folder_and_a_strange_version_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError) as refused:
            opening.create(tmp_path / "none" / "new.duckdb", storage_version="v1.2.0")
        assert refused.value.problem is Problem.MISSING
        with pytest.raises(ValueError, match="storage version"):
            opening.create(tmp_path / "new.duckdb", storage_version="v1'); DROP")


class TestWithoutACacheFolder:
    @pytest.fixture(autouse=True)
    def none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "no-folder").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no-folder"))

    def test_reading_works_as_long_as_no_room_is_needed(self, tmp_path: Path) -> None:
        assert problem_of(make_duckdb(tmp_path / "index.duckdb"), "SELECT count(*) FROM ix.main.t") is None
        assert problem_of(make_sqlite(tmp_path / "index.db"), "SELECT count(*) FROM t") is None

    def test_what_needs_room_says_where(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match="no-folder"):
            opening.create(tmp_path / "new.duckdb", storage_version="v1.2.0")
        database = make_sqlite(tmp_path / "index.db")
        (tmp_path / "index.db-wal").write_bytes(bytes(100))
        with pytest.raises(SourceError, match="no-folder"):
            opening.open_sqlite(database)


@needs_samples
class TestSamples:
    def test_every_sample_is_opened_or_named_and_none_is_altered(self) -> None:
        files = sorted(path for path in SAMPLES.rglob("*") if path.is_file())
        before = {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}
        errors = [(path, problem_of(path, "SELECT 1")) for path in files]
        assert sum(error is None for _, error in errors) > 10
        assert all(str(path) in error.message for path, error in errors if error is not None)
        after = {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in SAMPLES.rglob("*") if path.is_file()}
        assert after == before


def problem_of(path: Path, statement: str) -> SourceError | None:
    """Open a file and ask one question; the refusal, if there is one. Everything else that is raised passes."""
    try:
        container = opening.sniff(path).container
        open_it: Callable[[Path], opening.Attachment | opening.SqliteFile]
        open_it = opening.attach if container == "duckdb" else opening.open_sqlite
        with open_it(path) as source, source.cursor() as cursor:
            cursor.execute(statement).fetchall()
    except SourceError as error:
        return error
    return None


def attach_refusal(path: Path) -> SourceError:
    with pytest.raises(SourceError) as refused:
        opening.attach(path)
    assert str(path) in refused.value.message
    assert refused.value.container == "duckdb"
    return refused.value


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)


def _never(*arguments: object, **options: object) -> int:
    raise AssertionError("opened")


def _denied(*arguments: object, **options: object) -> int:
    raise PermissionError(13, "Permission denied")
