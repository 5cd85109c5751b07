"""One level of a value at a time: pages of children from their bytes, however large or damaged the value is."""

from __future__ import annotations

import json

import pytest

from workbench.recordings.browsing import InMemory, members_of, members_page
from workbench.recordings.model import Span


class Counting(InMemory):
    """Counts the bytes that are read."""

    bytes_read = 0

    def read(self, span: Span) -> bytes:
        data = super().read(span)
        self.bytes_read += len(data)
        return data


def test_a_repeated_key_comes_as_often_as_it_stands() -> None:
    text = InMemory(b' {"a": 1, "a" : [1, 2] ,"b":{"c":"x\\"}"},"d":-1.5e3}'.lstrip())
    found = [(each.place, each.name, text.read(each.span)) for each in members_of(text, text.span)]
    assert found == [(0, "a", b"1"), (1, "a", b"[1, 2]"), (2, "b", b'{"c":"x\\"}"}'), (3, "d", b"-1.5e3")]


def test_pages_follow_each_other_and_the_last_one_says_so() -> None:
    text = InMemory(json.dumps({f"key {at}": at for at in range(7)}).encode())
    names, begin, place = [], None, 0
    while True:
        page = members_page(text, text.span, 3, begin=begin, place=place)
        names += [(each.place, each.name) for each in page.members]
        if page.following is None:
            break
        begin, place = page.following, place + len(page.members)
    assert names == [(at, f"key {at}") for at in range(7)]


def test_a_page_of_a_million_children_reads_no_more_than_it_needs() -> None:
    text = Counting(b"[" + b",".join(b"%d" % at for at in range(1_000_000)) + b"]")
    page = members_page(text, text.span, 200)
    assert len(page.members) == 200
    assert text.bytes_read < 3 << 20
    middle = text.read(text.span).index(b"900000")
    text.bytes_read = 0
    assert members_page(text, text.span, 1, begin=middle, place=900_000).members[0].name == 900_000
    assert text.bytes_read < 3 << 20


@pytest.mark.parametrize("size", [1_500_000, 6_000_000, 18_000_000])
def test_children_larger_than_a_piece_are_found_whole(size: int) -> None:
    text = InMemory(b'["' + b"x" * size + b'", 12, {"y": "' + b"z" * size + b'"}]')
    assert [each.span.size for each in members_of(text, text.span)] == [size + 2, 2, size + 9]


def test_a_number_that_a_piece_cuts_is_read_to_its_end() -> None:
    text = InMemory(b"[" + b" " * ((1 << 20) - 3) + b"123456, 7]")
    assert [text.read(each.span) for each in members_of(text, text.span)] == [b"123456", b"7"]


def test_what_is_damaged_ends_it_behind_the_container_with_the_damage() -> None:
    text = InMemory(b'[{"a": 1}, {"b": ')
    assert [(each.place, each.whole) for each in members_of(text, text.span)] == [(0, True), (1, False)]


def test_ten_thousand_levels_are_one_child_at_a_time() -> None:
    text = InMemory(b"[" * 10_000 + b"]" * 10_000)
    (only,) = members_of(text, text.span)
    assert only.span == Span(1, 19_999)


@pytest.mark.parametrize("data", [b"12", b'"text"', b"null", b"", b"{}", b"[ ]"])
def test_what_holds_nothing_has_no_children(data: bytes) -> None:
    text = InMemory(data)
    assert list(members_of(text, text.span)) == []
