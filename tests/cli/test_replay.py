"""`workbench replay` and `check --routing-log` as processes: exit codes, text, JSON, hostile logs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.cli.running import UNSAFE, workbench
from tests.routing.scenes import NATIVE, SPARE, Line, attempt, config, namespace, text_of, written
from workbench.index.store import Entry, VectorStore

DOCUMENTS = {"op": "embed_batch", "purpose": "document", "namespace": "docs", "input__count": 2}


def batch(leg: str, number: int, word: str = "ok", at: float | None = None) -> Line:
    """Give the line of a batch of two documents."""
    made = NATIVE if leg == "primary" else SPARE
    keys = [f"doc.md#{2 * number}", f"doc.md#{2 * number + 1}"]
    at = 1_764_400_000_000 + 1000 * number if at is None else at
    return attempt(leg, word, at, f"c{number}", made=made, keys=keys, **DOCUMENTS)


CLEAN = [config(), namespace(), batch("primary", 0), batch("primary", 1)]
CONTAMINATED = [config(), namespace(), batch("primary", 0), batch("primary", 1, "error"), batch("fallback", 1)]
DIVERGING = [config(), namespace(), batch("primary", 0), batch("fallback", 1)]


@pytest.mark.parametrize(("lines", "code"), [(CLEAN, 0), (CONTAMINATED, 1), (DIVERGING, 1)])
@pytest.mark.parametrize("form", [(), ("--json",), ("--keys",)])
def test_exit_codes_say_clean_or_not(lines: list[Line], code: int, form: tuple[str, ...], tmp_path: Path) -> None:
    ran = workbench(tmp_path, "replay", written(tmp_path / "routing.jsonl", lines), *form)
    assert (ran.code, ran.err) == (code, "")


def test_the_headline_comes_first_and_fits_eighty_columns(tmp_path: Path) -> None:
    ran = workbench(tmp_path, "replay", written(tmp_path / "routing.jsonl", [*CONTAMINATED, batch("fallback", 2)]))
    lines = ran.out.splitlines()
    assert "the log and the machine part at call 3" in " ".join(lines[:4])
    assert "4 vectors of another embedder were written" in " ".join(ran.out.split())
    assert "Keys to embed again (4)" in ran.out
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80, "a path is never broken"
    assert "3 calls, 2 served by the fallback" in lines[-1]


def test_the_document_has_every_key_of_the_contract(tmp_path: Path) -> None:
    document = workbench(tmp_path, "replay", written(tmp_path / "routing.jsonl", CONTAMINATED), "--json").json
    assert document["config"] | {"dialect": []} == {
        "failure_streak_threshold": 3, "cooldown_ms": 300_000, "dialect": []
    }  # fmt: skip
    call = document["calls"][1]
    assert {key: call[key] for key in (
        "n", "at_ms", "instance", "op", "called", "served_by", "phase", "state", "streak", "fallback_until_ms",
        "warns", "last_error_kind", "divergence",
    )} == {
        "n": 2, "at_ms": 1_764_400_001_000, "instance": None, "op": "embed_batch", "called": ["primary", "fallback"],
        "served_by": "fallback", "phase": "degraded", "state": "primary", "streak": 1, "fallback_until_ms": None,
        "warns": [], "last_error_kind": "primary", "divergence": None,
    }  # fmt: skip
    (row,) = document["ledger"]
    assert {key: row[key] for key in (
        "namespace", "fingerprint", "native", "foreign_same_dims", "foreign_dims_mismatch", "missing",
        "cross_space_queries", "first_call", "last_call", "keys",
    )} == {
        "namespace": "docs", "fingerprint": "acme-embed@1536", "native": 2, "foreign_same_dims": 2,
        "foreign_dims_mismatch": 0, "missing": 0, "cross_space_queries": 0, "first_call": 2, "last_call": 2,
        "keys": ["doc.md#2", "doc.md#3"],
    }  # fmt: skip
    assert (document["divergences"], document["problems"]) == (0, [])


def test_options_replace_what_the_log_says(tmp_path: Path) -> None:
    path = written(tmp_path / "routing.jsonl", CONTAMINATED)
    said = workbench(
        tmp_path, "replay", path, "--failure-streak-threshold", "1", "--cooldown-ms", "5",
        "--dialect", "opens-above-threshold,null-counts-as-failure", "--json",
    ).json["config"]  # fmt: skip
    assert (said["failure_streak_threshold"], said["cooldown_ms"]) == (1, 5)
    assert said["dialect"] == ["opens-above-threshold", "null-counts-as-failure"]


@pytest.mark.parametrize(
    "options",
    [
        ("--dialect", "their-own"),
        ("--cooldown-ms", "soon"),
        ("--failure-streak-threshold", "nan"),
        ("--json", "--keys"),
    ],
)
def test_wrong_usage_ends_with_2_and_a_sentence(options: tuple[str, ...], tmp_path: Path) -> None:
    ran = workbench(tmp_path, "replay", written(tmp_path / "routing.jsonl", CLEAN), *options)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"   \n\n", "is empty"),
        (b"hello\n", "is no routing log"),
        (b'{"a": 1}\n', "is no routing log"),
        (text_of([config()]), "holds no call"),
        (b'{"leg": "primary", "outcome": "success"}\n', "holds no call"),
        (b"\x00\xff" * 50, "is no routing log"),
    ],
)
def test_what_is_no_log_with_a_call_is_refused_in_one_sentence(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "routing.jsonl"
    path.write_bytes(content)
    ran = workbench(tmp_path, "replay", path, "--json")
    assert (ran.code, ran.out) == (2, "")
    assert said in " ".join(ran.err.split())


def test_paths_that_are_no_files_are_refused(tmp_path: Path) -> None:
    assert workbench(tmp_path, "replay", tmp_path / "missing.jsonl").code == 2
    assert "is a folder" in " ".join(workbench(tmp_path, "replay", tmp_path).err.split())


def test_damaged_lines_are_told_and_the_rest_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "routing.jsonl"
    path.write_bytes(text_of(CLEAN) + b'{"leg": "prim\n' + text_of([batch("primary", 2)]) + b'{"leg": "pri')
    document = workbench(tmp_path, "replay", path, "--json").json
    assert len(document["calls"]) == 3
    assert [problem["line"] for problem in document["problems"]] == [5, 7]


def test_a_log_whose_first_line_is_longer_than_what_is_looked_at_is_a_log(tmp_path: Path) -> None:
    line = batch("primary", 0) | {"keys": [f"doc.md#{number}" for number in range(20_000)], "input.count": 20_000}
    ran = workbench(tmp_path, "replay", written(tmp_path / "routing.jsonl", [line]), "--json")
    assert ran.code == 0
    assert ran.json["ledger"][0]["native"] == 20_000


def test_strings_of_a_log_are_inert_everywhere(tmp_path: Path) -> None:
    evil = "\x1b[31mred\u202e\x07"
    lines = [
        namespace(evil),
        attempt("primary", "error", 0, "c", namespace=evil, purpose="document", keys=[evil], made=NATIVE)
        | {"error.type": evil},
        attempt("fallback", "ok", 1, "c", namespace=evil, purpose="document", keys=[evil], made=(evil, 1536)),
    ]
    path = written(tmp_path / "routing.jsonl", lines)
    for form in ((), ("--json",), ("--keys",)):
        ran = workbench(tmp_path, "replay", path, *form)
        assert ran.code == 1
        assert not UNSAFE.search(ran.out)
    assert workbench(tmp_path, "replay", path, "--json").json["ledger"][0]["keys"] == [evil]


def test_times_beyond_all_times_are_no_accident(tmp_path: Path) -> None:
    lines = [attempt("primary", "error", at, f"c{at}", duration_ms=1e308) for at in (1e308, -1e308, 0, 1e300, 5)]
    ran = workbench(tmp_path, "replay", written(tmp_path / "routing.jsonl", lines), "--json")
    assert ran.err == ""
    assert len(ran.json["calls"]) == 5


# Joined with indexes


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Make an index that holds three of the four documents of the contaminated log."""
    path = tmp_path / "docs.duckdb"
    with VectorStore.open(path, read_only=False) as store:
        entries = [Entry(f"doc.md#{number}", f"text {number}", [1.0, float(number)]) for number in range(3)]
        store.put_many("docs", entries, embedder_id="acme-embed")
    return path


def test_check_finds_the_rows_that_a_fallback_contaminated(index: Path, tmp_path: Path) -> None:
    log = written(tmp_path / "routing.jsonl", CONTAMINATED)
    for arguments in ((index, "--routing-log", log), (index, log), (tmp_path,)):
        ran = workbench(tmp_path, "check", *arguments, "--json")
        assert ran.code == 1
        (source,) = (each for each in ran.json["sources"] if each["container"] == "routing-log")
        (finding,) = source["findings"]
        assert (finding["code"], finding["severity"]) == ("contaminated-by-fallback", "warning")
        assert "1 row of namespace 'docs'" in finding["message"]
        assert "doc.md#2; 1 key is not in it" in finding["message"]


def test_settings_that_surely_do_not_act_as_meant_are_remarked(tmp_path: Path) -> None:
    log = written(tmp_path / "routing.jsonl", CLEAN)
    for options, remark in (
        (("--cooldown-ms", "0"), "a cooldown of 0 ms is over at once"),
        (("--failure-streak-threshold", "0"), "a threshold of 0 acts as 1"),
        (("--failure-streak-threshold", "inf"), "a threshold of inf is never reached"),
    ):
        assert remark in " ".join(workbench(tmp_path, "replay", log, *options).out.split())


def test_a_length_that_nobody_stated_is_not_said_to_be_the_same(tmp_path: Path) -> None:
    failed = attempt("primary", "error", 0, "c", namespace="docs", purpose="document") | {"gen_ai.request.model": "a"}
    rescued = attempt("fallback", "ok", 1, "c", namespace="docs", purpose="document", made=SPARE)
    shown = workbench(tmp_path, "replay", written(tmp_path / "routing.jsonl", [failed, rescued])).out
    assert "1 vector of another embedder was written (1 whose length cannot be compared)" in " ".join(shown.split())


def test_a_packed_log_is_refused_with_what_it_is(tmp_path: Path) -> None:
    packed = tmp_path / "routing.jsonl.gz"
    packed.write_bytes(gzip.compress(written(tmp_path / "routing.jsonl", CLEAN).read_bytes()))
    ran = workbench(tmp_path, "replay", packed)
    assert ran.code == 2
    assert "is packed (gzip)" in " ".join(ran.err.split())


def test_the_index_says_itself_which_rows_are_foreign_and_the_finding_counts_once(index: Path, tmp_path: Path) -> None:
    log = written(tmp_path / "routing.jsonl", CONTAMINATED)
    ran = workbench(tmp_path, "check", index, "--routing-log", log, "--json")
    (namespace,) = ran.json["sources"][0]["namespaces"]
    assert "a routing log tells that 1 row was written by another embedder: doc.md#2" in namespace["notes"]
    assert "contaminated-by-fallback" not in [each["code"] for each in namespace["findings"]]
    assert ran.json["findings"]["warning"] == 1


def test_a_log_that_is_named_and_lies_in_the_folder_too_is_one_source(index: Path, tmp_path: Path) -> None:
    log = written(tmp_path / "routing.jsonl", CONTAMINATED)
    ran = workbench(tmp_path, "check", tmp_path, "--routing-log", log, "--routing-log", log, "--json")
    assert [each["container"] for each in ran.json["sources"]] == ["duckdb", "routing-log"]


def test_check_of_a_clean_log_finds_nothing(tmp_path: Path) -> None:
    log = written(tmp_path / "routing.jsonl", CLEAN)
    assert workbench(tmp_path, "check", "--routing-log", log).code == 0
    assert workbench(tmp_path, "check", log, "--fail-on", "contaminated-by-fallback").code == 0


def test_check_of_what_is_no_log_is_an_unreadable_source(index: Path, tmp_path: Path) -> None:
    ran = workbench(tmp_path, "check", index, "--routing-log", index, "--json")
    assert ran.code == 1
    assert ran.json["sources"][1]["findings"][0]["code"] == "unreadable-source"


def test_replay_looks_the_keys_up_in_an_index(index: Path, tmp_path: Path) -> None:
    log = written(tmp_path / "routing.jsonl", CONTAMINATED)
    ran = workbench(tmp_path, "replay", log, "--index", index, "--json")
    (row,) = ran.json["ledger"]
    (joined,) = row["indexed"]
    assert (joined["ids"], joined["absent"], joined["namespace"]) == (["doc.md#2"], 1, "docs")
    assert workbench(tmp_path, "replay", log, "--index", log).code == 2
