"""Ollama's own interface: never cut in silence, and zero vectors found."""

from __future__ import annotations

import numpy as np
import pytest

from tests.embedders.asking import Watched, ollama
from tests.embedders.misbehaving_server import Fault, Hashing, MisbehavingServer, TooLong
from workbench.embedders.activity import AnswerCame
from workbench.embedders.failures import InputTooLong, UnusableVectors, VectorProblem, Wrong, WrongAnswer

LONG = "one two three four five six seven"


async def test_it_is_told_not_to_cut_and_its_tokens_are_counted(server: MisbehavingServer) -> None:
    watched = Watched()
    first, second = await ollama(server, watched=watched).embed_batch(["boats", LONG], purpose="document")
    assert np.array_equal(np.asarray(first), Hashing().embed("boats"))
    assert np.array_equal(np.asarray(second), Hashing().embed(LONG))
    assert server.asked.paths == ["/api/embed"]
    assert server.asked.bodies[0]["truncate"] is False
    assert [came.tokens for came in watched.of(AnswerCame)] == [8]


@pytest.mark.parametrize("way", [TooLong.OLLAMA, TooLong.OLLAMA_500])
async def test_too_long_is_understood_with_either_status(server: MisbehavingServer, way: TooLong) -> None:
    server.behave(reads=5, too_long=way)
    with pytest.raises(InputTooLong):
        await ollama(server).embed(LONG, purpose="document")
    assert server.asked.requests == 1


async def test_a_zero_vector_instead_of_a_refusal_is_found(server: MisbehavingServer) -> None:
    server.behave(reads=5, too_long=TooLong.OLLAMA_ZERO)
    with pytest.raises(UnusableVectors) as caught:
        await ollama(server).embed_batch(["boats", LONG], purpose="document")
    assert [(bad.index, bad.problem) for bad in caught.value.bad] == [(1, VectorProblem.ZERO)]


@pytest.mark.parametrize(
    ("fault", "wrong"), [(Fault.NO_EMBEDDINGS, Wrong.SHAPE), (Fault.FEWER, Wrong.COUNT), (Fault.MORE, Wrong.COUNT)]
)
async def test_an_answer_of_another_shape_is_refused(server: MisbehavingServer, fault: Fault, wrong: Wrong) -> None:
    server.fail(fault)
    with pytest.raises(WrongAnswer) as caught:
        await ollama(server).embed_batch(["boats", LONG], purpose="document")
    assert caught.value.wrong is wrong
