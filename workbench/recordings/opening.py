"""Opening a recording: its bytes, its format with the reason, and what the format's reader makes of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from workbench.recordings.document import FileDocument, refuse
from workbench.recordings.model import (
    IndexReport,
    Note,
    Reader,
    Reading,
    RecordedError,
    RecordingError,
    Retrieval,
    Run,
    Span,
    Step,
    Unreadable,
)
from workbench.recordings.spans import Form
from workbench.recordings.text_file import HEAD_BYTES
from workbench.recordings.watch import Watch

if TYPE_CHECKING:
    from workbench.recordings.heaviest import Heaviest

_FIRST_LOOK = 896 << 10
_MANY_RECORDS = 100
_LONGEST_LOOK = 4 << 20


class Recording:
    """An open recording: header, steps, retrievals and errors; payloads and vectors are read when asked for.

    A context manager. Its file stays open until ``close``.

    Attributes:
        path: as given.
        format: the name of its format (``agentfootprint``, ``json``, …).
        why: how the format was recognised, in words.
        run: the run as a whole.
        steps, retrievals, errors, reports: what happened, in the order of the recording.
        file_size: bytes of the file.
        limited: only the beginning of the file was read (``limit``).
    """

    def __init__(self, document: FileDocument, format: str, why: str, reading: Reading) -> None:
        self.document = document
        self.path = document.name
        self.format = format
        self.why = why
        self.run: Run = reading.run
        self.steps: Sequence[Step] = reading.steps
        self.retrievals: tuple[Retrieval, ...] = reading.retrievals
        self.errors: tuple[RecordedError, ...] = reading.errors
        self.reports: tuple[IndexReport, ...] = reading.reports
        self.file_size = document.file_size
        self.limited = document.limited
        self._reading_notes = reading.notes

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is odd or damaged: of the bytes first, then of what they say."""
        return (*self.document.notes, *self._reading_notes)

    def payload(self, step: Step) -> tuple[object, ...]:
        """Parse what the recording holds of a step, a value for each of its spans. Raises RecordingError."""
        return tuple(self.value(span) for span in step.spans)

    def value(self, span: Span) -> object:
        """Parse a range of the document that holds one value. Raises RecordingError when the file was changed."""
        from workbench.recordings.values import parse_beginning

        data = self.document.read(span)
        return parse_beginning(data, 0, len(data))[0]

    def heaviest(self, watch: Watch | None = None) -> Heaviest:
        """Find which places hold the most vector bytes. Reads all of it. Raises RecordingError, Cancelled."""
        from workbench.recordings.heaviest import heaviest_of

        return heaviest_of(self.document, watch)

    def close(self) -> None:
        """Let go of the file."""
        self.document.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_recording(
    path: str | os.PathLike[str], *, format: str | None = None, limit: int | None = None, watch: Watch | None = None
) -> Recording:
    """Open any recording by what it holds, never by its name.

    How a screen opens one of any size, on a thread of its own::

        with first_look(path, watch=job) as seen:       # milliseconds at any size
            show(seen)                                  # "so far" when seen.limited
        if seen.limited:
            whole = open_recording(path, watch=job)     # job.cancel() ends it; job hears how far it came
            report = report_on(whole, (), job)          # the second half of the way

    Args:
        path: a file: JSON, JSON Lines, JSON values one after another, or text that a reader knows; gzip and zstd too.
        format: the reader to use, whatever was recognised.
        limit: read only so many bytes from its beginning, as for a first look at a big file.
        watch: a Job: it hears of bytes read, out of ``READINGS`` times the text, and its ``cancel`` ends the reading
            from any thread. What is read later of the recording it does not hear of.

    Raises:
        RecordingError: one sentence that says what the path is instead, or why it cannot be read.
        Cancelled: of the watch, when its caller gave up; nothing stays open.
    """
    document = FileDocument(path, limit=limit, watch=watch)
    try:
        reader, why = _recognise(document, format)
        reading = reader.read(document)
        if _is_empty(document, reading):
            raise refuse(document)
        document.watch = None
        return Recording(document, reader.format, why, reading)
    except BaseException:
        document.close()
        raise


def first_look(
    path: str | os.PathLike[str], *, steps: int = 50, format: str | None = None, watch: Watch | None = None
) -> Recording:
    """Open as much of a recording as its first ``steps`` steps take, which costs the same at any size of the file.

    It is ``limited`` when that was not all: what it says is said of the beginning, and ``report_on`` counts only the
    vectors of that. Raises RecordingError, and Cancelled of the watch.
    """
    limit = _first_limit(path)
    while True:
        recording = open_recording(path, format=format, limit=limit, watch=watch)
        if len(recording.steps) >= steps or not recording.limited or limit >= _LONGEST_LOOK:
            return recording
        recording.close()
        enough = limit * steps * 5 // (4 * len(recording.steps)) if recording.steps else 4 * limit
        limit = max(2 * limit, min(enough, _LONGEST_LOOK))


def _first_limit(path: str | os.PathLike[str]) -> int:
    """Guess how much the first steps take: looking twice costs more than once too far, and small records are many."""
    try:
        if not os.path.isfile(path):
            return _FIRST_LOOK
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return _FIRST_LOOK
    return _FIRST_LOOK // 4 if head.count(b"},{") + head.count(b"\n{") > _MANY_RECORDS else _FIRST_LOOK


def formats() -> tuple[str, ...]:
    """Give the names that ``format`` takes."""
    return tuple(reader.format for reader in _readers())


def _readers() -> tuple[Reader, ...]:
    from workbench.recordings.readers import READERS

    return READERS


def _recognise(document: FileDocument, asked: str | None) -> tuple[Reader, str]:
    readers = _readers()
    if asked is not None:
        for reader in readers:
            if reader.format == asked:
                return reader, "asked for"
        raise RecordingError(Unreadable.NOT_READABLE_YET, f"{asked} is no format; they are {', '.join(formats())}")
    for reader in readers:
        why = reader.detect(document.head)
        if why is not None:
            return reader, why
    raise refuse(document)


def _is_empty(document: FileDocument, reading: Reading) -> bool:
    """Say whether nothing at all could be read of a damaged file."""
    if reading.steps or document.limited or document.form == Form.TEXT:
        return False
    if not any(note.left_out for note in document.notes):
        return False
    return not any(root.whole or next(root.children(), None) for root in document.roots())
