"""The routing log, read: what good lines say, what is made of bad ones, and how much memory that takes."""

from __future__ import annotations

import io
import json
import math
import tracemalloc
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.routing import Leg, Outcome, RoutingDialect
from workbench.routing.log import read_log
from workbench.routing.log_format import timestamp_of
from workbench.routing.log_lines import line_blocks
from workbench.routing.log_writing import encode
from workbench.routing.model import (
    Attempt,
    LoggedConfig,
    LoggedNamespace,
    LoggedReset,
    LoggedStart,
    LoggedTransition,
    LoggedWrite,
    LogProblem,
    Operation,
    Purpose,
    Record,
)

NOON = "2026-11-29T12:00:00.250Z"
NOON_MS = 1_795_953_600_250.0


def read(text: str | bytes) -> tuple[list[Record], list[str]]:
    """Read a log; gives its records, and what was wrong."""
    found = list(read_log(io.BytesIO(text.encode() if isinstance(text, str) else text)))
    records = [each for each in found if not isinstance(each, LogProblem)]
    return records, [each.message for each in found if isinstance(each, LogProblem)]


def line(**entries: object) -> str:
    """Write an attempt of the primary that succeeded, with these entries instead; ``__`` stands for a dot."""
    usual = {"timestamp": NOON, "leg": "primary", "outcome": "success"}
    return json.dumps(usual | {key.replace("__", "."): value for key, value in entries.items()}) + "\n"


def one(**entries: object) -> Attempt:
    """Read one such attempt, which has nothing wrong with it."""
    records, problems = read(line(**entries))
    assert problems == []
    (attempt,) = records
    assert isinstance(attempt, Attempt)
    return attempt


# What lines say


def test_an_attempt_says_all_that_is_known_of_it() -> None:
    assert one(
        record="attempt", duration_ms=30, service__instance__id="one", call__id="c1", attempt=1, op="embed_batch",
        gen_ai__operation__name="embeddings", error__type="MISSING_EMBEDDING", error__message="some",
        gen_ai__provider__name="openai", gen_ai__request__model="asked", gen_ai__response__model="answered",
        gen_ai__embeddings__dimension__count=256, embedding__dimensions=255, input__count=3, null__count=1,
        null__indexes=[2], purpose="document", namespace="notes", keys=["a_0", "b_0", "c_0"],
        http__response__status_code=200, server__address="api.example", unknown={"deep": [1]},
    ) == Attempt(
        line=1, instance="one", call_id="c1", leg=Leg.PRIMARY, op=Operation.EMBED_BATCH, started_ms=NOON_MS,
        duration_ms=30.0, outcome=Outcome.PARTIAL, error_type="MISSING_EMBEDDING", error_message="some",
        provider="openai", request_model="asked", response_model="answered", requested_dims=256, observed_dims=255,
        input_count=3, null_count=1, null_indexes=(2,), purpose=Purpose.DOCUMENT, namespace="notes",
        keys=("a_0", "b_0", "c_0"), status_code=200, server="api.example",
    )  # fmt: skip


def test_a_leap_second_is_the_beginning_of_the_next_minute() -> None:
    leap, following = one(timestamp="2016-12-31T23:59:60.250Z"), one(timestamp="2017-01-01T00:00:00.250Z")
    assert leap.started_ms == following.started_ms


@pytest.mark.parametrize(
    "timestamp",
    [NOON, "2026-11-29T13:00:00.250+01:00", "2026-11-29 06:30:00.25-05:30", "2026-11-29T12:00:00.250", NOON_MS,
     int(NOON_MS), str(int(NOON_MS))],
)  # fmt: skip
def test_a_time_may_be_spelled_with_any_offset_or_as_epoch_milliseconds(timestamp: object) -> None:
    records, _ = read(line(timestamp=timestamp))
    assert isinstance(records[0], Attempt)
    assert records[0].started_ms == NOON_MS


@pytest.mark.parametrize(
    ("entries", "outcome"),
    [
        ({"outcome": "success"}, Outcome.VECTOR),
        ({"outcome": "success", "null__count": 1}, Outcome.PARTIAL),
        ({"outcome": "success", "null__indexes": [0]}, Outcome.PARTIAL),
        ({"outcome": "null"}, Outcome.NULL),
        ({"outcome": "not_permitted"}, Outcome.CIRCUIT_OPEN),
        ({"outcome": "error", "error__type": "timeout"}, Outcome.ERROR),
        ({"outcome": "error", "error__type": "429"}, Outcome.ERROR),
        ({"outcome": "error"}, Outcome.ERROR),
        ({"outcome": "error", "error__type": "abort"}, Outcome.ABORT),
        ({"outcome": "error", "error__type": "OPERATION_ABORTED"}, Outcome.ABORT),
    ],
)
def test_the_words_of_the_log_are_outcomes_of_the_machine(entries: dict[str, object], outcome: Outcome) -> None:
    assert one(**entries).outcome is outcome


def test_a_null_without_counts_is_of_all_texts_and_keys_count_texts() -> None:
    attempt = one(outcome="null", keys=["a", "b"])
    assert (attempt.input_count, attempt.null_count) == (2, 2)


def test_the_records_between_attempts_are_read() -> None:
    records, problems = read(
        '{"record":"start","timestamp":5,"service.instance.id":"one"}\n'
        '{"record":"config","failure_streak_threshold":5,"cooldown_ms":1000,"dialect":"opens-above-threshold"}\n'
        '{"record":"config","failure_streak_threshold":"Infinity"}\n'
        '{"record":"namespace","id":"notes","model":"m","dimensions":3}\n'
        '{"record":"namespace","id":"more","fingerprint":"a@b@768"}\n'
        '{"record":"transition","timestamp":7,"from":"primary","to":"fallback","message":"down"}\n'
        '{"record":"reset","timestamp":8}\n'
        '{"record":"write","timestamp":9,"call.id":"c1","namespace":"notes","keys":["a"]}\n'
    )
    assert problems == []
    assert records == [
        LoggedStart(line=1, instance="one", at_ms=5.0),
        LoggedConfig(
            line=2, failure_streak_threshold=5.0, cooldown_ms=1000.0, dialect=RoutingDialect(opens_above_threshold=True)
        ),
        LoggedConfig(line=3, failure_streak_threshold=math.inf),
        LoggedNamespace(line=4, name="notes", model="m", dims=3),
        LoggedNamespace(line=5, name="more", model="a@b", dims=768),
        LoggedTransition(line=6, at_ms=7.0, origin=Leg.PRIMARY, target=Leg.FALLBACK, message="down"),
        LoggedReset(line=7, at_ms=8.0),
        LoggedWrite(line=8, at_ms=9.0, call_id="c1", namespace="notes", keys=("a",)),
    ]


@pytest.mark.parametrize("said", ["documented", [], {"opens_above_threshold": False}])
def test_a_dialect_without_a_switch_is_the_documented_one(said: object) -> None:
    records, _ = read(json.dumps({"record": "config", "dialect": said}))
    assert records == [LoggedConfig(line=1, dialect=RoutingDialect())]


# What is made of damage


@pytest.mark.parametrize("encode_as", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_log_is_read_in_whatever_encoding_a_shell_redirected_it(encode_as: str, end: str) -> None:
    text = end.join([line(namespace="grüße").strip(), "", line(leg="fallback").strip()]) + end
    records, problems = read(text.encode(encode_as))
    assert problems == []
    assert [(each.line, each.leg) for each in records if isinstance(each, Attempt)] == [(1, "primary"), (3, "fallback")]
    assert isinstance(records[0], Attempt)
    assert records[0].namespace == "grüße"


def test_a_last_line_that_a_kill_left_half_written_is_passed_over_and_said() -> None:
    records, problems = read(line() + line()[:40])
    assert len(records) == 1
    assert problems == [
        "line 2 is the last one and half written, as a process that was killed leaves it; it was passed over"
    ]


def test_a_last_line_without_an_end_is_read_when_it_is_whole() -> None:
    records, problems = read(line() + line().strip())
    assert (len(records), problems) == (2, [])


@pytest.mark.parametrize(
    "garbage",
    [b"garbage", b"\x00\xff\xfe\x80", b"[1, 2]", b"17", b'"text"', b"null", b'{"a":1', b'{"leg":"primary"}{"leg":1}x',
     b"[" * 100_000, b'{"leg":NaN}', b'{"x":' + b"[" * 5_000 + b"]" * 5_000 + b"}x", b'{"leg":"\xff"}'],
)  # fmt: skip
def test_a_line_that_is_no_object_is_passed_over_and_those_around_it_keep_their_numbers(garbage: bytes) -> None:
    records, problems = read(line().encode() + garbage + b"\n" + line().encode())
    assert [each.line for each in records] == [1, 3]
    assert len(problems) == 1
    assert problems[0].startswith("line 2 ")


def test_two_lines_that_were_glued_together_are_one_bad_line() -> None:
    records, problems = read(line()[:30] + line() + line())
    assert [each.line for each in records] == [2]
    assert problems == ["line 1 is no JSON object, and was passed over"]


def test_many_bad_lines_are_counted_and_not_all_said() -> None:
    _, problems = read("bad\n" * 5_000)
    assert len(problems) == 21
    assert problems[-1] == "4,980 more problems with lines like those above"


def test_records_of_unknown_kinds_are_counted() -> None:
    records, problems = read('{"record":"weather"}\n' * 3 + '{"record":"\x1b"}\n'.replace("\x1b", "\\u001b") + line())
    assert len(records) == 1
    assert problems == ["4 records of unknown kinds were passed over: weather (3), \x1b (1)"]
    _, problems = read("".join(json.dumps({"record": f"kind {n}" * 100}) + "\n" for n in range(10_000)))
    assert len(problems[0]) < 400


@pytest.mark.parametrize(
    "wrong",
    [{"input__count": -1}, {"input__count": 1e300}, {"null__count": "many"}, {"duration_ms": []}, {"keys": "a"},
     {"keys": [1]}, {"op": "chat"}, {"purpose": "other"}, {"gen_ai__request__model": {"a": 1}}, {"record": None},
     {"embedding__dimensions": True}, {"null__indexes": [-1]}, {"service__instance__id": 7}],
)  # fmt: skip
def test_a_value_of_another_type_is_taken_as_not_said_and_the_attempt_still_counts(wrong: dict[str, object]) -> None:
    records, problems = read(line(**wrong))
    assert len(records) == 1
    assert isinstance(records[0], Attempt)
    key = next(iter(wrong)).replace("__", ".")
    assert problems in ([f"line 1 has a value of {key} that is not one, taken as not said"], [])
    assert bool(problems) == (wrong != {"record": None})


def test_numbers_in_quotes_are_numbers() -> None:
    attempt = one(input__count="3", duration_ms="1.5", embedding__dimensions="768")
    assert (attempt.input_count, attempt.duration_ms, attempt.observed_dims) == (3, 1.5, 768)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"leg": "third"}, "line 1 does not say which leg was asked (primary or fallback)"),
        ({"leg": None}, "line 1 does not say which leg was asked (primary or fallback)"),
        ({"timestamp": None}, "line 1 does not say when the attempt began (timestamp)"),
        ({"timestamp": "noon"}, "line 1 does not say when the attempt began (timestamp)"),
        ({"outcome": None}, "line 1 gives no outcome"),
        ({"outcome": "fine"}, "line 1 gives an outcome that is not known: fine"),
        (
            {"record": "transition", "from": "primary"},
            "line 1 does not say between which legs the route changed (from, to)",
        ),
        ({"record": "namespace"}, "line 1 does not name its namespace (id)"),
        ({"record": "write"}, "line 1 does not name the namespace that was written"),
    ],
)  # fmt: skip
def test_a_record_that_lacks_what_it_is_about_is_a_problem(entries: dict[str, object], message: str) -> None:
    records, problems = read(line(**entries))
    assert (records, problems[-1]) == ([], message)


def test_attempts_that_were_cancelled_count_for_nothing_and_are_counted() -> None:
    records, problems = read(line(outcome="cancelled") * 2 + line(outcome="cancelled", leg="fallback"))
    assert [(each.leg, each.outcome) for each in records if isinstance(each, Attempt)] == [("fallback", Outcome.ABORT)]
    assert problems == ["2 attempts were cancelled by their caller and count for nothing"]


@given(st.lists(st.one_of(st.binary(max_size=40), st.just(line().encode()), st.just(line().encode()[:50])), max_size=8))
def test_no_bytes_raise_and_good_lines_among_them_are_found(pieces: list[bytes]) -> None:
    data = b"\n".join(pieces)
    if not data[:2].strip(b"{ \n") and b"\x00" not in data[:2]:
        good = sum(piece == line().encode() for piece in pieces)
        assert len(read(data)[0]) >= good
    else:
        read(data)


# Memory


class _Endless:
    """A file of so many bytes that is made as it is read."""

    def __init__(self, piece: bytes, total: int) -> None:
        self._piece, self._left = piece, total

    def read(self, size: int) -> bytes:
        size = min(size, self._left)
        self._left -= size
        return (self._piece * (size // len(self._piece) + 1))[:size]


def endless(piece: bytes, total: int) -> BinaryIO:
    return _Endless(piece, total)  # type: ignore[return-value]


@pytest.mark.parametrize(("piece", "total", "most"), [(b"x", 80 << 20, 24 << 20), (line().encode(), 4 << 20, 3 << 20)])
def test_memory_is_bounded_however_long_the_file_or_its_lines_are(piece: bytes, total: int, most: int) -> None:
    tracemalloc.start()
    try:
        found = sum(1 for _ in read_log(endless(piece, total)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found
    assert peak < most


def test_a_line_that_is_too_long_is_one_line_that_is_passed_over() -> None:
    file = io.BytesIO(b"a\n" + b"x" * 1_000 + b"\nb\nc")
    blocks = list(line_blocks(file, block_bytes=16, longest_bytes=100))
    assert [(block.first, block.data) for block in blocks if not block.too_long] == [
        (1, b"a\n"),
        (3, b"b\n"),
        (4, b"c"),
    ]
    assert [block.first for block in blocks if block.too_long] == [2]


@given(st.lists(st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")), max_size=20), st.integers(1, 40))
def test_blocks_of_any_size_give_the_same_lines(lines: list[bytes], block_bytes: int) -> None:
    data = b"a" + b"\n".join(lines)
    if data[1:2] == b"\x00":
        return
    blocks = list(line_blocks(io.BytesIO(data), block_bytes=block_bytes))
    assert b"".join(block.data for block in blocks) == data
    number = 1
    for block in blocks:
        assert block.first == number
        number += block.count


# Written and read again


texts = st.one_of(st.none(), st.text(max_size=12).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text)))
counts = st.integers(0, 2**53)
times = st.one_of(st.integers(0, 4_000_000_000_000).map(float), st.floats(-1e15, 1e15))
attempts = st.builds(
    Attempt,
    line=st.just(1),
    instance=texts,
    call_id=texts,
    leg=st.sampled_from(Leg),
    op=st.sampled_from(Operation),
    started_ms=times,
    duration_ms=st.one_of(st.none(), st.integers(-(10**9), 10**9).map(float)),
    outcome=st.sampled_from([Outcome.VECTOR, Outcome.CIRCUIT_OPEN]),
    provider=texts,
    request_model=texts,
    response_model=texts,
    requested_dims=st.one_of(st.none(), counts),
    observed_dims=st.one_of(st.none(), counts),
    input_count=counts,
    purpose=st.one_of(st.none(), st.sampled_from(Purpose)),
    namespace=texts,
    keys=st.lists(st.text('ab"\\\n_é', max_size=4), max_size=3).map(tuple),
    status_code=st.one_of(st.none(), st.integers(100, 599)),
    server=texts,
)
times_or_none = st.one_of(st.none(), times)
others = st.one_of(
    st.builds(LoggedStart, line=st.just(1), instance=texts, at_ms=times_or_none),
    st.builds(LoggedReset, line=st.just(1), instance=texts, at_ms=times_or_none),
    st.builds(
        LoggedConfig,
        line=st.just(1),
        instance=texts,
        failure_streak_threshold=st.one_of(st.none(), st.floats(allow_nan=False)),
        cooldown_ms=st.one_of(st.none(), st.floats(allow_nan=False)),
        dialect=st.one_of(st.none(), st.builds(RoutingDialect, *[st.booleans()] * 5)),
    ),
    st.builds(
        LoggedTransition,
        line=st.just(1),
        instance=texts,
        at_ms=times_or_none,
        origin=st.sampled_from(Leg),
        target=st.sampled_from(Leg),
        message=texts,
    ),
    st.builds(LoggedNamespace, line=st.just(1), name=st.text("ab@?", max_size=4), model=texts, dims=st.none() | counts),
)


@given(st.one_of(attempts, others))
def test_what_is_written_is_read_again(record: Record) -> None:
    assert read(encode(record)) == ([record], [])


@given(times, st.floats(-1e9, 1e9))
def test_an_attempt_ends_when_it_ended(started_ms: float, duration_ms: float) -> None:
    attempt = Attempt(line=1, leg=Leg.PRIMARY, started_ms=started_ms, duration_ms=duration_ms, outcome=Outcome.VECTOR)
    records, _ = read(encode(attempt))
    assert isinstance(records[0], Attempt)
    assert records[0].ended_ms == attempt.ended_ms


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_is_read_as_it_was_written(outcome: Outcome) -> None:
    nulls = {Outcome.PARTIAL: 1, Outcome.NULL: 3}.get(outcome, 0)
    attempt = Attempt(line=1, leg=Leg.PRIMARY, started_ms=1, outcome=outcome, input_count=3, null_count=nulls)
    records, _ = read(encode(attempt))
    assert isinstance(records[0], Attempt)
    assert (records[0].outcome, records[0].null_count) == (outcome, nulls)


def test_times_are_spelled_for_people_where_that_loses_nothing() -> None:
    assert timestamp_of(NOON_MS) == NOON
    assert timestamp_of(0.5) == "1970-01-01T00:00:00.000500Z"
    assert timestamp_of(NOON_MS + 0.001) == "2026-11-29T12:00:00.250001Z"
    assert timestamp_of(0.0001) == 0.0001
    assert timestamp_of(1e18) == 1e18


def test_neither_a_message_nor_anything_but_a_kind_of_failure_is_written() -> None:
    attempt = Attempt(
        line=1,
        leg=Leg.PRIMARY,
        started_ms=0,
        outcome=Outcome.ERROR,
        error_type="bad key sk-123",
        error_message="sk-123",
    )
    written = encode(attempt)
    assert b"sk-123" not in written
    assert b'"error.type":"error"' in written


def test_half_characters_in_a_name_are_replaced_and_cost_no_line() -> None:
    attempt = Attempt(line=1, leg=Leg.PRIMARY, started_ms=0, outcome=Outcome.VECTOR, keys=("a\ud800",))
    records, problems = read(encode(attempt))
    assert problems == []
    assert isinstance(records[0], Attempt)
    assert records[0].keys == ("a?",)
