"""What happens on a thread for a recording: its first steps, then all of it, then what open indexes know of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.core.job import Cancelled, Job
from workbench.tui import collector, messages
from workbench.tui.reading import Reader, Tell, since, trouble_of

if TYPE_CHECKING:
    from workbench.index.model import IndexSource
    from workbench.index.problems import SourceError
    from workbench.tui.file_change import FileStamp
    from workbench.tui.reading import FirstLook
    from workbench.tui.recorded import OpenRecording, Recorded

BIG_BYTES = 64 << 20
"""A recording in a folder is read to its end without being asked for up to this size."""


def read_recording(
    reader: Reader,
    key: int,
    request: int,
    path: str,
    why_no_index: SourceError,
    job: Job,
    tell: Tell,
    *,
    whole: bool = True,
) -> None:
    """Open and judge what is no index; when it is no recording either, tell why it is no index.

    What was told of stays open for whoever heard of it, anything else is closed here.
    """
    started = reader.clock()
    stopped = False
    stamp = reader.stamp(path)
    try:
        seen = reader.look(path, why_no_index, job)
        if seen is None:
            raise why_no_index
        if seen.whole:
            _open_whole(reader, key, request, path, why_no_index, seen.recording, stamp, job, tell)
        else:
            goes_on = whole or seen.size <= BIG_BYTES
            _tell_first(reader, key, request, path, seen, goes_on, job, tell)
            if goes_on:
                with collector.held_back():  # hundreds of thousands of steps, each looked at by each pass
                    opened = reader.open_recording(path, job)
                    _open_whole(reader, key, request, path, why_no_index, opened, stamp, job, tell)
            stopped = not goes_on
    except Cancelled:
        stopped = True
    except Exception as error:
        tell(messages.SourceUnreadable(key, request, trouble_of(error)))
        return
    tell(messages.SourceDone(key, request, stopped, since(reader, started)))


def _tell_first(
    reader: Reader, key: int, request: int, path: str, seen: FirstLook, goes_on: bool, job: Job, tell: Tell
) -> None:
    from workbench.tui.recorded import arrange

    try:
        recorded = arrange(reader.judge_recording(path, seen.recording, job))
        job.checkpoint()
    except BaseException:
        seen.recording.close()
        raise
    tell(messages.RecordingSeen(key, request, seen.recording, recorded, seen.size, goes_on))


def _open_whole(
    reader: Reader,
    key: int,
    request: int,
    path: str,
    why_no_index: SourceError,
    opened: OpenRecording,
    stamp: FileStamp | None,
    job: Job,
    tell: Tell,
) -> None:
    from workbench.checkup.recording_report import holds_nothing
    from workbench.tui.recorded import arrange

    try:
        job.checkpoint()
        recorded = arrange(reader.judge_recording(path, opened, job))
        job.checkpoint()
        if holds_nothing(recorded.report):
            raise why_no_index
    except BaseException:
        opened.close()
        raise
    tell(messages.RecordingOpened(key, request, opened, recorded, stamp))


def join_recording(
    reader: Reader,
    key: int,
    request: int,
    recorded: Recorded,
    recording: OpenRecording,
    indexes: Sequence[IndexSource],
    job: Job,
    tell: Tell,
) -> None:
    """Hold a recording against the indexes that are open; every outcome is told, none is raised."""
    from workbench.tui.recorded import arrange

    try:
        job.checkpoint()
        joined = arrange(reader.join(recorded.report, recording, indexes, job))
        job.checkpoint()
    except Cancelled:
        tell(messages.RecordingJoined(key, request, None))
    except Exception as error:
        tell(messages.RecordingJoined(key, request, None, trouble_of(error).message))
    else:
        tell(messages.RecordingJoined(key, request, joined))
