"""What happened in a recording: its steps in time, and below them the values of the one under the cursor."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from workbench.tui.actions import Action, bindings_of
from workbench.tui.draw import Line, Tone, number, titled_rule
from workbench.tui.pages.parts import ROOMY, Frame
from workbench.tui.pages.payload import payload_head, payload_line
from workbench.tui.pages.recording import said_lines, worst_line
from workbench.tui.pages.steps import axis_line, step_line, step_name
from workbench.tui.payload import PayloadRow, read_payload
from workbench.tui.recorded import Recorded, StepRow
from workbench.tui.views import Desk, Subject
from workbench.tui.views.recording import WRITE, RecordingView, action_of
from workbench.tui.widgets.lines import LineList, look_of
from workbench.tui.widgets.rows import HeadRows, RowList

_PAYLOAD = "payload"

_OPEN = action_of("open_step", "enter", "enter", "open", "go to the retrieval that a step made, else into its payload")
_NEXT = action_of("next_mark", "right_square_bracket", "] [", "next", "go to the next error or retrieval")
_PREVIOUS = action_of("previous_mark", "left_square_bracket", "[", "before", "go to the one before", in_footer=False)
_ERRORS = action_of("errors_first", "e", "e", "errors", "failed steps on top, or all in their order")
_PART = action_of("next_part", "tab", "tab", "payload", "go to the payload, and from there to the sources")
_SAID = action_of("said", "v", "v", "what is said", "all that is said of the recording, in the place of the payload")
_COPY = action_of("copy_value", "y", "y", "copy", "copy the value under the cursor as it is shown, secrets masked")
_COPY_PATH = action_of("copy_path", "Y", "Y", "copy path", "copy the way to the value", in_footer=False)


class Steps(RecordingView):
    """Two lists: steps, and the payload of one of them or all that is said of the recording."""

    ACTIONS: ClassVar[tuple[Action, ...]] = (_OPEN, _NEXT, _PREVIOUS, _ERRORS, _PART, _SAID, WRITE, _COPY, _COPY_PATH)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(ACTIONS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, id="steps")
        self.head = HeadRows(self._head, id="steps-head")
        self.list = RowList(
            self._draw_step, lambda: len(self._rows), id="steps-list", nothing=lambda: "no step is recorded"
        )
        self.payload_head = HeadRows(self._payload_head, id="payload-head")
        self.payload = RowList(self._draw_value, self._values, id="payload-list", nothing=self._no_payload)
        self._errors_first: set[tuple[int, int, int]] = set()
        self._kept: dict[tuple[int, int, int], tuple[int, float]] = {}
        self._read: tuple[PayloadRow, ...] | None = None
        self._read_of: int | None = None
        self._why = ""
        self._says = False
        self._told: tuple[Recorded, int, list[Line]] | None = None

    def compose(self) -> ComposeResult:
        """Put the steps above, the payload below."""
        yield self.head
        yield self.list
        yield self.payload_head
        yield self.payload

    # --- what is shown -----------------------------------------------------------------------------------------

    @property
    def _rows(self) -> Sequence[StepRow]:
        recorded = self.recorded
        if recorded is None:
            return ()
        first = self.subject is not None and self.subject.key in self._errors_first
        return recorded.errors_first if first else recorded.rows

    @property
    def here(self) -> StepRow | None:
        """The step under the cursor."""
        rows = self._rows
        return rows[self.list.cursor] if self.list.cursor < len(rows) else None

    def show(self, subject: Subject | None) -> None:
        """Be about a recording, with the cursor where it was left there."""
        if self.subject is not None and self.is_mounted:
            self._kept[self.subject.key] = (self.list.cursor, self.list.scroll_y)
        moved = (self.subject.key if self.subject is not None else None) != (
            subject.key if subject is not None else None
        )
        super().show(subject)
        if moved and self.is_mounted:
            self._put_back()

    def on_mount(self) -> None:
        """Show what is known since before there was room."""
        super().on_mount()
        self._put_back()

    def _put_back(self) -> None:
        kept = self._kept.get(self.subject.key, (0, 0.0)) if self.subject is not None else (0, 0.0)
        self.list.put(*kept)
        self._read, self._read_of, self._why, self._says = None, None, "", False
        self._read_here()

    def redraw(self) -> None:
        """Draw anew what is seen."""
        self.head.draw_anew()
        # As high as its rows where there is room; the payload begins right below.
        self.list.styles.height = max(1, len(self._rows))
        self.list.rows_changed()
        self.payload_head.draw_anew()
        self.payload.rows_changed()

    def _head(self, width: int) -> list[Line]:
        recorded = self.recorded
        if recorded is None:
            return [Line()]
        signs = look_of(self)[1]
        first = self.subject is not None and self.subject.key in self._errors_first
        errors = sum(row.failed for row in recorded.errors_first[:1])
        fact = Line().add(number(len(recorded.rows)), Tone.FAINT)
        fact.add(" steps" if len(recorded.rows) != 1 else " step", Tone.FAINT)
        if first:
            fact = Line().add("errors first" if errors else "no step failed", Tone.MUTED)
        rows = [titled_rule("Steps", width, signs.rule, fact=fact, focused=self.list.has_focus)]
        worst = worst_line(recorded, signs, width)
        if worst is not None:
            rows = [worst, Line(), *rows] if self.app.size.height >= ROOMY else [worst, *rows]
        return [*rows, axis_line(recorded, width)] if self.app.size.height >= ROOMY else rows

    def _draw_step(self, index: int, frame: Frame, here: bool) -> Line:
        recorded = self.recorded
        assert recorded is not None
        return step_line(self._rows[index], recorded, frame.width, frame.signs, here=here)

    def go_to(self, number: int) -> None:
        """Put the cursor on a step by its number; retrievals lead here."""
        place = next((place for place, row in enumerate(self._rows) if row.step.n == number), None)
        if place is not None and self.is_mounted:
            self.list.put(place)
            self._says = False
            self._read_here()
            self.redraw()

    # --- the payload -------------------------------------------------------------------------------------------

    def _read_here(self) -> None:
        """Read the payload of the step under the cursor, unless it is there."""
        here = self.here
        if here is None or here.step.n == self._read_of:
            return
        step = here.step
        self._read, self._read_of, self._why = None, step.n, ""
        self.payload.put(0, 0)

        def then(rows: tuple[PayloadRow, ...]) -> None:
            self._read = rows

        self.ask_recording(_PAYLOAD, lambda recording, job: read_payload(recording, step, job), then)

    def failed(self, slot: str, why: str) -> None:
        """Say why a payload cannot be shown, in its place."""
        if slot == _PAYLOAD:
            self._why = why
        else:
            super().failed(slot, why)

    def _said_lines(self) -> list[Line]:
        recorded, width = self.recorded, self.payload.inner
        if recorded is None:
            return []
        if self._told is None or self._told[0] is not recorded or self._told[1] != width:
            self._told = (recorded, width, said_lines(recorded, look_of(self)[1], width))
        return self._told[2]

    def _values(self) -> int:
        return len(self._said_lines()) if self._says else len(self._read or ())

    def _no_payload(self) -> str:
        if self._why:
            return self._why
        if self._read is None and self.here is not None:
            return "being read …"
        return "nothing more is recorded of this step"

    def _draw_value(self, index: int, frame: Frame, here: bool) -> Line:
        if self._says:
            return self._said_lines()[index]
        rows = self._read or ()
        return payload_line(rows[index], frame.width, frame.signs, here=here and self.payload.has_focus)

    @property
    def _value(self) -> PayloadRow | None:
        rows = self._read or ()
        return rows[self.payload.cursor] if not self._says and self.payload.cursor < len(rows) else None

    def _payload_head(self, width: int) -> list[Line]:
        frame = Frame(width, 1, look_of(self)[1], self.payload.has_focus)
        if self._says:
            rows = [payload_head("What is said of it", "", frame)]
        else:
            value, here = self._value, self.here
            rows = [
                payload_head(
                    f"Payload of {step_name(here)}" if here is not None else "Payload",
                    value.path if value else "",
                    frame,
                )
            ]
        return [Line(), *rows] if self.app.size.height >= ROOMY else rows

    # --- keys --------------------------------------------------------------------------------------------------

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        """Another step, or another value of it."""
        message.stop()
        if message.sender is self.list:
            self._says = False
            self._read_here()
            self.redraw()
        self.payload_head.refresh()
        self.desk.frame_changed()

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """Open the row that was clicked a second time."""
        message.stop()
        if message.sender is self.list:
            self.action_open_step()

    def on_line_list_left(self, message: LineList.Left) -> None:
        """From the payload back to the steps; from these to the sources."""
        if self.payload.has_focus:
            message.stop()
            self.list.focus()

    def on_descendant_focus(self) -> None:
        """Draw the titles anew: that of the list with the focus is marked."""
        self.head.refresh()
        self.payload_head.refresh()

    def actions_here(self) -> tuple[Action, ...]:
        """Give what can be done in the list that has the focus."""
        if self.payload.has_focus:
            return (_COPY, _COPY_PATH, _NEXT, _PREVIOUS, _SAID, WRITE)
        return (_OPEN, _NEXT, _PREVIOUS, _ERRORS, _PART, _SAID, WRITE)

    @property
    def back_title(self) -> str:
        """Where ``esc`` leads."""
        return "steps" if self.payload.has_focus else "sources"

    def back(self) -> bool:
        """From the payload to the steps; a reading that is named is stopped first."""
        if super().back():
            return True
        if self.payload.has_focus:
            self.list.focus()
            return True
        if self._says:
            self.action_said()
            return True
        return False

    def take_focus(self) -> None:
        """Give the focus to the steps."""
        self.list.focus()

    def action_open_step(self) -> None:
        """Go to the retrieval that the step made, else into its payload."""
        here = self.here
        if self.payload.has_focus or here is None:
            return
        if here.retrieval is not None:
            from workbench.tui.views.retrievals import Retrievals

            view = self.desk.choose_view("retrievals")
            if isinstance(view, Retrievals):
                view.go_to(here.retrieval)
        else:
            self.payload.focus()

    def action_next_part(self) -> None:
        """From the steps to the payload, from there to the sources."""
        if self.list.has_focus:
            self.payload.focus()
        else:
            self.desk.act("other_pane")

    def action_next_mark(self) -> None:
        """Go to the next error or retrieval; after the last one comes the first."""
        self._go_to_mark(1)

    def action_previous_mark(self) -> None:
        """Go to the one before."""
        self._go_to_mark(-1)

    def _go_to_mark(self, by: int) -> None:
        recorded, subject = self.recorded, self.subject
        if recorded is None or subject is None:
            return
        marks = recorded.marks_first if subject.key in self._errors_first else recorded.marks
        if not marks:
            self.desk.say("no step failed, and none searched")
            return
        here = self.list.cursor
        place = bisect_right(marks, here) if by > 0 else bisect_left(marks, here) - 1
        self.list.move_to(marks[place % len(marks)])

    def action_errors_first(self) -> None:
        """Failed steps on top, with the cursor on the first of them; or all in their order, on the same step."""
        subject, here = self.subject, self.here
        if subject is None or here is None:
            return
        self._errors_first ^= {subject.key}
        on_top = subject.key in self._errors_first
        place = 0 if on_top and self._rows[0].failed else self._rows.index(here)
        self.list.put(place)
        if on_top and not self._rows[0].failed:
            self.desk.say("no step failed")
        self._read_here()
        self.redraw()

    def action_said(self) -> None:
        """Show all that is said of the recording below the steps, or the payload again."""
        self._says = not self._says
        self.payload.put(0, 0)
        self.redraw()

    def action_copy_value(self) -> None:
        """Copy the value as it is shown; of a text what stands between its quotes."""
        value: PayloadRow | None = self._value
        if value is not None:
            text = value.text
            self.desk.copy(text[1:-1] if text[:1] == text[-1:] == '"' and len(text) > 1 else text, "the value")

    def action_copy_path(self) -> None:
        """Copy the way to the value."""
        value = self._value
        if value is not None:
            self.desk.copy(value.path, "the path")
