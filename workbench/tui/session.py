"""Everything that is opened, and every reading of it: begun, answered, stopped, given back.

The main screen owns one of these. It draws nothing and knows no widget: it is told how to run something beside the
event loop, how to post an answer, and whom to tell that something changed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from functools import singledispatchmethod
from itertools import count
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from workbench.core.fingerprint import Fingerprint
from workbench.core.job import Job
from workbench.tui import messages
from workbench.tui.asking import Asking
from workbench.tui.following import Following, followed_text
from workbench.tui.held_recordings import HeldRecordings
from workbench.tui.judging import Judging, Live, Run
from workbench.tui.reading import Reader, Tell, read_folder, read_source
from workbench.tui.recording_reading import join_recording
from workbench.tui.routing_joins import RoutingJoins, mark_foreign
from workbench.tui.state import Folder, Node, Opened, SoFar, Source, Space, Status
from workbench.tui.threads import T, in_thread, start

if TYPE_CHECKING:
    from workbench.index.model import IndexSource, Namespace
    from workbench.tui.recorded import OpenRecording, Recorded
    from workbench.tui.routed import Routed

READERS = 2
"""Sources read at the same time: one core is left to the screen, and locks are held no longer than needed."""

FOLDER_CAP = 200
"""Sources of one folder that are opened at once; the rest stand behind a row that opens as many again."""


class Session:
    """The sources of one run of the program."""

    def __init__(
        self,
        reader: Reader,
        *,
        run: Run,
        tell: Tell,
        changed: Callable[[], None],
        incoming: Fingerprint | None = None,
    ) -> None:
        self.opened = Opened()
        self.said = ""
        self._reader = reader
        self._run = run
        self._tell = tell
        self._changed = changed
        self._turns = asyncio.Semaphore(READERS)
        self._jobs: dict[int, Job] = {}
        self._asking = Asking(run)
        self._live: Live = {}
        self._recordings = HeldRecordings()
        self._logs = RoutingJoins()
        self._keys = count()
        self.following = Following(
            reader,
            self.opened,
            run=run,
            tell=tell,
            say=self._say,
            indexes=lambda: [live[0] for live in self._live.values()],
        )
        self.judging = Judging(reader, self.opened, self._live, run=run, changed=changed, incoming=incoming)

    def live(self, node: Node) -> tuple[IndexSource, Namespace] | None:
        """Give the open source of a namespace, and the namespace; None when it is not open any more."""
        opened = self._live.get(node.source) if node.source is not None else None
        if opened is None or node.space is None or node.space >= len(opened[1]):
            return None
        return opened[0], opened[1][node.space]

    @property
    def reading(self) -> list[Source | Folder]:
        """What is being read, or waits for its turn."""
        everything: dict[int, Source | Folder] = {**self.opened.folders, **self.opened.sources}
        return [everything[key] for key in self._jobs if key in everything]

    # --- beginning ---------------------------------------------------------------------------------------------

    def open_paths(self, paths: Iterable[str]) -> None:
        """Put paths below what is open and begin to read them."""
        for path in paths:
            key = next(self._keys)
            name = PurePath(path).name or path
            if self._reader.is_folder(path):
                self.opened.folders[key] = Folder(key, path, name + "/")
                self.opened.roots.append(Node(folder=key))
                self._list(self.opened.folders[key])
            else:
                self.opened.sources[key] = Source(key, path, name)
                self.opened.roots.append(Node(source=key))
                self.read(self.opened.sources[key])
        self._changed()

    def _list(self, folder: Folder) -> None:
        folder.status = Status.READING
        folder.request += 1
        key, request, path, job = folder.key, folder.request, folder.path, Job()
        self._jobs[key] = job
        self._run(in_thread(lambda: read_folder(self._reader, key, request, path, job, self._tell)), "folders")

    def read(self, source: Source, *, whole: bool = True) -> None:
        """Read a source from the start; whatever was running for it before is late from now on.

        Without ``whole`` only the first steps of a big recording are read.
        """
        self._drop(source.key)
        source.request += 1
        source.status, source.trouble, source.spaces, source.held = Status.WAITING, None, [], False
        source.recorded, source.so_far, source.news, source.routed = None, None, "", None
        self._begin(source, whole=whole)

    def read_on(self, source: Source) -> None:
        """Read all of a recording of which the first steps are known; they stay until the rest is there."""
        if source.key not in self._jobs:
            source.status = Status.WAITING
            self._begin(source, whole=True)

    def _begin(self, source: Source, *, whole: bool) -> None:
        key, request = source.key, source.request

        def progress(done: int, total: int) -> None:
            self._tell(messages.SpaceProgress(key, request, None, done, total))

        job = Job(progress)
        self._jobs[key] = job
        self._run(self._take_turn(source, request, job, whole=whole), "sources")

    async def _take_turn(self, source: Source, request: int, job: Job, *, whole: bool) -> None:
        key, path = source.key, source.path
        async with self._turns:
            if job.cancelled:
                self._tell(messages.SourceDone(key, request, True, 0))
                return
            source.status = Status.READING
            self._changed()
            await in_thread(
                lambda: read_source(
                    self._reader, key, request, path, lambda: self.judging.incoming, job, self._tell, whole=whole
                )
            )

    def open_more(self, folder: Folder) -> None:
        """Open the next sources of a folder, at most FOLDER_CAP of them."""
        batch, folder.unopened = folder.unopened[:FOLDER_CAP], folder.unopened[FOLDER_CAP:]
        for path in batch:
            key = next(self._keys)
            source = Source(key, path, _below(path, folder.path), expanded=False, folder=folder.key)
            self.opened.sources[key] = source
            folder.sources.append(key)
            self.read(source, whole=False)
        self._changed()

    # --- ending ------------------------------------------------------------------------------------------------

    def _drop(self, key: int) -> None:
        """Cancel what runs for a source and give its file back, on a thread: closing may take a moment."""
        job = self._jobs.pop(key, None)
        if job is not None:
            job.cancel()
        self._asking.drop(key)
        live = self._live.pop(key, None)
        if live is not None:
            start(live[0].close)
        self.following.drop(key)
        self._recordings.drop(key)
        self._logs.drop(key)

    def stop(self, node: Node | None) -> None:
        """Stop the reading of what is at a node, else every reading."""
        key = None if node is None else node.folder if node.folder is not None else node.source
        jobs = [self._jobs[key]] if key is not None and key in self._jobs else list(self._jobs.values())
        for job in jobs:
            job.cancel()

    def close(self, node: Node) -> None:
        """Take a source, or a folder with all in it, out of what is open."""
        gone: list[int] = []
        if node.folder is not None:
            folder = self.opened.folders.pop(node.folder)
            self._drop(folder.key)
            gone = folder.sources
            self.opened.roots.remove(Node(folder=folder.key))
        elif node.source is not None:
            gone = [node.source]
        for key in gone:
            source = self.opened.sources.pop(key)
            self._drop(key)
            if source.folder is None:
                self.opened.roots.remove(Node(source=key))
            elif source.folder in self.opened.folders:
                self.opened.folders[source.folder].sources.remove(key)
        mark_foreign(self.opened)
        self._join_recordings()
        self._changed()

    def quiet(self, path: str) -> None:
        """Stop every reading of a file, under whatever name it was opened: it is about to be copied from or written."""
        for key, source in self.opened.sources.items():
            if source.path == path or os.path.realpath(source.path) == os.path.realpath(path):
                if key in self._jobs:
                    self._jobs[key].cancel()
                self._asking.drop(key)

    def leave(self) -> None:
        """Give up every reading and every file; nothing waits."""
        for key in {*self._jobs, *self._live, *self._recordings}:
            self._drop(key)

    # --- what a view asks about one namespace or recording ---------------------------------------------------------

    def ask(
        self,
        node: Node,
        work: Callable[[Namespace, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
        progress: Callable[[int, int], None],
    ) -> Job | None:
        """Ask a namespace; see Asking. None when it is not open."""
        live = self.live(node)
        if live is None or node.source is None:
            return None
        return self._asking.ask(node.source, live[1], work, then, failed, progress)

    def ask_recording(
        self,
        node: Node,
        work: Callable[[OpenRecording, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
        progress: Callable[[int, int], None],
    ) -> Job | None:
        """Ask an open recording as ``ask`` asks a namespace; None when it is not open."""
        recording = self._recordings.get(node.source)
        if recording is None or node.source is None:
            return None
        return self._asking.ask(node.source, recording, work, then, failed, progress)

    def ask_routing(
        self,
        node: Node,
        work: Callable[[Routed, Job], T],
        then: Callable[[T], None],
        failed: Callable[[str], None],
        progress: Callable[[int, int], None],
    ) -> Job | None:
        """Ask a replayed log as ``ask`` asks a namespace; None when there is none."""
        source = self.opened.sources.get(node.source) if node.source is not None else None
        if source is None or source.routed is None:
            return None
        return self._asking.ask(source.key, source.routed, work, then, failed, progress)

    # --- answers -----------------------------------------------------------------------------------------------

    def answer(self, message: messages.Answer) -> None:
        """Take in an answer, unless it is late: about something closed, or from an earlier request."""
        about = self.opened.sources.get(message.about) or self.opened.folders.get(message.about)
        if about is None or about.request != message.request:
            if isinstance(
                message,
                messages.SourceOpened | messages.RecordingOpened | messages.RecordingSeen | messages.RecordingFollowed,
            ):
                start(message.opened.close)
            return
        self._take(message, about)
        self._changed()

    @singledispatchmethod
    def _take(self, message: messages.Answer, about: Any) -> None:  # noqa: ANN401 (Source or Folder, by the message)
        raise NotImplementedError(type(message).__name__)

    @_take.register
    def _(self, message: messages.FolderListed, about: Folder) -> None:
        self._jobs.pop(about.key, None)
        about.status, about.skipped = Status.READ, message.skipped
        if message.paths == (about.path,):
            self._become_source(about)
            return
        about.unopened = list(message.paths)
        self.open_more(about)

    def _become_source(self, folder: Folder) -> None:
        """Put a source where the folder stood: the folder is an index itself."""
        del self.opened.folders[folder.key]
        source = Source(folder.key, folder.path, folder.label, request=folder.request)
        self.opened.sources[folder.key] = source
        self.opened.roots[self.opened.roots.index(Node(folder=folder.key))] = Node(source=folder.key)
        self.read(source)

    @_take.register
    def _(self, message: messages.FolderFailed, about: Folder) -> None:
        self._jobs.pop(about.key, None)
        about.status, about.failure = Status.FAILED, message.why
        self._join_recordings()

    @_take.register
    def _(self, message: messages.SourceOpened, about: Source) -> None:
        self._live[about.key] = (message.opened, message.namespaces)
        about.container, about.adapter = message.opened.container, message.opened.adapter
        about.notes, about.awaited = message.opened.notes, False
        about.spaces = [Space(namespace.name) for namespace in message.namespaces]

    @_take.register
    def _(self, message: messages.RecordingOpened, about: Source) -> None:
        self._recordings.hold(about.key, message.opened)
        about.so_far, about.news = None, ""
        self.following.watch(about.key, message.stamp)
        about.container, about.adapter = "recording", message.recorded.report.format
        about.notes, about.awaited = (), False
        about.recorded = message.recorded

    @_take.register
    def _(self, message: messages.RecordingSeen, about: Source) -> None:
        self._recordings.hold(about.key, message.opened)
        about.container, about.adapter = "recording", message.recorded.report.format
        about.notes, about.awaited = (), False
        about.recorded, about.so_far = message.recorded, SoFar(message.size)

    @_take.register
    def _(self, message: messages.RecordingFollowed, about: Source) -> None:
        self._recordings.hold(about.key, message.opened)
        self.said = followed_text(about.recorded, message.recorded, message.news)
        about.recorded, about.news = message.recorded, ""
        self.following.watch(about.key, message.stamp)

    @_take.register
    def _(self, message: messages.RecordingJoined, about: Source) -> None:
        self._jobs.pop(about.key, None)
        if message.recorded is not None:
            about.recorded = message.recorded
        elif message.why:
            self.said = f"not joined with the indexes: {message.why}"
        about.status = Status.READ
        self._join_recordings()

    @_take.register
    def _(self, message: messages.LogReplayed, about: Source) -> None:
        about.container, about.adapter = "routing-log", message.routed.log.format
        about.notes, about.awaited = (), False
        about.routed = message.routed

    @_take.register
    def _(self, message: messages.LogJoined, about: Source) -> None:
        self._jobs.pop(about.key, None)
        if message.routed is not None:
            about.routed = message.routed
            mark_foreign(self.opened)
        elif message.why:
            self.said = f"keys not looked up: {message.why}"
        about.status = Status.READ
        self._join_recordings()

    @_take.register
    def _(self, message: messages.SourceUnreadable, about: Source) -> None:
        self._drop(about.key)
        about.status, about.trouble, about.spaces = Status.FAILED, message.trouble, []
        self._join_recordings()

    @_take.register
    def _(self, message: messages.SpaceProgress, about: Source) -> None:
        if about.so_far is not None:
            about.so_far = SoFar(about.so_far.size, message.done, message.total)
        spaces = about.spaces if message.space is None else [about.spaces[message.space]]
        for space in spaces:
            if message.space is not None or space.status is Status.READING:
                space.status, space.done, space.total = Status.READING, message.done, message.total

    @_take.register
    def _(self, message: messages.SpaceRead, about: Source) -> None:
        space = about.spaces[message.space]
        space.status, space.report, space.shape = Status.READ, message.report, message.shape
        self.judging.judge_anew(about, message.space)

    @_take.register
    def _(self, message: messages.SpaceFailed, about: Source) -> None:
        space = about.spaces[message.space]
        space.status, space.failure = Status.FAILED, message.why

    @_take.register
    def _(self, message: messages.SourceDone, about: Source) -> None:
        self._jobs.pop(about.key, None)
        about.status = Status.STOPPED if message.stopped else Status.READ
        about.took_ms = message.took_ms
        for space in about.spaces:
            if space.status in (Status.WAITING, Status.READING):
                space.status = Status.STOPPED
        only_looked_at = about.so_far is not None and not about.so_far.total
        if not (message.stopped and only_looked_at):
            self.said = "reading stopped" if message.stopped else f"read in {_time(message.took_ms)}"
        self._join_recordings()

    # --- recordings --------------------------------------------------------------------------------------------

    def _join_recordings(self) -> None:
        """Hold every recording that searched against the indexes that are open, once nothing is read any more."""
        if self._jobs:
            return
        open_now = frozenset((key, self.opened.sources[key].request) for key in self._live)
        indexes = [live[0] for live in self._live.values()]
        for source, recorded, recording in self._recordings.to_join(self.opened, open_now):
            self._jobs[source.key] = job = Job()
            source.status = Status.READING
            self._run(self._join(source, recorded, recording, indexes, job), "sources")
        for source, routed in self._logs.to_join(self.opened, open_now):
            self._jobs[source.key] = job = Job()
            source.status = Status.READING
            work = self._logs.joining(self._reader, source, routed, indexes, job, self._tell)
            self._run(self._in_turn(work), "sources")

    async def _in_turn(self, work: Callable[[], None]) -> None:
        async with self._turns:
            await in_thread(work)

    async def _join(
        self,
        source: Source,
        recorded: Recorded,
        recording: OpenRecording,
        indexes: list[IndexSource],
        job: Job,
    ) -> None:
        key, request = source.key, source.request
        async with self._turns:
            await in_thread(
                lambda: join_recording(self._reader, key, request, recorded, recording, indexes, job, self._tell)
            )

    def look_again(self) -> None:
        """Who holds what at this moment; and a file that is waited for is tried again."""
        for key, (opened, _) in self._live.items():
            self.opened.sources[key].held = opened.held()
        for source in self.opened.sources.values():
            if source.awaited and source.status is Status.FAILED:
                self.read(source)
        self.following.look()
        self._changed()

    def _say(self, said: str) -> None:
        self.said = said
        self._changed()


def _below(path: str, folder: str) -> str:
    """Shorten a path to what stands below its folder."""
    try:
        return str(PurePath(path).relative_to(folder))
    except ValueError:
        return path


def _time(milliseconds: int) -> str:
    """Write a duration as people read it: ``31 ms``, ``4.2 s``."""
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
