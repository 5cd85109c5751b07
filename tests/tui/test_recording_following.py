"""Recordings that change on disk while they are open, from real files: noticed, said, followed."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.tui.driving import LARGE_TERMINAL, Driver
from workbench.tui import following
from workbench.tui.app import WorkbenchApp
from workbench.tui.file_change import Change, news_of, stamp_of
from workbench.tui.reading import FileReader
from workbench.tui.screens import shown
from workbench.tui.views.steps import Steps


def _line(n: int) -> str:
    event = {"type": "agent.tool", "runtimeStageId": f"stage#{n}", "timestamp": 1.7e12 + 500 * n, "payload": {"n": n}}
    return json.dumps(event) + "\n"


def _written(path: Path, *numbers: int) -> Path:
    path.write_text("".join(map(_line, numbers)))
    return path


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.fixture(autouse=True)
def _looks_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at files only when the test says so, and never rest."""
    monkeypatch.setattr(shown, "LOOK_SECONDS", 3_600.0)
    monkeypatch.setattr(following, "_REST", 0)


@asynccontextmanager
async def _opened(path: Path) -> AsyncIterator[Driver]:
    app = WorkbenchApp([str(path)], FileReader())
    async with app.run_test(size=LARGE_TERMINAL) as pilot:
        driver = Driver(app, pilot)
        await driver.until_read()
        await driver.press("enter")
        await driver.until_read()
        yield driver


async def _look(app: Driver) -> None:
    app.main.session.following.look()
    await app.until(lambda: not app.main.session.following.busy)


def _steps(app: Driver) -> Steps:
    return app.main.query_one(Steps)


def _count(app: Driver) -> int:
    recorded = app.sources[0].recorded
    return len(recorded.rows) if recorded is not None else 0


class TestNoticed:
    """Nothing is read anew that nobody asked for; what happened is said."""

    async def test_nothing_is_said_of_a_file_that_stays_as_it_is(self, tmp_path: Path) -> None:
        async with _opened(_written(tmp_path / "run.jsonl", 0, 1)) as app:
            await _look(app)
            assert app.sources[0].news == ""

    async def test_lines_that_were_added_are_counted_and_not_yet_read(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "run.jsonl", 0, 1)
        async with _opened(path) as app:
            _append(path, _line(2) + _line(3) + _line(4)[:20])
            await _look(app)
            assert "2 new lines" in app.text
            assert "F follow" in app.text
            assert _count(app) == 2

    async def test_r_reads_it_again_once(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "run.jsonl", 0, 1)
        async with _opened(path) as app:
            _append(path, _line(2))
            await _look(app)
            await app.press("r")
            await app.until_read()
            assert _count(app) == 3
            assert app.sources[0].news == ""

    async def test_a_file_that_was_replaced_is_said_to_be_another(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "run.jsonl", 0, 1)
        async with _opened(path) as app:
            os.replace(_written(tmp_path / "new.jsonl", 7), path)
            await _look(app)
            assert "the file was replaced" in app.text

    async def test_a_file_that_got_shorter_says_from_what_to_what(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "run.jsonl", *range(40))
        async with _opened(path) as app:
            os.truncate(path, 100)
            await _look(app)
            assert "the file got shorter: 100 bytes, it had 4.18 kB" in app.text

    async def test_a_file_that_is_gone_leaves_what_was_read(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "run.jsonl", 0, 1)
        async with _opened(path) as app:
            path.unlink()
            await _look(app)
            assert "the file is gone; what is shown was read before" in app.text
            assert _count(app) == 2


class TestFollowed:
    """As whoever uses ``tail -f`` expects."""

    async def test_the_cursor_goes_to_the_end_and_stays_there(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "run.jsonl", *range(5))
        async with _opened(path) as app:
            await app.press("F")
            assert _steps(app).list.cursor == 4
            _append(path, _line(5) + _line(6))
            await _look(app)
            await app.until(lambda: _count(app) == 7)
            assert _steps(app).list.cursor == 6
            assert "2 new steps" in app.text

    async def test_a_cursor_that_was_moved_stays_on_its_step(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "run.jsonl", *range(5))
        async with _opened(path) as app:
            await app.press("F", "k", "k")
            _append(path, _line(5))
            await _look(app)
            await app.until(lambda: _count(app) == 6)
            assert _steps(app).list.cursor == 2

    async def test_a_line_that_is_half_written_waits_for_its_rest(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "run.jsonl", 0, 1)
        async with _opened(path) as app:
            await app.press("F")
            _append(path, _line(2) + _line(3)[:30])
            await _look(app)
            assert _count(app) == 2
            _append(path, _line(3)[30:])
            await _look(app)
            await app.until(lambda: _count(app) == 4)

    async def test_a_last_line_without_an_end_is_read_once_it_is_quiet(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "run.jsonl", 0, 1)
        async with _opened(path) as app:
            await app.press("F")
            _append(path, _line(2).rstrip())
            for _ in range(following.QUIET_LOOKS + 1):
                await _look(app)
            await app.until(lambda: _count(app) == 3)

    async def test_a_file_that_was_replaced_is_read_once_it_is_quiet(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "run.jsonl", *range(5))
        async with _opened(path) as app:
            await app.press("F")
            os.replace(_written(tmp_path / "new.jsonl", 7, 8), path)
            await _look(app)
            await _look(app)
            await app.until(lambda: _count(app) == 2)
            assert "the file was replaced: 2 steps" in app.text

    async def test_pressed_again_it_is_no_longer_followed(self, tmp_path: Path) -> None:
        path = _written(tmp_path / "run.jsonl", 0, 1)
        async with _opened(path) as app:
            await app.press("F", "F")
            _append(path, _line(2))
            await _look(app)
            assert _count(app) == 2
            assert "1 new line" in app.text


class TestNews:
    """What the stamps of two looks say."""

    def test_a_document_that_grew_has_no_lines_to_count(self, tmp_path: Path) -> None:
        path = tmp_path / "run.json"
        path.write_text(json.dumps({"events": [1, 2]}, indent=1))
        before = stamp_of(str(path))
        assert before is not None
        path.write_text(json.dumps({"events": [1, 2, 3]}, indent=1))
        news = news_of(str(path), before, stamp_of(str(path)))
        assert (news.change, news.lines) == (Change.GROWN, None)

    def test_a_line_begun_before_counts_when_it_ends(self, tmp_path: Path) -> None:
        path = tmp_path / "run.jsonl"
        path.write_text(_line(0) + _line(1)[:9])
        before = stamp_of(str(path))
        assert before is not None
        _append(path, _line(1)[9:])
        news = news_of(str(path), before, stamp_of(str(path)))
        assert (news.lines, news.half) == (1, False)
