"""Proving in the Ceiling view: who may be asked is asked about first, and the rank is said below the chunk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from tests.tui import clipped_scene
from tests.tui.clipped_scene import NAMED, only
from tests.tui.driving import SMALL_TERMINAL, Driver, driven
from tests.tui.test_ceiling import opened
from workbench.checkup import proof as proving
from workbench.checkup.proof import NobodyToAsk, Proof
from workbench.core.job import Job
from workbench.embedders.configured import Configured, ServerEmbedder
from workbench.embedders.endpoint import Address
from workbench.embedders.opening import LOCAL
from workbench.reindex.proving import Rank
from workbench.tui.pages.parts import Frame
from workbench.tui.pages.proof import proof_lines, summary
from workbench.tui.screens.menu import Menu
from workbench.tui.signs import UNICODE

SERVED = ServerEmbedder("far", "openai", "unlisted", 1536, Address("https://api.example.com/v1"))
_WORDS = "opened and not resealable, or delivered outside the customs union"


class Prover:
    """Stands for whoever embeds; ``gate`` holds it back after the first chunk."""

    def __init__(self, ranks: dict[str, int | None]) -> None:
        self.ranks = ranks
        self.asked: list[str] = []
        self.gate: threading.Event | None = None

    def __call__(
        self,
        _namespace: object,
        _report: object,
        ids: Sequence[str],
        _ceiling: int,
        _embedder: Configured,
        job: Job,
        tell: Callable[[Proof], None],
    ) -> None:
        for place, id in enumerate(ids):
            job.progress(place, len(ids))
            self.asked.append(id)
            tell(Proof(id, Rank(id, self.ranks.get(id, 7), 1_000, 8_214), _WORDS))
            if self.gate is not None:
                self.gate.wait()


@pytest.fixture
def prover(monkeypatch: pytest.MonkeyPatch) -> Prover:
    """Let proofs be made by it, with an embedder that runs here."""
    made = Prover({"guide/refunds.md#4": 41, "guide/customs.md#11": 1, "api/webhooks.md#2": None})
    monkeypatch.setattr(proving, "prove", made)
    monkeypatch.setattr(proving, "embedder_for", lambda *_: LOCAL[0])
    return made


def proof_row(driver: Driver) -> str:
    return driver.row("Proof  ")


@pytest.mark.parametrize("size", [SMALL_TERMINAL, (120, 40)])
async def test_the_rank_of_the_own_chunk_stands_below_its_text(prover: Prover, size: tuple[int, int]) -> None:
    async with driven(only(clipped_scene.handbook()), size=size) as driver:
        canvas = await opened(driver)
        await driver.press("p")
        await driver.until(lambda: "at rank 41 of 8,214" in canvas.text)
        assert proof_row(driver).rstrip().endswith("expected 1")
        assert prover.asked == ["guide/refunds.md#4"]


async def test_a_chunk_that_is_not_found_says_how_many_were_looked_through(prover: Prover) -> None:
    async with driven(only(clipped_scene.handbook())) as driver:
        canvas = await opened(driver)
        await driver.press("j", "j", "p")
        await driver.until(lambda: "in the first 1,000 of 8,214" in canvas.text)


async def test_each_chunk_keeps_its_proof(prover: Prover) -> None:
    async with driven(only(clipped_scene.handbook())) as driver:
        canvas = await opened(driver)
        await driver.press("p")
        await driver.until(lambda: "at rank 41" in canvas.text)
        await driver.press("j")
        assert "Proof" not in canvas.text
        await driver.press("k")
        assert "at rank 41" in canvas.text
        assert prover.asked == ["guide/refunds.md#4"]


async def test_without_an_embedder_a_sentence_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object) -> Configured:
        raise NobodyToAsk("no embedder at hand makes unlisted@1536; configure it in workbench.toml")

    monkeypatch.setattr(proving, "embedder_for", nobody)
    async with driven(only(clipped_scene.handbook())) as driver:
        canvas = await opened(driver)
        await driver.press("p")
        await driver.until(lambda: "no embedder at hand makes unlisted@1536" in canvas.text)


async def test_nothing_is_sent_to_a_server_before_it_was_agreed(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving, "embedder_for", lambda *_: SERVED)
    async with driven(only(clipped_scene.handbook())) as driver:
        canvas = await opened(driver)
        await driver.press("p")
        await driver.until(lambda: isinstance(driver.app.screen, Menu))
        assert "api.example.com" in driver.text
        await driver.press("escape")
        assert prover.asked == []
        await driver.press("p")
        await driver.until(lambda: isinstance(driver.app.screen, Menu))
        await driver.press("y")
        await driver.until(lambda: "at rank 41" in canvas.text)
        await driver.press("j", "p")
        await driver.until(lambda: "at rank 1 of" in canvas.text)
        await driver.press("P")
        await driver.until(lambda: isinstance(driver.app.screen, Menu))
        assert "456" in driver.text, "all of them are asked about, with their number"


async def test_all_of_them_are_counted_and_stop_with_escape(prover: Prover) -> None:
    prover.gate = threading.Event()
    try:
        async with driven(only(clipped_scene.handbook())) as driver:
            canvas = await opened(driver)
            await driver.press("P")
            await driver.until(lambda: "at rank 41" in canvas.text)
            assert "searching for what was lost" in driver.text
            await driver.press("escape")
            prover.gate.set()
            await driver.until(lambda: "searching for what was lost" not in driver.text)
            assert len(prover.asked) < len(NAMED)
            await driver.press("j")
            assert "searching for its lost text" not in canvas.text
    finally:
        prover.gate.set()


async def test_when_all_are_proved_one_sentence_says_what_came_of_it(prover: Prover) -> None:
    async with driven(only(clipped_scene.handbook())) as driver:
        await opened(driver)
        await driver.press("P")
        await driver.until(lambda: "1 of 456 found first" in driver.text)


def test_what_came_of_several_is_one_sentence() -> None:
    ranks = [Rank("a", 1, 1_000, 9), Rank("b", 5, 1_000, 9), Rank("c", None, 1_000, 9)]
    said = summary([*(Proof(each.id, each) for each in ranks), Proof("d", why="read whole")])
    assert said == "1 of 3 found first, usually at rank 3, 1 not in the first 1,000"
    assert summary([Proof("d", why="read whole")]) == "no lost text could be searched for"


def test_hostile_words_are_inert_and_fit() -> None:
    hostile = Proof("a", Rank("a", 3, 1_000, 9), "\x1b[31m red \u202e back\n" + "x" * 500)
    for width in (20, 40, 76):
        lines = proof_lines(hostile, "", Frame(width, 40, UNICODE, True, above=10))
        assert all(line.cells <= width for line in lines)
        assert "\x1b" not in "".join(line.text for line in lines)
