"""Numbers as the seeds write, read and round them."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.core.numbers import is_number, number_text, parse_number, plain, round_half_up, to_float


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (384.0, "384"),
        (384, "384"),
        (0.0, "0"),
        (-0.0, "0"),
        (12.5, "12.5"),
        (-12.5, "-12.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e21, "1.5e+21"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (1.25e-7, "1.25e-7"),
        (-1e-7, "-1e-7"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (0.1, "0.1"),
        (100.0, "100"),
        (1234.5678, "1234.5678"),
        (2**53 + 1, "9007199254740992"),
        (10**400, "Infinity"),
        (-(10**400), "-Infinity"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_a_number_is_written_as_javascript_writes_it(value: float, text: str) -> None:
    assert number_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_written_number_reads_back_as_itself(value: float) -> None:
    assert parse_number(number_text(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0.0),
        (" \t\n\u00a0\ufeff\u2028\u3000", 0.0),
        (" 12 ", 12.0),
        ("0x10", 16.0),
        ("0XfF", 255.0),
        ("0o17", 15.0),
        ("0O17", 15.0),
        ("0b11", 3.0),
        ("017", 17.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("+5", 5.0),
        ("-5", -5.0),
        ("-.5e+1", -5.0),
        ("1e3", 1000.0),
        ("1e400", math.inf),
        ("-1e400", -math.inf),
        ("Infinity", math.inf),
        ("+Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("0x" + "f" * 400, math.inf),
        ("9" * 10_000, math.inf),
    ],
)
def test_the_grammar_of_javascript_is_read(text: str, value: float) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "1_000", "inf", "nan", "infinity", "INFINITY", "１２", "١٢", "-0x10", "+0b1", "0x", "0b2", "0o8", "0x1_0",
        "0x 1",
        "0x-1", "1e", "e5", ".", "-", "+", "- 5", "5f", "\x1c12", "\x8512", "\u200b12", "12\0", "1 2", "1,000",
        "0x1.8p3",
    ],
)  # fmt: skip
def test_what_only_python_takes_for_a_number_is_none(text: str) -> None:
    assert math.isnan(parse_number(text))


@given(st.text(alphabet="0123456789.eE+-xXbo _\u00a0\x1c", max_size=12))
def test_reading_never_raises(text: str) -> None:
    assert isinstance(parse_number(text), float)


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (0.5, 1.0),
        (1.5, 2.0),
        (2.5, 3.0),
        (-0.5, -0.0),
        (-1.5, -1.0),
        (-0.2, -0.0),
        (0.49999999999999994, 0.0),
        (4503599627370495.5, 4503599627370496.0),
        (4503599627370497.0, 4503599627370497.0),
        (1e300, 1e300),
        (math.inf, math.inf),
    ],
)
def test_halves_are_rounded_up(value: float, rounded: float) -> None:
    assert round_half_up(value) == rounded
    assert math.copysign(1, round_half_up(value)) == math.copysign(1, rounded)


def test_rounding_keeps_nan() -> None:
    assert math.isnan(round_half_up(math.nan))


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(-5e-324)
def test_rounding_is_to_the_nearest_whole_number(value: float) -> None:
    rounded = round_half_up(value)
    assert rounded.is_integer()
    assert abs(rounded - value) <= 0.5


def test_whole_numbers_become_ints_and_others_stay() -> None:
    assert repr(plain(384.0)) == "384"
    assert repr(plain(0.0)) == "0"
    assert repr(plain(-0.0)) == "-0.0"
    assert repr(plain(12.5)) == "12.5"
    assert repr(plain(1e300)) == "1e+300"
    assert math.isinf(plain(math.inf))


def test_truth_values_and_strings_are_no_numbers() -> None:
    assert is_number(1)
    assert is_number(math.nan)
    assert not any(map(is_number, (True, False, "1", None, [1], b"1")))


def test_whole_numbers_beyond_float_become_infinite() -> None:
    assert to_float(10**400) == math.inf
    assert to_float(-(10**400)) == -math.inf
