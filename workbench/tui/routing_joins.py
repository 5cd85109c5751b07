"""Which routing logs were held against which open indexes, so that each is held against them once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.tui.held_recordings import Indexes
from workbench.tui.routing_reading import join_log

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.index.model import IndexSource
    from workbench.tui.reading import Reader, Tell
    from workbench.tui.routed import Routed
    from workbench.tui.state import Opened, Source


class RoutingJoins:
    """By the keys of their sources."""

    def __init__(self) -> None:
        self._joined_with: dict[int, Indexes] = {}

    def drop(self, key: int) -> None:
        """Forget a source."""
        self._joined_with.pop(key, None)

    def to_join(self, opened: Opened, indexes: Indexes) -> Iterator[tuple[Source, Routed]]:
        """Give every log that names keys and was not yet held against these indexes; from now on it was."""
        for source in opened.sources.values():
            routed = source.routed
            if routed is None or not any(row.keys for row in routed.replay.ledger.rows):
                continue
            if self._joined_with.get(source.key, frozenset()) != indexes:
                self._joined_with[source.key] = indexes
                yield source, routed

    def joining(
        self,
        reader: Reader,
        source: Source,
        routed: Routed,
        indexes: Sequence[IndexSource],
        job: Job,
        tell: Tell,
    ) -> Callable[[], None]:
        """Give what is to be done on a thread."""
        key, request = source.key, source.request
        return lambda: join_log(reader, key, request, routed, indexes, job, tell)


def mark_foreign(opened: Opened) -> None:
    """Let every namespace know which of its rows hold a foreign vector, by all logs that are open."""
    logs = [source.routed for source in opened.sources.values() if source.routed is not None]
    for source in opened.sources.values():
        for space in source.spaces:
            found = [marked for log in logs if (marked := log.marks.get((source.path, space.name)))]
            space.foreign = found[0] if len(found) == 1 else frozenset().union(*found)
