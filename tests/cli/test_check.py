"""`workbench check`: the document of the contract, the exit codes, and what people read."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.checkup.agentfootprint_file import Index, Row
from tests.cli.running import UNSAFE, on_a_terminal, workbench
from tests.shared_files import SAMPLES, needs_samples

_HOSTILE = "\x1b]52;c;eA==\x07[/x]\u202e\x9b"

SOURCE_KEYS = ["path", "container", "adapter", "readable", "problem", "message", "namespaces"]
NAMESPACE_KEYS = [
    "name",
    "fingerprint",
    "fingerprints",
    "count",
    "dims",
    "ceiling",
    "clipped",
    "vectors",
    "incoming",
    "findings",
]


def sound(path: Path) -> Path:
    return Index([Row("a"), Row("b", vector=(0, 2))], {"docs": "acme@2"}).write(path)


def faulty(path: Path) -> Path:
    rows = [
        Row("good", text="x" * 2_500),
        Row("nan", vector=(math.nan, 0)),
        Row("zero", vector=(0, 0)),
        Row("none", vector=None),
        Row("long", vector=(1, 2, 3)),
        Row("good", text="again", fingerprint="other@2"),
    ]
    return Index(rows, {"docs": "acme@2"}, primary_key=False).write(path)


def test_the_document_has_every_key_of_the_contract(tmp_path: Path) -> None:
    faulty(tmp_path / "index.db")
    ran = workbench(tmp_path, "check", "index.db", "--incoming", "third@2", "--json")
    (source,) = ran.json["sources"]
    (namespace,) = source["namespaces"]
    assert [key for key in source if key in SOURCE_KEYS] == SOURCE_KEYS
    assert [key for key in namespace if key in NAMESPACE_KEYS] == NAMESPACE_KEYS
    assert {"path": "index.db", "container": "sqlite", "adapter": "agentfootprint", "readable": True}.items() <= (
        source.items()
    )
    assert namespace["fingerprint"] == "acme@2"
    assert namespace["fingerprints"][0] == {"fingerprint": "acme@2", "count": 3}
    assert (namespace["count"], namespace["dims"]) == (6, 2)
    assert namespace["ceiling"] == {"chars": 2_000, "source": "default"}
    clipped = namespace["clipped"]
    assert clipped["chunks"] == [{"id": "good", "chars": 2_500, "lost": 500}]
    assert {"count": 1, "total": 6, "lost_chars": 500, "not_listed": 0, "possible": 0, "exact": None}.items() <= (
        clipped.items()
    )
    vectors = namespace["vectors"]
    assert [vectors[key] for key in ("missing", "zero", "non_finite", "wrong_dims", "expired")] == [1, 1, 1, 1, 0]
    assert vectors["norm"]["min"] == 0
    assert {"fingerprint": "third@2", "conflict": "model", "compared": "both", "same_model": False}.items() <= (
        namespace["incoming"].items()
    )
    assert [finding["code"] for finding in namespace["findings"]] == [
        "embedder-mismatch",
        "mixed-fingerprints",
        "clipped-chunks",
        "non-finite-vectors",
        "zero-vectors",
        "wrong-dims",
        "missing-vectors",
        "duplicate-ids",
    ]
    assert all(finding.keys() == {"code", "severity", "message", "fix"} for finding in namespace["findings"])
    assert ran.json["findings"] == {"error": 2, "warning": 6, "info": 0}
    assert ran.code == 1
    assert ran.err == ""


def test_a_sound_index_ends_with_zero(tmp_path: Path) -> None:
    sound(tmp_path / "index.db")
    assert workbench(tmp_path, "check", "index.db").code == 0
    assert workbench(tmp_path, "check", "index.db", "--incoming", "acme@2").code == 0


def test_an_info_counts_only_when_it_is_asked_to(tmp_path: Path) -> None:
    Index([Row("a", fingerprint=None)], {"docs": "?@2"}).write(tmp_path / "index.db")
    assert workbench(tmp_path, "check", "index.db").code == 0
    ran = workbench(tmp_path, "check", "index.db", "--fail-on", "fingerprint-unknown,clipped-chunks", "--json")
    assert ran.code == 1
    assert ran.json["findings"] == {"error": 0, "warning": 0, "info": 1}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("index.db", "--nope"),
        ("index.db", "--incoming", "acme"),
        ("index.db", "--incoming", "acme@0"),
        ("index.db", "--incoming", "acme@1.5"),
        ("index.db", "--incoming", "acme@-2"),
        ("index.db", "--incoming", "acme@1_0"),
        ("index.db", "--max-chunk-chars", "0"),
        ("index.db", "--max-chunk-chars", "1.5"),
        ("index.db", "--max-chunk-chars", "ten"),
        ("index.db", "--max-chunk-chars", "٣"),
        ("index.db", "--embedder", "nobody"),
        ("index.db", "--fail-on", "clipped"),
        ("index.db", "--namespace", "nope"),
        ("missing.db",),
    ],
)
def test_wrong_usage_and_unreadable_input_end_with_two(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    sound(tmp_path / "index.db")
    assert workbench(tmp_path, "check", *arguments).code == 2


def test_an_unknown_namespace_names_the_close_ones(tmp_path: Path) -> None:
    sound(tmp_path / "index.db")
    ran = workbench(tmp_path, "check", "index.db", "--namespace", "doc")
    assert (ran.code, ran.out) == (2, "")
    assert "docs" in ran.err


def test_only_the_named_namespaces_are_reported(tmp_path: Path) -> None:
    rows = [Row("a", namespace=name) for name in ("one", "two", "three")]
    Index(rows).write(tmp_path / "index.db")
    ran = workbench(tmp_path, "check", "index.db", "--namespace", "three", "--namespace", "one", "--json")
    assert [each["name"] for each in ran.json["sources"][0]["namespaces"]] == ["one", "three"]


def test_an_unreadable_source_is_one_error_in_its_place_and_the_others_are_checked(tmp_path: Path) -> None:
    sound(tmp_path / "index.db")
    (tmp_path / "notes.txt").write_text("hello")
    ran = workbench(tmp_path, "check", "notes.txt", "index.db", "--json")
    first, second = ran.json["sources"]
    assert (first["readable"], first["problem"], first["namespaces"]) == (False, "not-an-index", [])
    assert second["readable"]
    assert ran.json["findings"] == {"error": 1, "warning": 0, "info": 0}
    assert ran.code == 1


def test_the_named_embedder_gives_ceiling_and_incoming(tmp_path: Path) -> None:
    sound(tmp_path / "index.db")
    (source,) = workbench(tmp_path, "check", "index.db", "--embedder", "minilm", "--json").json["sources"]
    (namespace,) = source["namespaces"]
    assert namespace["ceiling"] == {"chars": 1_000, "source": "embedder"}
    assert namespace["incoming"]["fingerprint"] == "onnx:all-MiniLM-L6-v2:int8@384"
    given = workbench(tmp_path, "check", "index.db", "--embedder", "minilm", "--incoming", "acme@2", "--json")
    assert given.json["sources"][0]["namespaces"][0]["incoming"]["fingerprint"] == "acme@2"


def test_hostile_strings_of_the_file_are_inert_as_text_and_exact_as_json(tmp_path: Path) -> None:
    rows = [
        Row(_HOSTILE, namespace=_HOSTILE, text=_HOSTILE * 300, fingerprint=f"{_HOSTILE}@2"),
        Row("zero", namespace=_HOSTILE, vector=(0, 0), fingerprint="other@2"),
    ]
    name = f"{_HOSTILE.replace('/', '')}.db"
    Index(rows, {_HOSTILE: f"{_HOSTILE}@2"}).write(tmp_path / name)
    text = workbench(tmp_path, "check", name, "--incoming", "third@2")
    assert not UNSAFE.search(text.out + text.err)
    ran = workbench(tmp_path, "check", name, "--incoming", "third@2", "--json")
    assert not UNSAFE.search(ran.out + ran.err)
    (source,) = ran.json["sources"]
    (namespace,) = source["namespaces"]
    assert source["path"] == name
    assert namespace["name"] == _HOSTILE
    assert namespace["fingerprint"] == f"{_HOSTILE}@2"
    assert namespace["clipped"]["chunks"][0]["id"] == _HOSTILE


def test_a_file_name_that_is_no_utf8_is_checked_and_told_exactly(tmp_path: Path) -> None:
    sound(tmp_path / "index.db")
    name = os.fsdecode(b"caf\xe9.db")
    (tmp_path / "index.db").rename(tmp_path / name)
    ran = workbench(tmp_path, "check", name, "--json")
    assert ran.code == 0
    assert os.fsencode(ran.json["sources"][0]["path"]) == b"caf\xe9.db"
    assert workbench(tmp_path, "check", name).code == 0


def test_text_fits_eighty_columns_and_ends_with_the_totals(tmp_path: Path) -> None:
    faulty(tmp_path / "index.db")
    ran = workbench(tmp_path, "check", "index.db", "--incoming", "third@2")
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "2 errors, 6 warnings: 1 namespace in 1 source"
    signs = [line.strip()[0] for line in lines if line.startswith("  ") and line.strip()[0] in "✗!✓"]
    assert signs == sorted(signs, key="✗!✓".index)


def test_signs_fall_back_where_the_encoding_has_none(tmp_path: Path) -> None:
    faulty(tmp_path / "index.db")
    ran = workbench(tmp_path, "check", "index.db", PYTHONIOENCODING="ascii")
    assert ran.out.isascii()
    assert "\n  x  " in ran.out
    assert workbench(tmp_path, "check", "index.db", "--json", PYTHONIOENCODING="ascii").json["findings"]


def test_colours_are_for_terminals_and_no_color_is_honoured(tmp_path: Path) -> None:
    faulty(tmp_path / "index.db")
    arguments = ["check", "index.db"]
    assert "\x1b" not in workbench(tmp_path, *arguments, TERM="xterm-256color").out
    assert b"\x1b[31m" in on_a_terminal(tmp_path, arguments, {"TERM": "xterm-256color"})
    assert b"\x1b" not in on_a_terminal(tmp_path, arguments, {"TERM": "xterm-256color", "NO_COLOR": "1"})
    assert b"\x1b" not in on_a_terminal(tmp_path, arguments, {"TERM": "dumb"})


def _sample(name: str, folder: Path) -> dict[str, Any]:
    shutil.copyfile(SAMPLES / "agentfootprint" / name, folder / name)
    found: dict[str, Any] = json.loads(workbench(folder, "check", name, "--json").out)["sources"][0]
    return {namespace["name"]: namespace for namespace in found["namespaces"]}


@needs_samples
def test_the_seven_namespaces_of_the_sample_have_the_right_state(tmp_path: Path) -> None:
    namespaces = _sample("corpus.db", tmp_path)
    states = {
        name: (each["fingerprint"], each["count"], [finding["code"] for finding in each["findings"]])
        for name, each in namespaces.items()
    }
    assert states == {
        "_/_/_global": ("hash-bow-small@48", 19, ["clipped-chunks"]),
        "acme%2Feu/50%25/notes": ("mock@32", 7, []),
        "_/_/unnamed-embedder": ("default-embedder@16", 3, []),
        "_/_/chat-9": ("?@24", 4, ["fingerprint-unknown"]),
        "_/_/upgraded": ("named@3", 2, []),
        "_/_/odd": ("odd@home@4", 5, ["non-finite-vectors", "zero-vectors", "missing-vectors"]),
        "_/_/emptied": ("gone@2", 0, []),
    }
    assert namespaces["_/_/_global"]["clipped"]["count"] == 5
    assert namespaces["acme%2Feu/50%25/notes"]["vectors"]["expired"] == 1
    assert namespaces["_/_/upgraded"]["fingerprints"] == [
        {"fingerprint": "?@3", "count": 1},
        {"fingerprint": "named@3", "count": 1},
    ]


@needs_samples
def test_ten_of_nineteen_chunks_lie_over_the_ceiling_of_their_embedder(tmp_path: Path) -> None:
    ran = workbench(
        tmp_path,
        "check",
        SAMPLES / "agentfootprint" / "corpus.db",
        "--namespace",
        "_/_/_global",
        "--max-chunk-chars",
        "900",
        "--json",
    )
    (namespace,) = ran.json["sources"][0]["namespaces"]
    assert (namespace["clipped"]["count"], namespace["clipped"]["total"]) == (10, 19)
    assert namespace["ceiling"] == {"chars": 900, "source": "explicit"}


@needs_samples
def test_every_file_of_the_samples_is_checked_or_refused_in_one_sentence(tmp_path: Path) -> None:
    files = sorted(path for path in SAMPLES.rglob("*") if path.is_file() and path.suffix != ".json")[:60]
    ran = workbench(tmp_path, "check", *files, SAMPLES, "--json")
    assert ran.code == 1
    for source in ran.json["sources"]:
        assert source["readable"] == (source["problem"] is None)
        assert source["readable"] or ("\n" not in source["message"] and source["message"])


def test_what_could_not_be_judged_is_counted_in_the_closing_line(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "index.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE docs AS SELECT i AS id,"
            " list_transform(range(64), lambda j: sin(i + j))::FLOAT[64] AS embedding FROM range(20) t(i)"
        )
    ran = workbench(tmp_path, "check", "index.duckdb", "--incoming", "?@64")
    assert "clipping cannot be judged" in ran.out
    assert "unverified" in ran.out
    assert "2 not judged: 1 namespace in 1 source" in ran.out
    assert "not judged" not in workbench(tmp_path, "check", str(sound(tmp_path / "index.db"))).out


def test_an_embedder_of_a_part_of_the_vectors_gets_no_tick(tmp_path: Path) -> None:
    Index([Row("a"), Row("b", fingerprint="other@2")], {"docs": "acme@2"}).write(tmp_path / "index.db")
    text = workbench(tmp_path, "check", "index.db", "--incoming", "acme@2", PYTHONIOENCODING="utf-8").out
    assert "!  acme@2 fits 1 of the 2 vectors of the namespace" in " ".join(text.split(" ")).replace("\n    ", "")


def test_a_file_without_the_namespace_that_was_asked_for_says_none_of_that_name(tmp_path: Path) -> None:
    sound(tmp_path / "a.db")
    Index([Row("a", namespace="other")], {"other": "acme@2"}).write(tmp_path / "b.db")
    ran = workbench(tmp_path, "check", ".", "--namespace", "docs")
    assert "none of that name" in ran.out
    assert "no namespace" not in ran.out


def test_norms_read_as_on_the_screen(tmp_path: Path) -> None:
    assert "norms 1.0000 to 2.0000" in " ".join(workbench(tmp_path, "check", str(sound(tmp_path / "a.db"))).out.split())
