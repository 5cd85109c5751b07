"""What is said is said whole: every way of counting what was never read, and every key in full."""

from __future__ import annotations

import pytest

from workbench.index.model import Chunk
from workbench.tui.actions import ACTIONS, Place
from workbench.tui.pages.chunk import OpenChunk, chunk_page
from workbench.tui.pages.parts import Frame
from workbench.tui.screens.help import meant
from workbench.tui.signs import UNICODE


def page(**opened: object) -> str:
    chunk = Chunk("a#1", "word " * 453 + "end", 2_268, None, "mini@384", 384, 1.0, None)
    drawn, _ = chunk_page(OpenChunk(chunk, 0, 1, **opened), Frame(80, 40, UNICODE, True))  # type: ignore[arg-type]
    return "\n".join(line.text for line in drawn.lines)


def test_an_opened_chunk_says_what_was_never_read_by_characters_and_by_tokens() -> None:
    said = page(ceiling=1_202, by_chars=1_000, tokenizer="MiniLM")
    assert "never read 1,268 by characters (ceiling 1,000), 1,066 by tokens (MiniLM)" in said


def test_a_chunk_that_the_model_read_whole_is_still_too_long_by_characters() -> None:
    said = page(ceiling=None, by_chars=1_000, tokenizer="MiniLM")
    assert "never read 1,268 by characters (ceiling 1,000), 0 by tokens (MiniLM)" in said


def test_one_way_of_counting_is_said_once() -> None:
    said = page(ceiling=1_000)
    assert "1,268 never read" in said
    assert "by characters" not in said


@pytest.mark.parametrize(("place", "does"), [(Place.NAMESPACE, "reindex"), (Place.UNREADABLE, "retry")])
def test_help_has_one_line_for_a_key_that_means_something_here(place: Place, does: str) -> None:
    listed = meant(ACTIONS, (), frozenset({place}))
    assert [each.id for each in listed if each.shown == "r"] == [does]


def test_a_key_of_the_view_is_not_explained_twice() -> None:
    own = tuple(each for each in ACTIONS if each.id == "sort")
    assert not [each for each in meant(ACTIONS, own, frozenset(Place)) if each.shown == "s"]
