"""Running the app under test: wait for what was asked to be shown, and read what is on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from tests.tui.fakes import FakeReader
from workbench.core.fingerprint import Fingerprint
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.floating import Floating
from workbench.tui.screens.main import MainScreen
from workbench.tui.state import Source
from workbench.tui.widgets.detail import Detail
from workbench.tui.widgets.sources import SourcesTree

SMALL_TERMINAL = (80, 24)
LARGE_TERMINAL = (120, 40)


class Driver:
    """The app, its main screen, and the keys."""

    def __init__(self, app: WorkbenchApp, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def main(self) -> MainScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, MainScreen)
        return screen

    @property
    def tree(self) -> SourcesTree:
        return self.main.query_one(SourcesTree)

    @property
    def detail(self) -> Detail:
        return self.main.query_one(Detail)

    @property
    def sources(self) -> list[Source]:
        return list(self.main.session.opened.sources.values())

    def source(self, label: str) -> Source:
        return next(source for source in self.sources if source.label == label)

    async def until(self, true: Callable[[], bool]) -> None:
        """Let the app work until something holds; fails after a minute."""
        for _ in range(6_000):
            await self.pilot.pause()
            if true():
                await self.pilot.pause()
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"never came true; on the screen:\n{self.text}")

    async def until_read(self) -> None:
        """Wait until nothing is being read."""
        await self.until(lambda: self.main.settled)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def go_to(self, name: str) -> None:
        """Put the cursor on the first row of that name."""
        place = next(place for place, row in enumerate(self.tree.rows) if row.name == name)
        self.tree.move_to(place)
        await self.pilot.pause()

    @property
    def text(self) -> str:
        """What stands on the terminal, row by row."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    def tree_row(self, name: str) -> str:
        """Give the row of the tree with this name, as it stands on the screen."""
        place = next(place for place, row in enumerate(self.tree.rows) if row.name == name)
        region = self.tree.region
        row = self.text.splitlines()[region.y + place - self.tree.scroll_offset.y]
        return row[: region.width]

    def row(self, containing: str) -> str:
        """Give the first row below the header with a text in it."""
        return next(row for row in self.text.splitlines()[1:] if containing in row)


@asynccontextmanager
async def driven(
    reader: FakeReader,
    *,
    paths: tuple[str, ...] | None = None,
    size: tuple[int, int] = LARGE_TERMINAL,
    incoming: Fingerprint | None = None,
    namespace: str | None = None,
    theme: str | None = None,
    ascii_only: bool = False,
    read: bool = True,
) -> AsyncIterator[Driver]:
    """Run the app over a reader, with everything read unless told otherwise."""
    given = tuple(reader.paths) if paths is None else paths
    app = WorkbenchApp(given, reader, incoming=incoming, namespace=namespace, theme=theme, ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        driver = Driver(app, pilot)
        if read and given:
            await driver.until_read()
        yield driver


async def draw_anew(pilot: Pilot[int]) -> None:
    """Draw everything once more, from below: what lies behind an overlay is otherwise as it was some moments ago."""
    for screen in pilot.app.screen_stack:
        for widget in (screen, *screen.walk_children()):
            widget.refresh()
        await pilot.pause()
    for screen in pilot.app.screen_stack:
        if isinstance(screen, Floating):
            screen.behind_changed()
    await pilot.pause()
