"""A file made to attack: nothing in it is run, and nothing outside it is read, written or reached."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from workbench.index import opening

SECRET = "the sentinel that no query may return"
CONTROL = "\x1b]52;c;aGk=\x07\n\x01\u202e[/x][@click=app.quit]"


@pytest.fixture
def sentinel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("host") / "secret.txt"
    path.write_text(SECRET)
    return path


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """Listen on this machine, where nobody must ever call."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        yield listening


@pytest.fixture
def hostile(tmp_path: Path, sentinel: Path) -> Path:
    path = tmp_path / "index.duckdb"
    quoted = CONTROL.replace('"', '""')
    with duckdb.connect(str(path), config={"autoinstall_known_extensions": "false"}) as connection:
        for statement in (
            "CREATE TABLE docs (id VARCHAR, text VARCHAR, embedding FLOAT[3])",
            "INSERT INTO docs VALUES ('a', 'first', [1, 0, 0]), ('b', 'second', [0, 1, 0])",
            f'CREATE TABLE "{quoted}" ("{quoted}" VARCHAR)',
            f'CREATE SCHEMA "{quoted}2"',
            f"COMMENT ON TABLE docs IS '{CONTROL}'",
            'CREATE TABLE "s3://bucket/x.parquet" (i INTEGER)',
            f'CREATE TABLE "{sentinel}" (i INTEGER)',
            f"CREATE VIEW stolen AS SELECT content FROM read_text('{sentinel}')",
            f"CREATE VIEW listed AS SELECT file FROM glob('{sentinel.parent}/*')",
            "CREATE MACRO count(x) AS 666",
            "CREATE MACRO sum(x) AS 666",
            "CREATE MACRO length(x) AS 666",
            "CREATE MACRO strlen(x) AS 666",
            "CREATE MACRO isfinite(x) AS true",
            "CREATE MACRO array_cosine_similarity(a, b) AS 666",
            "CREATE MACRO array_inner_product(a, b) AS 666",
            f"CREATE MACRO docs() AS TABLE SELECT content FROM read_text('{sentinel}')",
            f"CREATE MACRO duckdb_tables() AS TABLE SELECT content AS table_name FROM read_text('{sentinel}')",
        ):
            connection.execute(statement)
    return path


def ask(attachment: opening.Attachment, statement: str) -> list[tuple[object, ...]]:
    with attachment.cursor() as cursor:
        return cursor.execute(statement).fetchall()


def test_its_macros_do_not_take_over_functions(hostile: Path) -> None:
    query = (
        "SELECT count(id), sum(length(text)), max(array_cosine_similarity(embedding, [1, 0, 0]::FLOAT[3])), "
        "max(array_inner_product(embedding, embedding)), bool_and(isfinite(embedding[1])), min(strlen(text)) "
        "FROM ix.main.docs"
    )
    with opening.attach(hostile) as attachment, attachment.cursor() as cursor:
        assert cursor.execute(query).fetchone() == (2, 11, 1.0, 1.0, True, 5)
        tables = cursor.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'ix'").fetchall()
    assert ("docs",) in tables
    assert (SECRET,) not in tables


def test_its_views_and_table_macros_read_no_host_file(hostile: Path, sentinel: Path) -> None:
    with opening.attach(hostile) as attachment:
        for statement in (
            "SELECT * FROM ix.main.stolen",
            "SELECT * FROM ix.main.listed",
            "SELECT * FROM ix.main.docs()",
            f"SELECT content FROM read_text('{sentinel}')",
            f"SELECT * FROM '{sentinel}'",
            f"ATTACH '{sentinel}' AS other",
            "SELECT * FROM glob('/*')",
        ):
            with pytest.raises(duckdb.Error):
                pytest.fail(f"{statement} answered {ask(attachment, statement)}")


def test_it_writes_nothing(hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workplace = tmp_path / "cwd"
    workplace.mkdir()
    monkeypatch.chdir(workplace)
    before = hostile.read_bytes()
    with opening.attach(hostile) as attachment:
        for statement in (
            f"COPY (SELECT 1) TO '{workplace}/out.csv'",
            "COPY (SELECT 1) TO 'out.csv'",
            f"EXPORT DATABASE '{workplace}/export'",
            "INSERT INTO ix.main.docs VALUES ('c', 'third', NULL)",
            "CREATE TABLE ix.main.more (i INTEGER)",
            f"ATTACH '{workplace}/new.duckdb' AS other",
            "SET GLOBAL temp_directory = '/'",
            "SET enable_external_access = true",
            "INSTALL httpfs",
            "LOAD httpfs",
        ):
            with pytest.raises(duckdb.Error):
                pytest.fail(f"{statement} answered {ask(attachment, statement)}")
    assert hostile.read_bytes() == before
    assert not list(workplace.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cwd", "index.duckdb"]
    assert not list(Path.home().iterdir()), "not even a folder for extensions"


def test_it_reaches_no_network(hostile: Path, server: socket.socket) -> None:
    with opening.attach(hostile) as attachment:
        for statement in (
            f"SELECT * FROM read_csv('http://127.0.0.1:{server.getsockname()[1]}/x.csv')",
            "SELECT * FROM 's3://bucket/x.parquet'",
            "ATTACH 'md:x' AS other",
        ):
            with pytest.raises(duckdb.Error):
                ask(attachment, statement)
    with pytest.raises(TimeoutError):
        server.accept()


def test_names_that_look_like_addresses_are_plain_tables(hostile: Path, sentinel: Path) -> None:
    with opening.attach(hostile) as attachment, attachment.cursor() as cursor:
        for name in ("s3://bucket/x.parquet", str(sentinel)):
            assert cursor.execute(f'SELECT count(*) FROM ix.main."{name}"').fetchone() == (0,)
        assert cursor.execute(f'SELECT count(*) FROM ix.main."{CONTROL}"').fetchone() == (0,)


def test_variables_of_the_program_are_no_tables(hostile: Path) -> None:
    local_table = {"i": [1]}
    assert local_table
    with opening.attach(hostile) as attachment, pytest.raises(duckdb.Error), attachment.cursor() as cursor:
        cursor.execute("SELECT * FROM local_table")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("enable_external_access", False),
        ("autoinstall_known_extensions", False),
        ("autoload_known_extensions", False),
        ("allow_community_extensions", False),
        ("allow_persistent_secrets", False),
        ("python_enable_replacements", False),
        ("lock_configuration", True),
        ("enable_progress_bar", False),
        ("memory_limit", "167.8 MiB"),
        ("threads", 2),
    ],
)
def test_every_cursor_has_the_safe_settings(hostile: Path, setting: str, value: object) -> None:
    with opening.attach(hostile) as attachment, attachment.cursor() as cursor:
        assert cursor.execute("SELECT current_setting(?)", [setting]).fetchone() == (value,)


def test_the_store_that_writes_is_as_closed(hostile: Path, sentinel: Path) -> None:
    with opening.attach(hostile, read_only=False) as store:
        for statement in (f"SELECT content FROM read_text('{sentinel}')", "SELECT * FROM ix.main.stolen"):
            with pytest.raises(duckdb.Error):
                ask(store, statement)
