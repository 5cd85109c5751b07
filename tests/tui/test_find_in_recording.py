"""Finding, filtering, folding and copying in a recording, by keys and by mouse."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from tests.tui import recording_scene as scene
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, driven
from tests.tui.fakes import FakeReader, FakeRecording
from tests.tui.test_recordings import at, shown_in
from workbench.recordings.model import RecordedError, Step
from workbench.tui.views.retrievals import Retrievals
from workbench.tui.views.steps import Steps
from workbench.tui.widgets.pane import DetailPane
from workbench.tui.widgets.typed import TypedLine

SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL])


def steps_of(app: Driver) -> Steps:
    view = app.main.query_one(DetailPane).view
    assert isinstance(view, Steps)
    return view


async def find(app: Driver, text: str) -> None:
    await app.press("slash", *[{" ": "space", "-": "minus"}.get(each, each) for each in text], "enter")
    await app.until_read()


async def to_payload(app: Driver) -> Steps:
    """Give the payload the focus, past the evidence where that stands beside it."""
    steps = steps_of(app)
    await app.until_read()
    for _ in range(3):
        if not steps.payload.list.has_focus:
            await app.press("tab")
    assert steps.payload.list.has_focus
    return steps


def path_here(steps: Steps) -> str:
    row = steps.payload.row
    return row.node.path if row is not None else ""


def accented(app: Driver) -> set[str]:
    """Give what stands out in bold and in the colour of the needle in the lists."""
    strips = app.app.screen._compositor.render_strips()
    colour = app.app.theme_variables["primary"].lower()
    found = set()
    for strip in strips[1:-1]:
        for segment in strip:
            style = segment.style
            if style is not None and style.bold and style.color is not None and style.color.name == colour:
                found.add(segment.text)
    return found


class TestFinding:
    """``/``."""

    @SIZES
    async def test_a_hit_is_shown_in_the_steps_and_in_the_payload(self, size: tuple[int, int]) -> None:
        async with driven(scene.reader(), paths=scene.PATHS, size=size) as app:
            await at(app, scene.RUN, "enter")
            await find(app, "REFUND_lookup")
            steps = steps_of(app)
            assert "/REFUND_lookup  1 of 3 hits" in app.row("Steps ─")
            assert (steps.step_here, path_here(steps)) == (8, "tool_calls.0.name")
            assert "refund_lookup" in accented(app)
            await app.press("n")
            assert steps.step_here == 9
            await app.press("n", "n")
            await app.until_read()
            assert steps.step_here == 8
            await app.press("N")
            assert steps.step_here == 10
            assert "3 of 3 hits" in app.row("Steps ─")

    async def test_json_inside_a_string_is_unfolded_to_the_hit(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter")
            await find(app, "a-1017")
            steps = steps_of(app)
            assert (steps.step_here, path_here(steps)) == (8, "tool_calls.0.arguments.order.id")
            assert '"A-1017"' in app.text

    async def test_how_many_there_are_is_said_while_it_is_typed(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", "slash", *"503")
            await app.until(lambda: "2 hits" in app.text)
            assert app.main.query_one(TypedLine).asking
            await app.press("enter")
            await app.until_read()
            steps = steps_of(app)
            assert (steps.step_here, path_here(steps)) == (9, "status")

    async def test_what_is_not_found_is_said_and_the_cursor_stays(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", "j")
            await find(app, "nowhere")
            assert "nothing found in 13 steps" in app.text
            assert steps_of(app).step_here == 2
            await app.press("n")
            assert "no hit" in app.text

    async def test_a_secret_is_not_found(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter")
            await find(app, "abcdefgh")
            assert "nothing found" in app.text

    async def test_escape_searches_for_nothing_any_more(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter")
            await find(app, "503")
            await app.press("escape")
            assert "/503" not in app.text
            assert steps_of(app).list.has_focus
            await app.press("slash", "5", "escape")
            await app.until_read()
            assert not steps_of(app).finding.needle

    async def test_it_is_asked_for_from_the_retrievals_too(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "2")
            await find(app, "503")
            assert steps_of(app).step_here == 9
            await app.until(lambda: steps_of(app).list.has_focus)

    async def test_a_search_that_goes_on_can_be_stopped(self) -> None:
        reader = scene.reader()
        held = replace(scene.run(), held=threading.Event())
        async with driven(FakeReader({**reader.paths, scene.RUN: held}), paths=scene.PATHS) as app:
            await app.go_to(next(source.label for source in app.sources if source.path == scene.RUN))
            assert held.held is not None
            held.held.set()
            await app.press("enter")
            await app.until_read()
            held.held.clear()
            await app.press("slash", *"503", "enter")
            await app.until(lambda: "finding 503" in app.text)
            await app.press("escape")
            steps = steps_of(app)
            assert not steps.finding.searching
            assert "0 hits so far" in app.row("Steps ─")
            held.held.set()
            await app.until_read()

    async def test_a_hit_in_a_hidden_step_is_counted_and_passed_over(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", "f", *["down"] * 2, "space", "escape")
            steps = steps_of(app)
            await find(app, "refund_lookup")
            hidden = steps._state.choice.hidden
            assert len(hidden) == 1
            await app.press("f", "a", "down", "down", "o", "enter")
            assert "hidden" in app.row("Steps ─")

    async def test_what_lies_deep_in_a_long_text_is_shown_with_what_is_around_it(self) -> None:
        async with driven(one({"log": "line " * 3_000 + "the needle is here " + "line " * 3_000})) as app:
            await app.press("enter")
            await app.until(lambda: steps_of(app).list.has_focus)
            await find(app, "needle")
            assert "the needle is here" in app.text
            assert "needle" in accented(app)

    async def test_a_hit_in_an_id_is_named(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter")
            await find(app, "step-9")
            assert steps_of(app).step_here == 9
            assert "found in its id: step-9" in app.text

    async def test_a_recording_without_steps_is_shown_and_searched_as_its_values(self) -> None:
        report = scene.report(scene.PLAIN, steps=())
        reader = FakeReader({scene.PLAIN: FakeRecording(report, text=b'{"matches": [{"id": "refunds.md#4"}]}')})
        async with driven(reader) as app:
            await app.press("enter")
            await app.until(lambda: steps_of(app).list.has_focus)
            await app.until_read()
            assert "no step is recorded" in app.text
            assert "refunds.md#4" in app.text
            await app.press("slash", *"refund", "enter")
            await app.until_read()
            assert path_here(steps_of(app)) == "matches.0.id"
            await to_payload(app)
            await app.press("Y")
            assert app.app.clipboard == "matches.0.id"

    async def test_a_hit_in_a_folded_step_unfolds_it(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", "minus")
            assert shown_in(steps_of(app)) == [1, 5, 13]
            await find(app, "a-1017")
            assert shown_in(steps_of(app)) == [1, 5, 6, 7, 8, 9, 10, 11, 12, 13]


class TestFiltering:
    """``f``."""

    @SIZES
    async def test_several_kinds_are_hidden_at_once_and_that_is_said(self, size: tuple[int, int]) -> None:
        async with driven(scene.reader(), paths=scene.PATHS, size=size) as app:
            await at(app, scene.RUN, "enter", "f")
            assert "failed steps only" in app.text
            assert app.row(" llm ").split()[2:4] == ["llm", "3"] or "llm" in app.text
            await app.press("down", "space", "down", "space")
            assert "Steps that are seen: 7 of 13" in app.text
            await app.press("enter")
            fact = app.row("Steps ─")
            assert "7 of 13 steps; llm, retrieval hidden" in fact
            assert shown_in(steps_of(app)) == [1, 2, 5, 6, 9, 10, 13]

    async def test_failed_steps_alone(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", "f", "e", "escape")
            assert shown_in(steps_of(app)) == [9, 10]
            assert "2 of 13 steps; failed only" in app.row("Steps ─")

    async def test_nothing_that_is_left_is_said_with_the_way_out(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.PLAIN, "enter", "f", "e", "escape")
            assert "every step is hidden: f chooses what is seen" in app.text
            await app.press("right_curly_bracket", "right_square_bracket", "y", "Y", "space", "enter", "minus", "plus")
            await app.press("f", "a", "escape")
            assert shown_in(steps_of(app)) == [1, 2]

    async def test_the_cursor_stays_on_its_step_or_on_what_that_is_part_of(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", *["right_curly_bracket"])
            assert steps_of(app).step_here == 9
            steps = steps_of(app)
            await app.press("f", "down", "down", "down", "space", "escape")
            assert steps.step_here in (5, 9)
            await app.press("f", "a", "escape")
            assert len(shown_in(steps)) == 13

    async def test_an_error_that_is_hidden_is_named(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter")
            steps = steps_of(app)
            steps._state.choice.hidden = frozenset({"tool"})
            steps._chosen_anew(1)
            await app.press("right_curly_bracket")
            assert "every failed step is hidden" in app.text


class TestFolding:
    """Of steps and of values."""

    async def test_space_and_the_arrows_fold_a_step(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", "right_curly_bracket", "h")
            steps = steps_of(app)
            assert steps.step_here == 5
            await app.press("h")
            assert shown_in(steps) == [1, 2, 3, 4, 5, 13]
            assert "▸ ✗ turn 2" in app.text
            assert "7 steps, 2 failed" in app.text
            await app.press("l")
            assert len(shown_in(steps)) == 13
            await app.press("l")
            assert steps.step_here == 6
            await app.press("k", "space", "space", "enter", "enter")
            assert len(shown_in(steps)) == 13

    async def test_all_steps_fold_and_unfold_with_the_cursor_on_what_holds_it(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", "right_curly_bracket", "minus")
            steps = steps_of(app)
            assert (shown_in(steps), steps.step_here) == ([1, 5, 13], 5)
            await app.press("plus")
            assert len(shown_in(steps)) == 13

    async def test_values_fold_a_level_at_a_time(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", *["right_square_bracket"] * 2)
            steps = await to_payload(app)
            count = steps.payload.list.row_count()
            await app.press("minus")
            assert steps.payload.list.row_count() == len(scene.PAYLOAD)
            await app.press("plus")
            await app.until_read()
            assert steps.payload.list.row_count() >= count
            await app.press("h")
            assert steps.list.has_focus

    async def test_a_wide_value_comes_in_pages(self) -> None:
        wide = {"all": [f"value {place}" for place in range(1_000)]}
        async with driven(one(wide)) as app:
            await app.press("enter")
            await app.until(lambda: steps_of(app).list.has_focus)
            steps = await to_payload(app)
            await app.press("enter")
            await app.until_read()
            assert steps.payload.list.row_count() == 202
            await app.press("end", "enter")
            await app.until_read()
            assert steps.payload.list.row_count() == 402
            assert "more behind the first 400" in lines_of(steps)[-1]

    async def test_a_click_folds_the_row_under_the_cursor(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter")
            steps = steps_of(app)
            await app.pilot.click(steps.list, offset=(4, 0))
            await app.pilot.pause()
            assert 2 not in shown_in(steps)


class TestCopying:
    """``y`` and ``Y``."""

    async def test_a_value_its_path_and_what_is_masked(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", *["right_square_bracket"] * 2)
            await to_payload(app)
            await app.press("y")
            await app.until_read()
            assert app.app.clipboard == "refund after 40 days"
            assert "copied the value, 20 characters" in app.text
            await app.press("j", "y")
            await app.until_read()
            assert json.loads(app.app.clipboard)["dims"] == 1_536
            assert "copied the summary of a vector" in app.text
            await app.press("Y")
            assert app.app.clipboard == "queryVec"
            await app.press("j", "j", "j", "y")
            await app.until_read()
            assert app.app.clipboard == "Bearer [redacted]" or app.app.clipboard == "[redacted]"
            assert "the secret masked" in app.text

    async def test_a_step_is_copied_as_its_payload_and_its_id(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", *["right_square_bracket"] * 2)
            await app.until_read()
            await app.press("y")
            await app.until_read()
            copied = json.loads(app.app.clipboard)
            assert copied["queryVec"]["dims"] == 1_536
            assert "abcdefghijklmnop" not in app.app.clipboard
            await app.press("Y")
            assert app.app.clipboard == "step-7"


class TestErrors:
    """What failed."""

    async def test_both_values_of_a_repeated_key_are_seen_and_which_counts(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", "right_curly_bracket", "tab", "down")
            await app.until_read()
            assert "status 1 of 2" in app.text
            assert "status 2 of 2" in app.text
            assert "the last one counts" in app.text

    async def test_an_error_of_no_step_is_told(self) -> None:
        given = scene.report(scene.PLAIN, steps=scene.STEPS[:2])
        given = replace(given, errors=(RecordedError(None, "order 9999 not found"),))
        async with driven(FakeReader({scene.PLAIN: FakeRecording(given, text=scene.TEXT.data)})) as app:
            await app.press("enter", "right_curly_bracket")
            assert "what failed belongs to no step" in app.text
            assert "order 9999 not found" in app.text

    async def test_the_key_to_write_is_offered_in_a_small_terminal(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS, size=SMALL_TERMINAL) as app:
            await at(app, scene.RUN, "enter")
            assert "w write" in app.text.splitlines()[-1]
            await app.press("2")
            assert isinstance(app.main.query_one(DetailPane).view, Retrievals)
            assert "w write" in app.text.splitlines()[-1]


def one(payload: object) -> FakeReader:
    """Give one recording with one step."""
    data = json.dumps(payload).encode()
    from workbench.recordings.model import Span

    step = Step(1, None, False, "span", "only", "ok", None, None, None, (Span(0, len(data)),))
    report = scene.report(scene.PLAIN, steps=(step,))
    return FakeReader({scene.PLAIN: FakeRecording(report, text=data)})


def lines_of(steps: Steps) -> list[str]:
    from workbench.tui.pages.payload import payload_line
    from workbench.tui.signs import UNICODE

    rows: Any = steps.payload.tree.rows if steps.payload.tree is not None else ()
    return [payload_line(row, 76, UNICODE, here=False).text for row in rows]
