"""What a path is, and which reader opens it: single files, and folders walked for the sources in them."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.checkup.namespace import check_namespace
from workbench.checkup.options import CheckOptions
from workbench.checkup.recording_report import RECORDING, as_source, holds_nothing
from workbench.checkup.report import CheckReport, Code, Finding, Skipped, SourceReport
from workbench.checkup.routing import ROUTING_LOG, with_foreign_rows
from workbench.core.job import Cancelled
from workbench.crosscheck.ledger import join_ledger
from workbench.embedders.models import model_table
from workbench.index.adapters.agentfootprint import open_sqlite_source
from workbench.index.duckdb_source import open_duckdb_source
from workbench.index.model import Problem, SourceError
from workbench.index.opening import sniff

if TYPE_CHECKING:
    from workbench.checkup.recording_report import RecordingReport
    from workbench.core.job import Job
    from workbench.core.routing import RoutingDialect
    from workbench.crosscheck.indexed import IndexedNamespace
    from workbench.crosscheck.ledger import ContaminatedRows
    from workbench.index.model import IndexSource
    from workbench.recordings.model import RecordingError
    from workbench.recordings.opening import Recording
    from workbench.routing.opening import ReplayedLog
    from workbench.routing.stepping import Asked

_INDEX_CONTAINERS = frozenset({"duckdb", "sqlite", "chroma", "lance", "parquet"})

_log = logging.getLogger(__name__)


def open_source(path: str | os.PathLike[str]) -> IndexSource:
    """Open any readable index, read-only, as namespaces; nothing is left beside the file.

    Raises SourceError: one sentence that says what the path is instead, or why it cannot be read.
    """
    name = os.fspath(path)
    if sniff(name).container == "sqlite":
        return open_sqlite_source(name)
    from workbench.reindex.sibling import refuse_unfinished

    refuse_unfinished(name)
    return open_duckdb_source(name, _names_a_model)


def _names_a_model(text: str) -> bool:
    """Whether the model table lists a text as an id, which tells a column of models from other short texts."""
    return model_table().find(text) is not None


def show_recording(
    path: str | os.PathLike[str],
    indexes: Iterable[str | os.PathLike[str]] = (),
    options: CheckOptions | None = None,
    *,
    format: str | None = None,
    job: Job | None = None,
) -> RecordingReport:
    """Open a recording and judge it, joined with the indexes, which are held for as long as that takes.

    Of ``options`` the ceiling and the namespaces count.

    Raises RecordingError when the recording cannot be read, SourceError when one of the indexes cannot.
    """
    from workbench.checkup.recording_check import report_on
    from workbench.recordings.opening import open_recording

    with contextlib.ExitStack() as opened:
        recording = opened.enter_context(open_recording(path, format=format))
        return report_on(recording, _indexed(indexes, opened, options or CheckOptions(), job), job)


def look_at_recording(path: str | os.PathLike[str], why_no_index: SourceError, job: Job) -> Recording | None:
    """Open the first steps of what is no index; None when it is no recording either, by its content.

    Raises SourceError when it cannot be read, Cancelled.
    """
    from workbench.recordings.model import RecordingError
    from workbench.recordings.opening import first_look

    name = os.fspath(path)
    if _as_recording(Found(name, None, why_no_index), any_json=True).recording is None:
        return None
    try:
        return first_look(name, watch=job)
    except RecordingError as error:
        raise _as_source_error(error) from error


def open_whole_recording(path: str | os.PathLike[str], job: Job) -> Recording:
    """Open a recording from end to end. Raises SourceError when it cannot be read, Cancelled."""
    from workbench.recordings.model import RecordingError
    from workbench.recordings.opening import open_recording

    try:
        return open_recording(path, watch=job)
    except RecordingError as error:
        raise _as_source_error(error) from error


def _indexed(
    indexes: Iterable[str | os.PathLike[str]], opened: contextlib.ExitStack, options: CheckOptions, job: Job | None
) -> list[IndexedNamespace]:
    """Open indexes for as long as ``opened`` lasts, and give all of their namespaces."""
    from workbench.checkup.recordings import indexed_namespaces

    found: list[IndexedNamespace] = []
    for index in indexes:
        source = opened.enter_context(open_source(index))
        opened.enter_context(source.hold())
        found += indexed_namespaces(source, options, job)
    return found


@dataclass(frozen=True, slots=True)
class Found:
    """One path to be read: named by the user, or found in a folder.

    Attributes:
        path: as given, or the folder as given with the way to the file.
        key: device and inode, None when the path is not there.
        error: why it cannot be read as an index, when its first bytes say so already.
        recording: the name of its format when it is a recording.
        routing: the name of its format when it is a routing log.
        named: whether the user named it, and not a folder that it lies in.
    """

    path: str
    key: tuple[int, int] | None
    error: SourceError | None = None
    recording: str | None = None
    routing: str | None = None
    named: bool = True

    @property
    def joined_later(self) -> bool:
        """Whether it is held against indexes, and so read after them."""
        return self.recording is not None or self.routing is not None


@dataclass(frozen=True, slots=True)
class Expanded:
    """All sources behind some paths, in their order, and the files of folders that are none."""

    found: tuple[Found, ...]
    skipped: tuple[Skipped, ...]


def expand(paths: Iterable[str | os.PathLike[str]], job: Job | None = None, *, recordings: bool = False) -> Expanded:
    """Find the sources behind paths. Folders are walked in the order of names, links in them are not followed.

    A path that the user named is always listed, a file in a folder only when it is some kind of index, or with
    ``recordings`` a recording or a routing log of a format that is known by name.
    """
    found: list[Found] = []
    skipped: list[Skipped] = []
    for given in paths:
        path = os.fspath(given)
        first = _look(path)
        if first.error is None or first.error.problem is not Problem.DIRECTORY:
            found.append(_as_recording(first, any_json=True) if recordings else first)
            continue
        inside, count = _walk(path, job, recordings=recordings)
        found += inside or [dataclasses.replace(first, error=_nothing_in(path, count))]
        if count:
            skipped.append(Skipped(path, count))
    return Expanded(tuple(found), tuple(skipped))


def _look(path: str) -> Found:
    try:
        sniffed = sniff(path)
    except SourceError as error:
        return Found(path, _key(path), error)
    return Found(path, (sniffed.device, sniffed.inode))


def _key(path: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return stat.st_dev, stat.st_ino


def _as_recording(found: Found, *, any_json: bool) -> Found:
    """Say of what is no index whether it is a routing log or a recording; any JSON is one when the user named it."""
    if found.error is None or found.error.container not in (None, RECORDING, ROUTING_LOG):
        return found
    if found.error.problem not in _MAYBE_RECORDINGS:
        return found
    from workbench.recordings.recognising import recognise
    from workbench.routing.opening import recognise as recognise_log

    log = recognise_log(found.path)
    if log is not None:
        return dataclasses.replace(found, routing=log.format.name, key=_key(found.path))
    known = recognise(found.path)
    if known is None or (known.generic and not any_json):
        return found
    return dataclasses.replace(found, recording=known.format, key=_key(found.path))


_MAYBE_RECORDINGS = (Problem.NOT_AN_INDEX, Problem.NOT_READABLE_YET)


def _walk(folder: str, job: Job | None, *, recordings: bool) -> tuple[list[Found], int]:
    """List the sources below a folder, and count the files that are none."""
    found: list[Found] = []
    skipped = 0
    waiting = _entries(folder)
    while waiting:
        if job is not None:
            job.checkpoint()
        entry = waiting.pop()
        if entry.is_symlink():
            skipped += 1
            continue
        looked = _look(entry.path)
        if looked.error is None or _is_index(looked.error):
            found.append(dataclasses.replace(looked, named=False))
        elif looked.error.problem is Problem.DIRECTORY:
            waiting += _entries(entry.path)
        elif recordings and (known := _as_recording(looked, any_json=False)).joined_later:
            found.append(known)
        else:
            skipped += 1
    return found, skipped


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """List a folder, last name first, so that popping gives them in order; one that may not be read is empty."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name, reverse=True)
    except OSError:
        return []


def _is_index(error: SourceError) -> bool:
    """Say whether something unreadable is an index all the same: its container is known, and holds nothing else."""
    return error.container in _INDEX_CONTAINERS and error.problem is not Problem.NOT_AN_INDEX


def _nothing_in(folder: str, count: int) -> SourceError:
    looked = f"none of its {count:,} files is one" if count else "it holds no files"
    return SourceError(
        Problem.DIRECTORY, f"{folder} is a folder without an index: {looked}; name an index file or another folder"
    )


class UnknownNamespace(Exception):
    """A namespace that was asked for and stands in no source.

    Attributes:
        name: as asked.
        known: all names that there are, in the order of the sources.
    """

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(name)
        self.name = name
        self.known = known


def check_paths(
    paths: Iterable[str | os.PathLike[str]],
    options: CheckOptions,
    *,
    job: Job | None = None,
    now_ms: int | None = None,
    on_source: Callable[[str], None] | None = None,
    routing_logs: Iterable[str | os.PathLike[str]] = (),
) -> CheckReport:
    """Check every source behind the paths, one after the other, each held for as long as its check takes.

    Recordings come last, since they are joined with the indexes; the report keeps the order of the paths.
    ``routing_logs`` are paths that are read as such, whatever else their content could be.
    ``on_source`` is told each path before it is read. The same file under two names is read once and reported twice.

    Raises:
        UnknownNamespace: a name of ``options.namespaces`` stands in none of the sources that could be read.
        Cancelled: the job was given up.
    """
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    expanded = expand(paths, job, recordings=True)
    listed = (*expanded.found, *_named_logs(routing_logs, expanded.found))
    foreign: list[ContaminatedRows] = []
    known: dict[str, None] = {}
    read: dict[tuple[int, int], SourceReport] = {}
    reports: dict[int, SourceReport] = {}
    with contextlib.ExitStack() as opened:
        joinable = _Joinable(opened, options, job)
        for last in (False, True):
            for place, found in enumerate(listed):
                if found.joined_later is not last:
                    continue
                earlier = None if found.key is None else read.get(found.key)
                if earlier is not None and earlier.readable:
                    reports[place] = dataclasses.replace(earlier, path=found.path)
                    continue
                if on_source is not None:
                    on_source(found.path)
                if found.recording is not None:
                    report = _check_recording(found, joinable, job)
                elif found.routing is not None:
                    report, joined = _check_log(found, joinable, job)
                    foreign += joined
                elif found.error is not None:
                    report = _unreadable(found.path, found.error)
                else:
                    report = _check(found, options, now, job, known)
                    joinable.paths += [found.path] if report.readable else []
                reports[place] = report
                if found.key is not None:
                    read[found.key] = report
    ordered = tuple(with_foreign_rows(reports[place], foreign) for place in sorted(reports))
    if any(report.readable and report.container not in (RECORDING, ROUTING_LOG) for report in ordered):
        for name in options.namespaces:
            if name not in known:
                raise UnknownNamespace(name, tuple(known))
    return CheckReport(ordered, expanded.skipped)


def _named_logs(paths: Iterable[str | os.PathLike[str]], found: tuple[Found, ...]) -> Iterator[Found]:
    """Give the logs that were named as such, without those that stand among the paths as logs already."""
    known = {each.key for each in found if each.routing is not None}
    for given in paths:
        path = os.fspath(given)
        key = _key(path)
        if key is None or key not in known:
            # Not by its key: what is also a recording among the paths is read once more, as a log.
            yield Found(path, None, routing=ROUTING_LOG)
            known.add(key)


def _check(found: Found, options: CheckOptions, now_ms: int, job: Job | None, known: dict[str, None]) -> SourceReport:
    from workbench.reindex.sibling import UnfinishedReindex

    path = found.path
    try:
        with open_source(path) as source, source.hold():
            namespaces = source.namespaces()
            known.update(dict.fromkeys(namespace.name for namespace in namespaces))
            wanted = [namespace for namespace in namespaces if options.wants(namespace.name)]
            checked = tuple(check_namespace(namespace, options, now_ms, job) for namespace in wanted)
            rest = len(namespaces) - len(wanted)
            return SourceReport(path, source.container, source.adapter, checked, notes=source.notes, not_asked=rest)
    except SourceError as error:
        if isinstance(error, UnfinishedReindex) and not found.named:
            # It lies beside its index on purpose: no fault of the folder.
            return SourceReport(path, error.container, None, (), notes=(error.message,))
        return _unreadable(path, error)
    except Cancelled:
        raise
    except Exception as error:
        # One file that nobody foresaw must not take the verdicts about all the others with it.
        _log.exception("the check of %r failed", path)
        return _unreadable(path, _unforeseen(path, error))


class _Joinable:
    """The indexes among the paths, opened again for the recordings: once, and only when one of these needs them."""

    def __init__(self, opened: contextlib.ExitStack, options: CheckOptions, job: Job | None) -> None:
        self.paths: list[str] = []
        self._opened = opened
        self._options = options
        self._job = job
        self._namespaces: list[IndexedNamespace] | None = None
        self._notes: list[str] = []

    def namespaces(self) -> tuple[list[IndexedNamespace], list[str]]:
        """Give the namespaces of all indexes, and a note for each index that cannot be opened any more."""
        if self._namespaces is None:
            self._namespaces = []
            for path in self.paths:
                try:
                    self._namespaces += _indexed([path], self._opened, self._options, self._job)
                except SourceError as error:
                    self._notes.append(f"not joined with {path}: {error.message}")
        return self._namespaces, self._notes


def _check_recording(found: Found, joinable: _Joinable, job: Job | None) -> SourceReport:
    """Check a recording, joined with the indexes that were read before it."""
    from workbench.checkup.recording_check import report_on
    from workbench.recordings.model import RecordingError
    from workbench.recordings.opening import open_recording

    notes: list[str] = []
    try:
        with open_recording(found.path) as recording:
            namespaces: list[IndexedNamespace] = []
            if recording.retrievals:
                namespaces, notes = joinable.namespaces()
            try:
                report = report_on(recording, namespaces, job)
            except SourceError as error:
                notes = [*notes, f"not joined with the indexes: {error.message}"]
                report = report_on(recording, (), job)
    except RecordingError as error:
        return _unreadable(found.path, _as_source_error(error))
    except Cancelled:
        raise
    except Exception as error:
        _log.exception("the check of %r failed", found.path)
        return _unreadable(found.path, _unforeseen(found.path, error))
    if found.error is not None and holds_nothing(report):
        return _unreadable(found.path, found.error)
    return as_source(report, *notes)


def _check_log(found: Found, joinable: _Joinable, job: Job | None) -> tuple[SourceReport, tuple[ContaminatedRows, ...]]:
    """Replay a routing log, its ledger held against the indexes that were read before it; give what these hold too."""
    from workbench.checkup.routing import routing_as_source
    from workbench.routing.opening import UnreadableLog, replay_file

    try:
        replayed = replay_file(found.path, checkpoint=None if job is None else job.checkpoint)
        joined: tuple[ContaminatedRows, ...] = ()
        notes: list[str] = []
        if any(row.keys for row in replayed.replay.ledger.rows):
            namespaces, notes = joinable.namespaces()
            try:
                joined = join_ledger(replayed.replay.ledger, namespaces, job) if namespaces else ()
            except SourceError as error:
                notes = [*notes, f"not joined with the indexes: {error.message}"]
        return routing_as_source(replayed, joined, *notes), joined
    except UnreadableLog as error:
        unreadable = SourceError(_problem_of(error.problem), error.message, container=ROUTING_LOG)
        return _unreadable(found.path, unreadable), ()
    except Cancelled:
        raise
    except Exception as error:
        _log.exception("the check of %r failed", found.path)
        return _unreadable(found.path, _unforeseen(found.path, error)), ()


def replay_routing_log(
    path: str | os.PathLike[str],
    indexes: Iterable[str | os.PathLike[str]] = (),
    asked: Asked | None = None,
    dialect: RoutingDialect | None = None,
    *,
    primary: str | None = None,
    job: Job | None = None,
) -> tuple[ReplayedLog, tuple[ContaminatedRows, ...]]:
    """Replay a routing log, and look the keys of its ledger up in indexes, which are held for as long as that takes.

    Raises UnreadableLog when it is none or holds no call, SourceError when an index cannot be read.
    """
    from workbench.routing.opening import replay_file

    replayed = replay_file(path, asked, dialect, primary=primary, checkpoint=None if job is None else job.checkpoint)
    with contextlib.ExitStack() as opened:
        namespaces = _indexed(indexes, opened, CheckOptions(), job)
        return replayed, join_ledger(replayed.replay.ledger, namespaces, job) if namespaces else ()


def open_replayed(path: str | os.PathLike[str], job: Job) -> ReplayedLog | None:
    """Replay what is a routing log by its content, None when it is none; the job hears of every byte read.

    Raises SourceError when it is one and cannot be replayed, Cancelled.
    """
    from workbench.routing.opening import UnreadableLog, recognise, replay_file

    if recognise(path) is None:
        return None
    try:
        return replay_file(path, checkpoint=job.checkpoint, progress=job.progress)
    except UnreadableLog as error:
        raise SourceError(_problem_of(error.problem), error.message, container=ROUTING_LOG) from error


def _problem_of(problem: str) -> Problem:
    known = {each.value for each in Problem}
    return Problem(problem) if problem in known else Problem.NOT_AN_INDEX


def _as_source_error(error: RecordingError) -> SourceError:
    return SourceError(_problem_of(error.problem.value), error.message, container=RECORDING)


def _unforeseen(path: str, error: Exception) -> SourceError:
    return SourceError(
        Problem.DAMAGED,
        f"{path} could not be read to its end, for a reason that is not foreseen ({type(error).__name__}); "
        "the file was not changed, and the log that `workbench doctor` names holds the details",
        container=None,
    )


def _unreadable(path: str, error: SourceError) -> SourceReport:
    finding = Finding(Code.UNREADABLE_SOURCE, error.message, _FIXES.get(error.problem, "give another path"))
    return SourceReport(path, error.container, problem=error.problem, message=error.message, findings=(finding,))


_FIXES = {
    Problem.LOCKED: "close the program that holds it, or check a copy",
    Problem.BEING_WRITTEN: "check again when the program that writes it is idle, or check a copy",
    Problem.TOO_NEW: "upgrade workbench, or let the producer write an older format",
    Problem.TRUNCATED: "copy it again from where it came, or restore it",
    Problem.DAMAGED: "restore it from a copy, or build it again",
    Problem.ENCRYPTED: "check a decrypted copy",
    Problem.MISSING: "check the spelling and the folder you are in",
    Problem.URL: "download it and give the path of the copy",
}
