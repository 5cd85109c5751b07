"""Pieces of a text cover it, fit the ceiling in UTF-16, say rightly where they stand, and find ids of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.embedders.misbehaving_server import MisbehavingServer
from tests.reindex.scene import NAMESPACE, begin, expected_vector, go, living, make_index, provider, sentence, target
from workbench.core.text import utf16_length
from workbench.index.store import Entry, VectorStore
from workbench.reindex.model import RunState
from workbench.reindex.splitting import OVERLAP_SHARE, split

TEXTS = st.text(st.sampled_from("abc .!?\n\t—é漢😀👩\u200d"), max_size=400)


def units(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(2, 60))
def test_pieces_cover_the_text_within_the_ceiling_at_the_places_they_name(text: str, most: int) -> None:
    pieces = split(text, most)
    whole, reached = units(text), 0
    for piece in pieces:
        assert utf16_length(piece.text) <= most
        assert whole[2 * piece.start : 2 * piece.end] == units(piece.text)
        assert piece.start <= reached <= piece.end
        assert reached - piece.start <= most * OVERLAP_SHARE
        reached = piece.end
    assert reached == utf16_length(text)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(1, 9))
def test_pieces_are_made_shorter_until_they_fit(text: str, most_tokens: int) -> None:
    pieces = split(text, 60, lambda piece: len(piece) <= most_tokens)
    assert all(len(piece.text) <= most_tokens for piece in pieces)
    assert pieces[-1].end == utf16_length(text)


def test_a_text_that_fits_is_one_piece() -> None:
    assert [piece.text for piece in split("a text", 6)] == ["a text"]


def test_a_character_of_two_units_is_never_cut() -> None:
    assert [piece.text for piece in split("😀" * 5, 3, None)] == ["😀"] * 5


def test_paragraphs_are_better_places_than_sentences_and_these_than_words() -> None:
    text = "One two three. Four five.\n\nSix seven eight nine ten"
    assert split(text, 40)[0].text == "One two three. Four five.\n\n"
    assert split("One two three four. Five six seven", 30)[0].text == "One two three four. "
    assert split("One two three four five six seven", 30)[0].text == "One two three four five six "


def long_text(number: int) -> str:
    return " ".join(sentence(number + each) for each in range(8))


def pieces_of(index: Path, parent: str) -> list[tuple[str, str, int, int]]:
    return [(row[0], row[1], row[10], row[11]) for row in living(index)[1:] if row[9] == parent]


def test_a_chunk_gives_way_to_its_pieces_in_its_place(tmp_path: Path, server: MisbehavingServer) -> None:
    index = make_index(tmp_path / "index.duckdb", 3)
    text = long_text(0)
    with VectorStore.open(index, read_only=False) as store:
        entry = Entry("c1", text, [1.0] * 32, metadata={"page": 7}, source_uri="a.md", tier="hot", ttl=4 * 10**12)
        store.put_many(NAMESPACE, [entry], embedder_id="old")
    aim = target(provider(server.url), 200)
    assert go(index, begin(index, aim, resplit=True), aim).state is RunState.SWAPPED
    rows = living(index)[1:]
    pieces = pieces_of(index, "c1")
    assert [row[0] for row in rows] == ["c0", *(f"c1#{number}" for number in range(1, len(pieces) + 1)), "c2"]
    assert len(pieces) > 2
    for id, part, start, end in pieces:
        assert units(text)[2 * start : 2 * end] == units(part)
        row = next(row for row in rows if row[0] == id)
        assert (row[2], row[8], row[13], row[14]) == (utf16_length(part), "a.md", "hot", 4 * 10**12)
        assert '"page": 7' in row[6] or '"page":7' in row[6]
        assert row[17] == expected_vector(part)


def test_pieces_whose_ids_are_taken_get_others(tmp_path: Path, server: MisbehavingServer) -> None:
    index = make_index(tmp_path / "index.duckdb", 2)
    with VectorStore.open(index, read_only=False) as store:
        names = ("a", "a#1", "a#", "a###2")
        store.put_many(
            NAMESPACE,
            [Entry(name, long_text(10 * n) if n != 3 else "short") for n, name in enumerate(names)],
            embedder_id="old",
        )
    aim = target(provider(server.url), 200)
    outcome = go(index, begin(index, aim, resplit=True), aim)
    assert outcome.state is RunState.SWAPPED, outcome.message
    rows = living(index)[1:]
    assert len({row[0] for row in rows}) == len(rows)
    assert next(row for row in rows if row[0] == "a###2")[1] == "short"
    for parent in ("a", "a#1", "a#"):
        assert len(pieces_of(index, parent)) > 2
    # The old ids are those of nobody else now.
    assert not {"a", "a#1", "a#"} & {row[0] for row in rows}


@pytest.mark.parametrize("text", ["a chunk of its own", ""])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_chunk_that_is_written_under_the_id_of_a_piece_keeps_it(
    tmp_path: Path, server: MisbehavingServer, when: str, text: str
) -> None:
    index = make_index(tmp_path / "index.duckdb", 2)
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(NAMESPACE, [Entry("a", long_text(5))], embedder_id="old")
    aim = target(provider(server.url), 200)
    path = begin(index, aim, resplit=True)
    if when == "after":
        from workbench.reindex.running import Controls

        assert go(index, path, aim, Controls(swap=False)).state is RunState.VERIFIED
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(NAMESPACE, [Entry("a#1", text)], embedder_id="old")
    assert go(index, path, aim).state is RunState.SWAPPED
    found = {row[0]: row for row in living(index)[1:]}
    assert found["a#1"][1] == text
    assert len(pieces_of(index, "a")) > 2
    assert server.asked.times(found["a##1"][1]) <= (3 if when == "after" else 2)  # once, and once each verifying


def test_tokens_decide_too_where_they_can_be_counted(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    from workbench.embedders.minilm import minilm_counter
    from workbench.reindex.copying import fits, may_be_long

    counter = minilm_counter()
    dense = "漢字" * 300
    assert all(counter.cut_at(piece.text) is None for piece in split(dense, 1_000, fits(counter)))
    assert "byte_count > 254" in may_be_long(counter)
