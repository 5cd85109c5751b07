"""The Probe view: asked by a text or a chunk, refused where the embedder is another, hits open as chunks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tests.tui import clipped_scene
from tests.tui.clipped_scene import only
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, draw_anew, driven
from workbench.checkup import probing, proof
from workbench.checkup.probing import Answered
from workbench.checkup.proof import NobodyToAsk
from workbench.core.fingerprint import Fingerprint
from workbench.embedders.configured import Configured, ServerEmbedder
from workbench.embedders.endpoint import Address
from workbench.embedders.opening import LOCAL
from workbench.index.model import Hit, SearchResult
from workbench.tui.app import WorkbenchApp
from workbench.tui.pages.parts import Frame
from workbench.tui.pages.probe import Asked, probe_page
from workbench.tui.screens.menu import Menu
from workbench.tui.signs import UNICODE

SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])
SERVED = ServerEmbedder("far", "openai", "unlisted", 1536, Address("https://api.example.com/v1"))
PASSAGE = "Exceptions apply when the order was made to measure, opened and not resealable, or delivered outside."
HITS = (
    Hit("guide/returns.md#2", 0.8312, 1_204, "Orders can be returned within thirty days of delivery, unused."),
    Hit("guide/refunds.md#4", 0.7127, 7_420, PASSAGE),
    Hit("faq/returns.md#31", 0.5804, 3_927, "How long does a refund take? Within five working days."),
    Hit("legal/terms.md#9", -0.0312, 812, "These terms hold from the first of the month."),
)
FOUND = Answered(SearchResult(HITS, left_out=3, missing=40), "unlisted@1536")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Answer every question with the same hits; gives what was asked."""
    questions: list[str] = []

    def answer(_namespace: object, _report: object, question: str, *_: object) -> Answered:
        questions.append(question)
        return FOUND

    monkeypatch.setattr(probing, "ask_text", answer)
    monkeypatch.setattr(probing, "ask_like", answer)
    monkeypatch.setattr(proof, "embedder_for", lambda *_: LOCAL[0])
    return questions


async def look(driver: Driver) -> None:
    await driver.go_to("handbook")
    await driver.press("5")
    await driver.until(lambda: "Ask this namespace something" in driver.text)


async def ask(driver: Driver, key: str, words: str) -> None:
    await driver.press(key, *words, "enter")


async def test_a_text_is_searched_for_and_the_hits_say_what_they_lost(asked: list[str]) -> None:
    async with driven(only(clipped_scene.handbook())) as driver:
        await look(driver)
        await ask(driver, "t", "refund")
        await driver.until(lambda: "guide/refunds.md#4" in driver.text)
        assert asked == ["refund"]
        assert "5,420 lost" in driver.row("guide/refunds.md#4")
        assert "lost" not in driver.row("guide/returns.md#2")
        assert "40 without a vector" in driver.text


async def test_neighbours_of_a_hit_are_one_key_away(asked: list[str]) -> None:
    async with driven(only(clipped_scene.handbook())) as driver:
        await look(driver)
        await ask(driver, "c", "abc")
        await driver.until(lambda: "guide/refunds.md#4" in driver.text)
        await driver.press("j", "b")
        await driver.until(lambda: len(asked) == 2)
        assert asked == ["abc", "guide/refunds.md#4"]


async def test_an_incoming_embedder_that_does_not_fit_refuses_here_too(asked: list[str]) -> None:
    incoming = Fingerprint("text-embedding-3-large", 3072)
    async with driven(only(clipped_scene.handbook()), incoming=incoming) as driver:
        await look(driver)
        await ask(driver, "t", "refund")
        await driver.until(lambda: "nothing was searched" in driver.text)
        assert "3072" in driver.text
        assert asked == []


async def test_without_the_embedder_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object) -> Configured:
        raise NobodyToAsk("no embedder at hand makes unlisted@1536; configure it in workbench.toml")

    monkeypatch.setattr(proof, "embedder_for", nobody)
    async with driven(only(clipped_scene.handbook())) as driver:
        await look(driver)
        await ask(driver, "t", "refund")
        await driver.until(lambda: "no embedder at hand makes unlisted@1536" in driver.text)


async def test_a_text_goes_to_a_server_only_after_it_was_agreed(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "embedder_for", lambda *_: SERVED)
    async with driven(only(clipped_scene.handbook())) as driver:
        await look(driver)
        await ask(driver, "t", "refund")
        await driver.until(lambda: isinstance(driver.app.screen, Menu))
        assert "api.example.com" in driver.text
        await driver.press("escape")
        await driver.until(lambda: "nothing was sent" in driver.text)
        assert asked == []
        await driver.press("t", "enter")
        await driver.until(lambda: isinstance(driver.app.screen, Menu))
        await driver.press("y")
        await driver.until(lambda: asked == ["refund"])


async def test_a_search_is_stopped_by_escape(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()

    def waits(*_: object) -> Answered:
        gate.wait()
        return FOUND

    monkeypatch.setattr(probing, "ask_like", waits)
    try:
        async with driven(only(clipped_scene.handbook())) as driver:
            await look(driver)
            await ask(driver, "c", "abc")
            await driver.until(lambda: "Searching" in driver.text)
            await driver.press("escape")
            await driver.until(lambda: "It was stopped" in driver.text)
    finally:
        gate.set()


@SIZES
def test_an_answer(snap_compare: Callable[..., bool], asked: list[str], size: tuple[int, int]) -> None:
    """The question, its space, the hits by score with what each lost, and what could not rank."""
    app = WorkbenchApp(("support/index.duckdb",), only(clipped_scene.handbook()))

    async def run_before(pilot: object) -> None:
        driver = Driver(app, pilot)  # type: ignore[arg-type]
        await driver.until_read()
        await driver.press("j", "5")
        await ask(driver, "t", "refund")
        await driver.until(lambda: "40 without a vector" in driver.text)
        await draw_anew(driver.pilot)

    assert snap_compare(app, terminal_size=size, run_before=run_before)


def test_hostile_hits_are_inert_and_fit() -> None:
    hostile = Hit("\x1b[31m" + "y" * 300, float("nan"), 9_000, "\u202e" + "\x07" * 5_000)
    answer = Answered(SearchResult((hostile,), 0), "\x1b]0;t\x07@3")
    for width in (20, 40, 76):
        drawn = probe_page(Asked("\x1b\n\n", None, answer), 2_000, False, Frame(width, 40, UNICODE, True, above=10))
        assert "\x1b" not in "".join(line.text for line in drawn.lines)
        assert all(line.cells <= width for line in drawn.lines)
