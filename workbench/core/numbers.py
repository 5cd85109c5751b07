"""Numbers as the seed library reads, rounds and writes them: those of JavaScript, which differ from Python's."""

from __future__ import annotations

import math
import re

# A number literal may stand between these; Python's strip() takes others (U+001C to U+001F, U+0085) and not U+FEFF.
_WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PREFIXED = {
    "0x": (16, re.compile(r"[0-9a-fA-F]+")),
    "0o": (8, re.compile(r"[0-7]+")),
    "0b": (2, re.compile(r"[01]+")),
}
_INFINITIES = {"Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest whole number below which every whole number is exact in float64."""


def is_number(value: object) -> bool:
    """Say whether JavaScript would call ``value`` a number: an int or a float, and no bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def to_float(value: float) -> float:
    """Turn an int or float into float64; whole numbers beyond its range become infinite instead of raising."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def plain(value: float) -> float:
    """Give an exact whole float as int, so that 384.0 is shown and serialised as 384; -0.0 keeps its sign."""
    if value.is_integer() and abs(value) <= MAX_SAFE_INTEGER and (value or math.copysign(1.0, value) > 0):
        return int(value)
    return value


def parse_number(text: str) -> float:
    """Read ``text`` by the grammar of JavaScript's ``Number(text)``; NaN when it is no number, 0.0 when it is blank."""
    body = text.strip(_WHITESPACE)
    if not body:
        return 0.0
    if body in _INFINITIES:
        return _INFINITIES[body]
    base, digits = _PREFIXED.get(body[:2].lower(), (10, _DECIMAL))
    if base != 10:
        return to_float(int(body[2:], base)) if digits.fullmatch(body, 2) else math.nan
    return float(body) if digits.fullmatch(body) else math.nan


def number_text(value: float) -> str:
    """Write a number as JavaScript's ``String(value)`` does: 384.0 is ``384``, 1e-07 is ``1e-7``."""
    value = to_float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    point -= len(digits) - len(digits.lstrip("0"))
    return sign + _place_point(digits.strip("0"), point)


def _place_point(digits: str, point: int) -> str:
    """Write 0.<digits> times ten to the power of ``point``, with the thresholds of JavaScript."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    exponent = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"{digits[0]}.{digits[1:]}{exponent}" if len(digits) > 1 else digits + exponent


def round_half_up(value: float) -> float:
    """Round as JavaScript's ``Math.round``: to the nearest whole number, halves up; NaN and infinities stay.

    Neither ``round`` (halves to even) nor ``floor(value + 0.5)`` (wrong at 0.49999999999999994) gives this.
    """
    if not math.isfinite(value):
        return value
    below = float(math.floor(value))
    rounded = below + 1.0 if value - below >= 0.5 else below
    return math.copysign(rounded, value) if rounded == 0 else rounded
