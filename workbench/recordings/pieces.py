"""A text of any size in pieces that are JSON each, proven as they are cut, with one of them in memory at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from workbench.recordings import scanner, spans
from workbench.recordings.document import FileDocument
from workbench.recordings.model import Note, RecordingError, Span, Unreadable
from workbench.recordings.plain import Plain, plain_end
from workbench.recordings.scanner import Damage
from workbench.recordings.spans import Form

Proof = TypeVar("Proof")

_WINDOW = 1 << 20
_ENOUGH = 256 << 10
_KEY = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t\n\r]*+:[ \t\n\r]*+', re.DOTALL)
_KEPT_WHOLE = re.compile(rb'(?:embeddings?|vectors?|embedding_dict)"|\\u00', re.I)
_RECORD_START = re.compile(rb"\n[{\[]")
_LONGEST_KEY = 64 << 20
_DEEPEST = 64
_MOST_MISSES = 3


class Kind(Enum):
    """How the JSON of a piece stands in the text."""

    GLUE = "glue"
    """No value: blanks, commas, brackets and keys between pieces, to be kept."""
    VALUE = "value"
    """One value as it stands."""
    MEMBERS = "members"
    """Members of an object or array; the brackets around them are not in the text."""
    LINES = "lines"
    """Lines as they stand; the proof is of them in brackets, with commas for line feeds."""


@dataclass(frozen=True, slots=True)
class Piece(Generic[Proof]):
    """A part of a text.

    Attributes:
        kind: how it stands in the text.
        data: one JSON value, lines of them, or glue.
        proof: what the caller made of it while proving that it is JSON; None when it was proven otherwise.
    """

    kind: Kind
    data: bytes
    proof: Proof | None = None


def pieces_of(
    document: FileDocument,
    notes: list[Note],
    prove: Callable[[bytes], tuple[Proof, int] | None],
    *,
    lines_together: bool = True,
) -> Iterator[Piece[Proof]]:
    """Cut the text of a document; the pieces in their order, without what was added around them, are the text.

    Of JSON Lines and values one after another, damaged ones are left out and noted. Raises RecordingError when the
    text is no JSON, which may be found out only after some pieces.

    Args:
        document: what to cut.
        notes: gets what is damaged.
        prove: is asked about guesses. Gives what the caller makes of a value, and how many items it has when it is a
            list; None when it is no JSON by the letter.
        lines_together: whether many lines may be one piece, or each must be one.
    """
    if document.form == Form.TEXT:
        raise RecordingError(
            Unreadable.NOT_A_RECORDING,
            f"{document.name} is neither JSON nor JSON Lines, and only those are summarised; export it as one of them",
        )
    if document.form == Form.JSONL:
        return _Lines(document, notes, prove, together=lines_together).pieces()
    return _Cutter(document, notes, prove).pieces()


class _Lines(Generic[Proof]):
    """JSON Lines: whole lines together where they are plain, else each by itself."""

    def __init__(
        self,
        document: FileDocument,
        notes: list[Note],
        prove: Callable[[bytes], tuple[Proof, int] | None],
        *,
        together: bool,
    ) -> None:
        self._document = document
        self._notes = notes
        self._prove = prove
        self._together = together
        self._number = 0
        self._at = document.span.start

    def pieces(self) -> Iterator[Piece[Proof]]:
        rest: list[bytes] = []
        for block in self._document.pieces():
            cut = block.rfind(b"\n") + 1
            if not cut:
                rest.append(block)
                continue
            yield from self._block(b"".join((*rest, block[: cut - 1])))
            rest = [block[cut:]] if cut < len(block) else []
        if rest:
            yield from self._line(b"".join(rest), last=True)
        self._document.check_unchanged()

    def _block(self, block: bytes) -> Iterator[Piece[Proof]]:
        """Give whole lines, the last line feed not among them."""
        begin = 0
        while begin <= len(block):
            cut = block.rfind(b"\n", begin, begin + _ENOUGH) if len(block) - begin > _ENOUGH else len(block)
            if cut < 0:
                cut = block.find(b"\n", begin)
                cut = len(block) if cut < 0 else cut
            yield from self._group(block[begin:cut])
            begin = cut + 1

    def _group(self, lines: bytes) -> Iterator[Piece[Proof]]:
        count = lines.count(b"\n") + 1
        proven = self._prove(lines.replace(b"\n", b",").join((b"[", b"]"))) if self._together else None
        if proven is not None and proven[1] == count:
            self._number += count
            self._at += len(lines) + 1
            yield Piece(Kind.LINES, lines, proven[0])
            yield Piece(Kind.GLUE, b"\n")
            return
        for line in lines.split(b"\n"):
            yield from self._line(line, last=False)

    def _line(self, line: bytes, *, last: bool) -> Iterator[Piece[Proof]]:
        at = self._at
        self._number += 1
        self._at += len(line) + 1
        feed = b"" if last else b"\n"
        if not line.strip():
            yield Piece(Kind.GLUE, line + feed)
            return
        found = spans.values_of_line(line, at, self._number, last=last, notes=self._notes)
        for index, each in enumerate(found):
            # What stands between the values of one line is kept; what is damaged is not.
            until = found[index + 1].start if index + 1 < len(found) else each.end
            yield Piece(Kind.VALUE, line[each.start - at : each.end - at])
            yield Piece(Kind.GLUE, line[each.end - at : until - at])
        if found:
            yield Piece(Kind.GLUE, (b"\r" if line.endswith(b"\r") else b"") + feed)


class _Window:
    """A moving part of the text in memory."""

    def __init__(self, document: FileDocument) -> None:
        self._document = document
        self.end = document.span.end
        self.base = document.span.start
        self.keep = self.base
        self.data = b""

    @property
    def reaches_end(self) -> bool:
        """Whether the last byte of the text is in memory."""
        return self.base + len(self.data) >= self.end

    def need(self, at: int, size: int) -> int:
        """Have ``size`` bytes from ``at`` on in memory, as far as the text goes; give the place of ``at`` in ``data``.

        What lies before ``keep`` may be forgotten.
        """
        until = min(at + size, self.end)
        have = self.base + len(self.data)
        if until > have:
            more = self._document.read(Span(have, min(max(until, have + _WINDOW), self.end)))
            self.data = self.data[self.keep - self.base :] + more
            self.base = self.keep
        return at - self.base

    def byte(self, at: int) -> int:
        """Give a byte; -1 at the end of the text."""
        return self.data[self.need(at, 1)] if at < self.end else -1

    def slice(self, start: int, end: int) -> bytes:
        """Give a range."""
        here = self.need(start, end - start)
        return self.data[here : here + end - start]

    def skip(self, at: int) -> int:
        """Give the place of the first byte from ``at`` on that is no blank."""
        while at < self.end:
            here = self.need(at, 1)
            at = scanner.blanks_end(self.data, here, len(self.data)) + self.base
            if at < self.base + len(self.data):
                return at
        return self.end


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


@dataclass(frozen=True, slots=True)
class _Group(Generic[Proof]):
    """Members that follow each other: where they begin and end, how their container closes, and where to go on."""

    begin: int
    end: int
    closer: int | None
    resume: int
    proof: Proof | None = None


def _around(closer: int) -> tuple[bytes, bytes]:
    return (b"[", b"]") if closer == 0x5D else (b"{", b"}")


class _Cutter(Generic[Proof]):
    """JSON, or values one after another: big containers are entered, everything else is taken whole."""

    def __init__(
        self, document: FileDocument, notes: list[Note], prove: Callable[[bytes], tuple[Proof, int] | None]
    ) -> None:
        self._document = document
        self._notes = notes
        self._prove = prove
        self._window = _Window(document)
        self._frames = [_Frame(None)]
        self._members_of_text = 0

    def pieces(self) -> Iterator[Piece[Proof]]:
        window = self._window
        for group in self._groups():
            if group.begin > window.keep:
                yield Piece(Kind.GLUE, window.slice(window.keep, group.begin))
            if group.end > group.begin:
                data = window.slice(group.begin, group.end)
                if group.closer is None:
                    yield Piece(Kind.VALUE, data)
                elif group.proof is not None:
                    yield Piece(Kind.MEMBERS, b"", group.proof)
                else:
                    yield Piece(Kind.MEMBERS, data.join(_around(group.closer)))
            window.keep = group.resume
        if window.keep < window.end:
            yield Piece(Kind.GLUE, window.slice(window.keep, window.end))
        self._document.check_unchanged()

    def _groups(self) -> Iterator[_Group[Proof]]:
        window = self._window
        at, expect = window.base, _Expect.MEMBER_OR_END
        begin = end = -1
        while True:
            at = window.skip(at)
            frame = self._frames[-1]
            closer = frame.closer
            first = window.byte(at)
            if begin >= 0 and (closer is None or first == closer or at >= window.end or end - begin >= _ENOUGH):
                yield _Group(begin, end, closer, end)
                begin = -1
            if closer is None and at >= window.end:
                return
            if expect is _Expect.AFTER_VALUE:
                if closer is None or first == 0x2C:
                    if closer is not None and not frame.separator:
                        frame.separator = self._separator(end, closer)
                    at, expect = (at if closer is None else at + 1), _Expect.MEMBER
                elif first == closer:
                    self._frames.pop()
                    at += 1
                else:
                    raise self._refusal(_missing(at, window.end))
                continue
            if expect is _Expect.MEMBER_OR_END and first == closer:
                self._frames.pop()
                at, expect = at + 1, _Expect.AFTER_VALUE
                continue
            many = self._many(frame, at)
            if many is not None:
                if begin >= 0:
                    yield _Group(begin, end, closer, end)
                    begin = -1
                yield many
                at = end = many.end
                expect = _Expect.AFTER_VALUE
                continue
            try:
                value = self._value_start(closer, at)
                stop = self._value_end(at, value)
            except Damage as damage:
                resume = self._after_damage(damage, at)
                yield _Group(at, at, None, resume)
                at, expect = resume, _Expect.MEMBER
                continue
            if stop is None:
                if begin >= 0:
                    yield _Group(begin, end, closer, end)
                    begin = -1
                self._frames.append(_Frame(0x5D if window.byte(value) == 0x5B else 0x7D))
                at, expect = value + 1, _Expect.MEMBER_OR_END
                continue
            begin = at if begin < 0 else begin
            at = end = stop
            expect = _Expect.AFTER_VALUE
            self._members_of_text += closer is None

    def _separator(self, end: int, closer: int | None) -> bytes:
        """Learn what stands between two members and begins the second one."""
        window = self._window
        following = window.skip(window.skip(end) + 1)
        if closer != 0x5D or window.byte(following) not in b"{[":
            return window.slice(end, following)
        return window.slice(end, min(following + 8, window.end))

    def _many(self, frame: _Frame, at: int) -> _Group[Proof] | None:
        """Take as many members at once as prove to be members."""
        window, closer = self._window, frame.closer
        if closer is None or not frame.separator or frame.misses > _MOST_MISSES:
            return None
        here = window.need(at, _ENOUGH)
        last = window.data.rfind(frame.separator, here, here + _ENOUGH)
        if last <= here:
            return None
        proven = self._prove(window.data[here:last].join(_around(closer)))
        if proven is None:
            frame.misses += 1
            return None
        stop = window.base + last
        return _Group(at, stop, closer, stop, proven[0])

    def _value_start(self, closer: int | None, at: int) -> int:
        """Give where the value of a member begins: behind its key in an object."""
        if closer != 0x7D:
            return at
        window = self._window
        size = _WINDOW
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
        size = _WINDOW
        while True:
            here = window.need(value, size)
            end = self._end_in_window(here)
            if end is not None:
                return window.base + end
            if enter:
                return None
            size *= 2

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
        if len(self._frames) > 1 or not self._members_of_text:
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
            here = window.need(at, _WINDOW)
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
