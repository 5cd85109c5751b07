"""The program as a whole: what starts it, what ends it, and what it never does to a terminal."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkup.agentfootprint_file import Index, Row
from tests.cli.running import UNSAFE, environment, workbench
from workbench.cli.main import run

_HEAVY = ("textual", "rich", "duckdb", "numpy")


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["check", "--help"], ["search", "--help"], ["doctor", "--help"]]
)
def test_help_and_version_load_nothing_heavy(tmp_path: Path, arguments: list[str]) -> None:
    script = (
        "import sys; sys.argv[1:] = sys.argv[2:]\n"
        "from workbench.__main__ import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print([name for name in {_HEAVY} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "-", *arguments], capture_output=True, text=True, env=environment(tmp_path)
    )
    assert done.stderr.strip() == "[]"
    assert done.stdout


def test_without_arguments_help_is_shown(tmp_path: Path) -> None:
    ran = workbench(tmp_path)
    assert ran.code == 0
    assert "check" in ran.out


def test_a_misspelt_command_is_no_path(tmp_path: Path) -> None:
    ran = workbench(tmp_path, "chekc", "index.db")
    assert ran.code == 2
    assert "did you mean workbench check?" in " ".join(ran.err.split())


@pytest.mark.parametrize(
    ("word", "likely"), [("version", "workbench --version"), ("help", "workbench --help"), ("nosuch", "--help lists")]
)
def test_a_word_that_is_neither_a_command_nor_a_file_is_wrong_usage(tmp_path: Path, word: str, likely: str) -> None:
    ran = workbench(tmp_path, word)
    assert (ran.code, ran.out) == (2, "")
    said = " ".join(ran.err.split())
    assert f"{word} is neither a command nor a file" in said
    assert likely in said
    (tmp_path / word).touch()
    assert "neither" not in workbench(tmp_path, word).err


def test_the_version_asked_of_a_command_says_where_it_is(tmp_path: Path) -> None:
    ran = workbench(tmp_path, "check", "--version")
    assert ran.code == 2
    assert "workbench --version" in " ".join(ran.err.split())


@pytest.mark.parametrize(
    "arguments", [("check", ""), ("check", "a.db", ""), ("open", ""), ("search", "", "--like", "a")]
)
def test_an_empty_path_is_wrong_usage(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = workbench(tmp_path, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "an empty path names no file" in ran.err


def test_an_unknown_theme_is_refused_with_the_names_that_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.import_module("workbench.cli.open"), "is_terminal", lambda stream: True)
    assert run(["open", "--theme", "nosuch", "."]) == 2
    said = capsys.readouterr().err
    assert said.startswith("✗  there is no theme nosuch")
    assert "textual-dark" in said
    assert all(len(line) <= 80 for line in said.splitlines())


@pytest.mark.parametrize("arguments", [("open", "some where.db"), ("some where.db",), ("--", "some where.db")])
def test_without_a_terminal_open_names_the_command_to_use(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "some where.db").touch()
    ran = workbench(tmp_path, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "workbench check 'some where.db'" in " ".join(ran.err.split())


def test_ctrl_c_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "import workbench.sources as sources\n"
        "def endless(paths, options, *, job, **_):\n"
        "    print('ready', flush=True)\n"
        "    while True:\n"
        "        job.checkpoint(); time.sleep(0.01)\n"
        "sources.check_paths = endless\n"
        "from workbench.cli.main import run\n"
        "raise SystemExit(run(['check', 'index.db']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
        cwd=tmp_path,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.strip() == "interrupted: nothing was changed"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    rows = [Row(f"{place:06}", text="x" * 50) for place in range(3_000)]
    Index(rows, {"docs": "acme@2"}).write(tmp_path / "index.db")
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", "check", "index.db", "--max-chunk-chars", "1", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        cwd=tmp_path,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(30) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [("check", "index.db"), ("--help",), ("--version",), ("doctor",)])
def test_a_full_disk_under_the_output_is_said(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    Index([Row("a")], {"docs": "acme@2"}).write(tmp_path / "index.db")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "workbench", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(tmp_path),
            cwd=tmp_path,
        )
    assert done.returncode == 2
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("check", "--help"), ("doctor",)])
def test_a_reader_of_help_that_goes_away_is_no_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "workbench", *arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
        cwd=tmp_path,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_nobody_foresaw_is_one_sentence_and_the_details_are_kept(tmp_path: Path) -> None:
    script = (
        "import workbench.sources as sources\n"
        "def broken(*_, **__): raise RuntimeError('\\x1b[31m secret detail')\n"
        "sources.check_paths = broken\n"
        "from workbench.cli.main import run\n"
        "raise SystemExit(run(['check', 'index.db']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(tmp_path), cwd=tmp_path
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr
    (log,) = tmp_path.rglob("crash.log")
    assert "secret detail" in log.read_text()
    assert log.name in "".join(done.stderr.split())


@pytest.mark.parametrize("name", ["\x1b[31m.db", "a\nb.db", "\u202ecod.db", "-x.db", "[/x].db", "s3://b/x", "check"])
def test_hostile_names_never_reach_the_terminal(tmp_path: Path, name: str) -> None:
    for arguments in (["check", "--", name], ["--", name], ["search", "--like", name, "--", name]):
        ran = workbench(tmp_path, *arguments)
        assert ran.code == 2
        assert not UNSAFE.search(ran.out + ran.err)


def test_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    Index([Row("a")]).write(folder / "index.db")
    before = (folder / "index.db").read_bytes()
    home = tmp_path / "home"
    home.mkdir()
    workbench(home, "check", folder / "index.db")
    assert [entry.name for entry in folder.iterdir()] == ["index.db"]
    assert (folder / "index.db").read_bytes() == before
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_doctor_tells_versions_terminal_paths_and_parts(tmp_path: Path) -> None:
    ran = workbench(tmp_path, "doctor", "--json")
    assert ran.code == 0
    parts = {"versions", "terminal", "paths", "optional parts", "configuration", "embedders", "remarks"}
    assert ran.json.keys() == parts
    assert ran.json["versions"]["duckdb"]
    assert str(tmp_path) in ran.json["paths"]["configuration"]
    text = workbench(tmp_path, "doctor", TERM="\x1b[31m")
    assert text.code == 0
    assert not UNSAFE.search(text.out)


def test_the_demo_copies_the_samples_and_never_overwrites(tmp_path: Path) -> None:
    ran = workbench(tmp_path, "demo", "here")
    assert (ran.code, ran.err) == (0, "")
    assert "workbench check here" in ran.out
    copied = {path.relative_to(tmp_path / "here").as_posix() for path in (tmp_path / "here").rglob("*")}
    assert {"index.duckdb", "recordings/spare_float.json", "recordings/cut_to_fit.jsonl"} <= copied
    assert not any(path.endswith((".py", ".md")) for path in copied)
    (tmp_path / "here" / "index.duckdb").write_text("mine")
    again = workbench(tmp_path, "demo", "here")
    assert again.code == 2
    assert "nothing is overwritten" in " ".join(again.err.split())
    assert (tmp_path / "here" / "index.duckdb").read_text() == "mine"


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell to close a stream")
def test_closed_streams_are_no_crash(tmp_path: Path) -> None:
    Index([Row("a")], {"docs": "acme@2"}).write(tmp_path / "index.db")
    for closing in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(
            ["sh", "-c", f'"{sys.executable}" -m workbench check index.db {closing}'],
            capture_output=True,
            text=True,
            env=environment(tmp_path),
            cwd=tmp_path,
        )
        assert done.returncode == 0
        assert done.stderr == ""


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell to close a stream")
@pytest.mark.parametrize(
    ("command", "code"), [("open index.db", 2), ("doctor", 0), ("doctor --json", 0), ("--version", 0), ("--help", 0)]
)
@pytest.mark.parametrize("closing", ["<&-", ">&-"])
def test_a_closed_input_or_output_is_not_called_unforeseen(
    tmp_path: Path, command: str, code: int, closing: str
) -> None:
    Index([Row("a")], {"docs": "acme@2"}).write(tmp_path / "index.db")
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m workbench {command} {closing}'],
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        cwd=tmp_path,
    )
    assert done.returncode == code
    assert "foresee" not in done.stderr
    assert ("workbench check index.db" in " ".join(done.stderr.split())) == command.startswith("open")


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell to lose its folder")
def test_a_working_folder_that_was_deleted_is_said(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = subprocess.run(
        ["sh", "-c", f'rmdir ../gone; "{sys.executable}" -m workbench check ../index.db'],
        capture_output=True,
        text=True,
        env={**environment(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=tmp_path / "gone",
    )
    assert done.returncode == 2
    assert "working folder is not there any more" in " ".join(done.stderr.split())
