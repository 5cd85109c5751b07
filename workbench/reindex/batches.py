"""What is still to be embedded, a request at a time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from workbench.core.text import utf16_length
from workbench.embedders.batching import next_batch

if TYPE_CHECKING:
    from workbench.embedders.protocol import BuildingProvider
    from workbench.reindex.sibling import Sibling

_READ_AHEAD = 2_048


@dataclass(frozen=True, slots=True)
class Text:
    """One text on its way: its row, its chunk, and what is sent."""

    seq: int
    id: str
    text: str


class Batches:
    """What is pending, in batches of one request each, read a page at a time in the order of the rows."""

    def __init__(self, sibling: Sibling, provider: BuildingProvider) -> None:
        self._sibling = sibling
        self._provider = provider
        self._pending = sibling.pending()
        self._at = 0
        self._waiting: deque[Text] = deque()
        self._size = 0

    def next_chars(self) -> int | None:
        """Say how many code units the next batch has; None when there is none."""
        if self._at < len(self._pending) and len(self._waiting) < _READ_AHEAD // 2:
            page = self._pending[self._at : self._at + _READ_AHEAD]
            wanted = set(page.tolist())
            rows = self._sibling.texts(int(page[0]), int(page[-1]))
            self._waiting.extend(Text(*row) for row in rows if row[0] in wanted)
            self._at += len(page)
        if not self._waiting:
            return None
        limits = self._provider.batch_limits
        ahead = [each.text for each in islice(self._waiting, limits.max_inputs)]
        self._size = next_batch(ahead, limits)
        return sum(map(utf16_length, ahead[: self._size]))

    def take(self) -> list[Text]:
        """Give the batch that was looked at last."""
        return [self._waiting.popleft() for _ in range(self._size)]
