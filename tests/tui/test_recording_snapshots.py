"""Pictures of recordings: what must be seen stands in the sentence of each test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui import recording_scene as scene
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, draw_anew, press_each, settled
from tests.tui.fakes import FakeReader
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.main import MainScreen
from workbench.tui.widgets.sources import SourcesTree

Picture = Callable[..., bool]
SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])
_TO_RETRIEVAL = ("enter", "right_square_bracket", "right_square_bracket")


@pytest.fixture
def picture(snap_compare: Picture) -> Picture:
    """Compare the app once everything is read, the cursor is on a recording, and keys were pressed there."""

    def compare(
        size: tuple[int, int],
        *keys: str,
        on: str = scene.RUN,
        reader: FakeReader | None = None,
        paths: tuple[str, ...] = scene.PATHS,
        **options: Any,  # noqa: ANN401 (whatever the app takes)
    ) -> bool:
        app = WorkbenchApp(paths, reader or scene.reader(), **options)
        return snap_compare(app, terminal_size=size, run_before=_ready(on, keys))

    return compare


def _ready(on: str, keys: tuple[str, ...]) -> Callable[[Pilot[int]], Awaitable[None]]:
    async def run_before(pilot: Pilot[int]) -> None:
        main = pilot.app.screen
        assert isinstance(main, MainScreen)
        await settled(pilot)
        source = next(each for each in main.session.opened.sources.values() if each.path == on)
        tree = main.query_one(SourcesTree)
        tree.move_to(next(place for place, row in enumerate(tree.rows) if row.node.source == source.key))
        await pilot.pause()
        await press_each(pilot, *keys)
        await pilot.pause()
        await settled(pilot)
        await draw_anew(pilot)

    return run_before


class TestSteps:
    """What happened."""

    @SIZES
    def test_a_retrieval_among_the_steps(self, picture: Picture, size: tuple[int, int]) -> None:
        """Failed steps by sign and colour, each bar in its place; vectors by shape, secrets masked."""
        assert picture(size, *_TO_RETRIEVAL)

    @SIZES
    def test_errors_first(self, picture: Picture, size: tuple[int, int]) -> None:
        """Both failed calls on top."""
        assert picture(size, "enter", "e")

    @SIZES
    def test_incomplete(self, picture: Picture, size: tuple[int, int]) -> None:
        """What is missing in the first line, and all that is said of it below."""
        assert picture(size, "enter", "v", on=scene.CUT)

    @SIZES
    def test_in_the_tree(self, picture: Picture, size: tuple[int, int]) -> None:
        """Duration and the worst of each recording on its row."""
        assert picture(size)

    def test_the_payload(self, picture: Picture) -> None:
        """The way to the value under the cursor."""
        assert picture(LARGE_TERMINAL, *_TO_RETRIEVAL, "tab", "tab", *["j"] * 8)

    def test_light(self, picture: Picture) -> None:
        """The light theme."""
        assert picture(LARGE_TERMINAL, *_TO_RETRIEVAL, theme="workbench-light")

    def test_ascii(self, picture: Picture) -> None:
        """Seven-bit signs."""
        assert picture(SMALL_TERMINAL, *_TO_RETRIEVAL, ascii_only=True)


class TestRetrievals:
    """What was found."""

    @SIZES
    def test_clipped(self, picture: Picture, size: tuple[int, int]) -> None:
        """Kept above the threshold, rejected below with the reason; what was never read; the passage."""
        assert picture(size, "2", "right_square_bracket")

    @SIZES
    def test_the_wrong_space(self, picture: Picture, size: tuple[int, int]) -> None:
        """Both spaces, and the sentence."""
        assert picture(size, "2", "left_square_bracket")

    @SIZES
    def test_no_index_is_open(self, picture: Picture, size: tuple[int, int]) -> None:
        """The evidence as recorded, and that nothing more is known."""
        assert picture(size, "2", paths=("support/recordings",))

    def test_light(self, picture: Picture) -> None:
        """The light theme."""
        assert picture(LARGE_TERMINAL, "2", "right_square_bracket", theme="workbench-light")

    def test_ansi(self, picture: Picture) -> None:
        """The terminal's own colours."""
        assert picture(SMALL_TERMINAL, "2", "left_square_bracket", theme="ansi-dark")

    def test_ascii(self, picture: Picture) -> None:
        """Seven-bit signs."""
        assert picture(SMALL_TERMINAL, "2", "right_square_bracket", ascii_only=True)


class TestSizes:
    """Where the bytes are."""

    @SIZES
    def test_the_heaviest_places(self, picture: Picture, size: tuple[int, int]) -> None:
        """Before and after, what w writes and where; most bytes first, likely vectors apart."""
        assert picture(size, "3")

    @SIZES
    def test_of_a_damaged_file(self, picture: Picture, size: tuple[int, int]) -> None:
        """No copy, and why."""
        assert picture(size, "3", on=scene.CUT)


class TestSoFar:
    """A recording in a folder that is too big to be read unasked."""

    @SIZES
    def test_its_first_steps(self, picture: Picture, size: tuple[int, int]) -> None:
        """How much is known, how big it is, the key that reads all; never as a verdict."""
        reader = FakeReader(
            {"support/recordings": (scene.RUN, scene.PLAIN), scene.RUN: scene.huge(), scene.PLAIN: scene.plain()}
        )
        assert picture(size, "tab", reader=reader, paths=("support/recordings",))


@pytest.mark.parametrize("size", [(160, 48), (200, 50)], ids=["160x48", "200x50"])
def test_three_columns(picture: Picture, size: tuple[int, int]) -> None:
    """Evidence and payload beside the steps, and the best candidate open at its cut."""
    assert picture(size, *_TO_RETRIEVAL)


@SIZES
def test_the_name_of_the_slim_copy_is_asked_for(picture: Picture, size: tuple[int, int]) -> None:
    """A name beside the recording is offered."""
    assert picture(size, "enter", "w")
