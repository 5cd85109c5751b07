"""What all views of a recording share: going to its errors and retrievals, finding in it, and the slim copy."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING

from workbench.core.job import Job
from workbench.tui.actions import Action, Place
from workbench.tui.views import View
from workbench.tui.widgets.typed import Question

if TYPE_CHECKING:
    from workbench.checkup.recording_report import VectorTotals
    from workbench.recordings.summarize import Summary
    from workbench.tui.recorded import OpenRecording, Recorded
    from workbench.tui.state import SlimChoice
    from workbench.tui.views.steps import Steps

_COPY = "copy"


def action_of(id: str, keys: str, shown: str, title: str, help: str, *, in_footer: bool = True) -> Action:
    """Make an action of a view of recordings."""
    return Action(id, tuple(keys.split(",")), shown, title, help, frozenset({Place.RECORDING}), in_footer)


WRITE = action_of("write_slim", "w", "w", "write", "write a copy with every vector as its dims and norm")

NEXT_RETRIEVAL = action_of("next_retrieval", "right_square_bracket", "] [", "retrieval", "go to the next retrieval")
PREVIOUS_RETRIEVAL = action_of(
    "previous_retrieval", "left_square_bracket", "[", "before", "go to the retrieval before", in_footer=False
)
NEXT_ERROR = action_of("next_error", "right_curly_bracket", "} {", "error", "go to the next step that failed")
PREVIOUS_ERROR = action_of(
    "previous_error", "left_curly_bracket", "{", "error before", "go to the failed step before", in_footer=False
)
FIND = action_of("find_in", "slash", "/", "find", "find in names, ids, keys, values, JSON in strings")
EVERYWHERE = (NEXT_RETRIEVAL, PREVIOUS_RETRIEVAL, NEXT_ERROR, PREVIOUS_ERROR, WRITE, FIND)
"""What every view of a recording can do."""


class RecordingView(View):
    """A view of a recording."""

    @property
    def step_here(self) -> int | None:
        """The number of the step that is looked at, from which the next error is counted; None for the first one."""
        return None

    def find(self) -> bool:
        """Search in the recording."""
        self.action_find_in()
        return True

    def action_find_in(self) -> None:
        """Search among the steps and in their payloads, wherever this is asked for."""
        steps = self._steps()
        if steps is not None:
            steps.action_find_in()

    def action_next_error(self) -> None:
        """Go to the next step that failed; after the last one comes the first."""
        self._go_to_error(1)

    def action_previous_error(self) -> None:
        """Go to the one before."""
        self._go_to_error(-1)

    def _go_to_error(self, by: int) -> None:
        number = self.step_here
        recorded = self.recorded
        if recorded is not None and not recorded.any_failed and not recorded.report.errors:
            self.desk.say("no step failed")
            return
        steps = self._steps()
        if steps is not None:
            steps.go_to_error(by, number)

    def action_next_retrieval(self) -> None:
        """Go to the retrieval that is looked at."""
        self.desk.choose_view("retrievals")

    def action_previous_retrieval(self) -> None:
        """Go there as well: it is the view of retrievals that goes through them."""
        self.desk.choose_view("retrievals")

    def _steps(self) -> Steps | None:
        from workbench.tui.views.steps import Steps

        view = self.desk.choose_view("steps")
        return view if isinstance(view, Steps) else None

    @property
    def recorded(self) -> Recorded | None:
        """The recording as it is known at this moment."""
        return self.subject.recorded if self.subject is not None else None

    @property
    def at_last(self) -> bool:
        """Whether the cursor stands where the next thing that happens will come."""
        return False

    def to_last(self) -> None:
        """Put it there."""

    def action_write_slim(self) -> None:
        """Ask for the name of the slim copy, and write it."""
        recorded, subject = self.recorded, self.subject
        if recorded is None or subject is None:
            return
        if recorded.report.vectors.bytes_after is None:
            self.desk.say("no slim copy can be written of this format, or of a damaged file")
            return
        vectors, choice = recorded.report.vectors, subject.source.slim
        self.desk.type_line(
            Question("slim copy to", what_is_written(vectors, choice), slim_name(subject.source.path), done=self._write)
        )

    def _write(self, typed: str) -> None:
        out = os.path.expanduser(typed.strip())
        subject = self.subject
        if not out or subject is None:
            return
        path, choice = subject.source.path, subject.source.slim

        def work(_recording: OpenRecording, job: Job) -> Summary | str:
            return write_slim(path, out, job, choice)

        self.ask_recording(_COPY, work, lambda answer: self._written(answer, out), what="writing the slim copy")

    def _written(self, answer: Summary | str, out: str) -> None:
        if isinstance(answer, str):
            self.desk.say(answer)
            return
        from workbench.checkup.wording import counted, size_text

        likely = f", {counted(answer.unsummarised_likely, 'likely vector')} kept" if answer.unsummarised_likely else ""
        wrote = f"wrote {PurePath(out).name}: {size_text(answer.bytes_after)}"
        masked = f", {counted(answer.masked, 'value')} masked as secret" if answer.masked else ""
        self.desk.say(f"{wrote}, {counted(answer.vectors, 'vector')} as shape{likely}{masked}")


def what_is_written(vectors: VectorTotals, choice: SlimChoice) -> str:
    """Say in a few words what the copy will be."""
    from workbench.checkup.wording import size_text

    assert vectors.bytes_after is not None
    size = size_text(vectors.bytes_after)
    less = "less than " if choice.wide and vectors.likely else ""
    return f"enter: {less}{size}, secrets {'masked' if choice.redact else 'kept'}"


def slim_name(path: str) -> str:
    """Offer a name beside the recording: ``run.json`` gives ``run.slim.json``, without a suffix of compression."""
    given = PurePath(path)
    if given.suffix in (".gz", ".zst"):
        given = given.with_suffix("")
    return str(given.with_name(f"{given.stem}.slim{given.suffix}"))


def write_slim(path: str, out: str, job: Job, choice: SlimChoice) -> Summary | str:
    """Write the copy as ``workbench summarize`` does; what stands there already is never written over.

    Gives a sentence where that cannot be done. Raises RecordingError, Cancelled.
    """
    from workbench.recordings.slim import Options
    from workbench.recordings.summarize import CannotWrite, SameFile, summarize_file

    if os.path.lexists(out):
        same = os.path.exists(out) and os.path.samefile(out, path)
        why = "is the recording itself" if same else "exists already"
        return f"{PurePath(out).name} {why}: give another name"

    try:
        return summarize_file(path, out, Options(choice.wide, choice.redact), on_progress=job.progress)
    except SameFile:
        return f"{PurePath(out).name} is the recording itself: give another name"
    except CannotWrite as error:
        return str(error)
