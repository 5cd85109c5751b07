"""The view of chunks: any number of rows, filtered, sorted, gone to, opened and copied."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.tui import scenes
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, driven
from tests.tui.fakes import FakeNamespace, FakeReader, FakeSource
from tests.tui.test_inert import HOSTILE, nothing_raw
from workbench.core.text import inert
from workbench.tui.pages.chunk import PART
from workbench.tui.screens.menu import Menu
from workbench.tui.views.chunks import Chunks
from workbench.tui.widgets.chunk_table import PAGE

TEXTS = (
    ("guide/refunds.md#4", "Orders can be returned. " * 90 + "Exceptions apply to what was made to measure."),
    ("guide/Straße.md#1", "Zwölf Zeichen, ÄÖÜ"),
    ("100%_sure", "a literal 100% and an_underscore"),
    ("faq.md#2", "nothing of note"),
)


def with_texts(texts: tuple[tuple[str, str], ...], **more: object) -> FakeReader:
    """Make a source with one namespace that has these chunks."""
    lengths = [len(text) for _, text in texts]
    namespace = FakeNamespace("notes", texts=texts, lengths_=lengths, max_input_chars=2_000, **more)  # type: ignore[arg-type]
    return FakeReader({"n/notes.duckdb": FakeSource("n/notes.duckdb", (namespace,))})


def a_million() -> FakeNamespace:
    return FakeNamespace("million", lengths_=range(1_000_000), max_input_chars=2_000)


@asynccontextmanager
async def on_chunks(
    reader: FakeReader, namespace: str, size: tuple[int, int] = LARGE_TERMINAL, *, ascii_only: bool = False
) -> AsyncIterator[Driver]:
    async with driven(reader, size=size, ascii_only=ascii_only) as app:
        await app.go_to(namespace)
        await app.press("2")
        await app.until(lambda: app.main.settled)
        yield app


def view_of(app: Driver) -> Chunks:
    return app.main.query_one(Chunks)


def ids_on(app: Driver) -> list[str]:
    """Give the ids in view, in order, without rows that are still to come."""
    table = view_of(app).table
    first = int(table.scroll_offset.y)
    rows = (table.pages.row(place) for place in range(first, first + table.size.height))
    return [row.id for row in rows if row is not None]


async def typed(app: Driver, text: str) -> None:
    for character in text:
        await app.pilot.press(character)
    await app.pilot.pause()


async def test_a_chunk_shows_its_id_its_length_and_whether_it_is_clipped() -> None:
    async with on_chunks(scenes.loaded(), "handbook") as app:
        assert "8,214 chunks · as stored" in app.text
        await app.press("s")
        await app.until(lambda: app.main.settled)
        assert "longest first" in app.text
        row = app.row("guide/part-71.md#86")
        assert "✂" in row
        assert "7,384" in row
        assert "━━│╍╍" in row


async def test_a_million_rows_are_gone_through_without_reading_more_than_what_is_seen() -> None:
    namespace = a_million()
    async with on_chunks(FakeReader({"m.duckdb": FakeSource("m.duckdb", (namespace,))}), "million") as app:
        table = view_of(app).table
        assert table.total == 1_000_000
        await app.press("G")
        await app.until(lambda: table.pages.row(999_999) is not None)
        assert namespace.id(999_999) in app.text
        assert "row 1,000,000" in app.text
        assert table.scroll_offset.y == 1_000_000 - table.size.height
        for _ in range(5):
            await app.press("pageup")
        await app.press("g")
        await app.until(lambda: app.main.settled)
        assert ids_on(app)[0] == namespace.id(0)
        assert len(set(namespace.pages)) < 6
        assert all(start % PAGE == 0 for start in namespace.pages)


async def test_the_scrollbar_leads_to_the_row_of_its_position() -> None:
    namespace = a_million()
    async with on_chunks(FakeReader({"m.duckdb": FakeSource("m.duckdb", (namespace,))}), "million") as app:
        table = view_of(app).table
        table.scroll_to(y=500_000, animate=False)
        await app.until(lambda: table.pages.row(500_000) is not None)
        assert ids_on(app)[0] == namespace.id(500_000)


async def test_rows_that_are_not_read_yet_are_there_at_once() -> None:
    namespace = a_million()
    async with on_chunks(FakeReader({"m.duckdb": FakeSource("m.duckdb", (namespace,))}), "million") as app:
        namespace.gate = threading.Event()
        await app.press("G")
        assert "······" in app.text
        assert "row 1,000,000" in app.text
        namespace.gate.set()
        await app.until(lambda: app.main.settled)
        assert "······" not in app.text


async def test_a_page_that_is_scrolled_past_is_given_up() -> None:
    namespace = a_million()
    async with on_chunks(FakeReader({"m.duckdb": FakeSource("m.duckdb", (namespace,))}), "million") as app:
        view = view_of(app)
        namespace.gate = threading.Event()
        await app.press("G")
        job = view.asked["pages"].job
        view.table.scroll_to(y=400_000, animate=False)
        await app.until(lambda: job is not None and job.cancelled)
        namespace.gate.set()
        await app.until(lambda: view.table.pages.row(400_000) is not None)


async def test_a_filter_finds_words_behind_the_cut_in_any_case_and_counts_them() -> None:
    async with on_chunks(with_texts(TEXTS), "notes") as app:
        await app.press("slash")
        await typed(app, "MADE TO")
        await app.until(lambda: "1 of 4 chunks with “MADE TO”" in app.text)
        assert ids_on(app) == ["guide/refunds.md#4"]
        await app.press("enter", "enter")
        await app.until(lambda: view_of(app).chunk.display)
        await app.until(lambda: "made to measure" in app.text)
        row = next(row for row in app.text.splitlines() if "made to measure" in row)
        assert "╎" in row or "╎" in app.text


@pytest.mark.parametrize(("needle", "count"), [("%", 1), ("_", 1), ("straße", 1), ("äöü", 1), ("nowhere", 0)])
async def test_what_is_typed_is_no_pattern(needle: str, count: int) -> None:
    async with on_chunks(with_texts(TEXTS), "notes") as app:
        view = view_of(app)
        view.action_filter()
        await app.pilot.pause()
        view._filter(needle)
        await app.until(lambda: app.main.settled)
        assert view.table.total == count


async def test_esc_takes_the_filter_back_and_then_leaves_the_view() -> None:
    async with on_chunks(with_texts(TEXTS), "notes") as app:
        await app.press("slash")
        await typed(app, "faq")
        await app.press("enter")
        await app.until(lambda: view_of(app).table.total == 1)
        assert "esc all" in app.text
        await app.press("escape")
        await app.until(lambda: view_of(app).table.total == 4)
        assert "esc sources" in app.text
        await app.press("escape")
        assert app.tree.has_focus


async def test_esc_while_typing_shows_all_again() -> None:
    async with on_chunks(with_texts(TEXTS), "notes") as app:
        await app.press("slash")
        await typed(app, "faq")
        await app.until(lambda: view_of(app).table.total == 1)
        await app.press("escape")
        await app.until(lambda: view_of(app).table.total == 4)
        assert view_of(app).table.has_focus


async def test_only_the_last_of_what_was_typed_is_shown() -> None:
    reader = with_texts(TEXTS)
    source = reader.paths["n/notes.duckdb"]
    assert isinstance(source, FakeSource)
    async with on_chunks(reader, "notes") as app:
        view = view_of(app)
        gate = source.all[0].gate = threading.Event()
        view._filter("faq")
        first = view.asked["listing"].job
        view._filter("nothing of")
        assert first is not None
        assert first.cancelled
        assert "searching" in app.text or "so far" in view.busy + app.text
        gate.set()
        await app.until(lambda: app.main.settled)
        assert view.table.total == 1
        assert "“nothing of”" in app.text


async def test_a_search_is_stopped_by_esc_and_the_list_stays_as_it_was() -> None:
    reader = with_texts(TEXTS)
    source = reader.paths["n/notes.duckdb"]
    assert isinstance(source, FakeSource)
    async with on_chunks(reader, "notes") as app:
        view = view_of(app)
        source.all[0].gate = threading.Event()
        view._filter("faq")
        await app.press("escape")
        assert not view.asked
        source.all[0].gate.set()
        await app.until(lambda: app.main.settled)
        assert view.table.total == 4
        assert "4 chunks" in app.text


async def test_columns_sort_by_key_and_by_click() -> None:
    async with on_chunks(with_texts(TEXTS), "notes") as app:
        head = view_of(app).head.region
        await app.press("s")
        await app.until(lambda: ids_on(app)[0] == "guide/refunds.md#4")
        await app.press("S")
        await app.until(lambda: ids_on(app)[0] == "faq.md#2")
        await app.pilot.click(offset=(head.x + 6, head.bottom - 1))
        await app.until(lambda: ids_on(app)[0] == "100%_sure")
        await app.pilot.click(offset=(head.x + 6, head.bottom - 1))
        await app.until(lambda: ids_on(app)[-1] == "100%_sure")


async def test_only_clipped_chunks_are_strictly_longer_than_the_ceiling() -> None:
    texts = (("at", "x" * 2_000), ("over", "x" * 2_001), ("under", "x"))
    async with on_chunks(with_texts(texts), "notes") as app:
        await app.press("c")
        await app.until(lambda: ids_on(app) == ["over"])
        assert "1 of 3 chunks longer than 2,000" in app.text
        await app.press("c")
        await app.until(lambda: len(ids_on(app)) == 3)


@pytest.mark.parametrize(("wanted", "row"), [("3", 2), ("faq.md#2", 3), ("1,0", None), ("no such", None), ("9", None)])
async def test_a_row_is_gone_to_by_its_id_or_its_number(wanted: str, row: int | None) -> None:
    async with on_chunks(with_texts(TEXTS), "notes") as app:
        view = view_of(app)
        view.table.move_to(1)
        view._jump(wanted)
        await app.until(lambda: app.main.settled)
        assert view.table.cursor == (1 if row is None else row)
        if row is None:
            assert "no such id or row here" in app.text


async def test_a_chunk_is_opened_with_its_text_vector_and_metadata() -> None:
    async with on_chunks(with_texts(TEXTS), "notes") as app:
        await app.press("enter")
        await app.until(lambda: view_of(app).chunk.display)
        page = view_of(app).chunk.text
        assert "⟨4 dims · norm 1.0000⟩" in page
        assert "2,205 chars, 205 never read" in page
        assert "the embedder stopped reading here" in page
        assert '"heading": "Refunds"' in page
        await app.press("right_square_bracket")
        await app.until(lambda: "Straße" in app.text)
        await app.press("escape")
        assert view_of(app).table.display
        assert view_of(app).table.cursor == 1


@pytest.mark.parametrize("metadata", ["[1, 2", "", "[" * 100_000, '{"a":' * 5_000 + "1" + "}" * 5_000, "NaN", '"[/x]"'])
async def test_any_metadata_can_be_shown(metadata: str) -> None:
    async with on_chunks(with_texts(TEXTS, metadata=metadata), "notes", SMALL_TERMINAL) as app:
        await app.press("enter")
        await app.until(lambda: view_of(app).chunk.display)
        await app.press("G")
        assert app.app.is_running


async def test_an_array_of_numbers_in_metadata_is_shown_as_a_vector() -> None:
    async with on_chunks(with_texts(TEXTS, metadata=json.dumps({"v": [3.0] + [0] * 7 + [4]})), "notes") as app:
        await app.press("enter")
        await app.until(lambda: view_of(app).chunk.display)
        assert '"v": ⟨9 dims · norm 5.0000⟩' in view_of(app).chunk.text


async def test_a_long_text_is_shown_in_parts_and_opened_where_the_word_stands() -> None:
    texts = (("long", "lorem ipsum " * 12_000 + "needle " + "dolor " * 8_000),)
    async with on_chunks(with_texts(texts), "notes") as app:
        view = view_of(app)
        await app.press("enter")
        await app.until(lambda: view.chunk.display)
        assert "characters more" in view.chunk.text
        await app.press("greater_than_sign")
        assert f"… {PART:,} characters before" in view.chunk.text
        view._close_chunk()
        view._filter("NEEDLE")
        await app.until(lambda: app.main.settled)
        await app.press("enter")
        await app.until(lambda: "needle" in app.text)


async def test_what_is_copied_is_exact_and_its_amount_is_said() -> None:
    texts = (("id \u202e\x1b]0;x\x07", "text [/x] \x1b[31m"),)
    async with on_chunks(with_texts(texts), "notes") as app:
        for key, exact in (("i", texts[0][0]), ("t", texts[0][1])):
            await app.press("y")
            assert isinstance(app.app.screen, Menu)
            nothing_raw(app)
            await app.press(key)
            await app.until(lambda exact=exact: app.app.clipboard == exact)  # type: ignore[misc]
            assert f"{len(exact)} characters" in app.text
        await app.press("y", "j")
        await app.until(lambda: app.app.clipboard.startswith("{"))
        assert json.loads(app.app.clipboard)["text"] == texts[0][1]
        await app.press("y", "s")
        assert app.app.clipboard.startswith("ATTACH '")
        assert app.app.clipboard.endswith("SELECT id FROM ix.main.t;\n")
        await app.press("y", "p")
        assert app.app.clipboard.endswith("notes.duckdb")


@pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL])
async def test_hostile_chunks_are_inert_in_list_and_page(size: tuple[int, int]) -> None:
    texts = tuple((text + f" {place}", text + " body") for place, text in enumerate(HOSTILE))
    metadata = json.dumps({text: [text] for text in HOSTILE})
    async with on_chunks(with_texts(texts, metadata=metadata), "notes", size) as app:
        nothing_raw(app)
        for place in range(len(texts)):
            view_of(app)._open(place)
            await app.until(lambda place=place: inert(HOSTILE[place]).split("\n")[0][:4] in app.text)  # type: ignore[misc]
            nothing_raw(app)
        await app.press("G")
        nothing_raw(app)
        view_of(app)._close_chunk()
        view_of(app)._filter(HOSTILE[3])
        await app.until(lambda: app.main.settled)
        nothing_raw(app)
        assert app.app.is_running


async def test_each_namespace_is_found_as_it_was_left() -> None:
    async with on_chunks(scenes.loaded(), "handbook") as app:
        view = view_of(app)
        view.table.move_to(3_000)
        await app.until(lambda: app.main.settled)
        await app.go_to("changelog")
        assert app.main._pane.active == "overview"
        await app.press("2")
        await app.until(lambda: view.table.total == 1_120)
        view.table.move_to(7)
        await app.go_to("handbook")
        await app.until(lambda: view.table.total == 8_214)
        assert view.table.cursor == 3_000
        assert view.table.scroll_offset.y > 2_900
        await app.go_to("changelog")
        await app.until(lambda: view.table.total == 1_120)
        assert view.table.cursor == 7


async def test_a_list_that_was_given_up_by_looking_elsewhere_is_read_again() -> None:
    reader = scenes.loaded()
    source = reader.paths["support/index.duckdb"]
    assert isinstance(source, FakeSource)
    async with driven(reader) as app:
        await app.go_to("handbook")
        gate = source.all[0].gate = threading.Event()
        await app.press("2")
        await app.go_to("index.duckdb")
        assert gate.is_set()
        source.all[0].gate = None
        await app.go_to("handbook")
        await app.until(lambda: "8,214 chunks" in app.text and view_of(app).table.total == 8_214)


async def test_a_list_that_cannot_be_read_says_why() -> None:
    namespace = FakeNamespace("broken", lengths_=[1, 2])
    async with driven(FakeReader({"b.duckdb": FakeSource("b.duckdb", (namespace,))})) as app:
        await app.go_to("broken")
        namespace.fails = RuntimeError("the disk is gone [/x]")
        await app.press("2")
        await app.until(lambda: "the disk is gone [/x]" in app.text)


async def test_an_empty_namespace_has_an_empty_list() -> None:
    async with on_chunks(scenes.loaded(), "drafts") as app:
        assert "0 chunks" in app.text
        await app.press("G", "enter", "y", "s", "slash")
        assert app.app.is_running


async def test_the_list_draws_with_seven_bits() -> None:
    async with on_chunks(scenes.loaded(), "handbook", ascii_only=True) as app:
        assert app.text.isascii()
        await app.press("enter")
        await app.until(lambda: view_of(app).chunk.display)
        assert app.text.isascii()
