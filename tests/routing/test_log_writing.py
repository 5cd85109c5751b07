"""The routing log, written: by one process, by several at once, and by ones that are killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from workbench.core.routing import Leg, Outcome
from workbench.routing.log import read_log
from workbench.routing.log_writing import RoutingLog, RoutingLogError
from workbench.routing.model import Attempt, LoggedReset, LogProblem

WRITER = """
import sys
from workbench.core.routing import Leg, Outcome
from workbench.routing.log_writing import RoutingLog
from workbench.routing.model import Attempt

path, name, lines, keys = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
log = RoutingLog(path)
for number in range(lines):
    log.write(Attempt(line=0, instance=name, leg=Leg.PRIMARY, started_ms=number, outcome=Outcome.VECTOR,
                      keys=tuple(f"{key:060x}_0" for key in range(keys))))
    print(number, flush=True)
"""


def start(path: Path, name: str, lines: int, keys: int) -> subprocess.Popen[str]:
    """Start a process that writes so many lines, and says the number of each once it is written."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(lines), str(keys)], stdout=subprocess.PIPE, text=True
    )


def attempt(number: float = 0, *, keys: int = 0) -> Attempt:
    return Attempt(
        line=0,
        leg=Leg.PRIMARY,
        started_ms=number,
        outcome=Outcome.VECTOR,
        keys=tuple(f"{key}_0" for key in range(keys)),
    )


def read(path: Path) -> tuple[list[Attempt], list[str]]:
    """Read the attempts of a log, and what is wrong with it."""
    with path.open("rb") as file:
        found = list(read_log(file))
    problems = [each.message for each in found if isinstance(each, LogProblem)]
    return [each for each in found if isinstance(each, Attempt)], problems


def test_each_record_is_a_line_at_once(tmp_path: Path) -> None:
    path = tmp_path / "routing.jsonl"
    log = RoutingLog(path)
    assert not path.exists()
    for number in range(3):
        log.write(attempt(number))
        assert len(path.read_bytes().splitlines()) == number + 1
    log.close()
    log.write(attempt(3))
    assert [each.started_ms for each in read(path)[0]] == [0, 1, 2, 3]


def test_processes_that_share_a_log_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "routing.jsonl"
    writers = [start(path, f"writer {number}", 200, 150) for number in range(4)]
    for writer in writers:
        writer.communicate()
    attempts, problems = read(path)
    assert problems == []
    assert Counter(each.instance for each in attempts) == {f"writer {number}": 200 for number in range(4)}


def test_a_kill_loses_at_most_the_line_that_was_being_written(tmp_path: Path) -> None:
    path = tmp_path / "routing.jsonl"
    survivor = start(path, "survivor", 150, 3_000)
    killed: dict[str, int] = {}
    for number in range(12):
        victim = start(path, f"victim {number}", 1_000, 8_000)
        assert victim.stdout is not None
        for _ in range(3):
            victim.stdout.readline()
        os.kill(victim.pid, signal.SIGKILL)
        said = 3 + len(victim.stdout.read().split())
        assert victim.wait() == -signal.SIGKILL
        killed[f"victim {number}"] = said
    survivor.communicate()
    attempts, problems = read(path)
    lines = Counter(each.instance for each in attempts)
    assert lines["survivor"] == 150
    for name, said in killed.items():
        assert said <= lines[name] <= said + 1
    # A half line costs itself, and perhaps the copy of the line that another process glued to it and wrote again.
    assert len(problems) <= len(killed)


def test_a_line_after_an_unfinished_one_begins_a_line(tmp_path: Path) -> None:
    path = tmp_path / "routing.jsonl"
    path.write_bytes(b'{"record":"attempt","leg":"prim')
    RoutingLog(path).write(attempt(1))
    attempts, problems = read(path)
    assert [each.started_ms for each in attempts] == [1]
    assert len(problems) == 1


def test_a_line_that_was_glued_to_somebodys_unfinished_one_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "routing.jsonl"
    log = RoutingLog(path)
    log.write(attempt(1))
    with path.open("ab") as other:
        other.write(b'{"record":"attempt","leg":"prim')
    log.write(attempt(2))
    log.write(attempt(3))
    attempts, problems = read(path)
    assert [each.started_ms for each in attempts] == [1, 2, 3]
    assert len(problems) == 1


def test_a_write_that_takes_only_a_part_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "routing.jsonl"
    log = RoutingLog(path)
    log.write(attempt(1))
    whole, parts = os.write, iter([20, 10])
    monkeypatch.setattr(os, "write", lambda fd, data: whole(fd, data[: next(parts, len(data))]))
    log.write(attempt(2))
    log.write(attempt(3))
    attempts, problems = read(path)
    assert [each.started_ms for each in attempts] == [1, 2, 3]
    assert len(problems) == 1


def test_threads_that_share_a_log_write_whole_lines(tmp_path: Path) -> None:
    log = RoutingLog(tmp_path / "routing.jsonl")

    def write() -> None:
        for number in range(200):
            log.write(attempt(number, keys=50))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    attempts, problems = read(tmp_path / "routing.jsonl")
    assert (len(attempts), problems) == (800, [])


def test_a_forked_child_writes_lines_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "routing.jsonl"
    script = (
        "import os, sys\n"
        "from workbench.routing.log_writing import RoutingLog\n"
        "from workbench.routing.model import LoggedReset\n"
        "log = RoutingLog(sys.argv[1])\n"
        "log.write(LoggedReset(line=0, instance='first'))\n"
        "child = os.fork()\n"
        "for _ in range(500):\n"
        "    log.write(LoggedReset(line=0, instance='parent' if child else 'child'))\n"
        "os._exit(0) if child == 0 else os.waitpid(child, 0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    with path.open("rb") as file:
        found = list(read_log(file))
    assert all(isinstance(each, LoggedReset) for each in found)
    assert Counter(getattr(each, "instance", None) for each in found) == {"first": 1, "parent": 500, "child": 500}


# What no line is appended to


@pytest.mark.parametrize("content", [b"SQLite format 3\x00", b"\xff\xfe{\x00", b"PAR1", b"# notes\n"])
def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(RoutingLogError, match="name another file, or move that one away"):
        RoutingLog(path)
    assert path.read_bytes() == content


def test_a_file_that_came_to_be_something_else_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "routing.jsonl"
    log = RoutingLog(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(RoutingLogError):
        log.write(attempt())
    assert path.read_bytes() == b"PAR1"


def test_a_pipe_at_that_path_holds_nobody_up(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(RoutingLogError, match="no regular file"):
        RoutingLog(path)


@pytest.mark.parametrize("name", [".", "a\0b", "x" * 300])
def test_a_path_that_cannot_be_a_file_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(RoutingLogError, match="cannot append a routing log to"):
        RoutingLog(os.path.join(tmp_path, name))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b' {"record":"start"}\n'])
def test_an_empty_file_and_another_log_are_appended_to(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "routing.jsonl"
    path.write_bytes(content)
    RoutingLog(path).write(attempt(7))
    assert [each.started_ms for each in read(path)[0]] == [7]


def test_a_folder_that_is_not_there_is_the_systems_error(tmp_path: Path) -> None:
    log = RoutingLog(tmp_path / "nowhere" / "routing.jsonl")
    with pytest.raises(FileNotFoundError):
        log.write(attempt())
