"""A step that searched: its evidence beside its payload, and where there is room the chunk at its cut."""

from __future__ import annotations

import pytest

from tests.tui import recording_scene as scene
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, driven
from workbench.tui.views.chunks import Chunks
from workbench.tui.views.steps import Steps
from workbench.tui.widgets.pane import DetailPane

WIDE_TERMINAL = (200, 50)
_TO_RETRIEVAL = ("enter", "right_square_bracket", "right_square_bracket")


async def _at_retrieval(app: Driver) -> Steps:
    """Go to the second retrieval of the run."""
    source = next(source for source in app.sources if source.path == scene.RUN)
    await app.go_to(source.label)
    await app.press(*_TO_RETRIEVAL)
    await app.until_read()
    return app.main.query_one(Steps)


@pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL, WIDE_TERMINAL])
async def test_what_was_found_is_seen_without_leaving_the_steps(size: tuple[int, int]) -> None:
    async with driven(scene.reader(), paths=scene.PATHS, size=size) as app:
        await _at_retrieval(app)
        assert "refund after 40 days" in app.text
        assert "Retrieval #2" in app.text
        assert "✂ 4,889" in app.text


async def test_a_step_that_did_not_search_has_its_payload_alone() -> None:
    async with driven(scene.reader(), paths=scene.PATHS, size=LARGE_TERMINAL) as app:
        steps = await _at_retrieval(app)
        await app.press("j")
        assert "Retrieval #2" not in app.text
        assert steps.payload.list.region.width == steps.list.region.width


async def test_tab_goes_to_the_candidates_then_the_payload_then_the_sources() -> None:
    async with driven(scene.reader(), paths=scene.PATHS, size=LARGE_TERMINAL) as app:
        steps = await _at_retrieval(app)
        await app.press("tab")
        assert steps.evidence.list.has_focus
        await app.press("tab")
        assert steps.payload.list.has_focus
        await app.press("tab")
        assert app.tree.has_focus


async def test_at_80_columns_the_payload_takes_the_place_of_the_evidence_while_it_has_the_focus() -> None:
    async with driven(scene.reader(), paths=scene.PATHS, size=SMALL_TERMINAL) as app:
        await _at_retrieval(app)
        assert "minScore" not in app.text
        await app.press("tab", "tab")
        assert "minScore" in app.text
        assert "Retrieval #2" not in app.text
        await app.press("escape")
        assert "Retrieval #2" in app.text


async def test_enter_on_a_candidate_goes_to_its_chunk_in_the_index() -> None:
    async with driven(scene.reader(), paths=scene.PATHS, size=LARGE_TERMINAL) as app:
        await _at_retrieval(app)
        await app.press("tab", "enter")
        await app.until_read()
        assert isinstance(app.main.query_one(DetailPane).view, Chunks)


async def test_the_chunk_of_a_candidate_opens_where_the_embedder_stopped() -> None:
    async with driven(scene.reader(), paths=scene.PATHS) as app:
        await _at_retrieval(app)
        await app.press("tab", "enter")
        await app.until(lambda: "the embedder stopped reading here" in app.text)
        await app.press("escape", "enter")
        await app.until_read()
        assert "the embedder stopped reading here" not in app.text


async def test_from_160_columns_on_the_chunk_of_the_candidate_is_open_below_the_steps() -> None:
    async with driven(scene.reader(), paths=scene.PATHS, size=WIDE_TERMINAL) as app:
        steps = await _at_retrieval(app)
        await app.until(lambda: "go to chunk" in app.text)
        assert "the embedder stopped reading here" in app.text
        assert steps.list.region.right <= steps.evidence.list.region.x
        assert steps.payload.list.region.y > steps.evidence.list.region.y


async def test_a_chunk_that_no_open_index_has_shows_what_the_model_got() -> None:
    async with driven(scene.reader(), paths=("support/recordings",), size=WIDE_TERMINAL) as app:
        await _at_retrieval(app)
        assert "what the model got" in app.text


async def test_another_size_shares_the_room_anew() -> None:
    async with driven(scene.reader(), paths=scene.PATHS, size=WIDE_TERMINAL) as app:
        steps = await _at_retrieval(app)
        await app.resize(*SMALL_TERMINAL)
        await app.pilot.pause()
        assert "Retrieval #2" in app.text
        assert steps.list.region.width == steps.evidence.list.region.width
