"""The slim copy against the seed's rule over parsed values: bytes in, bytes out, whatever the text looks like."""

from __future__ import annotations

import io
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.core.cases import FOLDERS, cases, decode
from workbench.core.summary import summarize_embeddings
from workbench.recordings.document import FileDocument
from workbench.recordings.model import Note
from workbench.recordings.piece import Kind
from workbench.recordings.pieces import pieces_of
from workbench.recordings.seed_vectors import find_vectors
from workbench.recordings.slim import Options, Run, Slimmed, slimmed
from workbench.recordings.summarize import Summary, summarize_to

KEYS = st.sampled_from(["embedding", "embeddings", "Embedding", "vector", "a", "", 'q"', "\\", "é"])
NUMBERS = st.integers(-(10**20), 10**20) | st.floats() | st.sampled_from([0.0, -0.0, 1e400, 1e200, 5, 0.5])
VECTORS = st.lists(NUMBERS, max_size=5)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=6) | st.just('"embedding":[1,2]') | st.just('\\"')
VALUES = st.recursive(
    SCALARS | VECTORS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


def as_json(value: object) -> object:
    """Give a summarised value as it is in JSON: a norm that is not finite is null."""
    if isinstance(value, dict):
        if set(value) == {"dims", "norm"} and isinstance(value["norm"], float) and not math.isfinite(value["norm"]):
            return {"dims": value["dims"], "norm": None}
        return {key: as_json(each) for key, each in value.items()}
    return [as_json(each) for each in value] if isinstance(value, list) else value


def spelled(value: object) -> str:
    return json.dumps(value)


def escaped_somewhere(text: str, seed: int) -> str:
    """Spell some letters of the keys that count with escapes, as JSON allows."""
    chance = random.Random(seed)

    def key(name: str) -> str:
        return "".join(f"\\u{ord(each):04x}" if chance.random() < 0.3 else each for each in name)

    for name in ("embeddings", "embedding"):
        parts = text.split(f'"{name}":')
        text = parts[0] + "".join(f'"{key(name)}":{part}' for part in parts[1:])
    return text


def slim(data: bytes) -> bytes:
    one = slimmed(data, Options()) or slimmed(data, Options(), proven=True)
    assert one is not None
    return one.text


def summarize(path: Path, data: bytes, options: Options | None = None) -> tuple[bytes, Summary]:
    (path / "rec.json").write_bytes(data)
    out = io.BytesIO()
    summary = summarize_to(path / "rec.json", out, options)
    return out.getvalue(), summary


@given(VALUES, st.sampled_from([None, 1]), st.integers(0, 1_000), st.booleans())
@example({"embeddings": [[1.5], {"embedding": [3, 4]}, [], ["x"], [[1]]]}, None, 0, False)
@example({"embedding": [math.nan]}, None, 0, False)
@settings(max_examples=400)
def test_any_json_parses_to_exactly_what_the_seeds_function_gives(
    value: object, indent: int | None, seed: int, ascii_only: bool
) -> None:
    text = escaped_somewhere(json.dumps(value, indent=indent, ensure_ascii=ascii_only), seed)
    data = text.encode("utf-8", "surrogatepass")
    out = slim(data)
    expected = as_json(summarize_embeddings(json.loads(data.decode("utf-8", "surrogatepass"))))
    assert spelled(json.loads(out.decode("utf-8", "surrogatepass"))) == spelled(expected)
    again = slim(out)
    assert again == out


@given(VALUES)
def test_only_the_bytes_of_vectors_are_touched(value: object) -> None:
    data = json.dumps(value).encode()
    found = find_vectors(data)
    out = slim(data)
    at = back = 0
    for each in found:
        assert out[back : back + each.start - at] == data[at : each.start]
        back += each.start - at + len(each.text)
        at = each.end
    assert out[back:] == data[at:]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_walk_is_done_on_bytes(folder: Path, tmp_path: Path) -> None:
    done = 0
    for case in cases(folder, "golden_summary.json", "walk"):
        value = decode(case["in"])
        try:
            data = json.dumps(value)
        except (TypeError, ValueError):
            continue  # no JSON can say this: a cycle, an instance
        if "undefined" in json.dumps(case["in"]) or "hole" in json.dumps(case["in"]):
            continue
        out, _summary = summarize(tmp_path, data.encode())
        expected = as_json(summarize_embeddings(json.loads(data)))
        assert spelled(json.loads(out)) == spelled(expected), case["name"]
        done += 1
    assert done > 40 or "shared" not in str(folder)


def test_brackets_that_are_made_to_be_looked_at_again_and_again_cost_one_pass() -> None:
    levels = 20_000
    data = b'{"embedding":[1,' * levels + b"{}" + b"]}" * levels
    one = slimmed(data, Options(), proven=True)
    assert one is not None
    assert one.text == data


# Big files: the same through windows


def record(number: int, chance: random.Random) -> dict[str, Any]:
    vector = [chance.gauss(0, 1) for _ in range(chance.choice([3, 16, 64]))]
    return {
        "type": chance.choice(["a", "b"]),
        "text": 'said "embedding":[1,2] and \\" ' + "x" * chance.randrange(400),
        "payload": {"embedding": vector, "embeddings": [vector, vector, {"embedding": [number, 1]}]},
        "other": [{"n": number, "list": [number] * 5}],
    }


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_of_many_windows_is_summarised_as_one_value(tmp_path: Path, indent: int | None) -> None:
    chance = random.Random(4)
    value = {
        "head": {"a": [1, 2], "embedding": [1.0] * 70_000},
        "nested": {"deep": {"events": [record(number, chance) for number in range(1_500)]}},
        "embeddings": [[float(each)] * 4_000 for each in range(40)],
        "numbers": list(range(300_000)),
        "tail": {"embedding": [3, 4]},
    }
    data = json.dumps(value, indent=indent).encode()
    assert len(data) > 3 << 20
    out, summary = summarize(tmp_path, data)
    assert spelled(json.loads(out)) == spelled(as_json(summarize_embeddings(json.loads(data))))
    assert summary.by_rule == {"embedding": 1 + 1_500 * 2 + 1, "embeddings": 1_500 * 2 + 40}
    assert (summary.bytes_before, summary.bytes_after) == (len(data), len(out))


def test_json_lines_stay_json_lines_and_their_line_ends_stay(tmp_path: Path) -> None:
    chance = random.Random(5)
    records = [record(number, chance) for number in range(900)]
    lines = [json.dumps(each).encode() + chance.choice([b"\n", b"\r\n"]) for each in records]
    lines.insert(400, b"\n")
    lines[-1] = lines[-1].rstrip()
    out, summary = summarize(tmp_path, b"".join(lines))
    assert summary.form == "jsonl"
    kept = out.split(b"\n")
    assert len(kept) == len(lines)
    assert [line.endswith(b"\r") for line in kept[:-1]] == [line.endswith(b"\r\n") for line in lines[:-1]]
    expected = [spelled(as_json(summarize_embeddings(each))) for each in records]
    assert [spelled(json.loads(line)) for line in kept if line.strip()] == expected


def test_lines_that_only_together_are_json_are_not_taken_for_lines(tmp_path: Path) -> None:
    out, summary = summarize(tmp_path, b'{"a":1}\n{"b":{"c":1}\n"d":2}\n{"e":3}\n')
    assert out == b'{"a":1}\n{"e":3}\n'
    assert [note.line for note in summary.notes] == [2, 3]


def test_values_one_after_another_keep_what_stands_between_them(tmp_path: Path) -> None:
    data = b'{\n "embedding": [3, 4]\n}\n\n{\n "b": 1\n}  [ ]\n'
    out, summary = summarize(tmp_path, data)
    assert summary.form == "concatenated"
    assert out == b'{\n "embedding": {"dims":2,"norm":5}\n}\n\n{\n "b": 1\n}  [ ]\n'


def test_the_pieces_of_a_text_are_the_text(tmp_path: Path) -> None:
    chance = random.Random(6)
    data = json.dumps({"events": [record(number, chance) for number in range(2_000)], "z": [1]}).encode()
    (tmp_path / "rec.json").write_bytes(data)

    def prove(text: bytes, start: int, end: int, run: Run) -> Slimmed | None:
        part = text[start:end]
        try:
            json.loads(part.join(run.around))
        except ValueError:
            return None
        return Slimmed(part, {})

    document = FileDocument(tmp_path / "rec.json")
    notes: list[Note] = []
    together = b""
    most = 0
    for piece in pieces_of(document, notes, prove):
        text = piece.proof.text if piece.proof is not None else piece.data
        together += text[1:-1] if piece.kind is Kind.MEMBERS else text
        most = max(most, len(text))
    document.close()
    assert together == data
    assert most < 1 << 20


# What is odd or damaged


@pytest.mark.parametrize(
    ("data", "expected", "note"),
    [
        (b'{"x":NaN,"embedding":[3,4]}', b'{"x":NaN,"embedding":{"dims":2,"norm":5}}', "NaN"),
        (b'{"x":"a\x01b","embedding":[3,4]}', b'{"x":"a\x01b","embedding":{"dims":2,"norm":5}}', "control characters"),
        (b'{"x":"\xff","embedding":[3,4]}', b'{"x":"\xff","embedding":{"dims":2,"norm":5}}', "UTF-8"),
        (b'{"x":"\\ud83d","embedding":[3,4]}', b'{"x":"\\ud83d","embedding":{"dims":2,"norm":5}}', "surrogate"),
        (b'\xef\xbb\xbf{"embedding":[3,4]}', b'{"embedding":{"dims":2,"norm":5}}', "byte order mark"),
        (b'{"embedding":[3,4]}\0\0\0', b'{"embedding":{"dims":2,"norm":5}}', "NUL bytes"),
        ('{"embedding":[3,4]}'.encode("utf-16"), b'{"embedding":{"dims":2,"norm":5}}', "UTF-16"),
        ('{"embedding":[3,4]}'.encode("utf-16-le"), b'{"embedding":{"dims":2,"norm":5}}', "UTF-16"),
    ],
)
def test_what_is_odd_is_kept_and_said(tmp_path: Path, data: bytes, expected: bytes, note: str) -> None:
    out, summary = summarize(tmp_path, data)
    assert out == expected
    assert any(note in each.message for each in summary.notes)
    assert not summary.left_out


def test_a_damaged_line_is_left_out_and_said_and_what_is_glued_to_it_is_kept(tmp_path: Path) -> None:
    out, summary = summarize(tmp_path, b'{"a":1}\n{"a":[1,2{"a":{"embedding":[3,4]}}\n{"c":3}\n{"d"')
    assert out == b'{"a":1}\n{"a":{"embedding":{"dims":2,"norm":5}}}\n{"c":3}\n'
    assert [(note.line, note.left_out) for note in summary.notes] == [(2, True), (4, True)]
    assert "cut at byte" in summary.notes[1].message


# The wide rules


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ('{"query_embedding":[0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5]}', {"W5": 1}),
        ('{"newMessageEmbeddings":[[0,0,0,0.5,0,0,0,0.5],[0,1,0,0.5,0.1,0,0,0.5]]}', {"W5": 2}),
        ('{"vector":"[0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5]"}', {"W7": 1}),
        ('{"id":"a","score":1,"values":[0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5]}', {"W6": 1}),
        ('{"embeddings":{"int8":[[1,2,3,4,5,6,7,8]],"ubinary":[[255,0,0,0,0,0,0,1]]}}', {"W4": 2}),
        ('{"vector":[0.5,0.5,0.5]}', {}),
        ('{"vector":[1,2,3,4,5,6,7,8]}', {}),
        ('{"values":[0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5]}', {}),
        ('{"embedding_ids":[0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5]}', {}),
    ],
)
def test_wide_rules_take_what_they_name_and_are_counted_as_likely_otherwise(
    tmp_path: Path, text: str, rules: dict[str, int]
) -> None:
    out, summary = summarize(tmp_path, text.encode(), Options(wide=True))
    assert summary.by_rule == rules
    strict, by_seed = summarize(tmp_path, text.encode())
    assert strict == text.encode()
    assert by_seed.unsummarised_likely == sum(rules.values())
    _again, twice = summarize(tmp_path, out, Options(wide=True))
    assert twice.vectors == 0


def test_json_inside_strings_stays_json_inside_strings(tmp_path: Path) -> None:
    inner = json.dumps({"note": "é" * 240, "embedding": [3, 4], "z": 1}, ensure_ascii=False)
    text = json.dumps({"output.value": inner, "b": 2}, ensure_ascii=False).encode()
    strict, summary = summarize(tmp_path, text)
    assert (strict, summary.unsummarised_likely) == (text, 1)
    out, wide = summarize(tmp_path, text, Options(wide=True))
    assert wide.by_rule == {"W2": 1}
    assert json.loads(json.loads(out)["output.value"]) == {
        "note": "é" * 240,
        "embedding": {"dims": 2, "norm": 5},
        "z": 1,
    }


# Secrets


def test_secrets_are_masked_by_key_and_by_how_they_begin_and_counts_of_tokens_survive(tmp_path: Path) -> None:
    value = {
        "api_key": "abc",
        "headers": [{"name": "Authorization", "value": "Bearer abcdefgh"}, {"name": "Accept", "value": "text/html"}],
        "request": {"headers": {"Cookie": ["a=b"], "x-api-key": "k"}},
        "text": "use sk-abcdefghijklmnopqrstuv now",
        "url": "http://localhost/x?key=abcdefgh&b=1",
        "max_tokens": 5,
        "token_count": 7,
        "usage": {"total_tokens": 9, "tokens": "many"},
        "clientSecret": "s3cr3t",
        "rawHeaders": [["x-api-key", "k"], ["accept", "text/html"]],
    }
    out, summary = summarize(tmp_path, json.dumps(value).encode(), Options(redact=True))
    shown = json.loads(out)
    assert shown == {
        "api_key": "[redacted]",
        "headers": [{"name": "Authorization", "value": "[redacted]"}, {"name": "Accept", "value": "text/html"}],
        "request": {"headers": {"Cookie": ["[redacted]"], "x-api-key": "[redacted]"}},
        "text": "use [redacted] now",
        "url": "http://localhost/x?key=[redacted]&b=1",
        "max_tokens": 5,
        "token_count": 7,
        "usage": {"total_tokens": 9, "tokens": "many"},
        "clientSecret": "[redacted]",
        "rawHeaders": [["x-api-key", "[redacted]"], ["accept", "text/html"]],
    }
    assert summary.masked == 8


def test_two_words_that_are_no_header_are_kept(tmp_path: Path) -> None:
    document = {"words": ["secret", "garden"], "pairs": [["password", "p"], ["secret", "s"]], "password": ["a", "b"]}
    again, summary = summarize(tmp_path, json.dumps(document).encode(), Options(redact=True))
    assert summary.masked == 4
    assert json.loads(again) == {
        "words": ["secret", "garden"],
        "pairs": [["password", "[redacted]"], ["secret", "[redacted]"]],
        "password": ["[redacted]", "[redacted]"],
    }
