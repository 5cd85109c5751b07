"""The least that a program with a tree and a table costs: Textual with both, and nothing of ours.

python -m tests.bench.bare_app
"""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import DataTable, Footer, Tree


class Bare(App[None]):
    """A tree beside a table of fifty rows, and a footer."""

    BINDINGS = [("q", "quit", "Quit")]  # noqa: RUF012 (Textual declares it so)
    CSS = "Tree { width: 32; }"

    def compose(self) -> ComposeResult:
        """Put the tree beside the table."""
        with Horizontal():
            yield Tree("sources")
            yield DataTable[str]()
        yield Footer()

    def on_mount(self) -> None:
        """Fill both a little."""
        for place in range(10):
            self.query_one(Tree).root.add_leaf(f"namespace {place}")
        table = self.query_one(DataTable)
        table.add_columns("id", "chars", "source", "fingerprint")
        for place in range(50):
            table.add_row(f"chunk-{place}", str(place * 997), "handbook.md", "text-embedding-3-small@1536")


if __name__ == "__main__":
    Bare().run()
