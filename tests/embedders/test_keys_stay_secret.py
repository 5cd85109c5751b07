"""A key goes into one header to one host, and into nothing else, whatever the server says and whatever breaks."""

from __future__ import annotations

import copy
import logging
import pickle
import traceback
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.embedders.asking import KEY, LONG, SHORT, VARIABLE, FakeTime, Watched, openai
from tests.embedders.misbehaving_server import Fault, MisbehavingServer, serving
from workbench.embedders.endpoint import Address
from workbench.embedders.failures import EmbedderError, Refusal, RequestRefused
from workbench.embedders.keys import Key, KeySource

SOURCE = KeySource(VARIABLE)
PIECES = [KEY[at : at + 8] for at in range(len(KEY) - 7)]


def holds_no_key(text: str) -> bool:
    return not any(piece in text for piece in PIECES)


def everything_said(error: BaseException) -> Iterator[str]:
    """Give all that anybody could print of an error: itself, its attributes, its chain, its frames and their locals."""
    seen: BaseException | None = error
    while seen is not None:
        yield f"{seen!s} {seen!r} {vars(seen)!r}"
        yield "".join(traceback.TracebackException.from_exception(seen, capture_locals=True).format())
        seen = seen.__cause__ or seen.__context__


@pytest.mark.parametrize("fault", [each for each in Fault if each is not Fault.FINE])
async def test_no_failure_shows_the_key(
    server: MisbehavingServer, fault: Fault, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving() as other:
        server.redirect_to = f"{other.url}/v1/embeddings"
        server.fail(*[fault] * 3)
        watched = Watched()
        timeouts = SHORT if fault in (Fault.HANG, Fault.DRIP) else LONG
        provider = openai(server, key=SOURCE, watched=watched, retries=1, clock=FakeTime(), timeouts=timeouts)
        failed: EmbedderError | None = None
        try:
            await provider.embed("boats", purpose="document")
        except EmbedderError as error:
            failed = error
        assert failed is None or all(holds_no_key(said) for said in everything_said(failed))
        assert other.asked.requests == 0
    assert server.asked.headers[0]["authorization"] == f"Bearer {KEY}"
    out, err = capfd.readouterr()
    shown = (
        out,
        err,
        caplog.text,
        repr(watched.events),
        repr(provider),
        str(provider.last_error),
        repr(vars(provider)),
    )
    assert all(holds_no_key(text) for text in shown)
    health = await provider.healthcheck()
    assert holds_no_key(repr(health))


async def test_the_key_goes_into_the_header_that_is_configured(server: MisbehavingServer) -> None:
    await openai(server, key=KeySource(VARIABLE, "api-key")).embed("boats", purpose="document")
    headers = server.asked.headers[0]
    assert headers["api-key"] == KEY
    assert "authorization" not in headers


async def test_without_a_configured_key_none_is_sent(server: MisbehavingServer) -> None:
    await openai(server, environment={VARIABLE: KEY, "OPENAI_API_KEY": KEY}).embed("boats", purpose="document")
    assert holds_no_key(repr(server.asked.headers))


@pytest.mark.parametrize("value", ["", "  ", f"{KEY}\nX-Other: 1", "clé", "\x00"])
async def test_a_variable_that_holds_no_key_is_named_and_nothing_is_sent(server: MisbehavingServer, value: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        await openai(server, key=SOURCE, environment={VARIABLE: value}).embed("boats", purpose="document")
    assert caught.value.refusal is Refusal.KEY
    assert VARIABLE in str(caught.value)
    assert holds_no_key(str(caught.value))
    assert server.asked.requests == 0


@given(st.text(), st.text(), st.integers(0, len(KEY) - 8), st.integers(8, len(KEY)))
def test_the_key_and_long_pieces_of_it_are_taken_out_of_any_text(
    before: str, behind: str, start: int, length: int
) -> None:
    hidden = Key(KEY).hide_in(before + KEY[start : start + length] + behind)
    assert holds_no_key(hidden)
    assert hidden.startswith(before[: len(before) // 2]) or not holds_no_key(before)


def test_a_key_cannot_be_written_by_accident() -> None:
    key = Key(KEY)
    assert holds_no_key(f"{key} {key!r} {[key]}")
    for write in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError):
            write(key)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "file:///etc/passwd",
        "host/v1",
        "",
        "http://",
        f"https://user:{KEY}@host/v1",
        "https://host/v1#part",
        "https://host/ v1",
        "https://host\n/v1",
        "https://host:99999/v1",
        "https://[::1/v1",
        "https://hö\u202est/v1",
        "https://аpi.openai.com/v1",
    ],
)
def test_an_address_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="address") as caught:
        Address(url)
    assert holds_no_key(str(caught.value))


def test_an_address_shows_its_host_alone() -> None:
    address = Address(f"https://example.test:8443/v1?code={KEY}")
    assert (address.host, repr(address)) == ("example.test:8443", "Address(example.test:8443)")
    assert address.at("embeddings") == f"https://example.test:8443/v1/embeddings?code={KEY}"
    local = {"http://localhost:1": True, "http://127.0.0.9": True, "http://[::1]:5": True, "http://10.0.0.1": False}
    assert {url: Address(url).secure for url in local} == local
