"""YAML as a stream of plain values, one item of a list at a time: nothing is constructed, aliases are bounded."""

from __future__ import annotations

import base64
import binascii
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import yaml

from workbench.recordings.model import Note, Span

MOST_ALIASES = 1_000
"""How often a cassette may refer back to an anchor; more is how a small file is made to unfold into a huge one."""

_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLS = {**dict.fromkeys(("true", "True", "TRUE"), True), **dict.fromkeys(("false", "False", "FALSE"), False)}
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][-+]?[0-9]{1,4})?")
_BINARY = "tag:yaml.org,2002:binary"


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the list, and the bytes of its lines."""

    value: object
    span: Span


class _Lines:
    """Hands the text to the parser and remembers where each line begins, since the parser counts characters."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""
        self._starts = array("Q", (0,))
        self._read = 0

    def read(self, size: int) -> bytes:
        if not self._rest:
            self._rest = next(self._pieces, b"")
        data, self._rest = self._rest[:size], self._rest[size:]
        at = data.find(b"\n")
        while at >= 0:
            self._starts.append(self._read + at + 1)
            at = data.find(b"\n", at + 1)
        self._read += len(data)
        return data

    def byte_of(self, line: int) -> int:
        """Give the byte at which a line (from 0) begins."""
        return self._starts[line] if line < len(self._starts) else self._read


@dataclass(slots=True)
class ItemsOfList:
    """The items under one key of the top mapping, and what else stands beside them.

    Attributes:
        key: whose list it is.
        others: the values of the other keys at the top; complete when the items were walked.
        notes: what is odd or damaged; complete likewise.
    """

    key: str
    others: dict[str, object] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    _anchors: dict[str, object] = field(default_factory=dict)
    _aliases: int = 0

    def walk(self, pieces: Iterable[bytes]) -> Iterator[Item]:
        """Give every complete item; where the text is damaged they end, and a note says where."""
        lines = _Lines(pieces)
        try:
            events = yaml.parse(lines, Loader=yaml.CSafeLoader)
            yield from self._top(events, lines)
        except yaml.YAMLError as error:
            self.notes.append(_damage(error, lines))
        if self._aliases > MOST_ALIASES:
            left = self._aliases - MOST_ALIASES
            self.notes.append(Note(f"{left:,} aliases beyond the {MOST_ALIASES:,} that are followed", left_out=True))

    def _top(self, events: Iterator[yaml.Event], lines: _Lines) -> Iterator[Item]:
        event = next(events)
        while not isinstance(event, yaml.MappingStartEvent):
            if isinstance(event, yaml.StreamEndEvent | yaml.ScalarEvent | yaml.SequenceStartEvent):
                return
            event = next(events)
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            name = self._value(event, events)
            event = next(events)
            if name == self.key and isinstance(event, yaml.SequenceStartEvent):
                while not isinstance(event := next(events), yaml.SequenceEndEvent):
                    start = lines.byte_of(event.start_mark.line)
                    value, end = self._bounded(event, events)
                    yield Item(value, Span(start, max(start, lines.byte_of(end))))
            else:
                value = self._value(event, events)
                if isinstance(name, str):
                    self.others[name] = value
        while not isinstance(event := next(events), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                self.notes.append(Note("another document follows in the file and was left out", left_out=True))
                return

    def _bounded(self, event: yaml.Event, events: Iterator[yaml.Event]) -> tuple[object, int]:
        """Give one value and the line at which it ends."""
        last = [event]
        value = self._value(event, events, last)
        mark = last[0].end_mark
        return value, mark.line if mark.column == 0 else mark.line + 1

    def _value(self, event: yaml.Event, events: Iterator[yaml.Event], last: list[yaml.Event] | None = None) -> object:
        """Build one value from its events, with a stack of its own."""
        root: list[object] = []
        stack: list[list[object] | dict[str, object]] = [root]
        keys: list[str | None] = [None]
        while True:
            if isinstance(event, yaml.CollectionEndEvent):
                stack.pop()
                keys.pop()
            else:
                self._put(event, stack, keys)
            if len(stack) == 1:
                if last is not None:
                    last[0] = event
                return root[0] if root else None
            event = next(events)

    def _put(self, event: yaml.Event, stack: list[list[object] | dict[str, object]], keys: list[str | None]) -> None:
        opened: list[object] | dict[str, object] | None = None
        value: object
        if isinstance(event, yaml.MappingStartEvent):
            value = opened = {}
        elif isinstance(event, yaml.SequenceStartEvent):
            value = opened = []
        elif isinstance(event, yaml.AliasEvent):
            self._aliases += 1
            value = self._anchors.get(event.anchor) if self._aliases <= MOST_ALIASES else None
        elif isinstance(event, yaml.ScalarEvent):
            value = _scalar(event)
        else:
            return
        if isinstance(event, yaml.NodeEvent) and not isinstance(event, yaml.AliasEvent) and event.anchor:
            self._anchors[event.anchor] = value
        top = stack[-1]
        if isinstance(top, list):
            top.append(value)
        elif keys[-1] is None:
            # a key; one that is no scalar cannot be named, and its value is kept under its kind
            keys[-1] = value if isinstance(value, str) else str(value) if opened is None else "?"
        else:
            top[keys[-1]] = value
            keys[-1] = None
        if opened is not None:
            stack.append(opened)
            keys.append(None)


def _scalar(event: yaml.ScalarEvent) -> object:
    """Give a scalar as YAML 1.2 JSON would: null, true, false, a number, bytes, else its text."""
    text: str = event.value
    if event.tag == _BINARY:
        try:
            return base64.b64decode(text)
        except (binascii.Error, ValueError):
            return text
    if not event.implicit[0] or event.tag is not None:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _damage(error: yaml.YAMLError, lines: _Lines) -> Note:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it is no YAML"
    if mark is None:
        return Note(f"the rest cannot be read: {problem}", left_out=True)
    return Note(f"the rest cannot be read: {problem}", line=mark.line + 1, byte=lines.byte_of(mark.line), left_out=True)
