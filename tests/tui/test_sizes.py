"""Where the bytes of a recording are, and what its slim copy will be."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tui import recording_scene as scene
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, driven
from tests.tui.fakes import FakeReader
from workbench.tui.app import WorkbenchApp
from workbench.tui.reading import FileReader

_DENSE = [0.3, -0.5, 0.25, 0.75] * 16
_SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"


def _recording(path: Path) -> Path:
    """Write three vectors of the seed's rule, two likely ones, one secret."""
    lines = [{"type": "llm", "timestamp": 1.7e12 + n, "embedding": _DENSE} for n in range(3)]
    lines += [{"type": "search", "timestamp": 1.7e12 + n, "results": [{"vector": _DENSE}]} for n in range(2)]
    lines.append({"type": "call", "timestamp": 1.7e12, "api_key": _SECRET})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@asynccontextmanager
async def _sizes(path: Path, size: tuple[int, int] = LARGE_TERMINAL) -> AsyncIterator[Driver]:
    app = WorkbenchApp([str(path)], FileReader())
    async with app.run_test(size=size) as pilot:
        driver = Driver(app, pilot)
        await driver.until_read()
        await driver.press("3")
        await driver.until_read()
        yield driver


@pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL])
async def test_places_stand_with_count_bytes_and_share_likely_ones_apart(tmp_path: Path, size: tuple[int, int]) -> None:
    async with _sizes(_recording(tmp_path / "run.jsonl"), size) as app:
        total, each = (tmp_path / "run.jsonl").stat().st_size, len(json.dumps(_DENSE))
        assert app.row(" seed").split("embedding")[1].split()[0] == "3"
        assert f"{100 * 3 * each / total:.1f} %" in app.row(" seed")
        assert "Likely vectors, not summarised" in app.text
        assert " 2 " in app.row("results[].vector")


async def test_what_w_writes_and_where_is_said_before(tmp_path: Path) -> None:
    async with _sizes(_recording(tmp_path / "run.jsonl")) as app:
        assert "run.slim.jsonl" in app.row("where ")
        assert "secrets  kept as they are" in app.text
        await app.press("w")
        assert "secrets kept" in app.text
        assert not (tmp_path / "run.slim.jsonl").exists()


async def test_the_copy_is_written_as_it_was_chosen(tmp_path: Path) -> None:
    async with _sizes(_recording(tmp_path / "run.jsonl")) as app:
        await app.press("m", "t")
        assert "masked in the copy" in app.text
        assert "2 likely vectors summarised too" in app.text
        await app.press("w", "enter")
        await app.until((tmp_path / "run.slim.jsonl").exists)
        await app.until_read()
        written = (tmp_path / "run.slim.jsonl").read_text()
        assert _SECRET not in written
        assert written.count('"dims":64') == 5
        assert _SECRET in (tmp_path / "run.jsonl").read_text()


async def test_a_path_is_copied_as_summarize_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr("workbench.tui.screens.desk.copy_text", lambda _app, text: copied.append(text))
    async with _sizes(_recording(tmp_path / "run.jsonl")) as app:
        await app.press("j", "y")
        assert copied == ["results[].vector"]


async def test_a_recording_without_vectors_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps({"type": "llm", "timestamp": n, "runId": "r"}) + "\n" for n in range(3)))
    async with _sizes(path) as app:
        assert "none stands in full" in app.text


async def test_what_was_stopped_is_measured_again_when_it_is_asked_for() -> None:
    gate = threading.Event()
    recording = replace(scene.run(), measured_when=gate)
    async with driven(FakeReader({scene.RUN: recording}), size=LARGE_TERMINAL) as app:
        await app.press("3")
        await app.until(lambda: "being measured" in app.text)
        await app.press("escape")
        app.main.session.look_again()
        await app.until_read()
        assert "measuring was stopped: 3 measures again" in app.text
        gate.set()
        await app.press("3")
        await app.until(lambda: "snapshot.memory.embeddings[]" in app.text)


async def test_nothing_of_a_path_commands_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    line = {"type": "llm", "timestamp": 1.7e12, "a\x1b]0;title\x07[red]b[/red]": {"embedding": _DENSE}}
    path.write_text(json.dumps(line) + "\n")
    async with _sizes(path) as app:
        assert "\x1b" not in app.text
        assert "[red]" in app.text
