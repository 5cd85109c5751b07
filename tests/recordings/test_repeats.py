"""Keys that an object has twice are named with their places, and nothing else is said to repeat."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.cli.running import workbench
from tests.shared_files import SAMPLES, needs_samples
from workbench.recordings.slim import Options
from workbench.recordings.summarize import summarize_to

VECTOR = json.dumps([0.5] * 64)


def said(path: Path, text: str | bytes, options: Options | None = None) -> list[tuple[str, int | None, int | None]]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    summary = summarize_to(path, io.BytesIO(), options)
    assert not summary.left_out
    return [(note.message, note.line, note.byte) for note in summary.notes]


@needs_samples
def test_show_says_which_key_and_where_and_ends_well(tmp_path: Path) -> None:
    ran = workbench(tmp_path, "show", SAMPLES / "recordings" / "hostile" / "duplicate_keys.json", "--json")
    assert ran.code == 0
    keys = [(each["message"].split(",")[0], each["line"], each["byte"]) for each in ran.json["problems"]]
    assert keys == [("an object has the key 'id' twice", 1, 36), ("an object has the key 'embedding' twice", 1, 45)]


@pytest.mark.parametrize(
    "text",
    [
        '{"a":{"b":1},"b":{"a":2},"c":[{"a":1},{"a":2}]}',
        '{"a" : 1, "b" :2}',
        r'{"a":"{\"x\":1,\"x\":2}","b":": begins with a colon","c":"a\\\\","d\\\\":1}',
        '{"text":"\\":"}',
        f'{{"embedding":{VECTOR},"id":1}}\n{{"embedding":{VECTOR},"id":1}}\n',
    ],
)
@pytest.mark.parametrize("options", [Options(), Options(wide=True, redact=True)])
def test_keys_of_different_objects_and_colons_in_texts_do_not_repeat(
    tmp_path: Path, text: str, options: Options
) -> None:
    assert said(tmp_path / "a.json", text, options) == []


@pytest.mark.parametrize("blanks", ["", " "])
def test_a_repeated_key_is_found_at_its_byte_behind_vectors_that_were_left_out(tmp_path: Path, blanks: str) -> None:
    many = [f'{{"id"{blanks}:{place},"embedding":{VECTOR}}}' for place in range(4_000)]
    many[3_000] = f'{{"id":1,"embedding":{VECTOR},"\\u0069d":2}}'
    for text in ("\n".join(many), f'{{"events":[{",".join(many)}],"b":1}}', f'{{"m":[{", ".join(many)}]}}'):
        (found,) = said(tmp_path / "a.json", text)
        byte = text.index('"\\u0069d"')
        assert found[1:] == (text.count("\n", 0, byte) + 1, byte)
        assert found[0].startswith(f"an object has the key 'id' twice, again at byte {byte:,}")


def test_a_file_that_repeats_keys_all_over_is_not_listed_without_end(tmp_path: Path) -> None:
    notes = said(tmp_path / "a.jsonl", '{"a":1,"a":2}\n' * 50_000)
    assert len(notes) == 11
    assert notes[-1][0] == "keys that an object has twice are listed up to 10; there may be more"
