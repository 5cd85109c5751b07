"""The texts of the chunks that were looked at last, so that going back to one costs nothing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from workbench.checkup.exact import ExactCut
from workbench.checkup.report import ClippedChunk
from workbench.core.text import utf16_length
from workbench.index.model import Chunk
from workbench.tui.draw import number
from workbench.tui.pages.ceiling import OpenedText

_KEPT_TEXTS = 24
_KEPT_CHARACTERS = 20_000_000


class Texts:
    """At most so many texts, and so many characters of them together; the newest stays whatever its length."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Hashable, str], OpenedText] = OrderedDict()

    def get(self, of: Hashable, id: str) -> OpenedText | None:
        """Give the text of a chunk of a namespace, if it is kept."""
        kept = self._kept.get((of, id))
        if kept is not None:
            self._kept.move_to_end((of, id))
        return kept

    def keep(self, of: Hashable, opened: OpenedText) -> None:
        """Keep a text, and let go of the ones not looked at for longest."""
        self._kept[of, opened.id] = opened
        self._kept.move_to_end((of, opened.id))
        while len(self._kept) > 1 and (len(self._kept) > _KEPT_TEXTS or self._characters > _KEPT_CHARACTERS):
            self._kept.popitem(last=False)

    @property
    def _characters(self) -> int:
        return sum(len(each.text or "") for each in self._kept.values())


def as_opened(listed: ClippedChunk, chunk: Chunk | None, exact: ExactCut | None = None) -> OpenedText:
    """Take a chunk as it was fetched, and say what is odd about it; ``exact`` is where its tokens end."""
    if chunk is None:
        return OpenedText(listed.id, None, "no chunk of this id is there any more")
    if chunk.text is None:
        return OpenedText(listed.id, None, "no text is stored with this chunk")
    units = utf16_length(chunk.text)
    if units == listed.chars:
        return OpenedText(listed.id, chunk.text, exact=exact)
    return OpenedText(
        listed.id,
        chunk.text,
        exact=exact,
        note=f"the first chunk of this id has {number(units)} characters: another one, or rewritten",
    )
