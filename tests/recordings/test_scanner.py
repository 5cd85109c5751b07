"""The scanner against Python's own parser, and at what that one cannot do: depth, damage, odd spellings."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.recordings import scanner, spans, values
from workbench.recordings.scanner import Damage

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)


def same(one: object, other: object) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_a_value_ends_where_it_ends_and_parses_to_what_pythons_parser_gives(
    value: object, indent: int | None, ascii_only: bool
) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert scanner.value_end(data + b"  [1]", 0, len(data) + 5) == len(data)
    assert same(values.loads(data), json.loads(data))
    parsed, damage = values.parse(data, 0, len(data))
    assert damage is None
    assert same(parsed, json.loads(data))


@given(st.binary(max_size=12))
@example(b'{"a":1,}')
@example(b"[1,]")
@example(b"[01]")
@example(b'{"a" 1}')
@example(b'"\\x"')
@example(b"[1}")
@example(b"-")
@example(b"1.")
@example(b'{"a":tru}')
def test_what_pythons_parser_refuses_is_damage(data: bytes) -> None:
    try:
        json.loads(data.decode("utf-8", "surrogateescape"), strict=False)
        readable = True
    except ValueError:
        readable = False
    try:
        end = scanner.value_end(data, 0, len(data))
        found = not data[end:].strip(b" \t\r\n")
    except Damage:
        found = False
    assert found == readable


@given(VALUES, st.integers(0, 200))
def test_of_a_value_that_is_cut_every_complete_child_is_given_and_the_end_is_said(value: object, cut: int) -> None:
    whole = json.dumps({"before": [1, 2], "value": value, "after": 3}).encode()
    data = whole[: max(1, min(cut, len(whole) - 1))]
    parsed, damage = values.parse(data, 0, len(data))
    assert damage is not None
    assert damage.cut
    assert damage.byte == len(data)
    if isinstance(parsed, dict) and "after" not in parsed and "value" in parsed:
        assert parsed["before"] == [1, 2]


def test_ten_thousand_levels_are_scanned_and_parsed() -> None:
    data = b'{"a":[' * 10_000 + b"]}" * 10_000
    assert scanner.value_end(data, 0, len(data)) == len(data)
    value = values.loads(data)
    depth = 0
    while isinstance(value, dict):
        value, depth = value["a"][0] if value["a"] else None, depth + 1
    assert depth == 10_000


def test_numbers_are_exact_and_absurd_ones_stay_text() -> None:
    assert values.loads(b"18446744073709551617") == 18446744073709551617
    assert values.loads(b'{"startTimeUnixNano":1544712660300000000}') == {"startTimeUnixNano": 1544712660300000000}
    assert values.loads(b"[" + b"9" * 5_000 + b"]") == ["9" * 5_000]
    assert values.numbers(b"[" + b"9" * 5_000 + b",1]") == [math.inf, 1]


EDGES = [
    sign * (base + step) for sign in (1, -1) for base in (0, 2**53, 10**18, 2**63, 10**19, 2**64) for step in (-1, 0, 1)
]
WHOLE = st.integers() | st.integers(-(10**25), 10**25) | st.sampled_from(EDGES)
AROUND = st.sampled_from(
    ["{}", "[{}]", '{{"a":{}}}', "[1,{} ]", '["{}" , {}]', "[0.{}1, \n{}\n]", '{{"{}":[{},"x{}"]}}']
)


@given(AROUND, st.lists(WHOLE, min_size=3, max_size=3))
def test_whole_numbers_of_any_size_are_exact_wherever_they_stand(around: str, numbers: list[int]) -> None:
    text = around.format(*map(abs, numbers)) if "0.{}" in around else around.format(*numbers)
    value, expected = values.loads(text.encode()), json.loads(text)
    assert value == expected
    assert repr(value) == repr(expected), "a float may equal a whole number"


@pytest.mark.parametrize(
    "text",
    [
        '{"startTimeUnixNano":"1544712660300000000","endTimeUnixNano":1544712660300000000}',
        '{"traceId":"12345678901234567890123456789012","id":"urn:12345678901234567890"}',
        "[0.12345678901234567890123,-0.12345678901234567890123,12345678901234567890123.5,12345678901234567890e3]",
        '{"least":-999999999999999999,"most":9999999999999999999}',
    ],
)
def test_times_in_nanoseconds_ids_and_fractions_need_no_slower_parser(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = json.loads(text)
    monkeypatch.setattr(json, "loads", None)
    assert values.loads(text.encode()) == expected


@pytest.mark.parametrize(
    ("data", "byte", "cut"),
    [
        (b'{"a":[1,2', 9, True),
        (b'{"a":"x', 7, True),
        (b'{"a":0.', 7, True),
        (b'{"a"', 4, True),
        (b'{"a":1 "b":2}', 7, False),
        (b'{"a":1} // x', None, False),
        (b"{\n // c\n}", 3, False),
    ],
)
def test_damage_is_said_by_its_byte(data: bytes, byte: int | None, cut: bool) -> None:
    if byte is None:
        assert scanner.value_end(data, 0, len(data)) == 7
        return
    with pytest.raises(Damage) as damage:
        scanner.value_end(data, 0, len(data))
    assert (damage.value.byte, damage.value.cut) == (byte, cut)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=5), st.sampled_from([None, 2]))
def test_children_are_found_where_they_are(value: dict[str, object], indent: int | None) -> None:
    data = b" " + json.dumps(value, indent=indent).encode()
    found = spans.children(data)
    assert [child.name for child in found] == list(value)
    for child in found:
        assert same(json.loads(data[child.start : child.end]), value[str(child.name)])


def test_a_repeated_key_is_listed_each_time() -> None:
    found = spans.children(b'{"a":1,"b":[2],"a":3}')
    assert [(child.name, child.start, child.end) for child in found] == [("a", 5, 6), ("b", 11, 14), ("a", 19, 20)]
