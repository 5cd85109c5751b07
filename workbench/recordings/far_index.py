"""Offsets in big texts, found by another process: a file that is cut while it is mapped ends that one, not ours.

Run as ``python -m workbench.recordings.far_index FD START END``; it answers one request a line on its input.
"""

from __future__ import annotations

import mmap
import subprocess
import sys
import threading
from array import array
from collections.abc import Iterator
from typing import IO

import msgspec

from workbench.recordings.model import Note, Span
from workbench.recordings.plain import PLAIN_FAILURES, is_plain_range, plain_end
from workbench.recordings.scanner import KEY, blanks_end
from workbench.recordings.spans import Child, Found, children_of_range, items_in_place, values_in
from workbench.recordings.values import loads_string

_MODULE = "workbench.recordings.far_index"
_LONG_LISTS = ("events", "spans", "steps", "records", "resourceSpans", "observations", "interactions", "data")
_LISTS = msgspec.json.Decoder(
    msgspec.defstruct("Lists", [(name, list[msgspec.Raw] | msgspec.UnsetType, msgspec.UNSET) for name in _LONG_LISTS])
)


class Request(msgspec.Struct):
    """What is asked: the roots of the text, the children of a value, or whether a value is plain JSON."""

    what: str
    start: int
    end: int


class Answer(msgspec.Struct):
    """How many starts and ends follow as pairs of 64-bit numbers; names of children, those cut, and notes."""

    count: int
    names: list[str] = []
    cut: list[int] = []
    notes: list[tuple[str, int | None, int | None, bool]] = []
    plain: bool = False


class Gone(Exception):
    """The other process ended, as it does when the file is cut while it is mapped."""


class FarIndex:
    """Asks the other process, which is started with the first question and ended with ``close``."""

    def __init__(self, descriptor: int, end: int) -> None:
        """Prepare to ask about the text of an open file, up to ``end``."""
        self._descriptor = descriptor
        self._end = end
        self._process: subprocess.Popen[bytes] | None = None
        self._interrupted = False
        self._one_at_a_time = threading.Lock()

    def roots(self, span: Span, notes: list[Note]) -> list[Found]:
        """Give the values that follow each other. Raises Gone."""
        answer, offsets = self._ask(Request("roots", span.start, span.end))
        notes += [Note(*each) for each in answer.notes]
        cut = set(answer.cut)
        pairs = zip(offsets[::2], offsets[1::2], strict=True)
        return [Found(start, end, index not in cut) for index, (start, end) in enumerate(pairs)]

    def children(self, span: Span) -> list[Child]:
        """Give the children of a value, with their places in the text. Raises Gone."""
        answer, offsets = self._ask(Request("children", span.start, span.end))
        cut = set(answer.cut)
        names = answer.names
        return [
            Child(names[index] if names else index, start, end, index not in cut)
            for index, (start, end) in enumerate(zip(offsets[::2], offsets[1::2], strict=True))
        ]

    def is_plain(self, span: Span) -> bool:
        """Say whether a value is JSON by the letter. Raises Gone."""
        return self._ask(Request("plain", span.start, span.end))[0].plain

    def close(self) -> None:
        """End the other process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def interrupt(self) -> None:
        """End the other process, from any thread: whoever waits for its answer is told that it is gone."""
        self._interrupted = True
        process = self._process
        if process is not None:
            process.kill()

    def _ask(self, request: Request) -> tuple[Answer, array[int]]:
        with self._one_at_a_time:
            process = self.start()
            assert process.stdin is not None
            assert process.stdout is not None
            if self._interrupted:
                raise Gone
            try:
                process.stdin.write(msgspec.json.encode(request) + b"\n")
                process.stdin.flush()
                line = process.stdout.readline()
                if not line.endswith(b"\n"):
                    raise Gone
                answer = msgspec.json.decode(line, type=Answer)
                offsets = array("Q")
                raw = process.stdout.read(16 * answer.count)
                if len(raw) < 16 * answer.count:
                    raise Gone
                offsets.frombytes(raw)
            except OSError:
                raise Gone from None
            return answer, offsets

    def start(self) -> subprocess.Popen[bytes]:
        """Start the other process, once."""
        if self._process is not None:
            return self._process
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE, str(self._descriptor), str(self._end)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(self._descriptor,),
            start_new_session=True,  # Ctrl-C is for us: we end it
        )
        return self._process


def _answer(text: mmap.mmap, request: Request, known: dict[int, list[Child]]) -> Iterator[bytes]:
    answer, offsets = Answer(0), array("Q")
    whole = _one_value(text, request, known) if request.what == "roots" else None
    if whole is not None:
        offsets.extend(whole)
    elif request.what == "roots":
        notes: list[Note] = []
        for index, found in enumerate(values_in(text, request.start, request.end, notes)):
            offsets.extend((found.start, found.end))
            if not found.whole:
                answer.cut.append(index)
        answer.notes = [(note.message, note.line, note.byte, note.left_out) for note in notes]
    elif request.what == "plain":
        answer.plain = is_plain_range(text, request.start, request.end)
    else:
        listed = known.pop(request.start, None) or children_of_range(text, request.start, request.end)
        for index, child in enumerate(listed):
            offsets.extend((child.start, child.end))
            if isinstance(child.name, str):
                answer.names.append(child.name.encode("utf-8", "replace").decode())
            if not child.whole:
                answer.cut.append(index)
    answer.count = len(offsets) // 2
    yield msgspec.json.encode(answer) + b"\n"
    yield offsets.tobytes()


def _one_value(text: mmap.mmap, request: Request, known: dict[int, list[Child]]) -> tuple[int, int] | None:
    """Take a text that is one object by the letter in one pass, which finds the items of its long lists too.

    Those and its own children are asked for next. None when it is anything else.
    """
    start = blanks_end(text, request.start, request.end)
    try:
        # Not released by hand: the items below are views of it.
        lists = _LISTS.decode(memoryview(text)[start : request.end])
    except PLAIN_FAILURES:
        return None
    members: list[Child] = []
    at = blanks_end(text, start + 1, request.end)
    while text[at] == 0x22:
        key = KEY.match(text, at, request.end)
        if key is None:
            return None
        name, begin = loads_string(key.group(1)), blanks_end(text, key.end(), request.end)
        items = getattr(lists, name, None) if name in _LONG_LISTS else None
        found = items_in_place(text, begin, items) if isinstance(items, list) and items else None
        if found:
            known[begin] = found
            end = blanks_end(text, found[-1].end, request.end) + 1
        else:
            end = plain_end(text, begin, request.end)
        if end < 0:
            return None
        members.append(Child(name, begin, end))
        at = blanks_end(text, end, request.end)
        if text[at] == 0x7D:
            known[start] = members
            return start, at + 1
        at = blanks_end(text, at + 1, request.end)
    return None


def serve(descriptor: int, end: int, requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests about a text until there are no more."""
    known: dict[int, list[Child]] = {}
    with mmap.mmap(descriptor, end, access=mmap.ACCESS_READ) as text:
        for line in requests:
            for part in _answer(text, msgspec.json.decode(line, type=Request), known):
                answers.write(part)
            answers.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer)
