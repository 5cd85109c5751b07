"""A recording's text as values that are found by their bytes and parsed one at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ParamSpec, TypeVar

from workbench.recordings import plain, scanner, spans, unpacking, values
from workbench.recordings.far_index import FarIndex, Gone
from workbench.recordings.model import Head, Note, RecordingError, Span, Unreadable
from workbench.recordings.spans import Child, Form, Found
from workbench.recordings.text_file import HEAD_BYTES, TextFile
from workbench.recordings.watch import READINGS, Watch

Asked = ParamSpec("Asked")
Told = TypeVar("Told")

NEAR_BYTES = 16 << 20
"""Values up to this size are read into memory to find their children; bigger ones are mapped by another process."""

PREVIEW_BYTES = 768 << 10
"""How much of a text is read for a first look."""

_HEAD_VALUES = 20
_LINES_AT_ONCE = 64 << 20
_MOST_NOTES = 200
_TELL_EVERY = 1 << 20
_TAIL = 4_096
_FIRST_LINE = 1 << 20
_KINDS = {
    **dict.fromkeys(b"-0123456789", "number"),
    **dict.fromkeys(b"NI", "literal"),
    0x7B: "object",
    0x5B: "array",
    0x22: "string",
    0x74: "true",
    0x66: "false",
    0x6E: "null",
}


class ByteNode:
    """A value of a document: ``Node`` of the model."""

    __slots__ = ("_document", "_found", "_span", "line", "whole")

    def __init__(self, document: FileDocument, span: Span, *, whole: bool = True, line: int | None = None) -> None:
        self._document = document
        self._span = span
        self._found: list[Child] | None = None
        self.whole = whole
        self.line = line

    @property
    def span(self) -> Span:
        """Where it is."""
        return self._span

    @property
    def kind(self) -> str:
        """What sort of value it is."""
        first = self._document.read(Span(self._span.start, self._span.start + 1))
        return _KINDS.get(first[0], "literal") if first else "literal"

    def children(self) -> Iterator[tuple[str | int, ByteNode]]:
        """Give the members of an object or the items of an array."""
        for child in self._children():
            yield child.name, ByteNode(self._document, Span(child.start, child.end), whole=child.whole)

    def get(self, *path: str | int) -> ByteNode | None:
        """Follow keys and indexes downwards."""
        node: ByteNode | None = self
        for name in path:
            node = node._child(name) if node is not None else None
        return node

    def value(self) -> object:
        """Parse it; what of it is damaged is left out."""
        data = self._document.read(self._span)
        if self.whole:
            try:
                return values.loads(data)
            except scanner.Damage:
                pass
        return values.parse_beginning(data, 0, len(data))[0]

    def _child(self, name: str | int) -> ByteNode | None:
        for child in reversed(self._children()):
            if child.name == name and type(child.name) is type(name):
                return ByteNode(self._document, Span(child.start, child.end), whole=child.whole)
        return None

    def _children(self) -> list[Child]:
        if self._found is None:
            self._found = self._document.children_of(self._span, whole=self.whole)
        return self._found


class FileDocument:
    """The text of one file: ``Document`` of the model.

    Attributes:
        limited: only the beginning of the text is read.
        span: where the text is in what is read.
        watch: hears of what is read, and ends it.
    """

    def __init__(self, path: str | os.PathLike[str], *, limit: int | None = None, watch: Watch | None = None) -> None:
        """Open a file, or only the first ``limit`` bytes of its text.

        Raises RecordingError, and whatever the watch raises when its caller gave up.
        """
        self.watch = watch
        self._told = self._at = 0
        self._file = TextFile(path, limit=limit, checkpoint=None if watch is None else watch.checkpoint)
        self.name = self._file.name
        self.file_size = self._file.file_size
        self.limited = self._file.limited
        if self.limited:
            start, end = self._file.span.start, self._file.span.end
            tail = self._file.read(Span(max(start, end - _TAIL), end))
            self._file.span = Span(start, end - len(tail) + _clean_end(tail))
        self.span = self._file.span
        self.size = self.span.size
        self._far = FarIndex(self._file.descriptor, self.span.end)
        self._notes: list[Note] = []
        self._walked = False
        try:
            self.head = self._read_head()
            self.form = self._read_form()
            if self.form == Form.TEXT:  # a line of it may look like a value, and is none
                self.head = replace(self.head, values=())
        except BaseException:
            self.close()
            raise

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is odd or damaged about the bytes, as far as the roots were walked."""
        return (*self._file.notes, *self._notes)

    def roots(self) -> Iterator[ByteNode]:
        """Give the values at the top."""
        notes: list[Note] = []
        seen = 0
        for found in self._found(notes):
            seen += 1
            yield ByteNode(self, Span(found.start, found.end), whole=found.whole, line=found.line)
        if self.form == Form.JSON and seen > 1:
            self.form = str(Form.CONCATENATED)
        if not self._walked:
            self._walked = True
            self._notes = _bounded(notes)

    def read(self, span: Span) -> bytes:
        """Give the bytes of a range."""
        self._tell(span.start)
        return self._file.read(span)

    @property
    def bytes_read(self) -> int:
        """How far into the text reading came last."""
        return self._at - self.span.start

    def _tell(self, at: int) -> None:
        """Let the watch know how far reading came, or that it still goes on."""
        self._at = at
        if self.watch is None:
            return
        if at - self._told < _TELL_EVERY:
            self.watch.checkpoint()
            return
        self._told = at
        self.watch.progress(at - self.span.start, READINGS * self.size)

    def children_of(self, span: Span, *, whole: bool = True) -> list[Child]:
        """Give the children of the value in a range, with their places in the text."""
        if span.size > NEAR_BYTES:
            return self._ask_far(self._far.children, span)
        found = spans.children(self.read(span), whole=whole)
        return [Child(child.name, child.start + span.start, child.end + span.start, child.whole) for child in found]

    def is_plain(self, span: Span) -> bool:
        """Say whether the value in a range is JSON by the letter."""
        if span.size > NEAR_BYTES:
            return self._ask_far(self._far.is_plain, span)
        return plain.is_plain(self.read(span))

    def _ask_far(self, question: Callable[Asked, Told], *asked: Asked.args, **named: Asked.kwargs) -> Told:
        """Ask the other process; giving up ends it, and a file that was changed is said so."""
        try:
            if self.watch is None:
                told = question(*asked, **named)
            else:
                with self.watch.watching(self._far):
                    told = question(*asked, **named)
        except Gone:
            if self.watch is not None:
                self.watch.checkpoint()
            raise self._file.changed() from None
        self._file.check_unchanged()
        return told

    def pieces(self) -> Iterator[bytes]:
        """Give the whole text a MiB at a time."""
        at = self.span.start
        for piece in self._file.pieces():
            self._tell(at)
            at += len(piece)
            yield piece

    def check_unchanged(self) -> None:
        """Raise RecordingError when the file was cut or written over since it was opened."""
        self._file.check_unchanged()

    def is_same_file(self, path: str | os.PathLike[str]) -> bool:
        """Say whether a path names the very file that is read, by whatever name."""
        try:
            found = os.stat(path)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == (self._file.stamp.device, self._file.stamp.inode)

    @property
    def text_size(self) -> int:
        """Bytes of the file, or of what was unpacked from it."""
        return self.size if self._file.is_unpacked else self.file_size

    def close(self) -> None:
        """Let go of the file."""
        self._far.close()
        self._file.close()

    def _read_form(self) -> str:
        """Tell how values follow each other; a first line that is longer than the head is looked at as a whole."""
        form = spans.form_of(self.head.text, whole=self.head.whole)
        if form != Form.JSON or self.head.whole or b"\n" in self.head.text:
            return str(form)
        beginning = self.read(Span(self.span.start, min(self.span.start + _FIRST_LINE, self.span.end)))
        return str(spans.form_of(beginning, whole=len(beginning) == self.size) if b"\n" in beginning else form)

    def _read_head(self) -> Head:
        text = self.read(Span(self.span.start, min(self.span.start + HEAD_BYTES, self.span.end)))
        whole = len(text) == self.size
        text = text if whole else text[: _clean_end(text)]
        return Head(os.path.basename(self.name), text, tuple(_values_of_head(text)), whole)

    def _found(self, notes: list[Note]) -> Iterator[Found]:
        if self.form == Form.TEXT:
            return
        if self.form == Form.JSONL:
            yield from self._found_by_line(notes)
        elif self.size > NEAR_BYTES:
            yield from self._ask_far(self._far.roots, self.span, notes)
        else:
            shift = self.span.start
            near: list[Note] = []
            for found in spans.values_in(self.read(self.span), 0, self.size, near, goes_on=self.limited):
                yield Found(found.start + shift, found.end + shift, found.whole)
            notes += [_shifted(note, shift) for note in near]

    def _found_by_line(self, notes: list[Note]) -> Iterator[Found]:
        at, end, number = self.span.start, self.span.end, 1
        if self.size <= NEAR_BYTES:
            lines = self.read(self.span).split(b"\n")
            for line in lines:
                last = number == len(lines)
                if not last or (line and not self.limited):
                    yield from spans.values_of_line(line, at, number, last=last, notes=notes)
                at, number = at + len(line) + 1, number + 1
            return
        while at < end:
            block = Span(at, min(at + _LINES_AT_ONCE, end))
            found, at, number = self._ask_far(self._far.lines, block, number, notes)
            yield from found
            self._tell(at)

    def values_of_line(
        self, span: Span, number: int, *, last: bool, notes: list[Note], line: bytes | None = None
    ) -> list[Found]:
        """Give the values on the line that a range is; ``line`` is its bytes where they are known.

        ``last`` says that the text ends with it.
        """
        if line is None and span.size > NEAR_BYTES:
            return self._ask_far(self._far.line, span, number, last, notes)
        known = self.read(span) if line is None else line
        return spans.values_of_line(known, span.start, number, last=last, notes=notes)

    def value_end(self, start: int, end: int) -> int:
        """Give where the value ends that begins at a place, however long it is. Raises Damage."""
        return self._ask_far(self._far.value_end, Span(start, end))


def _values_of_head(text: bytes) -> Iterator[object]:
    at = scanner.blanks_end(text, 0, len(text))
    for _ in range(_HEAD_VALUES):
        if at >= len(text):
            return
        end = plain.plain_end(text, at, len(text))
        if end >= 0:
            yield values.loads(text[at:end])
            at = scanner.blanks_end(text, end, len(text))
            continue
        value, damage = values.parse_beginning(text, at, len(text))
        if isinstance(value, dict | list) or damage is None:
            yield value
        newline = text.find(b"\n", at)
        if damage is None or damage.cut or newline < 0:
            return
        at = scanner.blanks_end(text, newline, len(text))


def _clean_end(text: bytes) -> int:
    """Give where to end a text that goes on: behind a comma. Half a number or escape would look like damage."""
    return text.rfind(b",", max(0, len(text) - _TAIL)) + 1 or len(text)


def _shifted(note: Note, by: int) -> Note:
    return note if not by or note.byte is None else Note(note.message, note.line, note.byte + by, note.left_out)


def _bounded(notes: list[Note]) -> list[Note]:
    """Keep the first notes of a file that is damaged all over, and count the rest."""
    if len(notes) <= _MOST_NOTES:
        return notes
    left_out = any(note.left_out for note in notes[_MOST_NOTES:])
    more = Note(f"{len(notes) - _MOST_NOTES:,} more places are damaged", left_out=left_out)
    return [*notes[:_MOST_NOTES], more]


def refuse(document: FileDocument) -> RecordingError:
    """Give the refusal for a text of which nothing can be read as JSON, and which no reader knows otherwise."""
    damage = next((note for note in document.notes if note.left_out), None)
    if document.form != Form.TEXT and damage is not None:
        problem = Unreadable.TRUNCATED if damage.message.startswith("cut") else Unreadable.DAMAGED
        return RecordingError(problem, f"{document.name} holds nothing that can be read: {damage.message}")
    packing = unpacking.recognise(document.head.text)
    if packing is not None:
        return RecordingError(
            Unreadable.NOT_READABLE_YET,
            f"{document.name} was packed more than once: what is unpacked from it is {packing} data; unpack it once "
            "yourself and give the result",
        )
    what = "text" if b"\0" not in document.head.text and document.head.text.isascii() else "data"
    return RecordingError(
        Unreadable.NOT_A_RECORDING,
        f"{document.name} holds {what} that is no JSON; give a recording as JSON, JSON Lines or a cassette in YAML",
    )
