"""The payload of a step below the steps: read when looked at, unfolded a level at a time, copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from workbench.tui.draw import Line
from workbench.tui.pages.parts import ROOMY, Frame
from workbench.tui.pages.payload import payload_head, payload_line
from workbench.tui.pages.recording import said_lines
from workbench.tui.pages.steps import failure_lines, step_name
from workbench.tui.payload import Beyond, Holds, Made, Node, PayloadRow, PayloadTree, Sort
from workbench.tui.widgets.lines import look_of
from workbench.tui.widgets.rows import HeadRows, RowList

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.recordings.finding import Hit
    from workbench.tui.copying import Copied
    from workbench.tui.recorded import OpenRecording, Recorded
    from workbench.tui.views.steps import Steps

_NAMED = 48
"""From so many columns on the title names the step; beside its evidence that says which one it is."""

_FAILURE_ROWS = 3
_WHOLE = 0
"""In the place of the number of a step: all values of a recording that has no steps."""

PAYLOAD, _UNFOLD, _COPIED = "payload", "unfold", "copied"


class StepPayload:
    """Head and list of the payload, or of all that is said of the recording in its place."""

    def __init__(self, view: Steps) -> None:
        self._view = view
        self.head = HeadRows(self._head, id="payload-head")
        self.list = RowList(
            self._draw, self._count, id="payload-list", nothing=self._nothing, opens=self.opens, closes=self.closes
        )
        self.says = False
        self.why = ""
        self.tree: PayloadTree | None = None
        self._read_of: int | None = None
        self._wanted: Hit | None = None
        self._told: tuple[Recorded, int, list[Line]] | None = None

    # --- reading -----------------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Be about another recording."""
        self.tree, self._read_of, self.why, self.says, self._wanted = None, None, "", False, None

    def read(self) -> None:
        """Read the payload of the step under the cursor, unless it is there or on its way."""
        recorded, here = self._view.recorded, self._view.here
        if recorded is None or (here is None and recorded.rows):
            return
        step = here.step if here is not None else None
        number = step.n if step is not None else _WHOLE
        if number == self._read_of and (self.tree is not None or self.why or PAYLOAD in self._view.asked):
            return
        if number != self._read_of:
            self._view.drop(_UNFOLD)
            self._wanted = None
        self.tree, self._read_of, self.why = None, number, ""
        self.list.put(0, 0)

        def work(recording: OpenRecording, job: Job) -> PayloadTree:
            from workbench.tui.payload_reading import read_payload, read_whole

            return read_whole(recording, job) if step is None else read_payload(recording, step, job)

        def then(tree: PayloadTree) -> None:
            self.tree = tree
            if self._wanted is not None:
                self.reveal(self._wanted)

        self._view.ask_recording(PAYLOAD, work, then)

    def reveal(self, hit: Hit) -> None:
        """Unfold the way to what was found and put the cursor on it, as soon as the payload is read."""
        tree = self.tree
        self._wanted = hit
        if tree is None:
            return
        self._wanted = None
        way = hit.way.steps() if hit.way is not None else []

        def work(_: OpenRecording, job: Job) -> tuple[list[Made], Node | None]:
            from workbench.tui.payload_reading import reveal

            return reveal(tree, hit.span, way, job)

        def then(answer: tuple[list[Made], Node | None]) -> None:
            made, node = answer
            tree.take(made)
            pattern = self._view.finding.pattern
            if node is not None and node.sort is Sort.TEXT and pattern is not None and not pattern.search(node.shown):
                node.shown = f'"{hit.excerpt} …"'  # it lies beyond what is shown of a long text
            place = tree.place_of(node) if node is not None else None
            if place is not None and self.tree is tree:
                self._view.redraw()
                self.list.put(place)

        self._view.ask_recording(_UNFOLD, work, then)

    # --- drawing -----------------------------------------------------------------------------------------------

    def _rows(self) -> Sequence[PayloadRow]:
        return self.tree.rows if self.tree is not None else ()

    @property
    def row(self) -> PayloadRow | None:
        """The row under the cursor."""
        rows = self._rows()
        return rows[self.list.cursor] if not self.says and self.list.cursor < len(rows) else None

    def _said_lines(self) -> list[Line]:
        recorded, width = self._view.recorded, self.list.inner
        if recorded is None:
            return []
        if self._told is None or self._told[0] is not recorded or self._told[1] != width:
            self._told = (recorded, width, said_lines(recorded, look_of(self.list)[1], width))
        return self._told[2]

    def _count(self) -> int:
        return len(self._said_lines()) if self.says else len(self._rows())

    def _nothing(self) -> str:
        if self.why:
            return self.why
        if self.tree is None and PAYLOAD in self._view.asked:
            return "being read …"
        return "nothing more is recorded of this step"

    def _draw(self, index: int, frame: Frame, here: bool) -> Line:
        if self.says:
            return self._said_lines()[index]
        row = self._rows()[index]
        shown = here and self.list.has_focus
        return payload_line(row, frame.width, frame.signs, here=shown, pattern=self._view.finding.pattern)

    def _head(self, width: int) -> list[Line]:
        frame = Frame(width, 1, look_of(self.list)[1], self.list.has_focus)
        roomy = self._view.app.size.height >= ROOMY
        if self.says:
            rows = [payload_head("What is said of it", "", frame)]
        else:
            row, here = self.row, self._view.here
            said = "the last one counts" if row is not None and row.node.repeated is not None else ""
            title = f"Payload of {step_name(here)}" if here is not None and width >= _NAMED else "Payload"
            if here is None and self._read_of == _WHOLE:
                title = "The values of the file"
            rows = [payload_head(title, row.node.path if row is not None else "", frame, said)]
            if here is not None and here.failed:
                rows += failure_lines(here, width, frame.signs, _FAILURE_ROWS if roomy else 1)
        return [Line(), *rows] if roomy else rows

    # --- folding -----------------------------------------------------------------------------------------------

    def toggle(self) -> None:
        """Fold or unfold what is under the cursor, or show more of a long one."""
        row, tree = self.row, self.tree
        if row is None or tree is None:
            return
        node = row.node
        if row.beyond is not None:
            self._make(node, behind=row.beyond is Beyond.BEHIND)
        elif node.open:
            tree.fold(node)
            self._view.redraw()
        elif node.made:
            tree.take([Made(node, node.children, node.first, node.following)])
            self._view.redraw()
        elif node.holds is not Holds.NOTHING:
            self._make(node)

    def _make(self, node: Node, *, behind: bool = False) -> None:
        """Have children made: the first ones, or those behind what is there."""
        begin, place = (node.following, node.first + len(node.children)) if behind else (None, 0)

        def work(_: OpenRecording, job: Job) -> list[Made]:
            from workbench.tui.payload_reading import make_children

            return [make_children(node, job, begin=begin, place=place, behind=behind)]

        self._take(work)

    def _take(self, work: Callable[[OpenRecording, Job], list[Made]]) -> None:
        tree = self.tree

        def then(made: list[Made]) -> None:
            if tree is not None:
                tree.take(made)

        self._view.ask_recording(_UNFOLD, work, then)

    def fold_all(self) -> None:
        """Fold everything below the first level."""
        if self.tree is not None and not self.says:
            self.tree.fold_all()
            self.list.put(0, 0)
            self._view.redraw()

    def unfold_all(self) -> None:
        """Unfold as far as a screen can be read."""
        tree = self.tree
        if tree is None or self.says:
            return

        def work(_: OpenRecording, job: Job) -> list[Made]:
            from workbench.tui.payload_reading import MOST_UNFOLDED, unfold

            return unfold(tree, MOST_UNFOLDED, job)

        self._take(work)

    def opens(self) -> bool:
        """Go right: unfold, or go to the first child."""
        row = self.row
        if row is None or (row.beyond is None and row.node.holds is Holds.NOTHING):
            return True
        if row.beyond is None and row.node.open:
            self.list.move_to(self.list.cursor + 1)
        else:
            self.toggle()
        return True

    def closes(self) -> bool:
        """Go left: fold, or go to what holds the value; False at the top, where the list is left."""
        row, tree = self.row, self.tree
        if row is None or tree is None:
            return False
        if row.beyond is None and row.node.open:
            self.toggle()
            return True
        above = row.node if row.beyond is not None else row.node.up
        place = tree.place_of(above) if above is not None and above.depth >= 0 else None
        if place is not None:
            self.list.move_to(place)
        return place is not None

    # --- copying -----------------------------------------------------------------------------------------------

    def copy(self, nodes: Sequence[Node], what: str = "") -> None:
        """Copy values as they are shown, and say what of them is not as it is recorded."""
        if not nodes:
            self._view.desk.say("there is nothing to copy")
            return

        def work(_: OpenRecording, job: Job) -> Copied | str:
            from workbench.tui.copying import copied_all

            return copied_all(nodes)

        def then(answer: Copied | str) -> None:
            if isinstance(answer, str):
                self._view.desk.say(answer)
            else:
                called = ", ".join(filter(None, [what or answer.what, answer.said]))
                self._view.desk.copy(answer.text, called)

        self._view.ask_recording(_COPIED, work, then)
