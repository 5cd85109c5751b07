"""The probe tells a server that cuts in silence from one that reads all, and finds the length at which it begins."""

from __future__ import annotations

import pytest

from tests.embedders.asking import ollama, openai
from tests.embedders.misbehaving_server import Fault, Hashing, MisbehavingServer, TooLong
from workbench.embedders.clip_probe import Beyond, find_ceiling, probe_clipping, probe_texts
from workbench.embedders.failures import RequestRefused
from workbench.embedders.protocol import EmbeddingProvider


@pytest.mark.parametrize("chars", [64, 65, 999, 10_000])
def test_two_texts_of_one_length_differ_in_their_last_word_alone(chars: int) -> None:
    first, second = probe_texts(chars)
    assert len(first) == len(second) == chars
    assert first.rsplit(" ", 1)[0] == second.rsplit(" ", 1)[0]
    assert first != second


@pytest.mark.parametrize(
    ("way", "beyond"),
    [
        (TooLong.CLIP, Beyond.CLIPPED),
        (TooLong.OPENAI, Beyond.REFUSED),
        (TooLong.LLAMA_CPP, Beyond.REFUSED),
        (TooLong.OLLAMA_ZERO, Beyond.REFUSED),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 1e-4])
async def test_the_ceiling_is_found_and_what_lies_beyond_it(
    server: MisbehavingServer, way: TooLong, beyond: Beyond, noise: float
) -> None:
    server.behave(reads=300, too_long=way, noise=noise)
    provider: EmbeddingProvider = ollama(server) if way is TooLong.OLLAMA_ZERO else openai(server)
    found = await find_ceiling(provider)
    assert found.beyond is beyond
    assert found.first_lost is not None
    assert 0 < found.first_lost - found.chars <= max(16, 0.02 * found.first_lost)
    words = Hashing()
    assert words.count(probe_texts(found.chars)[0]) <= 300 < words.count(probe_texts(found.first_lost)[0])
    assert found.texts == sum(server.asked.texts.values())


async def test_one_that_reads_all_that_was_asked_has_no_first_lost(server: MisbehavingServer) -> None:
    found = await find_ceiling(openai(server), most=9_000)
    assert (found.chars, found.beyond, found.first_lost) == (9_000, None, None)


async def test_a_server_that_reads_next_to_nothing_has_no_ceiling_above_it(server: MisbehavingServer) -> None:
    server.behave(reads=2)
    found = await find_ceiling(openai(server))
    assert (found.chars, found.beyond) == (0, Beyond.CLIPPED)


async def test_one_probe_sends_two_texts(server: MisbehavingServer) -> None:
    server.behave(reads=10)
    probe = await probe_clipping(openai(server), 500)
    assert (probe.beyond, probe.distance) == (Beyond.CLIPPED, 0.0)
    assert sum(server.asked.texts.values()) == 2


async def test_a_refusal_that_is_not_about_length_is_no_ceiling(server: MisbehavingServer) -> None:
    server.fail(*[Fault.KEY_401] * 3)
    with pytest.raises(RequestRefused):
        await find_ceiling(openai(server))
