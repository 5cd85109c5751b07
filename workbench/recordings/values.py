"""Bytes as Python values: fast where they are plain JSON, exact and tolerant where they are not, at any depth."""

from __future__ import annotations

import json
import re
from typing import cast

import orjson

from workbench.recordings.plain import Plain, plain_end
from workbench.recordings.scanner import KEY, NUMBERS_BEGIN, Buffer, Damage, Token, blanks_end, tokens

_DEEPEST = 256
_MOST_DIGITS = 4_300  # Python converts no longer number, since that takes quadratic time
_AS_ZEROS = bytes(ord("0") if each in b"0123456789" else each for each in range(256))
_TOO_LONG = (b"0" * 20, b"-" + b"0" * 19)  # the first sizes of whole numbers that may be beyond 64 bits
_DIGITS = re.compile(rb"[0-9]++")
_BEFORE_NUMBER = b"[,: \t\n\r"
_BEHIND_NUMBER = b"],} \t\n\r"
_CONSTANTS = {b"true": True, b"false": False, b"null": None}


def loads(data: bytes) -> object:
    """Parse one JSON value.

    Bytes that are no UTF-8 become halves of surrogate pairs (as ``surrogateescape`` does), so that nothing is lost.
    Whole numbers stay whole at any size, and come as their text where Python would not convert them. Of a repeated
    key the last one counts. Raises Damage.
    """
    try:
        if not _has_long_whole(data):
            return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        # JSON has no raw control characters in strings; strict=False takes them, as writers leave them.
        return json.loads(data.decode("utf-8", "surrogateescape"), strict=False, parse_int=_whole)
    except (ValueError, RecursionError):
        value, damage = parse(data, 0, len(data))
        if damage is not None:
            raise damage from None
        return value


def _has_long_whole(data: bytes) -> bool:
    """Say whether a whole number may be beyond 64 bits, which orjson makes a float of.

    A pattern over the whole text would take ten times as long as parsing it. What is between quotes right after and
    before them is no number, such as the ids and the times of a trace.
    """
    if len(data) < 20:
        return False
    zeros = data.translate(_AS_ZEROS)
    for long in _TOO_LONG:
        at = zeros.find(long)
        while at >= 0:
            run = _DIGITS.match(data, at + 1)
            end = run.end() if run else at + 1
            begin = at - 1 if data[at - 1 : at] == b"-" else at
            if (not begin or data[begin - 1] in _BEFORE_NUMBER) and (end == len(data) or data[end] in _BEHIND_NUMBER):
                return True
            at = zeros.find(long, end)
    return False


def loads_string(data: bytes) -> str:
    """Parse a JSON string, quotes included. Raises Damage."""
    value = loads(data)
    return value if isinstance(value, str) else ""


def parse(buffer: Buffer, at: int, end: int) -> tuple[object, Damage | None]:
    """Parse one value of any depth; of damaged text give what is complete, and the damage.

    What comes behind the value is not looked at. A string or number in which the text ends is left out.
    """
    root: list[object] = []
    stack: list[dict[str, object] | list[object]] = [root]
    keys: list[str | None] = [None]
    damage = None
    try:
        for kind, begin, stop in tokens(buffer, at, end):
            if kind == Token.KEY:
                keys[-1] = _string(bytes(buffer[begin:stop]))
                continue
            if kind == Token.END:
                stack.pop()
                keys.pop()
                continue
            opened: dict[str, object] | list[object] | None = None
            value: object
            if kind == Token.OBJECT:
                value = opened = {}
            elif kind == Token.ARRAY:
                value = opened = []
            else:
                value = _scalar(kind, bytes(buffer[begin:stop]))
            top = stack[-1]
            if isinstance(top, dict):
                top[cast("str", keys[-1])] = value
            else:
                top.append(value)
            if opened is not None:
                stack.append(opened)
                keys.append(None)
    except Damage as found:
        damage = found
    if not root and damage is None:
        damage = Damage(end, "the text is empty", cut=True)
    return (root[0] if root else None), damage


def parse_beginning(buffer: bytes, at: int, end: int) -> tuple[object, Damage | None]:
    """Parse a value of which only the beginning is there, complete parts of it at full speed; else as ``parse``."""
    root: list[object] = []
    stack: list[dict[str, object] | list[object]] = [root]
    key = ""
    at = blanks_end(buffer, at, end)
    while len(stack) <= _DEEPEST:
        stop = plain_end(buffer, at, end)
        opens = buffer[at : at + 1] in (b"[", b"{")
        if stop == Plain.ODD or (stop == Plain.CUT and len(stack) == 1 and not opens):
            return parse(buffer, at, end) if len(stack) == 1 else (root[0], Damage(at, "it is no JSON there"))
        if stop == Plain.CUT and not opens:
            break
        value = loads(buffer[at:stop]) if stop >= 0 else {} if buffer[at] == 0x7B else []
        top = stack[-1]
        if isinstance(top, dict):
            top[key] = value
        else:
            top.append(value)
        if stop < 0:
            stack.append(cast("dict[str, object] | list[object]", value))
            at = blanks_end(buffer, at + 1, end)
        else:
            at = blanks_end(buffer, stop, end)
            if buffer[at : at + 1] != b",":
                break
            at = blanks_end(buffer, at + 1, end)
        innermost = stack[-1]
        if isinstance(innermost, list):
            many = NUMBERS_BEGIN.match(buffer, at, end)
            if many is not None:  # a vector that is cut: not number by number
                innermost += numbers(buffer[at : many.end()].rstrip(b", \t\r\n").join((b"[", b"]")))
                at = many.end()
        if isinstance(innermost, dict):
            name = KEY.match(buffer, at, end)
            if name is None:
                break
            key, at = loads_string(name.group(1)), blanks_end(buffer, name.end(), end)
        if at >= end:
            break
    return root[0], Damage(end, "the text ends before its last bracket", cut=True)


def numbers(data: bytes) -> list[float]:
    """Parse an array of numbers; whole ones beyond float64 become infinite."""
    try:
        return cast("list[float]", orjson.loads(data))
    except orjson.JSONDecodeError:
        return cast("list[float]", json.loads(data, parse_int=_whole_or_infinite))


def _scalar(kind: Token, data: bytes) -> object:
    if kind == Token.STRING:
        return _string(data)
    if kind == Token.LITERAL:
        return _CONSTANTS[data] if data in _CONSTANTS else float(data.replace(b"Infinity", b"inf"))
    if kind == Token.NUMBERS:
        return json.loads(data, parse_int=_whole)
    return json.loads(data, parse_int=_whole)


def _string(data: bytes) -> str:
    return cast("str", json.loads(data.decode("utf-8", "surrogateescape"), strict=False))


def _whole(text: str) -> int | str:
    return int(text) if len(text) <= _MOST_DIGITS else text


def _whole_or_infinite(text: str) -> float:
    return int(text) if len(text) <= _MOST_DIGITS else float(text)
