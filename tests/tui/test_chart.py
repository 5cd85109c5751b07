"""The length histogram: the ceiling between two columns, no chunk too few to be seen, nothing beyond its width."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.tui.draw import Tone
from workbench.tui.pages.chart import fit, histogram
from workbench.tui.signs import ASCII, UNICODE
from workbench.tui.state import LengthShape


def shape_of(lengths: list[int], width: int) -> LengthShape:
    bins = [0] * (max(0, max(lengths) - 1) // width + 1)
    for length in lengths:
        bins[max(0, length - 1) // width] += 1
    return LengthShape(tuple(bins), width, max(lengths))


def test_a_chunk_of_exactly_the_ceiling_is_left_of_the_line_and_one_more_is_right() -> None:
    lines = histogram(shape_of([2_000, 2_001, 4_000], 4), 2_000, 60, 4, UNICODE)
    bottom = lines[3]
    at = bottom.text.index("│")
    assert bottom.text[at - 1] == "█"
    assert bottom.text[at + 1] == "█"
    over = [span.tone for span in bottom if span.text == "█"]
    assert over == [Tone.DATA, Tone.ERROR_FILL, Tone.ERROR_FILL]


def test_one_chunk_among_a_million_is_still_seen() -> None:
    lines = histogram(LengthShape((1_000_000, 0, 0, 1), 1_000, 4_000), 2_000, 60, 3, UNICODE)
    assert any(span.tone is Tone.ERROR_FILL and span.text.strip() for span in lines[2])


def test_a_ceiling_far_beyond_the_longest_chunk_does_not_flatten_the_picture() -> None:
    assert fit(shape_of([10, 800], 4), 24_500, 60).cut is None


@given(
    lengths=st.lists(st.integers(0, 30_000), min_size=1, max_size=40),
    ceiling=st.integers(1, 40_000),
    width=st.integers(20, 120),
    rows=st.integers(1, 12),
    ascii_only=st.booleans(),
)
def test_the_picture_keeps_to_its_room(
    lengths: list[int], ceiling: int, width: int, rows: int, ascii_only: bool
) -> None:
    bin_width = max(1, -(-max(lengths) // 2_000))
    shape = shape_of(lengths, bin_width)
    lines = histogram(shape, ceiling, width, rows, ASCII if ascii_only else UNICODE)
    assert len(lines) == rows + 2
    assert all(line.cells <= width for line in lines)
    assert sum(fit(shape, ceiling, width).counts) == len(lengths)
