"""The tree: what stands on each row, in which order, and how one moves through it."""

from __future__ import annotations

from tests.tui import scenes
from tests.tui.driving import SMALL_TERMINAL, driven
from tests.tui.fakes import FakeNamespace, FakeReader, FakeSource
from workbench.index.model import Problem, SourceError
from workbench.tui.session import FOLDER_CAP


async def test_every_row_says_what_is_worst_about_it() -> None:
    async with driven(scenes.loaded()) as app:
        assert "locked" in app.tree_row("archive.duckdb")
        assert "≠ mixed" in app.tree_row("legacy-faq")
        assert "8,214 ✂ 456" in app.tree_row("handbook")
        assert "✓ changelog" in app.text
        assert "0 empty" in app.tree_row("drafts")
        assert "2 NaN" in app.tree_row("embeddings")


async def test_the_incoming_verdict_stands_on_every_namespace() -> None:
    async with driven(scenes.loaded(), incoming=scenes.LARGE) as app:
        assert "✗ changelog" in app.text
        assert "dims" in app.tree_row("changelog")
        assert "✗ handbook" in app.text


async def test_a_source_that_cannot_be_read_leaves_the_others_open() -> None:
    async with driven(scenes.loaded()) as app:
        assert app.source("archive.duckdb").trouble is not None
        assert [space.name for space in app.source("index.duckdb").spaces][:2] == ["handbook", "legacy-faq"]
        assert "2 of 3 sources open" in app.text


async def test_s_puts_the_worst_first_and_back() -> None:
    async with driven(scenes.loaded()) as app:
        given = [row.name for row in app.tree.rows]
        await app.press("s")
        names = (
            "index.duckdb",
            "legacy-faq",
            "handbook",
            "changelog",
            "drafts",
            "archive.duckdb",
            "tickets.db",
            "embeddings",
        )
        assert tuple(row.name for row in app.tree.rows) == names
        assert "worst first" in app.text
        await app.press("s")
        assert [row.name for row in app.tree.rows] == given


async def test_the_cursor_stays_on_its_namespace_when_the_order_changes() -> None:
    async with driven(scenes.loaded()) as app:
        await app.go_to("changelog")
        await app.press("s")
        assert app.tree.rows[app.tree.cursor].name == "changelog"


async def test_vim_motions_and_arrows_move_alike() -> None:
    async with driven(scenes.loaded()) as app:
        await app.press("j", "down", "k")
        assert app.tree.cursor == 1
        await app.press("G")
        assert app.tree.cursor == len(app.tree.rows) - 1
        await app.press("g")
        assert app.tree.cursor == 0


async def test_left_closes_a_source_and_right_opens_it() -> None:
    async with driven(scenes.loaded()) as app:
        await app.go_to("changelog")
        await app.press("h")
        assert app.tree.rows[app.tree.cursor].name == "index.duckdb"
        await app.press("h")
        assert "handbook" not in [row.name for row in app.tree.rows]
        assert "▸" in app.tree_row("index.duckdb")
        assert "≠ mixed" in app.tree_row("index.duckdb")
        await app.press("l")
        assert "handbook" in [row.name for row in app.tree.rows]


async def test_a_click_moves_the_cursor_and_a_second_one_opens() -> None:
    async with driven(scenes.loaded()) as app:
        place = next(place for place, row in enumerate(app.tree.rows) if row.name == "handbook")
        await app.pilot.click(app.tree, offset=(8, place))
        assert app.tree.rows[app.tree.cursor].name == "handbook"
        await app.pilot.click(app.tree, offset=(8, place))
        await app.until(lambda: app.detail.has_focus)


async def test_a_folder_lists_its_sources_closed_and_counts_the_rest() -> None:
    inside = {f"all/{name}.duckdb": FakeSource(name, (FakeNamespace(name),)) for name in ("one", "two")}
    reader = FakeReader({**inside, "all": tuple(inside)}, skipped=3)
    async with driven(reader, paths=("all",)) as app:
        assert [row.name for row in app.tree.rows] == ["all/", "one.duckdb", "two.duckdb"]
        assert "2 files" in app.tree_row("all/")
        assert "3 files are no source and left out." in app.text


async def test_a_large_folder_opens_a_part_and_says_how_much_is_left() -> None:
    names = [f"all/{place:04}.duckdb" for place in range(FOLDER_CAP + 30)]
    reader = FakeReader({**{name: FakeSource(name, (FakeNamespace("ns"),)) for name in names}, "all": tuple(names)})
    async with driven(reader, paths=("all",)) as app:
        assert len(app.sources) == FOLDER_CAP
        assert app.tree.rows[-1].name == "… 30 more"
        await app.press("G", "enter")
        await app.until_read()
        assert len(app.sources) == FOLDER_CAP + 30


async def test_what_is_under_the_cursor_stays_in_view_when_the_order_changes() -> None:
    names = [f"{place:04}.duckdb" for place in range(60)]
    held = {name: FakeSource(name, (FakeNamespace("ns"),)) for name in names}
    locked = SourceError(Problem.LOCKED, "last.duckdb is locked")
    reader = FakeReader({**held, "last.duckdb": locked})
    async with driven(reader, paths=(*names, "last.duckdb")) as app:
        await app.until_read()
        await app.press("G")
        assert app.tree.scroll_offset.y > 0
        for there in ("first", "back at the end"):
            await app.press("s")
            await app.until(lambda: app.tree.scroll_offset.y <= app.tree.cursor)
            row = app.tree.cursor - app.tree.scroll_offset.y
            assert (app.tree.rows[app.tree.cursor].name, 0 <= row < app.tree.size.height) == ("last.duckdb", True), (
                there
            )


async def test_a_folder_with_nothing_in_it_says_so() -> None:
    async with driven(FakeReader({"all": ()}), paths=("all",)) as app:
        assert "Nothing in this folder can be opened" in app.text


async def test_the_cursor_starts_at_the_namespace_that_was_asked_for() -> None:
    async with driven(scenes.loaded(), namespace="changelog") as app:
        assert app.tree.rows[app.tree.cursor].name == "changelog"


async def test_a_narrow_terminal_shows_one_pane_with_the_focus() -> None:
    async with driven(scenes.loaded(), size=SMALL_TERMINAL) as app:
        await app.go_to("handbook")
        assert app.detail.size.width == 80 - 27
        await app.press("enter")
        assert app.detail.size.width == 80
        await app.press("escape")
        assert app.detail.size.width == 80 - 27
        assert app.tree.has_focus


async def test_names_are_aligned_by_the_cells_they_take() -> None:
    names = ("日本語のマニュアル", "emoji 👩‍🔬 lab", "café au lait")
    source = FakeSource("x.duckdb", tuple(FakeNamespace(name) for name in names))
    async with driven(FakeReader({"x.duckdb": source})) as app:
        from rich.cells import cell_len

        rows = app.text.splitlines()
        ends = {cell_len(row[: row.index("unnamed")]) for row in rows if " 2 unnamed" in row}
        assert ends == {24}


async def test_everything_that_floats_is_plain_ascii_where_that_was_asked_for() -> None:
    async with driven(scenes.loaded(), size=SMALL_TERMINAL, ascii_only=True) as app:
        await app.go_to("handbook")
        await app.press("2")
        for key, title in (("question_mark", "Keys"), ("i", "Incoming"), ("y", "Copy"), ("ctrl+p", "an action")):
            await app.press(key)
            await app.until(lambda title=title: title in app.text)  # type: ignore[misc]
            assert app.text.isascii(), [character for character in app.text if not character.isascii()]
            await app.press("escape")
            await app.until(lambda: len(app.app.screen_stack) == 1)
