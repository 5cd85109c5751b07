"""A huge recording: its first steps at once, then the rest with its progress, and esc keeps what is there."""

from __future__ import annotations

import threading

from tests.tui import recording_scene as scene
from tests.tui.driving import Driver, driven
from tests.tui.fakes import FakeReader, FakeRecording
from workbench.checkup.recording_report import VectorTotals
from workbench.tui.recording_reading import BIG_BYTES
from workbench.tui.state import Status
from workbench.tui.views.steps import Steps

_FOLDER = "support/recordings"


def _huge(size: int = 300_000_000, *, gate: threading.Event | None = None) -> FakeRecording:
    first = FakeRecording(
        scene.report(scene.RUN, steps=scene.STEPS[:2], vectors=VectorTotals(0, 0, size, None)), size=size
    )
    return FakeRecording(scene.run().report, first=first, size=size, gate=gate)


async def _first_steps_seen(app: Driver, recording: FakeRecording) -> None:
    await app.until(lambda: recording.started.is_set() and bool(app.sources) and app.sources[0].so_far is not None)
    await app.press("enter")


class TestFirstSteps:
    """While the rest is being read."""

    async def test_are_shown_with_how_far_reading_came_and_never_as_a_verdict(self) -> None:
        recording = _huge(gate=threading.Event())
        async with driven(FakeReader({scene.RUN: recording}), read=False) as app:
            await _first_steps_seen(app, recording)
            assert "so far 2 steps" in app.text
            assert "reading 25 % of 300 MB  esc stops" in app.text
            assert "✓" not in app.tree_row("run-0742-1.json")
            assert recording.gate is not None
            recording.gate.set()

    async def test_give_way_to_all_of_it_with_the_cursor_where_it_was(self) -> None:
        recording = _huge(gate=threading.Event())
        async with driven(FakeReader({scene.RUN: recording}), read=False) as app:
            await _first_steps_seen(app, recording)
            await app.press("j")
            assert recording.gate is not None
            recording.gate.set()
            await app.until_read()
            assert "complete · 12.4 s · 3 retrievals · 2 errors" in app.text
            here = app.main.query_one(Steps).here
            assert here is not None
            assert here.step.name == "context"

    async def test_stay_when_esc_stops_the_reading_and_r_reads_on(self) -> None:
        recording = _huge(gate=threading.Event())
        async with driven(FakeReader({scene.RUN: recording}), read=False) as app:
            await _first_steps_seen(app, recording)
            await app.press("escape")
            await app.until(lambda: app.sources[0].status is Status.STOPPED)
            assert "so far 2 steps" in app.text
            assert "stopped at 25 % of 300 MB  r reads all" in app.text
            await app.press("r")
            assert recording.gate is not None
            recording.gate.set()
            await app.until_read()
            assert "complete · 12.4 s" in app.text

    async def test_can_be_left_by_quitting_at_once(self) -> None:
        recording = _huge(gate=threading.Event())
        async with driven(FakeReader({scene.RUN: recording}), read=False) as app:
            await _first_steps_seen(app, recording)
            await app.press("q")
            assert app.app.return_code == 0


class TestInAFolder:
    """Nobody asked for the whole of each of them."""

    async def test_a_big_one_is_only_looked_at_until_it_is_opened(self) -> None:
        big = _huge(BIG_BYTES + 1)
        async with driven(FakeReader({_FOLDER: (scene.RUN,), scene.RUN: big}), paths=(_FOLDER,)) as app:
            assert not big.started.is_set()
            assert "so far" in app.tree_row("run-0742-1.json")
            await app.go_to("run-0742-1.json")
            await app.press("enter")
            await app.until_read()
            assert "complete · 12.4 s" in app.text

    async def test_a_smaller_one_is_read_to_its_end(self) -> None:
        small = _huge(BIG_BYTES)
        async with driven(FakeReader({_FOLDER: (scene.RUN,), scene.RUN: small}), paths=(_FOLDER,)) as app:
            assert "12.4 s" in app.tree_row("run-0742-1.json")

    async def test_what_failed_is_found_by_what_stands_on_its_row(self) -> None:
        async with driven(scene.reader(), paths=scene.PATHS) as app:
            await app.press("slash", *"err", "enter")
            node = app.tree.node
            assert node is not None
            assert app.main.session.opened.sources[node.source or 0].path == scene.RUN
