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
_QUIET_TURNS, _MOST_TURNS = 10, 2_000
"""How many turns of the loop without a message waiting mean that all are worked off, and how many are waited for."""


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
        await press_each(self.pilot, *keys)
        await self.pilot.pause()

    async def resize(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)
        await worked_off(self.pilot)

    async def go_to(self, name: str) -> None:
        """Put the cursor on the first row of that name."""
        place = next(place for place, row in enumerate(self.tree.rows) if row.name == name)
        self.tree.move_to(place)
        await worked_off(self.pilot)

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


async def settled(pilot: Pilot[int]) -> None:
    """Wait until nothing is being read; fails when that never comes."""
    assert isinstance(pilot.app, WorkbenchApp)
    await Driver(pilot.app, pilot).until_read()


async def worked_off(pilot: Pilot[int]) -> None:
    """Wait until the app has worked off its messages, what these led to, and what waits for the next drawing.

    A pause of the pilot ends as soon as the process uses little CPU time, which it also does where others take it all.
    """
    for _ in range(2):
        quiet = 0
        for _ in range(_MOST_TURNS):
            await asyncio.sleep(0)
            screen = pilot.app.screen
            waiting = pilot.app.message_queue_size + sum(
                each.message_queue_size for each in screen.walk_children(with_self=True)
            )
            quiet = 0 if waiting else quiet + 1
            if quiet == _QUIET_TURNS:
                break
        pilot.app.screen._on_timer_update()


async def press_each(pilot: Pilot[int], *keys: str) -> None:
    """Press keys as a user does: each of them goes to what the one before it led to."""
    for key in keys:
        await pilot.press(key)
        await worked_off(pilot)


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
