"""Where a text stands in a recording: names, ids, keys and values, also inside strings that hold JSON.

Payloads are read one after another and never kept; what may hold the text is told by its bytes before it is parsed.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from workbench.recordings import scanner, values
from workbench.recordings.browsing import members_of
from workbench.recordings.model import Span, Step
from workbench.recordings.plain import is_plain
from workbench.recordings.scanner import Damage, Token
from workbench.recordings.secrets import is_secret_key, mask_text, mask_under, name_in, name_over
from workbench.recordings.wide import is_alias

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.recordings.browsing import Text

MOST_HITS = 10_000
"""After so many the search stops, and says so: whoever reads them asks for something else."""

NEAR_BYTES = 4 << 20
"""Values up to this size are parsed in one piece; of larger ones each child by itself."""

_PIECE = 1 << 20
_SHOWN = 60
_TELL_SECONDS = 0.05
_MOST_LEVELS = 3
_LONGEST_PAIR = 65_536
_FEW_NUMBERS = 8
_LITERAL_RUN = re.compile(r"[A-Za-z0-9 _.:;,+*=()\[\]{}#@!?$%^|~-]+")
_NUMBER = re.compile(rb"[^\[\],\s]+")


class Part(StrEnum):
    """What of a step holds the text."""

    NAME = "name"
    ID = "id"
    KEY = "key"
    VALUE = "value"


class Way:
    """A value in a payload: which child it is of the value that holds it, and at which byte its key or it begins.

    The JSON inside a string is a child's child: the members of what the string holds.
    """

    __slots__ = ("begin", "place", "up")

    def __init__(self, up: Way | None, place: int, begin: int) -> None:
        self.up = up
        self.place = place
        self.begin = begin

    def steps(self) -> list[Way]:
        """Give the way from the top down to it."""
        way: list[Way] = []
        at: Way | None = self
        while at is not None:
            way.append(at)
            at = at.up
        return way[::-1]


@dataclass(frozen=True, slots=True)
class Hit:
    """One place with the text.

    Attributes:
        step: the number of the step.
        part: what of it.
        span: which of the step's payloads, from 0.
        way: the way to the value or its key; None for the payload as a whole, or a name.
        excerpt: what stands around the text, secrets masked.
    """

    step: int
    part: Part
    span: int = 0
    way: Way | None = None
    excerpt: str = ""


def find_in(text: Text, steps: Sequence[Step], needle: str, job: Job, found: Callable[[Hit], None]) -> bool:
    """Find a text in letters of any case, step after step; each place is told as it is found.

    Values are searched as they may be shown: what is masked is not found. Gives whether all was searched, which ends
    after ``MOST_HITS``. Raises RecordingError when the file was changed, Cancelled.
    """
    if not needle:
        return True
    search = _Search(text, steps, needle, job, found)
    try:
        search.run()
    except _Enough:
        return False
    return True


class _Enough(Exception):
    """There are as many hits as anybody reads."""


class _Search:
    def __init__(self, text: Text, steps: Sequence[Step], needle: str, job: Job, found: Callable[[Hit], None]) -> None:
        self._text, self._steps, self._job, self._found = text, steps, job, found
        self._needle = needle.lower()
        runs = _LITERAL_RUN.findall(self._needle)
        self._probe = max(runs, key=len).encode() if runs else b""
        self._hits = 0
        self._owned = sorted({(span.start, -span.end, step.n) for step in steps for span in step.spans})
        self._starts = [start for start, _, _ in self._owned]
        self._step: Step | None = None
        self._span = 0
        self._done = 0

    def run(self) -> None:
        total = sum(span.size for step in self._steps for span in step.spans)
        told = -_TELL_SECONDS
        for at, step in enumerate(self._steps):
            if at % 64 == 0 or any(span.size > _PIECE for span in step.spans):
                self._job.checkpoint()
                now = time.monotonic()
                if now - told >= _TELL_SECONDS:
                    told = now
                    self._job.progress(self._done, total)
            self._step = step
            self._names(step)
            for place, span in enumerate(step.spans):
                self._span = place
                self._payload(span)
                self._done += span.size

    def _tell(self, part: Part, way: Way | None, text: str) -> None:
        assert self._step is not None
        self._hits += 1
        self._found(Hit(self._step.n, part, self._span, way, _excerpt(text, self._needle)))
        if self._hits >= MOST_HITS:
            raise _Enough

    def _holds(self, text: str) -> bool:
        """Say whether a text has the needle, a piece at a time so that no other thread waits for long."""
        size, step = len(self._needle), 1 << 18
        return any(self._needle in text[at : at + step + size].lower() for at in range(0, max(1, len(text)), step))

    def _names(self, step: Step) -> None:
        self._span = 0
        name = mask_text(step.name)
        if self._holds(name) or self._holds(step.kind):
            self._tell(Part.NAME, None, name)
        if step.key is not None and self._holds(mask_text(step.key)):
            self._tell(Part.ID, None, mask_text(step.key))

    # --- bytes -------------------------------------------------------------------------------------------------

    def _may_hold(self, span: Span) -> bool:
        """Say whether the text may stand in a range: not when its plainest part does not, in any case."""
        if not self._probe:
            return True
        at = span.start
        while at < span.end:
            self._job.checkpoint()
            data = self._text.read(Span(at, min(at + _PIECE + len(self._probe) + 6, span.end)))
            if self._probe in data.lower() or b"\\u00" in data:
                return True
            at += _PIECE
        return False

    def _mine(self, start: int) -> bool:
        """Say whether a byte belongs to the step that is searched, and not to one whose payload lies within its own."""
        assert self._step is not None
        at = bisect_right(self._starts, start) - 1
        while at >= 0:
            _, end, number = self._owned[at]
            if -end > start:
                return number == self._step.n
            at -= 1
        return True

    def _payload(self, span: Span) -> None:
        if not self._may_hold(span):
            return
        if span.size <= NEAR_BYTES:
            self._near(span, None, "")
        else:
            self._large(span, None, "")

    def _large(self, span: Span, way: Way | None, under: str) -> None:
        """Search a value that is too large to be parsed in one piece, child by child."""
        first = self._text.read(Span(span.start, span.start + 1))
        if first not in (b"[", b"{"):
            if not is_secret_key(under):
                self._long(span, way)
            return
        for member in members_of(self._text, span):
            self._job.checkpoint()
            below = Way(way, member.place, member.span.start)
            if isinstance(member.name, str) and self._mine(member.span.start) and self._holds(mask_text(member.name)):
                self._tell(Part.KEY, below, mask_text(member.name))
            if member.span.size > NEAR_BYTES:
                if self._may_hold(member.span):
                    self._large(member.span, below, str(member.name))
            elif self._may_hold(member.span):
                self._near(member.span, below, str(member.name))

    def _long(self, span: Span, way: Way | None) -> None:
        """Search one string, or a text that is no JSON, that is larger than what is parsed; its first hit counts."""
        at, needle = span.start, self._needle.encode("utf-8", "surrogatepass")
        while at < span.end:
            self._job.checkpoint()
            data = self._text.read(Span(at, min(at + _PIECE + len(needle), span.end))).lower()
            place = data.find(needle)
            if place >= 0:
                around = data[max(0, place - 200) : place + 200].decode("utf-8", "replace")
                shown = mask_text(around)
                if self._holds(shown):
                    self._tell(Part.VALUE, way, shown)
                    return
            at += _PIECE

    # --- values ------------------------------------------------------------------------------------------------

    def _near(self, span: Span, way: Way | None, under: str) -> None:
        data = self._text.read(span)
        begin = scanner.blanks_end(data, 0, len(data))
        if data[begin : begin + 1] not in (b"[", b"{", b'"') and b"\n" in data:
            text = mask_text(data.decode("utf-8", "replace"))  # a cassette is no JSON
            if self._holds(text):
                self._tell(Part.VALUE, way, text)
            return
        for part, below, text in self._in_json(data, way, under, span.start, 0):
            self._tell(part, below, text)

    def _in_json(
        self, data: bytes, way: Way | None, under: str, shift: int, level: int
    ) -> Iterator[tuple[Part, Way | None, str]]:
        """Give the places in one value; ``shift`` is where ``data`` begins, for a value of the recording itself."""
        held: list[_Held] = []
        top = _Held(way, -1, False, under)
        key: str | None = None
        key_begin = 0
        counter = 0
        try:
            for kind, begin, end in scanner.tokens(data, 0, len(data)):
                counter += 1
                if counter % 4_096 == 0:
                    self._job.checkpoint()
                if kind == Token.END:
                    held.pop()
                    continue
                parent = held[-1] if held else top
                if kind == Token.KEY:
                    key, key_begin = values.loads_string(data[begin:end]), begin
                    continue
                here = self._way(parent, held, begin, key_begin, shift)
                if parent.keyed and key is not None:
                    shown = mask_text(key)
                    if self._holds(shown) and (level or self._mine(shift + begin)):
                        yield Part.KEY, here, shown
                name = key if parent.keyed and key is not None else parent.under
                if kind in (Token.OBJECT, Token.ARRAY):
                    keyed = kind == Token.OBJECT
                    # of a piece of something larger it is not known whether that is a list
                    in_list = not parent.keyed and (bool(held) or here is not None)
                    held.append(_Held(here, begin, keyed, "" if keyed else name, in_list=in_list))
                elif level or self._mine(shift + begin):
                    yield from self._in_scalar(data, kind, Span(begin, end), parent, name, here, level)
                key = None
        except Damage:
            return

    def _way(self, parent: _Held, held: list[_Held], begin: int, key_begin: int, shift: int) -> Way | None:
        if not held:
            return parent.way
        parent.count += 1
        return Way(parent.way, parent.count - 1, shift + (key_begin if parent.keyed else begin))

    def _in_scalar(
        self, data: bytes, kind: Token, span: Span, parent: _Held, name: str, here: Way | None, level: int
    ) -> Iterator[tuple[Part, Way | None, str]]:
        raw = data[span.start : span.end]
        if kind == Token.NUMBERS:
            yield from self._in_numbers(raw, here, span.start)
        elif kind != Token.STRING:
            text = raw.decode("ascii", "replace")
            if self._holds(text):
                yield Part.VALUE, here, text
        else:
            text = values.loads_string(raw)
            if not self._holds(text) and "\\u00" not in text:
                return
            if level < _MOST_LEVELS and text.lstrip()[:1] in ("{", "["):
                inner = text.strip().encode("utf-8", "surrogatepass")
                if is_plain(inner):
                    yield from self._in_json(inner, here, "", 0, level + 1)
                    return
            if is_alias(name) and " " not in text:
                return  # a vector as base64, of which nobody reads the letters
            if name == "value" and parent.keyed and parent.begin >= 0:
                name = name_over(name, _label(data, parent.begin))
            shown = mask_under(name, text)
            if self._holds(shown) and parent.in_list and not parent.keyed and parent.count == 2:
                shown = mask_under(_header(data, parent.begin) or name, text)
            if self._holds(shown):
                yield Part.VALUE, here, shown

    def _in_numbers(self, raw: bytes, here: Way | None, begin: int) -> Iterator[tuple[Part, Way | None, str]]:
        """Search few numbers; many are a vector, of which nobody reads the digits."""
        numbers = list(_NUMBER.finditer(raw)) if raw.count(b",") < _FEW_NUMBERS - 1 else []
        for place, found in enumerate(numbers):
            text = found.group().decode("ascii", "replace")
            if self._holds(text):
                yield Part.VALUE, Way(here, place, -1), text


class _Held:
    """A container that is walked through: where it is, how many children were met, the name that its items have."""

    __slots__ = ("begin", "count", "in_list", "keyed", "under", "way")

    def __init__(self, way: Way | None, begin: int, keyed: bool, under: str, *, in_list: bool = False) -> None:
        self.way = way
        self.begin = begin
        self.keyed = keyed
        self.under = under
        self.in_list = in_list
        self.count = 0


def _label(data: bytes, begin: int) -> object:
    value = values.parse_beginning(data, begin, len(data))[0]
    return value.get("name", value.get("key")) if isinstance(value, dict) else None


def _header(data: bytes, begin: int) -> str:
    """Give the name that the second of two strings stands under."""
    value = values.parse_beginning(data, begin, min(len(data), begin + _LONGEST_PAIR))[0]
    return name_in(value) if isinstance(value, list) else ""


def _excerpt(text: str, needle: str) -> str:
    at = max(0, text.lower().find(needle)) if len(text) <= 1 << 18 else 0
    begin = max(0, at - _SHOWN // 3)
    return ("…" if begin else "") + text[begin : at + len(needle) + _SHOWN]
