"""Ctrl-C on the command line, in real processes: exit 130 at whatever moment it comes, and never an abort."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest

from tests.cli.running import environment
from workbench.cli import waiting

_SCRIPT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may have it ignored
from workbench.__main__ import main
sys.argv = ["workbench", *sys.argv[1:]]
os.write(1, b"ready")
main()
"""

_STUCK = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
from workbench.cli import waiting
def work(job):
    os.write(1, b"ready")
    threading.Event().wait()
waiting.interruptible(work)
"""


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a file whose check takes long enough to be interrupted everywhere in it."""
    path = tmp_path_factory.mktemp("big") / "big.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE docs AS SELECT 'doc-' || i AS id, repeat('some text ', 20) AS text,"
            " list_transform(range(64), lambda j: sin(i + j))::FLOAT[64] AS embedding FROM range(400000) t(i)"
        )
    return path


def _interrupted(home: Path, script: str, *arguments: str, after_s: float) -> tuple[int, str]:
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
        cwd=home,
    )
    assert process.stdout is not None
    assert process.stdout.read(5) == b"ready"
    time.sleep(after_s)  # the moment itself is what is tried
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    return process.returncode, err.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.2, 0.3, 0.4])
def test_ctrl_c_during_check_is_130_and_never_an_abort(tmp_path: Path, big: Path, after_s: float) -> None:
    code, err = _interrupted(tmp_path, _SCRIPT, "check", str(big), after_s=after_s)
    assert code == 130, err
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_work_that_does_not_stop_is_left_and_the_code_is_130(tmp_path: Path) -> None:
    code, err = _interrupted(tmp_path, _STUCK, after_s=0.0)
    assert code == 130
    assert "interrupted" in err


def test_work_that_is_done_gives_its_result_and_its_error() -> None:
    assert waiting.interruptible(lambda job: threading.current_thread().name) == "work"
    with pytest.raises(ZeroDivisionError):
        waiting.interruptible(lambda job: 1 // 0)
