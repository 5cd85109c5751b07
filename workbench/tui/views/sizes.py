"""Where the bytes of a recording are: the places with the most vectors, and what a slim copy would be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from workbench.core.job import Job
from workbench.tui.actions import Action, bindings_of
from workbench.tui.pages.parts import Frame, Page
from workbench.tui.pages.sizes import sizes_page
from workbench.tui.state import SlimChoice
from workbench.tui.views import Desk, Subject
from workbench.tui.views.recording import EVERYWHERE, WRITE, RecordingView, action_of, slim_name
from workbench.tui.widgets.detail import Detail

if TYPE_CHECKING:
    from workbench.recordings.heaviest import Heaviest, HeavyPlace
    from workbench.tui.recorded import OpenRecording, Recorded

_MEASURE = "measure"
_LIKELY = action_of("take_likely", "t", "t", "likely too", "take likely vectors into the slim copy too, or not")
_MASK = action_of("mask", "m", "m", "secrets", "mask secrets in the slim copy, or keep them")
_COPY = action_of("copy_path", "y", "y", "copy path", "copy the path, as summarize --path takes it")


class Sizes(RecordingView):
    """One page; the places are measured when it is looked at."""

    ACTIONS: ClassVar[tuple[Action, ...]] = tuple(dict.fromkeys((WRITE, _MASK, _LIKELY, _COPY, *EVERYWHERE)))
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(ACTIONS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="sizes")
        self.list = Detail(id="sizes-page")
        self._measured: tuple[Recorded, Heaviest] | None = None
        self._why = ""

    def compose(self) -> ComposeResult:
        """One list."""
        yield self.list

    def show(self, subject: Subject | None) -> None:
        """Be about a recording: measure it, unless that is done or under way."""
        before = self.subject.key if self.subject is not None else None
        super().show(subject)
        if subject is not None and subject.key != before:
            self._why = ""
            self.list.put(0, 0)
        if not self._why:
            self._measure()

    def on_mount(self) -> None:
        """Measure what is known since before there was room."""
        super().on_mount()
        self._measure()

    def _measure(self) -> None:
        recorded = self.recorded
        if recorded is None or not self.display or not self.is_mounted or _MEASURE in self.asked:
            return
        if self._measured is not None and self._measured[0].report.vectors is recorded.report.vectors:
            return
        self._measured, self._why = None, ""

        def work(recording: OpenRecording, job: Job) -> Heaviest:
            return recording.heaviest(job)

        def then(heaviest: Heaviest) -> None:
            self._measured = (recorded, heaviest)

        self.ask_recording(_MEASURE, work, then, what="measuring vectors")

    def failed(self, slot: str, why: str) -> None:
        """Say why it cannot be measured, in its place."""
        if slot == _MEASURE:
            self._why = why
        else:
            super().failed(slot, why)

    def back(self) -> bool:
        """Stop measuring, and say so."""
        if super().back():
            self._why = "measuring was stopped: 3 measures again"
            self.redraw()
            return True
        return False

    def redraw(self) -> None:
        """Draw the page anew."""
        self.list.show(self._page, keep=True)

    def actions_here(self) -> tuple[Action, ...]:
        """Nothing can be chosen of a copy that cannot be written."""
        vectors = self.recorded.report.vectors if self.recorded is not None else None
        copied = vectors is not None and vectors.bytes_after is not None
        without = () if copied else (WRITE, _MASK, _LIKELY)
        if vectors is not None and not vectors.likely:
            without = (*without, _LIKELY)
        return tuple(each for each in self.ACTIONS if each not in without)

    @property
    def _choice(self) -> SlimChoice:
        return self.subject.source.slim if self.subject is not None else SlimChoice()

    @property
    def _heaviest(self) -> Heaviest | None:
        return self._measured[1] if self._measured is not None else None

    def _page(self, frame: Frame) -> Page:
        recorded, subject = self.recorded, self.subject
        if recorded is None or subject is None:
            return Page()
        out = slim_name(subject.source.path)
        return sizes_page(recorded.report.vectors, self._heaviest, self._why, self._choice, out, frame)

    def take_focus(self) -> None:
        """Give the focus to the page; asked for again it measures again what was stopped."""
        self.list.focus()
        self._why = ""
        self._measure()

    def _choose(self, choice: SlimChoice) -> None:
        if self.subject is not None:
            self.subject.source.slim = choice
            self.redraw()

    def action_take_likely(self) -> None:
        """Summarise likely vectors in the copy too, or not."""
        self._choose(replace(self._choice, wide=not self._choice.wide))

    def action_mask(self) -> None:
        """Mask secrets in the copy, or keep them."""
        self._choose(replace(self._choice, redact=not self._choice.redact))

    @property
    def _here(self) -> HeavyPlace | None:
        heaviest = self._heaviest
        places = (*heaviest.seed, *heaviest.likely) if heaviest is not None else ()
        return places[self.list.cursor] if self.list.cursor < len(places) else None

    def action_copy_path(self) -> None:
        """Copy the path under the cursor."""
        here = self._here
        if here is not None:
            self.desk.copy(here.path, "the path")
