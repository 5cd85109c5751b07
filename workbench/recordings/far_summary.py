"""What a slim copy would come to, found by another process: a thread of ours would hold up whoever draws meanwhile.

Run as ``python -m workbench.recordings.far_summary PATH``; it writes a line of JSON for each word it has to say.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import IO, TYPE_CHECKING

import msgspec

from workbench.recordings.model import RecordingError, Unreadable
from workbench.recordings.slim import Options
from workbench.recordings.summarize import Summary, summarize_to
from workbench.recordings.watch import Watch

if TYPE_CHECKING:
    import subprocess

_MODULE = "workbench.recordings.far_summary"
_TELL_EVERY = 4 << 20


class Came(msgspec.Struct, tag="came"):
    """How far it came."""

    done: int
    total: int


class Refused(msgspec.Struct, tag="refused"):
    """Why it cannot be read."""

    problem: str
    message: str


class Done(msgspec.Struct, tag="done"):
    """What it comes to."""

    summary: Summary


_WORDS: msgspec.json.Decoder[Came | Refused | Done] = msgspec.json.Decoder(Came | Refused | Done)


class _Process:
    """The other process, which can be ended from any thread."""

    def __init__(self, path: str) -> None:
        import subprocess

        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us: we end it
        )

    def interrupt(self) -> None:
        self.process.kill()


def count_far(path: str, on_progress: Callable[[int, int], None], watch: Watch | None = None) -> Summary | None:
    """Summarise a recording by the seed's rule and write nothing; None when the other process broke down.

    Raises what ``summarize_to`` does, and Cancelled of the watch, whose ``cancel`` ends the process at once.
    """
    other = _Process(path)
    watching: AbstractContextManager[None] = nullcontext() if watch is None else watch.watching(other)
    try:
        with watching:
            return _result(other.process, on_progress)
    finally:
        other.process.kill()
        other.process.communicate()
        if watch is not None:
            watch.checkpoint()


def _result(process: subprocess.Popen[bytes], on_progress: Callable[[int, int], None]) -> Summary | None:
    assert process.stdout is not None
    for line in process.stdout:
        try:
            word = _WORDS.decode(line)
        except msgspec.DecodeError:  # it was ended in the middle of a word
            return None
        if isinstance(word, Done):
            return word.summary
        if isinstance(word, Refused):
            raise RecordingError(Unreadable(word.problem), word.message)
        on_progress(word.done, word.total)
    return None


def serve(path: str, answers: IO[bytes]) -> None:
    """Count, and say so."""
    told = 0

    def say(word: Came | Refused | Done) -> None:
        answers.write(msgspec.json.encode(word) + b"\n")
        answers.flush()

    def progress(done: int, total: int) -> None:
        nonlocal told
        if done - told >= _TELL_EVERY:
            told = done
            say(Came(done, total))

    try:
        with open(os.devnull, "wb") as nowhere:
            say(Done(summarize_to(path, nowhere, Options(), progress)))
    except RecordingError as error:
        say(Refused(error.problem.value, error.message))


if __name__ == "__main__":
    serve(sys.argv[1], sys.stdout.buffer)
