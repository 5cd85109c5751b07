"""Nothing that stands in a file reaches the terminal as a command or is parsed as markup, wherever it is shown."""

from __future__ import annotations

import re

import pytest

from tests.tui import scenes
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, driven
from tests.tui.fakes import FakeNamespace, FakeReader, FakeSource
from workbench.core.fingerprint import Fingerprint
from workbench.index.model import FingerprintCount, LockHolder, Problem, SourceError
from workbench.tui import messages
from workbench.tui.draw import Line, clip, clip_start, short_fingerprint, wrap

HOSTILE = (
    "[/x]",
    "[@click=app.quit]run[/]",
    "\x1b]0;owned\x07",
    "\x1b]52;c;cm0gLXJm\x1b\\",
    "\x1b[31mred\x1b[2J",
    "\x9b31mred",
    "abc\u202edcba\u2066\u2069",
    "line\none\r\ttwo\x00\x7f",
    "\u2028\u200b\ufeff",
    "[bold $error]loud",
    "\ud800 half",
)

_RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\u200b\ufeff\ud800-\udfff]")


def reader_of_all() -> FakeReader:
    """Put every hostile text everywhere that a file can put one."""
    paths: dict[str, FakeSource | SourceError | tuple[str, ...]] = {}
    for place, text in enumerate(HOSTILE):
        namespaces = (
            FakeNamespace(
                text,
                adapter=text,
                recorded=Fingerprint(text, 4),
                counts=(FingerprintCount(f"{text}@4", 2), FingerprintCount(f"{text}b@4", 1)),
                notes=(text,),
                alternative=text,
            ),
            FakeNamespace(text + " fails", fails=RuntimeError(text)),
            FakeNamespace(text + " dumb", no_text=text),
        )
        name = f"{place}/{text}.duckdb"
        paths[name] = FakeSource(name, namespaces, container=text, adapter=text, notes=(text,))
        error = SourceError(Problem.LOCKED, text, container=text, holder=LockHolder(text, 1))
        paths[f"{place}/locked {text}"] = error
        paths[f"empty {text}"] = ()
    return FakeReader(paths)


def nothing_raw(app: Driver) -> None:
    """Fail when the screen holds a character that a terminal obeys."""
    raw = _RAW.search(app.text)
    assert raw is None, f"{raw.group()!r} on the screen"


@pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL])
async def test_hostile_names_texts_and_messages_are_only_drawn(size: tuple[int, int]) -> None:
    async with driven(reader_of_all(), size=size, incoming=Fingerprint(HOSTILE[3] + HOSTILE[0], 4)) as app:
        for place in range(len(app.tree.rows)):
            app.tree.move_to(place)
            await app.pilot.pause()
            nothing_raw(app)
        await app.press("s", "g", "j", "enter", "j", "j")
        nothing_raw(app)
        assert app.app.is_running


async def test_hostile_names_are_inert_in_palette_and_prompt() -> None:
    async with driven(reader_of_all()) as app:
        await app.press("ctrl+p", "d", "u", "c", "k")
        await app.until(lambda: "go to this source" in app.text)
        nothing_raw(app)
        await app.press("escape", "i", "a", "@", "4")
        await app.until(lambda: "dimensions" in app.text or "model" in app.text)
        nothing_raw(app)


async def test_hostile_messages_of_readers_are_inert() -> None:
    async with driven(scenes.loaded()) as app:
        source = app.source("index.duckdb")
        await app.go_to("handbook")
        for text in HOSTILE:
            source.spaces[0].report = None
            app.main.post_message(messages.SpaceFailed(source.key, source.request, 0, text))
            app.main.session.said = text
            await app.pilot.pause()
            nothing_raw(app)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_makes_text_drawable_makes_it_inert(text: str) -> None:
    drawn = [Line().add(text).text, clip(text, 5), clip_start(text, 5), short_fingerprint(text, 5), *wrap(text, 7)]
    assert not any(_RAW.search(each) for each in drawn)


async def test_what_is_copied_is_exact() -> None:
    text = "x.duckdb is locked [/x] \u202e"
    error = SourceError(Problem.LOCKED, text, container="duckdb")
    async with driven(FakeReader({"x.duckdb": error})) as app:
        await app.press("y")
        assert app.app.clipboard == text
