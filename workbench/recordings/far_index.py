"""Offsets in big texts, found by another process: a file that is cut while it is mapped ends that one, not ours.

Run as ``python -m workbench.recordings.far_index FD START END``; it answers one request a line on its input.
"""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

import msgspec

from workbench.recordings.model import Note, Span
from workbench.recordings.scanner import Damage
from workbench.recordings.spans import Child, Found

if TYPE_CHECKING:
    import subprocess

_MODULE = "workbench.recordings.far_index"


class Request(msgspec.Struct):
    """What is asked about a range of the text.

    Attributes:
        what: its ``roots``, the ``lines`` that begin in it, the values of the one ``line`` that it is, the ``children``
            of the value that it is, whether that is ``plain`` JSON, or the ``end`` of the value that it begins with.
        number: of the line at its start.
        last: whether the text ends with the line.
    """

    what: str
    start: int
    end: int
    number: int = 1
    last: bool = False


class Answer(msgspec.Struct):
    """How many starts and as many ends follow as 64-bit numbers; names of children, those cut, and notes.

    Attributes:
        count: of the starts.
        numbered: a line for each follows too.
        names: of children.
        cut: which are not whole, by their place in the list.
        notes: what is damaged.
        plain: whether the value is.
        resume: the place and the line behind the lines.
        damage: the byte, the words, and whether the text simply ends there.
    """

    count: int
    numbered: bool = False
    names: list[str] = []
    cut: list[int] = []
    notes: list[tuple[str, int | None, int | None, bool]] = []
    plain: bool = False
    resume: tuple[int, int] = (0, 0)
    damage: tuple[int, str, bool] | None = None


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
        answer, starts, ends, _ = self._ask(Request("roots", span.start, span.end))
        notes += [Note(*each) for each in answer.notes]
        cut = set(answer.cut)
        return [
            Found(start, end, index not in cut) for index, (start, end) in enumerate(zip(starts, ends, strict=True))
        ]

    def lines(self, span: Span, number: int, notes: list[Note]) -> tuple[Iterator[Found], int, int]:
        """Give the values of the lines that begin in a range, and the place and number of the line behind them.

        Raises Gone.
        """
        answer, found = self._ask_lines(Request("lines", span.start, span.end, number), notes)
        return found, *answer.resume

    def line(self, span: Span, number: int, last: bool, notes: list[Note]) -> list[Found]:
        """Give the values on the line that a range is; ``last`` says that the text ends with it. Raises Gone."""
        return list(self._ask_lines(Request("line", span.start, span.end, number, last), notes)[1])

    def _ask_lines(self, request: Request, notes: list[Note]) -> tuple[Answer, Iterator[Found]]:
        answer, starts, ends, numbers = self._ask(request)
        notes += [Note(*each) for each in answer.notes]
        # One after the other: the columns take a tenth of what all of them would.
        found = (Found(start, end, True, line) for start, end, line in zip(starts, ends, numbers, strict=True))
        return answer, found

    def children(self, span: Span) -> list[Child]:
        """Give the children of a value, with their places in the text. Raises Gone."""
        answer, starts, ends, _ = self._ask(Request("children", span.start, span.end))
        cut = set(answer.cut)
        names = answer.names
        return [
            Child(names[index] if names else index, start, end, index not in cut)
            for index, (start, end) in enumerate(zip(starts, ends, strict=True))
        ]

    def is_plain(self, span: Span) -> bool:
        """Say whether a value is JSON by the letter. Raises Gone."""
        return self._ask(Request("plain", span.start, span.end))[0].plain

    def value_end(self, span: Span) -> int:
        """Give where the value ends with which a range begins. Raises Gone, and Damage."""
        answer, _, ends, _ = self._ask(Request("end", span.start, span.end))
        if answer.damage is not None:
            raise Damage(answer.damage[0], answer.damage[1], cut=answer.damage[2])
        return ends[0]

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

    def _ask(self, request: Request) -> tuple[Answer, array[int], array[int], array[int]]:
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
                starts, ends, numbers = (
                    _column(process.stdout, count)
                    for count in (answer.count, answer.count, answer.count * answer.numbered)
                )
            except OSError:
                raise Gone from None
            return answer, starts, ends, numbers

    def start(self) -> subprocess.Popen[bytes]:
        """Start the other process, once."""
        import subprocess  # only big texts need it, and it takes longer to import than a small one to be read

        if self._process is not None:
            return self._process
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, str(self._descriptor), str(self._end)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(self._descriptor,),
            start_new_session=True,  # Ctrl-C is for us: we end it
        )
        return self._process


def _column(answers: IO[bytes], count: int) -> array[int]:
    raw = answers.read(8 * count)
    if len(raw) < 8 * count:
        raise Gone
    column = array("Q")
    column.frombytes(raw)
    return column


if __name__ == "__main__":
    from workbench.recordings.far_answers import serve

    serve(int(sys.argv[1]), int(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer)
