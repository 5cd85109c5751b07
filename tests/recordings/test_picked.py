"""Rule W8: how a path is written, what it takes, and that nothing else is touched."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest

from workbench.recordings.picked import AnyItem, AnyKey, PathError, parse_path
from workbench.recordings.slim import Options
from workbench.recordings.summarize import Summary, summarize_file


def picked(tmp_path: Path, text: bytes, *paths: str) -> tuple[bytes, Summary]:
    recording, out = tmp_path / "rec", tmp_path / "out"
    recording.write_bytes(text)
    found = summarize_file(recording, out, Options(wide=True), paths=[parse_path(path) for path in paths])
    return out.read_bytes(), found


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a", ("a",)),
        ("a.b[].c", ("a", "b", AnyItem(), "c")),
        ("[]", (AnyItem(),)),
        ("[3].v", (3, "v")),
        ("m[0][1]", ("m", 0, 1)),
        ("by.*", ("by", AnyKey())),
        ('"a.b"."c[0]"', ("a.b", "c[0]")),
        (r'"\u0061\"".x', ('a"', "x")),
        ("a b.ö", ("a b", "ö")),
        ('"a."', ("a.",)),
    ],
)
def test_a_path_is_keys_items_and_any_of_them(text: str, steps: tuple[object, ...]) -> None:
    assert parse_path(text).steps == steps


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a.[0]", "a[x]", "a[", "a]", 'a"b"', '"a', "[0]a"])
def test_what_is_no_path_is_said_with_its_text(text: str) -> None:
    with pytest.raises(PathError) as refused:
        parse_path(text)
    assert repr(text) in str(refused.value)


def test_only_what_stands_at_the_path_is_replaced_and_every_other_byte_stays(tmp_path: Path) -> None:
    text = b'{ "a" : {"b": [ {"c":[3, 4]}, {"c":[6,8] ,"d":[1,2]}, null]}, "c" : [1,2] }\n'
    out, found = picked(tmp_path, text, "a.b[].c")
    shapes = (b'{"dims":2,"norm":5}', b'{"dims":2,"norm":10}')
    assert out == text.replace(b"[3, 4]", shapes[0]).replace(b"[6,8]", shapes[1])
    assert found.by_rule == {"W8": 2}
    assert found.bytes_after == len(out)
    assert not found.notes


def test_a_path_begins_at_each_line_of_json_lines(tmp_path: Path) -> None:
    out, found = picked(tmp_path, b'{"v":[3,4]}\n\n{"w":[3,4]}\r\n{"v":[0,2]}\n', "v")
    assert out == b'{"v":{"dims":2,"norm":5}}\n\n{"w":[3,4]}\r\n{"v":{"dims":2,"norm":2}}\n'
    assert found.by_rule == {"W8": 2}


def test_numbers_are_read_as_text_as_base64_and_as_otlp_writes_them(tmp_path: Path) -> None:
    packed = base64.b64encode(struct.pack("<8f", 3, 4, 0, 0, 0, 0, 0, 0)).decode()
    otlp = {"arrayValue": {"values": [{"doubleValue": 3.0}, {"intValue": "4"}]}}
    value = {"v": ["[3, 4]", packed, otlp, {"stringValue": "[3,4]"}]}
    out, found = picked(tmp_path, json.dumps(value).encode(), "v[]")
    assert [each["norm"] for each in json.loads(out)["v"]] == [5, 5, 5, 5]
    assert [each["dims"] for each in json.loads(out)["v"]] == [2, 8, 2, 2]
    assert found.by_rule == {"W8": 4}


@pytest.mark.parametrize(
    "other", ['"north gate"', "7", "[]", "[1,true]", '[1,"2"]', '{"x":1}', "null", '"[1,"', '"abcdefgh"']
)
def test_what_is_no_vector_stays_and_is_said(tmp_path: Path, other: str) -> None:
    text = f'{{"v":{other}}}'.encode()
    out, found = picked(tmp_path, text, "v")
    assert out == text
    assert [note.message for note in found.notes] == [
        "the path v leads to a value that is no vector, and it stays as it is"
    ]


def test_a_path_that_leads_nowhere_is_said(tmp_path: Path) -> None:
    _out, found = picked(tmp_path, b'{"v":[1,2]}', "w[].x", "v[0].y")
    assert [note.message for note in found.notes] == [
        "the path w[].x leads nowhere in this recording",
        "the path v[0].y leads nowhere in this recording",
    ]


def test_the_seeds_rule_comes_first_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    once, found = picked(tmp_path, b'{"embedding":[3,4],"v":[0,2]}', "embedding", "v")
    assert found.by_rule == {"embedding": 1, "W8": 1}
    assert list(found.by_rule) == ["embedding", "W8"]
    assert not found.notes
    again, nothing = picked(tmp_path, once, "embedding", "v")
    assert again == once
    assert nothing.by_rule == {}
    assert not nothing.notes


def test_every_field_of_a_repeated_key_is_replaced(tmp_path: Path) -> None:
    out, found = picked(tmp_path, b'{"v":[3,4],"v":[0,2]}', "v", "*")
    assert out == b'{"v":{"dims":2,"norm":5},"v":{"dims":2,"norm":2}}'
    assert found.by_rule == {"W8": 2}


def test_a_recording_of_many_megabytes_is_followed_by_its_bytes(tmp_path: Path) -> None:
    rows = [{"text": "x" * 2_000, "dense": [3, 4]} for _ in range(1_500)]
    text = json.dumps({"results": rows}, separators=(",", ":")).encode()
    out, found = picked(tmp_path, text, "results[].dense")
    assert out == text.replace(b"[3,4]", b'{"dims":2,"norm":5}')
    assert found.by_rule == {"W8": 1_500}


def test_a_norm_that_no_json_can_hold_is_null(tmp_path: Path) -> None:
    out, _found = picked(tmp_path, b'{"v":[1e200,1e200]}', "v")
    assert json.loads(out) == {"v": {"dims": 2, "norm": None}}
