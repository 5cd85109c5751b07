"""What the first frame waits for, and what keeps the keys quick after it."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

from tests.tui import scenes
from tests.tui.driving import driven
from workbench.tui import collector

ROOT = Path(__file__).resolve().parents[2]
_HEAVY = ("numpy", "duckdb", "_duckdb", "orjson", "sqlite3", "workbench.index.model", "workbench.checkup.report")


def test_the_first_frame_waits_for_no_library_that_reads_and_for_no_verdict() -> None:
    script = f"import sys; from workbench.tui import app; print(*[m for m in {_HEAVY!r} if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ended.stdout.strip() == ""


def test_what_a_start_made_is_set_apart_from_what_is_collected() -> None:
    try:
        collector.hold_back()
        assert not gc.isenabled()
        collector.set_apart()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 1_000
    finally:
        gc.enable()
        gc.unfreeze()


async def test_what_lies_behind_an_overlay_reads_the_same_and_is_dimmed() -> None:
    async with driven(scenes.loaded()) as driver:
        await driver.go_to("handbook")
        before = driver.app.screen._compositor.render_strips()[1]
        await driver.press("question_mark")
        after = driver.app.screen._compositor.render_strips()[1]
        assert after.text == before.text
        colours = [
            {segment.style.color for segment in strip if segment.style is not None and segment.text.strip()}
            for strip in (before, after)
        ]
        assert colours[0].isdisjoint(colours[1])


async def test_nothing_behind_an_overlay_is_dimmed_under_an_ansi_theme() -> None:
    async with driven(scenes.loaded(), theme="ansi-dark") as driver:
        await driver.go_to("handbook")
        before = driver.app.screen._compositor.render_strips()[1]
        await driver.press("question_mark")
        after = driver.app.screen._compositor.render_strips()[1]
        assert [(each.text, each.style and each.style.color) for each in after] == [
            (each.text, each.style and each.style.color) for each in before
        ]
