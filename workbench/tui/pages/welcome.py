"""What is shown when nothing is open: what to press first, and what can be read."""

from __future__ import annotations

from workbench.tui.draw import Line, Tone, titled_rule
from workbench.tui.pages.chart import histogram
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.state import LengthShape

_WIDTH = 64
_BINS = (
    "3 9 24 38 52 60 57 49 40 31 25 22 24 26 28 25 20 14 11 9 8 8 7 7 6 6 5 4 4 3 3 3 4 3 2 2 1 1 3 2 1 0 1 0 2 1 0 1"
)
_PICTURE = LengthShape(tuple(map(int, _BINS.split())), 100, 4_800)
"""Only a picture: the shape of an index of which some chunks are longer than the embedder reads."""

_KEYS = (
    ("o", "open a file or folder", "type a path"),
    ("^p", "find an action", "every action by name"),
    ("?", "help", "every key and what it does"),
    ("q", "quit", ""),
)

_READS = (
    ("DuckDB", "native, LangChain, LlamaIndex, any table of vectors"),
    ("SQLite", "indexes of agentfootprint"),
    ("Recordings", "agentfootprint, traces of OTLP, JSON, cassettes"),
)


def welcome(frame: Frame) -> Page:
    """Show the first screen, in the middle of the pane."""
    inner = Page()
    width = min(_WIDTH, frame.width)
    if frame.roomy and width == _WIDTH:
        for line in histogram(_PICTURE, 2_000, width, 5, frame.signs, quiet=True)[:-1]:
            inner.add(line)
        inner.add()
    inner.add(Line().add("Open an index or a recording.", bold=True))
    inner.add(Line().add("Files are opened read-only; nothing is sent anywhere.", Tone.MUTED))
    inner.add()
    for key, does, note in _KEYS:
        inner.add(Line().add(key, Tone.ACCENT, bold=True).to(4).add(does).to(30).add(note, Tone.FAINT))
    inner.add()
    inner.add(titled_rule("Reads", width, frame.signs.rule))
    for what, which in _READS:
        inner.add(Line().add(what, Tone.FAINT).to(13).add(which, Tone.MUTED).cut(width))
    page = Page()
    for _ in range(max(0, (frame.height - len(inner.lines)) // 2)):
        page.add()
    margin = max(0, (frame.width - width) // 2)
    for line in inner.lines:
        page.add(Line().add(" " * margin).extend(line.spans))
    return page
