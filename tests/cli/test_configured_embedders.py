"""Embedders by name on the command line: asked about once, told where a text goes, and never with a key in sight."""

from __future__ import annotations

import importlib.util
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import environment, workbench
from tests.embedders.asking import KEY
from tests.embedders.misbehaving_server import Fault, Hashing, MisbehavingServer, TooLong, serving
from workbench import Entry, VectorStore

TEXTS = {"boats": "boats in the harbour", "lamps": "the lamp of the lighthouse", "bread": "bread and butter"}
ASK = ("search", "index.duckdb", "--text", "a boat in the harbour", "--embedder", "near")


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with serving() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    words = Hashing()
    with VectorStore.open(tmp_path / "index.duckdb", read_only=False) as store:
        entries = [Entry(id, text, words.embed(text).tolist()) for id, text in TEXTS.items()]
        store.put_many("docs", entries, embedder_id="test-embedder")
    return tmp_path


def configure(folder: Path, server: MisbehavingServer, *, model: str = "test-embedder", kind: str = "openai") -> None:
    url = f"{server.url}/v1" if kind == "openai" else server.url
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "workbench.toml").write_text(
        f'[embedders.near]\nkind = "{kind}"\nmodel = "{model}"\ndimensions = 64\nbase_url = "{url}"\n'
        'api_key_env = "NEAR_KEY"\n'
        "[embedders.both]\nkind = 'auto-fallback'\nprimary = 'near'\nfallback = 'minilm'\n"
    )


def user_folder(home: Path) -> Path:
    return home / ".config" / "workbench"


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_a_text_is_searched_with_the_embedder_that_is_named(home: Path, server: MisbehavingServer, kind: str) -> None:
    configure(user_folder(home), server, kind=kind)
    ran = workbench(home, *ASK, "--json", NEAR_KEY=KEY)
    assert ran.code == 0
    assert ran.json["hits"][0]["id"] == "boats"
    assert ran.json["incoming"] == "test-embedder@64"
    assert server.host in ran.err
    assert server.asked.requests == 1
    assert server.asked.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in ran.out + ran.err


def test_a_search_that_does_not_fit_is_refused_before_anything_is_sent(home: Path, server: MisbehavingServer) -> None:
    configure(user_folder(home), server, model="other-embedder")
    ran = workbench(home, *ASK, "--json", NEAR_KEY=KEY)
    assert ran.code == 1
    assert ran.json["refused"]["problem"] == "model"
    assert server.asked.requests == 0


@pytest.mark.parametrize("fault", [Fault.KEY_401, Fault.ERROR_200, Fault.PAGE, Fault.FEWER])
def test_an_embedder_that_fails_is_one_sentence_without_the_key(
    home: Path, server: MisbehavingServer, fault: Fault
) -> None:
    configure(user_folder(home), server)
    server.fail(*[fault] * 9)
    ran = workbench(home, *ASK, NEAR_KEY=KEY)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err
    assert KEY not in ran.err
    assert not list((home / ".local").rglob("crash.log"))


def test_a_query_that_is_too_long_is_said_and_a_wait_is_seen(home: Path, server: MisbehavingServer) -> None:
    configure(user_folder(home), server)
    server.behave(reads=2, too_long=TooLong.OPENAI, retry_after_s=0.05)
    server.fail(Fault.BUSY_429_SECONDS)
    ran = workbench(home, *ASK, NEAR_KEY=KEY)
    assert ran.code == 2
    assert "waiting" in ran.err
    assert "maximum context length is 2 tokens" in " ".join(ran.err.split())


def test_a_text_that_is_not_read_to_its_end_is_said(home: Path, server: MisbehavingServer) -> None:
    configure(user_folder(home), server)
    with open(user_folder(home) / "workbench.toml") as file:
        text = file.read().replace("dimensions = 64", "dimensions = 64\nmax_input_chars = 5")
    (user_folder(home) / "workbench.toml").write_text(text)
    ran = workbench(home, *ASK, NEAR_KEY=KEY)
    assert ran.code == 0
    assert "no more than 5" in " ".join(ran.err.split())


def test_a_variable_that_is_not_set_is_named_and_nothing_is_sent(home: Path, server: MisbehavingServer) -> None:
    configure(user_folder(home), server)
    ran = workbench(home, *ASK)
    assert ran.code == 2
    assert "NEAR_KEY" in ran.err
    assert server.asked.requests == 0


def test_a_file_of_the_working_folder_is_inert_for_a_pipe(home: Path, server: MisbehavingServer) -> None:
    configure(home, server)
    ran = workbench(home, *ASK, NEAR_KEY=KEY)
    assert (ran.code, server.asked.requests) == (2, 0)
    assert "accepted" in ran.err
    doctor = workbench(home, "doctor")
    assert "not accepted" in doctor.out
    assert "NEAR_KEY" in doctor.out


def ask_on_a_terminal(home: Path, typed: bytes) -> tuple[int, str]:
    """Run the search with a person at it, who types this once the question is there."""
    reader, writer = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", *ASK],
        stdin=writer,
        stdout=subprocess.DEVNULL,
        stderr=writer,
        env=environment(home, NEAR_KEY=KEY, TERM="dumb"),
        cwd=home,
    )
    os.close(writer)
    drawn = b""
    while True:
        try:
            piece = os.read(reader, 65_536)
        except OSError:  # how a terminal says that its other end is closed
            break
        drawn += piece
        if b"[y/N]" in drawn and typed:
            os.write(reader, typed)
            typed = b""
    os.close(reader)
    return process.wait(60), drawn.decode()


def test_a_person_at_a_terminal_is_asked_once_for_each_content(home: Path, server: MisbehavingServer) -> None:
    configure(home, server)
    code, drawn = ask_on_a_terminal(home, b"n\n")
    assert (code, server.asked.requests) == (2, 0)
    assert all(each in drawn for each in (server.host, "NEAR_KEY"))
    assert KEY not in drawn
    code, _ = ask_on_a_terminal(home, b"y\n")
    assert (code, server.asked.requests) == (0, 1)
    assert workbench(home, *ASK, NEAR_KEY=KEY).code == 0
    with open(home / "workbench.toml", "a") as file:
        file.write("# changed\n")
    assert workbench(home, *ASK, NEAR_KEY=KEY).code == 2


def test_check_takes_a_configured_embedder_without_asking_it(home: Path, server: MisbehavingServer) -> None:
    configure(user_folder(home), server, model="other-embedder")
    ran = workbench(home, "check", "index.duckdb", "--embedder", "near", "--json")
    assert ran.code == 1
    (namespace,) = ran.json["sources"][0]["namespaces"]
    assert namespace["incoming"]["conflict"] == "model"
    assert server.asked.requests == 0


def test_doctor_names_legs_that_do_not_fit_and_a_damaged_file(home: Path, server: MisbehavingServer) -> None:
    configure(user_folder(home), server)
    ran = workbench(home, "doctor", "--json", NEAR_KEY=KEY)
    assert ran.code == 1
    assert any("'both'" in remark and "dimensions" in remark for remark in ran.json["remarks"])
    assert ran.json["embedders"]["near"]["key"] == {"NEAR_KEY": True}
    assert KEY not in ran.out
    (user_folder(home) / "workbench.toml").write_text("[embedders.near]\nkind = 3\n")
    ran = workbench(home, "doctor")
    assert ran.code == 1
    assert "line 2: kind must be a string" in " ".join(ran.out.split())


@pytest.mark.skipif(importlib.util.find_spec("tokenizers") is None, reason="needs the extra 'minilm'")
def test_a_fallback_that_answers_in_another_space_is_not_searched_with(home: Path, server: MisbehavingServer) -> None:
    configure(user_folder(home), server)
    server.fail(*[Fault.KEY_401] * 9)
    ran = workbench(home, *ASK[:-1], "both", NEAR_KEY=KEY)
    assert ran.code == 1
    assert "minilm" in ran.err.lower()
