"""Whatever an embedder does, a re-index ends in a correct index, a pause that can be resumed, or one sentence."""

from __future__ import annotations

import math
from pathlib import Path

import duckdb
import pytest

from tests.embedders.misbehaving_server import (
    NAN_MARK,
    NULL_MARK,
    REFUSED_MARK,
    ZERO_MARK,
    BatchRefusal,
    Fault,
    Hashing,
    MisbehavingServer,
    TooLong,
    serving,
)
from tests.reindex.scene import (
    NAMESPACE,
    SMALL,
    begin,
    build,
    expected_vector,
    go,
    living,
    make_index,
    provider,
    sentence,
    siblings,
    target,
    vectors,
)
from workbench.embedders.auto_fallback import AutoFallbackEmbeddingProvider
from workbench.embedders.batching import BatchLimits
from workbench.index.store import Entry, VectorStore
from workbench.reindex.building import CONCURRENCY, Limits, Stop
from workbench.reindex.model import Outcome, Progress, ReindexError, RunState
from workbench.reindex.planning import plan
from workbench.reindex.probing import PROBE, Surprise
from workbench.reindex.running import Controls
from workbench.reindex.sibling import siblings_of


def is_correct(index: Path) -> bool:
    """Whether every text has the very vector that the embedder makes of it."""
    return all(vector == expected_vector(text) for text, vector in vectors(index).values() if text)


def probes_of(server: MisbehavingServer) -> set[str]:
    """Give what the last verifying asked again, 20 texts in three requests."""
    return {text for body in server.asked.bodies[-3:] for text in body["input"]}


def committed(path: str) -> list[str]:
    """Give the texts whose vectors are in the sibling."""
    with duckdb.connect(path) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM rows JOIN vectors USING (seq)").fetchall()]


FINE = [
    Fault.CONFLICT_409,
    Fault.EARLY_425,
    Fault.BUSY_429,
    Fault.BUSY_429_SECONDS,
    Fault.BUSY_429_MILLISECONDS,
    Fault.BROKEN_500,
    Fault.BUSY_503,
    Fault.PAGE_502,
    Fault.RESET,
    Fault.CUT_BODY,
    Fault.CUT_JSON,
    Fault.NO_INDEX,
]
PAUSE = [
    Fault.KEY_401,
    Fault.KEY_403,
    Fault.MODEL_404,
    Fault.QUOTA_429,
    Fault.BUSY_429_DAY,
    Fault.REDIRECT,
    Fault.PAGE,
    Fault.ERROR_200,
    Fault.FEWER,
    Fault.MORE,
    Fault.SAME_INDEX,
    Fault.NO_EMBEDDINGS,
    Fault.WORDS_FOR_NUMBERS,
]


def faulty_from(server: MisbehavingServer, request: int, fault: Fault) -> None:
    """Let one request fail."""
    server.behave(retry_after_s=0.01)
    server.fail(*[Fault.FINE] * (request - 1), fault)


@pytest.mark.parametrize("fault", FINE, ids=lambda fault: fault.value)
def test_what_passes_is_waited_for(index: Path, server: MisbehavingServer, fault: Fault) -> None:
    faulty_from(server, 5, fault)
    seen: list[Progress] = []
    outcome = build(index, provider(server.url), Controls(on_progress=seen.append))
    assert (outcome.state, outcome.embedded) == (RunState.SWAPPED, 100)
    assert is_correct(index)
    if fault is not Fault.NO_INDEX:
        assert seen[-1].retries == 1
        assert any(progress.waiting for progress in seen)
    assert outcome.requests == server.asked.requests


@pytest.mark.parametrize("fault", PAUSE, ids=lambda fault: fault.value)
def test_what_does_not_pass_is_a_pause_that_keeps_the_work(
    index: Path, server: MisbehavingServer, fault: Fault
) -> None:
    before = living(index)
    server.redirect_to = "http://127.0.0.1:9/"
    faulty_from(server, 5, fault)
    aim = target(provider(server.url))
    path = begin(index, aim)
    outcome = go(index, path, aim)
    assert outcome.state is RunState.PAUSED
    assert "--resume" in outcome.message
    assert 16 <= outcome.embedded < 100
    assert living(index) == before
    paid = {text: server.asked.times(text) for text in committed(path)}
    resumed = go(index, path, target(provider(server.url)))
    assert (resumed.state, resumed.embedded) == (RunState.SWAPPED, 100)
    assert is_correct(index)
    again = probes_of(server)
    assert all(server.asked.times(text) == times + (text in again) for text, times in paid.items())


@pytest.mark.parametrize(
    ("mark", "problem"),
    [(NAN_MARK, "non-finite"), (ZERO_MARK, "zero"), (NULL_MARK, "non-finite"), (REFUSED_MARK, "cannot be embedded")],
)
def test_one_bad_chunk_never_costs_its_batch(
    tmp_path: Path, server: MisbehavingServer, mark: str, problem: str
) -> None:
    index = make_index(tmp_path / "index.duckdb", 120)
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(NAMESPACE, [Entry("c50", f"bad {mark} text", [1.0] * 32)], embedder_id="old")
    outcome = build(index, provider(server.url))
    assert (outcome.state, outcome.embedded) == (RunState.SWAPPED, 119)
    assert [each.id for each in outcome.quarantined] == ["c50"]
    assert problem in outcome.quarantined[0].reason
    assert vectors(index)["c50"] == (f"bad {mark} text", None)
    assert is_correct_but(index, "c50")


def is_correct_but(index: Path, id: str) -> bool:
    return all(vector == expected_vector(text) for key, (text, vector) in vectors(index).items() if key != id)


@pytest.mark.parametrize("how", [TooLong.OPENAI, TooLong.VLLM, TooLong.OLLAMA, TooLong.TEI, TooLong.LLAMA_CPP])
def test_a_text_that_the_server_finds_too_long_is_set_aside(
    tmp_path: Path, server: MisbehavingServer, how: TooLong
) -> None:
    index = make_index(tmp_path / "index.duckdb", 120)
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(NAMESPACE, [Entry("c7", "word " * 80)], embedder_id="old")
    server.behave(reads=40, too_long=how)
    outcome = build(index, provider(server.url))
    assert (outcome.state, [each.id for each in outcome.quarantined]) == (RunState.SWAPPED, ["c7"])
    assert is_correct_but(index, "c7")


@pytest.mark.parametrize("refusal", BatchRefusal, ids=lambda each: each.value)
def test_batches_that_are_too_large_are_made_smaller(
    index: Path, server: MisbehavingServer, refusal: BatchRefusal
) -> None:
    tokens = refusal not in (BatchRefusal.TEI, BatchRefusal.PROXY)
    server.behave(batch_refusal=refusal, max_batch_tokens=100 if tokens else None, max_inputs=None if tokens else 5)
    outcome = build(index, provider(server.url, limits=BatchLimits(32, None)))
    assert (outcome.state, outcome.embedded) == (RunState.SWAPPED, 100)
    assert is_correct(index)
    assert outcome.quarantined == ()


def test_a_bad_vector_behind_a_split_batch_costs_nothing_that_was_not_asked_yet(
    tmp_path: Path, server: MisbehavingServer
) -> None:
    index = make_index(tmp_path / "index.duckdb", 120)
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(NAMESPACE, [Entry("c3", f"bad {NAN_MARK}", [1.0] * 32)], embedder_id="old")
    server.behave(max_inputs=4)
    outcome = build(index, provider(server.url, limits=BatchLimits(64, None)))
    assert (outcome.state, [each.id for each in outcome.quarantined]) == (RunState.SWAPPED, ["c3"])
    assert is_correct_but(index, "c3")


def test_more_than_one_in_a_hundred_bad_chunks_stop_the_build(index: Path, server: MisbehavingServer) -> None:
    before = living(index)
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(
            NAMESPACE, [Entry(f"c{n}", f"bad {ZERO_MARK} {n}", [1.0] * 32) for n in range(20, 26)], embedder_id="old"
        )
    before = living(index)
    aim = target(provider(server.url))
    path = begin(index, aim)
    for _ in range(2):
        outcome = go(index, path, aim)
        assert outcome.state is RunState.PAUSED
        assert "1%" in outcome.message
        assert living(index) == before
    with VectorStore.open(index, read_only=False) as store:
        store.put_many(NAMESPACE, [Entry(f"c{n}", sentence(n)) for n in range(20, 26)], embedder_id="old")
    assert go(index, path, aim).state is RunState.SWAPPED
    assert is_correct(index)


def test_vectors_of_another_length_half_way_never_enter(tmp_path: Path, server: MisbehavingServer) -> None:
    index = make_index(tmp_path / "index.duckdb", 400)
    before = living(index)
    server.behave(wrong_dims_from=40)
    aim = target(provider(server.url))
    path = begin(index, aim)
    outcome = go(index, path, aim)
    assert outcome.state is RunState.PAUSED
    assert "32" in outcome.message
    assert living(index) == before
    server.behave(wrong_dims_from=None)
    assert go(index, path, target(provider(server.url))).state is RunState.SWAPPED
    assert is_correct(index)


def test_a_first_answer_of_another_length_goes_back_to_the_plan(index: Path, server: MisbehavingServer) -> None:
    server.behave(wrong_dims_from=1)
    aim = target(provider(server.url))
    path = begin(index, aim)
    with pytest.raises(Surprise, match="32"):
        go(index, path, aim)
    assert server.asked.requests == 1
    assert siblings(index) == []


def test_a_model_that_changes_half_way_never_enters(index: Path, server: MisbehavingServer) -> None:
    server.behave(other_model_from=6)
    aim = target(provider(server.url))
    path = begin(index, aim)
    outcome = go(index, path, aim)
    assert outcome.state is RunState.PAUSED
    assert "-other" in outcome.message
    # Also between two runs: what the first one was told is kept.
    with pytest.raises(Surprise, match="-other"):
        go(index, path, target(provider(server.url)))
    server.behave(other_model_from=None)
    assert go(index, path, target(provider(server.url))).state is RunState.SWAPPED
    assert is_correct(index)


class Changed(Hashing):
    """The same name, and another model behind it."""

    def embed(self, text: str):  # type: ignore[no-untyped-def]  # noqa: ANN201
        return super().embed(text)[::-1].copy()


def test_a_model_that_changes_silently_between_two_runs_never_enters(index: Path, server: MisbehavingServer) -> None:
    faulty_from(server, 6, Fault.QUOTA_429)
    aim = target(provider(server.url))
    path = begin(index, aim)
    kept = go(index, path, aim).embedded
    server.embedder = Changed()
    asked = server.asked.requests
    with pytest.raises(Surprise, match="answers otherwise"):
        go(index, path, aim)
    assert server.asked.requests == asked + 1
    server.embedder = Hashing()
    resumed = go(index, path, aim)
    assert (resumed.state, resumed.embedded > kept) == (RunState.SWAPPED, True)
    assert is_correct(index)


def test_a_model_that_changes_silently_behind_the_build_is_caught_by_the_gate(
    index: Path, server: MisbehavingServer
) -> None:
    before = living(index)

    def change(step: str) -> None:
        if step == "verifying":
            server.embedder = Changed()

    aim = target(provider(server.url))
    path = begin(index, aim)
    outcome = go(index, path, aim, Controls(on_step=change))
    assert outcome.state is RunState.FAILED
    assert "self-probe" in outcome.message
    assert living(index) == before
    server.embedder = Hashing()
    assert go(index, path, aim).state is RunState.SWAPPED


def test_a_server_that_answers_in_any_order_and_form_is_understood(index: Path, server: MisbehavingServer) -> None:
    server.behave(shuffled=True, base64="always")
    assert build(index, provider(server.url)).state is RunState.SWAPPED
    assert is_correct(index)


def test_a_server_that_hangs_is_given_up_and_resumed(index: Path, server: MisbehavingServer) -> None:
    from tests.embedders.asking import openai

    faulty_from(server, 4, Fault.HANG)
    server.fail(*[Fault.HANG] * 20)
    aim = target(openai(server, limits=SMALL))
    path = begin(index, aim)
    outcome = go(index, path, aim)
    assert outcome.state is RunState.PAUSED
    server.faults.clear()
    assert go(index, path, aim).state is RunState.SWAPPED
    assert is_correct(index)


# Money


PRICE = 1_000.0
"""Dollars a million tokens: a tenth of a cent each, so that sums are easy."""


@pytest.mark.parametrize("cap", [0.0, 0.05, 0.5])
def test_a_cap_stops_the_build_within_one_batch_and_keeps_the_work(
    index: Path, server: MisbehavingServer, cap: float
) -> None:
    aim = target(provider(server.url))
    path = begin(index, aim)
    outcome = go(index, path, aim, Controls(limits=Limits(max_cost_usd=cap, price_usd=PRICE)))
    assert outcome.state is RunState.PAUSED
    assert f"the cap of ${cap:g}" in outcome.message
    spent = sum(Hashing().count(text) for body in server.asked.bodies for text in body["input"]) * PRICE / 1e6
    batch = max(sum(map(Hashing().count, body["input"])) for body in server.asked.bodies) * PRICE / 1e6
    assert spent <= cap + batch
    resumed = go(index, path, aim, Controls(limits=Limits(max_cost_usd=100.0, price_usd=PRICE)))
    assert (resumed.state, resumed.embedded) == (RunState.SWAPPED, 100)


def test_a_cap_that_suffices_stops_nothing_and_the_money_is_counted_as_the_server_counts(
    index: Path, server: MisbehavingServer
) -> None:
    seen: list[Progress] = []
    controls = Controls(limits=Limits(max_cost_usd=50.0, price_usd=PRICE), on_progress=seen.append)
    assert build(index, provider(server.url), controls).state is RunState.SWAPPED
    texts = [text for body in server.asked.bodies[:-3] for text in body["input"]]
    assert seen[-1].tokens_counted
    assert seen[-1].tokens == sum(map(Hashing().count, texts))
    assert seen[-1].cost_usd == pytest.approx(seen[-1].tokens * PRICE / 1e6)


# Two embedders


def routed(primary_url: str, fallback_url: str, *, model: str) -> AutoFallbackEmbeddingProvider:
    return AutoFallbackEmbeddingProvider(
        provider(primary_url, retries=0), provider(fallback_url, model=model, retries=0), warn=lambda _: None
    )


def test_a_fallback_of_another_space_is_named_in_the_plan_and_never_asked(
    index: Path, server: MisbehavingServer
) -> None:
    before = living(index)
    with serving() as fallback:
        aim = target(routed(server.url, fallback.url, model="another"))
        planned = plan(str(index), NAMESPACE, aim)
        assert planned.conflict is not None
        assert "another@64" in planned.conflict
        with pytest.raises(ReindexError, match="alone"):
            begin(index, aim)
        assert fallback.asked.requests == server.asked.requests == 0
    assert siblings(index) == []
    assert living(index) == before


def test_a_fallback_of_the_same_fingerprint_may_write(index: Path, server: MisbehavingServer) -> None:
    server.fail(*[Fault.FINE] * 4, *[Fault.BROKEN_500] * 50)
    with serving() as fallback:
        aim = target(routed(server.url, fallback.url, model="test-embedder"))
        assert plan(str(index), NAMESPACE, aim).conflict is None
        outcome = go(index, begin(index, aim), aim)
        assert fallback.asked.requests > 0
    assert (outcome.state, outcome.embedded) == (RunState.SWAPPED, 100)
    assert is_correct(index)


# Stopping, and how much is under way


def test_a_pause_keeps_what_came_and_says_how_to_go_on(index: Path, server: MisbehavingServer) -> None:
    stop = Stop()
    aim = target(provider(server.url))
    path = begin(index, aim)

    def pause(progress: Progress) -> None:
        if progress.done >= 24:
            stop.ask("as asked")

    outcome = go(index, path, aim, Controls(stop=stop, on_progress=pause))
    assert outcome.state is RunState.PAUSED
    assert "as asked" in outcome.message
    assert 24 <= outcome.embedded <= 24 + 8 * CONCURRENCY
    assert go(index, path, aim).state is RunState.SWAPPED
    assert all(server.asked.times(text) <= 2 for text, _ in vectors(index).values())


def test_a_pause_does_not_wait_for_a_server_that_asks_to_wait(index: Path, server: MisbehavingServer) -> None:
    stop = Stop()
    server.behave(retry_after_s=100.0)
    server.fail(*[Fault.FINE] * 4, *[Fault.BUSY_429_SECONDS] * 20)
    seen: list[str] = []

    def pause(progress: Progress) -> None:
        if progress.waiting:
            seen.append(progress.waiting)
            stop.ask("as asked")

    aim = target(provider(server.url))
    path = begin(index, aim)
    outcome = go(index, path, aim, Controls(stop=stop, on_progress=pause))
    assert outcome.state is RunState.PAUSED
    assert seen


def test_no_more_requests_are_under_way_than_said(index: Path, server: MisbehavingServer) -> None:
    import threading

    under_way, most, lock = [0], [0], threading.Lock()
    everybody = threading.Event()
    real = server.embedder.count

    def count(text: str) -> int:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
            if under_way[0] >= CONCURRENCY:
                everybody.set()
        everybody.wait(0.2)
        with lock:
            under_way[0] -= 1
        return real(text)

    server.embedder.count = count  # type: ignore[method-assign]
    assert build(index, provider(server.url)).state is RunState.SWAPPED
    assert most[0] == CONCURRENCY


def test_every_bad_number_is_found_behind_the_provider_too(index: Path, server: MisbehavingServer) -> None:
    """A provider that does not check what it gives: the build does."""

    class Careless:
        def __init__(self) -> None:
            self.inner = provider(server.url)

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

        async def embed_batch(self, texts: list[str], *, purpose: str) -> list[list[float]]:
            found = await self.inner.embed_batch(texts, purpose=purpose)  # type: ignore[arg-type]
            worse = [list(map(float, vector)) for vector in found if vector is not None]
            for text, vector in zip(texts, worse, strict=True):
                if text.startswith("7:"):
                    vector[3] = math.inf
            return worse

    outcome: Outcome = build(index, Careless())  # type: ignore[arg-type]
    assert [each.id for each in outcome.quarantined] == ["c7"]
    assert outcome.state is RunState.SWAPPED


def test_the_journal_counts_what_was_sent(index: Path, server: MisbehavingServer) -> None:
    aim = target(provider(server.url))
    path = begin(index, aim)
    go(index, path, aim, Controls(swap=False))
    (found,) = siblings_of(str(index))
    with duckdb.connect(found) as connection:
        (requests, tokens) = connection.execute("SELECT sum(requests), sum(tokens) FROM journal").fetchall()[0]
    sent = [text for body in server.asked.bodies for text in body["input"]]
    assert requests == server.asked.requests
    assert tokens == sum(map(Hashing().count, sent))
    assert server.asked.times(PROBE) == 1
