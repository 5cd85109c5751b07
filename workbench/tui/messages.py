"""What readers say to their screen. Each carries the request it answers, so that a late answer is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from workbench.checkup.report import NamespaceReport
    from workbench.index.model import IndexSource, Namespace
    from workbench.tui.file_change import FileNews, FileStamp
    from workbench.tui.recorded import OpenRecording, Recorded
    from workbench.tui.routed import Routed
    from workbench.tui.state import LengthShape, Trouble


@dataclass
class Answer(Message):
    """What every answer carries: the folder or source it is about, and the request it answers."""

    about: int
    request: int


@dataclass
class FolderListed(Answer):
    """The sources found in a folder, and how many files are none."""

    paths: tuple[str, ...]
    skipped: int


@dataclass
class FolderFailed(Answer):
    """A folder that could not be looked through."""

    why: str


@dataclass
class SourceOpened(Answer):
    """A source is open and its namespaces are known; none is read yet."""

    opened: IndexSource
    namespaces: tuple[Namespace, ...]


@dataclass
class RecordingOpened(Answer):
    """A source is a recording, open, and all of it was read."""

    opened: OpenRecording
    recorded: Recorded
    stamp: FileStamp | None = None


@dataclass
class RecordingFollowed(Answer):
    """A recording that changed was read anew; ``news`` is what happened to its file since it was read before."""

    opened: OpenRecording
    recorded: Recorded
    stamp: FileStamp | None
    news: FileNews


@dataclass
class RecordingSeen(Answer):
    """The first steps of a recording of ``size`` bytes are read; ``goes_on`` when the rest is being read now."""

    opened: OpenRecording
    recorded: Recorded
    size: int
    goes_on: bool


@dataclass
class RecordingJoined(Answer):
    """A recording was held against other indexes than before; ``why`` says why that could not be done."""

    recorded: Recorded | None
    why: str = ""


@dataclass
class LogReplayed(Answer):
    """A source is a routing log, and all of it was replayed."""

    routed: Routed


@dataclass
class LogJoined(Answer):
    """The keys of a routing log were looked up in other indexes than before; ``why`` says why that could not be."""

    routed: Routed | None
    why: str = ""


@dataclass
class SourceUnreadable(Answer):
    """A source that cannot be opened, or not be read on."""

    trouble: Trouble


@dataclass
class SpaceProgress(Answer):
    """Rows done of rows in all. A namespace begins with both 0; after that ``space`` None is the one being read."""

    space: int | None
    done: int
    total: int

    def can_replace(self, message: Message) -> bool:
        """Let a newer number stand for an older one of the same namespace."""
        return isinstance(message, SpaceProgress) and (message.about, message.space) == (self.about, self.space)


@dataclass
class SpaceRead(Answer):
    """A namespace with its verdicts, and its lengths where texts are stored."""

    space: int
    report: NamespaceReport
    shape: LengthShape | None


@dataclass
class SpaceFailed(Answer):
    """A namespace that could not be read to the end; its neighbours still are."""

    space: int
    why: str


@dataclass
class ViewProgress(Message):
    """What a view is reading has come further; how far, the view knows."""

    def can_replace(self, message: Message) -> bool:
        """One is as good as many."""
        return isinstance(message, ViewProgress)


@dataclass
class SourceDone(Answer):
    """Nothing more is coming for a source: all of it was read, or the reading was stopped."""

    stopped: bool
    took_ms: int
