"""Readers: they never block the screen, are cancelled and told apart from late ones, and end with the program."""

from __future__ import annotations

import threading
import time

from tests.tui import scenes
from tests.tui.driving import driven
from tests.tui.fakes import FakeNamespace, FakeReader, FakeSource
from workbench.core.fingerprint import Fingerprint
from workbench.index.model import Problem, SourceError
from workbench.tui import messages
from workbench.tui.state import Status
from workbench.tui.threads import ended_within


async def test_what_is_being_read_shows_how_far_it_is_and_the_rest_can_be_read_already() -> None:
    gate = threading.Event()
    async with driven(scenes.loading(gate), read=False) as app:
        await app.until(lambda: "41 %" in app.text)
        assert "1 source being read" in app.text
        assert "≠ mixed" in app.tree_row("legacy-faq")
        await app.go_to("changelog")
        assert "412 of 1,004 rows" in app.text
        gate.set()
        await app.until_read()
        assert "✓ changelog" in app.text


async def test_escape_stops_a_reading_and_r_begins_it_again() -> None:
    gate = threading.Event()
    reader = scenes.loading(gate)
    async with driven(reader, read=False) as app:
        await app.until(lambda: "41 %" in app.text)
        await app.go_to("changelog")
        await app.press("escape")
        await app.until_read()
        assert "stopped" in app.tree_row("changelog")
        assert app.source("index.duckdb").status is Status.STOPPED
        source = reader.paths["support/index.duckdb"]
        assert isinstance(source, FakeSource)
        assert source.closed.is_set()
        source.all[2].gate = None
        await app.press("r")
        await app.until_read()
        assert "✓ changelog" in app.text


async def test_leaving_interrupts_every_query_and_gives_every_file_back() -> None:
    gate = threading.Event()
    reader = scenes.loading(gate)
    source = reader.paths["support/index.duckdb"]
    assert isinstance(source, FakeSource)
    async with driven(reader, read=False) as app:
        await app.until(lambda: source.all[2].started.is_set())
        began = time.monotonic()
        await app.press("q")
    assert gate.is_set()
    assert ended_within(1.0)
    assert source.closed.is_set()
    assert time.monotonic() - began < 1.0


async def test_an_answer_to_an_earlier_request_is_dropped_and_its_file_closed() -> None:
    async with driven(scenes.loaded()) as app:
        source = app.source("index.duckdb")
        late = FakeSource("late.duckdb", (FakeNamespace("late"),))
        app.main.post_message(messages.SourceOpened(source.key, source.request - 1, late, late.namespaces()))
        await app.until(late.closed.is_set)
        assert "late" not in [space.name for space in source.spaces]


async def test_a_source_that_was_closed_meanwhile_takes_no_answer() -> None:
    gate = threading.Event()
    async with driven(scenes.loading(gate), read=False) as app:
        await app.until(lambda: "41 %" in app.text)
        await app.go_to("index.duckdb")
        await app.press("x")
        await app.until(lambda: app.main.session.opened.nothing)
        assert "nothing open" in app.text


async def test_a_namespace_that_fails_says_why_and_its_neighbours_are_read() -> None:
    source = FakeSource(
        "x.duckdb", (FakeNamespace("broken", fails=RuntimeError("the block is torn")), FakeNamespace("fine"))
    )
    async with driven(FakeReader({"x.duckdb": source})) as app:
        assert "failed" in app.tree_row("broken")
        await app.go_to("broken")
        assert "RuntimeError: the block is torn" in app.text
        assert "2 unnamed" in app.tree_row("fine")


async def test_a_file_that_breaks_while_it_is_read_becomes_unreadable() -> None:
    error = SourceError(Problem.DAMAGED, "x.duckdb is damaged", container="duckdb")
    source = FakeSource("x.duckdb", (FakeNamespace("broken", fails=error),))
    async with driven(FakeReader({"x.duckdb": source})) as app:
        assert "damaged" in app.tree_row("x.duckdb")
        assert "x.duckdb is damaged" in app.text
        await app.until(source.closed.is_set)


async def test_a_locked_file_that_is_waited_for_opens_by_itself() -> None:
    paths: dict[str, FakeSource | SourceError | tuple[str, ...]] = {"support/archive.duckdb": scenes.locked()}
    async with driven(FakeReader(paths)) as app:
        assert "pid 48213" in app.text
        await app.press("w")
        assert "waiting" in app.tree_row("archive.duckdb")
        paths["support/archive.duckdb"] = FakeSource("support/archive.duckdb", (FakeNamespace("freed"),))
        app.main.session.look_again()
        await app.until_read()
        assert "freed" in app.text


async def test_a_file_that_keeps_writers_out_is_shown_as_held() -> None:
    source = FakeSource("x.duckdb", (FakeNamespace("ns"),), is_held=True)
    async with driven(FakeReader({"x.duckdb": source})) as app:
        app.main.session.look_again()
        await app.until(lambda: "1 file held" in app.text)
        source.is_held = False
        app.main.session.look_again()
        await app.until(lambda: "held" not in app.text)


async def test_another_incoming_embedder_is_judged_everywhere_without_reading_again() -> None:
    async with driven(scenes.loaded()) as app:
        requests = [source.request for source in app.sources]
        app.main.session.judging.set_incoming(Fingerprint("text-embedding-3-large", 3072))
        await app.pilot.pause()
        assert "✗ changelog" in app.text
        assert [source.request for source in app.sources] == requests
        app.main.session.judging.set_incoming(None)
        await app.pilot.pause()
        assert "✓ changelog" in app.text


async def test_the_incoming_embedder_is_judged_while_it_is_typed() -> None:
    async with driven(scenes.loaded()) as app:
        await app.press("i")
        await app.press(*"text-embedding-3-small@1536".replace("-", " ").split(" ")[0], "minus")
        await app.press("@", "3")
        await app.until(lambda: app.text.count("dimensions") >= 4)
        await app.press("escape")
        assert app.main.session.judging.incoming is None
