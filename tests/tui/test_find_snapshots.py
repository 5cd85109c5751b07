"""Pictures of finding, filtering, folding and copying in a recording, of a payload with repeated keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui import recording_scene as scene
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, draw_anew, press_each, settled
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.main import MainScreen
from workbench.tui.widgets.sources import SourcesTree

Picture = Callable[..., bool]
Keys = tuple[str, ...]
SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])


def _typed(text: str) -> Keys:
    return ("slash", *[{"-": "minus", "_": "underscore"}.get(each, each) for each in text], "enter")


@pytest.fixture
def picture(snap_compare: Picture) -> Picture:
    """Compare the app once the cursor is on the run and groups of keys were pressed, each when all is read."""

    def compare(size: tuple[int, int], *groups: Keys, **options: Any) -> bool:  # noqa: ANN401 (whatever the app takes)
        app = WorkbenchApp(scene.PATHS, scene.reader(), **options)
        return snap_compare(app, terminal_size=size, run_before=_ready(groups))

    return compare


def _ready(groups: tuple[Keys, ...]) -> Callable[[Pilot[int]], Awaitable[None]]:
    async def run_before(pilot: Pilot[int]) -> None:
        main = pilot.app.screen
        assert isinstance(main, MainScreen)
        await settled(pilot)
        source = next(each for each in main.session.opened.sources.values() if each.path == scene.RUN)
        tree = main.query_one(SourcesTree)
        tree.move_to(next(place for place, row in enumerate(tree.rows) if row.node.source == source.key))
        for keys in groups:
            await pilot.pause()
            await press_each(pilot, *keys)
            await settled(pilot)
        await draw_anew(pilot)

    return run_before


@SIZES
def test_found_inside_json_in_a_string(picture: Picture, size: tuple[int, int]) -> None:
    """How many hits and which one; the way to it is unfolded, and the text stands out."""
    assert picture(size, ("enter",), _typed("a-1017"))


@SIZES
def test_found_in_the_name_of_a_step(picture: Picture, size: tuple[int, int]) -> None:
    """The text stands out in the list and in the payload."""
    assert picture(size, ("enter",), _typed("refund_lookup"), ("n",))


@SIZES
def test_the_kinds_that_are_seen(picture: Picture, size: tuple[int, int]) -> None:
    """Every kind with its count, on or off."""
    assert picture(size, ("enter",), ("f", "down", "space", "down", "space"))


@SIZES
def test_some_kinds_are_hidden(picture: Picture, size: tuple[int, int]) -> None:
    """How many of how many are seen, and what is hidden."""
    assert picture(size, ("enter",), ("f", "down", "space", "down", "space", "enter"))


@SIZES
def test_folded(picture: Picture, size: tuple[int, int]) -> None:
    """A folded step says how many are in it and how many of those failed."""
    assert picture(size, ("enter",), ("minus", "j"))


@SIZES
def test_a_failed_step(picture: Picture, size: tuple[int, int]) -> None:
    """Why it failed above its payload; both values of a repeated key."""
    assert picture(size, ("enter",), ("right_curly_bracket",), ("tab", "down"))


@SIZES
def test_copied(picture: Picture, size: tuple[int, int]) -> None:
    """What was copied, in the footer."""
    assert picture(size, ("enter",), ("right_curly_bracket",), ("tab",), ("y",))


def test_found_light(picture: Picture) -> None:
    """The light theme."""
    assert picture(LARGE_TERMINAL, ("enter",), _typed("a-1017"), theme="workbench-light")


def test_the_kinds_ascii(picture: Picture) -> None:
    """Seven-bit signs."""
    assert picture(SMALL_TERMINAL, ("enter",), ("f", "down", "space"), ascii_only=True)
