"""Recordings on the screens: listed, opened, followed to an error, a retrieval and its chunk, written slim."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.tui import recording_scene as scene
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, driven
from tests.tui.fakes import FakeReader, FakeRecording
from workbench.core.job import Job
from workbench.index.problems import Problem
from workbench.tui.app import WorkbenchApp
from workbench.tui.reading import FileReader
from workbench.tui.recorded import arrange
from workbench.tui.screens.main import MainScreen
from workbench.tui.views.chunks import Chunks
from workbench.tui.views.recording import slim_name
from workbench.tui.views.retrievals import Retrievals
from workbench.tui.views.steps import Steps
from workbench.tui.widgets.pane import DetailPane
from workbench.tui.widgets.typed import TypedLine

SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL])


def label_of(app: Driver, path: str) -> str:
    return next(source.label for source in app.sources if source.path == path)


async def at(app: Driver, path: str, *keys: str) -> None:
    """Go to a recording by its path, and press keys there."""
    await app.go_to(label_of(app, path))
    await app.press(*keys)
    await app.until_read()


def keys_of(text: str) -> list[str]:
    """Give the keys that type a path."""
    return [{"/": "slash", "-": "minus", "_": "underscore", ".": "full_stop"}.get(each, each) for each in text]


def shown_in(steps: Steps) -> list[int]:
    """Give the numbers of the steps that are seen, in their order."""
    recorded = steps.recorded
    assert recorded is not None
    rows = (steps._place(row) for row in range(steps.list.row_count()))
    return [recorded.rows[place].step.n for place in rows if place is not None]


def view_of(app: Driver) -> object:
    return app.main.query_one(DetailPane).view


class TestInTheTree:
    """The row of a recording."""

    async def test_each_has_its_duration_and_the_worst_about_it(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            rows = {row.name: row for row in app.tree.rows}
            run, cut, plain = (rows[label_of(app, path)] for path in scene.NAMES)
            assert (run.count, run.tag) == ("12.4 s", "2 err")
            assert cut.tag == "damaged"
            assert (plain.count, plain.tag) == ("12.4 s", "")

    async def test_an_index_opened_later_is_held_against_it_and_one_that_is_closed_is_not(self) -> None:
        async with driven(scene.reader(), paths=("support/recordings",)) as app:
            source = next(each for each in app.sources if each.path == scene.RUN)
            assert source.recorded is not None
            assert all(each.space is None for each in source.recorded.retrievals)
            app.main.session.open_paths([scene.INDEX])
            await app.until_read()
            assert [each.space is not None for each in source.recorded.retrievals] == [False, False, True]
            index = next(each for each in app.sources if each.path == scene.INDEX)
            app.main.session.close(next(node for node in app.main.session.opened.roots if node.source == index.key))
            await app.until_read()
            assert all(each.space is None for each in source.recorded.retrievals)

    async def test_reading_one_can_be_stopped_and_lets_go_of_its_file(self) -> None:
        recording = replace(scene.run(), gate=threading.Event(), started=threading.Event(), closed=threading.Event())
        async with driven(FakeReader({scene.RUN: recording}), read=False) as app:
            await app.until(recording.started.is_set)
            await app.press("escape")
            await app.until_read()
            assert recording.closed.is_set()
            assert app.tree.rows[0].tag == "stopped"

    async def test_leaving_lets_go_of_every_file(self) -> None:
        reader = scene.reader()
        async with driven(reader, paths=scene.PATHS) as app:
            await app.press("q")
        for path in scene.NAMES:
            recording = reader.paths[path]
            assert isinstance(recording, FakeRecording)
            assert recording.closed.wait(10)


class TestSteps:
    """What happened."""

    @SIZES
    async def test_the_first_line_says_complete_how_much_and_the_sizes(self, size: tuple[int, int]) -> None:
        async with driven(scene.reader(), paths=scene.PATHS, size=size) as app:
            await at(app, scene.RUN, "enter")
            line = app.row("complete")
            assert "complete · 12.4 s · 3 retrievals · 2 errors" in line
            assert "2.76 → 1.62 MB" in line

    async def test_what_is_not_recorded_is_said_plainly(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.CUT, "enter")
            assert "incomplete, 5 events dropped · damaged" in app.text
            await app.press("v")
            assert "lean boundaries" in app.text
            assert "the last line is cut short and left out (line 3,120)" in app.text

    async def test_brackets_go_through_retrievals_and_curly_ones_through_errors_and_round(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter")
            steps = view_of(app)
            assert isinstance(steps, Steps)

            async def seen(key: str, times: int) -> list[int | None]:
                numbers = []
                for _ in range(times):
                    await app.press(key)
                    numbers.append(steps.step_here)
                return numbers

            assert await seen("right_square_bracket", 4) == [3, 7, 11, 3]
            assert await seen("left_square_bracket", 2) == [11, 7]
            assert await seen("right_curly_bracket", 3) == [9, 10, 9]
            assert await seen("left_curly_bracket", 2) == [10, 9]

    async def test_the_next_error_is_a_key_away_from_the_retrievals_too(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "2", "right_square_bracket", "right_curly_bracket")
            steps = view_of(app)
            assert isinstance(steps, Steps)
            assert steps.step_here == 9

    async def test_errors_first_puts_the_failed_steps_on_top_and_back(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", "e")
            steps = view_of(app)
            assert isinstance(steps, Steps)
            assert shown_in(steps)[:3] == [9, 10, 1]
            assert steps.here is not None
            assert steps.here.step.n == 9
            await app.press("e")
            assert shown_in(steps) == list(range(1, 14))
            assert steps.here.step.n == 9

    async def test_the_payload_has_vectors_as_their_shape_and_no_secret(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", "right_square_bracket", "right_square_bracket")
            await app.until_read()
            assert "⟨1,536 · norm 19.5959⟩" in app.text
            assert "abcdefghijklmnop" not in app.text
            assert "[redacted]" in app.text
            await app.press("tab", "tab", *["j"] * 3)
            assert "path minScore" in app.text
            await app.press("escape")
            steps = view_of(app)
            assert isinstance(steps, Steps)
            assert steps.list.has_focus

    async def test_a_file_that_was_changed_is_said_in_the_place_of_the_payload(self) -> None:
        reader = scene.reader()
        async with driven(reader, paths=scene.PATHS) as app:
            recording = reader.paths[scene.RUN]
            assert isinstance(recording, FakeRecording)
            recording.changed = True
            await at(app, scene.RUN, "enter", "j")
            await app.until_read()
            assert "the file was changed while it was open" in app.text

    async def test_nothing_of_a_payload_commands_the_terminal(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS, size=(200, 50)) as app:
            await at(app, scene.RUN, "enter", "right_square_bracket", "right_square_bracket", "tab", "tab", "end")
            await app.until_read()
            assert "[bold]no markup[/bold]" in app.text
            assert not {"\x1b", "\x07", "\u202e"} & set(app.text)

    async def test_a_recording_without_steps_says_so(self) -> None:
        report = scene.report(scene.PLAIN, steps=())
        async with driven(FakeReader({scene.PLAIN: FakeRecording(report)})) as app:
            await app.press("enter", "j", "right_square_bracket", "e", "enter", "tab", "y")
            assert "no step is recorded" in app.text
            await app.press("2", "j", "enter", "right_square_bracket", "y", "s")
            assert "nothing was searched in this recording" in app.text

    async def test_what_was_said_of_a_recording_is_not_said_of_the_next(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("workbench.tui.screens.desk._SAID_ON_THE_WAY", 0)
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.PLAIN, "enter", "right_square_bracket")
            assert "nothing was searched" in app.text
            await at(app, scene.RUN)
            assert "nothing was searched" not in app.text


class TestRetrievals:
    """What was found."""

    @SIZES
    async def test_kept_above_and_rejected_below_the_threshold(self, size: tuple[int, int]) -> None:
        async with driven(scene.reader(), paths=scene.PATHS, size=size) as app:
            await at(app, scene.RUN, "2", "right_square_bracket")
            rows = app.text.splitlines()
            line = next(place for place, row in enumerate(rows) if "threshold 0.6" in row)
            assert "4 rejected" in rows[line]
            assert "0.6401" in rows[line - 1]
            assert "low score" in rows[line + 1]
            assert "✂ 4,889" in app.row("0.8312")
            assert "“refund after 40 days”" in app.text
            assert "✓" in app.row("space  ")

    async def test_the_wrong_space_is_said_as_show_says_it(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "2", "left_square_bracket")
            assert "≠ index …3-small@1536" in app.row("space  ") or "≠ index text-embedding-3-small" in app.text
            said = next(each for each in scene.run().joined.join_findings if "retrieval 3" in each.message)  # type: ignore[union-attr]
            assert said.message[:40] in app.text

    async def test_enter_goes_to_the_chunk_in_the_opened_index(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "2", "right_square_bracket", "enter")
            await app.until_read()
            pane = app.main.query_one(DetailPane)
            assert pane.title == "Chunks"
            assert pane.subject is not None
            assert pane.subject.space.name == "handbook"
            assert scene.RETRIEVALS[1].candidates is not None
            assert isinstance(pane.view, Chunks)
            assert pane.view.chunk.opened is not None
            assert pane.view.chunk.opened.chunk.id == scene.RETRIEVALS[1].candidates[0].id
            await app.until(lambda: "the embedder stopped reading here" in app.text)

    async def test_without_an_index_nothing_is_opened_and_that_is_said(self) -> None:
        async with driven(scene.reader(), paths=("support/recordings",)) as app:
            await at(app, scene.RUN, "2", "enter")
            assert "no open index has it" in app.text
            assert "no open index has this chunk" in app.text

    async def test_a_step_leads_to_its_retrieval_and_back(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await at(app, scene.RUN, "enter", *["right_square_bracket"] * 3, "enter")
            view = view_of(app)
            assert isinstance(view, Retrievals)
            assert view.place == 2
            await app.press("s")
            steps = view_of(app)
            assert isinstance(steps, Steps)
            assert steps.here is not None
            assert steps.here.step.n == 11


class TestTheSlimCopy:
    """``w``."""

    async def test_it_is_what_summarize_writes_and_nothing_is_written_over(self, tmp_path: Path) -> None:
        given = tmp_path / "run.json"
        given.write_text(json.dumps({"steps": [{"name": "embed", "embedding": [0.25] * 64}]}))
        before = given.read_bytes()
        app = WorkbenchApp((str(given),), FileReader())
        async with app.run_test(size=LARGE_TERMINAL) as pilot:
            driver = Driver(app, pilot)
            await driver.until_read()
            await driver.press("enter", "w")
            line = driver.main.query_one(TypedLine)
            assert line.asking
            await driver.press("enter")
            await driver.until_read()
            copy = tmp_path / "run.slim.json"
            assert json.loads(copy.read_bytes())["steps"][0]["embedding"] == {"dims": 64, "norm": 2}
            assert "wrote run.slim.json" in driver.text
            kept = copy.read_bytes()
            await driver.press("w", "enter")
            await driver.until_read()
            assert "exists already" in driver.text
            await driver.press("w")
            line.query_one(Input).value = f"{given.parent}/"
            await driver.press("end", *keys_of(given.name), "enter")
            await driver.until_read()
            assert "is the recording itself" in driver.text
            assert copy.read_bytes() == kept
        assert given.read_bytes() == before

    def test_the_name_offered_stands_beside_the_recording(self) -> None:
        assert slim_name("a/run.json") == "a/run.slim.json"
        assert slim_name("a/run.jsonl.gz") == "a/run.slim.jsonl"
        assert slim_name("run") == "run.slim"


class TestArranged:
    """A report as rows."""

    def test_times_that_are_not_recorded_make_no_waterfall(self) -> None:
        steps = tuple(replace(step, start_ms=None, duration_ms=None) for step in scene.STEPS)
        recorded = arrange(scene.report("x", steps=steps))
        assert (recorded.began_ms, recorded.ended_ms) == (0, 0)
        assert len(recorded.rows) == 13


class TestFiles:
    """Real files through the real reader."""

    def test_a_folder_lists_recordings_by_content_and_leaves_other_json_out(self, tmp_path: Path) -> None:
        (tmp_path / "a.dat").write_text(json.dumps({"resourceSpans": []}))
        (tmp_path / "package.json").write_text('{"name": "x"}')
        (tmp_path / "note.txt").write_text("hello")
        paths, skipped = FileReader().sources_in(str(tmp_path), Job())
        assert [Path(path).name for path in paths] == ["a.dat"]
        assert skipped == 2

    async def test_json_without_steps_or_vectors_is_said_to_be_no_index(self, tmp_path: Path) -> None:
        given = tmp_path / "package.json"
        given.write_text('{"name": "x"}')
        app = WorkbenchApp((str(given),), FileReader())
        async with app.run_test(size=LARGE_TERMINAL) as pilot:
            driver = Driver(app, pilot)
            await driver.until_read()
            assert isinstance(app.screen, MainScreen)
            trouble = driver.sources[0].trouble
            assert trouble is not None
            assert trouble.problem in (Problem.NOT_AN_INDEX, Problem.NOT_READABLE_YET)
