"""Where each value begins and ends: at the cost of reading where text is plain JSON, by the scanner where it is not."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from workbench.recordings import scanner, values
from workbench.recordings.model import Note
from workbench.recordings.plain import PLAIN_FAILURES, Plain, is_plain, plain_end
from workbench.recordings.scanner import Buffer, Damage

_ITEMS: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])
_FIELDS: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_BETWEEN = re.compile(rb"[ \t\n\r]*+,?[ \t\n\r]*+")
_NAME = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t\n\r]*+:[ \t\n\r]*+', re.DOTALL)
_RECORD_START = re.compile(rb"\n[{\[]")
_FIRST_KEY = re.compile(rb'\{[ \t]*"[^"\\]{1,64}"')
_MOST_TRIES = 64
_EXPLAINED = 128 << 10
_PIECE = 1 << 24


class Form(StrEnum):
    """How values follow each other in a text."""

    JSON = "json"
    JSONL = "jsonl"
    CONCATENATED = "concatenated"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Found:
    """One value: its range, whether all of it is there, and the line on which it begins (None: not counted)."""

    start: int
    end: int
    whole: bool = True
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Child:
    """One child of an object or array: its key or place, its range, whether all of it is there."""

    name: str | int
    start: int
    end: int
    whole: bool = True


def children(data: bytes, *, whole: bool = True) -> list[Child]:
    """Give the children of the object or array that ``data`` is; none for any other value. Never raises.

    Of damaged text, which ``whole`` may say beforehand: every complete child, then the container with the damage.
    """
    return children_of_range(data, scanner.blanks_end(data, 0, len(data)), len(data), whole=whole)


def children_of_range(buffer: Buffer, start: int, end: int, *, whole: bool = True) -> list[Child]:
    """Give the children of the value in a range of a text, which is not copied; places are those of the text."""
    plain = plain_children(buffer, start, end) if whole else None
    if plain is not None:
        return plain
    return list(_members(buffer, start, end))


def plain_children(buffer: Buffer, start: int, end: int) -> list[Child] | None:
    """Give the children of a range that is one object or array by the letter, and has no repeated key; else None."""
    first = buffer[start : start + 1]
    if first not in (b"[", b"{"):
        return None
    with memoryview(buffer) as view, view[start:end] as part, contextlib.suppress(*PLAIN_FAILURES):
        if first == b"[":
            return items_in_place(buffer, start, _ITEMS.decode(part))
        return _fields_in_place(buffer, start, part)
    return None


def _members(buffer: Buffer, start: int, end: int) -> Iterator[Child]:
    """Give the children of a value that is odd or cut: all that are complete, then the container with the damage."""
    if buffer[start : start + 1] not in (b"[", b"{"):
        return
    keyed = buffer[start] == 0x7B
    at = scanner.blanks_end(buffer, start + 1, end)
    index = 0
    while at < end and buffer[at] not in b"]}":
        name: str | int = index
        if keyed:
            found = scanner.KEY.match(buffer, at, end)
            if found is None:
                return
            name, at = _key(found.group(1)), scanner.blanks_end(buffer, found.end(), end)
        stop = plain_end(buffer, at, end)
        if stop == Plain.ODD:
            with contextlib.suppress(Damage):
                stop = scanner.value_end(buffer, at, end)
        if stop < 0 or (stop == end and buffer[at] in b"-0123456789"):
            if buffer[at : at + 1] in (b"[", b"{"):
                yield Child(name, at, end, False)
            return
        yield Child(name, at, stop)
        index += 1
        at = scanner.blanks_end(buffer, stop, end)
        if buffer[at : at + 1] != b",":
            return
        at = scanner.blanks_end(buffer, at + 1, end)


def items_in_place(buffer: Buffer, at: int, items: list[msgspec.Raw]) -> list[Child] | None:
    """Give the places of the items of the array at ``at``, from the items themselves; None when they are not its."""
    at = scanner.blanks_end(buffer, at + 1, len(buffer))
    found: list[Child] = []
    between = _BETWEEN.match
    for index, raw in enumerate(items):
        end = at + len(memoryview(raw))
        found.append(Child(index, at, end))
        gap = between(buffer, end)
        at = gap.end() if gap else end
    return found if buffer[at : at + 1] == b"]" else None


def _fields_in_place(buffer: Buffer, at: int, part: bytes | memoryview) -> list[Child] | None:
    """Give the fields of an object, or None when a key is repeated, which this cannot follow."""
    at = scanner.blanks_end(buffer, at + 1, len(buffer))
    found: list[Child] = []
    for key, raw in _FIELDS.decode(part).items():
        name = _NAME.match(buffer, at)
        if name is None:
            return None
        end = name.end() + len(memoryview(raw))
        found.append(Child(key, name.end(), end))
        gap = _BETWEEN.match(buffer, end)
        at = gap.end() if gap else end
    return found if buffer[at : at + 1] == b"}" else None


def _key(name: bytes) -> str:
    return values.loads_string(name)


def form_of(head: bytes, *, whole: bool) -> Form:
    """Tell from the beginning of a text how its values follow each other; a single value is ``json`` for now."""
    start = scanner.blanks_end(head, 0, len(head))
    if start >= len(head):
        return Form.TEXT
    newline = head.find(b"\n", start)
    if head[start] not in b'[{"-0123456789tfnNI':
        return Form.JSONL if newline >= 0 and _is_object(_first_line(head[newline + 1 :])) else Form.TEXT
    if newline >= 0 and _is_record(head[start:newline]):
        return Form.JSONL if not whole or head[newline:].strip() else Form.JSON
    try:
        end = plain_end(head, start, len(head))
        if end == Plain.CUT and head[start] in b"[{":
            return Form.JSON
        if end < 0:
            end = scanner.value_end(head, start, len(head))
    except Damage as damage:
        if damage.cut:
            return Form.JSON
        if any(_is_record(line) and line.lstrip()[:1] in b"[{" for line in head[start:].split(b"\n")[1:21]):
            return Form.JSONL
        return Form.JSON if head[start : start + 1] in (b"{", b"[") else Form.TEXT
    following = scanner.blanks_end(head, end, len(head))
    if following >= len(head):
        return Form.JSON
    if head[following] in b"[{" or newline >= 0:
        return Form.CONCATENATED
    return Form.CONCATENATED if head[start] in b"[{" else Form.TEXT


def _first_line(text: bytes) -> bytes:
    return text[: text.find(b"\n") + 1] or text


def _is_object(line: bytes) -> bool:
    """Say whether a line is a record that begins at its margin: a body inside YAML is set in."""
    return line[:1] == b"{" and _is_record(line)


def _is_record(line: bytes) -> bool:
    line = line.strip()
    if not line:
        return False
    try:
        return is_plain(line) or scanner.value_end(line, 0, len(line)) == len(line)
    except Damage:
        return False


def values_in(buffer: Buffer, start: int, end: int, notes: list[Note], *, goes_on: bool = False) -> Iterator[Found]:
    """Give the values that follow each other in a text that is JSON or JSON values, over however many lines.

    What is damaged is noted; a first value that is damaged or cut is given all the same, as not whole. Where the text
    ``goes_on`` behind its end, a cut there is no damage.
    """
    at = scanner.blanks_end(buffer, start, end)
    first = True
    while at < end:
        stop, damage = _end_of(buffer, at, end)
        if damage is None:
            yield Found(at, stop)
            at = scanner.blanks_end(buffer, stop, end)
            first = False
            continue
        container = buffer[at : at + 1] in (b"{", b"[")
        if goes_on and damage.cut:
            if first and container:
                yield Found(at, end, False)
            return
        notes.append(damage_note(buffer, start, damage, first=first))
        resume = _RECORD_START.search(buffer, max(at, min(damage.byte, end) - 1), end)
        if first and not resume and container:
            yield Found(at, end, False)
        if resume is None:
            return
        at, first = resume.start() + 1, False


def _end_of(buffer: Buffer, at: int, end: int) -> tuple[int, Damage | None]:
    """Give where a value ends, or the damage in it; in a big text that is cut, only that it is."""
    stop = plain_end(buffer, at, end)
    if stop >= 0:
        return stop, None
    if stop == Plain.CUT and end - at > _EXPLAINED:
        return at, Damage(end, "the text ends before its last bracket", cut=True)
    try:
        return scanner.value_end(buffer, at, end), None
    except Damage as damage:
        return at, damage


def damage_note(buffer: Buffer, start: int, damage: Damage, *, first: bool) -> Note:
    """Say where a text stops being JSON."""
    line = line_of(buffer, start, damage.byte)
    if damage.cut:
        return Note(f"cut at byte {damage.byte:,}: {damage.words}", line, damage.byte, True)
    where = f"damaged at byte {damage.byte:,} (line {line:,}): {damage.words}"
    return Note(where if first else f"{where}; left out up to the next value", line, damage.byte, True)


def line_of(buffer: Buffer, start: int, byte: int) -> int:
    """Count on which line a byte lies, from 1."""
    count, at = 1, start
    while at < byte:
        piece = buffer[at : min(at + _PIECE, byte)]
        count += piece.count(b"\n")
        at += len(piece) or 1
    return count


def values_of_line(line: bytes, at: int, number: int, *, last: bool, notes: list[Note]) -> list[Found]:
    """Give the values on one line that begins at byte ``at`` of its text; nearly always one.

    A damaged line is noted and left out, except for a whole record that is glued to its end.
    """
    if is_plain(line):
        begin = scanner.blanks_end(line, 0, len(line))
        return [Found(at + begin, at + len(line.rstrip(b" \t\r\n")), True, number)] if begin < len(line) else []
    found: list[Found] = []
    here = scanner.blanks_end(line, 0, len(line))
    while here < len(line):
        try:
            end = scanner.value_end(line, here, len(line))
        except Damage as damage:
            found = [each for each in found if line[each.start - at] in b"[{"]  # a scalar before damage is part of it
            glued = _glued(line, here)
            if damage.cut and last and glued is None:
                words = f"the last line is cut at byte {at + len(line):,}: {damage.words}"
            else:
                words = f"line {number:,} is damaged at byte {at + damage.byte:,}: {damage.words}"
            if glued is None:
                notes.append(Note(words, number, at + damage.byte, True))
                return found
            notes.append(Note(f"{words}; the record glued to it was kept", number, at + damage.byte, True))
            found.append(Found(at + glued, at + len(line.rstrip(b" \t\r\n")), True, number))
            return found
        found.append(Found(at + here, at + end, True, number))
        here = scanner.blanks_end(line, end, len(line))
    return found


def _glued(line: bytes, after: int) -> int | None:
    """Find the last whole record that a damaged line ends with: it begins with the same key as the line."""
    begin = _FIRST_KEY.match(line, after)
    if begin is None:
        return None
    places = [match.start() for match in re.finditer(re.escape(begin.group()), line) if match.start() > after]
    body = line.rstrip(b" \t\r\n")
    for place in places[-_MOST_TRIES:]:
        if is_plain(memoryview(body)[place:]):
            return place
    return None


def oddities(data: bytes) -> list[str]:
    """Name what in readable text is no JSON by the letter, or no UTF-8."""
    odd: list[str] = []
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            odd.append(f"bytes that are no UTF-8 (the first at byte {error.start:,} of its value)")
    if is_plain(data):
        return odd
    if re.search(rb'(?<!")\b(?:NaN|Infinity)\b', data):
        odd.append("NaN or an infinity, which JSON does not have")
    if re.search(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]", data):
        odd.append("half of a surrogate pair")
    if re.search(rb'"[^"\n]*[\x00-\x08\x0b\x0c\x0e-\x1f]', data):
        odd.append("raw control characters in a string")
    return odd
