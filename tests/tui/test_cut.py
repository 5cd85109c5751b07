"""A text opened at its cut: nothing of it is lost or doubled, no row is too wide, no character is torn."""

from __future__ import annotations

import time
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.clipped_scene import text_of
from workbench.core.text import inert, utf16_length
from workbench.tui.draw import Ground, Tone
from workbench.tui.pages.cut import CutText, Kind, Position, TextRow, cut_lines
from workbench.tui.signs import ASCII, UNICODE

PIECES = st.sampled_from(
    [
        "a",
        "word",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "日本語",
        "e\u0301",
        "👩\u200d🔬",
        "🇩🇪",
        "\x1b[31m",
        "\u202e",
        "x" * 90,
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=120).map("".join))


def all_rows(text: CutText) -> list[TextRow]:
    rows, at = [], text.first
    while True:
        rows += text.rows(at, 1)
        if at == text.last:
            return rows
        at = text.moved(at, 1)


def squeezed(text: str) -> str:
    return "".join(inert(text.replace("\r\n", "\n"), keep_newlines=True).replace("◌", "").split())


@given(TEXTS, st.integers(0, 400), st.integers(8, 90))
def test_every_character_stands_on_its_side_of_the_cut(text: str, ceiling: int, width: int) -> None:
    cut = CutText(text, ceiling, width)
    assert cut.read + cut.lost == text
    assert utf16_length(cut.read) in (ceiling, ceiling - 1) or not cut.lost
    rows = all_rows(cut)
    assert (Kind.CUT in {row.kind for row in rows}) == bool(cut.lost)


@given(
    st.lists(st.sampled_from(["one", "two,", "日本語", "caf\u00e9", "\n", "\n\n"]), max_size=80), st.integers(10, 60)
)
def test_wrapping_leaves_no_word_out(words: list[str], width: int) -> None:
    text = " ".join(words)
    for ceiling in (0, 7, len(text) // 2):
        rows = all_rows(CutText(text, ceiling, width))
        assert squeezed("".join(row.text for row in rows)) == squeezed(text)


@given(TEXTS, st.integers(0, 400), st.integers(8, 90))
def test_no_row_is_wider_than_the_room_or_begins_with_what_belongs_to_the_one_before(
    text: str, ceiling: int, width: int
) -> None:
    for row in all_rows(CutText(text, ceiling, width)):
        assert cell_len(row.text) <= width
        assert inert(row.text) == row.text
        assert not row.text or unicodedata.category(row.text[0]) not in ("Mn", "Me")


@given(TEXTS, st.integers(0, 400), st.integers(8, 90))
def test_offsets_grow_and_lie_on_the_right_side(text: str, ceiling: int, width: int) -> None:
    rows = all_rows(CutText(text, ceiling, width))
    offsets = [row.offset for row in rows if row.kind is not Kind.CUT]
    assert offsets == sorted(offsets)
    assert all(row.offset < max(ceiling, 1) for row in rows if row.kind is Kind.READ)
    assert all(row.offset >= ceiling - 1 for row in rows if row.kind is Kind.LOST)


@given(TEXTS, st.integers(0, 400), st.integers(1, 30), st.integers(-400, 400))
def test_scrolling_stays_within_the_text_and_a_page_is_full_when_it_can_be(
    text: str, ceiling: int, height: int, by: int
) -> None:
    cut = CutText(text, ceiling, 20)
    everything = all_rows(cut)
    top = cut.top(cut.moved(cut.around_cut(height), by), height)
    shown = cut.rows(top, height)
    assert len(shown) == min(height, len(everything))
    assert shown == everything[(start := everything.index(shown[0])) : start + len(shown)]
    assert not cut.lost or Kind.CUT in {row.kind for row in cut.rows(cut.around_cut(height), height)}


def test_the_cut_falls_exactly_at_the_character_even_within_a_word() -> None:
    rows = all_rows(CutText("the word is divided", 14, 40))
    assert [(row.text, row.kind) for row in rows] == [
        ("the word is di", Kind.READ),
        ("", Kind.CUT),
        ("vided", Kind.LOST),
    ]


def test_offsets_are_those_of_the_text_over_line_feeds_wide_characters_and_wrapped_rows() -> None:
    text = "one\n\ntwo\r\n😀 three four\nend " + "x" * 25
    offsets = [row.offset for row in all_rows(CutText(text, 0, 10)) if row.kind is Kind.LOST]
    assert [text.encode("utf-16-le")[2 * at :].decode("utf-16-le")[:4] for at in offsets] == [
        "one\n", "\ntwo", "two\r", "😀 th", "four", "end ", "xxxx", "xxxx",
    ]  # fmt: skip


def test_half_a_surrogate_pair_is_no_text() -> None:
    cut = CutText("ab😀cd", 3, 40)
    assert (cut.read, cut.lost) == ("ab", "😀cd")


def test_a_combining_mark_behind_the_cut_does_not_fall_on_the_gutter() -> None:
    rows = all_rows(CutText("cafe\u0301 au lait", 4, 40))
    assert rows[-1].text == "◌\u0301 au lait"


def test_wide_text_without_blanks_is_broken_by_cells() -> None:
    rows = all_rows(CutText("語" * 30, 10, 16))
    assert [len(row.text) for row in rows] == [8, 2, 0, 8, 8, 4]


def test_read_and_lost_differ_in_gutter_and_ground_and_the_offsets_stand_outside() -> None:
    text = CutText(text_of(2_300), 2_000, 60)
    lines = cut_lines(text, text.around_cut(6), 6, 70, UNICODE)
    at = next(place for place, line in enumerate(lines) if "stopped reading here" in line.text)
    assert lines[at].text.startswith(f"{2_000:5,}  ╌╌ ✂ ")
    assert lines[at - 1].ground is Ground.PLAIN
    assert "▎" in lines[at - 1].text
    lost = lines[at + 1]
    assert lost.ground is Ground.LOST
    assert "╎" in lost.text
    assert [span.plain for span in lost.spans] == [True] + [False] * (len(lost.spans) - 1)
    assert [lines[row].spans[0].text.strip() for row in (at + 1, at + 2)] == ["", "2,060"]
    assert lost.spans[1].tone is Tone.ERROR
    assert all(line.text.isascii() for line in cut_lines(text, text.around_cut(6), 6, 70, ASCII))


def test_a_text_of_five_megabytes_opens_at_once() -> None:
    for huge in ("word " * 1_000_000, "x" * 5_000_000, "語" * 2_000_000):
        began = time.perf_counter()
        cut = CutText(huge, 1_234_567, 60)
        assert len(cut.rows(cut.around_cut(30), 30)) == 30
        cut.rows(cut.top(cut.last, 30), 30)
        assert time.perf_counter() - began < 1.0


def test_a_place_that_is_no_more_is_moved_to_one_that_is() -> None:
    cut = CutText("short", 2, 40)
    assert cut.top(Position(99, 99), 1) == cut.last
