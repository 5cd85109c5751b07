"""A moving part of a text in memory."""

from __future__ import annotations

from workbench.recordings import scanner
from workbench.recordings.document import FileDocument
from workbench.recordings.model import Span

BYTES = 512 << 10


class Window:
    """The bytes of a range of a text from ``keep`` on, as far as they were needed.

    Attributes:
        data: what is in memory.
        base: the place of its first byte in the text.
        keep: what lies before this place may be forgotten.
        end: where the range ends.
    """

    def __init__(self, document: FileDocument, span: Span) -> None:
        self._document = document
        self.end = span.end
        self.base = span.start
        self.keep = self.base
        self.data = b""

    @property
    def reaches_end(self) -> bool:
        """Whether the last byte of the range is in memory."""
        return self.base + len(self.data) >= self.end

    def need(self, at: int, size: int) -> int:
        """Have ``size`` bytes from ``at`` on in memory, as far as the text goes; give the place of ``at`` in ``data``.

        ``at`` lies at ``keep`` or behind.
        """
        have = self.base + len(self.data)
        until = min(at + size, self.end)
        if until > have:
            begin = max(have, self.keep)
            more = self._document.read(Span(begin, min(max(until, begin + BYTES), self.end)))
            self.data = self.data[self.keep - self.base :] + more if self.keep < have else more
            self.base = self.keep
        return at - self.base

    def byte(self, at: int) -> int:
        """Give a byte; -1 at the end of the text."""
        return self.data[self.need(at, 1)] if at < self.end else -1

    def slice(self, start: int, end: int) -> bytes:
        """Give a range."""
        here = self.need(start, end - start)
        return self.data[here : here + end - start]

    def skip(self, at: int) -> int:
        """Give the place of the first byte from ``at`` on that is no blank."""
        while at < self.end:
            here = self.need(at, 1)
            at = scanner.blanks_end(self.data, here, len(self.data)) + self.base
            if at < self.base + len(self.data):
                return at
        return self.end
