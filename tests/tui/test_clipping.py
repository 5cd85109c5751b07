"""What any ceiling does: the numbers of ``check --json``, for every column as well."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared_files import SAMPLES, needs_samples
from tests.tui.clipped_scene import WrittenLengths
from workbench.checkup.options import CheckOptions
from workbench.core.ceiling import ChunkCeiling
from workbench.sources import check_paths
from workbench.tui.app import WorkbenchApp
from workbench.tui.clipping import clipping_of
from workbench.tui.draw import number
from workbench.tui.pages.scale import scale_for
from workbench.tui.reading import FileReader
from workbench.tui.screens.main import MainScreen
from workbench.tui.state import Node
from workbench.tui.views.ceiling import Ceiling

_OWN = sorted((Path(__file__).resolve().parents[2] / "sample_data").glob("*.duckdb"))
_NUMBER = re.compile(r"\d+(?:,\d{3})*")


@given(
    chunks=st.lists(st.tuples(st.integers(0, 9_000), st.booleans()), min_size=1, max_size=60),
    ceiling=st.integers(0, 10_000),
    cells=st.integers(3, 100),
)
def test_columns_add_up_to_the_verdict_on_both_sides_of_the_line(
    chunks: list[tuple[int, bool]], ceiling: int, cells: int
) -> None:
    lengths = [length for length, _ in chunks]
    answers = WrittenLengths([str(place) for place in range(len(chunks))], lengths, [over for _, over in chunks])
    clipping = clipping_of(answers, ChunkCeiling(2_000, "default"), 512)
    scale = scale_for(cells, clipping.longest, 2_000, ceiling, clipping.mark("p95"))
    columns = clipping.columns(scale.edges, scale.ceiling)
    clipped = clipping.at(ceiling)
    assert sum(column.count for column in columns) == len(chunks)
    if scale.cut is not None:
        assert sum(column.count for column in columns[scale.cut :]) == clipped.count
        assert sum(column.possible for column in columns[: scale.cut]) == clipped.possible
        assert not any(column.possible for column in columns[scale.cut :])
    for place, column in enumerate(columns):
        assert column.count == sum(scale.column(length) == place for length in lengths)


@given(st.lists(st.integers(0, 9_000), min_size=1, max_size=80))
def test_marks_are_lengths_that_so_many_do_not_exceed(lengths: list[int]) -> None:
    answers = WrittenLengths([str(place) for place in range(len(lengths))], lengths, [False] * len(lengths))
    clipping = clipping_of(answers, ChunkCeiling(2_000, "default"))
    for percent, name in ((50, "p50"), (95, "p95"), (99, "p99")):
        mark = clipping.mark(name)
        assert mark in lengths or mark == 0
        assert 100 * sum(length <= mark for length in lengths) >= percent * len(lengths)
        assert 100 * sum(length < mark for length in lengths) < percent * len(lengths)
    assert clipping.longest == max(lengths)


async def _compare(paths: list[Path]) -> None:
    """Open the view on every namespace and find the numbers of the report on it; then move the ceiling and back."""
    reports = check_paths([str(path) for path in paths], CheckOptions()).sources
    app = WorkbenchApp([str(path) for path in paths], FileReader())
    async with app.run_test(size=(120, 40)) as pilot:
        main = app.screen
        assert isinstance(main, MainScreen)
        for _ in range(6_000):
            await pilot.pause()
            if main.settled:
                break
            await asyncio.sleep(0.01)
        shown = {source.path: source for source in main.session.opened.sources.values()}
        for report in reports:
            for place, namespace in enumerate(report.namespaces):
                node = Node(source=shown[report.path].key, space=place)
                main.go_to(node)
                await pilot.pause()
                main.desk.choose_view("ceiling")
                shown_text = ""
                for _ in range(500):
                    await pilot.pause()
                    views = [view for view in main.query(Ceiling) if view.subject and view.subject.node == node]
                    if views and views[0].canvas.text and not views[0].asked:
                        shown_text = views[0].canvas.text
                        break
                on_screen = set(_NUMBER.findall(shown_text))
                clipped = namespace.ceiling.clipped
                if clipped is None or not clipped.count:
                    continue
                wanted = {number(clipped.count), number(clipped.lost_chars), number(namespace.ceiling.ceiling.chars)}
                first = clipped.chunks[0]
                assert wanted | {number(first.chars), number(first.lost)} <= on_screen, namespace.name
                assert first.id[:6] in shown_text


@needs_samples
async def test_the_shared_indexes_show_the_numbers_of_check() -> None:
    await _compare(sorted(path for path in (SAMPLES / "indexes").iterdir() if path.suffix == ".duckdb"))


@pytest.mark.skipif(not _OWN, reason="the sample data was not made yet")
async def test_our_own_samples_show_the_numbers_of_check() -> None:
    await _compare(_OWN)
