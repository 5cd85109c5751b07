"""The answers of the process that maps a big text: every offset in it, found at the cost of reading it."""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Callable, Iterator
from itertools import accumulate
from operator import itemgetter
from typing import IO

import msgspec

from workbench.recordings.far_index import Answer, Request
from workbench.recordings.model import Note
from workbench.recordings.plain import PLAIN_FAILURES, Plain, is_plain_range, plain_end
from workbench.recordings.scanner import KEY, Damage, blanks_end, value_end
from workbench.recordings.spans import Child, children_of_range, items_in_place, values_in, values_of_line
from workbench.recordings.values import loads_string

_LONG_LISTS = ("events", "spans", "steps", "records", "resourceSpans", "observations", "interactions", "data")
_LISTS = msgspec.json.Decoder(
    msgspec.defstruct("Lists", [(name, list[msgspec.Raw] | msgspec.UnsetType, msgspec.UNSET) for name in _LONG_LISTS])
)
_LINES: msgspec.json.Decoder[msgspec.Raw] = msgspec.json.Decoder(msgspec.Raw)
_TOGETHER = 1 << 20
_FEWEST = 2


class Answers:
    """Answers about one text; what is asked next is kept when it was found on the way."""

    def __init__(self, text: mmap.mmap) -> None:
        self._text = text
        self._known: dict[int, list[Child]] = {}
        self._ways: dict[str, Callable[[Request, Answer, _Columns], None]] = {
            "roots": self._roots,
            "lines": self._lines,
            "line": self._line,
            "children": self._children,
            "plain": self._plain,
            "end": self._end,
        }

    def to(self, request: Request) -> Iterator[bytes]:
        """Answer one request."""
        answer, columns = Answer(0), _Columns()
        self._ways[request.what](request, answer, columns)
        answer.count = len(columns.starts)
        answer.numbered = bool(columns.numbers)
        yield msgspec.json.encode(answer) + b"\n"
        yield columns.starts.tobytes()
        yield columns.ends.tobytes()
        yield columns.numbers.tobytes()

    def _roots(self, request: Request, answer: Answer, columns: _Columns) -> None:
        whole = self._one_value(request)
        if whole is not None:
            columns.add(*whole)
            return
        notes: list[Note] = []
        for index, found in enumerate(values_in(self._text, request.start, request.end, notes)):
            columns.add(found.start, found.end)
            if not found.whole:
                answer.cut.append(index)
        answer.notes = _plainly(notes)

    def _one_value(self, request: Request) -> tuple[int, int] | None:
        """Take a text that is one object by the letter in one pass, which finds the items of its long lists too.

        Those and its own children are asked for next. None when it is anything else.
        """
        text = self._text
        start = blanks_end(text, request.start, request.end)
        try:
            # Not released by hand: the items below are views of it.
            lists = _LISTS.decode(memoryview(text)[start : request.end])
        except PLAIN_FAILURES:
            return None
        members: list[Child] = []
        at = blanks_end(text, start + 1, request.end)
        while text[at] == 0x22:
            key = KEY.match(text, at, request.end)
            if key is None:
                return None
            name, begin = loads_string(key.group(1)), blanks_end(text, key.end(), request.end)
            items = getattr(lists, name, None) if name in _LONG_LISTS else None
            found = items_in_place(text, begin, items) if isinstance(items, list) and items else None
            if found:
                self._known[begin] = found
                end = blanks_end(text, found[-1].end, request.end) + 1
            else:
                end = plain_end(text, begin, request.end)
            if end < 0:
                return None
            members.append(Child(name, begin, end))
            at = blanks_end(text, end, request.end)
            if text[at] == 0x7D:
                self._known[start] = members
                return start, at + 1
            at = blanks_end(text, at + 1, request.end)
        return None

    def _lines(self, request: Request, answer: Answer, columns: _Columns) -> None:
        """Find the values of the lines that begin in a range; the last of them may end far behind it."""
        text, size = self._text, len(self._text)
        at, number = request.start, request.number
        notes: list[Note] = []
        while at < request.end:
            feed = text.find(b"\n", min(at + _TOGETHER, request.end - 1))
            stop = size if feed < 0 else feed
            many = self._whole_lines(at, stop, columns)
            if many:
                columns.numbers.extend(range(number, number + many))
                number += many
            else:
                number = self._line_by_line(at, stop, number, feed < 0, columns, notes)
            at = stop + 1
        answer.resume = (min(at, size), number)
        answer.notes = _plainly(notes)

    def _whole_lines(self, start: int, stop: int, columns: _Columns) -> int:
        """Take lines that are a value each and nothing but that; give how many, and take none when one is not."""
        with memoryview(self._text) as view, view[start:stop] as part:
            sizes = _sizes(part)
            if len(sizes) < _FEWEST:
                return 0
            ends = list(accumulate(sizes, lambda end, size: end + 1 + size))
            feeds = ends[:-1]
            if ends[-1] != stop - start or not _all_feeds(itemgetter(*feeds)(part)):
                return 0
        columns.starts.append(start)
        columns.starts.extend([start + feed + 1 for feed in feeds])
        columns.ends.extend([start + end for end in ends])
        return len(ends)

    def _line_by_line(
        self, start: int, stop: int, number: int, last: bool, columns: _Columns, notes: list[Note]
    ) -> int:
        """Look at each line by itself; give the number of the line that follows."""
        at = start
        while at <= stop:
            feed = self._text.find(b"\n", at, stop)
            end = stop if feed < 0 else feed
            ends_text = last and feed < 0
            if end > at or not ends_text:
                self._line_alone(at, end, number, ends_text, columns, notes)
            number += 1
            at = end + 1
        return number

    def _line(self, request: Request, answer: Answer, columns: _Columns) -> None:
        notes: list[Note] = []
        self._line_alone(request.start, request.end, request.number, request.last, columns, notes)
        answer.notes = _plainly(notes)

    def _line_alone(self, start: int, end: int, number: int, last: bool, columns: _Columns, notes: list[Note]) -> None:
        """Find the values on one line, which is not copied when it is plain: it may be the whole text."""
        begin = blanks_end(self._text, start, end)
        stop = plain_end(self._text, begin, end)
        if stop >= 0 and blanks_end(self._text, stop, end) == end:
            columns.add(begin, stop, number)
            return
        for found in values_of_line(self._text[start:end], start, number, last=last, notes=notes):
            columns.add(found.start, found.end, found.line)

    def _children(self, request: Request, answer: Answer, columns: _Columns) -> None:
        listed = self._known.pop(request.start, None) or children_of_range(self._text, request.start, request.end)
        for index, child in enumerate(listed):
            columns.add(child.start, child.end)
            if isinstance(child.name, str):
                answer.names.append(child.name.encode("utf-8", "replace").decode())
            if not child.whole:
                answer.cut.append(index)

    def _plain(self, request: Request, answer: Answer, _columns: _Columns) -> None:
        answer.plain = is_plain_range(self._text, request.start, request.end)

    def _end(self, request: Request, answer: Answer, columns: _Columns) -> None:
        try:
            end = plain_end(self._text, request.start, request.end)
            if end == Plain.CUT:
                raise Damage(request.end, "the text ends before its last bracket", cut=True)
            columns.add(request.start, end if end >= 0 else value_end(self._text, request.start, request.end))
        except Damage as damage:
            answer.damage = (damage.byte, damage.words, damage.cut)


class _Columns:
    """Starts, ends and lines as they are sent."""

    __slots__ = ("ends", "numbers", "starts")

    def __init__(self) -> None:
        self.starts = array("Q")
        self.ends = array("Q")
        self.numbers = array("Q")

    def add(self, start: int, end: int, number: int | None = None) -> None:
        self.starts.append(start)
        self.ends.append(end)
        if number is not None:
            self.numbers.append(number)


def _sizes(lines: memoryview) -> list[int]:
    """Give the size of each value; none when they are not JSON by the letter. They are views, gone when this is."""
    try:
        return [len(memoryview(each)) for each in _LINES.decode_lines(lines)]
    except PLAIN_FAILURES:
        return []


def _all_feeds(bytes_between: int | tuple[int, ...]) -> bool:
    return {0x0A} == (set(bytes_between) if isinstance(bytes_between, tuple) else {bytes_between})


def _plainly(notes: list[Note]) -> list[tuple[str, int | None, int | None, bool]]:
    return [(note.message, note.line, note.byte, note.left_out) for note in notes]


def serve(descriptor: int, end: int, requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests about a text until there are no more."""
    with mmap.mmap(descriptor, end, access=mmap.ACCESS_READ) as text:
        about = Answers(text)
        for line in requests:
            for part in about.to(msgspec.json.decode(line, type=Request)):
                answers.write(part)
            answers.flush()
