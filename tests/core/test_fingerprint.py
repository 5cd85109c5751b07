"""Fingerprints: text, parse, conflict and the refusal, against the seed's cases and by their own rules."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.cases import FOLDERS, cases, decode
from workbench.core.fingerprint import (
    EmbedderMismatchError,
    Fingerprint,
    fingerprint_conflict,
    fingerprint_text,
    parse_fingerprint,
    parse_incoming,
)

FILE = "golden_fingerprint.json"
ids = st.none() | st.text()
lengths = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
fingerprints = st.builds(Fingerprint, ids, lengths)


def fingerprint(encoded: dict[str, Any]) -> Fingerprint:
    return Fingerprint(decode(encoded.get("id")), decode(encoded["dims"]))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_text_is_read_as_the_seed_reads_it(folder: Path) -> None:
    for case in cases(folder, FILE, "parse"):
        read = parse_fingerprint(case["in"])
        assert read == fingerprint(case["out"]), case
        assert (read.id is not None) == case["has_id"], case
        assert fingerprint_text(read) == case["retext"], case


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_fingerprint_is_written_as_the_seed_writes_it(folder: Path) -> None:
    for case in cases(folder, FILE, "text"):
        value = fingerprint(case["in"])
        assert fingerprint_text(value) == case["out"], case
        assert parse_fingerprint(case["out"]) == fingerprint(case["reparsed"]), case
        assert (parse_fingerprint(case["out"]) == value) == case["round_trips"], case


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_pair_conflicts_as_the_seed_says(folder: Path) -> None:
    for case in cases(folder, FILE, "conflict"):
        assert fingerprint_conflict(fingerprint(case["stored"]), fingerprint(case["incoming"])) == case["out"], case


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_refusal_names_its_facts(folder: Path) -> None:
    for case in cases(folder, FILE, "errors"):
        arguments = {key: value for key, value in decode(case["args"]).items() if value is not None}
        error = EmbedderMismatchError(**arguments)
        assert type(error).__name__ == case["name"]
        for attribute in ("code", "indexed", "incoming", "problem"):
            assert getattr(error, attribute) == case[attribute], case
        for fact in case["must_name"]:
            assert fact in str(error), case


def refusal(problem: Any = "dimensions", **more: str) -> str:  # noqa: ANN401
    return str(EmbedderMismatchError("docs", "a@3", "b@4", problem, "write to", **more))


def test_a_refusal_says_why_what_was_not_done_and_two_ways_out() -> None:
    message = refusal()
    for fact in (
        "write to",
        "'docs'",
        "'a@3'",
        "'b@4'",
        "dimensions",
        "cannot be compared at all",
        "re-embedded",
        "mixed",
    ):
        assert fact in message
    assert "delete the namespace and re-index all of it with one embedder" in message
    assert "namespace of their own" in message


def test_two_models_of_one_length_are_refused_for_another_reason_than_two_lengths() -> None:
    assert "no threshold" in refusal("model")
    assert "no threshold" not in refusal("dimensions")
    assert "cannot be compared at all" not in refusal("model")


def test_the_ways_out_come_before_what_was_not_done_and_the_best_one_first() -> None:
    message = refusal(alternative="use another file")
    told = ("Ways out: use the embedder that built it", "delete the namespace", "or use another file", "re-embedded")
    places = [message.index(each) for each in told]
    assert places == sorted(places)
    head, _, rest = message.partition(": ")
    assert head == "refused to write to namespace 'docs'"
    assert rest


def test_the_second_way_out_is_the_callers() -> None:
    message = refusal(alternative="write to another collection")
    assert "or write to another collection." in message
    assert "namespace of their own" not in message


def test_a_refusal_survives_copying_and_pickling() -> None:
    error = EmbedderMismatchError("docs", "a@3", "b@3", "model", "search", "use another file")
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert str(twin) == str(error)
        assert (twin.namespace, twin.alternative, twin.operation) == ("docs", "use another file", "search")


@given(fingerprints)
def test_a_fingerprint_reads_back_as_itself_unless_its_id_reads_as_anonymous(value: Fingerprint) -> None:
    read = parse_fingerprint(fingerprint_text(value))
    assert read == (Fingerprint(None, value.dims) if value.id in ("", "?") else value)


@given(st.text())
def test_reading_never_raises_and_is_stable(text: str) -> None:
    read = parse_fingerprint(text)
    assert parse_fingerprint(fingerprint_text(read)) == read


@given(fingerprints, fingerprints)
def test_conflicts_do_not_depend_on_the_side(one: Fingerprint, other: Fingerprint) -> None:
    assert fingerprint_conflict(one, other) == fingerprint_conflict(other, one)
    assert fingerprint_conflict(one, one) is None


def test_an_empty_id_is_named_and_none_is_anonymous() -> None:
    assert fingerprint_conflict(Fingerprint("a", 3), Fingerprint("", 3)) == "model"
    assert fingerprint_conflict(Fingerprint("a", 3), Fingerprint(None, 3)) is None


def test_whole_dims_are_ints_so_that_they_can_be_used_as_lengths() -> None:
    assert isinstance(parse_fingerprint("m@1e3").dims, int)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("mock@32", Fingerprint("mock", 32)),
        ("?@384", Fingerprint(None, 384)),
        ("static:@yarflam/potion-base-8m@256", Fingerprint("static:@yarflam/potion-base-8m", 256)),
        ("a@@1", Fingerprint("a@", 1)),
        (" x @1", Fingerprint(" x ", 1)),
    ],
)
def test_the_command_line_reads_an_id_and_a_length(text: str, value: Fingerprint) -> None:
    assert parse_incoming(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "", "@", "?", "mock", "mock@", "@384", "mock@0", "mock@00", "mock@-1", "mock@1.5", "mock@1e3", "mock@0x10",
        "mock@ 3",
        "mock@3 ", "mock@٣", "mock@１", "mock@NaN", "mock@Infinity", "mock@+3", "mock@1_0", "384", "mock@" + "9" * 5000,
    ],
)  # fmt: skip
def test_the_command_line_refuses_anything_else_in_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is not ID@DIMS") as refused:
        parse_incoming(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("stored", "incoming"), [(1, True), (3, "3"), (0, None), (float("nan"), float("nan"))])
def test_dims_are_compared_without_conversion(stored: Any, incoming: Any) -> None:  # noqa: ANN401
    one, other = Fingerprint("a", stored), Fingerprint("a", incoming)
    assert fingerprint_conflict(one, other) == "dimensions"
    assert fingerprint_conflict(other, one) == "dimensions"
