"""The routing replay driven by keys: going through calls, what was tried instead, the ledger and the way to a chunk."""

from __future__ import annotations

import re

import pytest

from tests.tui import routing_scene as scene
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, driven
from tests.tui.fakes import FakeReader
from workbench.routing.what_if import what_if
from workbench.tui.pages.parts import Frame
from workbench.tui.pages.replay import Shown, cells_wide, replay_page
from workbench.tui.pages.replay_ledger import Tried, entries_of
from workbench.tui.replay_cells import Window, cells_of, grid_of, what_if_modes
from workbench.tui.routed import arrange_log
from workbench.tui.signs import ASCII, UNICODE
from workbench.tui.state import Node
from workbench.tui.views.chunks import Chunks
from workbench.tui.views.replay import ReplayView
from workbench.tui.views.replay_cursor import ReplayState

SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])


def view_of(driver: Driver) -> ReplayView:
    return driver.main.query_one(ReplayView)


def state_of(driver: Driver) -> ReplayState:
    state = view_of(driver).state
    assert state is not None
    return state


async def on(driver: Driver, path: str) -> None:
    """Go into the replay of a log."""
    source = next(each for each in driver.sources if each.path == path)
    driver.main.go_to(Node(source=source.key))
    await driver.press("enter")
    await driver.until(lambda: bool(driver.main.query(ReplayView)) and view_of(driver).board.has_focus)
    await driver.until_read()


async def typed(driver: Driver, key: str, text: str) -> None:
    """Answer the line that a key asks."""
    await driver.press(key)
    await driver.press(*text, "enter")
    await driver.until_read()


class TestAmongSources:
    """In the tree."""

    async def test_its_row_counts_calls_and_foreign_vectors(self) -> None:
        async with driven(scene.reader()) as driver:
            row = driver.tree_row("routing.jsonl")
            assert "! routing.jsonl" in row
            assert re.search(r"214 ≠ \d+", row)

    async def test_one_that_went_against_the_machine_is_bad(self) -> None:
        async with driven(scene.reader()) as driver:
            assert "✗ parting.jsonl" in driver.tree_row("parting.jsonl")
            assert "✓ clean.jsonl" in driver.tree_row("clean.jsonl")

    async def test_one_without_a_call_says_so(self) -> None:
        async with driven(scene.reader(), paths=(scene.EMPTY,)) as driver:
            assert "no call that can be read" in driver.text

    async def test_logs_are_found_in_a_folder(self) -> None:
        reader = scene.reader()
        paths = {**reader.paths, "support": (scene.LOG, scene.CLEAN)}
        async with driven(FakeReader(paths), paths=("support",)) as driver:
            assert "≠" in driver.tree_row("routing.jsonl")


class TestGoingThroughCalls:
    """The cursor in time."""

    async def test_it_begins_at_the_first_change_of_route(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            assert state_of(driver).n == 27
            assert "At call 27" in driver.text

    @SIZES
    async def test_arrows_and_letters_step_and_ends_are_ends(self, size: tuple[int, int]) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,), size=size) as driver:
            await on(driver, scene.LOG)
            await driver.press("right", "l", "left", "h", "h")
            assert state_of(driver).n == 26
            await driver.press("end", "right")
            assert state_of(driver).n == 214
            await driver.press("g", "left")
            assert state_of(driver).n == 1

    async def test_the_state_is_that_of_the_machine_at_the_call(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            replay = state_of(driver).replay
            assert "streak     3 of 3" in driver.text
            assert "5:00 left" in driver.text
            assert "last error HTTP 503, primary" in driver.text
            await driver.press("right")
            assert replay.call(28).cooldown_left_ms == 292_000
            assert "4:52 left" in driver.text

    async def test_warnings_to_come_are_counted_as_such(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            assert "1 of 4 so far" in driver.text
            await driver.press("m")
            assert "2 of 4 so far" in driver.text
            assert "fallback → primary: recovered" in driver.text
            await driver.press("M")
            assert state_of(driver).n == 27
            await driver.press("M")
            assert state_of(driver).n == 27

    async def test_a_call_or_a_time_is_gone_to(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            await typed(driver, "colon", "140")
            assert state_of(driver).n == 140
            await typed(driver, "colon", "14:05:19")
            assert state_of(driver).n == state_of(driver).replay.at(1_772_633_119_000)
            await typed(driver, "colon", "2026-03-04 14:02:20")
            assert state_of(driver).n == 1
            await typed(driver, "colon", "9999")
            assert "no such call or time" in driver.text
            assert state_of(driver).n == 1

    async def test_contamination_is_gone_to_call_by_call(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            await driver.press("home", "f")
            assert state_of(driver).n == state_of(driver).replay.contaminated[0] == 25
            await driver.press("f")
            assert state_of(driver).n == 26
            await driver.press("F", "F")
            assert state_of(driver).n == 25

    async def test_a_divergence_is_gone_to_and_said_with_its_causes(self) -> None:
        async with driven(scene.reader(), paths=(scene.PARTING,)) as driver:
            await on(driver, scene.PARTING)
            assert state_of(driver).n == 22
            assert "call 22, first of 8: the primary was skipped" in driver.text
            assert "a threshold of 2" in driver.text
            await driver.press("d")
            assert state_of(driver).n == 23
            await driver.press("D")
            assert state_of(driver).n == 22

    async def test_a_click_in_the_lanes_goes_to_the_call_there(self) -> None:
        async with driven(scene.reader(), paths=(scene.CLEAN,)) as driver:
            await on(driver, scene.CLEAN)
            board = view_of(driver).board
            row = next(place for place, text in enumerate(board.text.splitlines()) if text.startswith("primary"))
            await driver.pilot.click(board, offset=(2 + 11 + 2 * 9, row))
            await driver.pilot.pause()
            assert state_of(driver).n == 10

    async def test_zoom_shows_fewer_calls_and_keeps_the_cursor_in_sight(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            await driver.press("plus", "plus")
            window = state_of(driver).window
            assert window.count == 53
            assert window.holds(27)
            assert "1 cell = 1 call" in driver.text
            await typed(driver, "colon", "200")
            assert state_of(driver).window.holds(200)
            await driver.press("minus", "minus", "minus")
            assert state_of(driver).window.count == 214


class TestPlaying:
    """The cursor by itself."""

    async def test_space_plays_and_stands_still(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            await driver.press("space")
            assert view_of(driver).playing
            await driver.until(lambda: state_of(driver).n > 27)
            await driver.press("space")
            assert not view_of(driver).playing
            assert "paused" in driver.text

    async def test_it_stands_still_at_the_end_and_begins_again_from_there(self) -> None:
        async with driven(scene.reader(), paths=(scene.CLEAN,)) as driver:
            await on(driver, scene.CLEAN)
            await driver.press("space")
            view_of(driver).play_on(1_000)
            assert state_of(driver).n == 30
            assert not view_of(driver).playing
            await driver.press("space")
            assert state_of(driver).n < 30

    async def test_a_step_or_another_view_stops_it(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG, scene.CLEAN)) as driver:
            await on(driver, scene.LOG)
            await driver.press("space", "right")
            assert not view_of(driver).playing
            await driver.press("space", "escape")
            assert not view_of(driver).playing
            await driver.press("space")
            await on(driver, scene.CLEAN)
            assert not view_of(driver).playing

    async def test_its_pace_is_said(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            await driver.press("greater_than_sign", "space")
            assert "playing 2x" in driver.text


class TestWhatIf:
    """Another threshold, another cooldown."""

    async def test_the_difference_is_said_while_it_is_typed(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            await driver.press("t", "5")
            await driver.until(lambda: state_of(driver).answer is not None)
            assert "threshold 3 → 5" in driver.text
            answer = state_of(driver).answer
            assert answer is not None
            assert f"foreign vectors {answer.logged.foreign_vectors} → {answer.foreign_vectors}" in driver.text
            await driver.press("escape")
            assert state_of(driver).tried.nothing

    async def test_where_the_primary_was_skipped_it_is_a_range(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            await typed(driver, "c", "30 s")
            answer = state_of(driver).answer
            assert answer is not None
            assert answer.foreign_vectors.low < answer.foreign_vectors.high
            assert str(answer.foreign_vectors) in driver.text
            assert "from always answered to always failed" in driver.text
            assert "unknown" in driver.row("what if")

    async def test_both_together_and_back_to_the_log(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            await typed(driver, "t", "5")
            await typed(driver, "c", "90 s")
            assert state_of(driver).tried.threshold == 5
            assert state_of(driver).tried.cooldown_ms == 90_000
            await typed(driver, "t", "")
            await typed(driver, "c", "")
            assert state_of(driver).answer is None
            assert "t another threshold" in driver.text

    async def test_what_is_no_number_is_refused_in_words(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            await typed(driver, "c", "soon")
            assert "that is no cooldown: soon" in driver.text
            assert state_of(driver).tried.nothing


class TestFit:
    """A configuration that fits the log better."""

    async def test_it_is_offered_applied_and_taken_back(self) -> None:
        async with driven(scene.reader(), paths=(scene.PARTING,)) as driver:
            await on(driver, scene.PARTING)
            fit = state_of(driver).fit
            assert fit is not None
            assert "hold it against threshold 2" in driver.text
            await driver.press("a")
            await driver.until(lambda: state_of(driver).applied)
            assert len(state_of(driver).replay.divergences) == fit.divergences
            assert "threshold 2" in driver.text
            assert "fitted" in driver.text
            await driver.press("a")
            assert not state_of(driver).applied
            assert "first of 8" in driver.text

    async def test_nothing_is_offered_where_nothing_diverges(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            await driver.press("a")
            assert "nothing diverges" in driver.text


class TestLedger:
    """What was written where, and the way to it."""

    async def test_each_namespace_has_its_row(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            rows = {row.namespace: row for row in state_of(driver).replay.ledger.rows}
            row = driver.row("✗ handbook")
            assert f"{rows['handbook'].native}" in row
            assert f"{rows['handbook'].foreign_vectors}" in row
            assert "backup-embed@1536" in row
            assert "queries across spaces" in driver.row("! handbook")

    async def test_its_keys_are_listed_and_lead_to_the_chunk(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG, scene.INDEX)) as driver:
            await on(driver, scene.LOG)
            await driver.press("enter")
            view = view_of(driver)
            await driver.until(lambda: view.keys.list.has_focus)
            assert "To embed again in handbook" in driver.text
            assert "index.duckdb › handbook" in driver.text
            row = view.keys.row
            assert row is not None
            await driver.press("down", "enter")
            await driver.until_read()
            chunks = driver.main.query_one(Chunks)
            opened = chunks._state.opened
            assert opened is not None
            assert opened.chunk.id == row.keys[1]
            assert "a fallback wrote this vector" in driver.text

    async def test_esc_leads_from_the_keys_to_the_replay_and_then_to_the_sources(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            await driver.press("enter")
            await driver.press("escape")
            assert view_of(driver).board.has_focus
            await driver.press("escape")
            assert driver.tree.has_focus

    async def test_rows_that_a_fallback_wrote_are_marked_and_counted_in_chunks(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG, scene.INDEX)) as driver:
            await driver.go_to("handbook")
            await driver.press("2")
            await driver.until_read()
            source = driver.source("routing.jsonl")
            assert source.routed is not None
            marked = source.routed.marks[scene.INDEX, "handbook"]
            assert f"≠ {len(marked)} by another embedder" in driver.text
            await driver.press("f")
            await driver.until_read()
            assert "1 of" in driver.text
            chunks = driver.main.query_one(Chunks)
            here = chunks._state.pages.row(chunks.table.cursor)
            assert here is not None
            assert here.id in marked

    async def test_marks_go_with_the_log(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG, scene.INDEX)) as driver:
            space = next(each for each in driver.source("index.duckdb").spaces if each.name == "handbook")
            assert space.foreign
            driver.main.session.close(Node(source=driver.source("routing.jsonl").key))
            assert not space.foreign

    async def test_without_an_index_it_says_what_to_open(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            assert "open the index as well" in driver.text


class TestWords:
    """What is said of a log."""

    async def test_doubts_of_a_foreign_log_are_counted_and_said_in_full(self) -> None:
        async with driven(scene.reader(), paths=(scene.FOREIGN,), size=SMALL_TERMINAL) as driver:
            await on(driver, scene.FOREIGN)
            assert "litellm" in driver.text
            await driver.press("v")
            assert "'documents' is taken to be the primary" in driver.text
            await driver.press("escape")
            assert "'documents' is taken" not in driver.text
            assert view_of(driver).board.has_focus

    async def test_a_clean_log_says_so(self) -> None:
        async with driven(scene.reader(), paths=(scene.CLEAN,)) as driver:
            await on(driver, scene.CLEAN)
            assert "went as configured" in driver.text
            assert "no warning was due" in driver.text

    @SIZES
    @pytest.mark.parametrize("ascii_only", [False, True], ids=["signs", "ascii"])
    async def test_names_that_would_command_a_terminal_are_only_read(
        self, size: tuple[int, int], ascii_only: bool
    ) -> None:
        async with driven(scene.reader(), paths=(scene.HOSTILE,), size=size, ascii_only=ascii_only) as driver:
            await on(driver, scene.HOSTILE)
            for keys in ((), ("v",), ("v",), ("enter",)):
                await driver.press(*keys)
                assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", driver.text)
            assert "[bold]no markup[/bold]" in driver.text

    async def test_plain_signs_are_plain(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,), ascii_only=True) as driver:
            await on(driver, scene.LOG)
            await typed(driver, "c", "30 s")
            assert driver.text.isascii()

    async def test_help_and_footer_know_its_keys(self) -> None:
        async with driven(scene.reader(), paths=(scene.LOG,)) as driver:
            await on(driver, scene.LOG)
            footer = driver.text.splitlines()[-1]
            for word in ("space play", "← → step", ": go to", "t threshold", "c cooldown", "m next warning"):
                assert word in footer
            await driver.press("question_mark")
            assert "go to the next call that wrote or asked across spaces" in driver.text


class TestAnyRoom:
    """The page for whatever room there is."""

    @pytest.mark.parametrize("width", [20, 37, 60, 76, 84, 150])
    @pytest.mark.parametrize("height", [1, 4, 9, 14, 22, 38])
    def test_it_is_drawn_and_no_row_is_too_long(self, width: int, height: int) -> None:
        for log in (scene.outage(), scene.parting(), scene.hostile(), scene.clean()):
            answer = what_if(log.replay, 1, 30_000)
            grid = grid_of(Window(0, log.replay.count), cells_wide(width))
            for signs in (UNICODE, ASCII):
                for said in (False, True):
                    shown = Shown(
                        routed=arrange_log(log),
                        replay=log.replay,
                        call=log.replay.call(log.replay.count // 2),
                        cells=cells_of(log.replay, grid),
                        entries=entries_of(log.replay),
                        tried=Tried(1, 30_000),
                        answer=answer,
                        answer_modes=what_if_modes(answer, grid),
                        fit=log.replay.fit,
                        said=said,
                    )
                    page = replay_page(shown, Frame(width, height, signs, focused=True))
                    assert page.lines
                    if width >= 76:
                        assert max(line.cells for line in page.lines) <= width
                    if width >= 76 and height >= 22:
                        assert len(page.lines) <= height
