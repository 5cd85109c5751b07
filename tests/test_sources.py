"""Paths become sources by what they hold: folders are walked, links in them are not, and nothing makes a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.checkup.agentfootprint_file import Index, Row
from tests.reindex.scene import begin, make_index, provider, target
from workbench.checkup.options import CheckOptions
from workbench.checkup.report import CheckReport, Code
from workbench.core.job import Cancelled, Job
from workbench.index.model import IndexSource, Problem, SourceError
from workbench.sources import UnknownNamespace, check_paths, expand, open_source

VECTORS = "SELECT i::VARCHAR AS id, 'text ' || i AS text, [0.5 + i, 1, 2, 3, 4, 5, 6, 7]::FLOAT[8] AS embedding"


def sqlite_index(path: Path) -> Path:
    return Index([Row("a"), Row("b")], {"docs": "acme@2"}).write(path)


def duckdb_index(path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE chunks AS {VECTORS} FROM range(20) t(i)")
    return path


def check(*paths: Path | str) -> CheckReport:
    return check_paths(paths, CheckOptions(), now_ms=0)


def problems(report: CheckReport) -> list[str | None]:
    return [None if source.problem is None else source.problem.value for source in report.sources]


def test_a_file_is_opened_by_its_content_whatever_it_is_called(tmp_path: Path) -> None:
    duckdb_index(tmp_path / "a.db").rename(tmp_path / "a.txt")
    with open_source(tmp_path / "a.txt") as source:
        assert (source.container, source.namespaces()[0].name) == ("duckdb", "chunks")
    sqlite_index(tmp_path / "b.duckdb")
    with open_source(tmp_path / "b.duckdb") as source:
        assert (source.container, source.adapter) == ("sqlite", "agentfootprint")


def test_a_folder_is_walked_in_the_order_of_names_and_what_is_no_index_is_counted(tmp_path: Path) -> None:
    (tmp_path / "b" / "deep").mkdir(parents=True)
    sqlite_index(tmp_path / "c.db")
    duckdb_index(tmp_path / "b" / "deep" / "x.duckdb")
    sqlite_index(tmp_path / "a.db")
    (tmp_path / "b" / "notes.txt").write_text("hello")
    (tmp_path / "b" / "empty").touch()
    (tmp_path / "run.json").write_text('{"snapshot": {}, "events": []}')
    os.mkfifo(tmp_path / "pipe")
    expanded = expand([tmp_path])
    assert [os.path.relpath(found.path, tmp_path) for found in expanded.found] == ["a.db", "b/deep/x.duckdb", "c.db"]
    assert [(skipped.folder, skipped.count) for skipped in expanded.skipped] == [(str(tmp_path), 4)]


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    sqlite_index(outside / "index.db")
    (inside / "file").symlink_to(outside / "index.db")
    (inside / "folder").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    report = check(inside)
    assert problems(report) == ["directory"]
    assert report.skipped[0].count == 3
    assert problems(check(inside / "file")) == [None]
    assert problems(check(inside / "folder")) == [None]


def test_containers_that_cannot_be_read_are_listed_in_their_place(tmp_path: Path) -> None:
    whole = duckdb_index(tmp_path / "a.duckdb").read_bytes()
    (tmp_path / "b.duckdb").write_bytes(whole[:13_000])
    (tmp_path / "c.parquet").write_bytes(b"PAR1" + b"\0" * 100)
    (tmp_path / "d" / "segments").mkdir(parents=True)
    sqlite_index(tmp_path / "d" / "chroma.sqlite3")
    (tmp_path / "e" / "table.lance").mkdir(parents=True)
    sqlite_index(tmp_path / "f.db")
    report = check(tmp_path)
    assert problems(report) == [None, "truncated", "not-readable-yet", "not-readable-yet", "not-readable-yet", None]
    assert [source.container for source in report.sources] == [
        "duckdb",
        "duckdb",
        "parquet",
        "chroma",
        "lance",
        "sqlite",
    ]
    assert report.totals.error == 4
    assert [finding.code for finding in report.sources[1].all_findings] == [Code.UNREADABLE_SOURCE]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing.db", Problem.MISSING),
        ("empty", Problem.EMPTY),
        ("notes.txt", Problem.NOT_AN_INDEX),
        ("pipe", Problem.NOT_A_FILE),
        ("folder", Problem.DIRECTORY),
        ("s3://bucket/index.duckdb", Problem.URL),
        ("run.json", Problem.NOT_READABLE_YET),
        ("nul\0name", Problem.MISSING),
        ("", Problem.MISSING),
    ],
)
def test_whatever_a_user_names_is_an_index_or_one_clear_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, problem: Problem
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "folder").mkdir()
    (tmp_path / "run.json").write_text('{"snapshot": {}, "events": []}')
    os.mkfifo(tmp_path / "pipe")
    (source,) = check(name).sources
    assert source.problem is problem
    assert source.message
    assert "\n" not in source.message
    with pytest.raises(SourceError):
        open_source(name)


def test_the_same_file_under_several_names_is_read_once_and_reported_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = duckdb_index(tmp_path / "first.duckdb")
    (tmp_path / "link.duckdb").symlink_to(first)
    os.link(first, tmp_path / "hard.duckdb")
    opened: list[str | os.PathLike[str]] = []

    def counting(path: str | os.PathLike[str]) -> IndexSource:
        opened.append(path)
        return open_source(path)

    monkeypatch.setattr("workbench.sources.open_source", counting)
    paths = [first, tmp_path / "link.duckdb", tmp_path / "hard.duckdb", first]
    report = check(*paths)
    assert [source.path for source in report.sources] == [str(path) for path in paths]
    assert len(opened) == 1
    assert len({source.namespaces for source in report.sources}) == 1


def test_a_locked_index_is_named_with_its_holder_and_the_others_are_checked(tmp_path: Path) -> None:
    locked, free = duckdb_index(tmp_path / "a.duckdb"), sqlite_index(tmp_path / "b.db")
    script = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(locked)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        report = check(tmp_path, free)
        holder.communicate()
    assert problems(report) == ["locked", None, None]
    assert str(holder.pid) in str(report.sources[0].message)


def test_an_error_that_nobody_foresaw_costs_one_source_and_not_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = sqlite_index(tmp_path / "good.db"), sqlite_index(tmp_path / "bad.db")

    def breaking(path: str | os.PathLike[str]) -> IndexSource:
        if os.fspath(path) == str(bad):
            raise ZeroDivisionError("deep inside")
        return open_source(path)

    monkeypatch.setattr("workbench.sources.open_source", breaking)
    report = check(bad, good)
    assert problems(report) == ["damaged", None]
    assert "ZeroDivisionError" in str(report.sources[0].message)
    assert "deep inside" in caplog.text


def test_an_unknown_namespace_knows_all_names(tmp_path: Path) -> None:
    paths = [sqlite_index(tmp_path / "a.db"), duckdb_index(tmp_path / "b.duckdb")]
    with pytest.raises(UnknownNamespace) as unknown:
        check_paths(paths, CheckOptions(namespaces=("chunks", "nope")), now_ms=0)
    assert (unknown.value.name, unknown.value.known) == ("nope", ("docs", "chunks"))
    report = check_paths(paths, CheckOptions(namespaces=("chunks",)), now_ms=0)
    assert [[namespace.name for namespace in source.namespaces] for source in report.sources] == [[], ["chunks"]]


def test_a_check_that_is_given_up_ends_at_once(tmp_path: Path) -> None:
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        check_paths([sqlite_index(tmp_path / "a.db")], CheckOptions(), job=job)


def test_each_source_is_told_before_it_is_read(tmp_path: Path) -> None:
    paths = [str(sqlite_index(tmp_path / name)) for name in ("b.db", "a.db")]
    told: list[str] = []
    check_paths(paths, CheckOptions(), on_source=told.append)
    assert told == paths


def test_all_answers_about_one_source_are_of_one_moment(tmp_path: Path) -> None:
    path = duckdb_index(tmp_path / "a.duckdb")
    writing = "import duckdb, sys; duckdb.connect(sys.argv[1])"
    refused: list[bool] = []

    def write(_done: int, _total: int) -> None:
        if not refused:
            refused.append(
                subprocess.run([sys.executable, "-c", writing, str(path)], capture_output=True).returncode != 0
            )

    check_paths([path], CheckOptions(), job=Job(write))
    assert refused == [True]


def test_an_unfinished_reindex_is_said_to_be_one_and_is_no_fault_of_its_folder(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index.duckdb", 5)
    path = begin(index, target(provider("http://127.0.0.1:9")))
    with pytest.raises(SourceError, match=r"is an unfinished re-index of namespace 'docs' .*no index") as refused:
        open_source(path)
    assert refused.value.problem is Problem.NOT_AN_INDEX
    (named,) = check(path).sources
    assert [finding.code for finding in named.findings] == [Code.UNREADABLE_SOURCE]
    living, beside = check(tmp_path).sources
    assert len(living.namespaces) == 2
    assert beside.readable
    assert not beside.findings
    assert "unfinished re-index" in beside.notes[0]
    with duckdb.connect(path):
        assert "another program is building" in check(tmp_path).sources[1].notes[0]
