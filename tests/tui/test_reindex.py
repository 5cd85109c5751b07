"""The guided re-index: nothing before consent, each step left without harm; paused, resumed, swapped, undone."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.tui import guide_scene, scenes
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, driven
from tests.tui.guide_scene import PATH, FakeReindexer, begun_before, outcome
from tests.tui.test_inert import HOSTILE, nothing_raw
from workbench.index.model import LockHolder, Problem, SourceError
from workbench.reindex.copying import Difference
from workbench.reindex.model import Check, ReindexError, RunState, Verification
from workbench.reindex.swapping import ChangedMeanwhile
from workbench.tui.guide import BuildWatch, Guide, Offered, Step
from workbench.tui.screens.help import HelpScreen
from workbench.tui.screens.incoming import IncomingScreen
from workbench.tui.screens.main import MainScreen
from workbench.tui.screens.reindex import ReindexScreen

SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])
LARGE = 2
"""The place of the embedder on a server among the offers."""


def guide(app: Driver) -> Guide:
    screen = app.app.screen
    assert isinstance(screen, ReindexScreen), app.text
    return screen.guide


async def rest(app: Driver) -> None:
    """Wait until nothing is being done."""
    await app.until(lambda: not isinstance(app.app.screen, ReindexScreen) or not app.app.screen.guide.busy)


@asynccontextmanager
async def guided(
    engine: FakeReindexer, size: tuple[int, int] = LARGE_TERMINAL, on: str = "handbook"
) -> AsyncIterator[Driver]:
    """Open the guide on a namespace; the gate opens at the end, so that no thread waits for ever."""
    try:
        async with driven(scenes.loaded(), size=size) as app:
            app.main.reindexer = engine
            await app.go_to(on)
            await app.press("r")
            await app.until(lambda: isinstance(app.app.screen, ReindexScreen))
            await rest(app)
            yield app
    finally:
        engine.gate.set()


async def choose(app: Driver, place: int = LARGE) -> None:
    """Put the cursor on an offer."""
    await app.press(*["up"] * 9, *["down"] * place)
    assert guide(app).chosen == place


async def to_plan(app: Driver) -> None:
    await choose(app)
    await app.press("enter")
    await rest(app)
    assert guide(app).step is Step.PLAN


async def to_confirm(app: Driver) -> None:
    await to_plan(app)
    await app.press("enter")
    await app.until(lambda: app.app.focused is not None and app.app.focused.id == "guide-name")


async def to_build(app: Driver) -> None:
    """Confirm, and wait until the script of the build has been played."""
    await to_confirm(app)
    await app.press(*"handbook", "enter")
    await app.until(lambda: "5,120" in app.text)


async def to_verify(app: Driver, engine: FakeReindexer) -> None:
    await to_build(app)
    engine.gate.set()
    await app.until(lambda: guide(app).step is Step.VERIFY)
    await rest(app)


# --- nothing before consent ------------------------------------------------------------------------------------


@SIZES
async def test_until_the_name_is_typed_nothing_runs(size: tuple[int, int]) -> None:
    engine = FakeReindexer()
    async with guided(engine, size) as app:
        assert "Nothing is sent yet." in app.text
        await to_confirm(app)
        assert "Nothing is spent yet." in app.text
        await app.press("enter", *"handboo", "enter", "enter")
        assert engine.asked == ["offers", "plan large"]
        await app.press("k", "enter")
        await app.until(lambda: "run" in engine.asked)


@pytest.mark.parametrize("typed", ["", "Handbook", "handbook ", "handbooks", "hand"])
async def test_another_name_begins_nothing(typed: str) -> None:
    engine = FakeReindexer()
    async with guided(engine) as app:
        await to_confirm(app)
        await app.press(*(each if each != " " else "space" for each in typed), "enter")
        assert engine.builds == []
        assert guide(app).step is Step.CONFIRM


async def test_letters_of_the_name_are_letters_and_no_keys() -> None:
    engine = FakeReindexer()
    async with guided(engine) as app:
        await to_confirm(app)
        await app.press(*"qbxcapDRX")
        assert guide(app).typed == "qbxcapDRX"
        assert "that is not its name" in app.text
        assert app.app.is_running


async def test_what_is_chosen_is_what_is_planned_and_built() -> None:
    engine = FakeReindexer()
    async with guided(engine) as app:
        await choose(app, LARGE)
        await app.press("x", "c")
        await app.press(*"4000", "enter")
        await rest(app)
        await app.press("enter")
        await rest(app)
        await app.press("dollar_sign", *"0.5", "enter", "enter")
        await app.until(lambda: app.app.focused is not None and app.app.focused.id == "guide-name")
        assert "$ 0.50, then it pauses" in app.text
        await app.press(*"handbook", "enter")
        await app.until(lambda: bool(engine.builds))
        build = engine.builds[0]
        assert (build.choice.embedder, build.choice.max_chunk_chars, build.choice.resplit) == ("large", 4_000, True)
        assert (build.namespace, build.path, build.cap_usd) == ("handbook", None, 0.5)


@pytest.mark.parametrize(("place", "why"), [(1, "vector-workbench[minilm]"), (4, "falls back to")])
async def test_what_cannot_build_says_why_and_is_not_planned(place: int, why: str) -> None:
    engine = FakeReindexer()
    async with guided(engine) as app:
        await choose(app, place)
        assert why in app.text
        await app.press("enter")
        assert engine.asked == ["offers"]
        assert guide(app).step is Step.CHOOSE


@SIZES
async def test_a_file_of_the_folder_is_asked_about_with_hosts_and_variables(size: tuple[int, int]) -> None:
    engine = FakeReindexer()
    async with guided(engine, size) as app:
        await choose(app, 5)
        await app.press("enter")
        for said in ("api.example.test", "EXAMPLE_API_KEY", "routing.jsonl"):
            assert said in app.text
        await app.press("enter")
        assert engine.accepted == []
        await app.press("escape")
        assert "Nothing is sent yet." in app.text
        assert engine.accepted == []
        assert guide(app).chosen == 5
        await app.press("enter", "a")
        await rest(app)
        assert engine.accepted == [guide_scene.QUESTION]


async def test_no_ceiling_and_no_cap_that_are_none() -> None:
    async with guided(FakeReindexer()) as app:
        await choose(app, LARGE)
        for text in ("0", "-3", "x", "1.5", "9" * 30):
            await app.press("c", *text, "enter")
            await rest(app)
            assert guide(app).max_chunk_chars is None
            assert "a ceiling is a whole number" in app.text
        await app.press("enter")
        await rest(app)
        for text in ("-1", "nan", "inf", "much"):
            await app.press("dollar_sign", *text, "enter")
            assert guide(app).cap_usd is None


# --- leaving -----------------------------------------------------------------------------------------------------


@SIZES
@pytest.mark.parametrize("step", [to_plan, to_confirm])
async def test_a_step_before_the_build_is_left_at_once(size: tuple[int, int], step: object) -> None:
    engine = FakeReindexer()
    async with guided(engine, size) as app:
        await step(app)  # type: ignore[operator]
        await app.press("escape")
        await app.until(lambda: isinstance(app.app.screen, MainScreen))
        assert engine.builds == []
        assert "nothing was changed" in app.text


async def test_esc_in_the_build_pauses_it_and_says_what_is_kept() -> None:
    engine = FakeReindexer()
    async with guided(engine) as app:
        await to_build(app)
        await app.press("escape")
        await app.until(lambda: isinstance(app.app.screen, MainScreen))
        assert "paused: 5,120 of 8,199 vectors are kept" in app.text


async def test_a_build_that_does_not_pause_is_left_by_a_second_esc() -> None:
    engine = FakeReindexer()
    deaf = threading.Event()

    def waits(engine: FakeReindexer, watch: BuildWatch) -> None:
        guide_scene.half_way(engine, watch)
        deaf.wait(20)

    engine.script = waits
    async with guided(engine) as app:
        try:
            await to_build(app)
            await app.press("escape")
            await app.until(lambda: guide(app).pausing)
            assert "pausing" in app.text
            await app.press("escape")
            await app.until(lambda: isinstance(app.app.screen, MainScreen))
        finally:
            deaf.set()


async def test_a_build_on_this_machine_is_left_without_its_last_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.tui.screens.reindex.GRACE_SECONDS", 0.05)
    engine = FakeReindexer()
    deaf = threading.Event()

    def waits(engine: FakeReindexer, watch: BuildWatch) -> None:
        guide_scene.half_way(engine, watch)
        deaf.wait(20)

    engine.script = waits
    async with guided(engine) as app:
        try:
            await choose(app, 0)
            await app.press("enter")
            await rest(app)
            await app.press("enter")
            await app.until(lambda: app.app.focused is not None and app.app.focused.id == "guide-name")
            await app.press(*"handbook", "enter")
            await app.until(lambda: "5,120" in app.text)
            await app.press("escape")
            await app.until(lambda: isinstance(app.app.screen, MainScreen))
        finally:
            deaf.set()


async def test_quitting_in_the_build_does_not_wait_for_it() -> None:
    engine = FakeReindexer()
    async with guided(engine) as app:
        await to_build(app)
        await app.press("q")
        await app.until(lambda: not app.app.is_running)


async def test_back_from_the_plan_leads_to_the_same_choice() -> None:
    async with guided(FakeReindexer()) as app:
        await to_plan(app)
        await app.press("b")
        assert guide(app).step is Step.CHOOSE
        assert guide(app).chosen == LARGE
        await app.press("enter")
        await rest(app)
        await app.press("enter")
        await app.press("ctrl+b")
        assert guide(app).step is Step.PLAN


# --- the build ---------------------------------------------------------------------------------------------------


@SIZES
async def test_the_build_says_how_far_what_it_costs_and_what_it_waited_for(size: tuple[int, int]) -> None:
    async with guided(FakeReindexer(), size) as app:
        await to_build(app)
        for said in ("62.4 %", "5,120 of 8,199", "left", "34.1 vectors/s", "$ 0.107", "waited 10 s", "4 requests"):
            assert said in app.text, said


async def test_a_pause_is_resumed_in_the_same_file() -> None:
    engine = FakeReindexer()
    async with guided(engine) as app:
        await to_build(app)
        await app.press("p")
        await rest(app)
        assert "paused: as you asked" in app.text
        await app.press("enter")
        await app.until(lambda: len(engine.builds) == 2)
        assert engine.builds[1].path == PATH
        engine.gate.set()
        await app.until(lambda: guide(app).step is Step.VERIFY)


@SIZES
async def test_an_error_pauses_and_says_why_with_a_key_to_go_on(size: tuple[int, int]) -> None:
    why = "paused: api.example.test refused the key in EXAMPLE_API_KEY (401); 5,120 of 8,199 vectors are kept, and "
    engine = FakeReindexer(ends=outcome(RunState.PAUSED, why + "--resume goes on with the rest"))
    async with guided(engine, size) as app:
        await to_build(app)
        engine.gate.set()
        await rest(app)
        assert "refused the key" in app.text
        assert "--resume" not in app.text
        assert "enter go on" in app.text


async def test_a_refusal_of_the_engine_is_a_sentence() -> None:
    engine = FakeReindexer(ends=ReindexError("the first answer was x@3 where y@4 was planned; nothing else was sent"))
    async with guided(engine) as app:
        await to_build(app)
        engine.gate.set()
        await rest(app)
        assert "the first answer was x@3" in app.text
        assert "ReindexError" not in app.text


async def test_a_plan_that_cannot_be_made_says_so_and_leads_back() -> None:
    engine = FakeReindexer(planned=ReindexError("there is no namespace 'handbook' in support/index.duckdb"))
    async with guided(engine) as app:
        await choose(app)
        await app.press("enter")
        await rest(app)
        assert "there is no namespace" in app.text
        await app.press("b")
        assert guide(app).step is Step.CHOOSE


async def test_warnings_of_the_routing_stand_on_the_page_and_not_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    engine = FakeReindexer()

    def warns(engine: FakeReindexer, watch: BuildWatch) -> None:
        guide_scene.half_way(engine, watch)
        watch.route = lambda: "fallback"
        watch.warned("embedding route primary->fallback after 3 failures")
        watch.progress(guide_scene.progress(5_120, 150.0, 80))

    engine.script = warns
    async with guided(engine) as app:
        await to_build(app)
        await app.until(lambda: "primary->fallback" in app.text)
        assert "fallback" in app.row("served by")
    assert "primary->fallback" not in capfd.readouterr().err


# --- unfinished --------------------------------------------------------------------------------------------------


@SIZES
async def test_an_unfinished_one_is_offered_first_and_resumed(size: tuple[int, int]) -> None:
    engine = FakeReindexer(offered=begun_before())
    async with guided(engine, size) as app:
        assert "begun and not finished" in app.text
        assert "5,120 of 8,199" in app.text
        assert "api.example.test" in app.text
        await app.press("enter")
        await app.until(lambda: bool(engine.builds))
        assert (engine.builds[0].path, engine.builds[0].choice.embedder) == (PATH, "large")


async def test_it_is_discarded_only_when_that_is_asked_for_twice() -> None:
    engine = FakeReindexer(offered=begun_before())
    async with guided(engine) as app:
        await app.press("D")
        assert engine.asked == ["offers"]
        assert "press D once more" in app.text
        await app.press("escape")
        assert "press D once more" not in app.text
        await app.press("D", "D")
        await app.until(lambda: f"discard {PATH}" in engine.asked)
        await rest(app)
        assert "Nothing is sent yet." in app.text


# --- verify and swap ---------------------------------------------------------------------------------------------


@SIZES
async def test_the_gate_shows_checks_ranks_neighbours_and_who_holds_the_file(size: tuple[int, int]) -> None:
    engine = FakeReindexer()
    async with guided(engine, size) as app:
        await to_verify(app, engine)
        for said in ("6 of 6 checks", "self-probe", "212", "71 %", "python app.py", "41277", "generation 3"):
            assert said in app.text, said
        assert not any(each.startswith("swap") for each in engine.asked)


async def test_the_swap_is_asked_for_and_undone_with_one_key() -> None:
    engine = FakeReindexer()
    async with guided(engine) as app:
        request = app.source("index.duckdb").request
        await to_verify(app, engine)
        await app.press("enter")
        await app.until(lambda: "generation 4 answers now" in app.text)
        await rest(app)
        assert f"swap {PATH}" in engine.asked
        assert app.source("index.duckdb").request == request + 1
        await app.press("R")
        await app.until(lambda: "generation 3 answers again" in app.text)
        await rest(app)
        assert engine.asked.count("roll back") == 1
        assert app.source("index.duckdb").request == request + 2
        await app.press("escape")
        await app.until(lambda: isinstance(app.app.screen, MainScreen))
        await app.until_read()
        assert app.tree.rows[app.tree.cursor].name == "handbook"


async def test_the_old_generation_is_dropped_only_when_that_is_asked_for_twice() -> None:
    engine = FakeReindexer()
    async with guided(engine) as app:
        await to_verify(app, engine)
        await app.press("X")
        assert "drop old" not in engine.asked
        await app.press("enter")
        await app.until(lambda: "generation 4 answers now" in app.text)
        await rest(app)
        await app.press("X")
        assert "drop old" not in engine.asked
        await app.press("X")
        await app.until(lambda: "drop old" in engine.asked)


async def test_a_writer_that_holds_the_file_is_named_and_the_build_is_kept() -> None:
    held = SourceError(
        Problem.LOCKED,
        "support/index.duckdb is locked: python ingest.py (process 7) has it open for writing",
        holder=LockHolder("python ingest.py", 7),
    )
    engine = FakeReindexer(swaps=held)
    async with guided(engine) as app:
        await to_verify(app, engine)
        await app.press("enter")
        await rest(app)
        assert "python ingest.py (process 7)" in app.text
        assert "enter swap" in app.text
        await app.press("escape")
        await app.until(lambda: isinstance(app.app.screen, MainScreen))
        assert "the build is kept" in app.text


async def test_rows_written_meanwhile_lead_back_to_the_build() -> None:
    engine = FakeReindexer(swaps=ChangedMeanwhile(Difference(3, 1)))
    async with guided(engine) as app:
        await to_verify(app, engine)
        await app.press("enter")
        await rest(app)
        assert "written to meanwhile" in app.text
        await app.press("enter")
        await app.until(lambda: len(engine.builds) == 2)
        assert engine.builds[1].path == PATH


async def test_a_build_that_fails_its_checks_cannot_be_swapped() -> None:
    bad = Verification((Check("self-probe", False, "3 of 20 embedded again land on themselves"),))
    engine = FakeReindexer(ends=outcome(RunState.FAILED, "the build did not pass its checks and was not swapped", bad))
    async with guided(engine) as app:
        await to_verify(app, engine)
        assert "did not pass its checks" in app.text
        assert "0 of 1 checks" in app.text
        await app.press("enter")
        await app.until(lambda: len(engine.builds) == 2)
        assert not any(each.startswith("swap") for each in engine.asked)


async def test_a_generation_that_is_kept_can_be_gone_back_to_without_building() -> None:
    engine = FakeReindexer()
    async with guided(engine) as app:
        assert "generation 2" in app.row("rolls back")
        await app.press("R")
        await app.until(lambda: "generation 3 answers again" in app.text)
        await rest(app)
        assert engine.builds == []
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, MainScreen))


async def test_what_was_written_since_is_said_before_going_back() -> None:
    engine = FakeReindexer(stands=replace(guide_scene.BEFORE, written_since=17))
    async with guided(engine) as app:
        await app.press("R")
        assert "17 chunks written since" in app.text
        assert "roll back" not in engine.asked
        await app.press("R")
        await app.until(lambda: "roll back" in engine.asked)


# --- ways in and around ------------------------------------------------------------------------------------------


async def test_the_incoming_embedder_leads_here_too() -> None:
    async with driven(scenes.loaded()) as app:
        app.main.reindexer = FakeReindexer()
        await app.go_to("changelog")
        await app.press("i", *"x@8")
        await app.until(lambda: isinstance(app.app.screen, IncomingScreen))
        assert "^r" in app.text
        await app.press("ctrl+r")
        await app.until(lambda: isinstance(app.app.screen, ReindexScreen))
        await rest(app)
        assert guide(app).namespace == "changelog"


async def test_r_on_what_is_no_namespace_says_so() -> None:
    async with driven(scenes.loaded()) as app:
        await app.go_to("index.duckdb")
        await app.press("r")
        assert isinstance(app.app.screen, MainScreen)
        assert "go to a namespace first" in app.text


async def test_help_lists_the_keys_of_the_step() -> None:
    async with guided(FakeReindexer()) as app:
        await app.press("question_mark")
        await app.until(lambda: isinstance(app.app.screen, HelpScreen))
        assert "cut what is too long into pieces" in app.text


@SIZES
async def test_hostile_names_and_messages_are_inert(size: tuple[int, int]) -> None:
    for text in HOSTILE:
        engine = FakeReindexer(offered=Offered(trouble=f"bad: {text}"))
        async with guided(engine, size) as app:
            nothing_raw(app)


async def test_resizing_keeps_the_line_of_the_name_on_its_row() -> None:
    async with guided(FakeReindexer()) as app:
        await to_confirm(app)
        await app.press(*"hand")
        for size in (SMALL_TERMINAL, (100, 30), (160, 48), LARGE_TERMINAL):
            await app.pilot.resize_terminal(*size)
            await app.until(lambda: "hand" in app.text)
            await app.until(lambda: "hand" in _two_below(app, "Type the name of the namespace"))


def _two_below(app: Driver, text: str) -> str:
    rows = app.text.splitlines()
    return rows[next(place for place, row in enumerate(rows) if text in row) + 2]
