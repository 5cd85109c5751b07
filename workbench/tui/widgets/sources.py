"""The sources pane: its heading, the tree with the cursor, and a small legend where there is room."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.strip import Strip

from workbench.tui.draw import Line, Tone
from workbench.tui.state import Node
from workbench.tui.tree import Row, draw_row
from workbench.tui.widgets.lines import Bar, LineList, look_of, strip_of


class Heading(Bar):
    """``Sources``, and in which order they stand or that they are being read."""

    def __init__(self) -> None:
        super().__init__(id="sources-heading")
        self.fact = ""
        self.focused = True

    def show(self, fact: str, *, focused: bool) -> None:
        """Change what is said."""
        if (fact, focused) != (self.fact, self.focused):
            self.fact, self.focused = fact, focused
            self.refresh()

    def line(self, width: int) -> Line:
        """Title left, fact right."""
        title = Line().add(" ").add("Sources", Tone.ACCENT if self.focused else Tone.TEXT, bold=True)
        return title.right(Line().add(self.fact, Tone.FAINT), width - 1)


class Legend(Bar):
    """What four signs mean, and two keys; only where there are rows to spare."""

    def __init__(self) -> None:
        super().__init__(id="sources-legend")

    def line(self, width: int) -> Line:
        """Give the first of its rows."""
        return self.rows(width)[0]

    def rows(self, width: int) -> list[Line]:
        """Give a rule and what the signs of the tags mean."""
        _, signs = look_of(self)
        return [
            Line().add(" ").add(signs.rule * (width - 2), Tone.RULE),
            Line()
            .add(f" {signs.clipped} ", Tone.WARN)
            .add("clipped", Tone.FAINT)
            .to(13)
            .add(f"{signs.differs} ", Tone.ERROR)
            .add("spaces mixed", Tone.FAINT),
            Line()
            .add(f" {signs.unknown} ", Tone.MUTED, bold=True)
            .add("unnamed", Tone.FAINT)
            .to(13)
            .add(f"{signs.empty} empty", Tone.FAINT),
        ]

    def render_line(self, y: int) -> Strip:
        """One of its rows."""
        width = self.size.width
        rows = self.rows(width)
        return strip_of(rows[y] if y < len(rows) else Line(), width, self)


class SourcesTree(LineList):
    """The rows; ``right`` opens, ``left`` closes or goes to the parent."""

    class Toggled(Message):
        """A row is to be opened (``True``) or closed."""

        def __init__(self, node: Node, expand: bool) -> None:
            super().__init__()
            self.node = node
            self.expand = expand

    def __init__(self) -> None:
        super().__init__(id="sources-tree")
        self.rows: list[Row] = []

    def show(self, rows: list[Row]) -> None:
        """Replace the rows; the cursor stays on what it stood on, or on its nearest parent that is left."""
        node, moved = self.node, False
        self.rows = rows
        if node is not None:
            places = {row.node: place for place, row in enumerate(rows)}
            parent = Node(source=node.source) if node.space is not None else None
            for candidate in (node, parent):
                if candidate is not None and candidate in places:
                    moved = self.cursor != places[candidate]
                    self.cursor = places[candidate]
                    break
        self.rows_changed()
        if moved:
            self.call_after_refresh(self.show_cursor)  # once the height of the rows is known

    @property
    def node(self) -> Node | None:
        """What is under the cursor."""
        return self.rows[self.cursor].node if self.cursor < len(self.rows) else None

    def row_count(self) -> int:
        """One for each visible node."""
        return len(self.rows)

    def draw(self, index: int, width: int) -> Line:
        """One row over the whole width."""
        _, signs = look_of(self)
        return draw_row(self.rows[index], width, signs, here=index == self.cursor, focused=self.has_focus)

    def action_inward(self) -> None:
        """Open the row, or go to the first one in it."""
        row = self.rows[self.cursor] if self.cursor < len(self.rows) else None
        if row is None:
            return
        if row.expanded is False:
            self.post_message(self.Toggled(row.node, True))
        elif row.expanded:
            self.move_to(self.cursor + 1)
        else:
            self.post_message(self.Chosen(self))

    def action_outward(self) -> None:
        """Close the row, or go to the one it belongs to."""
        row = self.rows[self.cursor] if self.cursor < len(self.rows) else None
        if row is None:
            return
        if row.expanded:
            self.post_message(self.Toggled(row.node, False))
            return
        above = (place for place in range(self.cursor - 1, -1, -1) if self.rows[place].depth < row.depth)
        self.move_to(next(above, self.cursor))


class SourcesPane(Vertical):
    """Heading, tree, legend."""

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield Heading()
        yield SourcesTree()
        yield Legend()
