"""`workbench summarize`: the copy, its report and exit codes, and that OUT is whole or as it was."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.running import environment, workbench
from tests.shared_files import SAMPLES, needs_samples
from workbench.core.summary import summarize_embeddings

RECORDING = '{"z":1,"embedding":[3,4],"a":{"embeddings":[[6,8],[0,2]]},"vector":[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8]}\n'
SLIM = (
    '{"z":1,"embedding":{"dims":2,"norm":5},"a":{"embeddings":[{"dims":2,"norm":10},{"dims":2,"norm":2}]},'
    '"vector":[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8]}\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rec.json").write_text(RECORDING)
    return tmp_path


def left_behind(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"cache"}


def test_the_copy_goes_to_out_and_the_report_is_one_document(folder: Path) -> None:
    ran = workbench(folder, "summarize", "rec.json", "-o", "out.json", "--json")
    assert ran.code == 0
    assert ran.json == {
        "path": "rec.json",
        "format": "json",
        "bytes_before": len(RECORDING),
        "bytes_after": len(SLIM),
        "vectors": 3,
        "by_rule": {"embedding": 1, "embeddings": 2},
        "unsummarised_likely": 1,
        "masked": 0,
        "problems": [],
    }
    assert (folder / "out.json").read_text() == SLIM
    assert (folder / "rec.json").read_text() == RECORDING
    assert left_behind(folder) == {"rec.json", "out.json"}


def test_without_out_the_copy_is_all_of_stdout_and_the_report_is_on_stderr(folder: Path) -> None:
    ran = workbench(folder, "summarize", "rec.json")
    assert (ran.code, ran.out) == (0, SLIM)
    assert "3 vectors replaced" in ran.err
    assert "1 likely vector not summarised" in ran.err


def test_wide_takes_the_likely_ones_too(folder: Path) -> None:
    ran = workbench(folder, "summarize", "rec.json", "--wide", "-o", "out.json", "--json")
    assert ran.json["by_rule"] == {"W5": 1, "embedding": 1, "embeddings": 2}
    assert ran.json["unsummarised_likely"] == 0
    assert json.loads((folder / "out.json").read_text())["vector"] == {"dims": 8, "norm": 1.4283}


def test_a_second_pass_changes_nothing(folder: Path) -> None:
    workbench(folder, "summarize", "rec.json", "-o", "once.json")
    workbench(folder, "summarize", "once.json", "-o", "twice.json")
    assert (folder / "twice.json").read_bytes() == (folder / "once.json").read_bytes()


def test_json_without_out_is_wrong_usage(folder: Path) -> None:
    ran = workbench(folder, "summarize", "rec.json", "--json")
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.parametrize("name", ["rec.json", "./rec.json", "link.json", "hard.json"])
def test_the_recording_itself_is_never_written_over_by_whatever_name(folder: Path, name: str) -> None:
    (folder / "link.json").symlink_to("rec.json")
    os.link(folder / "rec.json", folder / "hard.json")
    ran = workbench(folder, "summarize", "rec.json", "-o", name)
    assert ran.code == 2
    assert "is the recording itself" in " ".join(ran.err.split())
    assert (folder / "rec.json").read_text() == RECORDING
    assert (folder / "link.json").is_symlink()


@pytest.mark.parametrize(
    "data", [b'{"a":[1,', b"", b"\x89PNG", b"a: b\n", b'{"a":1,}', b'{"events":[' + b'{"a":1},' * 400_000]
)
def test_what_cannot_be_read_leaves_out_as_it_was(folder: Path, data: bytes) -> None:
    (folder / "bad.json").write_bytes(data)
    (folder / "out.json").write_text("before")
    os.chmod(folder / "out.json", 0o640)
    for arguments in (("-o", "out.json"), ("-o", "new.json"), ()):
        ran = workbench(folder, "summarize", "bad.json", *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert "bad.json" in ran.err
    assert (folder / "out.json").read_text() == "before"
    assert left_behind(folder) == {"rec.json", "bad.json", "out.json"}


def test_out_keeps_its_rights_and_a_link_is_followed(folder: Path) -> None:
    (folder / "real.json").write_text("before")
    os.chmod(folder / "real.json", 0o600)
    (folder / "out.json").symlink_to("real.json")
    assert workbench(folder, "summarize", "rec.json", "-o", "out.json").code == 0
    assert (folder / "out.json").is_symlink()
    assert (folder / "real.json").read_text() == SLIM
    assert stat.S_IMODE((folder / "real.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("out", ["nowhere/out.json", ".", "pipe"])
def test_an_out_that_cannot_be_written_is_a_sentence(folder: Path, out: str) -> None:
    os.mkfifo(folder / "pipe")
    ran = workbench(folder, "summarize", "rec.json", "-o", out)
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert left_behind(folder) == {"rec.json", "pipe"}


def test_damaged_lines_are_left_out_which_is_exit_code_1(folder: Path) -> None:
    (folder / "rec.jsonl").write_text('{"embedding":[3,4]}\n{"b":\n{"c":1}\n')
    ran = workbench(folder, "summarize", "rec.jsonl", "-o", "out.jsonl", "--json")
    assert ran.code == 1
    assert (folder / "out.jsonl").read_text() == '{"embedding":{"dims":2,"norm":5}}\n{"c":1}\n'
    (problem,) = ran.json["problems"]
    assert (problem["line"], problem["byte"]) == (2, 25)


def test_what_is_odd_but_readable_leaves_exit_code_0(folder: Path) -> None:
    (folder / "rec.json").write_text('{"x":NaN,"embedding":[NaN,1]}')
    ran = workbench(folder, "summarize", "rec.json", "-o", "out.json", "--json")
    assert ran.code == 0
    assert (folder / "out.json").read_text() == '{"x":NaN,"embedding":{"dims":2,"norm":null}}'
    assert "NaN" in ran.json["problems"][0]["message"]


def test_secrets_are_masked_on_request(folder: Path) -> None:
    (folder / "rec.json").write_text('{"api_key":"k-1","max_tokens":5,"t":"Bearer abcdefgh"}')
    ran = workbench(folder, "summarize", "rec.json", "--redact")
    assert json.loads(ran.out) == {"api_key": "[redacted]", "max_tokens": 5, "t": "Bearer [redacted]"}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_ended_at_any_moment_out_is_as_it_was(folder: Path, how: signal.Signals) -> None:
    record = json.dumps({"type": "e", "embedding": [each / 7 for each in range(400)], "text": "x" * 2_000}).encode()
    with open(folder / "big.jsonl", "wb") as file:
        for _ in range(12_000):
            file.write(record + b"\n")
    (folder / "out.jsonl").write_text("before")
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", "summarize", "big.jsonl", "-o", "out.jsonl"],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 30
    while not any(path.suffix == ".part" and path.stat().st_size for path in folder.iterdir()):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(how)
    code = process.wait(30)
    assert (folder / "out.jsonl").read_text() == "before"
    if how is signal.SIGINT:
        assert code == 130
        assert left_behind(folder) == {"rec.json", "big.jsonl", "out.jsonl"}


def parsed(data: bytes) -> list[object]:
    """Parse a sample: one document, else one a line, else one after another."""
    text = data.decode("utf-8-sig")
    try:
        return [json.loads(text, strict=False)]
    except ValueError:
        decoder, at, found = json.JSONDecoder(strict=False), 0, []
        while (at := len(text) - len(text[at:].lstrip())) < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append(value)
        return found


@needs_samples
def test_every_json_sample_becomes_what_the_seeds_rule_makes_of_its_values(tmp_path: Path) -> None:
    from workbench.recordings.summarize import summarize_file

    done = 0
    for path in sorted(SAMPLES.rglob("*.json*")):
        if "hostile" in path.parts:
            continue
        data = path.read_bytes()
        try:
            values = parsed(data)
        except ValueError:
            continue  # a transcript with damaged lines
        summary = summarize_file(path, tmp_path / "out")
        out = (tmp_path / "out").read_bytes()
        expected = [summarize_embeddings(value) for value in values]
        assert json.dumps(parsed(out)) == json.dumps(expected), path
        assert len(out.split(b"\n")) <= len(data.split(b"\n"))
        assert summary.notes == ()
        assert path.read_bytes() == data
        done += 1
    assert done > 80


def test_what_is_no_recording_but_parses_is_shown_and_copied(tmp_path: Path) -> None:
    path = tmp_path / "bundle.json"
    path.write_text('{"format":"agentfootprint-corpus-v1","entries":[{"id":"a#0","embedding":[3,4]}]}')
    shown = workbench(tmp_path, "show", path, "--json")
    assert shown.code == 0
    assert [each["message"] for each in shown.json["problems"] if "corpus bundle" in each["message"]]
    copied = workbench(tmp_path, "summarize", path)
    assert copied.code == 0
    assert '"embedding":{"dims":2,"norm":5' in copied.out


def test_a_path_names_a_vector_and_its_rule_stands_in_the_report(folder: Path) -> None:
    (folder / "paths.jsonl").write_text('{"hit":[{"dense":[3,4]}]}\n{"hit":[{"dense":[6,8]}]}\n')
    ran = workbench(folder, "summarize", "paths.jsonl", "--wide", "--path", "hit[].dense")
    assert (ran.code, ran.out.count('"dims":2')) == (0, 2)
    assert "2 by W8" in ran.err
    assert left_behind(folder) == {"rec.json", "paths.jsonl"}


def test_a_path_alone_or_one_that_cannot_be_read_is_wrong_usage(folder: Path) -> None:
    for arguments in (("--path", "hit"), ("--wide", "--path", "hit..x"), ("--wide", "--path", "")):
        ran = workbench(folder, "summarize", "rec.json", "-o", "out.json", *arguments)
        assert ran.code == 2, arguments
        assert not (folder / "out.json").exists()


def test_every_wide_rule_is_named_by_the_help(folder: Path) -> None:
    said = workbench(folder, "summarize", "--help").out
    assert all(f"W{n}" in said for n in range(1, 9))
