"""JSON, or values one after another, in pieces: big containers are entered, everything else is taken whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Generic

from workbench.recordings import scanner
from workbench.recordings.document import FileDocument
from workbench.recordings.model import Note, RecordingError, Span, Unreadable
from workbench.recordings.piece import ENOUGH, Kind, Piece, Proof, Prove
from workbench.recordings.plain import Plain, plain_end
from workbench.recordings.scanner import Damage
from workbench.recordings.slim import Run
from workbench.recordings.window import BYTES, Window

_KEY = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t\n\r]*+:[ \t\n\r]*+', re.DOTALL)
_KEPT_WHOLE = re.compile(rb'(?:embeddings?|vectors?|embedding_dict)"|\\u00', re.I)
_RECORD_START = re.compile(rb"\n[{\[]")
_LONGEST_KEY = 64 << 20
_FARTHEST = 4 << 20
_LONG_VALUE = 8 << 20
_DEEPEST = 64
_MOST_MISSES = 3
_MOST_BRACES = 256


class _Expect(Enum):
    MEMBER = 1
    MEMBER_OR_END = 2
    AFTER_VALUE = 3


@dataclass(slots=True)
class _Frame:
    """A container that is entered since it is too big to be taken whole; the text itself closes with nothing.

    ``separator`` is what stood between two of its members, by which many can be taken at once; ``misses`` counts how
    often that went wrong.
    """

    closer: int | None
    separator: bytes = b""
    misses: int = 0

    @property
    def run(self) -> Run:
        """What its members are."""
        return Run.FIELDS if self.closer == 0x7D else Run.ITEMS


class Cutter(Generic[Proof]):
    """The values in a range of a document.

    Members of one container that follow each other are gathered from ``_begin`` to ``_end`` until they are enough for
    a piece; what lies between the pieces is glue. ``_at`` is where to go on.
    """

    def __init__(
        self, document: FileDocument, span: Span, notes: list[Note], prove: Prove[Proof], *, long_texts_apart: bool
    ) -> None:
        self._document = document
        self._notes = notes
        self._prove = prove
        self._long_texts_apart = long_texts_apart
        self._window = Window(document, span)
        self._frames = [_Frame(None)]
        self._values = 0
        self._at = span.start
        self._expect = _Expect.MEMBER_OR_END
        self._begin = self._end = -1

    def pieces(self) -> Iterator[Piece[Proof]]:
        """Give the pieces. Raises RecordingError for damage inside of a value."""
        window = self._window
        while True:
            at = self._at = window.skip(self._at)
            frame = self._frames[-1]
            first = window.byte(at)
            ends = frame.closer is None or first == frame.closer or at >= window.end
            if ends or self._end - self._begin >= ENOUGH:
                yield from self._gathered()
            if frame.closer is None and at >= window.end:
                break
            if self._expect is _Expect.AFTER_VALUE:
                self._go_on(frame, first)
            elif self._expect is _Expect.MEMBER_OR_END and first == frame.closer:
                self._leave()
            else:
                yield from self._many(frame) or self._one(frame)
        yield from self._glue(window.end)

    def _glue(self, until: int) -> Iterator[Piece[Proof]]:
        """Give what no piece has taken up to a place."""
        window = self._window
        while window.keep < until:
            part = window.slice(window.keep, min(window.keep + BYTES, until))
            window.keep += len(part)
            yield Piece(Kind.GLUE, part)

    def _gathered(self) -> Iterator[Piece[Proof]]:
        """Give the members that were gathered."""
        if self._begin < 0:
            return
        begin, self._begin = self._begin, -1
        yield from self._glue(begin)
        data = self._window.slice(begin, self._end)
        self._window.keep = self._end
        frame = self._frames[-1]
        if frame.closer is None:
            yield Piece(Kind.VALUE, data)
        else:
            yield Piece(Kind.MEMBERS, data.join(frame.run.around))

    def _go_on(self, frame: _Frame, first: int) -> None:
        """Go on behind a value. Raises RecordingError when neither a comma nor the end stands there."""
        if frame.closer is None:
            self._expect = _Expect.MEMBER
        elif first == 0x2C:
            if not frame.separator:
                frame.separator = self._separator(frame)
            self._at += 1
            self._expect = _Expect.MEMBER
        elif first == frame.closer:
            self._leave()
        else:
            raise self._refusal(_missing(self._at, self._window.end))

    def _leave(self) -> None:
        self._frames.pop()
        self._at = self._end = self._at + 1
        self._expect = _Expect.AFTER_VALUE

    def _separator(self, frame: _Frame) -> bytes:
        """Learn what stands between two members and begins the second one."""
        window = self._window
        following = window.skip(window.skip(self._end) + 1)
        if frame.closer != 0x5D or window.byte(following) not in b"{[":
            return window.slice(self._end, following)
        return window.slice(self._end, min(following + 8, window.end))

    def _many(self, frame: _Frame) -> tuple[Piece[Proof], ...]:
        """Take as many members at once as prove to be members; none when they do not."""
        if frame.closer is None or not frame.separator or frame.misses > _MOST_MISSES:
            return ()
        window, reach = self._window, ENOUGH
        here = window.need(self._at, reach)
        last = _last(window.data, frame.separator, here, here + reach)
        while last <= here and reach < _FARTHEST and not window.reaches_end:
            reach *= 4
            here = window.need(self._at, reach)
            last = _last(window.data, frame.separator, here, here + reach)
        if last <= here:
            return ()
        proven = self._prove(window.data, here, last, frame.run)
        if proven is None:
            frame.misses += 1
            return ()
        before = (*self._gathered(), *self._glue(self._at))
        self._at = self._end = window.keep = self._at + last - here
        self._expect = _Expect.AFTER_VALUE
        return (*before, Piece(Kind.PROVEN, b"", proven))

    def _one(self, frame: _Frame) -> Iterator[Piece[Proof]]:
        """Take the next member, enter it when it is big, or leave it out when it is damaged and stands for itself."""
        at, window = self._at, self._window
        try:
            value = self._value_start(frame, at)
            stop = self._value_end(at, value)
        except Damage as damage:
            yield from self._gathered()
            yield from self._glue(at)
            self._at = window.keep = self._after_damage(damage, at)
            self._expect = _Expect.MEMBER
            return
        self._expect = _Expect.AFTER_VALUE
        if stop is None:
            yield from self._gathered()
            self._frames.append(_Frame(0x5D if window.byte(value) == 0x5B else 0x7D))
            self._at, self._expect = value + 1, _Expect.MEMBER_OR_END
        elif stop - value > _LONG_VALUE and self._long_texts_apart and window.byte(value) == 0x22:
            yield from self._gathered()
            yield from self._glue(stop)
            self._at = self._end = stop
        else:
            self._begin = at if self._begin < 0 else self._begin
            self._at = self._end = stop
        self._values += frame.closer is None

    def _value_start(self, frame: _Frame, at: int) -> int:
        """Give where the value of a member begins: behind its key in an object. Raises Damage."""
        if frame.closer != 0x7D:
            return at
        window = self._window
        size = BYTES
        while True:
            here = window.need(at, size)
            found = _KEY.match(window.data, here)
            if found and found.end() < len(window.data):
                return window.base + found.end()
            if window.reaches_end or len(window.data) - here > _LONGEST_KEY or window.data[here] != 0x22:
                text = b"{" + window.data[here : here + size]
                try:
                    scanner.value_end(text, 0, len(text))
                except Damage as damage:
                    raise Damage(at + damage.byte - 1, damage.words, cut=damage.cut) from None
                raise Damage(at, "a key is missing there")
            size *= 2

    def _value_end(self, at: int, value: int) -> int | None:
        """Give where a value ends; None when it is a container to be entered. Raises Damage."""
        window = self._window
        here = window.need(at, value - at + 1)
        key = window.data[here : here + value - at]
        enter = len(self._frames) < _DEEPEST and not _KEPT_WHOLE.search(key) and window.byte(value) in (0x5B, 0x7B)
        size = BYTES
        while size <= _LONG_VALUE:
            here = window.need(value, size)
            end = self._end_in_window(here)
            if end is not None:
                return window.base + end
            if enter:
                return None
            size *= 2
        return self._document.value_end(value, window.end)

    def _end_in_window(self, here: int) -> int | None:
        """Give where the value at a place of the window ends; None when it goes on behind it. Raises Damage."""
        window = self._window
        data, whole = window.data, window.reaches_end
        end = plain_end(data, here, len(data))
        if end == Plain.CUT and not whole:
            return None
        if end < 0:
            try:
                end = scanner.value_end(data, here, len(data))
            except Damage as damage:
                if damage.cut and not whole:
                    return None
                raise Damage(damage.byte + window.base, damage.words, cut=damage.cut) from None
        # A number that ends with the window may go on behind it.
        return end if whole or end < len(data) else None

    def _after_damage(self, damage: Damage, at: int) -> int:
        """Of values one after another leave out the damaged one; refuse any other damage."""
        if len(self._frames) > 1 or not self._values:
            raise self._refusal(damage)
        resume = self._next_record(max(at, min(damage.byte, self._window.end) - 1))
        where = f"{'cut' if damage.cut else 'damaged'} at byte {damage.byte:,}: {damage.words}"
        more = "" if resume is None else "; left out up to the next value"
        self._notes.append(Note(where + more, None, damage.byte, True))
        return self._window.end if resume is None else resume

    def _refusal(self, damage: Damage) -> RecordingError:
        return RecordingError(
            Unreadable.TRUNCATED if damage.cut else Unreadable.DAMAGED,
            f"{self._document.name} is {'cut' if damage.cut else 'damaged'} at byte {damage.byte:,}: {damage.words}; "
            "no copy of it is written. Record it again, or look at what is left of it with workbench show",
        )

    def _next_record(self, at: int) -> int | None:
        window = self._window
        while at < window.end:
            here = window.need(at, BYTES)
            found = _RECORD_START.search(window.data, here)
            if found:
                return window.base + found.start() + 1
            if window.reaches_end:
                return None
            at = window.keep = window.base + len(window.data) - 1
        return None


def _missing(at: int, end: int) -> Damage:
    if at >= end:
        return Damage(end, "the text ends before its last bracket", cut=True)
    return Damage(at, "a comma or a closing bracket is missing there")


def _last(data: bytes, separator: bytes, start: int, end: int) -> int:
    """Give where a separator stands last in a range, -1 when it does not.

    A single byte is found backwards at the speed of memory, several of them are not.
    """
    ahead = separator.find(b"{")
    at = min(end, len(data)) if ahead >= 0 else start
    for _ in range(_MOST_BRACES):
        at = data.rfind(b"{", start, at)
        if at < 0:
            break
        if data.startswith(separator, at - ahead, end) and at - ahead >= start:
            return at - ahead
    return data.rfind(separator, start, end)
