"""Values of a log one by one: every form of JSON, over any block, however it is damaged, in bounded memory."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.routing.foreign import values
from workbench.routing.foreign.values import FoundValue, json_values, strict_json
from workbench.routing.model import LogProblem

_OBJECTS = st.dictionaries(
    st.text(max_size=6) | st.sampled_from(['"', "{", "[", "\\", "\n", '\\"']),
    st.text(max_size=6) | st.integers() | st.lists(st.dictionaries(st.text(max_size=3), st.integers()), max_size=2),
    min_size=1,
    max_size=4,
)


def _read(data: bytes, **options: int) -> tuple[list[FoundValue], list[LogProblem]]:
    found = list(json_values(io.BytesIO(data), **options))
    return (
        [each for each in found if isinstance(each, FoundValue)],
        [each for each in found if isinstance(each, LogProblem)],
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(_OBJECTS, min_size=1, max_size=5), st.sampled_from([None, 1, 3]), st.booleans(), st.integers(1, 40))
def test_documents_are_split_where_they_end_over_any_blocks(
    objects: list[dict[str, Any]], indent: int | None, in_array: bool, block: int
) -> None:
    text = json.dumps(objects, indent=indent) if in_array else "\n".join(json.dumps(each, indent=2) for each in objects)
    before = values._BLOCK_BYTES
    values._BLOCK_BYTES = block
    try:
        found, problems = _read(text.encode())
    finally:
        values._BLOCK_BYTES = before
    assert [json.loads(each.data) for each in found] == objects
    assert not problems


def test_each_value_has_the_line_where_it_begins() -> None:
    text = b'[\n\n  {\n "a": 1},\n  {"a":\n 2}, {"a": 3}\n]\n'
    found, _ = _read(text)
    assert [each.line for each in found] == [3, 5, 6]
    lines, _ = _read(b'{"a": 1}\n\n{"a": 2}\n')
    assert [each.line for each in lines] == [1, 3]


def test_a_damaged_first_line_does_not_make_the_rest_one_document() -> None:
    found, _ = _read(b'{"a": {"b\n{"a": 1}\n{"a": 2}\n')
    assert [each.data for each in found[1:]] == [b'{"a": 1}', b'{"a": 2}']


def test_a_value_that_is_longer_than_is_held_is_said() -> None:
    long = b'{"a": "' + b"x" * 5_000_000 + b'"}\n'
    found, problems = _read(b'{"a": 1}\n' + long + b'{"a": 2}\n', longest_bytes=1 << 20)
    assert [each.line for each in found] == [1, 3]
    assert problems[0].line == 2
    assert "was passed over" in problems[0].message
    _, problems = _read(b"[\n" + b'{"a":\n' + b'"x",\n' * 1_000_000, longest_bytes=1 << 20)
    assert problems[0].line == 2


def test_memory_is_bounded_by_the_longest_value_and_not_by_the_file() -> None:
    document = b"[\n" + b'{"a": [1, 2, 3]},\n' * 400_000 + b'{"a": 0}]'
    file = io.BytesIO(document)
    tracemalloc.start()
    count = sum(1 for _ in json_values(file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 400_001
    assert peak < 12_000_000


@pytest.mark.parametrize(
    ("odd", "strict"),
    [
        (b'{"a": [NaN, -Infinity, 1e999, 2]}', {"a": [None, None, None, 2]}),
        (b'{"a": "half \\ud83d"}', {"a": "half ?"}),
        (b'{"a": "\xff"}', {"a": "\N{REPLACEMENT CHARACTER}"}),
        (b'{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
    ],
)
def test_what_only_a_lenient_parser_reads_is_spelled_again(odd: bytes, strict: object) -> None:
    spelled = strict_json(odd)
    assert spelled is not None
    assert json.loads(spelled) == strict


@pytest.mark.parametrize("damaged", [b"", b"{", b'{"a": }', b"[" * 100_000, b'{"a": "' + b"1" * (17 << 20) + b'"}'])
def test_what_is_no_json_or_too_long_to_be_built_is_none(damaged: bytes) -> None:
    assert strict_json(damaged) is None


def test_an_object_on_a_line_of_its_own_within_a_document_does_not_make_it_json_lines() -> None:
    found, problems = _read(b'{\n  "a": [\n    {"b": 1}\n  ]\n}\n')
    assert [json.loads(each.data) for each in found] == [{"a": [{"b": 1}]}]
    assert not problems
