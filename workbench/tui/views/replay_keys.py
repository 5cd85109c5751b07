"""The keys to embed again of one namespace, and where each of them stands in the open indexes."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from workbench.checkup.wording import counted
from workbench.tui.draw import Line, Tone, cells, clip_middle, number, titled_rule
from workbench.tui.pages.parts import Frame
from workbench.tui.widgets.lines import look_of
from workbench.tui.widgets.rows import HeadRows, RowList

if TYPE_CHECKING:
    from workbench.routing.ledger import LedgerRow
    from workbench.tui.views.replay_cursor import ReplayCursor


class ReplayKeys:
    """A title and a list, hidden until a namespace is opened."""

    def __init__(self, view: ReplayCursor) -> None:
        self._view = view
        self.row: LedgerRow | None = None
        self.head = HeadRows(self._head, id="replay-keys-head")
        self.list = RowList(self._draw, self._count, id="replay-keys")
        self.head.display = self.list.display = False
        self._places: tuple[object, dict[str, tuple[str, str]]] = (None, {})

    @property
    def opened(self) -> bool:
        """Whether keys are listed."""
        return self.row is not None

    def open(self, row: LedgerRow) -> None:
        """List the keys of a namespace."""
        self.row = row
        self.head.display = self.list.display = True
        self.list.put(0)
        self._view.redraw()
        self.list.focus()
        self._view.desk.frame_changed()

    def close(self) -> None:
        """Give the room back."""
        self.row = None
        self.head.display = self.list.display = False

    def redraw(self) -> None:
        """Draw anew what is listed."""
        if self.opened and self.list.is_mounted:
            self.head.draw_anew()
            self.list.rows_changed()

    def _count(self) -> int:
        return len(self.row.keys) if self.row is not None else 0

    def _where(self) -> dict[str, tuple[str, str]]:
        """Give of each key the path of the index and the namespace that has it."""
        routed = self._view.routed
        joined = routed.joined if routed is not None else ()
        asked = (joined, self.row)
        if self._places[0] != asked:
            found: dict[str, tuple[str, str]] = {}
            for rows in joined:
                same = self.row is not None and rows.ledger.namespace == self.row.namespace
                if same and rows.source is not None and rows.namespace is not None:
                    found.update(dict.fromkeys(rows.ids, (rows.source, rows.namespace)))
            self._places = (asked, found)
        return self._places[1]

    def _head(self, width: int) -> list[Line]:
        row = self.row
        if row is None:
            return [Line()]
        signs = look_of(self.head)[1]
        known, routed = len(self._where()), self._view.routed
        fact = Line().add(counted(len(row.keys), "key"), Tone.MUTED)
        if known:
            fact.add("   ").add(number(known), Tone.ERROR, bold=True).add(" in an open index", Tone.MUTED)
        elif routed is not None and routed.looked_up:
            fact.add("   none in an open index", Tone.FAINT)
        title = f"To embed again in {row.namespace}"
        room = width - fact.cells - 4
        lead = [Line()] if self._view.board.container_height >= 28 else []
        return [
            *lead,
            titled_rule(
                clip_middle(title, room, signs.more), width, signs.rule, fact=fact, focused=self.list.has_focus
            ),
        ]

    def _draw(self, index: int, frame: Frame, here: bool) -> Line:
        row, signs = self.row, frame.signs
        assert row is not None
        key = row.keys[index]
        place = self._where().get(key)
        line = Line().add(signs.differs if place is not None else signs.waiting, Tone.ERROR if place else Tone.FAINT)
        line.to(signs.state_cells + 1)
        tail = Line()
        if place is not None:
            tail.add(f"{PurePath(place[0]).name} › {place[1]}", Tone.MUTED)
        else:
            routed = self._view.routed
            tail.add("not in an open index" if routed is not None and routed.looked_up else "", Tone.FAINT)
        room = frame.width - line.cells - min(tail.cells, frame.width // 2) - 2
        line.add(clip_middle(key, room, signs.more), bold=here)
        return line.right(tail, frame.width) if cells(tail.text) else line

    def go(self) -> None:
        """Go to the chunk under the cursor."""
        row = self.row
        if row is None or self.list.cursor >= len(row.keys):
            return
        key = row.keys[self.list.cursor]
        place = self._where().get(key)
        if place is None:
            self._view.desk.say("this key is in no index that is open")
        elif not self._view.desk.open_chunk(place[0], place[1], key):
            self._view.desk.say("the index that has it is not open any more")
