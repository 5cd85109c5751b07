"""Embedders that can be picked: which there are, and what is found by what is typed."""

from __future__ import annotations

import pytest

from workbench.checkup.choices import Choice, choices_with, closeness, known_choices, matching
from workbench.checkup.options import KNOWN_EMBEDDERS
from workbench.core.fingerprint import Fingerprint, fingerprint_text
from workbench.embedders.models import model_table


def _found(typed: str) -> list[str]:
    return [match.choice.text for match in matching(typed, known_choices())]


def test_every_entry_of_the_model_table_can_be_picked_in_every_length_it_makes() -> None:
    texts = {choice.text for choice in known_choices()}
    for entry in model_table().entries:
        assert {f"{entry.id}@{dims}" for dims in (entry.dims, *entry.smaller)} <= texts


def test_embedders_known_by_name_can_be_picked_and_found_by_it() -> None:
    for known in KNOWN_EMBEDDERS.values():
        assert fingerprint_text(known.fingerprint) == _found(known.name)[0]


def test_each_stands_once() -> None:
    texts = [choice.text for choice in known_choices()]
    assert len(texts) == len(set(texts))


def test_nothing_typed_offers_all() -> None:
    assert len(_found("")) == len(known_choices())


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("3-lar", "text-embedding-3-large@3072"),
        ("3-LARGE", "text-embedding-3-large@3072"),
        ("ada", "text-embedding-ada-002@1536"),
        ("3-small@512", "text-embedding-3-small@512"),
        ("text-embedding-3-small@15", "text-embedding-3-small@1536"),
        ("bge m3", "BAAI/bge-m3@1024"),
        ("txt3s", "text-embedding-3-small@1536"),
        ("openai ada", "text-embedding-ada-002@1536"),
        ("nomic-embed-text@", "nomic-embed-text-v1.5@768"),
    ],
)
def test_the_closest_comes_first_by_id_alias_or_provider_in_any_case(typed: str, first: str) -> None:
    assert _found(typed)[0] == first


def test_a_provider_finds_its_models() -> None:
    voyage = [entry for entry in model_table().entries if entry.provider == "voyage"]
    ids = {text.rpartition("@")[0] for text in _found("voyage")[: sum(1 + len(entry.smaller) for entry in voyage)]}
    assert ids == {entry.id for entry in voyage}


@pytest.mark.parametrize("typed", ["@1536", "?@1536"])
def test_a_length_alone_finds_what_makes_it(typed: str) -> None:
    found = _found(typed)
    assert "text-embedding-3-small@1536" in found
    assert all(text.endswith("@1536") for text in found)


@pytest.mark.parametrize("typed", ["zzzzqqqq", "ada@9", "ada zzzzqqqq", "[/x]", "\x1b]0;x\x07", "@" * 50, "a" * 200])
def test_what_fits_nothing_finds_nothing(typed: str) -> None:
    assert _found(typed) == []


def test_an_embedder_in_use_that_nobody_else_knows_comes_before_the_known_ones() -> None:
    offered = choices_with(
        [Fingerprint("acme-embed", 1536), Fingerprint("text-embedding-3-small", 1536), Fingerprint(None, 8)]
    )
    assert offered[0] == Choice(Fingerprint("acme-embed", 1536), "in use", None, ("acme-embed",))
    assert len(offered) == len(known_choices()) + 1


@pytest.mark.parametrize(
    ("closer", "farther"),
    [
        (("ada", "ada"), ("ada", "ada-002")),
        (("text", "text-embedding-3-small"), ("small", "text-embedding-3-small")),
        (("small", "text-embedding-3-small"), ("mall", "text-embedding-3-small")),
        (("mall", "text-embedding-3-small"), ("txt3s", "text-embedding-3-small")),
        (("txt3s", "text-embedding-3-small"), ("tl", "text-embedding-3-small")),
        (("bge", "bge-m3"), ("bge", "bge-small-en-v1.5")),
    ],
)
def test_whole_then_start_then_part_then_inside_then_scattered(
    closer: tuple[str, str], farther: tuple[str, str]
) -> None:
    assert closeness(*closer) > closeness(*farther)
