"""The rate of a build over time: what was done when, waits in their colour, nothing drawn for what is to come."""

from __future__ import annotations

import time

import pytest

from workbench.tui.draw import Line, Tone
from workbench.tui.guide import MOST_SAMPLES, Wait
from workbench.tui.pages.reindex_build import rate_chart
from workbench.tui.signs import ASCII, UNICODE


def tones(line: Line) -> set[Tone]:
    return {span.tone for span in line.spans if span.text.strip(" ·")}


def test_a_steady_rate_is_a_block_up_to_now_and_dots_after_it() -> None:
    samples = tuple((float(at), 10 * at) for at in range(11))
    lines = rate_chart(samples, (), 10.0, 20.0, 40, 3, UNICODE)
    assert [line.cells for line in lines[:3]] == [20, 20, 40]
    assert all(line.text.startswith("█" * 20) for line in lines[:3])
    assert lines[2].text.endswith("·" * 20)
    assert "0:10" in lines[4].text
    assert lines[4].text.endswith("0:20")


def test_a_wait_has_its_own_colour_and_is_low() -> None:
    samples = ((0.0, 0), (10.0, 100), (20.0, 100), (30.0, 200))
    lines = rate_chart(samples, (Wait(10.0, 20.0, "HTTP 429"),), 30.0, 30.0, 30, 2, UNICODE)
    assert tones(lines[0]) == {Tone.DATA}
    assert tones(lines[1]) == {Tone.DATA, Tone.WARN_FILL}
    assert lines[1].text[10:20] == "▁" * 10


def test_a_short_wait_is_seen() -> None:
    samples = ((0.0, 0), (100.0, 1_000))
    lines = rate_chart(samples, (Wait(50.0, 50.2, "HTTP 503"),), 100.0, 100.0, 20, 2, UNICODE)
    assert Tone.WARN_FILL in tones(lines[1])


@pytest.mark.parametrize("samples", [(), ((0.0, 0),), ((0.0, 5), (0.0, 5)), ((3.0, 7), (3.0, 9))])
@pytest.mark.parametrize("now", [0.0, 3.0])
def test_few_samples_draw_nothing_wrong(samples: tuple[tuple[float, int], ...], now: float) -> None:
    for signs in (UNICODE, ASCII):
        lines = rate_chart(samples, (), now, now, 30, 2, signs)
        assert len(lines) == 4
        assert all(line.cells <= 30 for line in lines)


def test_as_many_samples_as_there_can_be_are_drawn_at_once() -> None:
    samples = tuple((at * 0.5, at * 64) for at in range(MOST_SAMPLES))
    began = time.perf_counter()
    rate_chart(samples, (), MOST_SAMPLES * 0.5, MOST_SAMPLES, 200, 7, UNICODE)
    assert time.perf_counter() - began < 0.5
