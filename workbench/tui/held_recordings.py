"""The open recordings of a session: which one is asked now, and with which indexes each was held against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.tui.threads import start

if TYPE_CHECKING:
    from workbench.tui.recorded import OpenRecording, Recorded
    from workbench.tui.state import Opened, Source

Indexes = frozenset[tuple[int, int]]
"""Which indexes are open, each by its key and the number of its reading."""


class HeldRecordings:
    """Recordings by the keys of their sources, each open until its source is dropped or another takes its place."""

    def __init__(self) -> None:
        self._now: dict[int, OpenRecording] = {}
        self._before: dict[int, OpenRecording] = {}
        self._joined_with: dict[int, Indexes] = {}

    def __iter__(self) -> Iterator[int]:
        return iter(self._now)

    def get(self, key: int | None) -> OpenRecording | None:
        """Give the one that is asked now."""
        return self._now.get(key) if key is not None else None

    def hold(self, key: int, opened: OpenRecording) -> None:
        """Ask this one from now on. What was asked of the one before goes on; that is closed with the next one."""
        before, former = self._now.get(key), self._before.pop(key, None)
        self._now[key] = opened
        if before is not None:
            self._before[key] = before
        if former is not None:
            start(former.close)

    def drop(self, key: int) -> None:
        """Close what is open of a source, on a thread: closing may take a moment."""
        self._joined_with.pop(key, None)
        for recording in (self._now.pop(key, None), self._before.pop(key, None)):
            if recording is not None:
                start(recording.close)

    def to_join(self, opened: Opened, indexes: Indexes) -> Iterator[tuple[Source, Recorded, OpenRecording]]:
        """Give every recording that searched and was not yet held against these indexes; from now on it was."""
        for key, recording in self._now.items():
            source = opened.sources[key]
            recorded = source.recorded
            if recorded is None or source.so_far is not None or not recorded.retrievals:
                continue
            if self._joined_with.get(key, frozenset()) != indexes:
                self._joined_with[key] = indexes
                yield source, recorded, recording
