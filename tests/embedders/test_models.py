"""The model table: its facts, its spellings, and the ceiling of a namespace."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tests.shared_files import CONFORMANCE, needs_conformance
from workbench.core.ceiling import ChunkCeiling
from workbench.core.fingerprint import Fingerprint, parse_fingerprint
from workbench.embedders.models import ModelEntry, ModelTable, model_table, resolve_index_ceiling

TABLE = model_table()


def test_the_table_is_read_once() -> None:
    assert model_table() is TABLE


@needs_conformance
def test_every_listed_model_is_in_the_table_with_its_facts() -> None:
    listed = json.loads((CONFORMANCE / "embedding_models.json").read_text("utf-8"))["models"]
    assert len(listed) >= 80
    for model in listed:
        entry = TABLE.find(model["id"])
        assert entry is not None, model["id"]
        assert (entry.id, entry.provider, entry.dims) == (model["id"], model["provider"], model["dims"])
        assert {entry.dims, *entry.smaller} == {model["dims"], *model["matryoshka_dims"]}, model["id"]
        assert (entry.max_input_tokens, entry.tokenizer) == (model["max_input_tokens"], model["tokenizer"])
        assert (entry.price_usd, entry.price_read_on) == (model["price_usd_per_1m_tokens"], model["price_read_on"])
        assert entry.overflow.split("-")[0] in model["overflow"], model["id"]
        for spelling in (model["id"], *model["aliases"]):
            for dims in (model["dims"], *model["matryoshka_dims"]):
                ceiling = resolve_index_ceiling(None, None, Fingerprint(spelling, dims))
                assert ceiling == ChunkCeiling(model["chars_ceiling_conservative"], "registry"), spelling
            assert TABLE.same_space(spelling, model["id"]) != spelling.startswith("Xenova/"), spelling


@pytest.mark.parametrize(
    ("fingerprint", "chars"),
    [
        ("mock@32", 1_000_000),
        ("local:Xenova/all-MiniLM-L6-v2:q8@384", 2_000),
        ("static:@yarflam/potion-base-8m@256", 1_000_000),
        ("openai:text-embedding-3-small@1536", 32_000),
        ("openai:text-embedding-3-small@512", 32_000),
        ("openai:text-embedding-3-large@3072", 32_000),
        ("openai:text-embedding-ada-002@1536", 32_000),
        ("bedrock:amazon.titan-embed-text-v2:0:1024@1024", 32_000),
        ("bedrock:amazon.titan-embed-text-v2:0:256@256", 32_000),
        ("bedrock:amazon.titan-embed-text-v1:1536@1536", 32_000),
        ("bedrock:cohere.embed-english-v3:1024@1024", 2_000),
        ("gemini:gemini-embedding-001:3072@3072", 8_000),
        ("gemini:gemini-embedding-001:768@768", 8_000),
        ("gemini:gemini-embedding-2:1536@1536", 32_000),
        ("text-embedding-3-small@512", 24_500),
        ("3-small@1536", 24_500),
        ("all-minilm@384", 700),
    ],
)
def test_a_listed_model_of_its_own_length_has_the_tables_ceiling(fingerprint: str, chars: int) -> None:
    assert resolve_index_ceiling(None, None, parse_fingerprint(fingerprint)) == ChunkCeiling(chars, "registry")


@pytest.mark.parametrize(
    "fingerprint",
    [
        "acme-embed@1536",
        "?@1536",
        "mock@64",
        "text-embedding-3-small@1024",
        "TEXT-EMBEDDING-3-SMALL@1536",
        " text-embedding-3-small@1536",
        "bedrock:amazon.titan-embed-text-v2:0:1024@512",
        "text-embedding-3-small@1536.5",
    ],
)
def test_what_the_table_does_not_list_keeps_the_default(fingerprint: str) -> None:
    assert resolve_index_ceiling(None, None, parse_fingerprint(fingerprint)) == ChunkCeiling(2_000, "default")
    assert TABLE.known(parse_fingerprint(fingerprint)) is None


@dataclass(frozen=True)
class Declares:
    max_input_chars: object


@pytest.mark.parametrize("declared", [500, 500.9, Declares(500), Declares(500.9)])
def test_a_declared_ceiling_wins_over_the_table(declared: object) -> None:
    known = Fingerprint("text-embedding-3-small", 1536)
    assert resolve_index_ceiling(None, declared, known) == ChunkCeiling(500, "embedder")
    assert resolve_index_ceiling(90, declared, known) == ChunkCeiling(90, "explicit")


@pytest.mark.parametrize("declared", [None, 0, -1, float("nan"), True, "500", Declares(None), Declares(0), object()])
def test_an_unusable_declaration_leaves_the_answer_to_the_table(declared: object) -> None:
    known = Fingerprint("text-embedding-3-small", 1536)
    assert resolve_index_ceiling(0, declared, known) == ChunkCeiling(24_500, "registry")
    assert resolve_index_ceiling(0, declared, None) == ChunkCeiling(2_000, "default")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3-small", "openai/text-embedding-3-small"),
        ("openai:text-embedding-3-small", "text-embedding-3-small"),
        ("openai:text-embedding-3-small", "3-small"),
        ("voyage-4", "mongodb/voyage-4-lite"),
        ("voyage-4-large", "voyage-4-lite"),
        ("gemini:gemini-embedding-001:768", "models/gemini-embedding-001"),
        ("bedrock:amazon.titan-embed-text-v2:0:512", "titan-embed-v2"),
        ("bedrock:cohere.embed-english-v3:1024", "embed-english-v3.0"),
    ],
)
def test_two_spellings_of_one_space_are_known(one: str, other: str) -> None:
    assert TABLE.same_space(one, other)
    assert TABLE.same_space(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("text-embedding-3-small", "text-embedding-ada-002"),
        ("voyage-3", "voyage-3.5"),
        ("all-minilm", "Xenova/all-MiniLM-L6-v2"),
        ("Xenova/all-MiniLM-L6-v2", "local:Xenova/all-MiniLM-L6-v2:q8"),
        ("static:@yarflam/potion-base-8m", "potion-base-8M"),
        ("acme", "acme-embed"),
        ("acme", "acme"),
        ("3-small", "3-SMALL"),
    ],
)
def test_neighbours_builds_and_strangers_are_not_one_space(one: str, other: str) -> None:
    assert not TABLE.same_space(one, other)


def test_guesses_by_length_count_the_smaller_sizes() -> None:
    guesses = {entry.id for entry in TABLE.with_dims(512)}
    assert {"text-embedding-3-small", "voyage-3-lite", "bedrock:amazon.titan-embed-text-v2:0:512"} <= guesses
    assert "text-embedding-ada-002" not in guesses
    assert TABLE.with_dims(17) == ()


def test_a_seed_id_takes_the_facts_of_its_model_and_none_of_its_names() -> None:
    entry = TABLE.find("bedrock:amazon.titan-embed-text-v2:0:512")
    assert entry is not None
    assert (entry.price_usd, entry.tokenizer, entry.max_input_tokens) == (0.02, "titan", 8192)
    assert (entry.aliases, entry.smaller, entry.dims) == ((), (), 512)


def test_every_entry_makes_sense() -> None:
    for entry in TABLE.entries:
        assert entry.dims not in entry.smaller
        assert entry.dims > 0
        assert entry.max_input_chars > 0
        assert entry.overflow in ("error", "silent-truncate", "error-or-truncate", "unverified")
        assert (entry.price_usd is None) == (entry.price_read_on is None)
        assert any(entry.space == other.id for other in TABLE.entries), entry.space


def test_prefixes_are_those_of_documents_and_queries() -> None:
    nomic, qwen = TABLE.find("nomic-embed-text"), TABLE.find("qwen3-embedding:8b")
    assert nomic is not None
    assert (nomic.document_prefix, nomic.query_prefix) == ("search_document: ", "search_query: ")
    assert qwen is not None
    assert (qwen.document_prefix, qwen.query_prefix) == (None, "Instruct: {task}\nQuery:")


def test_a_spelling_that_is_listed_twice_is_refused() -> None:
    one = ModelEntry("a", "x", 3, 100, "error", "a", aliases=("b",))
    other = ModelEntry("b", "x", 3, 100, "error", "b")
    with pytest.raises(ValueError, match="lists 'b' twice"):
        ModelTable((one, other))
