"""Opening: what each odd, damaged or hostile file gives, and what is said of it."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from backports import zstd

import workbench
from tests.recordings.hostile import bomb, lines, records
from tests.shared_files import SAMPLES, needs_samples
from workbench.checkup.recording_check import report_on
from workbench.core.job import Cancelled, Job
from workbench.recordings.document import FileDocument
from workbench.recordings.far_index import FarIndex
from workbench.recordings.model import Note, RecordingError, Span, Unreadable
from workbench.recordings.opening import Recording, first_look, open_recording
from workbench.recordings.spans import Found
from workbench.sources import show_recording

HOSTILE = SAMPLES / "recordings" / "hostile"
BIG = 20 << 20  # more than is read into memory to find its children


def written(folder: Path, data: bytes, name: str = "rec.json") -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def notes(recording: Recording) -> list[str]:
    return [note.message for note in recording.notes]


# What each file of the samples gives: how many steps, and what is said; or which refusal.
SALVAGED = {
    "ansi_escapes.json": (0, []),
    "blank_lines_crlf.jsonl": (6, []),
    "bom.json": (6, ["byte order mark"]),
    "bom.jsonl": (6, ["byte order mark"]),
    "concatenated_pretty.json": (6, []),
    "deep_nesting_10k.json": (0, []),
    "duplicate_keys.json": (0, []),  # said once all of it is read: test_repeats.py
    "giant_int.json": (0, []),
    "gz_truncated.jsonl.gz": (63, ["gzip data is damaged or cut at byte 200", "the last line is cut at byte 6,867"]),
    "half_last_line.jsonl": (5, ["the last line is cut at byte 611"]),
    "invalid_utf8.json": (0, []),
    "lone_surrogates.json": (0, []),
    "nul_bytes.json": (0, []),
    "only_null.json": (0, []),
    "recording.jsonl.gz": (6, []),
    "recording.jsonl.zst": (6, []),
    "scalar.json": (0, []),
    "single_huge_string.json": (0, []),
    "truncated.json": (6, ["cut at byte 885"]),
    "utf16le_bom.json": (6, ["UTF-16"]),
}
REFUSED = {
    "binary_random.json": Unreadable.NOT_A_RECORDING,
    "empty.json": Unreadable.EMPTY,
    "png_named_json.json": Unreadable.NOT_A_RECORDING,
    "trailing_commas_comments.json": Unreadable.DAMAGED,
    "whitespace_only.json": Unreadable.EMPTY,
}


@needs_samples
@pytest.mark.parametrize("name", SALVAGED)
def test_a_hostile_file_gives_what_is_salvageable_and_says_what_is_wrong(name: str) -> None:
    steps, said = SALVAGED[name]
    with open_recording(HOSTILE / name) as recording:
        assert len(recording.steps) == steps
        assert len(recording.notes) == len(said)
        assert all(words in note for words, note in zip(said, notes(recording), strict=True))


@needs_samples
@pytest.mark.parametrize("name", REFUSED)
def test_a_file_of_which_nothing_can_be_read_is_one_sentence(name: str) -> None:
    with pytest.raises(RecordingError) as refusal:
        open_recording(HOSTILE / name)
    assert refusal.value.problem is REFUSED[name]
    assert "\n" not in refusal.value.message


@needs_samples
def test_every_hostile_file_has_its_expectation() -> None:
    assert {path.name for path in HOSTILE.iterdir()} == {*SALVAGED, *REFUSED}


def test_what_is_no_file_is_one_sentence_and_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, problem in (
        (tmp_path / "pipe", Unreadable.NOT_A_FILE),
        (tmp_path / "nothing", Unreadable.MISSING),
        (tmp_path, Unreadable.DIRECTORY),
        ("", Unreadable.MISSING),
        ("https://localhost/run.json", Unreadable.URL),
        ("/dev/null", Unreadable.NOT_A_FILE),
        ("a\0b", Unreadable.MISSING),
    ):
        with pytest.raises(RecordingError) as refusal:
            open_recording(path)
        assert refusal.value.problem is problem


def test_the_public_name_opens_a_recording(tmp_path: Path) -> None:
    with workbench.open_recording(written(tmp_path, lines(3))) as recording:
        assert (recording.format, len(recording.steps), recording.run.complete) == ("json", 3, None)


def test_payloads_are_read_when_asked_for_by_their_bytes(tmp_path: Path) -> None:
    with open_recording(written(tmp_path, lines(3))) as recording:
        assert recording.payload(recording.steps[1]) == (records(3)[1],)


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_packed_files_are_opened_through_wherever_they_are_cut(tmp_path: Path, pack: object) -> None:
    data = pack(lines(2_000))  # type: ignore[operator]
    with open_recording(written(tmp_path, data)) as recording:
        assert len(recording.steps) == 2_000
        assert recording.notes == ()
    with open_recording(written(tmp_path, data[: len(data) // 2])) as recording:
        assert 0 < len(recording.steps) < 2_000
        assert f"cut at byte {len(data) // 2:,}" in notes(recording)[0]


def test_several_members_of_gzip_are_one_text(tmp_path: Path) -> None:
    both = gzip.compress(lines(2)) + gzip.compress(lines(1)) + b"\0" * 7
    with open_recording(written(tmp_path, both)) as recording:
        assert len(recording.steps) == 3
        assert recording.notes == ()


def test_what_cannot_be_unpacked_is_told_apart(tmp_path: Path) -> None:
    wide: dict[int, int] = {zstd.CompressionParameter.window_log: 28, zstd.CompressionParameter.compression_level: 1}
    packer = zstd.ZstdCompressor(options=wide)
    for packed, said in (
        (gzip.compress(b""), "unpacks to nothing"),
        (gzip.compress(gzip.compress(lines(2))), "was packed more than once"),
        (packer.compress(lines(2)) + packer.flush(), "a window of more than 128 MiB"),
        (gzip.compress(lines(2))[:5], "nothing can be unpacked"),
    ):
        with pytest.raises(RecordingError, match=said):
            open_recording(written(tmp_path, packed))


def test_a_gzip_bomb_is_left_alone(tmp_path: Path) -> None:
    path = bomb(tmp_path / "bomb.gz", 100)
    assert path.stat().st_size < 200_000
    began = time.monotonic()
    with pytest.raises(RecordingError) as refusal:
        open_recording(path)
    assert "unpacks to more than" in refusal.value.message
    assert time.monotonic() - began < 30


def test_json_that_is_cut_gives_every_complete_child_at_every_cut(tmp_path: Path) -> None:
    whole = json.dumps({"meta": {"a": 1}, "events": records(4)}, indent=1).encode()
    ends = [whole.index(b'"id": %d' % number) for number in range(4)]
    for cut in range(ends[0] + 400, len(whole) - 1, 37):
        with open_recording(written(tmp_path, whole[:cut])) as recording:
            assert len(recording.steps) >= sum(1 for end in ends[1:] if end < cut)
            assert f"cut at byte {cut:,}" in notes(recording)[0]
            assert recording.notes[0].left_out


def test_damage_is_said_by_line_and_byte(tmp_path: Path) -> None:
    data = b'{"a":1}\n{"b":2\n{"c":3}\n\x00\x01\n{"d":4}\n'
    with open_recording(written(tmp_path, data)) as recording:
        assert len(recording.steps) == 3
        assert [(note.line, note.byte) for note in recording.notes] == [(2, 14), (4, 23)]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", '# Notes\n\n"one" and more\n', "see\n[1] there\n", "hello\n"])
def test_text_with_a_line_that_could_be_a_value_is_no_json(tmp_path: Path, text: str) -> None:
    with pytest.raises(RecordingError, match="holds text that is no JSON"):
        open_recording(written(tmp_path, text.encode()))


def test_lines_behind_a_damaged_first_line_are_kept(tmp_path: Path) -> None:
    with open_recording(written(tmp_path, b'starting up\n{"a":1}\n{"b":2}\n')) as recording:
        assert len(recording.steps) == 2
        assert [(note.line, note.byte) for note in recording.notes] == [(1, 0)]


@pytest.mark.parametrize(
    ("data", "line"),
    [(b'{"a":1}{"b":2}\n{"c":{"type":"x"}\n{"type":"y"}\n', 3), (b'{"a":[3,4]}}', 1), (b'{"a":[3,4]},', 1)],
)
def test_damage_that_both_readings_find_is_said_once(tmp_path: Path, data: bytes, line: int) -> None:
    with open_recording(written(tmp_path, data)) as recording:
        assert [note.line for note in report_on(recording).notes] == [line]


def test_a_file_that_is_damaged_all_over_says_so_in_bounded_words(tmp_path: Path) -> None:
    with open_recording(written(tmp_path, b'{"a":1}\n' + b"{broken\n" * 5_000)) as recording:
        assert len(recording.notes) <= 201
        assert "more places" in notes(recording)[-1]


# Big files


def big(folder: Path) -> Path:
    with open(folder / "big.json", "wb") as file:
        file.write(b'{"format":"x","events":[')
        body = json.dumps({"type": "event", "timestamp": 1_700_000_000_000, "text": "x" * 900}).encode()
        count = BIG // len(body)
        file.write(b",".join([body] * count))
        file.write(b'],"after":[1]}')
    return folder / "big.json"


def test_a_big_file_is_indexed_by_another_process_and_read_by_range(tmp_path: Path) -> None:
    with open_recording(big(tmp_path)) as recording:
        assert len(recording.steps) == BIG // len(
            json.dumps({"type": "event", "timestamp": 1_700_000_000_000, "text": "x" * 900})
        )
        (payload,) = recording.payload(recording.steps[-1])
        assert isinstance(payload, dict)
        assert payload["type"] == "event"


def test_a_first_look_costs_no_more_than_its_steps(tmp_path: Path) -> None:
    path = big(tmp_path)
    with first_look(path, steps=50) as recording:
        assert recording.limited
        assert 50 <= len(recording.steps) < 1_000
        assert recording.notes == ()
    with first_look(written(tmp_path, lines(20)), steps=50) as recording:
        assert (recording.limited, len(recording.steps)) == (False, 20)


def test_a_look_at_the_beginning_of_a_big_file_reads_only_that(tmp_path: Path) -> None:
    path = big(tmp_path)
    with open_recording(path, limit=100_000) as recording:
        assert recording.limited
        assert 90 < len(recording.steps) < 110


def test_a_file_that_is_cut_while_it_is_mapped_is_a_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, b"[" + b",".join([b'{"text":"' + b"x" * 900 + b'"}'] * (BIG // 900)) + b"]")
    document = FileDocument(path)
    (root,) = document.roots()
    os.truncate(path, 5_000_000)
    with pytest.raises(RecordingError) as refusal:
        list(root.children())
    assert refusal.value.problem is Unreadable.BEING_WRITTEN
    with pytest.raises(RecordingError):
        root.value()
    document.close()


def test_a_small_file_that_is_cut_or_written_over_is_a_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, lines(50))
    for change in (lambda: os.truncate(path, 10), lambda: path.write_bytes(lines(50)[::-1])):
        path.write_bytes(lines(50))
        os.utime(path, ns=(1, 1))
        with open_recording(path) as recording:
            change()
            with pytest.raises(RecordingError) as refusal:
                recording.payload(recording.steps[-1])
        assert refusal.value.problem is Unreadable.BEING_WRITTEN


def test_a_file_that_grows_is_still_read(tmp_path: Path) -> None:
    path = written(tmp_path, lines(3))
    with open_recording(path) as recording:
        with open(path, "ab") as file:
            file.write(lines(1))
        assert recording.payload(recording.steps[0]) == (records(1)[0],)


MEASURE = """
import re, sys
from workbench.recordings.summarize import summarize_file
summarize_file(sys.argv[1], sys.argv[2])
print(int(re.search("VmHWM: *([0-9]+)", open("/proc/self/status").read().replace(chr(9), " ")).group(1)) // 1024)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
@pytest.mark.parametrize("form", ["json", "jsonl", "numbers"])
def test_a_file_of_any_size_is_summarised_in_bounded_memory(tmp_path: Path, form: str) -> None:
    path = tmp_path / "rec"
    with open(path, "wb") as file:
        if form == "numbers":
            file.write(b'{"numbers":[1' + b",12345" * 8_000_000 + b"]}")
        else:
            block = lines(2_000) if form == "jsonl" else b",".join(lines(2_000).split(b"\n")[:-1])
            file.write(b"" if form == "jsonl" else b'{"events":[')
            for index in range(120):
                file.write(block if form == "jsonl" or not index else b"," + block)
            file.write(b"" if form == "jsonl" else b"]}")
    assert path.stat().st_size > 40 << 20
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), str(tmp_path / "out")], capture_output=True, text=True, check=True
    )
    assert int(ran.stdout) < 80, "MiB in all, the interpreter among them"


def test_reading_a_deep_file_needs_no_deep_stack(tmp_path: Path) -> None:
    deep = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
    with open_recording(written(tmp_path, deep)) as recording:
        (root,) = recording.document.roots()
        assert root.get("a", "a", "a") is not None
        assert isinstance(recording.value(Span(0, len(deep))), dict)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 << 20


def test_a_file_of_nothing_but_brackets_costs_no_more_than_the_levels_that_are_followed(tmp_path: Path) -> None:
    spent = []
    for count in (300_000, 4_000_000):
        path = written(tmp_path, b"[" * count)
        begun = time.process_time()
        report = show_recording(path)
        spent.append(time.process_time() - begun)
        (note,) = report.notes
        assert note.message.startswith("damaged at byte 100,000 (line 1): more than 100,000 brackets are open there")
    assert spent[1] < 4 * spent[0], "thirteen times the brackets"


def test_brackets_that_are_closed_again_are_shown_up_to_where_they_are_followed(tmp_path: Path) -> None:
    with open_recording(written(tmp_path, b"[" * 200_000 + b"]" * 200_000)) as recording:
        (root,) = recording.document.roots()
        assert root.get(0, 0, 0) is not None
        (note,) = recording.notes
        assert note.left_out


def test_ten_thousand_levels_are_shown_as_they_are(tmp_path: Path) -> None:
    report = show_recording(written(tmp_path, b'{"a":[' * 10_000 + b'{"embedding":[3,4]}' + b"]}" * 10_000))
    assert not report.damaged
    assert report.vectors.count == 1


# Watched from outside


def test_a_reading_says_how_far_it_came_and_a_look_says_that_it_is_one(tmp_path: Path) -> None:
    path = big(tmp_path)
    heard: list[tuple[int, int]] = []
    job = Job(lambda done, total: heard.append((done, total)))
    with first_look(path, watch=job) as seen:
        report = report_on(seen, (), job)
        assert seen.limited
        assert report.vectors.bytes_after is None
    heard.clear()
    with open_recording(path, watch=job) as recording:
        report_on(recording, (), job)
    assert [done for done, _total in heard] == sorted(done for done, _total in heard)
    size = path.stat().st_size
    assert len(heard) > 30
    assert {total for _done, total in heard} == {2 * size}
    assert heard[-1][0] == 2 * size


@pytest.mark.parametrize("form", ["json", "jsonl", "gzip"])
def test_an_opening_that_is_given_up_ends_at_once_and_leaves_nothing_open(tmp_path: Path, form: str) -> None:
    path = big(tmp_path)
    if form == "jsonl":
        path = written(tmp_path, path.read_bytes()[24:-14].replace(b"},{", b"}\n{"), "rec.jsonl")
    if form == "gzip":
        path = written(tmp_path, gzip.compress(path.read_bytes(), 1), "rec.gz")
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    given_up = Job()
    given_up.cancel()
    with pytest.raises(Cancelled):
        open_recording(path, watch=given_up)

    def tired(done: int, _total: int) -> None:
        if done > 2 << 20:
            later.cancel()

    later = Job(tired)
    with pytest.raises(Cancelled):
        open_recording(path, watch=later)
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


def test_giving_up_does_not_wait_for_the_other_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process is stopped in the middle of its work, as if that took for ever."""
    path = big(tmp_path)
    job = Job()
    asked = threading.Event()
    ask = FarIndex.roots

    def stopped(far: FarIndex, span: Span, notes: list[Note]) -> list[Found]:
        os.kill(far.start().pid, signal.SIGSTOP)
        asked.set()
        return ask(far, span, notes)

    monkeypatch.setattr(FarIndex, "roots", stopped)

    def give_up() -> None:
        asked.wait()
        job.cancel()

    canceller = threading.Thread(target=give_up)
    canceller.start()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        open_recording(path, watch=job)
    canceller.join()
    assert time.monotonic() - begun < 5


def test_lines_are_lines_when_the_first_of_them_is_long(tmp_path: Path) -> None:
    long = json.dumps({"type": "a", "text": "x" * 200_000}).encode()
    with open_recording(written(tmp_path, long + b"\n" + lines(3))) as recording:
        assert (recording.document.form, len(recording.steps)) == ("jsonl", 4)
    with open_recording(written(tmp_path, long + b"\n")) as recording:
        assert recording.document.form == "json"
