"""The incoming embedder: what each letter changes, on the namespace that is looked at and on all others."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from tests.tui import scenes
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, driven
from tests.tui.fakes import FakeNamespace, FakeReader, FakeSource
from tests.tui.test_inert import HOSTILE, nothing_raw, reader_of_all
from workbench.checkup.as_json import incoming_as_json
from workbench.checkup.options import CheckOptions
from workbench.core.fingerprint import Fingerprint, parse_incoming
from workbench.index.model import FingerprintCount
from workbench.index.store import Entry, VectorStore
from workbench.sources import check_paths
from workbench.tui import judging
from workbench.tui.app import WorkbenchApp
from workbench.tui.incoming import MAX_TYPED, read_typed
from workbench.tui.reading import FileReader
from workbench.tui.screens.incoming import IncomingScreen, regions
from workbench.tui.screens.main import MainScreen
from workbench.tui.widgets.sources import SourcesTree
from workbench.tui.widgets.verdict import VerdictPage

SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])


def floating(app: Driver) -> IncomingScreen:
    screen = app.app.screen
    assert isinstance(screen, IncomingScreen)
    return screen


def page(app: Driver) -> VerdictPage:
    return floating(app).query_one(VerdictPage)


def banner(app: Driver) -> str:
    return page(app).drawn.lines[0].text


def typed(app: Driver) -> str:
    return floating(app).query_one(Input).value


def row_of(app: Driver, name: str) -> str:
    """Give the row of a namespace in the list of all."""
    drawn = page(app).drawn
    lines = drawn.lines[drawn.effects.top : drawn.effects.top + drawn.effects.rows]
    return next(line.text for line in lines if name in line.text)


async def ask(app: Driver, text: str = "", on: str = "handbook") -> None:
    """Open the screen on a namespace and type."""
    await app.go_to(on)
    await app.press("i")
    await app.until(lambda: isinstance(app.app.screen, IncomingScreen))
    await app.press(*text)


async def write(app: Driver, text: str) -> None:
    """Put another text into the line."""
    floating(app).query_one(Input).value = text
    await app.pilot.pause()


# --- the verdict, letter by letter -----------------------------------------------------------------------------


@SIZES
async def test_each_letter_is_judged_as_far_as_it_goes(size: tuple[int, int]) -> None:
    async with driven(scenes.loaded(), size=size) as app:
        await ask(app)
        assert "nothing typed yet" in banner(app)
        said: list[str] = []
        for letter in "text-embedding-ada-002@1536":
            await app.press(letter)
            said.append(banner(app))
        assert all("the length of its vectors is missing" in each for each in said[:22])
        assert "behind the @ belongs the length" in said[22]
        assert all("✗ refused: other dimensions" in each for each in said[23:26])
        assert "✗ refused: another model" in said[26]
        assert "handbook, 8,214 vectors" in said[26]


COMPARED = (
    ("text-embedding-3-small@1536", "✓ compatible", "= equal", "= equal"),
    ("@1536", "? unverified: only the lengths were compared", "? not compared", "= equal"),
    ("?@1536", "? unverified: only the lengths were compared", "? not compared", "= equal"),
    ("text-embedding-3-large@3072", "✗ refused: other dimensions", "≠ differ", "≠ differ"),
    ("text-embedding-3-small@512", "✗ refused: other dimensions", "= equal", "≠ differ"),
    ("?@3072", "✗ refused: other dimensions", "? not compared", "≠ differ"),
    ("text-embedding-ada-002@1536", "✗ refused: another model", "≠ differ", "= equal"),
    ("3-small@1536", "✗ refused: maybe the same model, spelled otherwise", "≠ spelled otherwise", "= equal"),
)


@SIZES
async def test_both_fingerprints_stand_above_how_each_part_compares(size: tuple[int, int]) -> None:
    async with driven(scenes.loaded(), size=size) as app:
        await ask(app)
        for text, said, models, dims in COMPARED:
            await write(app, text)
            assert said in banner(app)
            lines = [line.text for line in page(app).drawn.lines]
            head = next(place for place, line in enumerate(lines) if "model" in line and line.endswith("dims"))
            indexed, incoming, marks = lines[head + 1 : head + 4]
            assert indexed.split() == ["indexed", "text-embedding-3-small", "1,536"]
            assert incoming.startswith("incoming")
            assert marks.endswith(dims)
            assert indexed.index("text-") == lines[head].index("model") == marks.index(models)
            assert len(lines[head]) == len(indexed) == len(incoming) == len(marks)


async def test_the_verdict_stands_on_every_row_of_the_tree_while_one_types() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app, "text-embedding-3-large@307")
        tree = floating(app).query_one(SourcesTree)
        assert tree.display
        assert "✗ changelog" in app.text
        await write(app, "text-embedding-3-small@1536")
        await app.until(lambda: "✓ changelog" in app.text)
        await write(app, "text-embedding-3-small")
        await app.until(lambda: app.main.session.judging.incoming is None)
        assert [row.tag for row in app.tree.rows if row.name == "changelog"] == [""]


async def test_the_header_names_it_with_its_verdict() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app, "text-embedding-3-large@3072")
        assert app.text.splitlines()[0].rstrip().endswith("incoming text-embedding-3-large@3072  ✗ refused")


@SIZES
async def test_what_it_does_to_every_namespace_worst_first_with_how_many(size: tuple[int, int]) -> None:
    async with driven(scenes.loaded(), size=size) as app:
        await ask(app)
        await write(app, "text-embedding-3-small@1536")
        assert "1 refused · 1 in part · 2 compatible · 1 empty" in page(app).text
        assert row_of(app, "embeddings").split() == ["✗", "embeddings", "not", "named", "384", "4,831", "dimensions"]
        assert row_of(app, "handbook").endswith("compatible")
        assert "text-embedding-3-small ≠" in row_of(app, "legacy-faq")
        assert "no vectors yet" in row_of(app, "drafts")
        drawn = page(app).drawn
        assert "embeddings" in drawn.lines[drawn.effects.top].text


async def test_an_embedder_of_a_part_of_the_vectors_is_not_called_compatible() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app, on="legacy-faq")
        await write(app, "text-embedding-3-small@1536")
        assert banner(app).startswith("! fits only a part of the vectors")
        assert "fits 2,902 of the 4,102 vectors" in " ".join(page(app).text.split())
        assert row_of(app, "legacy-faq").startswith("! legacy-faq")
        assert row_of(app, "legacy-faq").endswith("in part")
        assert app.text.splitlines()[0].rstrip().endswith("! in part")


async def test_a_refusal_names_its_ways_out_in_the_unit_of_the_producer() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app)
        await write(app, "text-embedding-ada-002@1536")
        assert "re-index all of handbook with text-embedding-ada-002@1536" in page(app).text
        assert "point at another namespace" in page(app).text
        await write(app, "3-small@1536")
        assert "name it as the index does, if it is the same: text-embedding-3-small@1536" in page(app).text


async def test_an_unverified_one_says_how_to_be_sure() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app, "@1536")
        assert "type the model before the @" in page(app).text
    async with driven(scenes.loaded()) as app:
        await ask(app, "any@384", on="embeddings")
        assert "find out which model built embeddings" in page(app).text


# --- the same words as check ------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", ["acme-embed", "openai/text-embedding-3-small", None])
async def test_what_is_said_is_what_check_says(tmp_path: Path, stored: str | None) -> None:
    path = tmp_path / "index.duckdb"
    with VectorStore.open(path, read_only=False) as store:
        store.put_many("docs", [Entry("a", "text", [1.0, 0.0, 0.0, 0.0])], embedder_id=stored)
    app = WorkbenchApp([str(path)], FileReader())
    async with app.run_test(size=LARGE_TERMINAL) as pilot:
        driver = Driver(app, pilot)
        await driver.until_read()
        await ask(driver, on="docs")
        for asked in ("acme-embed@4", "acme-embed@3", "other@4", "?@4", "text-embedding-3-small@4"):
            options = CheckOptions(incoming=parse_incoming(asked))
            wanted = check_paths([str(path)], options).sources[0].namespaces[0].incoming
            await write(driver, asked)
            verdict = floating(driver).verdict
            assert wanted is not None
            assert verdict == wanted
            shown = " ".join(page(driver).text.split())
            for sentence in verdict.reason.split(". "):
                assert sentence.rstrip(".")[1:] in shown
                assert sentence.rstrip(".") in wanted.message
            await driver.press("ctrl+y")
            assert app.clipboard == incoming_as_json(wanted)["message"]


# --- keeping and leaving ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [None, scenes.LARGE], ids=["none", "one"])
@pytest.mark.parametrize("leave", ["escape", "click"])
async def test_leaving_puts_back_what_was_incoming_before(before: Fingerprint | None, leave: str) -> None:
    async with driven(scenes.loaded(), incoming=before) as app:
        given = [(row.name, row.state, row.tag) for row in app.tree.rows]
        await ask(app)
        await write(app, "x@1536")
        assert app.main.session.judging.incoming == Fingerprint("x", 1536)
        if leave == "click":
            await app.pilot.click(offset=(119, 30))
        else:
            await app.press("escape")
        await app.until(lambda: app.app.screen is app.main)
        assert app.main.session.judging.incoming == before
        await app.until_read()
        assert [(row.name, row.state, row.tag) for row in app.tree.rows] == given


async def test_enter_keeps_it_and_an_empty_line_is_none() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app, "x@1536")
        await app.press("enter")
        assert app.app.screen is app.main
        assert app.main.session.judging.incoming == Fingerprint("x", 1536)
        await app.press("i")
        assert typed(app) == "x@1536"
        await app.press("backspace", "enter")
        assert app.app.screen is app.main
        assert app.main.session.judging.incoming is None


async def test_opened_anew_it_begins_with_what_is_incoming_and_typing_replaces_it() -> None:
    async with driven(scenes.loaded(), incoming=scenes.LARGE) as app:
        await ask(app)
        assert typed(app) == "text-embedding-3-large@3072"
        assert "✗ refused: other dimensions" in banner(app)
        await app.press("a")
        assert typed(app) == "a"


async def test_another_index_can_be_opened_with_what_is_named_kept() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app, "x@1536")
        await app.press("ctrl+o")
        await app.until(lambda: "Open a file or folder" in app.text)
        assert app.main.session.judging.incoming == Fingerprint("x", 1536)


# --- picking ----------------------------------------------------------------------------------------------------


@SIZES
async def test_arrows_write_known_embedders_and_go_back_to_what_was_typed(size: tuple[int, int]) -> None:
    async with driven(scenes.loaded(), size=size) as app:
        await ask(app, "3-small")
        assert "text-embedding-3-small@1536" in page(app).text
        await app.press("down")
        assert typed(app) == "text-embedding-3-small@1536"
        assert "✓ compatible" in banner(app)
        await app.press("down")
        assert typed(app) == "text-embedding-3-small@512"
        assert "✗ refused: other dimensions" in banner(app)
        await app.press("up", "up")
        assert typed(app) == "3-small"
        await app.press("up")
        assert typed(app) == "3-small"


@pytest.mark.parametrize("key", ["tab", "enter"])
async def test_what_is_not_whole_yet_is_completed_to_the_closest(key: str) -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app, "3-lar")
        await app.press(key)
        assert typed(app) == "text-embedding-3-large@3072"
        assert floating(app).query_one(Input).has_focus
        await app.press("enter")
        assert app.main.session.judging.incoming == scenes.LARGE


async def test_of_equally_close_ones_the_compatible_comes_first_and_each_has_its_verdict() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app)
        drawn = page(app).drawn
        first = drawn.lines[drawn.offers.top].text
        assert first.startswith("✓ text-embedding-3-small@1536")
        assert "24,500 chars" in first
        assert first.endswith("compatible")
        await app.press("escape")
        await ask(app, on="embeddings")
        drawn = page(app).drawn
        assert drawn.lines[drawn.offers.top].text.startswith("? onnx:all-MiniLM-L6-v2:int8@384")


async def test_an_embedder_that_only_an_open_index_names_is_offered() -> None:
    namespace = FakeNamespace("ns", recorded=Fingerprint("acme", 4), counts=(FingerprintCount("acme@4", 2),))
    async with driven(FakeReader({"x.duckdb": FakeSource("x.duckdb", (namespace,))})) as app:
        await ask(app, "acm", on="ns")
        await app.press("tab")
        assert typed(app) == "acme@4"
        assert "✓ compatible" in banner(app)


async def test_what_nobody_knows_is_judged_all_the_same() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app, "qqqqzzzz@1536")
        assert "none of" in page(app).text
        assert "✗ refused: another model" in banner(app)
        await app.press("down", "tab")
        assert typed(app) == "qqqqzzzz@1536"


async def test_the_list_follows_the_cursor_to_its_end() -> None:
    async with driven(scenes.loaded(), size=SMALL_TERMINAL) as app:
        await ask(app)
        for _ in range(40):
            await app.press("down")
            drawn = page(app).drawn
            rows = drawn.lines[drawn.offers.top : drawn.offers.top + drawn.offers.rows]
            assert any(typed(app) in row.text or typed(app)[-9:] in row.text for row in rows)


# --- the mouse --------------------------------------------------------------------------------------------------


@SIZES
async def test_a_click_picks_an_embedder_or_another_namespace(size: tuple[int, int]) -> None:
    async with driven(scenes.loaded(), size=size) as app:
        await ask(app, "3-small")
        await app.pilot.click(VerdictPage, offset=(10, page(app).drawn.offers.top))
        assert typed(app) == "text-embedding-3-small@1536"
        assert floating(app).query_one(Input).has_focus
        await write(app, "text-embedding-ada-002@1536")
        drawn = page(app).drawn
        place = next(place for place, line in enumerate(drawn.lines) if "changelog" in line.text)
        await app.pilot.click(VerdictPage, offset=(10, place))
        assert "changelog, 1,120 vectors" in banner(app)
        assert app.text.splitlines()[0].split("incoming")[0].rstrip().endswith("changelog")


async def test_a_namespace_is_picked_in_the_sources_beside_it() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app, "@384")
        tree = floating(app).query_one(SourcesTree)
        place = next(place for place, row in enumerate(tree.rows) if row.name == "embeddings")
        await app.pilot.click(tree, offset=(8, place))
        assert "embeddings, 4,831 vectors" in banner(app)
        assert floating(app).query_one(Input).has_focus


async def test_wheel_and_page_keys_turn_the_lists() -> None:
    async with driven(_many(2, 20), size=LARGE_TERMINAL) as app:
        await ask(app, "x@1536", on="ns-0-0")
        assert "ns-0-0 " in page(app).text
        await app.press("pagedown")
        assert page(app).drawn.effects.first > 0
        await app.press("pageup")
        assert page(app).drawn.effects.first == 0
        drawn = page(app).drawn
        await app.pilot._post_mouse_events(
            [events.MouseScrollDown], VerdictPage, offset=(10, drawn.effects.top + 1), button=0
        )
        await app.pilot.pause()
        assert page(app).drawn.effects.first > 0
        assert page(app).drawn.offers.first == 0


async def test_the_next_namespace_is_looked_at_and_after_the_last_the_first() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app, "@384")
        seen = []
        for _ in range(5):
            await app.press("ctrl+n")
            seen.append(banner(app).split("  ")[-1])
        assert len(set(seen)) == 5
        await app.press("ctrl+n")
        assert banner(app).split("  ")[-1] == seen[0]


# --- many, slow, hostile ----------------------------------------------------------------------------------------


def _many(sources: int, each: int) -> FakeReader:
    def source(s: int) -> FakeSource:
        return FakeSource(
            f"{s}.duckdb",
            tuple(
                FakeNamespace(
                    f"ns-{s}-{n}",
                    recorded=Fingerprint("acme", 1536),
                    declared_dims=1536,
                    counts=(FingerprintCount("acme@1536", 2),),
                )
                for n in range(each)
            ),
        )

    return FakeReader({f"{s}.duckdb": source(s) for s in range(sources)})


async def test_many_namespaces_are_judged_in_turns_the_one_that_is_looked_at_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judging, "TURN_SECONDS", 0.0)
    async with driven(_many(2, 30)) as app:
        await ask(app, on="ns-1-7")
        floating(app)._hold("other@1536")
        assert "refused: another model" in banner(app)
        assert "60 refused" not in page(app).text
        await app.until(lambda: "60 refused" in page(app).text)
        await write(app, "other@15")
        await write(app, "acme@1536")
        await app.until(lambda: "60 compatible" in page(app).text)
        await app.press("escape")
        await app.until(lambda: all(row.tag == "" for row in app.tree.rows))


async def test_what_is_read_meanwhile_joins_in() -> None:
    gate = threading.Event()
    async with driven(scenes.loading(gate), read=False) as app:
        await app.until(lambda: any("%" in row.tag for row in app.tree.rows))
        await ask(app, "x@1536")
        assert "being read" in page(app).text
        gate.set()
        await app.until(lambda: "3 refused · 1 empty" in page(app).text)


async def test_with_nothing_read_it_says_so() -> None:
    async with driven(FakeReader({"a.duckdb": scenes.locked()})) as app:
        await ask(app, "x@1536", on="a.duckdb")
        assert "nothing has been read yet to hold it against" in banner(app)
        await app.press("ctrl+n", "pagedown", "ctrl+y", "down", "enter")
        assert app.app.is_running


@SIZES
async def test_a_hostile_paste_is_bounded_and_inert(size: tuple[int, int]) -> None:
    async with driven(scenes.loaded(), size=size) as app:
        await ask(app)
        field = floating(app).query_one(Input)
        for text in (*HOSTILE, "a" * 1_000_000, "\x1b[31m" * 100_000, "@" * 5_000 + "9" * 5_000):
            field.post_message(events.Paste(text))
            await app.pilot.pause()
            assert len(field.value) <= MAX_TYPED
            nothing_raw(app)
            field.value = ""
        assert app.app.is_running


@SIZES
async def test_hostile_names_in_files_are_inert_here_and_never_offered(size: tuple[int, int]) -> None:
    async with driven(reader_of_all(), size=size) as app:
        await app.press("j", "i")
        for text in ("", "x@4", "x@5", "@4"):
            await write(app, text)
            for _ in range(4):
                await app.press("pagedown", "ctrl+n")
                nothing_raw(app)
        await write(app, "")
        await app.press("down")
        assert not any("\x1b" in offer.choice.text for offer in floating(app)._offers)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a@b@3", Fingerprint("a@b", 3)),
        (" a@3 ", Fingerprint("a", 3)),
        ("@3", Fingerprint(None, 3)),
        ("?@3", Fingerprint(None, 3)),
        ("@cf/baai/bge@384", Fingerprint("@cf/baai/bge", 384)),
        ("@cf/baai/bge", None),
        ("a@0", None),
        ("a@3.5", None),
        ("a@-3", None),
        ("a@٣", None),
        ("a", None),
        ("", None),
    ],
)
def test_a_text_names_an_embedder_or_says_what_is_missing(text: str, named: Fingerprint | None) -> None:
    read = read_typed(text)
    assert read.fingerprint == named
    assert (read.missing == "") == (named is not None)


@pytest.mark.parametrize("width", [40, 80, 87, 88, 100, 119, 120, 160, 200])
@pytest.mark.parametrize("height", [10, 24, 29, 30, 40, 60])
def test_the_frame_fits_between_header_and_footer_and_beside_the_sources(width: int, height: int) -> None:
    box, sources = regions(width, height)
    assert box.x >= 0
    assert box.right <= width
    assert box.y >= 1
    assert box.bottom <= height - 1
    assert sources is None or sources.right < box.x


async def test_it_follows_the_terminal_when_that_is_resized() -> None:
    async with driven(scenes.loaded()) as app:
        await ask(app, "x@1536")
        for size in ((80, 24), (100, 30), (60, 20), (120, 40)):
            await app.pilot.resize_terminal(*size)
            await app.until(lambda: "refused: another model" in app.text)
            await asyncio.sleep(0)
        assert isinstance(app.main, MainScreen)
