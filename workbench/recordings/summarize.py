"""The slim copy of a recording: vectors as their shape, all other bytes as they were, written whole or not at all."""

from __future__ import annotations

import contextlib
import gc
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import IO, TYPE_CHECKING, cast

from workbench.recordings.document import FileDocument
from workbench.recordings.model import Note
from workbench.recordings.piece import Kind, Piece
from workbench.recordings.pieces import pieces_of
from workbench.recordings.repeats import Repeat, repeats
from workbench.recordings.slim import Options, Run, Slimmed, slimmed, slimmed_run
from workbench.recordings.spans import Form, oddities

if TYPE_CHECKING:
    from workbench.recordings.picked import PickedPath

_MOST_NOTES = 200
_MOST_REPEATS = 10
"""How many keys that repeat are named; there may be one in every record."""


class SameFile(Exception):
    """The copy was to be written over the recording itself."""


class CannotWrite(Exception):
    """The copy could not be written; the message says why."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of a recording.

    Attributes:
        path: the recording, as given.
        form: ``json``, ``jsonl`` or ``concatenated``.
        bytes_before: of the text (that of a compressed file is what it unpacks to).
        bytes_after: of the copy.
        by_rule: how many vectors each rule replaced, the seed's rules first.
        unsummarised_likely: how many more the wide rules would replace.
        masked: how many strings had a secret masked.
        notes: what is odd or damaged.
    """

    path: str
    form: str
    bytes_before: int
    bytes_after: int
    by_rule: dict[str, int]
    unsummarised_likely: int
    masked: int
    notes: tuple[Note, ...]

    @property
    def vectors(self) -> int:
        """How many vectors were replaced."""
        return sum(self.by_rule.values())

    @property
    def left_out(self) -> bool:
        """Whether damaged parts are not in the copy."""
        return any(note.left_out for note in self.notes)


@dataclass(slots=True)
class _Totals:
    by_rule: Counter[str] = field(default_factory=Counter)
    likely: int = 0
    masked: int = 0
    odd: Counter[str] = field(default_factory=Counter)
    repeats: list[Repeat] = field(default_factory=list)
    at: int = 0

    def add(self, one: Slimmed) -> None:
        self.by_rule.update(one.by_rule)
        self.likely += one.likely
        self.masked += one.masked


def summarize_file(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    options: Options | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    *,
    paths: Sequence[PickedPath] = (),
) -> Summary:
    """Write the slim copy of a recording to ``out``, which is replaced at once when the copy is whole.

    ``paths`` are the user's own (rule W8): what stands there is replaced too.

    Raises RecordingError when the recording cannot be read as JSON, JSON Lines or JSON values one after another,
    SameFile when ``out`` is the recording itself by whatever name, and CannotWrite; ``out`` is then as it was.
    """
    document = FileDocument(path)
    try:
        if document.is_same_file(out):
            raise SameFile
        with _replacing(os.fspath(out)) as file:
            return _write(document, file, options or Options(), on_progress, paths)
    finally:
        document.close()


def summarize_to(
    path: str | os.PathLike[str],
    file: IO[bytes],
    options: Options | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    *,
    paths: Sequence[PickedPath] = (),
) -> Summary:
    """Write the slim copy of a recording to an open stream, as ``summarize_file`` does to a file.

    Raises RecordingError, maybe after parts were written.
    """
    document = FileDocument(path)
    try:
        return _write(document, file, options or Options(), on_progress, paths)
    finally:
        document.close()


def _write(
    document: FileDocument,
    file: IO[bytes],
    options: Options,
    on_progress: Callable[[int, int], None] | None,
    paths: Sequence[PickedPath] = (),
) -> Summary:
    if paths:
        import tempfile

        from workbench.recordings.picked import copy_without_picked

        with tempfile.NamedTemporaryFile(prefix="workbench-") as held:
            summary = _write(document, cast("IO[bytes]", held), options, on_progress)
            held.flush()
            after, taken, more = copy_without_picked(held.name, file, paths)
        by_rule = _in_order(Counter(summary.by_rule) + taken)
        return replace(summary, bytes_after=after, by_rule=by_rule, notes=(*summary.notes, *more))
    if document.form == Form.TEXT and _is_cassette(document):
        return _write_cassette(document, file, options)
    notes: list[Note] = []
    totals = _Totals()
    after = 0
    with _nothing_collected():
        for text in _texts(document, notes, options, totals):
            file.write(text)
            after += len(text)
            if on_progress is not None:
                on_progress(document.bytes_read, document.size)
    if on_progress is not None:
        on_progress(document.size, document.size)
    notes = [*document.notes, *notes, *_odd_notes(totals), *_repeat_notes(document, notes, totals)]
    return Summary(
        document.name,
        document.form,
        document.text_size,
        after,
        _in_order(totals.by_rule),
        totals.likely,
        totals.masked,
        tuple(notes[:_MOST_NOTES]),
    )


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Keep the garbage collector out: values that are parsed hold no rings, and looking for some takes a tenth more."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _is_cassette(document: FileDocument) -> bool:
    from workbench.recordings.readers.vcr import VcrReader  # most recordings are none, and are copied without it

    return VcrReader().detect(document.head) is not None


def _write_cassette(document: FileDocument, file: IO[bytes], options: Options) -> Summary:
    # imported here: only cassettes in YAML need it
    from workbench.recordings.cassette_copy import slim_cassette

    copy = slim_cassette(document, options)
    file.write(copy.text)
    return Summary(
        document.name,
        "yaml",
        document.text_size,
        len(copy.text),
        _in_order(copy.by_rule),
        copy.likely,
        copy.masked,
        (*document.notes, *copy.notes)[:_MOST_NOTES],
    )


def _in_order(by_rule: Counter[str]) -> dict[str, int]:
    """Put the seed's rules before the wide ones."""
    return dict(sorted(by_rule.items(), key=lambda each: (each[0].startswith("W"), each[0])))


def _texts(
    document: FileDocument, notes: list[Note], options: Options, totals: _Totals
) -> Iterator[bytes | memoryview]:
    def prove(data: bytes, start: int, end: int, run: Run) -> Slimmed | None:
        one = slimmed_run(data, start, end, run, options)
        if one is not None and one.repeated:
            brackets = () if run is Run.LINES else run.around
            held = data[start:end].join(brackets) if brackets else data[start:end]
            found.append([replace(each, at=each.at - bool(brackets)) for each in _repeats(held)])
        return one

    # Of a run of values only the proof is left when its piece comes: what repeats in it is found before.
    found: list[list[Repeat]] = []
    together = not (options.wide or options.redact)
    for piece in pieces_of(document, notes, prove, lines_together=together, long_texts_apart=not options.redact):
        if piece.kind is Kind.GLUE:
            totals.at += len(piece.data)
            yield piece.data
            continue
        one = piece.proof or _slim(piece, options, totals)
        totals.add(one)
        if one.repeated:
            outside = int(one.bracketed and piece.proof is None)
            new = found.pop(0) if piece.proof else _repeats(piece.data)
            room = _MOST_REPEATS - len(totals.repeats)
            totals.repeats += [replace(each, at=totals.at + each.at - outside) for each in new[: max(0, room)]]
        totals.at += one.size
        yield one.body


def _slim(piece: Piece[Slimmed], options: Options, totals: _Totals) -> Slimmed:
    one = slimmed(piece.data, options)
    if one is None:
        totals.odd.update(oddities(piece.data))
        one = slimmed(piece.data, options, proven=True)
        assert one is not None
    members = piece.kind is Kind.MEMBERS
    return replace(one, bracketed=members, size=one.size - 2 * members)


def _odd_notes(totals: _Totals) -> list[Note]:
    return [Note(f"it holds {what}, kept as found") for what in totals.odd]


def _repeats(data: bytes) -> list[Repeat]:
    return list(islice(repeats(data), _MOST_REPEATS))


def _repeat_notes(document: FileDocument, notes: list[Note], totals: _Totals) -> list[Note]:
    """Say which keys an object has twice, and where: nothing is lost of them in the copy, but readers see the last."""
    if not totals.repeats:
        return []
    placed = not any(note.left_out for note in notes)  # else bytes were passed over that no piece has
    lines = _lines_of(document, [each.at for each in totals.repeats]) if placed else []
    said = []
    for index, each in enumerate(totals.repeats):
        line, byte = (lines[index], document.span.start + each.at) if placed else (None, None)
        where = "" if byte is None else f", again at byte {byte:,} (line {line:,})"
        said.append(Note(f"an object has the key '{each.key}' twice{where}; the last one counts", line, byte))
    if len(said) >= _MOST_REPEATS:
        said.append(Note(f"keys that an object has twice are listed up to {_MOST_REPEATS}; there may be more"))
    return said


def _lines_of(document: FileDocument, places: list[int]) -> list[int]:
    """Give the lines of places in the text, which are in order."""
    lines: list[int] = []
    at, count = 0, 1
    for piece in document.pieces():
        while len(lines) < len(places) and places[len(lines)] < at + len(piece):
            lines.append(count + piece.count(b"\n", 0, places[len(lines)] - at))
        if len(lines) == len(places):
            break
        at += len(piece)
        count += piece.count(b"\n")
    return lines + [count] * (len(places) - len(lines))


@contextlib.contextmanager
def _replacing(out: str) -> Iterator[IO[bytes]]:
    """Give a file that takes the place of ``out`` when all went well, and leaves nothing behind when not."""
    target = os.path.realpath(out)
    folder = os.path.dirname(target)
    try:
        found = os.stat(target)
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
            raise CannotWrite(f"{out} is {kind}, and is not written over; give the path of a file")
        mode = stat.S_IMODE(found.st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    except OSError as error:
        raise _cannot(out, error) from None
    temporary = os.path.join(folder, f".{os.path.basename(target)[:100]}.{os.urandom(6).hex()}.part")
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise _cannot(out, error) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        os.replace(temporary, target)
        _sync_folder(folder)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise _cannot(out, error) from None
        raise


def _cannot(out: str, error: OSError) -> CannotWrite:
    return CannotWrite(f"{out} cannot be written ({error.strerror or error}); it is as it was")


def _sync_folder(folder: str) -> None:
    """Make the new name last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
