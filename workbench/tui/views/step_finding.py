"""Finding in a recording: the line to type, the search on its thread, and the way from hit to hit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.tui.draw import Line, Tone, clip, number
from workbench.tui.pages.marking import pattern_of
from workbench.tui.widgets.typed import Question, TypedLine

if TYPE_CHECKING:
    import re

    from textual.timer import Timer

    from workbench.core.job import Job
    from workbench.recordings.finding import Hit
    from workbench.tui.recorded import OpenRecording
    from workbench.tui.views.steps import Steps

FIND = "find"
_TYPING_SECONDS = 0.15
"""How long what is typed rests before it is searched for."""
_NEEDLE_CELLS = 24
_MOST_VALUES = 200
"""How many values of a recording without steps are searched: those that are shown."""


class StepFinding:
    """What is searched for in one recording, and what was found so far."""

    def __init__(self, view: Steps) -> None:
        self._view = view
        self.pattern: re.Pattern[str] | None = None
        self.needle = ""
        self.hits: list[Hit] = []
        self._at: int | None = None
        self._all = False
        self._enough = False
        self._go = False
        self._timer: Timer | None = None

    def forget(self) -> None:
        """Search for nothing."""
        self._view.drop(FIND)
        self._rest()
        self.needle, self.pattern, self.hits, self._at = "", None, [], None
        self._all = self._enough = self._go = False

    @property
    def searching(self) -> bool:
        """Whether the search still goes on."""
        return FIND in self._view.asked

    # --- asking ------------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask what to search for."""
        self._view.desk.type_line(
            Question(
                "/",
                "in names, ids, keys and values; enter goes there",
                self.needle,
                changed=self._typed,
                done=self._done,
                left=self._left,
            )
        )

    def _typed(self, typed: str) -> None:
        self._rest()
        self._timer = self._view.set_timer(_TYPING_SECONDS, lambda: self._search(typed))

    def _done(self, typed: str) -> None:
        self._rest()
        self._search(typed)
        if self.needle:
            self._go = True
            self.came_on()

    def _left(self) -> None:
        self.forget()
        self._view.redraw()

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _search(self, typed: str) -> None:
        if typed == self.needle and (self.searching or self._all):
            return
        self.forget()
        recorded = self._view.recorded
        if not typed or recorded is None:
            self._view.redraw()
            return
        self.needle, self.pattern = typed, pattern_of(typed)
        hits: list[Hit] = []
        self.hits = hits
        rows = recorded.rows

        def work(recording: OpenRecording, job: Job) -> bool:
            from workbench.recordings.browsing import whole_step
            from workbench.recordings.finding import find_in

            steps = [row.step for row in rows] or [whole_step(recording.document, _MOST_VALUES)]
            return find_in(recording.document, steps, typed, job, hits.append)

        def then(whole: bool) -> None:
            self._all, self._enough = True, not whole
            self.came_on()

        self._view.ask_recording(FIND, work, then, what=f"finding {clip(typed, _NEEDLE_CELLS)}")
        self._view.redraw()

    # --- going from hit to hit ---------------------------------------------------------------------------------

    def came_on(self) -> None:
        """Go to the first hit as soon as there is one; say how many there are while the line is typed."""
        line = self._view.screen.query_one(TypedLine)
        if line.asking and self.needle:
            line.say(self._counted())
        if self._go and self.hits:
            self._go = False
            self.go(1)
        elif self._go and self._all:
            self._go = False
            self._view.desk.say(f"nothing found in {self._steps()}")
        self._view.head.draw_anew()

    def _steps(self) -> str:
        from workbench.checkup.wording import counted

        recorded = self._view.recorded
        return counted(len(recorded.rows) if recorded is not None else 0, "step")

    def go(self, by: int) -> None:
        """Go to the next hit, or the one before, that the filter leaves; after the last one comes the first."""
        if not self.needle:
            self._view.desk.say("nothing is searched for: / finds")
            return
        places = self._view.places_of(self.hits)
        if not places:
            self._view.desk.say(
                "every hit is in a step that is hidden: f shows it" if self.hits else f"no hit {self._so_far()}".strip()
            )
            return
        ahead = [at for at in places if self._at is None or (at - self._at) * by > 0]
        if not ahead and self.searching:
            self._view.desk.say("no further hit so far")
            return
        self._at = (ahead or places)[0 if by > 0 else -1]
        self._view.show_hit(self.hits[self._at])

    def _so_far(self) -> str:
        return "" if self._all and not self._enough else "so far"

    def _counted(self) -> str:
        from workbench.checkup.wording import counted

        hits = counted(len(self.hits), "hit")
        if self._enough:
            return f"{hits} and more: the search stopped there"
        return f"{hits} {self._so_far()}".strip()

    def fact(self) -> Line:
        """Say what is searched for and how it stands; empty where nothing is."""
        line = Line()
        if not self.needle:
            return line
        line.add("/", Tone.ACCENT, bold=True).add(clip(self.needle, _NEEDLE_CELLS), Tone.ACCENT, bold=True).add("  ")
        if self._at is not None:
            line.add(f"{number(self._at + 1)} of ", Tone.MUTED)
        line.add(self._counted(), Tone.MUTED)
        hidden = len(self.hits) - len(self._view.places_of(self.hits)) if self._view.filters else 0
        return line.add(f", {number(hidden)} hidden", Tone.WARN) if hidden else line
