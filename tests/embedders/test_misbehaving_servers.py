"""Every way in which a server can misbehave ends in good vectors, a wait, or one typed sentence."""

from __future__ import annotations

import asyncio
import socket

import numpy as np
import pytest

from tests.embedders.asking import LONG, SHORT, FakeTime, Watched, openai
from tests.embedders.misbehaving_server import (
    NAN_MARK,
    NULL_MARK,
    REFUSED_MARK,
    ZERO_MARK,
    Fault,
    MisbehavingServer,
    TooLong,
    serving,
)
from workbench.embedders.activity import RequestSent, Retrying, Waiting
from workbench.embedders.failures import (
    EmbedderError,
    InputTooLong,
    Refusal,
    RequestRefused,
    Unavailable,
    UnusableVectors,
    VectorProblem,
    Wrong,
    WrongAnswer,
)
from workbench.embedders.openai_http import OpenAIProvider

PASSING = [
    Fault.CONFLICT_409,
    Fault.EARLY_425,
    Fault.BUSY_429,
    Fault.BUSY_429_SECONDS,
    Fault.BUSY_429_DATE,
    Fault.BUSY_429_MILLISECONDS,
    Fault.BROKEN_500,
    Fault.BUSY_503,
    Fault.PAGE_502,
    Fault.RESET,
    Fault.CUT_BODY,
    Fault.CUT_JSON,
    Fault.HANG,
    Fault.DRIP,
]

FOR_GOOD = {
    Fault.KEY_401: Refusal.KEY,
    Fault.KEY_403: Refusal.KEY,
    Fault.MODEL_404: Refusal.MODEL,
    Fault.QUOTA_429: Refusal.QUOTA,
    Fault.REDIRECT: Refusal.ADDRESS,
}

WRONG = {
    Fault.PAGE: Wrong.NOT_JSON,
    Fault.ERROR_200: Wrong.SHAPE,
    Fault.FLOOD: Wrong.SHAPE,
    Fault.NO_EMBEDDINGS: Wrong.SHAPE,
    Fault.WORDS_FOR_NUMBERS: Wrong.SHAPE,
    Fault.FEWER: Wrong.COUNT,
    Fault.MORE: Wrong.COUNT,
    Fault.SAME_INDEX: Wrong.INDEX,
}

TEXTS = ["boats in the harbour", "the lamp of the lighthouse"]


async def failure(provider: OpenAIProvider, texts: list[str] = TEXTS) -> EmbedderError:
    with pytest.raises(EmbedderError) as caught:
        await provider.embed_batch(texts, purpose="document")
    assert provider.last_error == str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def test_each_way_of_failing_is_tried() -> None:
    assert {*PASSING, *FOR_GOOD, *WRONG, Fault.FINE, Fault.BUSY_429_DAY, Fault.NO_INDEX} == set(Fault)


@pytest.mark.parametrize("fault", PASSING)
async def test_what_may_pass_is_asked_again_and_seen(server: MisbehavingServer, fault: Fault) -> None:
    server.fail(fault, fault)
    watched, clock = Watched(), FakeTime()
    server.now = clock.now
    timeouts = SHORT if fault in (Fault.HANG, Fault.DRIP) else LONG
    provider = openai(server, watched=watched, clock=clock, timeouts=timeouts)
    vectors = await provider.embed_batch(TEXTS, purpose="document")
    assert all(vector is not None for vector in vectors)
    assert [sent.attempt for sent in watched.of(RequestSent)] == [1, 2, 3]
    assert [retry.number for retry in watched.of(Retrying)] == [1, 2]
    waits = watched.of(Waiting)
    assert [wait.seconds for wait in waits] == clock.waits
    asked = fault in (Fault.BUSY_429_SECONDS, Fault.BUSY_429_DATE, Fault.BUSY_429_MILLISECONDS)
    assert [wait.asked for wait in waits] == [asked, asked]
    if asked:
        assert all(0.9 < wait.seconds < 3.5 for wait in waits)
    else:
        assert clock.waits == [0.75, 1.5]


@pytest.mark.parametrize("fault", [Fault.BUSY_429, Fault.BROKEN_500, Fault.RESET])
async def test_what_does_not_pass_is_given_up_after_the_retries(server: MisbehavingServer, fault: Fault) -> None:
    server.fail(*[fault] * 10)
    error = await failure(openai(server, retries=2))
    assert isinstance(error, Unavailable)
    assert error.attempts == server.asked.requests == 3


async def test_a_wait_longer_than_patience_is_given_up_at_once_with_its_length(server: MisbehavingServer) -> None:
    server.fail(Fault.BUSY_429_DAY)
    clock = FakeTime()
    error = await failure(openai(server, clock=clock))
    assert isinstance(error, Unavailable)
    assert (error.retry_after_s, server.asked.requests, clock.waits) == (86_400, 1, [])


@pytest.mark.parametrize(("fault", "refusal"), FOR_GOOD.items())
async def test_what_never_passes_is_asked_once(server: MisbehavingServer, fault: Fault, refusal: Refusal) -> None:
    server.fail(*[fault] * 5)
    error = await failure(openai(server))
    assert isinstance(error, RequestRefused)
    assert (error.refusal, server.asked.requests) == (refusal, 1)


@pytest.mark.parametrize(("fault", "wrong"), WRONG.items())
async def test_an_answer_that_is_none_is_believed_in_nothing(
    server: MisbehavingServer, fault: Fault, wrong: Wrong
) -> None:
    server.fail(*[fault] * 5)
    error = await failure(openai(server))
    assert isinstance(error, WrongAnswer)
    assert (error.wrong, server.asked.requests) == (wrong, 1)


async def test_answers_without_any_index_are_taken_in_their_order(server: MisbehavingServer) -> None:
    server.fail(Fault.NO_INDEX)
    first, second = await openai(server).embed_batch(TEXTS, purpose="document")
    assert first is not None
    assert second is not None
    assert not np.array_equal(np.asarray(first), np.asarray(second))


@pytest.mark.parametrize("way", [each for each in TooLong if each not in (TooLong.CLIP, TooLong.OLLAMA_ZERO)])
async def test_each_way_of_saying_too_long_is_understood_and_never_asked_again(
    server: MisbehavingServer, way: TooLong
) -> None:
    server.behave(reads=5, too_long=way)
    long = "one two three four five six seven"
    alone = await failure(openai(server), [long])
    assert isinstance(alone, InputTooLong)
    assert alone.index == 0
    together = await failure(openai(server), ["short", long])
    assert isinstance(together, InputTooLong)
    assert together.index is None
    assert server.asked.requests == 2
    if way not in (TooLong.OLLAMA, TooLong.OLLAMA_500):
        assert (alone.limit_tokens, alone.given_tokens) == (5, 7)


@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        (NAN_MARK, VectorProblem.NON_FINITE),
        (NULL_MARK, VectorProblem.NON_FINITE),
        (ZERO_MARK, VectorProblem.ZERO),
    ],
)
async def test_a_bad_vector_is_named_and_the_others_of_its_batch_are_given(
    server: MisbehavingServer, mark: str, problem: VectorProblem
) -> None:
    error = await failure(openai(server), ["", "boats", f"bad {mark}", "lamps"])
    assert isinstance(error, UnusableVectors)
    assert [(bad.index, bad.problem) for bad in error.bad] == [(2, problem)]
    assert [vector is not None for vector in error.vectors] == [False, True, False, True]


async def test_vectors_of_another_length_are_refused_whole(server: MisbehavingServer) -> None:
    server.behave(wrong_dims_from=2)
    provider = openai(server, dims=None)
    await provider.embed_batch(TEXTS, purpose="document")
    error = await failure(provider)
    assert isinstance(error, UnusableVectors)
    assert ({bad.dims for bad in error.bad}, error.expected_dims, error.vectors) == ({32}, 64, ())


async def test_a_declared_length_holds_from_the_first_answer_on(server: MisbehavingServer) -> None:
    error = await failure(openai(server, dims=128))
    assert isinstance(error, UnusableVectors)
    assert "64 numbers where 128 were expected" in str(error)


async def test_a_model_that_changes_half_way_is_refused(server: MisbehavingServer) -> None:
    server.behave(other_model_from=2)
    provider = openai(server)
    await provider.embed_batch(TEXTS, purpose="document")
    assert provider.answered_model == "test-embedder"
    error = await failure(provider)
    assert isinstance(error, WrongAnswer)
    assert error.wrong is Wrong.MODEL
    assert "test-embedder-other" in str(error)


async def test_a_text_that_is_refused_for_good_is_asked_once(server: MisbehavingServer) -> None:
    error = await failure(openai(server), [f"x {REFUSED_MARK}"])
    assert isinstance(error, RequestRefused)
    assert (error.refusal, error.status, server.asked.requests) == (Refusal.REQUEST, 400, 1)


async def test_nobody_listening_is_retried_and_then_said() -> None:
    with serving() as gone:
        pass
    error = await failure(openai(gone, retries=1))
    assert isinstance(error, Unavailable)
    assert "nothing listens there" in str(error)


async def test_a_redirect_is_not_followed_anywhere(server: MisbehavingServer) -> None:
    with serving() as other:
        server.redirect_to = f"{other.url}/v1/embeddings"
        server.fail(Fault.REDIRECT)
        await failure(openai(server))
        assert other.asked.requests == 0


async def test_one_call_that_is_told_to_wait_holds_the_others_back(server: MisbehavingServer) -> None:
    watched, clock = Watched(), FakeTime()
    provider = openai(server, watched=watched, clock=clock, retries=0)
    server.behave(retry_after_s=40)
    server.fail(Fault.BUSY_429_SECONDS)
    with pytest.raises(Unavailable):
        await provider.embed("boats", purpose="document")
    assert clock.waits == []
    await provider.embed("boats", purpose="document")
    assert clock.waits == [40]


async def test_cancelling_ends_a_request_under_way_and_a_wait(server: MisbehavingServer) -> None:
    server.fail(Fault.HANG)
    sent = asyncio.Event()
    provider = openai(server)
    provider.watch(lambda activity: sent.set())
    task = asyncio.create_task(provider.embed("boats", purpose="document"))
    await sent.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await provider.embed("boats", purpose="document") is not None


async def test_a_server_that_speaks_no_http_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, serving() as server:
        port = listener.getsockname()[1]
        error = await failure(openai(server, url=f"https://127.0.0.1:{port}/v1", retries=0, timeouts=SHORT))
    assert isinstance(error, Unavailable | RequestRefused)
