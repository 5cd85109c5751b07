"""JSON Lines in pieces: whole lines together where they are plain, else each by itself, a huge one from within."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from workbench.recordings.cutting import Cutter
from workbench.recordings.document import FileDocument
from workbench.recordings.model import Note, Span
from workbench.recordings.piece import ENOUGH, Kind, Piece, Proof, Prove
from workbench.recordings.slim import Run

_BLOCK = 1 << 20
_LONG_LINE = 4 << 20


class Lines(Generic[Proof]):
    """The lines of a document."""

    def __init__(
        self,
        document: FileDocument,
        notes: list[Note],
        prove: Prove[Proof],
        *,
        together: bool,
        long_texts_apart: bool,
    ) -> None:
        self._document = document
        self._notes = notes
        self._prove = prove
        self._together = together
        self._long_texts_apart = long_texts_apart
        self._at = document.span.start  # where the line begins that comes next
        self._counted_to, self._counted = self._at, 0

    def pieces(self) -> Iterator[Piece[Proof]]:
        """Give the lines."""
        end = self._document.span.end
        rest = b""
        while (at := self._at + len(rest)) < end:
            block = self._document.read(Span(at, min(at + _BLOCK, end)))
            lines = rest + block if rest else block
            begin = 0
            while len(lines) - begin > ENOUGH:
                cut = lines.rfind(b"\n", begin, begin + ENOUGH)
                if cut < 0:
                    cut = lines.find(b"\n", begin + ENOUGH)
                if cut < 0:
                    break
                yield from self._group(lines, begin, cut)
                begin = cut + 1
            rest = lines[begin:]
            if len(rest) > _LONG_LINE:  # more than enough, and no line feed in it
                yield from self._long_line(len(rest))
                rest = b""
        feed = rest.rfind(b"\n")
        if feed >= 0:
            yield from self._group(rest, 0, feed)
        if feed + 1 < len(rest):
            yield from self._line(rest[feed + 1 :], last=True)

    def _group(self, lines: bytes, start: int, end: int) -> Iterator[Piece[Proof]]:
        """Give the whole lines in a range, the last line feed not among them."""
        proven = self._prove(lines, start, end, Run.LINES) if self._together else None
        if proven is not None:
            self._at += end - start + 1
            yield Piece(Kind.PROVEN, b"", proven)
            yield Piece(Kind.GLUE, b"\n")
            return
        for line in lines[start:end].split(b"\n"):
            yield from self._line(line, last=False)

    def _line(self, line: bytes, *, last: bool) -> Iterator[Piece[Proof]]:
        if not line.strip():
            self._at += len(line) + 1
            yield Piece(Kind.GLUE, line + (b"" if last else b"\n"))
            return
        yield from self._values(line, Span(self._at, self._at + len(line)), last=last)

    def _long_line(self, known: int) -> Iterator[Piece[Proof]]:
        """Give a line of which so many bytes are known to hold no line feed; it is never in memory as a whole."""
        document = self._document
        at, end = self._at + known, document.span.end
        while at < end:
            block = document.read(Span(at, min(at + _BLOCK, end)))
            feed = block.find(b"\n")
            if feed >= 0:
                yield from self._values(None, Span(self._at, at + feed), last=False)
                return
            at += len(block)
        yield from self._values(None, Span(self._at, end), last=True)

    def _values(self, line: bytes | None, span: Span, *, last: bool) -> Iterator[Piece[Proof]]:
        """Give the values of a line; ``line`` is its bytes unless it is too long for that."""
        document = self._document
        found = document.values_of_line(span, self._number(), last=last, notes=self._notes, line=line)
        self._at = span.end + 1
        for index, each in enumerate(found):
            # What stands between the values of one line is kept; what is damaged is not.
            until = found[index + 1].start if index + 1 < len(found) else each.end
            if line is not None:
                yield Piece(Kind.VALUE, line[each.start - span.start : each.end - span.start])
                yield Piece(Kind.GLUE, line[each.end - span.start : until - span.start])
            else:
                value = Span(each.start, each.end)
                yield from Cutter(
                    document, value, self._notes, self._prove, long_texts_apart=self._long_texts_apart
                ).pieces()
                yield Piece(Kind.GLUE, document.read(Span(each.end, until)))
        if found:
            returned = (line[-1:] if line is not None else document.read(Span(span.end - 1, span.end))) == b"\r"
            yield Piece(Kind.GLUE, (b"\r" if returned else b"") + (b"" if last else b"\n"))

    def _number(self) -> int:
        """Count, from where that was done last, on which line it is. Nobody asks while every line is plain."""
        while self._counted_to < self._at:
            part = self._document.read(Span(self._counted_to, min(self._counted_to + _BLOCK, self._at)))
            self._counted += part.count(b"\n")
            self._counted_to += len(part)
        return self._counted + 1
