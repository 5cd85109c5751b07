"""Big texts: one line of any length, values that fit into no window, files that are cut or replaced meanwhile."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.recordings.test_slim import as_json, spelled
from workbench.checkup import recording_check
from workbench.checkup.recording_check import report_on
from workbench.core.job import Cancelled, Job
from workbench.core.summary import summarize_embeddings
from workbench.recordings.document import NEAR_BYTES
from workbench.recordings.far_index import FarIndex
from workbench.recordings.far_summary import count_far
from workbench.recordings.model import Note, RecordingError, Span, Unreadable
from workbench.recordings.opening import first_look, open_recording
from workbench.recordings.slim import Options
from workbench.recordings.spans import Found
from workbench.recordings.summarize import Summary, summarize_file

MEASURE = """
import re, sys
from workbench.recordings.summarize import summarize_file
summarize_file(sys.argv[1], sys.argv[2])
print(int(re.search("VmHWM: *([0-9]+)", open("/proc/self/status").read().replace(chr(9), " ")).group(1)) >> 10)
"""


def event(number: int, chance: random.Random) -> dict[str, object]:
    return {"type": "read", "id": number, "text": "x" * 2_000, "embedding": [chance.random() for _ in range(50)]}


def events(size: int) -> list[dict[str, object]]:
    """Make events of about so many bytes in all, always the same."""
    chance = random.Random(3)
    return [event(number, chance) for number in range(size // 3_000)]


def slim(path: Path, options: Options | None = None) -> tuple[bytes, Summary]:
    out = path.with_name("slim")
    summary = summarize_file(path, out, options)
    return out.read_bytes(), summary


def expected(line: bytes) -> str:
    return spelled(as_json(summarize_embeddings(json.loads(line))))


@pytest.fixture(scope="module")
def long_line() -> bytes:
    """Give a line that is longer than what is ever read into memory to find its children."""
    return json.dumps({"type": "huge", "turns": events(NEAR_BYTES + (4 << 20))}).encode()


def test_one_line_of_a_text_that_is_longer_than_memory_is_given_keeps_its_place(
    tmp_path: Path, long_line: bytes
) -> None:
    small = [json.dumps(each).encode() for each in events(600_000)]
    lines = [*small, long_line + b"\r", b"", *small, b'{"type":"last"}']
    path = tmp_path / "rec.jsonl"
    path.write_bytes(b"\n".join(lines))
    out, summary = slim(path)
    assert summary.notes == ()
    kept = out.split(b"\n")
    assert len(kept) == len(lines)
    assert kept[len(small)].endswith(b"}\r")
    for before, after in ((small[0], kept[0]), (long_line, kept[len(small)]), (small[-1], kept[-2])):
        assert spelled(json.loads(after)) == expected(before)
    with open_recording(path) as recording:
        assert len(recording.steps) == 2 * len(small) + 2
        assert recording.steps[len(small)].kind == "huge"


def test_a_long_line_that_is_damaged_is_left_out_by_its_number(tmp_path: Path, long_line: bytes) -> None:
    small = json.dumps({"type": "a", "embedding": [3, 4]}).encode()
    path = tmp_path / "rec.jsonl"
    path.write_bytes(b"\n".join([small, small, long_line[:-2] + b"!", small, b""]))
    out, summary = slim(path)
    assert out == 3 * (b'{"type": "a", "embedding": {"dims":2,"norm":5}}\n')
    assert [(note.line, note.left_out) for note in summary.notes] == [(3, True)]
    with open_recording(path) as recording:
        assert len(recording.steps) == 3
        assert [note.line for note in recording.notes] == [3]


def test_a_text_of_any_length_is_copied_as_it_stands(tmp_path: Path) -> None:
    text = json.dumps('a "word" \\ é ' * (2 << 20)).encode()
    path = tmp_path / "rec.json"
    whole = b'{"a":[1,' + text + b',{"embedding":[3,4]}],"b":' + text + b"}"
    path.write_bytes(whole)
    out, _ = slim(path)
    assert out == whole.replace(b"[3,4]", b'{"dims":2,"norm":5}')
    path.write_bytes(whole[:-20])
    with pytest.raises(RecordingError) as refusal:
        slim(path)
    assert refusal.value.problem is Unreadable.TRUNCATED
    assert out == path.with_name("slim").read_bytes()


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
@pytest.mark.parametrize("name", ["one.json", "one.jsonl", "text.json"])
def test_a_slim_copy_of_one_line_takes_no_more_memory_than_the_longest_value(tmp_path: Path, name: str) -> None:
    block = b",".join(json.dumps(each).encode() for each in events(1 << 20))
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(b'{"a":1}\n' if name == "one.jsonl" else b"")
        if name == "text.json":
            file.write(b'{"text":"' + b"x" * (100 << 20) + b'"}')
        else:
            file.write(b'{"events":[' + b",".join([block] * 100) + b"]}")
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), str(tmp_path / "out")], capture_output=True, text=True, check=True
    )
    assert int(ran.stdout) < (64 + 3 * 100 if name == "text.json" else 90)


def test_a_first_look_at_a_packed_file_unpacks_no_more_than_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "rec.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(json.dumps(each).encode() + b"\n" for each in events(8 << 20)), 1))
    with first_look(path) as seen:
        assert seen.limited
        assert 50 <= len(seen.steps) < 1_000
        assert seen.document.size < 2 << 20


# Cut and replaced


def big(folder: Path) -> Path:
    path = folder / "big.json"
    path.write_bytes(json.dumps({"events": events(NEAR_BYTES + (2 << 20))}).encode())
    return path


def amid_indexing(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Have something happen to the file while the other process has it mapped, and has not read it yet."""
    ask = FarIndex.roots

    def amid(far: FarIndex, span: Span, notes: list[Note]) -> list[Found]:
        assert not far.is_plain(Span(span.start, span.start + 1))  # now it is mapped
        os.kill(far.start().pid, signal.SIGSTOP)
        change()
        os.kill(far.start().pid, signal.SIGCONT)
        return ask(far, span, notes)

    monkeypatch.setattr(FarIndex, "roots", amid)


def test_a_file_that_is_cut_in_the_middle_of_indexing_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = big(tmp_path)
    amid_indexing(monkeypatch, lambda: os.truncate(path, 5_000_000))
    with pytest.raises(RecordingError) as refusal:
        open_recording(path)
    assert refusal.value.problem is Unreadable.BEING_WRITTEN


def test_a_file_that_is_written_over_in_the_middle_of_indexing_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = big(tmp_path)
    os.utime(path, ns=(1, 1))
    data = path.read_bytes()
    amid_indexing(monkeypatch, lambda: path.write_bytes(data[::-1]))
    with pytest.raises(RecordingError) as refusal:
        open_recording(path)
    assert refusal.value.problem is Unreadable.BEING_WRITTEN


def test_a_file_that_is_replaced_while_it_is_open_is_read_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = big(tmp_path)
    count = len(json.loads(path.read_bytes())["events"])
    (tmp_path / "new").write_bytes(b'{"events":[]}')
    amid_indexing(monkeypatch, lambda: os.replace(tmp_path / "new", path))
    with open_recording(path) as recording:
        assert len(recording.steps) == count
        (payload,) = recording.payload(recording.steps[-1])
        assert isinstance(payload, dict)
        assert payload["id"] == count - 1


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_copy_of_a_file_that_is_cut_meanwhile_is_not_written(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"rec.{form}"
    made = [json.dumps(each) for each in events(6 << 20)]
    path.write_text("\n".join(made) if form == "jsonl" else f"[{','.join(made)}]")
    (tmp_path / "out").write_bytes(b"as it was")

    def cut(done: int, _total: int) -> None:
        if done > 2 << 20:
            os.truncate(path, 3 << 20)

    with pytest.raises(RecordingError) as refusal:
        summarize_file(path, tmp_path / "out", None, cut)
    assert refusal.value.problem is Unreadable.BEING_WRITTEN
    assert (tmp_path / "out").read_bytes() == b"as it was"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", path.name]


# Counted by another process


def test_the_vectors_of_a_big_recording_are_counted_elsewhere_and_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rec.json"
    path.write_text(json.dumps({"events": events(6 << 20)}))
    with open_recording(path) as recording:
        near = report_on(recording)
        heard: list[tuple[int, int]] = []
        monkeypatch.setattr(recording_check, "_FAR_BYTES", 0)
        monkeypatch.setattr(recording_check, "summarize_to", None)
        far = report_on(recording, (), Job(lambda done, total: heard.append((done, total))))
    assert far.vectors == near.vectors
    assert far.vectors.count == near.vectors.count > 1_000
    assert heard == sorted(heard) != []


def test_damage_that_the_other_process_finds_is_said_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "rec.json"
    path.write_text(json.dumps({"events": events(3 << 20)})[:-5])
    with pytest.raises(RecordingError) as near:
        summarize_file(path, tmp_path / "out")
    with pytest.raises(RecordingError) as far:
        count_far(str(path), lambda _done, _total: None)
    assert (far.value.problem, far.value.message) == (near.value.problem, near.value.message)


def test_giving_up_ends_the_count(tmp_path: Path) -> None:
    path = tmp_path / "rec.json"
    path.write_text(json.dumps({"events": events(12 << 20)}))
    job = Job()
    with pytest.raises(Cancelled):
        count_far(str(path), lambda _done, _total: job.cancel(), job)


def test_no_module_is_taken_from_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "msgspec.py").write_text("open('ran', 'w')\n")
    (tmp_path / "mmap.py").write_text("open('ran', 'w')\n")
    path = big(tmp_path)
    monkeypatch.chdir(tmp_path)
    with open_recording(path) as recording:
        assert recording.steps
    assert count_far(str(path), lambda _done, _total: None) is not None
    assert not (tmp_path / "ran").exists()
