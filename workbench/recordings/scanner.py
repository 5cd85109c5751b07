"""JSON as bytes, token by token with a stack of its own: any depth, odd but readable spellings, damage said by byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from mmap import mmap

Buffer = bytes | mmap

_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
_LITERAL = rb"true|false|null|NaN|-?Infinity"
_BLANKS = rb"[ \t\n\r]*+"
_STRING = rb'"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*+)*+"'
_VALUE = re.compile(_BLANKS + rb"(?:([\[{])|(" + _STRING + rb")|(" + _LITERAL + rb")|(" + _NUMBER + rb"))")
_FLAT_ITEM = rb"(?:NaN|-?Infinity|" + _NUMBER + rb")"
_FLAT = re.compile(
    rb"\[" + _BLANKS + _FLAT_ITEM + rb"(?:" + _BLANKS + rb"," + _BLANKS + _FLAT_ITEM + rb")*+" + _BLANKS + rb"\]"
)
NUMBERS_BEGIN = re.compile(rb"(?:" + _FLAT_ITEM + _BLANKS + rb"," + _BLANKS + rb")++")
KEY = re.compile(_BLANKS + rb"(" + _STRING + rb")" + _BLANKS + rb":")
_NEXT = re.compile(_BLANKS + rb"([,\]}])")
_BLANK = re.compile(_BLANKS)
DEEPEST = 100_000
"""Brackets inside of brackets that are followed; nobody writes as many, and each is paid for again by each reading."""
_UNFINISHED_NUMBER = re.compile(rb"[.eE][+-]?")
_END_OF_TOKEN = re.compile(rb"[^-+.0-9a-zA-Z]")


class Token(IntEnum):
    """What stands at a place."""

    OBJECT = 1
    ARRAY = 2
    END = 3
    KEY = 4
    STRING = 5
    LITERAL = 6
    NUMBER = 7
    NUMBERS = 8
    """A whole array of nothing but numbers (NaN and infinities count), at least one."""


class Damage(Exception):
    """A place where the bytes stop being JSON.

    Attributes:
        byte: where.
        words: what is wrong there, as a clause.
        cut: the bytes simply end there.
    """

    def __init__(self, byte: int, words: str, *, cut: bool = False) -> None:
        super().__init__(words)
        self.byte = byte
        self.words = words
        self.cut = cut


def blanks_end(buffer: Buffer, at: int, end: int) -> int:
    """Give the place of the first byte from ``at`` on that is no blank, or ``end``."""
    found = _BLANK.match(buffer, at, end)
    return found.end() if found else at


def tokens(buffer: Buffer, at: int, end: int) -> Iterator[tuple[Token, int, int]]:
    """Give the tokens of one value with their ranges, an array of only numbers as one token.

    Beyond RFC 8259 it takes what writers are known to leave: NaN and infinities, control characters and bytes that
    are no UTF-8 inside strings, halves of surrogate pairs.

    Raises Damage, after the tokens before it.
    """
    closers = bytearray()
    value, flat, next_, key = _VALUE.match, _FLAT.match, _NEXT.match, KEY.match
    while True:
        # A value is due here.
        found = value(buffer, at, end)
        if found is None:
            raise _damage_of_value(buffer, at, end)
        kind = found.lastindex
        begin, at = found.span(kind or 0)
        if kind == 1:
            opened = buffer[begin]
            whole = flat(buffer, begin, end) if opened == 0x5B else None
            if whole is not None:
                at = whole.end()
                yield Token.NUMBERS, begin, at
            else:
                yield (Token.ARRAY if opened == 0x5B else Token.OBJECT), begin, at
                closer = 0x5D if opened == 0x5B else 0x7D
                following = blanks_end(buffer, at, end)
                if following < end and buffer[following] == closer:
                    at = following + 1
                    yield Token.END, following, at
                else:
                    closers.append(closer)
                    if len(closers) > DEEPEST:
                        raise Damage(begin, f"more than {DEEPEST:,} brackets are open there, and no more are followed")
                    if closer == 0x5D:
                        continue
                    named = key(buffer, at, end)
                    if named is None:
                        raise _damage_of_key(buffer, at, end)
                    yield Token.KEY, named.start(1), named.end(1)
                    at = named.end()
                    continue
        elif kind == 2:
            yield Token.STRING, begin, at
        elif kind == 3:
            yield Token.LITERAL, begin, at
        else:
            if at == end and closers:
                raise Damage(end, "the text ends inside a value", cut=True)
            yield Token.NUMBER, begin, at
        # A value has ended here.
        while closers:
            found = next_(buffer, at, end)
            if found is None:
                raise _damage_after(buffer, at, end)
            place = found.start(1)
            at = place + 1
            if buffer[place] == 0x2C:
                if closers[-1] == 0x7D:
                    named = key(buffer, at, end)
                    if named is None:
                        raise _damage_of_key(buffer, at, end)
                    yield Token.KEY, named.start(1), named.end(1)
                    at = named.end()
                break
            if buffer[place] != closers[-1]:
                raise Damage(place, f"'{chr(buffer[place])}' closes what was not opened")
            closers.pop()
            yield Token.END, place, at
        else:
            return


def value_end(buffer: Buffer, at: int, end: int) -> int:
    """Give where the value ends that begins at ``at`` (blanks before it are skipped). Raises Damage."""
    last = at
    for token in tokens(buffer, at, end):
        last = token[2]
    return last


def _damage_of_value(buffer: Buffer, at: int, end: int) -> Damage:
    at = blanks_end(buffer, at, end)
    if at >= end:
        return Damage(end, "the text ends where a value is due", cut=True)
    first = buffer[at : at + 1]
    if first == b'"':
        return _damage_of_string(buffer, at, end)
    if first in b"]}":
        return Damage(at, "a comma stands before a closing bracket, or a value is missing")
    if buffer[at : at + 2] in (b"//", b"/*"):
        return Damage(at, "a comment stands there, which JSON does not have")
    if _END_OF_TOKEN.search(buffer, at, end) is None and end - at < 32:
        return Damage(end, "the text ends inside a value", cut=True)
    return Damage(at, f"{_shown(buffer, at)} stands where a value is due")


def _damage_of_key(buffer: Buffer, at: int, end: int) -> Damage:
    at = blanks_end(buffer, at, end)
    if at >= end:
        return Damage(end, "the text ends where a key is due", cut=True)
    if buffer[at : at + 1] == b'"':
        try:
            stop = value_end(buffer, at, end)
        except Damage as damage:
            return damage
        stop = blanks_end(buffer, stop, end)
        if stop >= end:
            return Damage(end, "the text ends after a key", cut=True)
        return Damage(stop, "a colon is missing after a key")
    if buffer[at : at + 2] in (b"//", b"/*"):
        return Damage(at, "a comment stands there, which JSON does not have")
    if buffer[at : at + 1] == b"}":
        return Damage(at, "a comma stands before a closing bracket")
    return Damage(at, f"{_shown(buffer, at)} stands where a key is due")


def _damage_after(buffer: Buffer, at: int, end: int) -> Damage:
    at = blanks_end(buffer, at, end)
    if at >= end:
        return Damage(end, "the text ends before its last bracket", cut=True)
    if end - at < 32 and _UNFINISHED_NUMBER.fullmatch(buffer, at, end):
        return Damage(end, "the text ends inside a number", cut=True)
    return Damage(at, f"{_shown(buffer, at)} stands where a comma or a bracket is due")


_STRING_BODY = re.compile(rb'"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*+)*+')


def _damage_of_string(buffer: Buffer, at: int, end: int) -> Damage:
    found = _STRING_BODY.match(buffer, at, end)
    stop = found.end() if found else end
    if stop >= end or end - stop < 6:
        return Damage(end, "the text ends inside a string", cut=True)
    return Damage(stop, "a backslash stands there that escapes nothing")


def _shown(buffer: Buffer, at: int) -> str:
    byte = buffer[at]
    return f"'{chr(byte)}'" if 0x20 < byte < 0x7F else f"the byte 0x{byte:02x}"
