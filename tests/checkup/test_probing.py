"""A namespace asked by a text or by a chunk: the exact nearest, or one sentence that says why not."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkup.test_proof import MINILM, WORDLLAMA, of
from workbench.checkup.probing import HITS, ask_like, ask_text
from workbench.checkup.proof import NobodyToAsk
from workbench.core.job import Job
from workbench.index.model import IndexSource
from workbench.index.store import Entry, VectorStore
from workbench.sources import open_source

_SAMPLE = Path(__file__).resolve().parents[2] / "sample_data" / "index.duckdb"

needs_wordllama = pytest.mark.skipif(
    not _SAMPLE.exists() or importlib.util.find_spec("wordllama") is None,
    reason="needs the sample and the extra 'local'",
)


@pytest.fixture
def docs(tmp_path: Path) -> Iterator[IndexSource]:
    """Three usable chunks, one of zeros, one of NaN, one without a vector."""
    path = tmp_path / "index.duckdb"
    with VectorStore.open(path, read_only=False) as store:
        usable = [Entry("a", "a", [1.0, 0.0]), Entry("b", "b", [1.0, 0.1]), Entry("c", "c", [0.0, 1.0])]
        store.put_many("docs", [*usable, Entry("zero", "z", [0.0, 0.0]), Entry("none", "n")], embedder_id="acme")
    with open_source(path) as source:
        yield source


def test_a_chunk_asks_with_its_own_vector_and_is_left_out(docs: IndexSource) -> None:
    answer = ask_like(*of(docs, "docs"), "a", Job())
    assert [hit.id for hit in answer.result.hits] == ["b", "c"]
    assert answer.asked_with == "acme@2"
    assert answer.result.left_out == 1


@pytest.mark.parametrize(
    ("id", "said"),
    [("gone", "there is no chunk gone"), ("none", "has no vector"), ("zero", "is zero in every element")],
)
def test_what_cannot_ask_is_said_in_one_sentence(docs: IndexSource, id: str, said: str) -> None:
    with pytest.raises(NobodyToAsk, match=said):
        ask_like(*of(docs, "docs"), id, Job())


def test_another_embedder_is_refused_before_it_is_asked(docs: IndexSource) -> None:
    with pytest.raises(NobodyToAsk, match="refused to search"):
        ask_text(*of(docs, "docs"), "a text", MINILM, Job())


@needs_wordllama
def test_a_text_is_asked_with_the_namespaces_own_embedder() -> None:
    with open_source(_SAMPLE) as source:
        namespace, report = of(source, "almanac")
        answer = ask_text(namespace, report, "when is low tide in winter", WORDLLAMA, Job())
        assert len(answer.result.hits) == HITS
        scores = [hit.score for hit in answer.result.hits]
        assert scores == sorted(scores, reverse=True)
        assert answer.asked_with == "wordllama@256"
