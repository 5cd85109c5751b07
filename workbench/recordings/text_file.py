"""The text of a recording's file, read by range: decompressed and turned into UTF-8 where it is not, never mapped."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workbench.recordings import unpacking
from workbench.recordings.model import Note, RecordingError, Span, Unreadable

HEAD_BYTES = 65_536
"""How much of a text tells its format."""

_PIECE = 1 << 20
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_UTF16_BOMS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_NAMED_BY_MAGIC = (
    (b"SQLite format 3\0", "a SQLite file, which is an index and not a recording: give it to workbench check"),
    (b"PAR1", "a Parquet file, and no recording is read from those yet: export it as JSON"),
    (b"PK\x03\x04", "a zip archive, and no recording is read from those yet: unpack it and give what is inside"),
    (b"\x89PNG", "a picture, whatever its name says"),
    (b"\xff\xd8\xff", "a picture, whatever its name says"),
    (b"GIF8", "a picture, whatever its name says"),
    (b"%PDF", "a PDF document"),
    (b"\x93NUMPY", "a numpy array"),
    (b"ARROW1", "Arrow data"),
    (b"\x7fELF", "a program"),
    (b"BZh", "bzip2 data: unpack it and give what is inside"),
    (b"\xfd7zXZ", "xz data: unpack it and give what is inside"),
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells that a file is still the one that was opened."""

    device: int
    inode: int
    size: int
    modified_ns: int

    @staticmethod
    def of(found: os.stat_result) -> Stamp:
        """Take it from a stat."""
        return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


class TextFile:
    """An open recording as text: ``read`` gives any range of it.

    Attributes:
        name: the path as given.
        span: where the text is in what is read (behind a byte order mark, before padding at the end).
        file_size: bytes of the file itself.
        stamp: the file's identity, size and time of change when it was opened.
        notes: what was odd about the bytes so far.
        limited: the text goes on behind ``span``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        limit: int | None = None,
        checkpoint: Callable[[], object] | None = None,
    ) -> None:
        """Open a file, or the first ``limit`` bytes of its text; ``checkpoint`` is called while it is unpacked.

        Raises RecordingError: one sentence that says what the path is instead.
        """
        self.name = os.fsdecode(os.fspath(path))
        self.limited = False
        self._limit = limit
        self._checkpoint = checkpoint
        self.notes: list[Note] = []
        self._source = _open(self.name)
        self._text = self._source
        try:
            self.stamp = Stamp.of(os.fstat(self._source))
            self.file_size = self.stamp.size
            self.span = Span(0, self.file_size)
            self._prepare()
            if limit is not None and limit < self.span.size:
                self.span, self.limited = Span(self.span.start, self.span.start + limit), True
        except BaseException:
            self.close()
            raise

    def read(self, span: Span) -> bytes:
        """Give the bytes of a range. Raises RecordingError when the file was cut or changed meanwhile."""
        data = _read_all(self._text, span)
        if len(data) < span.size:
            raise self.changed()
        if self._text == self._source:
            self.check_unchanged()
        return data

    def pieces(self, start: int = 0) -> Iterator[bytes]:
        """Give the text from a place on, a MiB at a time."""
        at = max(start, self.span.start)
        while at < self.span.end:
            piece = self.read(Span(at, min(at + _PIECE, self.span.end)))
            at += len(piece)
            yield piece

    def check_unchanged(self) -> None:
        """Raise RecordingError (being-written) when the file is shorter or otherwise newer than when it was opened."""
        now = os.fstat(self._source)
        if now.st_size < self.stamp.size or (
            now.st_size == self.stamp.size and now.st_mtime_ns != self.stamp.modified_ns
        ):
            raise self.changed()

    def changed(self) -> RecordingError:
        """Give the refusal for a file that was cut or written over while it was read."""
        return RecordingError(
            Unreadable.BEING_WRITTEN, f"{self.name} was changed while it was being read; open it again when it is whole"
        )

    @property
    def is_unpacked(self) -> bool:
        """Whether the text is another one than the file's own bytes."""
        return self._text != self._source

    @property
    def descriptor(self) -> int:
        """The descriptor of the text, for whoever hands it to another process."""
        return self._text

    def close(self) -> None:
        """Let go of the file, and of the text that was unpacked from it."""
        for descriptor in {self._source, self._text}:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _prepare(self) -> None:
        head = _read_all(self._text, Span(0, min(HEAD_BYTES, self.span.end)))
        packing = unpacking.recognise(head)
        if packing is not None:
            self._replace_text(packing)
            head = _read_all(self._text, Span(0, min(HEAD_BYTES, self.span.end)))
        self._refuse_by_magic(head)
        encoding = _utf16(head)
        if encoding is not None:
            self._transcode(encoding)
            head = _read_all(self._text, Span(0, min(HEAD_BYTES, self.span.end)))
        if head.startswith(b"\xef\xbb\xbf"):
            self.span = Span(3, self.span.end)
            self.notes.append(Note("a byte order mark stands before the text", 1, 0))
        self._strip_padding()
        self._refuse_nothing()

    def _replace_text(self, packing: str) -> None:
        into = _private_file(self.name)
        try:
            unpacked = unpacking.unpack(
                self.name, packing, self._source, into, limit=self._limit, checkpoint=self._checkpoint
            )
        except BaseException:
            os.close(into)
            raise
        self._text = into
        self.span, self.limited = Span(0, unpacked.size), unpacked.limited
        if unpacked.cut_at is not None:
            self.notes.append(
                Note(f"its {packing} data is damaged or cut at byte {unpacked.cut_at:,}", None, unpacked.cut_at, True)
            )

    def _transcode(self, encoding: str) -> None:
        into = _private_file(self.name)
        size = unpacking.transcode(self._watched_pieces(), encoding, into)
        if self._text != self._source:
            os.close(self._text)
        self._text = into
        self.span = Span(0, size)
        self.notes.append(Note(f"it is {encoding[:6].upper()}, read as UTF-8"))

    def _watched_pieces(self) -> Iterator[bytes]:
        """Give the text in another encoding as far as a limited look takes it: no character takes over four bytes."""
        for number, piece in enumerate(self.pieces()):
            if self._checkpoint is not None:
                self._checkpoint()
            if self._limit is not None and number * _PIECE > 4 * self._limit:
                self.limited = True
                return
            yield piece

    def _strip_padding(self) -> None:
        """Leave out NUL bytes at the end, which a file system leaves behind when power fails."""
        start, end = self.span.start, self.span.end
        while end > start:
            begin = max(start, end - _PIECE)
            kept = _read_all(self._text, Span(begin, end)).rstrip(b"\0")
            end = begin + len(kept)
            if kept:
                break
        if end < self.span.end and end > start:
            self.notes.append(Note(f"{self.span.end - end:,} NUL bytes at its end", None, end))
            self.span = Span(start, end)

    def _refuse_by_magic(self, head: bytes) -> None:
        for magic, what in _NAMED_BY_MAGIC:
            if head.startswith(magic):
                raise RecordingError(Unreadable.NOT_A_RECORDING, f"{self.name} is {what}")
        if head[8:12] == b"DUCK":
            raise RecordingError(
                Unreadable.NOT_A_RECORDING,
                f"{self.name} is a DuckDB file, which is an index and not a recording: give it to workbench check",
            )

    def _refuse_nothing(self) -> None:
        if self.span.size == 0:
            what = "empty (0 bytes)" if self.file_size == 0 else "empty inside"
            raise RecordingError(Unreadable.EMPTY, f"{self.name} is {what}, so nothing was recorded; give another file")
        if self.span.size <= HEAD_BYTES and not _read_all(self._text, self.span).strip(b" \t\r\n\0"):
            raise RecordingError(
                Unreadable.EMPTY, f"{self.name} holds nothing but blanks, so nothing was recorded; give another file"
            )


def _open(name: str) -> int:
    if not name:
        raise RecordingError(Unreadable.MISSING, "an empty path names no file; give the path of a recording")
    if _URL.match(name) and not os.path.lexists(name):
        raise RecordingError(
            Unreadable.URL, f"{name} is a URL, and only local files are read: copy it to this machine and give its path"
        )
    try:
        found = os.stat(name)
        if stat.S_ISDIR(found.st_mode):
            raise RecordingError(Unreadable.DIRECTORY, f"{name} is a folder, not a recording; give a file in it")
        if not stat.S_ISREG(found.st_mode):
            raise RecordingError(
                Unreadable.NOT_A_FILE, f"{name} is {_kind(found.st_mode)}, not a file, and is not opened"
            )
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        return os.open(name, flags)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise RecordingError(
            Unreadable.MISSING, f"{name} does not exist; check the spelling and the folder you are in"
        ) from None
    except OSError as error:
        raise RecordingError(
            Unreadable.NOT_READABLE_YET,
            f"{name} cannot be read ({error.strerror or error}); check the path and its rights",
        ) from None


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def _read_all(descriptor: int, span: Span) -> bytes:
    """Read a range, however many calls that takes; less only at the end of the file."""
    first = os.pread(descriptor, span.size, span.start)
    if len(first) == span.size or not first:
        return first
    parts, got = [first], len(first)
    while got < span.size:
        more = os.pread(descriptor, span.size - got, span.start + got)
        if not more:
            break
        parts.append(more)
        got += len(more)
    return b"".join(parts)


def _private_file(name: str) -> int:
    """Make a nameless file for unpacked text. Raises RecordingError when there is no room for one."""
    import tempfile

    try:
        with tempfile.TemporaryFile(prefix="workbench-") as file:
            return os.dup(file.fileno())
    except OSError as error:
        raise RecordingError(
            Unreadable.NOT_READABLE_YET,
            f"{name} has to be unpacked first, and there is no room in {tempfile.gettempdir()} for that "
            f"({error.strerror or error}); free some space there",
        ) from None


def _utf16(head: bytes) -> str | None:
    """Recognise UTF-16 and UTF-32 by their mark, or by where the NULs of ASCII text stand."""
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    for mark, encoding in _UTF16_BOMS:
        if head.startswith(mark):
            return encoding
    begin = head[:64]
    if len(begin) >= 4 and begin.count(0) * 2 >= len(begin) - 1:
        if not any(begin[::2]) and all(begin[1::2]):
            return "utf-16-be"
        if all(begin[::2]) and not any(begin[1::2]):
            return "utf-16-le"
    return None
