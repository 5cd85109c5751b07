"""`workbench reindex` as scripts see it: the JSON of the contract, the exit codes, consent, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Ran, environment, workbench
from tests.embedders.misbehaving_server import Fault, MisbehavingServer, serving
from tests.index.processes import holder
from tests.reindex.scene import living, make_index, siblings, vectors


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with serving() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, server: MisbehavingServer) -> Path:
    make_index(tmp_path / "index.duckdb", 40)
    folder = tmp_path / ".config" / "workbench"
    folder.mkdir(parents=True)
    near = f'kind = "openai"\nmodel = "test-embedder"\ndimensions = 64\nbase_url = "{server.url}/v1"\n'
    (folder / "workbench.toml").write_text(
        f"[embedders.near]\n{near}[embedders.small]\n{near}max_input_chars = 20\n"
        f"[embedders.priced]\n{near.replace('test-embedder', 'text-embedding-3-small').replace('= 64', '= 512')}"
        "[embedders.both]\nkind = 'auto-fallback'\nprimary = 'near'\nfallback = 'priced'\n"
    )
    return tmp_path


def reindex(home: Path, *arguments: str) -> Ran:
    ran = workbench(home, "reindex", "index.duckdb", "--namespace", "docs", *arguments)
    assert "--json" not in arguments or ran.out, (ran.code, ran.err)
    return ran


def test_a_plan_is_one_document_and_asks_nobody(home: Path, server: MisbehavingServer) -> None:
    ran = reindex(home, "--embedder", "near", "--plan", "--json")
    assert ran.code == 0
    plan = ran.json
    assert (plan["namespace"], plan["from"], plan["to"]) == ("docs", "old@32", "test-embedder@64")
    assert plan["ceiling"] == {"chars": 2000, "source": "default"}
    assert plan["clipped"] == {"now": 0, "then": 0}
    counts = {"total": 40, "reuse": 0, "embed": 40, "resplit": 0, "skip": 0, "impossible": 0}
    assert plan["chunks"] == counts
    assert plan["tokens"]["low"] <= plan["tokens"]["likely"] <= plan["tokens"]["high"]
    assert (plan["cost_usd"], plan["seconds"], plan["conflict"]) == (None, None, None)
    assert server.asked.requests == 0
    assert siblings(home / "index.duckdb") == []


def test_a_pipe_never_confirms(home: Path, server: MisbehavingServer) -> None:
    ran = reindex(home, "--embedder", "near")
    assert ran.code == 2
    assert "--yes" in ran.err
    assert server.asked.requests == 0
    assert siblings(home / "index.duckdb") == []


def test_a_run_is_one_document_and_back_is_back(home: Path, server: MisbehavingServer) -> None:
    index = home / "index.duckdb"
    before = living(index)
    ran = reindex(home, "--embedder", "near", "--yes", "--json")
    assert ran.code == 0, ran.err
    done = ran.json
    assert (done["namespace"], done["state"], done["embedded"], done["reused"]) == ("docs", "swapped", 40, 0)
    assert (done["requests"], done["quarantined"]) == (server.asked.requests, [])
    assert done["verify"]["ok"] is True
    assert {check["name"] for check in done["verify"]["checks"]} >= {"counts", "keys", "texts", "vectors", "self-probe"}
    assert json.loads(Path(done["report"]).read_text())["to"] == "test-embedder@64"
    status = reindex(home, "--status", "--json").json["namespaces"][0]
    assert (status["namespace"], status["active_generation"], status["unfinished"]) == (
        "docs",
        done["generation"],
        None,
    )
    assert {"generation", "fingerprint", "state", "count", "created_at"} <= set(status["generations"][0])
    back = reindex(home, "--rollback", "--json")
    assert (back.code, back.json["generation"]) == (0, 1)
    assert living(index) == before
    assert reindex(home, "--discard").code == 0
    assert living(index) == before
    assert siblings(index) == []
    # The speed of the run is known now.
    assert reindex(home, "--embedder", "near", "--plan", "--json").json["seconds"] > 0


def test_verified_without_a_swap_is_swapped_later(home: Path, server: MisbehavingServer) -> None:
    index = home / "index.duckdb"
    before = living(index)
    ran = reindex(home, "--embedder", "near", "--yes", "--no-swap", "--json")
    assert (ran.code, ran.json["state"]) == (0, "verified")
    assert living(index) == before
    assert reindex(home, "--status", "--json").json["namespaces"][0]["unfinished"]["state"] == "verified"
    with holder(index, write=True) as program:
        busy = reindex(home, "--swap")
        assert (busy.code, str(program.pid) in busy.err) == (3, True)
    asked = server.asked.requests
    swapped = reindex(home, "--swap", "--json")
    assert (swapped.code, swapped.json["state"]) == (0, "swapped")
    assert server.asked.requests == asked
    assert siblings(index) == []


def test_a_run_that_stops_half_way_is_3_and_resumes(home: Path, server: MisbehavingServer) -> None:
    server.fail(Fault.FINE, Fault.QUOTA_429)
    ran = reindex(home, "--embedder", "near", "--yes", "--json")
    assert (ran.code, ran.json["state"]) == (3, "paused")
    again = reindex(home, "--embedder", "near", "--yes")
    assert (again.code, "--resume" in again.err) == (1, True)
    resumed = reindex(home, "--resume", "--json")
    assert (resumed.code, resumed.json["state"], resumed.json["embedded"]) == (0, "swapped", 40)
    assert reindex(home, "--resume").code == 1


def test_a_build_that_does_not_pass_is_1_and_changes_nothing(home: Path, server: MisbehavingServer) -> None:
    index = home / "index.duckdb"
    before = living(index)
    server.behave(noise=3.0)
    ran = reindex(home, "--embedder", "near", "--yes", "--json")
    assert (ran.code, ran.json["state"], ran.json["verify"]["ok"]) == (1, "failed", False)
    assert living(index) == before
    assert reindex(home, "--discard").code == 0
    assert siblings(index) == []


def test_what_clips_is_said_once(home: Path) -> None:
    ran = reindex(home, "--embedder", "small", "--yes")
    assert ran.code == 0
    assert " ".join(ran.err.split()).count("longer than the 20-character ceiling") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--embedder", "nobody", "--plan"), "nobody"),
        (("--plan",), "--embedder"),
        (("--embedder", "near", "--resume", "--swap"), "different things"),
        (("--embedder", "near", "--yes", "--max-cost", "much"), "much"),
        (("--embedder", "near", "--yes", "--max-cost", "1"), "not known"),
    ],
)
def test_wrong_usage_is_2_and_one_sentence(
    home: Path, server: MisbehavingServer, arguments: tuple[str, ...], words: str
) -> None:
    ran = reindex(home, *arguments)
    assert (ran.code, ran.out) in ((2, ""), (2, ran.out))
    assert words in ran.err
    assert server.asked.requests == 0
    assert siblings(home / "index.duckdb") == []


def test_an_unknown_namespace_is_2(home: Path) -> None:
    ran = workbench(home, "reindex", "index.duckdb", "--namespace", "elsewhere", "--embedder", "near", "--plan")
    assert ran.code == 2
    assert "elsewhere" in ran.err


def test_a_pair_that_does_not_fit_is_named_by_the_plan_and_refused_by_the_run(
    home: Path, server: MisbehavingServer
) -> None:
    plan = reindex(home, "--embedder", "both", "--plan", "--json")
    assert (plan.code, "text-embedding-3-small@512" in plan.json["conflict"]) == (0, True)
    ran = reindex(home, "--embedder", "both", "--yes")
    assert ran.code == 1
    assert "test-embedder@64" in ran.err
    assert server.asked.requests == 0


def test_a_cap_pauses_before_more_is_spent(home: Path, server: MisbehavingServer) -> None:
    server.embedder.dims = 512
    ran = reindex(home, "--embedder", "priced", "--yes", "--max-cost", "0.000001", "--json")
    assert (ran.code, ran.json["state"]) == (3, "paused")
    assert "cap" in ran.json["message"]
    assert server.asked.requests <= 2
    resumed = reindex(home, "--resume", "--json")
    assert (resumed.code, resumed.json["embedded"]) == (0, 40)


_SCRIPT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may have it ignored
from workbench.__main__ import main
sys.argv = ["workbench", *sys.argv[1:]]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_leaves_a_build_that_resumes_and_says_so(home: Path, server: MisbehavingServer) -> None:
    index = home / "index.duckdb"
    before = living(index)
    server.fail(Fault.FINE, *[Fault.HANG] * 20)
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            _SCRIPT,
            "reindex",
            "index.duckdb",
            "--namespace",
            "docs",
            "--embedder",
            "near",
            "--yes",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
        cwd=home,
    )
    while server.asked.requests < 2:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    said = " ".join((out + err).decode().split())
    assert process.returncode == 130, said
    assert "--resume" in said
    assert "nothing was changed" not in said
    assert "Traceback" not in said
    assert living(index) == before
    server.faults.clear()
    server.released.set()
    resumed = reindex(home, "--resume", "--json")
    assert (resumed.code, resumed.json["state"]) == (0, "swapped"), resumed.err
    assert len(vectors(index)) == 40
