"""The scale of lengths: one cell for a length everywhere, the ceiling between two columns, no side ever hidden."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.tui.clipping import Column
from workbench.tui.draw import Tone
from workbench.tui.pages.ceiling import bar
from workbench.tui.pages.columns import lengths_chart
from workbench.tui.pages.parts import Frame
from workbench.tui.pages.scale import Scale, nice_end, nice_step, scale_for
from workbench.tui.signs import ASCII, UNICODE

FRAME = Frame(84, 33, UNICODE, True)


@st.composite
def scales(draw: st.DrawFn) -> Scale:
    longest = draw(st.one_of(st.integers(0, 40), st.integers(0, 10_000), st.integers(0, 10**9)))
    resolved = draw(st.one_of(st.integers(0, 3_000), st.integers(0, 10**7)))
    ceiling = draw(st.one_of(st.just(resolved), st.integers(0, 10_000), st.integers(0, max(1, 2 * longest))))
    usual = draw(st.integers(0, max(0, longest)))
    return scale_for(draw(st.integers(3, 130)), longest, resolved, ceiling, usual)


def columns_of(lengths: list[int], scale: Scale) -> tuple[Column, ...]:
    counts = [0] * scale.columns
    for length in lengths:
        counts[scale.column(length)] += 1
    return tuple(Column(count, 0) for count in counts)


@given(scales(), st.data())
def test_a_length_has_one_cell_in_the_histogram_and_at_the_end_of_its_bar(scale: Scale, data: st.DataObject) -> None:
    length = data.draw(st.integers(0, max(scale.longest, 1)))
    chart = lengths_chart(columns_of([length], scale), scale, 3, UNICODE)
    bottom = chart.rows[-1].text
    filled = [place for place, sign in enumerate(bottom) if sign in (*UNICODE.columns, UNICODE.lost_column)]
    assert filled == [scale.cell(length)]
    if scale.cut is not None and length > scale.ceiling:
        assert bar(length, scale, FRAME).cells == scale.cell(length) + 1


@given(scales())
def test_the_ceiling_is_in_one_cell_of_histogram_axis_and_bars(scale: Scale) -> None:
    chart = lengths_chart(columns_of([0, scale.longest], scale), scale, 4, UNICODE)
    lines = {line.text.find(UNICODE.ceiling) for line in chart.rows} | {chart.axis.text.find(UNICODE.foot)}
    assert lines == {-1 if scale.cut is None else scale.cut}
    if scale.cut is not None and scale.longest > scale.ceiling:
        assert bar(scale.longest, scale, FRAME).text.index(UNICODE.ceiling) == scale.cut
    assert chart.axis.cells == scale.cells


@given(scales())
def test_a_chunk_that_loses_one_character_shows_it_and_one_that_fits_just_does_not(scale: Scale) -> None:
    if scale.cut is None or scale.longest <= scale.ceiling:
        return
    assert scale.cell(scale.ceiling) < scale.cut < scale.cell(scale.ceiling + 1)
    lost = [span for span in bar(scale.ceiling + 1, scale, FRAME) if span.tone is Tone.ERROR_FILL]
    assert sum(span.cells for span in lost) >= 1


@given(scales(), st.data())
def test_longer_chunks_are_never_further_left(scale: Scale, data: st.DataObject) -> None:
    one, other = sorted(data.draw(st.lists(st.integers(0, 2 * scale.end), min_size=2, max_size=2)))
    assert scale.cell(one) <= scale.cell(other) < scale.cells


@given(scales())
def test_edges_are_in_order_and_only_the_one_at_the_ceiling_moves_with_it(scale: Scale) -> None:
    assert list(scale.edges) == sorted(scale.edges)
    assert (scale.edges[0], len(scale.edges)) == (0, scale.columns + 1)
    still = Scale(scale.cells, scale.end, scale.end + 1, scale.longest).edges
    moved = [place for place in range(len(still)) if still[place] != scale.edges[place]]
    assert moved in ([], [scale.cut])


@given(scales())
def test_at_most_five_ticks_and_the_ceiling_is_always_one_of_them(scale: Scale) -> None:
    assert 1 <= len(scale.ticks) <= 5
    assert scale.cut is None or scale.ceiling in scale.ticks
    chart = lengths_chart(columns_of([0], scale), scale, 2, ASCII)
    assert chart.ticks.cells <= max(scale.cells, len(f"{scale.ceiling:,}"))
    if scale.cut is not None and len(f"{scale.ceiling:,}") <= scale.cells:
        assert f"{scale.ceiling:,}" in chart.ticks.text


@given(scales(), st.booleans(), st.booleans())
def test_a_key_moves_the_ceiling_to_the_next_round_number(scale: Scale, up: bool, finely: bool) -> None:
    step = scale.fine if finely else scale.step
    there = scale.moved(step if up else -step)
    if up:
        assert scale.ceiling <= there <= max(scale.ceiling + step, 1)
    else:
        assert max(1, scale.ceiling - step) <= max(1, there) <= max(1, scale.ceiling)
    assert there == scale.ceiling or there % step == 0 or there == 1


def test_moving_up_ends_where_nothing_is_clipped_any_more() -> None:
    scale = scale_for(48, 7_420, 2_000, 2_000, 2_078)
    while (there := scale.moved(scale.step)) != scale.ceiling:
        scale = scale_for(48, 7_420, 2_000, there, 2_078)
    assert scale.ceiling == 8_000


def test_one_enormous_chunk_does_not_flatten_the_rest() -> None:
    scale = scale_for(48, 5_000_000, 2_000, 2_000, 1_500)
    assert scale.end <= 20_000
    assert scale.beyond(5_000_000)
    assert bar(5_000_000, scale, FRAME).text.endswith(UNICODE.beyond)


def test_a_ceiling_far_beyond_the_longest_chunk_is_not_in_the_picture() -> None:
    scale = scale_for(48, 900, 24_500, 24_500, 800)
    assert scale.cut is None
    assert scale.end == 1_000


def test_round_numbers() -> None:
    assert [nice_end(each) for each in (1, 9, 10, 11, 99, 7_420, 8_000, 8_001, 12_000)] == [
        1, 10, 10, 12, 100, 8_000, 8_000, 10_000, 12_000,
    ]  # fmt: skip
    assert [nice_step(each) for each in (0.1, 1, 1.5, 3, 80, 100, 101)] == [1, 1, 2, 5, 100, 100, 200]


def test_heights_are_logarithmic_and_one_chunk_among_a_million_is_seen() -> None:
    scale = Scale(6, 100, 40, 100)
    counts = (1_000_000, 1_000, 1, 0, 1)
    chart = lengths_chart(tuple(Column(count, 0) for count in counts), scale, 8, UNICODE)
    heights = [sum(row.text.ljust(6)[place] != " " for row in chart.rows) for place in (0, 1, 3, 4, 5)]
    assert heights == [8, 5, 1, 0, 1]
    assert [mark for mark in chart.marks if mark] == ["1,000,000", "10,000", "100", "1"]


def test_what_was_never_read_has_another_fill_and_not_only_another_colour() -> None:
    scale = Scale(5, 100, 50, 100)
    for signs in (UNICODE, ASCII):
        bottom = lengths_chart((Column(9, 0),) * 4, scale, 2, signs).rows[-1].text
        assert bottom == signs.columns[-1] * 2 + signs.ceiling + signs.lost_column * 2


def test_columns_with_possibly_clipped_chunks_are_marked_on_the_axis() -> None:
    scale = Scale(5, 100, 50, 100)
    chart = lengths_chart((Column(9, 0), Column(9, 3), Column(1, 0), Column(0, 0)), scale, 2, UNICODE)
    assert chart.axis.text == "─╍┴──"
    assert chart.doubtful
