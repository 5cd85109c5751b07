"""The Ceiling view at work: moved by keys and mouse, answered at once, chunks opened at their cut."""

from __future__ import annotations

import threading

import pytest

from tests.tui import clipped_scene, scenes
from tests.tui.clipped_scene import Written, only, text_of
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, Driver, driven
from tests.tui.fakes import FakeNamespace
from workbench.core.ceiling import ChunkCeiling
from workbench.core.fingerprint import Fingerprint
from workbench.core.text import utf16_split
from workbench.index.model import FingerprintCount
from workbench.tui.clipping import clipping_of
from workbench.tui.draw import Ground, Tone
from workbench.tui.pages.ceiling import OpenedText, Room, Standing, ceiling_page
from workbench.tui.pages.parts import Frame
from workbench.tui.signs import UNICODE
from workbench.tui.views.ceiling import Ceiling, ceiling_of_typed
from workbench.tui.widgets.clipped import ClippedCanvas


async def opened(driver: Driver, name: str = "handbook") -> ClippedCanvas:
    """Go to the view of a namespace and wait until the chunk under the cursor is there."""
    await driver.go_to(name)
    await driver.press("3")
    await driver.until(lambda: bool(driver.main.query(ClippedCanvas)))
    canvas = driver.main.query_one(ClippedCanvas)
    await driver.until(lambda: bool(canvas.text) and "Reading" not in canvas.text)
    return canvas


def view(driver: Driver) -> Ceiling:
    return driver.main.query_one(Ceiling)


class TestVerdict:
    """What stands on top."""

    async def test_how_many_are_longer_how_much_was_lost_and_whose_number_it_is(self) -> None:
        namespace = clipped_scene.handbook()
        async with driven(only(namespace)) as driver:
            canvas = await opened(driver)
            first, second = [line for line in canvas.text.splitlines() if line][:2]
            lengths = namespace.lengths()
            assert lengths is not None
            answer = lengths.clip(2_000)
            assert first.startswith(f"{answer.count} of 8,214 chunks are longer")
            assert f"{answer.lost_chars:,} characters" in first
            assert first.endswith("were never read")
            assert second.startswith("ceiling - 2,000 + chars · default, the embedder declares none")
            assert second.endswith("94.4 % fit")

    @pytest.mark.parametrize(
        ("recorded", "explicit", "source"),
        [(1_500, None, "embedder, recorded"), (None, 1_800, "explicit, as given"), (None, None, "default, ")],
    )
    async def test_where_the_number_came_from_always(
        self, recorded: int | None, explicit: int | None, source: str
    ) -> None:
        reader = only(clipped_scene.handbook(max_input_chars=recorded))
        reader.explicit_ceiling = explicit
        async with driven(reader, size=SMALL_TERMINAL) as driver:
            canvas = await opened(driver)
            assert f"ceiling - {recorded or explicit or 2_000:,} + chars · {source}" in canvas.text

    async def test_certainly_possibly_and_not_clipped_are_told_apart(self) -> None:
        namespace = clipped_scene.handbook(
            recorded=Fingerprint("text-embedding-3-small", 1536),
            counts=(FingerprintCount(scenes.SMALL, 8_214),),
            max_input_chars=2_000,
            over={f"chunk-{place}": True for place in (1, 2, 3)},
        )
        async with driven(only(namespace)) as driver:
            canvas = await opened(driver)
            assert namespace.limits[-1] == 8_191
            line = next(line for line in canvas.text.splitlines() if "possibly" in line)
            assert "456 certainly clipped" in line
            assert "3 possibly, over 8,191 bytes" in line
            assert "7,755 not clipped" in line
            assert "╍ possibly" in canvas.text

    async def test_nothing_clipped_but_not_certain_is_no_tick(self) -> None:
        namespace = clipped_scene.handbook(
            recorded=Fingerprint("text-embedding-3-small", 1536),
            counts=(FingerprintCount(scenes.SMALL, 2),),
            lengths_=[900, 1_000],
            written={},
            over={"chunk-1": True},
        )
        async with driven(only(namespace)) as driver:
            canvas = await opened(driver)
            assert "? none of 2 chunks is longer than the ceiling" in canvas.text
            assert "✓ every" not in canvas.text


class TestMoving:
    """The ceiling follows keys and mouse."""

    async def test_a_key_moves_it_and_everything_is_answered_anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("workbench.tui.views.ceiling.perf_counter", iter([1.0, 1.004] * 9).__next__)
        namespace = clipped_scene.handbook()
        async with driven(only(namespace)) as driver:
            canvas = await opened(driver)
            await driver.press("plus")
            lengths = namespace.lengths()
            assert lengths is not None
            answer = lengths.clip(2_100)
            assert f"{answer.count} of 8,214 chunks would be longer" in canvas.text
            assert f"{answer.lost_chars:,} char" in canvas.text
            assert "what-if, only here   0 back to 2,000 default" in canvas.text
            assert "7,420   5,320" in canvas.text
            assert "re-answered in 4 ms" in driver.text.splitlines()[-1]
            await driver.press("underscore")
            assert "ceiling - 2,090 +" in canvas.text
            await driver.press("equals_sign", "equals_sign", "minus")
            assert "ceiling - 2,100 +" in canvas.text
            await driver.press("0")
            assert "2,000 + chars · default" in canvas.text
            assert "what-if" not in canvas.text

    async def test_a_what_if_stays_in_this_view(self) -> None:
        async with driven(only(clipped_scene.handbook())) as driver:
            canvas = await opened(driver)
            await driver.press("plus", "plus", "1")
            assert "456 longer than 2,000" in driver.text
            assert "✂ 456" in driver.tree_row("handbook")
            await driver.press("3")
            assert "ceiling - 2,200 +" in canvas.text

    async def test_typed_exactly_it_is_answered_while_typing_and_kept_or_not(self) -> None:
        async with driven(only(clipped_scene.handbook())) as driver:
            canvas = await opened(driver)
            await driver.press("e", *"7419")
            assert "1 of 8,214 chunks would be longer" in canvas.text
            await driver.press("enter")
            assert "ceiling - 7,419 +" in canvas.text
            await driver.press("e", "5", "escape")
            assert "ceiling - 7,419 +" in canvas.text
            await driver.press("e", "x", "enter")
            assert "ceiling - 7,419 +" in canvas.text
            assert "a ceiling is a whole number" in driver.text

    async def test_the_mouse_drags_the_line(self) -> None:
        async with driven(only(clipped_scene.handbook())) as driver:
            canvas = await opened(driver)
            scale = canvas.drawn.scale
            assert scale is not None
            row = canvas.drawn.chart.start + 2
            at = (2 + canvas.drawn.plot_at + 30, row)
            await driver.pilot.mouse_down(canvas, offset=at)
            there = round(scale.length_at(30) / scale.step) * scale.step
            assert f"ceiling - {there:,} +" in canvas.text
            await driver.pilot.hover(canvas, offset=(at[0] + 4, row))
            moved = round(scale.length_at(34) / scale.step) * scale.step
            assert f"ceiling - {moved:,} +" in canvas.text
            await driver.pilot.mouse_up(canvas, offset=(at[0] + 4, row))
            await driver.pilot.hover(canvas, offset=at)
            assert f"ceiling - {moved:,} +" in canvas.text

    async def test_a_click_beside_the_columns_leaves_the_ceiling_alone(self) -> None:
        async with driven(only(clipped_scene.handbook())) as driver:
            canvas = await opened(driver)
            assert canvas.drawn.scale is not None
            row, start = canvas.drawn.chart.start + 2, 2 + canvas.drawn.plot_at
            for x in (3, start - 1, start + canvas.drawn.scale.cells, canvas.size.width - 4):
                await driver.pilot.click(canvas, offset=(x, row))
                assert "ceiling - 2,000 + chars" in canvas.text
                assert "what-if" not in canvas.text

    async def test_keys_on_the_page_can_be_clicked(self) -> None:
        async with driven(only(clipped_scene.handbook())) as driver:
            canvas = await opened(driver)
            row = next(place for place, line in enumerate(canvas.text.splitlines()) if line.startswith("ceiling - "))
            line = canvas.text.splitlines()[row]
            await driver.pilot.click(canvas, offset=(2 + line.index("+"), row))
            assert "ceiling - 2,100 +" in canvas.text
            await driver.pilot.click(canvas, offset=(2 + line.index("-"), row))
            assert "ceiling - 2,000 +" in canvas.text

    async def test_a_ceiling_beyond_the_longest_clips_nothing_and_one_of_1_almost_all(self) -> None:
        async with driven(only(clipped_scene.handbook())) as driver:
            canvas = await opened(driver)
            await driver.press("e", *"900000", "enter")
            assert "✓ every chunk would be read to its end" in canvas.text
            assert "beyond the right edge" in canvas.text
            assert "all fit" in canvas.text
            await driver.press("e", "1", "enter")
            assert "8,214 of 8,214 chunks would be longer" in canvas.text or "8,213 of 8,214" in canvas.text
            await driver.press("G")
            assert "7,214 more not listed" in canvas.text or "7,213 more not listed" in canvas.text

    def test_what_is_typed_is_a_whole_number_from_1(self) -> None:
        assert [ceiling_of_typed(each) for each in ("2,500", " 2500 ", "2_500", "1")] == [2_500, 2_500, 2_500, 1]
        for wrong in ("", "0", "-5", "2.5", "1e3", "٣", "²", "9" * 40):
            assert ceiling_of_typed(wrong) is None


class TestOpenedChunk:
    """The chunk under the cursor, at its cut."""

    @pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL])
    async def test_the_cut_stands_where_reading_stopped(self, size: tuple[int, int]) -> None:
        async with driven(only(clipped_scene.handbook()), size=size) as driver:
            canvas = await opened(driver)
            await driver.until(lambda: "stopped reading here" in canvas.text)
            lines = canvas.text.splitlines()
            at = next(place for place, line in enumerate(lines) if "stopped reading here" in line)
            read, lost = utf16_split(text_of(7_420), 2_000)
            assert read.endswith(lines[at - 1].split("▎ ")[1].strip())
            assert lost.startswith(lines[at + 1].split("╎ ")[1].strip())

    async def test_it_follows_the_cursor_and_late_answers_are_dropped(self) -> None:
        namespace = clipped_scene.handbook(closed=threading.Event())
        gate = namespace.closed
        assert gate is not None
        async with driven(only(namespace)) as driver:
            canvas = await opened(driver)
            await driver.until(lambda: namespace.asked == ["guide/refunds.md#4"])
            assert "reading the text …" in canvas.text
            await driver.press("j")
            await driver.until(lambda: len(namespace.asked) == 2)
            gate.set()
            await driver.until(lambda: "stopped reading here" in canvas.text)
            assert "guide/customs.md#11 ───" in canvas.text
            await driver.press("k")
            await driver.until(lambda: len(namespace.asked) == 3)
            await driver.until(lambda: "stopped reading here" in canvas.text)
            await driver.press("j")
            assert "stopped reading here" in canvas.text
            assert len(namespace.asked) == 3

    async def test_enter_gives_it_the_whole_view_and_the_keys_scroll_it_to_both_ends(self) -> None:
        async with driven(only(clipped_scene.handbook()), size=SMALL_TERMINAL) as driver:
            canvas = await opened(driver)
            await driver.until(lambda: "stopped reading here" in canvas.text)
            await driver.press("enter")
            assert "Clipped" not in canvas.text
            assert "stopped reading here" in canvas.text
            await driver.press("g")
            assert "    0  ▎ Orders can be returned" in canvas.text
            await driver.press("G")
            last = canvas.text.splitlines()[-1]
            assert text_of(7_420).rstrip().endswith(last.split("╎ ")[1].strip())
            await driver.press("enter")
            assert "stopped reading here" in canvas.text
            await driver.press("minus")
            assert "1,900  ╌╌ ✂ the embedder stopped" in canvas.text
            await driver.press("right_square_bracket")
            await driver.until(lambda: "guide/customs.md#11" in canvas.text and "stopped reading" in canvas.text)
            await driver.press("escape")
            assert "Clipped" in canvas.text
            await driver.press("escape")
            assert driver.tree.has_focus

    async def test_a_ceiling_beyond_the_opened_chunk_leads_back_to_the_page(self) -> None:
        async with driven(only(clipped_scene.handbook())) as driver:
            canvas = await opened(driver)
            await driver.press("enter", "e", *"8000", "enter")
            assert "✓ every chunk would be read to its end" in canvas.text
            await driver.press("escape")
            assert driver.tree.has_focus

    async def test_scrolling_down_and_up_again_passes_the_cut(self) -> None:
        async with driven(only(clipped_scene.handbook()), size=SMALL_TERMINAL) as driver:
            canvas = await opened(driver)
            await driver.until(lambda: "stopped reading here" in canvas.text)
            await driver.press("enter")
            before = canvas.text
            await driver.press(*["j"] * 30, *["k"] * 30)
            assert canvas.text == before

    async def test_what_was_never_read_is_copied_exactly_and_so_are_its_other_parts(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with driven(only(clipped_scene.handbook())) as driver:
            canvas = await opened(driver)
            await driver.until(lambda: "stopped reading here" in canvas.text)
            copied: list[str] = []
            monkeypatch.setattr(driver.app, "copy_to_clipboard", copied.append)
            for chosen in "lrti":
                await driver.press("y", chosen)
            text = text_of(7_420)
            assert copied == [text[2_000:], text[:2_000], text, "guide/refunds.md#4"]

    async def test_a_click_selects_a_second_one_opens(self) -> None:
        async with driven(only(clipped_scene.handbook())) as driver:
            canvas = await opened(driver)
            row = canvas.drawn.listed.start + 2
            await driver.pilot.click(canvas, offset=(30, row))
            await driver.until(lambda: "api/webhooks.md#2 ──" in canvas.text)
            await driver.pilot.click(canvas, offset=(30, row))
            assert "Clipped" not in canvas.text

    async def test_a_chunk_that_is_gone_and_one_that_is_another_are_said(self) -> None:
        namespace = clipped_scene.handbook()
        async with driven(only(namespace)) as driver:
            canvas = await opened(driver)
            del namespace.written["api/webhooks.md#2"]
            namespace.written["guide/warranty.md#7"] = text_of(3_000)
            await driver.press("j", "j")
            await driver.until(lambda: "is there any more" in canvas.text)
            await driver.press("j")
            await driver.until(lambda: "has 3,000 characters" in canvas.text)

    async def test_hostile_ids_and_texts_are_only_read(self) -> None:
        evil = "\x1b]52;c;ZXZpbA==\x07[/b]\u202e"
        namespace = Written("evil", written={evil * 5: (evil + " 日本語 e\u0301 ") * 400}, lengths_=[5])
        async with driven(only(namespace)) as driver:
            canvas = await opened(driver, "evil")
            await driver.until(lambda: "stopped reading here" in canvas.text)
            assert not any(sign in driver.text for sign in ("\x1b", "\x07", "\u202e"))
            await driver.press("enter", "G")
            assert not any(sign in driver.text for sign in ("\x1b", "\x07", "\u202e"))


class TestWithoutNumbers:
    """When there is nothing to measure, or not yet."""

    async def test_no_text_says_what_that_means(self) -> None:
        namespace = FakeNamespace("bare", no_text="the texts are in another file")
        async with driven(only(namespace)) as driver:
            canvas = await opened(driver, "bare")
            assert "The texts are in another file." in canvas.text
            assert "nobody can say what was clipped" in canvas.text

    async def test_an_empty_namespace(self) -> None:
        async with driven(only(FakeNamespace("drafts", lengths_=()))) as driver:
            canvas = await opened(driver, "drafts")
            assert "no chunks yet" in canvas.text

    async def test_nothing_clipped_is_calm_and_shows_the_lengths(self) -> None:
        async with driven(only(FakeNamespace("fine", lengths_=[800, 1_200, 2_000]))) as driver:
            canvas = await opened(driver, "fine")
            assert "✓ every chunk is read to its end" in canvas.text
            assert "The longest chunk has 2,000 characters, just as many as the ceiling." in canvas.text
            assert "│ ceiling" in canvas.text or "ceiling │" in canvas.text
            assert "Clipped" not in canvas.text

    async def test_lengths_being_read_are_counted_and_can_be_stopped_and_read_again(self) -> None:
        namespace = clipped_scene.handbook(lengths_gate=threading.Event())
        gate = namespace.lengths_gate
        assert gate is not None
        async with driven(only(namespace)) as driver:
            await driver.go_to("handbook")
            await driver.press("3")
            await driver.until(lambda: "412 of 1,004 rows so far" in driver.text)
            assert "reading lengths" in driver.text.splitlines()[-1]
            await driver.press("escape")
            assert "The lengths were not read to the end" in driver.text
            gate.set()
            await driver.press("enter")
            await driver.until(lambda: "chunks are longer" in driver.text)


class TestPage:
    """The page by itself."""

    def test_the_line_is_in_one_column_from_the_chart_to_the_last_bar(self) -> None:
        namespace = clipped_scene.handbook()
        lengths = namespace.lengths()
        assert lengths is not None
        clipping = clipping_of(lengths, ChunkCeiling(2_000, "default"))
        for width in (49, 76, 84, 90, 130):
            for ceiling in (1, 777, 2_000, 5_000, 7_419):
                frame = Frame(width, 33, UNICODE, True)
                drawn = ceiling_page(clipping, Standing(ceiling), frame)
                assert drawn.scale is not None
                assert drawn.scale.cut is not None
                at = drawn.plot_at + drawn.scale.cut
                rows = range(drawn.chart.start, drawn.listed.stop)
                signs = {drawn.page.lines[row].text[at] for row in rows}
                assert signs - set(f"{ceiling:,}") == set("│┴┼"), (width, ceiling)
                assert all(line.cells <= width for line in drawn.page.lines)

    @pytest.mark.parametrize("width", range(20, 60, 3))
    def test_a_narrow_page_keeps_to_its_width(self, width: int) -> None:
        lengths = clipped_scene.handbook().lengths()
        assert lengths is not None
        clipping = clipping_of(lengths, ChunkCeiling(2_000, "default"), 512)
        opened = OpenedText("guide/refunds.md#4", text_of(7_420))
        for height in (1, 5, 12, 30):
            for whole in (False, True):
                standing = Standing(1_990, opened=opened, whole=whole)
                drawn = ceiling_page(clipping, standing, Frame(width, height, UNICODE, True))
                assert max(line.cells for line in drawn.page.lines) <= width

    @pytest.mark.parametrize("height", range(6, 60))
    def test_the_page_never_needs_more_rows_than_there_are(self, height: int) -> None:
        namespace = clipped_scene.handbook()
        lengths = namespace.lengths()
        assert lengths is not None
        clipping = clipping_of(lengths, ChunkCeiling(2_000, "default"), 512)
        for above in (2, 5):
            frame = Frame(84, height, UNICODE, True, 0, above)
            drawn = ceiling_page(clipping, Standing(2_000), frame)
            if height >= 12:
                assert len(drawn.page.lines) <= height
            assert len(drawn.listed) >= 1

    def test_the_cursor_is_always_among_the_rows_shown(self) -> None:
        namespace = clipped_scene.handbook()
        lengths = namespace.lengths()
        assert lengths is not None
        clipping = clipping_of(lengths, ChunkCeiling(2_000, "default"))
        top = 0
        for cursor in (0, 3, 40, 455, 454, 12, 0):
            drawn = ceiling_page(clipping, Standing(2_000, cursor=cursor, top=top), Frame(84, 33, UNICODE, True))
            top = drawn.top
            lines = [drawn.page.lines[row] for row in drawn.listed]
            assert [line.ground for line in lines].count(Ground.CURSOR) == 1
            assert any(span.tone is Tone.ERROR and span.bold for span in lines[0])

    def test_few_chunks_leave_the_rest_of_the_rows_to_the_text(self) -> None:
        few, many, none = (Room.of(33, 3, chunks, roomy=True) for chunks in (1, 100, 0))
        assert few.text > many.text
        assert none.listed == none.text == 0
