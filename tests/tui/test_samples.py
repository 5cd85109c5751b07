"""Every sample, opened by the real reader: what the screen says is what ``check --json`` says."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.shared_files import SAMPLES, needs_samples
from workbench.checkup.options import CheckOptions
from workbench.checkup.report import NamespaceReport
from workbench.sources import check_paths
from workbench.tui.app import WorkbenchApp
from workbench.tui.draw import number
from workbench.tui.reading import FileReader
from workbench.tui.screens.main import MainScreen
from workbench.tui.state import Node
from workbench.tui.widgets.detail import Detail
from workbench.tui.widgets.pane import TabStrip

_NUMBER = re.compile(r"\d+(?:,\d{3})*")
_OWN = sorted((Path(__file__).resolve().parents[2] / "sample_data").glob("*.duckdb"))


async def _compare(paths: list[Path]) -> None:
    reports = check_paths([str(path) for path in paths], CheckOptions()).sources
    app = WorkbenchApp([str(path) for path in paths], FileReader())
    async with app.run_test(size=(120, 50)) as pilot:
        main = app.screen
        assert isinstance(main, MainScreen)
        for _ in range(6_000):
            await pilot.pause()
            if main.settled:
                break
            await asyncio.sleep(0.01)
        shown = {source.path: source for source in main.session.opened.sources.values()}
        for report in reports:
            source = shown[report.path]
            assert (source.trouble is None) == report.readable
            if source.trouble is not None:
                assert source.trouble.message == report.message
                continue
            assert [space.name for space in source.spaces] == [namespace.name for namespace in report.namespaces]
            for place, namespace in enumerate(report.namespaces):
                assert source.spaces[place].report == namespace
                main.go_to(Node(source=source.key, space=place))
                await pilot.pause()
                on_screen = set(_NUMBER.findall(main.query_one(TabStrip).text + main.query_one(Detail).text))
                assert _numbers(namespace) <= on_screen, namespace.name


def _numbers(report: NamespaceReport) -> set[str]:
    """Collect the numbers that the overview must show, as people read them."""
    wanted = {number(report.fingerprints.count)}
    if report.ceiling.clipped is not None and report.ceiling.clipped.count:
        wanted |= {number(report.ceiling.clipped.count), number(report.ceiling.ceiling.chars)}
    health = report.vectors.health
    wanted |= {number(each) for each in (health.missing, health.zero, health.non_finite, health.wrong_dims) if each}
    if report.duplicates.duplicates.ids:
        wanted.add(number(report.duplicates.duplicates.ids))
    return wanted


@needs_samples
async def test_the_shared_indexes_show_the_numbers_of_check() -> None:
    await _compare(sorted(path for path in (SAMPLES / "indexes").iterdir() if path.name != "MANIFEST.md"))


@needs_samples
async def test_the_seed_librarys_index_shows_the_numbers_of_check() -> None:
    await _compare([SAMPLES / "agentfootprint" / "corpus.db"])


@pytest.mark.skipif(not _OWN, reason="the sample data was not made yet")
async def test_our_own_samples_show_the_numbers_of_check() -> None:
    await _compare(_OWN)
