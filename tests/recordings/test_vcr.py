"""Cassettes of VCR.py: each interaction a step, in YAML and JSON, bodies unpacked, bombs bounded, damage said."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from pathlib import Path

import pytest

from tests.recordings.traces import write
from tests.shared_files import SAMPLES, needs_samples
from workbench.recordings.cassette_text import interaction_text
from workbench.recordings.model import RecordingError, Unreadable
from workbench.recordings.opening import Recording, open_recording
from workbench.recordings.readers import vcr, yaml_events

BODY = json.dumps({"model": "m", "data": [{"object": "embedding", "embedding": [0.25] * 32}]})
ADDRESS = "https://user:pass@api.example.com/v1/embeddings?key=abc"


def opened(path: Path) -> Recording:
    recording = open_recording(path)
    assert recording.format == "vcr", recording.why
    return recording


def yaml(body: str, *, after: str = "version: 1\n") -> str:
    return (
        'interactions:\n- request:\n    body: \'{"model": "m"}\'\n    method: POST\n    uri: ' + ADDRESS + "\n"
        f"  response:\n    body:\n      string: {body}\n    status:\n      code: 200\n      message: OK\n{after}"
    )


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    text = tmp_path / "a.yaml"
    text.write_text(yaml(f"'{BODY}'"))
    interaction = {
        "request": {"method": "post", "uri": ADDRESS, "body": "{}"},
        "response": {"status": {"code": 200}, "body": {"string": BODY}},
    }
    document = write(tmp_path / "a.json", {"version": 1, "interactions": [interaction]})
    for path in (text, document):
        with opened(path) as recording:
            (step,) = recording.steps
            assert (step.kind, step.status) == ("embedding", "ok")
            assert step.name == "POST api.example.com/v1/embeddings: m@32, 1 vector"
            assert recording.run.manifest == (("embedder", "m@32, 1 vector"),)
            assert recording.notes == ()


def test_an_address_is_shown_without_what_may_hold_keys() -> None:
    assert vcr.address(ADDRESS) == "api.example.com/v1/embeddings"
    assert vcr.address("http://[bad?key=abc") == "http://[bad"


def test_a_gzip_body_is_unpacked(tmp_path: Path) -> None:
    packed = base64.b64encode(gzip.compress(BODY.encode())).decode()
    path = tmp_path / "a.yaml"
    path.write_text(yaml(f"!!binary |\n        {packed}"))
    with opened(path) as recording:
        assert recording.steps[0].name.endswith("m@32, 1 vector")


def test_a_gzip_bomb_in_a_body_is_unpacked_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vcr, "_MOST_BODY", 1 << 20)
    packed = base64.b64encode(gzip.compress(bytes(64 << 20))).decode()
    path = tmp_path / "a.yaml"
    path.write_text(yaml(f"!!binary |\n        {packed}"))
    unread: dict[str, int] = {}
    with opened(path) as recording:
        ((value, _),) = vcr.interactions_of(recording.document, [])
    assert isinstance(value, dict)
    body = vcr.body_of(value["response"], unread)
    assert isinstance(body, str)
    assert len(body) == 1 << 20


def test_a_body_in_an_encoding_that_is_not_read_is_counted_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    headers = "    headers:\n      Content-Encoding:\n      - br\n    status:"
    path.write_text(yaml("!!binary |\n        iwGA").replace("    status:", headers))
    with opened(path) as recording:
        assert [note.message for note in recording.notes] == ["1 body is compressed as br and was not read"]
        assert recording.steps[0].status == "ok"


def test_an_alias_bomb_stays_small_and_is_said(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 200)]
    path = tmp_path / "a.yaml"
    path.write_text("\n".join(levels) + "\n" + yaml(f"'{BODY}'"))
    with opened(path) as recording:
        assert len(recording.steps) == 1
        (note,) = recording.notes
        assert "aliases beyond the 1,000 that are followed" in note.message
        assert note.left_out


def test_an_alias_bomb_inside_an_interaction_is_not_written_out(tmp_path: Path) -> None:
    levels = "".join(f"    a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    bomb = yaml(f"'{BODY}'").replace("    method", f"    a0: &a0 [xxxxxxxxxx]\n{levels}    method")
    path = tmp_path / "a.yaml"
    path.write_text(bomb)
    with opened(path) as recording:
        ((value, _),) = vcr.interactions_of(recording.document, [])
    assert interaction_text(value) == b""


def test_a_ring_of_aliases_has_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(yaml(f"'{BODY}'").replace("    method", "    ring: &ring [*ring]\n    method"))
    with opened(path) as recording:
        ((value, _),) = vcr.interactions_of(recording.document, [])
    assert interaction_text(value) == b""


def test_nothing_in_a_cassette_is_constructed(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    marker = tmp_path / "marker"
    path.write_text(f"other: !!python/object/apply:os.mkdir ['{marker}']\n" + yaml("!!python/name:os.system x"))
    with opened(path) as recording:
        assert len(recording.steps) == 1
    assert not marker.exists()


def test_a_cut_cassette_gives_what_is_whole_and_says_where_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    whole = yaml(f"'{BODY}'", after="")
    path.write_text(whole + "- request:\n    body: 'never closed")
    with opened(path) as recording:
        assert len(recording.steps) == 1
        (note,) = recording.notes
        assert note.left_out
        assert note.line is not None
        assert note.byte is not None
        assert note.byte >= len(whole)


def test_a_step_knows_the_lines_of_its_interaction(tmp_path: Path) -> None:
    one = yaml("'ünïcode'", after="").removeprefix("interactions:\n")
    path = tmp_path / "a.yaml"
    path.write_text("interactions:\n" + one + one + "version: 1\n", "utf-8")
    with opened(path) as recording:
        first, second = (recording.document.read(step.spans[0]).decode() for step in recording.steps)
    assert first == second == one


def test_levels_beyond_what_yaml_may_nest_are_damage_and_not_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(yaml(f"'{BODY}'", after="") + "deep: " + "[" * 100_000)
    with opened(path) as recording:
        assert len(recording.steps) == 1
        assert recording.notes[0].left_out


def test_a_cassette_in_yaml_beyond_the_limit_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vcr, "MOST_YAML_BYTES", 100)
    path = tmp_path / "a.yaml"
    path.write_text(yaml(f"'{BODY}'"))
    with pytest.raises(RecordingError, match="JSON serializer") as refused:
        open_recording(path)
    assert refused.value.problem is Unreadable.NOT_READABLE_YET


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("-2.5e3", -2500.0),
        ("true", True),
        ("~", None),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("2024-01-01", "2024-01-01"),
        ("9" * 5_000, "9" * 5_000),
        ("!!binary aGk=", b"hi"),
        ("!!binary a*b", "a*b"),
        (".5", 0.5),
        (".nan", ".nan"),
        ("yes", "yes"),
    ],
)
def test_scalars_are_read_as_json_would_have_them(text: str, expected: object) -> None:
    (item,) = yaml_events.ItemsOfList("k").walk([f"k:\n- {text}\n".encode()])
    assert item.value == expected
    assert type(item.value) is type(expected)


def test_the_rules_about_vectors_see_the_bodies_of_a_cassette() -> None:
    floats = base64.b64encode(struct.pack("<64f", *[0.125] * 64)).decode()
    body = json.dumps({"data": [{"object": "embedding", "embedding": floats}]})
    text = interaction_text({"response": {"body": {"string": gzip.compress(body.encode())}}})
    assert json.loads(json.loads(text)["response"]["body"]) == json.loads(body)


EXPECTED = {
    "cohere_v2_embed.yaml": ["embed-english-light-v3.0@384, 6 vectors"],
    "haystack_openai_embedder.yaml": ["text-embedding-3-small@1536, 2 vectors"],
    "litellm_openai_single.yaml": ["text-embedding-ada-002-v2@1536, 1 vector"],
    "mistral_embeddings.yaml": ["mistral-embed@1024, 1 vector"],
    "ollama_api_embeddings.yaml": ["llama3@4096, 1 vector"],
    "openllmetry_openai_embeddings.yaml": [
        "text-embedding-ada-002@1536, 2 vectors",
        "text-embedding-ada-002-v2@1536, 2 vectors",
    ],
    "pydantic_bedrock_cohere_v4.yaml": ["cohere.embed-v4:0@512, 1 vector"],
    "pydantic_bedrock_nova.yaml": ["amazon.nova-2-multimodal-embeddings-v1:0@256, 1 vector"],
    "pydantic_bedrock_titan_v2.yaml": ["amazon.titan-embed-text-v2:0@256, 1 vector"],
    "pydantic_google_query.yaml": ["gemini-embedding-2-preview@768, 1 vector"],
    "pydantic_openai_query_base64.yaml": ["text-embedding-3-small@1536, 1 vector"],
    "pydantic_voyage_query.yaml": ["voyage-3.5@1024, 1 vector"],
    "vcrpy_generated_openai.json": ["text-embedding-3-small@64, 3 vectors"],
    "vcrpy_generated_openai.yaml": ["text-embedding-3-small@64, 3 vectors"],
    "voyage_openllmetry.yaml": ["voyage-3-lite@512, 3 vectors"],
}


@needs_samples
@pytest.mark.parametrize("name", EXPECTED)
def test_each_recorded_provider_is_named_with_the_length_of_its_vectors(name: str) -> None:
    with opened(SAMPLES / "recordings" / "vcr" / name) as recording:
        assert [value for _, value in recording.run.manifest] == EXPECTED[name]
        assert recording.notes == ()
        assert recording.errors == ()
