"""The frame of the views: the tabs, which view is looked at for which namespace, and finding in the sources."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import pytest

from tests.tui import scenes
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, driven
from tests.tui.fakes import FakeReader, FakeSource
from workbench.index.model import IndexSource
from workbench.tui.widgets.bars import FooterBar, HeaderBar
from workbench.tui.widgets.pane import DetailPane, TabStrip, place_tabs
from workbench.tui.widgets.sources import Heading


@dataclass
class SlowToOpen(FakeReader):
    """Opens nothing before it may."""

    may_open: threading.Event = field(default_factory=threading.Event)

    def open(self, path: str) -> IndexSource:
        self.may_open.wait(10)
        return super().open(path)


def one(name: str) -> FakeSource:
    """Give a source of one namespace."""
    return FakeSource(f"/data/{name}.duckdb", (replace(scenes.handbook(), name=name),))


@pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL])
async def test_digits_and_clicks_choose_the_view(size: tuple[int, int]) -> None:
    async with driven(scenes.loaded(), size=size) as app:
        await app.go_to("handbook")
        pane = app.main.query_one(DetailPane)
        for key, title in (("2", "Chunks"), ("3", "Ceiling"), ("4", "Vectors"), ("1", "Overview")):
            await app.press(key)
            assert pane.title == title
            assert pane.view.has_focus_within
        strip = app.main.query_one(TabStrip)
        titles = next(y for y, row in enumerate(strip.text.splitlines()) if "Overview" in row)
        x = strip.text.splitlines()[titles].index("Vectors")
        await app.pilot.click(TabStrip, offset=(x, titles))
        await app.pilot.pause()
        assert pane.title == "Vectors"


async def test_a_digit_pressed_before_the_source_is_open_is_not_lost() -> None:
    reader = SlowToOpen({"/data/one.duckdb": one("one")})
    async with driven(reader, read=False) as app:
        await app.until(lambda: bool(app.tree.rows))
        await app.press("2")
        reader.may_open.set()
        await app.until_read()
        pane = app.main.query_one(DetailPane)
        assert pane.title == "Chunks"
        assert pane.view.has_focus_within


async def test_a_digit_is_forgotten_when_the_cursor_goes_on() -> None:
    paths = {f"/data/{name}.duckdb": one(name) for name in ("one", "two")}
    reader = SlowToOpen(paths)
    async with driven(reader, read=False) as app:
        await app.until(lambda: len(app.tree.rows) == 2)
        await app.press("2", "j")
        reader.may_open.set()
        await app.until_read()
        assert app.tree.has_focus
        assert app.main.query_one(DetailPane).title == ""


async def test_a_digit_on_a_source_shows_its_only_namespace_and_asks_where_there_are_many() -> None:
    async with driven(scenes.loaded()) as app:
        many = next(source for source in app.sources if len(source.spaces) > 1)
        await app.go_to(many.label)
        await app.press("2")
        assert app.main.query_one(DetailPane).title == ""
        assert f"{len(many.spaces)} namespaces: go to one of them first" in app.text


@pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL])
async def test_every_key_in_the_footer_can_be_clicked(size: tuple[int, int]) -> None:
    async with driven(scenes.loaded(), size=size) as app:

        async def click(offer: str) -> None:
            await app.pilot.click(FooterBar, offset=(app.text.splitlines()[-1].index(offer) + len(offer) - 1, 0))
            await app.pilot.pause()

        await app.go_to("handbook")
        await click("enter open")
        assert not app.tree.has_focus
        await click("esc sources")
        assert app.tree.has_focus
        await click("? help")
        assert len(app.app.screen_stack) == 2
        await app.press("escape")
        await click("i incoming")
        await app.press(*"m@3")
        await click("enter keep")
        assert len(app.app.screen_stack) == 1
        assert app.main.session.judging.incoming is not None


async def test_the_footer_offers_esc_once_and_for_what_it_does() -> None:
    gate = threading.Event()
    async with driven(scenes.loading(gate), read=False) as app:
        await app.until(lambda: any("handbook" in row.name for row in app.tree.rows))
        await app.go_to("handbook")
        assert "esc cancel" in app.text.splitlines()[-1]
        await app.press("2")
        footer = app.text.splitlines()[-1]
        assert "esc sources" in footer
        assert footer.count("esc ") == 1
        gate.set()
        await app.until_read()


async def test_a_click_on_the_header_leads_back_to_the_sources() -> None:
    async with driven(scenes.loaded(), size=SMALL_TERMINAL) as app:
        await app.go_to("handbook")
        await app.press("3")
        assert "esc sources" not in app.text
        await app.pilot.click(HeaderBar)
        await app.pilot.pause()
        assert app.tree.has_focus
        await app.pilot.click(HeaderBar)
        await app.pilot.pause()
        assert app.tree.has_focus


async def test_a_click_between_the_keys_of_the_footer_presses_none() -> None:
    async with driven(scenes.loaded()) as app:
        await app.go_to("handbook")
        footer = app.text.splitlines()[-1]
        for x in (0, footer.index("enter open") - 1, footer.index("i incoming") - 2, len(footer) - 1):
            await app.pilot.click(FooterBar, offset=(x, 0))
            await app.pilot.pause()
            assert app.tree.has_focus
            assert len(app.app.screen_stack) == 1


async def test_the_heavy_rule_stands_under_the_active_tab_alone() -> None:
    async with driven(scenes.loaded()) as app:
        await app.go_to("handbook")
        await app.press("3")
        *_, titles, rule = app.main.query_one(TabStrip).text.splitlines()
        start, end = titles.index("3 Ceiling"), titles.index("✂ 456") + len("✂ 456")
        assert rule[start:end] == "━" * (end - start)
        assert rule.count("━") == end - start


async def test_narrow_tabs_lose_digits_and_never_a_title() -> None:
    async with driven(scenes.loaded(), size=SMALL_TERMINAL) as app:
        await app.go_to("handbook")
        strip = app.main.query_one(TabStrip)
        assert strip.subject is not None
        signs = app.main._signs
        for width in range(30, 100):
            placed = place_tabs(strip.subject, "ceiling", width, signs)
            titles = [each.line.text.strip("12345 ")[:7] for each in placed]
            assert titles == ["Overvie", "Chunks", "Ceiling", "Vectors", "Probe"]
        assert placed[2].line.text == "3 Ceiling ✂ 456"


async def test_the_view_is_remembered_for_each_namespace() -> None:
    async with driven(scenes.loaded()) as app:
        pane = app.main.query_one(DetailPane)
        await app.go_to("handbook")
        await app.press("3")
        await app.go_to("legacy-faq")
        assert pane.title == "Overview"
        await app.press("4")
        await app.go_to("handbook")
        assert pane.title == "Ceiling"
        await app.go_to("index.duckdb")
        assert pane.title == ""
        assert not app.main.query_one(TabStrip).display


async def test_enter_on_a_concern_goes_where_its_key_goes() -> None:
    async with driven(scenes.loaded()) as app:
        await app.go_to("handbook")
        await app.press("enter")
        assert app.row("Ceiling  ").rstrip().endswith("3")
        await app.press("enter")
        assert app.main.query_one(DetailPane).title == "Ceiling"
        await app.press("1", "j", "enter")
        assert app.main.query_one(DetailPane).title == "Chunks"


async def test_the_actions_of_a_view_are_offered_only_where_it_has_the_focus() -> None:
    async with driven(scenes.loaded()) as app:
        await app.go_to("handbook")
        await app.press("2")
        assert "/ filter" in app.text
        assert "s sort" in app.text
        await app.press("question_mark")
        assert "only chunks with these words" in app.text
        await app.press("escape", "tab")
        assert "/ filter" not in app.text
        assert "/ find" in app.text


async def test_quitting_gives_up_what_a_view_reads() -> None:
    reader = scenes.loaded()
    source = reader.paths["support/index.duckdb"]
    async with driven(reader) as app:
        await app.go_to("handbook")
        namespace = source.all[0]  # type: ignore[union-attr]
        namespace.gate = threading.Event()
        namespace.started.clear()
        await app.press("2")
        await app.until(namespace.started.is_set)
        await app.press("q")
    assert namespace.gate.is_set()


async def test_a_name_is_found_in_the_tree_and_n_goes_through_the_matches() -> None:
    async with driven(scenes.loaded()) as app:
        await app.press("slash", *"CHi")
        assert [row.name for row in app.tree.rows] == ["archive.duckdb"]
        await app.press("backspace")
        assert [row.name for row in app.tree.rows] == ["index.duckdb", "changelog", "archive.duckdb"]
        await app.press("enter")
        assert app.tree.has_focus
        assert app.main.query_one(Heading).fact == "/CH"
        names = [app.tree.rows[app.tree.cursor].name]
        for key in ("n", "n", "N", "N"):
            await app.press(key)
            names.append(app.tree.rows[app.tree.cursor].name)
        assert names == ["archive.duckdb", "changelog", "archive.duckdb", "changelog", "archive.duckdb"]
        await app.press("escape")
        assert len(app.tree.rows) > 6


async def test_a_name_in_a_closed_folder_is_found() -> None:
    reader = scenes.loaded()
    reader.paths = {"support": tuple(reader.paths), **reader.paths}
    async with driven(reader, paths=("support",)) as app:
        await app.press("left")
        assert len(app.tree.rows) == 1
        await app.press("slash", *"drafts", "enter")
        assert [row.name for row in app.tree.rows] == ["support/", "index.duckdb", "drafts"]
        await app.press("escape")
        assert len(app.tree.rows) == 1


async def test_esc_while_finding_shows_all_sources_again() -> None:
    async with driven(scenes.loaded()) as app:
        before = len(app.tree.rows)
        await app.press("slash", *"legacy")
        assert [row.name for row in app.tree.rows] == ["index.duckdb", "legacy-faq"]
        assert app.tree.rows[app.tree.cursor].name == "legacy-faq"
        await app.press("escape")
        assert len(app.tree.rows) == before
        assert app.tree.rows[app.tree.cursor].name == "legacy-faq"


async def test_nothing_found_is_an_empty_tree_and_no_crash() -> None:
    async with driven(scenes.loaded()) as app:
        await app.press("slash", *"[/x]")
        assert app.tree.rows == []
        await app.press("enter", "n", "enter", "j", "tab", "tab", "y")
        assert app.app.is_running
