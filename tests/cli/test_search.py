"""`workbench search`: exact neighbours, refused when the vector is of another embedder."""

from __future__ import annotations

import json
import math
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.checkup.agentfootprint_file import Index, Row
from tests.cli.running import Ran, workbench
from tests.index.plainly import ask
from workbench import Entry, VectorStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        Row("first", text="x" * 2_100, vector=(1, 0)),
        Row("near", text="near \x1b[31m", vector=(2, 1)),
        Row("far", vector=(-1, 0)),
        Row("nan", vector=(math.nan, 1)),
        Row("zero", vector=(0, 0)),
        Row("long", vector=(1, 2, 3)),
        Row("none", vector=None),
        Row("foreign", vector=(0, 1), fingerprint="other@2"),
    ]
    Index(rows, {"docs": "acme@2"}).write(tmp_path / "index.db")
    return tmp_path


def vector_file(folder: Path, numbers: object) -> str:
    (folder / "query.json").write_text(json.dumps(numbers))
    return "query.json"


def search(folder: Path, *arguments: str) -> Ran:
    return workbench(folder, "search", "index.db", "--namespace", "docs", *arguments)


def test_like_a_chunk_leaves_out_the_chunk_and_everything_that_cannot_rank(folder: Path) -> None:
    ran = search(folder, "--like", "first", "--json")
    assert ran.code == 0
    document = ran.json
    assert [document[key] for key in ("namespace", "fingerprint", "incoming", "left_out")] == [
        "docs",
        "acme@2",
        "acme@2",
        3,
    ]
    assert [hit["id"] for hit in document["hits"]] == ["near", "far"]
    assert document["other_model"] == 1
    first = document["hits"][0]
    assert first == {
        "rank": 1,
        "id": "near",
        "score": pytest.approx(2 / math.sqrt(5)),
        "chars": 10,
        "lost": 0,
        "text": "near \x1b[31m",
    }
    assert "\x1b" not in ran.out


def test_vectors_of_another_model_are_left_out_and_said(folder: Path) -> None:
    said = " ".join(search(folder, "--like", "first").out.split())
    assert "1 vector of another model was left out" in said
    assert "foreign" not in said
    anonymous = search(folder, "--vector", vector_file(folder, [1, 0]), "--incoming", "?@2", "--json").json
    assert "foreign" in [hit["id"] for hit in anonymous["hits"]]
    assert anonymous["other_model"] == 0


def test_left_out_is_what_check_counts(folder: Path) -> None:
    vectors = workbench(folder, "check", "index.db", "--json").json["sources"][0]["namespaces"][0]["vectors"]
    left_out = search(folder, "--like", "far", "--json").json["left_out"]
    assert left_out == vectors["zero"] + vectors["non_finite"] + vectors["wrong_dims"]


def test_a_hit_says_how_much_of_it_was_never_read(folder: Path) -> None:
    hits = search(folder, "--like", "near", "--json").json["hits"]
    assert (hits[0]["id"], hits[0]["chars"], hits[0]["lost"]) == ("first", 2_100, 100)


@pytest.mark.parametrize("suffix", ["json", "npy"])
def test_a_vector_from_a_file_is_searched_with(folder: Path, suffix: str) -> None:
    path = folder / f"query.{suffix}"
    if suffix == "json":
        path.write_text("[1, 0.5]")
    else:
        np.save(path, np.array([1, 0.5], dtype=np.float32))
    ran = search(folder, "--vector", path.name, "--incoming", "acme@2", "-k", "1", "--json")
    assert ran.code == 0
    assert [hit["id"] for hit in ran.json["hits"]] == ["near"]
    assert ran.json["hits"][0]["score"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("incoming", "numbers", "problem"), [("other@2", [1, 0], "model"), ("acme@3", [1, 0, 0], "dimensions")]
)
def test_another_embedder_is_refused_with_exit_code_one(
    folder: Path, incoming: str, numbers: list[int], problem: str
) -> None:
    file = vector_file(folder, numbers)
    text = search(folder, "--vector", file, "--incoming", incoming)
    assert (text.code, text.out) == (1, "")
    ran = search(folder, "--vector", file, "--incoming", incoming, "--json")
    assert ran.code == 1
    refused = ran.json["refused"]
    assert refused.keys() == {"code", "indexed", "incoming", "problem", "message"}
    assert (refused["code"], refused["indexed"], refused["incoming"], refused["problem"]) == (
        "ERR_EMBEDDER_MISMATCH",
        "acme@2",
        incoming,
        problem,
    )
    assert " ".join(ran.err.split()).endswith(refused["message"])


def test_a_chunk_of_another_model_or_length_is_refused_too(folder: Path) -> None:
    assert search(folder, "--like", "foreign", "--json").json["refused"]["problem"] == "model"
    assert search(folder, "--like", "long", "--json").json["refused"]["problem"] == "dimensions"


def test_a_record_of_another_length_than_the_vectors_refuses_instead_of_failing(folder: Path) -> None:
    with VectorStore.open(folder / "index.duckdb", read_only=False) as store:
        store.put_many("docs", [Entry("a", "x", [1, 2])], embedder_id="acme")
    ask(folder / "index.duckdb", "UPDATE generations SET embedder_fp = 'acme@3', dims = 3")
    file = vector_file(folder, [1, 0, 0])
    ran = workbench(folder, "search", "index.duckdb", "--vector", file, "--incoming", "acme@3", "--json")
    assert ran.code == 1
    refused = ran.json["refused"]
    assert (refused["indexed"], refused["incoming"], refused["problem"]) == ("acme@2", "acme@3", "dimensions")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--like", "nobody"),
        ("--like", "none"),
        ("--like", "zero"),
        ("--like", "nan"),
        ("--like", "first", "--vector", "query.json"),
        ("--like", "first", "-k", "0"),
        ("--vector", "query.json"),
        ("--vector", "missing.json", "--incoming", "acme@2"),
        ("--text", "hello"),
        ("--text", " ", "--embedder", "wordllama"),
        ("--text", "hello", "--embedder", "nobody"),
    ],
)
def test_wrong_usage_is_one_sentence_and_two(folder: Path, arguments: tuple[str, ...]) -> None:
    vector_file(folder, [1, 0])
    ran = search(folder, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '["1", 2]', "[true, 1]", "[[1, 2]]", "[NaN, 1]", "[1e999, 1]", "[0, 0]", "[1, 2, 3]"]
)
def test_a_file_that_holds_no_usable_vector_is_refused(folder: Path, content: str) -> None:
    (folder / "query.json").write_text(content)
    assert search(folder, "--vector", "query.json", "--incoming", "acme@2").code == 2


class _Planted:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, (str(self.path),)


def test_a_pickle_inside_an_array_file_is_never_loaded(folder: Path) -> None:
    planted = folder / "planted"
    np.save(folder / "query.npy", np.array([_Planted(planted)], dtype=object), allow_pickle=True)
    assert search(folder, "--vector", "query.npy", "--incoming", "acme@2").code == 2
    (folder / "raw.npy").write_bytes(pickle.dumps(_Planted(planted)))
    assert search(folder, "--vector", "raw.npy", "--incoming", "acme@2").code == 2
    assert not planted.exists()


def test_an_array_that_claims_more_than_the_file_holds_or_has_two_dimensions_is_refused(folder: Path) -> None:
    np.save(folder / "square.npy", np.ones((2, 2)))
    assert search(folder, "--vector", "square.npy", "--incoming", "acme@2").code == 2
    np.save(folder / "claims.npy", np.ones(2))
    honest = (folder / "claims.npy").read_bytes()
    (folder / "claims.npy").write_bytes(
        honest.replace(b"(2,), ", b"(9999999999999,), ").replace(b" " * 13 + b"\n", b"\n")
    )
    assert search(folder, "--vector", "claims.npy", "--incoming", "acme@2").code == 2


@pytest.mark.parametrize(
    "header",
    [
        pytest.param("(" * 9_000, id="brackets that are never closed"),
        pytest.param("-" * 9_000 + "1", id="too deep to parse"),
        pytest.param("'''", id="a string that is never closed"),
        pytest.param("  {\n 'a'\n   :\n", id="crooked indentation"),
        pytest.param("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", id="a negative length"),
        pytest.param("{'descr': {'x': 1}, 'fortran_order': False, 'shape': (2,)}", id="no type of numbers"),
    ],
)
def test_an_array_file_with_a_hostile_header_is_refused_as_no_array(folder: Path, header: str) -> None:
    data = f"{header}\n".encode()
    (folder / "query.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(data)) + data + bytes(16))
    ran = search(folder, "--vector", "query.npy", "--incoming", "acme@2")
    assert ran.code == 2
    assert "no .npy of one dimension" in " ".join(ran.err.split())


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert search(folder, "--vector", "pipe", "--incoming", "acme@2").code == 2


def test_a_folder_given_as_a_vector_is_no_regular_file(folder: Path) -> None:
    ran = search(folder, "--vector", ".", "--incoming", "acme@2")
    assert ran.code == 2
    assert "no regular file" in ran.err


def test_the_only_namespace_need_not_be_named_and_several_must(folder: Path) -> None:
    assert workbench(folder, "search", "index.db", "--like", "first").code == 0
    Index([Row("a", namespace="one"), Row("a", namespace="two")]).write(folder / "several.db")
    ran = workbench(folder, "search", "several.db", "--like", "a")
    assert ran.code == 2
    assert "one, two" in ran.err


def test_text_for_people_is_inert(folder: Path) -> None:
    ran = search(folder, "--like", "first")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "3 left out" in ran.out


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        (("--incoming", "other@2"), "model"),
        (("--incoming", "acme@3"), "dimensions"),
        (("--embedder", "wordllama"), None),
    ],
)
def test_like_with_another_embedder_is_refused_and_not_ignored(
    folder: Path, named: tuple[str, ...], problem: str | None
) -> None:
    ran = search(folder, "--like", "first", *named, "--json")
    assert ran.code == 1
    assert ran.json["refused"]["indexed"] == "acme@2"
    assert ran.json["refused"]["problem"] == (problem or "dimensions")
    assert search(folder, "--like", "first", "--incoming", "acme@2").code == 0


def test_like_with_an_embedder_that_the_chunk_itself_contradicts_is_refused(tmp_path: Path) -> None:
    rows = [Row("a", fingerprint=None), Row("b", fingerprint=None), Row("c", fingerprint="acme@2")]
    Index(rows, {"docs": "?@2"}).write(tmp_path / "index.db")
    assert search(tmp_path, "--like", "c", "--incoming", "acme@2").code == 0
    refused = search(tmp_path, "--like", "c", "--incoming", "other@2", "--json")
    assert (refused.code, refused.json["refused"]["indexed"]) == (1, "acme@2")
    assert search(tmp_path, "--like", "a", "--incoming", "other@2", "--json").json["other_model"] == 1


def test_a_search_in_which_one_side_is_anonymous_says_that_only_the_lengths_were_compared(folder: Path) -> None:
    file = vector_file(folder, [1, 0])
    text = " ".join(search(folder, "--vector", file, "--incoming", "?@2").out.split())
    assert "unverified: only the lengths were compared" in text
    assert "unverified" not in search(folder, "--vector", file, "--incoming", "acme@2").out


def test_a_hit_is_cut_at_a_word_and_says_so(tmp_path: Path) -> None:
    words = "several words about the harbour and its boats " * 9
    Index([Row("a"), Row("b", text=words), Row("c", text="w" * 999), Row("d", text="short")]).write(
        tmp_path / "index.db"
    )
    ran = workbench(tmp_path, "search", "index.db", "--like", "a", PYTHONIOENCODING="utf-8")
    first, *rest = ran.out.splitlines()
    assert first == "docs · asked with acme@2"
    said = " ".join(" ".join(rest).split())
    (cut,) = [each for each in said.split("…")[:-1] if "harbour" in each]
    assert cut.rsplit(" ", 1)[1] in words.split()
    assert said.count("…") == 2
