"""The only writer of stdout and stderr: text made inert, JSON that is safe to look at and still exact."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping
from enum import Enum
from itertools import islice
from typing import TextIO

import click

from workbench.core.text import inert

_ITEMS = 1_000
_WIDEST = 100
_NARROWEST = 40


class Sign(Enum):
    """What stands before a sentence; each with its ASCII form and its colour."""

    OK = ("✓", "ok", "32")
    WARNING = ("!", "!", "33")
    ERROR = ("✗", "x", "31")
    UNKNOWN = ("?", "?", "2")
    EMPTY = ("○", "o", "2")
    NOTE = ("·", "-", "2")


class Style(Enum):
    """How a piece of text is set on a terminal that has colours: SGR parameters."""

    PLAIN = ""
    BOLD = "1"
    FAINT = "2"


class Output:
    """One stream: knows whether it may use colours and signs, and stays quiet when the reader has gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._colours = _wants_colours(stream)
        self._signs = _can_write(stream, "".join(sign.value[0] for sign in Sign))

    @property
    def width(self) -> int:
        """Columns to fill: those of the terminal within reason, else 80."""
        if not self._stream.isatty():
            return 80
        return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((80, 24)).columns))

    @property
    def interactive(self) -> bool:
        """Whether a person looks at it."""
        return self._stream.isatty()

    def line(self, text: str = "", style: Style = Style.PLAIN) -> None:
        """Write one line, whatever ``text`` holds made visible and harmless."""
        self._write(self._set(inert(text), style.value) + "\n")

    def row(self, left: str, right: str, style: Style = Style.BOLD) -> None:
        """Write one line with a fact at its right end, on a line of its own when both do not fit."""
        left, right = inert(left), inert(right)
        if not right:
            self._write(self._set(left, style.value) + "\n")
            return
        gap = self.width - len(left) - len(right)
        if gap < 2:
            self._write(self._set(left, style.value) + "\n")
            self._write(" " * max(2, self.width - len(right)) + self._set(right, Style.FAINT.value) + "\n")
            return
        self._write(self._set(left, style.value) + " " * gap + self._set(right, Style.FAINT.value) + "\n")

    def verdict(self, sign: Sign, text: str, *, indent: int = 2, style: Style = Style.PLAIN) -> None:
        """Write one sentence behind its sign, wrapped under itself."""
        shown, ascii_form, colour = sign.value
        mark = shown if self._signs else ascii_form
        room = " " * indent
        body = _wrapped(inert(text), self.width - indent - 3)
        first, *rest = body or [""]
        self._write(f"{room}{self._set(mark, colour)}{' ' * (3 - len(mark))}{self._set(first, style.value)}\n")
        self.paragraph(rest, indent=indent + 3, style=style)

    def paragraph(self, text: str | list[str], *, indent: int, style: Style = Style.PLAIN) -> None:
        """Write text wrapped at the width, or lines that are wrapped already."""
        lines = _wrapped(inert(text), self.width - indent) if isinstance(text, str) else text
        for each in lines:
            self._write(f"{' ' * indent}{self._set(each, style.value)}\n")

    def excerpt(self, text: str, most: int) -> str:
        """Give the beginning of a text on one line, at most so many characters, cut at a word and marked as cut."""
        flat = " ".join(text[: 4 * most].split())
        if len(flat) <= most and len(text) <= 4 * most:
            return flat
        room = most - len(self.ellipsis)
        at_word, space, _ = flat[: room + 1].rpartition(" ")
        return (at_word if space and len(at_word) > room // 2 else flat[:room]) + self.ellipsis

    @property
    def ellipsis(self) -> str:
        """What stands where a text was cut."""
        return "…" if self._signs else "..."

    def json_document(self, document: object) -> None:
        """Write one JSON document: exact for whoever parses it, and harmless for whoever looks at it."""
        self._write(self._encodable(json_text(document)) + "\n")

    def json_document_with(self, document: Mapping[str, object], name: str, items: Iterable[object]) -> None:
        """Write what ``json_document`` would with a list of ``items`` under ``name``, which is never whole in memory.

        ``name`` is a key of the document, where the list has its place.
        """
        keys = list(document)
        for key in keys:
            self._write(("{\n" if key == keys[0] else ",\n") + f"  {json_text(key)}: ")
            if key == name:
                self._json_items(items)
            else:
                self._write(self._encodable(json_text(document[key]).replace("\n", "\n  ")))
        self._write("\n}\n")

    def _json_items(self, items: Iterable[object]) -> None:
        """Write a list a thousand items at a time."""
        rest, before = iter(items), "["
        while part := list(islice(rest, _ITEMS)):
            # without the brackets around the part; no string holds a raw line feed
            self._write(before + self._encodable(json_text(part)[1:-2].replace("\n", "\n  ")))
            before = ","
        self._write("[]" if before == "[" else "\n  ]")

    def _encodable(self, text: str) -> str:
        if _can_write(self._stream, text):
            return text
        return _escaped(text, {char for char in set(text) if char > "~"})

    def transient(self, text: str) -> None:
        """Show progress on a terminal, in place; nothing where nobody looks."""
        if self.interactive and os.environ.get("TERM") != "dumb":
            self._write("\r" + inert(text)[: self.width - 1] + "\x1b[K")

    def clear_transient(self) -> None:
        """Take the progress line away."""
        self.transient("")
        if self.interactive and os.environ.get("TERM") != "dumb":
            self._write("\r")

    def _set(self, text: str, sgr: str) -> str:
        return f"\x1b[{sgr}m{text}\x1b[0m" if self._colours and sgr and text else text

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        safe = text.encode(encoding, "backslashreplace").decode(encoding)
        try:
            self._stream.write(safe)
            self._stream.flush()
        except OSError as error:
            discard(self._stream)
            # A reader that has gone is no error, and a complaint that cannot be written has nowhere to go.
            if not isinstance(error, BrokenPipeError) and self._stream is sys.stdout:
                raise click.ClickException(f"the output could not be written: {error.strerror or error}") from None


def stdout() -> Output:
    """Return the stream for answers."""
    return Output(sys.stdout or _nowhere())


def stderr() -> Output:
    """Return the stream for narration, progress, warnings and refusals."""
    return Output(sys.stderr or _nowhere())


def _nowhere() -> TextIO:
    """Stand in for a stream that was closed before the program began."""
    return open(os.devnull, "w", encoding="utf-8")


def json_text(document: object) -> str:
    """Write the document as JSON text, indented by two; what a terminal would obey is escaped as JSON escapes it.

    NaN and infinities become null. Strings with lone surrogates (names that are no UTF-8) are kept exactly too.
    """
    import orjson  # not with this file: an interrupt in the middle of its first import can end the process

    try:
        text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        text = json.dumps(_without_non_finite(document), ensure_ascii=False, indent=2, allow_nan=False)
    suspects = {char for char in set(text) if char > "~" and inert(char) != char}
    return _escaped(text, suspects)


def _escaped(text: str, chars: set[str]) -> str:
    return text.translate({ord(char): _escape(char) for char in chars}) if chars else text


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))


def _without_non_finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_non_finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_non_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(20, width), break_on_hyphens=False)


def _wants_colours(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _can_write(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; one that was closed before the program began is None."""
    return stream is not None and stream.isatty()


def discard(stream: TextIO) -> None:
    """Let the rest go nowhere: the reader has gone, which is no error, and the exit code still tells the outcome."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
