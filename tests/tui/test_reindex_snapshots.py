"""Pictures of the guided re-index; what must be seen stands in the sentence of each test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui import scenes
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, draw_anew
from tests.tui.guide_scene import FakeReindexer, begun_before, going_on, outcome
from tests.tui.test_reindex import choose, rest, to_build, to_confirm, to_plan, to_verify
from workbench.reindex.model import RunState
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.reindex import ReindexScreen

Compare = Callable[..., bool]
Way = Callable[[Driver], Awaitable[None]]
SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])


@pytest.fixture
def engine() -> Iterator[FakeReindexer]:
    """Make the engine; no thread of it waits longer than the test."""
    made = FakeReindexer()
    yield made
    made.gate.set()


@pytest.fixture
def picture(snap_compare: Compare) -> Compare:
    """Compare the guide on the handbook once it has gone some way."""

    def compare(engine: FakeReindexer, size: tuple[int, int], way: Way, **options: Any) -> bool:  # noqa: ANN401
        reader = scenes.loaded()
        app = WorkbenchApp(tuple(reader.paths), reader, **options)

        async def run_before(pilot: Pilot[int]) -> None:
            driver = Driver(app, pilot)
            driver.main.reindexer = engine
            await driver.until_read()
            await driver.go_to("handbook")
            await driver.press("r")
            await driver.until(lambda: isinstance(app.screen, ReindexScreen))
            await rest(driver)
            await way(driver)
            await draw_anew(pilot)

        return snap_compare(app, terminal_size=size, run_before=run_before)

    return compare


async def here(app: Driver) -> None:
    """Go nowhere."""


async def asked(app: Driver) -> None:
    await choose(app, 5)
    await app.press("enter")


async def typed(app: Driver) -> None:
    await to_confirm(app)
    await app.press(*"handbook")


async def paused(app: Driver) -> None:
    await to_build(app)
    await app.press("p")
    await rest(app)


@SIZES
class TestSteps:
    """Each step, at both sizes."""

    def test_choose(self, picture: Compare, engine: FakeReindexer, size: tuple[int, int]) -> None:
        """Every embedder with what it declares, why some cannot be chosen, that nothing is sent yet."""
        assert picture(engine, size, lambda app: choose(app, 2))

    def test_a_file_to_accept(self, picture: Compare, engine: FakeReindexer, size: tuple[int, int]) -> None:
        """Hosts and variable names, and that only this content would be accepted."""
        assert picture(engine, size, asked)

    def test_unfinished(self, picture: Compare, engine: FakeReindexer, size: tuple[int, int]) -> None:
        """Resume or discard before anything else, with how much is kept."""
        engine.offered = begun_before()
        assert picture(engine, size, here)

    def test_plan(self, picture: Compare, engine: FakeReindexer, size: tuple[int, int]) -> None:
        """Counts by fate, three estimates, the ceiling of now and then through the lengths."""
        assert picture(engine, size, to_plan)

    def test_confirm(self, picture: Compare, engine: FakeReindexer, size: tuple[int, int]) -> None:
        """What goes where, the name typed, and what enter will cause."""
        assert picture(engine, size, typed)

    def test_build(self, picture: Compare, engine: FakeReindexer, size: tuple[int, int]) -> None:
        """How far, the rate with its waits, money, retries, what was answered."""
        assert picture(engine, size, to_build)

    def test_pause(self, picture: Compare, engine: FakeReindexer, size: tuple[int, int]) -> None:
        """That it paused, what is kept, and the key that goes on."""
        assert picture(engine, size, paused)

    def test_error(self, picture: Compare, engine: FakeReindexer, size: tuple[int, int]) -> None:
        """Why it stopped, in the engine's words with the keys of the screen."""
        kept = "5,120 of 8,199 vectors are kept, and --resume goes on with the rest"
        why = "api.example.test refused the key in EXAMPLE_API_KEY (HTTP 401): check the variable, and that the key is"
        engine.ends = outcome(RunState.PAUSED, f"paused: {why} for this model; {kept}")

        async def fails(app: Driver) -> None:
            await to_build(app)
            engine.gate.set()
            await rest(app)

        assert picture(engine, size, fails)

    def test_resumed(self, picture: Compare, engine: FakeReindexer, size: tuple[int, int]) -> None:
        """It goes on where it was."""

        async def resumed(app: Driver) -> None:
            await paused(app)
            engine.script = going_on
            await app.press("enter")
            await app.until(lambda: "6,400" in app.text)

        assert picture(engine, size, resumed)

    def test_verify(self, picture: Compare, engine: FakeReindexer, size: tuple[int, int]) -> None:
        """Checks, ranks, neighbours, generations, who holds the file, the swap."""
        assert picture(engine, size, lambda app: to_verify(app, engine))

    def test_swapped(self, picture: Compare, engine: FakeReindexer, size: tuple[int, int]) -> None:
        """What answers now and the way back."""

        async def swapped(app: Driver) -> None:
            await to_verify(app, engine)
            await app.press("enter")
            await app.until(lambda: "generation 4 answers now" in app.text)
            await rest(app)
            await app.until(lambda: app.main.settled)

        assert picture(engine, size, swapped)


class TestLooks:
    """Other themes and signs."""

    @pytest.mark.parametrize("theme", ["workbench-light", "ansi-dark", "textual-light"])
    def test_themes(self, picture: Compare, engine: FakeReindexer, theme: str) -> None:
        """The plan, legible everywhere."""
        assert picture(engine, LARGE_TERMINAL, to_plan, theme=theme)

    @pytest.mark.parametrize("way", [to_plan, to_build], ids=["plan", "build"])
    def test_ascii(self, picture: Compare, engine: FakeReindexer, way: Way) -> None:
        """Seven-bit signs keep their columns."""
        assert picture(engine, SMALL_TERMINAL, way, ascii_only=True)
