"""Slim copies of cassettes in YAML: what is replaced, in which form, and that every other byte stays."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from pathlib import Path

import pytest
import yaml

from tests.shared_files import SAMPLES, needs_samples
from workbench.recordings.model import RecordingError
from workbench.recordings.picked import parse_path
from workbench.recordings.slim import Options
from workbench.recordings.summarize import Summary, summarize_file

VECTOR = [0.6, 0.8, *([0.0] * 30)]
BODY = json.dumps({"model": "m", "data": [{"object": "embedding", "embedding": VECTOR}], "note": "it's \u00fc"})
SLIM_BODY = BODY.replace(json.dumps(VECTOR), '{"dims":32,"norm":1}')
WIDE = Options(wide=True)


def cassette(body: str, *, key: str = "string", more: str = "") -> str:
    return (
        "interactions:\n- request:\n    body: null\n    method: POST\n    uri: http://x/v1/embeddings\n"
        f"  response:\n    body:\n      {key}: {body}\n    headers: {{}}\n{more}"
        "    status: {code: 200, message: OK}\nversion: 1\n"
    )


def slim(tmp_path: Path, text: str | bytes, options: Options = WIDE) -> tuple[str, Summary]:
    recording, out = tmp_path / "rec.yaml", tmp_path / "out.yaml"
    recording.write_bytes(text.encode() if isinstance(text, str) else text)
    found = summarize_file(recording, out, options)
    return out.read_text(encoding="utf-8"), found


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@pytest.mark.parametrize(
    "written",
    [
        quoted(BODY),
        json.dumps(BODY),
        "|-\n        " + BODY,
        ">-\n        " + BODY,
        quoted(BODY).replace(", ", ",\n        "),
    ],
    ids=["single", "double", "literal", "folded", "over many lines"],
)
def test_a_body_of_any_style_is_written_again_on_one_line_and_all_else_stays(tmp_path: Path, written: str) -> None:
    before, after = cassette("@").split("@")
    out, found = slim(tmp_path, cassette(written))
    assert out.startswith(before)
    assert out.endswith(after)
    assert json.loads(yaml.safe_load(out)["interactions"][0]["response"]["body"]["string"]) == json.loads(SLIM_BODY)
    assert (found.form, found.by_rule, found.unsummarised_likely) == ("yaml", {"W2": 1}, 0)
    assert found.bytes_after == len(out.encode())


def test_the_bytes_of_a_body_around_its_vectors_stay(tmp_path: Path) -> None:
    out, _found = slim(tmp_path, cassette(quoted(BODY)))
    assert out == cassette(quoted(SLIM_BODY))


def test_a_packed_body_is_packed_again_the_same_way(tmp_path: Path) -> None:
    for pack, unpack in ((gzip.compress, gzip.decompress), (bytes, bytes)):
        packed = base64.b64encode(pack(BODY.encode())).decode()
        out, found = slim(tmp_path, cassette(f"!!binary |\n        {packed}"))
        body = yaml.safe_load(out)["interactions"][0]["response"]["body"]["string"]
        assert unpack(body).decode() == SLIM_BODY
        assert found.by_rule == {"W2": 1}
        again, nothing = slim(tmp_path, out)
        assert (again, nothing.by_rule) == (out, {})


def test_a_deflated_body_stays_deflated(tmp_path: Path) -> None:
    packed = base64.b64encode(zlib.compress(BODY.encode())).decode()
    text = cassette(f"!!binary {packed}").replace("headers: {}", "headers: {Content-Encoding: [deflate]}")
    out, _found = slim(tmp_path, text)
    assert zlib.decompress(yaml.safe_load(out)["interactions"][0]["response"]["body"]["string"]).decode() == SLIM_BODY


@pytest.mark.parametrize(
    ("written", "shape"),
    [
        ("      embedding:\n      - 3\n      - 4\n", "      embedding: {dims: 2, norm: 5}\n"),
        ("      embedding:\n        - 3.0\n        - 4\n", "      embedding: {dims: 2, norm: 5}\n"),
        ("      embedding: [3, 4]\n", "      embedding: {dims: 2, norm: 5}\n"),
        ("      embedding: [3,\n        4\n      ]\n", "      embedding: {dims: 2, norm: 5}\n"),
        (
            "      embeddings:\n      - - 3\n        - 4\n      -\n        - 6\n        - 8\n",
            "      embeddings:\n      - {dims: 2, norm: 5}\n      - {dims: 2, norm: 10}\n",
        ),
    ],
)
def test_a_body_kept_as_a_tree_is_summarised_by_the_seeds_rule(tmp_path: Path, written: str, shape: str) -> None:
    text = cassette("''", more="    parsed_body:\n      ä: 1\n@      z: last\n")
    out, found = slim(tmp_path, text.replace("@", written), Options())
    assert out == text.replace("@", shape)
    assert set(found.by_rule) <= {"embedding", "embeddings"}


def test_by_default_bodies_stay_and_their_vectors_are_likely(tmp_path: Path) -> None:
    text = cassette(quoted(BODY))
    out, found = slim(tmp_path, text, Options())
    assert (out, found.by_rule, found.unsummarised_likely) == (text, {}, 1)


def test_what_cannot_be_seen_is_escaped(tmp_path: Path) -> None:
    odd = json.loads(BODY) | {"odd": "\x7f\x85\u2028\ufeff\U0001f4a1 tab\t"}
    out, _found = slim(tmp_path, cassette(json.dumps(json.dumps(odd, ensure_ascii=True))))
    assert json.loads(yaml.safe_load(out)["interactions"][0]["response"]["body"]["string"])["odd"] == odd["odd"]
    raw = "x\x85\ufeff" + chr(0x2028)
    text = cassette('"' + json.dumps({**odd, "raw": raw}, ensure_ascii=False).translate(_YAML_ESCAPES) + '"')
    out, _found = slim(tmp_path, text)
    assert json.loads(yaml.safe_load(out)["interactions"][0]["response"]["body"]["string"])["raw"] == raw


_YAML_ESCAPES = str.maketrans(
    {'"': '\\"', "\\": "\\\\", "\x85": "\\x85", "\ufeff": "\\ufeff", "\u2028": "\\u2028", "\x7f": "\\x7f"}
)


def test_an_anchored_value_is_replaced_once_and_its_aliases_follow(tmp_path: Path) -> None:
    text = cassette("''", more="    parsed_body: {embedding: &v [3, 4]}\n    again: {embedding: *v}\n")
    out, _found = slim(tmp_path, text, Options())
    assert out == text.replace("&v [3, 4]", "&v {dims: 2, norm: 5}")


def test_an_interaction_that_aliases_unfold_without_end_stays_and_the_others_are_summarised(tmp_path: Path) -> None:
    levels = "".join(f"    a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    bomb = f"- request: {{method: GET}}\n  response:\n    a0: &a0 [xxxxxxxxxx]\n{levels}"
    whole = cassette("''", more="    parsed_body: {embedding: [3, 4]}\n")
    text = whole.replace("interactions:\n", f"interactions:\n{bomb}")
    out, found = slim(tmp_path, text, Options())
    assert out == text.replace("[3, 4]", "{dims: 2, norm: 5}")
    assert [note.message for note in found.notes if "aliases" in note.message] == [
        "an interaction is too big when its aliases are written out, and stays as it is"
    ]


def test_secrets_are_masked_where_that_is_asked(tmp_path: Path) -> None:
    secret = "sk-" + "a1B2" * 10
    text = cassette(quoted(BODY), more=f"    api_key: {secret}\n")
    out, found = slim(tmp_path, text, Options(redact=True))
    assert secret not in out
    assert found.masked == 1


def test_a_damaged_cassette_is_refused_and_out_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "out.yaml").write_text("before")
    text = cassette(quoted(BODY))
    with pytest.raises(RecordingError, match="damaged cassette"):
        slim(tmp_path, text[: text.index("note")])
    assert (tmp_path / "out.yaml").read_text() == "before"


def test_a_value_that_cannot_be_replaced_by_itself_is_refused(tmp_path: Path) -> None:
    text = cassette("''", more="    parsed_body:\n      embedding: # why\n      - &a 3\n      - 4\n      again: *a\n")
    with pytest.raises(RecordingError, match="cannot be replaced by itself"):
        slim(tmp_path, text, Options())


def test_a_path_is_not_followed_in_yaml_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "rec.yaml").write_text(cassette(quoted(BODY)))
    found = summarize_file(tmp_path / "rec.yaml", tmp_path / "out.yaml", WIDE, paths=[parse_path("interactions[].x")])
    assert found.by_rule == {"W2": 1}
    assert [note.message for note in found.notes] == ["the path interactions[].x is not followed in YAML"]


@needs_samples
@pytest.mark.parametrize("path", sorted((SAMPLES / "recordings" / "vcr").glob("*.yaml")), ids=lambda path: path.name)
def test_every_cassette_reads_as_before_without_its_vectors(tmp_path: Path, path: Path) -> None:
    out, found = slim(tmp_path, path.read_bytes())
    assert found.vectors > 0
    assert len(out.encode()) < path.stat().st_size
    again, nothing = slim(tmp_path, out)
    assert (again, nothing.vectors) == (out, 0)
    before, after = yaml.safe_load(path.read_text(encoding="utf-8")), yaml.safe_load(out)
    for one, other in zip(before["interactions"], after["interactions"], strict=True):
        assert one["response"].get("headers") == other["response"].get("headers")
        assert one["request"]["uri"] == other["request"]["uri"]
        assert one["response"]["status"] == other["response"]["status"]
