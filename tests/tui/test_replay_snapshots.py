"""Pictures of the routing replay: what must be seen stands in the sentence of each test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui import routing_scene as scene
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, draw_anew, settled
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.main import MainScreen
from workbench.tui.state import Node
from workbench.tui.views.replay import ReplayView

Picture = Callable[..., bool]
SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])


@pytest.fixture
def picture(snap_compare: Picture) -> Picture:
    """Compare the app once everything is read, the cursor is in a log, and keys were pressed there."""

    def compare(
        size: tuple[int, int],
        *keys: str,
        on: str = scene.LOG,
        paths: tuple[str, ...] = (scene.LOG, scene.PARTING, scene.INDEX),
        **options: Any,  # noqa: ANN401 (whatever the app takes)
    ) -> bool:
        app = WorkbenchApp(paths, scene.reader(), **options)
        return snap_compare(app, terminal_size=size, run_before=_ready(on, keys))

    return compare


def _ready(on: str, keys: tuple[str, ...]) -> Callable[[Pilot[int]], Awaitable[None]]:
    async def run_before(pilot: Pilot[int]) -> None:
        main = pilot.app.screen
        assert isinstance(main, MainScreen)
        await settled(pilot)
        source = next(each for each in main.session.opened.sources.values() if each.path == on)
        main.go_to(Node(source=source.key))
        await pilot.pause()
        await pilot.press("enter")
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
        for view in main.query(ReplayView):
            assert not view.playing
        await draw_anew(pilot)

    return run_before


class TestReplay:
    """What each call did, and the state at one of them."""

    @SIZES
    def test_paused_at_a_call(self, picture: Picture, size: tuple[int, int]) -> None:
        """The window is open: what is left of it, who serves, which warnings were told and which are to come."""
        assert picture(size, "right", "right", "right", "right", "right")

    @SIZES
    def test_a_contaminated_call(self, picture: Picture, size: tuple[int, int]) -> None:
        """The first foreign vectors, told of by no warning."""
        assert picture(size, "home", "f")

    @SIZES
    def test_a_divergence(self, picture: Picture, size: tuple[int, int]) -> None:
        """Log and machine part: where, why, and the configuration that would fit."""
        assert picture(size, on=scene.PARTING)

    @SIZES
    def test_what_if(self, picture: Picture, size: tuple[int, int]) -> None:
        """A shorter cooldown: a second ribbon, and ranges where nobody knows."""
        assert picture(size, "c", "6", "0", "enter", "right", "right", "right")

    @SIZES
    def test_the_keys_to_embed_again(self, picture: Picture, size: tuple[int, int]) -> None:
        """Below the lanes, with the index that has them."""
        assert picture(size, "enter", "down")

    @SIZES
    def test_a_foreign_log_with_its_doubts(self, picture: Picture, size: tuple[int, int]) -> None:
        """Which program wrote it, and what was guessed."""
        assert picture(size, "v", on=scene.FOREIGN, paths=(scene.FOREIGN,))

    @SIZES
    def test_hostile_names(self, picture: Picture, size: tuple[int, int]) -> None:
        """Names that would command a terminal are only read."""
        assert picture(size, on=scene.HOSTILE, paths=(scene.HOSTILE,))

    @SIZES
    def test_an_unreadable_log(self, picture: Picture, size: tuple[int, int]) -> None:
        """What it is instead."""
        assert picture(size, on=scene.EMPTY, paths=(scene.EMPTY,))

    def test_light(self, picture: Picture) -> None:
        """On paper."""
        assert picture(LARGE_TERMINAL, "right", "right", theme="workbench-light")

    def test_ansi(self, picture: Picture) -> None:
        """In the sixteen colours of the terminal."""
        assert picture(LARGE_TERMINAL, "right", "right", theme="ansi-dark")

    def test_without_colours(self, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing is told by colour alone."""
        monkeypatch.setenv("NO_COLOR", "1")
        assert picture(SMALL_TERMINAL, "c", "6", "0", "enter")

    @SIZES
    def test_plain_signs(self, picture: Picture, size: tuple[int, int]) -> None:
        """In seven bits."""
        assert picture(size, "c", "6", "0", "enter", ascii_only=True)


class TestMarkedChunks:
    """What the ledger means in an index."""

    @SIZES
    def test_marked_rows(self, picture: Picture, size: tuple[int, int]) -> None:
        """A chunk that a fallback wrote, opened from its key."""
        assert picture(size, "enter", "enter")
