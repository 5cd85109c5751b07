"""Lengths and cuts in UTF-16 code units, and text that is safe to draw."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.core.text import inert, utf16_length, utf16_split

any_text = st.text(alphabet=st.characters(exclude_categories=()))  # with surrogates, controls, unassigned


def units(text: str) -> int:
    return sum(2 if ord(character) > 0xFFFF else 1 for character in text)


@given(any_text)
@example("plain")
@example("😀\ud83d\ude00")
def test_length_is_counted_in_utf16_code_units(text: str) -> None:
    assert utf16_length(text) == units(text)


@given(any_text, st.integers(-3, 40))
@example("\ud83d\ude00😀", 3)
@example("a😀b", 2)
def test_a_cut_loses_nothing_and_reads_as_much_as_fits(text: str, ceiling: int) -> None:
    read, lost = utf16_split(text, ceiling)
    assert read + lost == text
    assert units(read) <= max(ceiling, 0)
    if lost and ceiling > 0:
        assert units(read) + units(lost[0]) > ceiling


def test_a_character_on_the_cut_is_lost_whole() -> None:
    assert utf16_split("a😀b", 1) == ("a", "😀b")
    assert utf16_split("a😀b", 2) == ("a", "😀b")
    assert utf16_split("a😀b", 3) == ("a😀", "b")
    assert utf16_split("a😀b", 4) == ("a😀b", "")


def test_a_long_text_is_cut_where_the_units_say() -> None:
    text = "é😀x" * 100_000
    read, lost = utf16_split(text, 200_001)
    assert read == "é😀x" * 50_000 + "é"
    assert len(read) + len(lost) == len(text)
    assert utf16_split(text, 10**400) == (text, "")


@given(any_text)
def test_making_inert_twice_is_making_it_once(text: str) -> None:
    for keep_newlines in (False, True):
        once = inert(text, keep_newlines=keep_newlines)
        assert inert(once, keep_newlines=keep_newlines) == once


@given(any_text)
def test_what_is_inert_can_be_encoded_and_holds_no_control(text: str) -> None:
    drawn = inert(text)
    drawn.encode("utf-8")
    kept = "\u200c\u200d"  # the joiners of emoji and of several scripts
    for character in drawn:
        assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(character) not in (
            "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
        )  # fmt: skip
        assert character in kept or unicodedata.bidirectional(character) != "BN" or character > "\U000e007f"


@given(st.text(alphabet=st.characters(categories=("L", "M", "N", "P", "S", "Zs"), exclude_characters="\u2028\u2029")))
def test_letters_marks_digits_signs_and_spaces_are_left_alone(text: str) -> None:
    if not any("\ufe00" <= character <= "\ufe0f" or character >= "\U000e0100" for character in text):
        assert inert(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain text, with [brackets] and 'quotes'",
        "naïve e\u0301 Å",
        "日本語 한국어 العربية עברית ไทย हिन्दी",
        "👩‍👩‍👧‍👦 👍🏽 ❤️ 1️⃣ 🇩🇪",
        "می‌خواهم क्‍ष",
        "葛󠄀城",
    ],
)
def test_writing_and_emoji_come_back_unchanged(text: str) -> None:
    assert inert(text) is text or inert(text) == text


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]52;c;eA==\x07", "␛]52;c;eA==␇"),
        ("a\0b", "a␀b"),
        ("a\tb\nc\rd", "a␉b␊c␍d"),
        ("\x7f", "␡"),
        ("\x9b31m", "⟨U+009B⟩31m"),
        ("\x85", "⟨U+0085⟩"),
        ("gpj.\u202eexe", "gpj.⟨U+202E⟩exe"),
        ("\u2066a\u2069\u200f\u061c", "⟨U+2066⟩a⟨U+2069⟩⟨U+200F⟩⟨U+061C⟩"),
        ("a\u200bb\ufeffc\u2060d", "a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+2060⟩d"),
        ("a\u2028b\u2029c", "a⟨U+2028⟩b⟨U+2029⟩c"),
        ("\ud83d x \ude00", "⟨U+D83D⟩ x ⟨U+DE00⟩"),
        ("\U000e0041\U000e007f", "⟨U+E0041⟩⟨U+E007F⟩"),
        ("so\u00adft", "so⟨U+00AD⟩ft"),
        ("x\ufe0f\ufe0f\U000e0101", "x\ufe0f⟨U+FE0F⟩⟨U+E0101⟩"),
    ],
)
def test_what_a_terminal_obeys_or_nobody_sees_becomes_visible(text: str, drawn: str) -> None:
    assert inert(text) == drawn


def test_newlines_and_tabs_are_kept_when_asked_and_nothing_else() -> None:
    assert inert("a\n\tb\r\x1bc", keep_newlines=True) == "a\n\tb␍␛c"
