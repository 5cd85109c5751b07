"""One level of a value at a time: its children page by page from their bytes, repeated keys as often as they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from workbench.recordings import scanner, spans, values
from workbench.recordings.model import Span, Step
from workbench.recordings.plain import Plain, plain_end
from workbench.recordings.scanner import Damage
from workbench.recordings.spans import Child

_WINDOW = 1 << 20
_LARGEST_WINDOW = 16 << 20


class Text(Protocol):
    """Bytes that hold values."""

    def read(self, span: Span) -> bytes:
        """Give the bytes of a range."""
        ...

    def children_of(self, span: Span) -> list[Child]:
        """Give the children of the value in a range, all at once: for what is too big for memory."""
        ...


class Rooted(Protocol):
    """A value at the top of a text."""

    @property
    def span(self) -> Span:
        """Where it is."""
        ...


class RootedText(Text, Protocol):
    """The text of a recording."""

    def roots(self) -> Iterator[Rooted]:
        """Give the values at the top: one, or one a record."""
        ...


def whole_step(text: RootedText, most: int) -> Step:
    """Give the first values at the top of a text as the payload of one step, for a recording that has none."""
    found = tuple(root.span for root in islice(text.roots(), most))
    return Step(0, None, False, "", "", None, None, None, None, found)


class InMemory:
    """``Text`` of what is no file: a string that holds JSON."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def span(self) -> Span:
        """All of it."""
        return Span(0, len(self._data))

    def read(self, span: Span) -> bytes:
        """Give the bytes of a range."""
        return self._data[span.start : span.end]

    def children_of(self, span: Span) -> list[Child]:
        """Give the children of the value in a range."""
        return spans.children_of_range(self._data, span.start, span.end)


@dataclass(frozen=True, slots=True)
class Member:
    """One child: which one from 0, its key or index, its range, whether all of it is there."""

    place: int
    name: str | int
    span: Span
    whole: bool = True


@dataclass(frozen=True, slots=True)
class MemberPage:
    """Some children of a value that follow each other, and where to go on behind them; None where nothing follows."""

    members: tuple[Member, ...]
    following: int | None


def members_page(text: Text, span: Span, most: int, *, begin: int | None = None, place: int = 0) -> MemberPage:
    """Give at most ``most`` children of the value in a range.

    ``begin`` and ``place`` go on where a page ended (its ``following``), or begin in the middle: see ``members_of``.
    Memory is bounded by the page and its largest child, up to 16 MiB of it. Raises what ``text`` raises.
    """
    found = members_of(text, span, begin=begin, place=place)
    members = tuple(islice(found, most))
    following = next(found, None)
    return MemberPage(members, members[-1].span.end if following is not None and members else None)


def members_of(text: Text, span: Span, *, begin: int | None = None, place: int = 0) -> Iterator[Member]:
    """Give the children of a value one after another, read a piece at a time.

    ``begin`` is where the child with the number ``place`` begins, from 0: its key, its value in an array, or the end of
    the child before. What is damaged ends it, behind the container that holds the damage.
    """
    opening = text.read(Span(span.start, min(span.start + 1, span.end)))
    if opening not in (b"[", b"{"):
        return
    keyed = opening == b"{"
    at = span.start + 1 if begin is None else begin
    window = _WINDOW
    while at < span.end:
        data = text.read(Span(at, min(at + window, span.end)))
        last = at + len(data) >= span.end
        used = 0
        for name, start, end, whole in _in_window(data, keyed=keyed, last=last):
            yield Member(place, name if keyed else place, Span(at + start, at + end), whole)
            place, used = place + 1, end
            if not whole:
                return
        if last:
            return
        if used:
            at, window = at + used, _WINDOW
        elif window < _LARGEST_WINDOW:
            window *= 4
        else:
            yield from _far(text, span, place)
            return


def _far(text: Text, span: Span, place: int) -> Iterator[Member]:
    """Go on from a child that is larger than any window."""
    for number, child in enumerate(text.children_of(span)):
        if number >= place:
            yield Member(number, child.name, Span(child.start, child.end), child.whole)


def _in_window(data: bytes, *, keyed: bool, last: bool) -> Iterator[tuple[str, int, int, bool]]:
    """Give the children that are whole in a piece of a container: key, begin, end, and whether all of it is there.

    In the ``last`` piece what is damaged is given as far as it is a container.
    """
    at = 0
    while True:
        at = scanner.blanks_end(data, at, len(data))
        if data[at : at + 1] == b",":
            at = scanner.blanks_end(data, at + 1, len(data))
        if at >= len(data) or data[at] in b"]}":
            return
        name = ""
        if keyed:
            found = scanner.KEY.match(data, at, len(data))
            if found is None:
                return
            name, at = values.loads_string(found.group(1)), scanner.blanks_end(data, found.end(), len(data))
        stop = _end(data, at)
        if stop < 0 or (stop == len(data) and not last and data[stop - 1] not in b'"]}'):
            if last and data[at : at + 1] in (b"[", b"{"):
                yield name, at, len(data), False
            return
        yield name, at, stop, True
        at = stop


def _end(data: bytes, at: int) -> int:
    stop = plain_end(data, at, len(data))
    if stop == Plain.ODD:
        try:
            return scanner.value_end(data, at, len(data))
        except Damage:
            return Plain.ODD
    return stop
