"""Recordings that change on disk while they are open: looked at once a second, said, and read anew when followed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.core.job import Cancelled, Job
from workbench.tui import messages
from workbench.tui.file_change import Change, FileNews, FileStamp, news_of, news_text
from workbench.tui.judging import Run
from workbench.tui.state import Status
from workbench.tui.threads import in_thread

if TYPE_CHECKING:
    from workbench.index.model import IndexSource
    from workbench.tui.reading import Reader, Tell
    from workbench.tui.recorded import Recorded
    from workbench.tui.state import Opened, Source

QUIET_LOOKS = 3
"""So many looks without a change end the waiting for the rest of a line."""

_REST = 3
"""After it was read anew a file is left alone for so many times as long as that took."""


@dataclass(slots=True)
class _Watched:
    """One recording: how its file was when it was read, how it was at the last look, and for how long it is so."""

    read: FileStamp
    seen: FileStamp | None
    quiet: int = 0
    job: Job | None = None
    not_before: float = 0.0
    said: FileNews | None = field(default=None)


class Following:
    """Watches the files of open recordings by their stamps. A file that is followed is read anew when it changed."""

    def __init__(
        self,
        reader: Reader,
        opened: Opened,
        *,
        run: Run,
        tell: Tell,
        say: Callable[[str], None],
        indexes: Callable[[], list[IndexSource]],
    ) -> None:
        self._reader = reader
        self._opened = opened
        self._run = run
        self._tell = tell
        self._say = say
        self._indexes = indexes
        self._watched: dict[int, _Watched] = {}
        self._looking = False

    @property
    def busy(self) -> bool:
        """Whether files are being looked at."""
        return self._looking

    def watch(self, key: int, stamp: FileStamp | None) -> None:
        """Watch the file of a recording that was just read; ``stamp`` is from before that."""
        if stamp is None:
            return
        before = self._watched.get(key)
        self._watched[key] = _Watched(stamp, stamp, not_before=before.not_before if before is not None else 0.0)

    def drop(self, key: int) -> None:
        """Watch it no more, and give up reading it anew."""
        watched = self._watched.pop(key, None)
        if watched is not None and watched.job is not None:
            watched.job.cancel()

    def leave(self) -> None:
        """Watch nothing any more."""
        for key in list(self._watched):
            self.drop(key)

    def look(self) -> None:
        """Look at every file, on a thread; a look that is still going on is enough."""
        if self._watched and not self._looking:
            self._looking = True
            self._run(self._look(), "following")

    async def _look(self) -> None:
        try:
            asked = [(key, self._opened.sources[key].path, each.read) for key, each in self._watched.items()]
            found = await in_thread(lambda: [(key, *self._look_at(path, read)) for key, path, read in asked])
        finally:
            self._looking = False
        for key, stamp, news in found:
            watched = self._watched.get(key)
            if watched is not None and key in self._opened.sources:
                self._take(self._opened.sources[key], watched, stamp, news)

    def _look_at(self, path: str, read: FileStamp) -> tuple[FileStamp | None, FileNews]:
        stamp = self._reader.stamp(path)
        return stamp, news_of(path, read, stamp)

    def _take(self, source: Source, watched: _Watched, stamp: FileStamp | None, news: FileNews) -> None:
        watched.quiet = watched.quiet + 1 if stamp == watched.seen else 0
        watched.seen = stamp
        if news != watched.said and news.change is not Change.NONE:
            watched.said = news
            source.news = news_text(news)
            if not source.followed or news.change in (Change.SHORTER, Change.GONE):
                self._say(source.news)
        if source.followed and source.status is Status.READ and self._is_due(watched, news):
            self._read_anew(source, watched, news)

    def _is_due(self, watched: _Watched, news: FileNews) -> bool:
        """Say whether to read a file anew: a line that is half written waits, and so does what is written anew."""
        if news.change in (Change.NONE, Change.GONE) or watched.job is not None:
            return False
        if time.monotonic() < watched.not_before:
            return False
        if news.change is Change.GROWN:
            return not news.half or watched.quiet >= (1 if news.lines is None else QUIET_LOOKS)
        return watched.quiet >= 1

    # --- reading anew ------------------------------------------------------------------------------------------

    def _read_anew(self, source: Source, watched: _Watched, news: FileNews) -> None:
        job = watched.job = Job()
        indexes = self._indexes()
        self._run(self._read(source.key, source.request, source.path, news, indexes, watched, job), "following")

    async def _read(
        self,
        key: int,
        request: int,
        path: str,
        news: FileNews,
        indexes: list[IndexSource],
        watched: _Watched,
        job: Job,
    ) -> None:
        began = time.monotonic()
        try:
            await in_thread(lambda: follow(self._reader, key, request, path, news, indexes, job, self._tell))
        finally:
            watched.job = None
            now = time.monotonic()
            for each in (watched, self._watched.get(key)):
                if each is not None:
                    each.not_before = now + _REST * (now - began)


def follow(
    reader: Reader,
    key: int,
    request: int,
    path: str,
    news: FileNews,
    indexes: list[IndexSource],
    job: Job,
    tell: Tell,
) -> None:
    """Read a recording anew, as it is now. Where that cannot be done nothing is told: what was read before stays."""
    from workbench.tui.recorded import arrange

    stamp = reader.stamp(path)
    opened = None
    try:
        opened = reader.open_recording(path, job)
        report = reader.judge_recording(path, opened, job)
        if indexes:
            report = reader.join(report, opened, indexes, job)
        recorded = arrange(report)
        job.checkpoint()
    except Cancelled:
        if opened is not None:
            opened.close()
        return
    except Exception:
        # It is being written at this moment: the next look tries again.
        if opened is not None:
            opened.close()
        return
    tell(messages.RecordingFollowed(key, request, opened, recorded, stamp, news))


def followed_text(before: Recorded | None, now: Recorded, news: FileNews) -> str:
    """Say what a followed file brought."""
    from workbench.checkup.wording import counted

    new = len(now.rows) - (len(before.rows) if before is not None else 0)
    if news.change is Change.GROWN:
        return counted(new, "new step") if new > 0 else "no new step"
    return f"{news_text(news)}: {counted(len(now.rows), 'step')}"
