"""An OpenAI-compatible server that behaves: order, batches, prefixes, counts."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from tests.embedders.asking import Watched, openai
from tests.embedders.misbehaving_server import BatchRefusal, Hashing, MisbehavingServer
from workbench.embedders.activity import AnswerCame, BatchSplit, RequestSent
from workbench.embedders.batching import BatchLimits
from workbench.embedders.endpoint import Address, Endpoint
from workbench.embedders.failures import InputTooLong
from workbench.embedders.openai_http import OpenAIProvider
from workbench.embedders.protocol import BuildingProvider, PrefixPolicy
from workbench.embedders.serving import Served

TEXTS = [f"text number {number} about boats" for number in range(10)]


def expected(text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.asarray(Hashing().embed(text), np.float32).reshape(-1)


def same(vector: object, text: str) -> bool:
    return vector is not None and np.array_equal(np.asarray(vector), expected(text))


@pytest.mark.parametrize("base64", ["asked", "always", "never"])
@pytest.mark.parametrize("shuffled", [False, True])
async def test_vectors_come_in_the_order_of_the_texts(server: MisbehavingServer, base64: str, shuffled: bool) -> None:
    server.behave(base64=base64, shuffled=shuffled)
    vectors = await openai(server).embed_batch(TEXTS, purpose="document")
    assert all(same(vector, text) for vector, text in zip(vectors, TEXTS, strict=True))
    assert all(np.asarray(vector).dtype == np.float32 for vector in vectors)
    assert server.asked.requests == 1
    assert server.asked.bodies[0]["encoding_format"] == "float"


async def test_nothing_is_asked_before_the_first_call_and_nothing_for_empty_texts(server: MisbehavingServer) -> None:
    provider: BuildingProvider = openai(server)
    assert provider.host == server.host
    assert await provider.embed_batch(["", ""], purpose="document") == [None, None]
    assert server.asked.requests == 0
    vectors = await provider.embed_batch(["", "one", "", "two"], purpose="document")
    assert [vector is None for vector in vectors] == [True, False, True, False]
    assert server.asked.times("one") == 1
    await provider.dispose()


async def test_a_call_is_cut_into_batches_of_so_many_texts_and_characters(server: MisbehavingServer) -> None:
    watched = Watched()
    await openai(server, limits=BatchLimits(4), watched=watched).embed_batch(TEXTS, purpose="document")
    assert [sent.texts for sent in watched.of(RequestSent)] == [4, 4, 2]
    watched = Watched()
    limits = BatchLimits(100, 3 * len(TEXTS[0]))
    await openai(server, limits=limits, watched=watched).embed_batch(TEXTS, purpose="document")
    assert [sent.texts for sent in watched.of(RequestSent)] == [3, 3, 3, 1]
    assert sum(came.tokens or 0 for came in watched.of(AnswerCame)) == 5 * len(TEXTS)


@pytest.mark.parametrize("refusal", list(BatchRefusal))
async def test_a_server_that_takes_less_at_once_teaches_it_once(
    server: MisbehavingServer, refusal: BatchRefusal
) -> None:
    by_inputs = refusal in (BatchRefusal.TEI, BatchRefusal.OPENAI, BatchRefusal.PROXY)
    server.behave(batch_refusal=refusal, **({"max_inputs": 3} if by_inputs else {"max_batch_tokens": 17}))
    watched = Watched()
    provider = openai(server, watched=watched)
    vectors = await provider.embed_batch(TEXTS, purpose="document")
    assert all(same(vector, text) for vector, text in zip(vectors, TEXTS, strict=True))
    assert watched.of(BatchSplit)
    answered = [came.texts for came in watched.of(AnswerCame)]
    assert sum(answered) == len(TEXTS)
    refused = server.asked.requests
    await provider.embed_batch(TEXTS, purpose="document")
    again = server.asked.requests - refused
    assert again == len(answered)  # what was learnt holds: no batch is refused twice
    assert all(times >= 2 for times in server.asked.answered.values())


async def test_one_text_beyond_what_a_batch_may_hold_is_too_long(server: MisbehavingServer) -> None:
    server.behave(max_batch_tokens=4, batch_refusal=BatchRefusal.MISTRAL)
    with pytest.raises(InputTooLong) as caught:
        await openai(server).embed_batch(["a b", "c d", "one two three four five six"], purpose="document")
    assert caught.value.index == 2
    assert (caught.value.limit_tokens, caught.value.given_tokens) == (4, 6)
    assert [vector is not None for vector in caught.value.finished] == [True, True]


async def test_prefixes_and_purpose_are_sent_as_configured(server: MisbehavingServer) -> None:
    policy = PrefixPolicy("passage: ", "query: ", input_type=True)
    provider = openai(server, policy=policy, send_dimensions=True)
    await provider.embed("boats", purpose="query")
    await provider.embed("boats", purpose="document")
    asked = [(body["input"], body["input_type"], body["dimensions"]) for body in server.asked.bodies]
    assert asked == [(["query: boats"], "query", 64), (["passage: boats"], "document", 64)]


async def test_what_else_is_configured_stands_in_each_request_and_replaces_nothing(server: MisbehavingServer) -> None:
    served = Served("test-embedder", 64, send=(("truncation", False), ("model", "other")))
    await OpenAIProvider(served, Endpoint(Address(f"{server.url}/v1"))).embed("boats", purpose="query")
    (body,) = server.asked.bodies
    assert (body["truncation"], body["model"]) == (False, "test-embedder")


async def test_a_length_that_nobody_declared_is_learnt_and_then_holds(server: MisbehavingServer) -> None:
    provider = openai(server, dims=None)
    assert provider.dimensions is None
    await provider.embed("boats", purpose="query")
    assert provider.dimensions == 64


async def test_text_that_is_no_unicode_is_sent_as_what_can_be_sent(server: MisbehavingServer) -> None:
    await openai(server).embed_batch(["lone \ud83d half", "pair \ud83d\ude00", "nul \x00"], purpose="document")
    assert server.asked.bodies[0]["input"] == ["lone � half", "pair 😀", "nul \x00"]


async def test_calls_may_overlap_and_one_provider_serves_several_loops_in_turn(server: MisbehavingServer) -> None:
    provider = openai(server)
    both = await asyncio.gather(*(provider.embed_batch([text], purpose="document") for text in TEXTS))
    assert all(same(vectors[0], text) for vectors, text in zip(both, TEXTS, strict=True))
    other_loop = await asyncio.to_thread(lambda: asyncio.run(provider.embed(TEXTS[0], purpose="query")))
    assert same(other_loop, TEXTS[0])


async def test_a_healthcheck_tells_dims_and_latency_and_moves_nothing(server: MisbehavingServer) -> None:
    watched = Watched()
    provider = openai(server, dims=None, watched=watched)
    health = await provider.healthcheck()
    assert (health.ok, health.kind, health.model_id, health.dimensions) == (True, "openai", "test-embedder", 64)
    assert health.latency_ms is not None
    assert health.latency_ms > 0
    assert watched.events == []
    assert provider.dimensions is None
