"""Everything that is printed is inert; JSON is exact all the same."""

from __future__ import annotations

import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.running import UNSAFE
from workbench.cli.output import Output, Sign, json_text

HOSTILE = [
    "\x1b[31mred",
    "\x1b]52;c;cm0gLXJm\x07",
    "\x9b31m",
    "\x7f\x00\r\x08",
    "[/x][@click=app.quit]",
    "\u202etxt.exe",
    "\u2066a\u2069\u061c\u200e",
    "line\u2028para\u2029",
    "\U000e0041\U000e0042",
    "a\nb\tc",
    'quote " and \\ backslash',
    "\udcff\ud800",
]


class Ascii(io.StringIO):
    """A stream that can only take ASCII."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "ascii"


class Utf8(io.StringIO):
    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"


@pytest.mark.parametrize("text", HOSTILE)
def test_json_is_safe_to_look_at_and_exact_to_parse(text: str) -> None:
    document = {text: [text, {"deep": text}]}
    written = json_text(document)
    assert not UNSAFE.search(written)
    assert json.loads(written) == document


@given(st.recursive(st.text() | st.integers(-(2**60), 2**60) | st.none(), lambda inner: st.lists(inner)))
def test_any_document_comes_back_as_it_was(document: object) -> None:
    written = json_text(document)
    assert not UNSAFE.search(written)
    assert json.loads(written) == document


def test_characters_beyond_the_first_plane_are_escaped_as_surrogate_pairs() -> None:
    assert json_text("\U000e0041") == '"\\udb40\\udc41"'
    assert json_text("\U0001f600") == '"\U0001f600"'


@pytest.mark.parametrize("beside", ["plain", "\udcff"])
def test_numbers_that_json_cannot_hold_are_null(beside: str) -> None:
    document = {"numbers": [math.nan, math.inf, -math.inf, 1.5], "text": beside}
    assert json.loads(json_text(document))["numbers"] == [None, None, None, 1.5]


def test_json_stays_json_where_only_ascii_can_be_written() -> None:
    stream = Ascii()
    Output(stream).json_document({"id": "grün \U0001f600"})
    assert stream.getvalue().isascii()
    assert json.loads(stream.getvalue()) == {"id": "grün \U0001f600"}


@pytest.mark.parametrize("text", HOSTILE)
def test_text_for_people_is_inert(text: str) -> None:
    stream = Utf8()
    out = Output(stream)
    out.line(text)
    out.row(text, text)
    out.verdict(Sign.ERROR, text)
    out.paragraph(text, indent=4)
    out.transient(text)
    assert not UNSAFE.search(stream.getvalue())
    stream.getvalue().encode("utf-8")


def test_signs_have_an_ascii_form() -> None:
    stream = Ascii()
    Output(stream).verdict(Sign.OK, "fits")
    Output(stream).verdict(Sign.ERROR, "refused")
    assert stream.getvalue() == "  ok fits\n  x  refused\n"


def test_sentences_are_wrapped_under_themselves() -> None:
    stream = Utf8()
    Output(stream).verdict(Sign.WARNING, "word " * 40 + "x" * 200)
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.startswith("     ") for line in lines[1:])


@pytest.mark.parametrize("count", [0, 1, 2_500])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_list_that_is_written_in_parts_is_the_document_to_the_byte(count: int, encoding: str) -> None:
    items: list[object] = [{"n": n, "name": "é\n\u202e", "at": None, "in": [{}]} for n in range(count)]
    whole, parts = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2))
    Output(whole).json_document({"a": {"b": [1]}, "list": items, "c": []})
    Output(parts).json_document_with({"a": {"b": [1]}, "list": [], "c": []}, "list", iter(items))
    assert parts.buffer.getvalue() == whole.buffer.getvalue()
