"""What happens on a reader's thread: open a source, judge its namespaces one after the other, say so as it goes.

Nothing here draws, and nothing heavy is imported before the first path is read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from textual.message import Message

from workbench.core.fingerprint import Fingerprint
from workbench.core.job import Cancelled, Job
from workbench.index.problems import Problem, SourceError
from workbench.tui import messages
from workbench.tui.file_change import FileStamp, stamp_of
from workbench.tui.state import LengthShape, Trouble

if TYPE_CHECKING:
    from workbench.checkup.recording_report import RecordingReport
    from workbench.checkup.report import IncomingVerdict, NamespaceReport
    from workbench.crosscheck.indexed import IndexedNamespace
    from workbench.crosscheck.ledger import ContaminatedRows
    from workbench.index.model import IndexSource, Namespace
    from workbench.routing.ledger import Ledger
    from workbench.routing.opening import ReplayedLog
    from workbench.tui.recorded import OpenRecording

_FINE_BINS = 2_000
_EXACT_LENGTH = 200_000
"""Up to this length of the longest chunk every length is counted on its own before it is put into a bin."""

Tell = Callable[[Message], object]


@dataclass(frozen=True, slots=True)
class FirstLook:
    """The beginning of a recording; ``whole`` when that is all of it. ``size`` is that of the file, in bytes."""

    recording: OpenRecording
    whole: bool
    size: int


class Reader(Protocol):
    """The ways from a path to a verdict. One implementation reads files; tests bring their own."""

    def clock(self) -> float:
        """Seconds from some beginning, to say how long a reading took."""

    def is_folder(self, path: str) -> bool:
        """Whether the path is a folder of sources, and no index itself."""

    def sources_in(self, folder: str, job: Job) -> tuple[tuple[str, ...], int]:
        """Give the sources of a folder, and how many files are none. A folder that is an index is its own source."""

    def open(self, path: str) -> IndexSource:
        """Open one path; raises SourceError."""

    def look(self, path: str, why_no_index: SourceError, job: Job) -> FirstLook | None:
        """Open the first steps of what is no index; None when it is no recording either. Raises SourceError."""

    def open_recording(self, path: str, job: Job) -> OpenRecording:
        """Open all of a recording; the job hears of every byte read. Raises SourceError."""

    def stamp(self, path: str) -> FileStamp | None:
        """Look at a file without opening it; None when there is none."""

    def judge_recording(self, path: str, recording: OpenRecording, job: Job) -> RecordingReport:
        """Judge a recording by itself: the function behind ``show --json``."""

    def join(
        self, report: RecordingReport, recording: OpenRecording, indexes: Sequence[IndexSource], job: Job
    ) -> RecordingReport:
        """Hold a judged recording against indexes: what ``show --json --index`` says."""

    def replay(self, path: str, job: Job) -> ReplayedLog | None:
        """Replay what is no index; None when it is no routing log either. Raises SourceError."""

    def look_up(self, ledger: Ledger, indexes: Sequence[IndexSource], job: Job) -> tuple[ContaminatedRows, ...]:
        """Look the keys of a ledger up in indexes: what ``replay --index`` says."""

    def check(self, namespace: Namespace, incoming: Fingerprint | None, job: Job) -> NamespaceReport:
        """Judge a namespace: the function behind ``check --json``."""

    def hold_against(
        self, namespace: Namespace, report: NamespaceReport, incoming: Fingerprint | None
    ) -> IncomingVerdict | None:
        """Judge the incoming embedder alone, against what is already known."""


class FileReader:
    """Reads files. Its imports wait until they are needed, so that the first frame does not wait for them."""

    def __init__(self, explicit_ceiling: int | None = None) -> None:
        self._explicit_ceiling = explicit_ceiling

    def clock(self) -> float:
        """Measure with the clock that never goes back."""
        return time.monotonic()

    def is_folder(self, path: str) -> bool:
        """Whether the path is a folder; a link to one is not followed when it is found, only when it is named."""
        return os.path.isdir(path)

    def sources_in(self, folder: str, job: Job) -> tuple[tuple[str, ...], int]:
        """Find what ``check`` would read in this folder."""
        from workbench.sources import expand

        expanded = expand([folder], job, recordings=True)
        paths = tuple(
            found.path
            for found in expanded.found
            if found.error is None or found.error.problem is not Problem.DIRECTORY
        )
        return paths, sum(skipped.count for skipped in expanded.skipped)

    def open(self, path: str) -> IndexSource:
        """Open with the reader that the content asks for."""
        from workbench.sources import open_source

        return open_source(path)

    def look(self, path: str, why_no_index: SourceError, job: Job) -> FirstLook | None:
        """Open by content; any JSON is a recording when it holds steps or vectors."""
        from workbench.sources import look_at_recording

        seen = look_at_recording(path, why_no_index, job)
        return None if seen is None else FirstLook(seen, not seen.limited, seen.file_size)

    def open_recording(self, path: str, job: Job) -> OpenRecording:
        """Open it from end to end."""
        from workbench.sources import open_whole_recording

        return open_whole_recording(path, job)

    def stamp(self, path: str) -> FileStamp | None:
        """Ask the file system."""
        return stamp_of(path)

    def judge_recording(self, path: str, recording: OpenRecording, job: Job) -> RecordingReport:
        """Count its vectors and find what is wrong with it."""
        from workbench.checkup.recording_check import report_on
        from workbench.recordings.opening import Recording

        assert isinstance(recording, Recording)
        return report_on(recording, (), job)

    def join(
        self, report: RecordingReport, recording: OpenRecording, indexes: Sequence[IndexSource], job: Job
    ) -> RecordingReport:
        """Hold the indexes open for as long as the ids are looked up."""
        from workbench.checkup.options import CheckOptions
        from workbench.checkup.recording_check import joined_anew
        from workbench.checkup.recordings import indexed_namespaces
        from workbench.recordings.opening import Recording

        assert isinstance(recording, Recording)
        options = CheckOptions(explicit_ceiling=self._explicit_ceiling)
        with ExitStack() as held:
            namespaces: list[IndexedNamespace] = []
            for index in indexes:
                held.enter_context(index.hold())
                namespaces += indexed_namespaces(index, options, job)
            return joined_anew(report, recording, namespaces, job)

    def replay(self, path: str, job: Job) -> ReplayedLog | None:
        """Read it from end to end."""
        from workbench.sources import open_replayed

        return open_replayed(path, job)

    def look_up(self, ledger: Ledger, indexes: Sequence[IndexSource], job: Job) -> tuple[ContaminatedRows, ...]:
        """Hold the indexes open for as long as the keys are looked up."""
        from workbench.checkup.options import CheckOptions
        from workbench.checkup.recordings import indexed_namespaces
        from workbench.crosscheck.ledger import join_ledger

        with ExitStack() as held:
            namespaces: list[IndexedNamespace] = []
            for index in indexes:
                held.enter_context(index.hold())
                namespaces += indexed_namespaces(index, CheckOptions(), job)
            return join_ledger(ledger, namespaces, job)

    def check(self, namespace: Namespace, incoming: Fingerprint | None, job: Job) -> NamespaceReport:
        """All verdicts of one namespace, at this moment."""
        from workbench.checkup.namespace import check_namespace
        from workbench.checkup.options import CheckOptions

        options = CheckOptions(incoming=incoming, explicit_ceiling=self._explicit_ceiling)
        return check_namespace(namespace, options, int(time.time() * 1000), job)

    def hold_against(
        self, namespace: Namespace, report: NamespaceReport, incoming: Fingerprint | None
    ) -> IncomingVerdict | None:
        """Judge the incoming embedder alone: no query, so it may run on the event loop."""
        from workbench.checkup.incoming import judge_incoming

        return judge_incoming(namespace, report.fingerprints, incoming) if incoming is not None else None


def read_folder(reader: Reader, key: int, request: int, path: str, job: Job, tell: Tell) -> None:
    """List one folder."""
    try:
        paths, skipped = reader.sources_in(path, job)
    except Cancelled:
        tell(messages.FolderFailed(key, request, "looking through it was stopped"))
    except (OSError, SourceError) as error:
        tell(messages.FolderFailed(key, request, _why(error)))
    else:
        tell(messages.FolderListed(key, request, paths, skipped))


def read_source(
    reader: Reader,
    key: int,
    request: int,
    path: str,
    incoming: Callable[[], Fingerprint | None],
    job: Job,
    tell: Tell,
    *,
    whole: bool = True,
) -> None:
    """Open a path and judge its namespaces in order; every outcome is told, none is raised.

    Of a big recording only the first steps are read unless all of it is asked for (``whole``).

    The opened source is the screen's to close once it was told of it; before that it is closed here.
    """
    from workbench.tui.recording_reading import read_recording
    from workbench.tui.routing_reading import read_log

    started = reader.clock()
    try:
        job.checkpoint()
        opened = reader.open(path)
    except Cancelled:
        tell(messages.SourceDone(key, request, True, since(reader, started)))
        return
    except SourceError as error:
        if not read_log(reader, key, request, path, error, job, tell):
            read_recording(reader, key, request, path, error, job, tell, whole=whole)
        return
    except Exception as error:
        tell(messages.SourceUnreadable(key, request, trouble_of(error)))
        return
    try:
        namespaces = opened.namespaces()
        job.checkpoint()
    except Cancelled:
        opened.close()
        tell(messages.SourceDone(key, request, True, since(reader, started)))
        return
    except Exception as error:
        opened.close()
        tell(messages.SourceUnreadable(key, request, trouble_of(error)))
        return
    tell(messages.SourceOpened(key, request, opened, namespaces))
    stopped = False
    try:
        with opened.hold():
            for place, namespace in enumerate(namespaces):
                _read_space(reader, key, request, place, namespace, incoming, job, tell)
    except Cancelled:
        stopped = True
    except Exception as error:
        tell(messages.SourceUnreadable(key, request, trouble_of(error)))
        return
    finally:
        if job.cancelled:
            opened.close()
    tell(messages.SourceDone(key, request, stopped, since(reader, started)))


def _read_space(
    reader: Reader,
    key: int,
    request: int,
    place: int,
    namespace: Namespace,
    incoming: Callable[[], Fingerprint | None],
    job: Job,
    tell: Tell,
) -> None:
    """Judge one namespace. Its own failure is told; a cancelled job and a lost source are the caller's to tell."""
    job.checkpoint()
    tell(messages.SpaceProgress(key, request, place, 0, 0))
    try:
        report = reader.check(namespace, incoming(), job)
        shape = _shape(namespace, int(report.ceiling.ceiling.chars), job)
    except (Cancelled, SourceError):
        raise
    except Exception as error:
        job.checkpoint()
        tell(messages.SpaceFailed(key, request, place, _why(error)))
    else:
        tell(messages.SpaceRead(key, request, place, report, shape))


def _shape(namespace: Namespace, ceiling: int, job: Job) -> LengthShape | None:
    """Count the lengths in about 2,000 bins at most, with a bin's edge on the ceiling where its divisors allow it."""
    if namespace.no_text is not None:
        return None
    answers = namespace.lengths(job=job)
    if answers is None or answers.total == 0:
        return None
    longest = max((each.chars for each in answers.longest[:1]), default=0)
    least = max(1, -(-longest // _FINE_BINS))
    width = next((w for w in range(least, min(ceiling, 50 * least) + 1) if ceiling % w == 0), least)
    if longest > _EXACT_LENGTH:
        return LengthShape(tuple(int(count) for count in answers.histogram(width)), width, longest)
    bins = [0] * (max(0, longest - 1) // width + 1)
    for chars, count in enumerate(answers.histogram(1).tolist()):
        if count:
            bins[max(0, chars - 1) // width] += int(count)
    return LengthShape(tuple(bins), width, longest)


def trouble_of(error: Exception) -> Trouble:
    """Turn an exception into what is drawn: a SourceError as it is, another one as a sentence, never a traceback."""
    if isinstance(error, SourceError):
        return Trouble(error.problem, error.message, error.container, error.holder)
    return Trouble(None, _why(error))


def _why(error: Exception) -> str:
    """One sentence; the driver's own first line, not its stack."""
    if isinstance(error, SourceError):
        return error.message
    with suppress(IndexError):
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return type(error).__name__


def since(reader: Reader, started: float) -> int:
    """Give the milliseconds since some time of the reader's clock."""
    return round((reader.clock() - started) * 1000)
