"""Pictures of the view of chunks: what must be seen stands in the sentence of each test."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from tests.tui import scenes
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, draw_anew
from tests.tui.fakes import FakeNamespace, FakeReader, FakeSource
from workbench.index.model import FingerprintCount
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.main import MainScreen

Picture = Callable[..., bool]
SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])

READ = "Orders can be returned within thirty days of delivery, and the refund is paid back as it was paid. " * 20
UNICODE = (
    ("日本語のマニュアル.md#1", "返品は三十日以内に承ります。" * 160),
    ("emoji 👩\u200d🔬 lab.md#2", "science 👩\u200d🔬 and flags 🇪🇺 in a row " * 90),
    ("cafe\u0301 au lait.md#3", "cafe\u0301 cre\u0300me bru\u0302le\u0301e"),
    ("ｆｕｌｌ ｗｉｄｔｈ.md#4", "ｆｕｌｌ ｗｉｄｔｈ letters"),
    ("plain.md#5", "plain letters"),
    ("עברית.md#6", "טקסט בעברית"),
)


def refunds() -> FakeNamespace:
    """Chunks of a handbook, one of them with its exception behind the cut."""
    texts = [
        ("guide/refunds.md#4", READ + "Exceptions apply when the order was made to measure, opened or not resealable."),
        ("guide/refunds.md#5", "A refund for a gift goes to whoever paid."),
        ("guide/customs.md#11", READ[:1_400]),
        ("api/webhooks.md#2", "Each refund sends refund.created, and refund.failed where the bank refuses."),
    ]
    return FakeNamespace(
        "handbook",
        max_input_chars=1_500,
        declared_dims=1536,
        texts=texts,
        lengths_=[len(text) for _, text in texts],
        counts=(FingerprintCount(scenes.SMALL, 4),),
    )


def of(namespace: FakeNamespace) -> FakeReader:
    return FakeReader({"support/index.duckdb": FakeSource("support/index.duckdb", (namespace,))})


@pytest.fixture
def picture(snap_compare: Callable[..., bool]) -> Picture:
    """Compare the list of a namespace once ``keys`` were pressed and everything was read."""

    def compare(
        reader: FakeReader,
        on: str,
        size: tuple[int, int],
        *keys: str,
        before: Callable[[], None] | None = None,
        **options: object,
    ) -> bool:
        async def run_before(pilot: Pilot[int]) -> None:
            main = pilot.app.screen
            assert isinstance(main, MainScreen)

            async def until_settled() -> None:
                for _ in range(1_000):
                    await pilot.pause(0.01)
                    if main.settled:
                        return

            await until_settled()
            main._tree.move_to(next(place for place, row in enumerate(main._tree.rows) if row.name == on))
            await pilot.press("2")
            await until_settled()
            if before is not None:
                before()
            for key in keys:
                await pilot.press(key)
                await pilot.pause(0.15 if len(key) == 1 else 0)
                if before is None:
                    await until_settled()
            await draw_anew(pilot)

        app = WorkbenchApp(tuple(reader.paths), reader, **options)  # type: ignore[arg-type]
        return snap_compare(app, terminal_size=size, run_before=run_before)

    return compare


class TestList:
    """The table."""

    @SIZES
    def test_longest_first(self, picture: Picture, size: tuple[int, int]) -> None:
        """Scissors, bars on one scale with the ceiling as one line through all rows, lengths in one column."""
        assert picture(scenes.loaded(), "handbook", size, "s", "j", "j")

    @SIZES
    def test_two_spaces_in_one(self, picture: Picture, size: tuple[int, int]) -> None:
        """The fingerprint of every row, because there are several."""
        assert picture(scenes.loaded(), "legacy-faq", size)

    @SIZES
    def test_the_end_of_a_million(self, picture: Picture, size: tuple[int, int]) -> None:
        """The last rows, the scrollbar at its end, the number of the row."""
        assert picture(of(FakeNamespace("million", lengths_=range(1_000_000))), "million", size, "G")

    @SIZES
    def test_rows_to_come(self, picture: Picture, size: tuple[int, int]) -> None:
        """Their places at once, and the frame as it was."""
        namespace = FakeNamespace("million", lengths_=range(1_000_000))
        gate = threading.Event()

        def close() -> None:
            namespace.gate = gate

        try:
            assert picture(of(namespace), "million", size, "G", before=close)
        finally:
            gate.set()

    @SIZES
    def test_ids_and_texts_of_all_widths(self, picture: Picture, size: tuple[int, int]) -> None:
        """CJK, emoji, combining marks, right to left: every column stands where it stands on the other rows."""
        namespace = FakeNamespace("文書", texts=UNICODE, lengths_=[len(text) for _, text in UNICODE])
        assert picture(of(namespace), "文書", size, "j")

    @SIZES
    def test_filtered(self, picture: Picture, size: tuple[int, int]) -> None:
        """How many of how many match, and what was typed."""
        assert picture(of(refunds()), "handbook", size, "slash", *"REFUND")

    def test_nothing_matches(self, picture: Picture) -> None:
        """Said, with the way out."""
        assert picture(of(refunds()), "handbook", SMALL_TERMINAL, "slash", *"zzz", "enter")

    def test_empty(self, picture: Picture) -> None:
        """A namespace without chunks."""
        assert picture(scenes.loaded(), "drafts", SMALL_TERMINAL)

    @pytest.mark.parametrize("theme", ["workbench-light", "ansi-dark", "nord"])
    def test_themes(self, picture: Picture, theme: str) -> None:
        """Legible under each."""
        assert picture(scenes.loaded(), "handbook", SMALL_TERMINAL, "s", theme=theme)

    def test_ascii(self, picture: Picture) -> None:
        """Every sign has a seven-bit form, and the columns still line up."""
        assert picture(scenes.loaded(), "handbook", SMALL_TERMINAL, "s", ascii_only=True)


class TestChunk:
    """One chunk opened."""

    @SIZES
    def test_its_text_with_the_cut(self, picture: Picture, size: tuple[int, int]) -> None:
        """What it is, its vector in one word, the text as far as it was read."""
        assert picture(of(refunds()), "handbook", size, "enter")

    @SIZES
    def test_opened_from_a_filter(self, picture: Picture, size: tuple[int, int]) -> None:
        """At the words that were searched for, although they lie behind the cut."""
        assert picture(of(refunds()), "handbook", size, "slash", *"made to", "enter", "enter")

    def test_metadata(self, picture: Picture) -> None:
        """As JSON with its keys muted, a vector in it as its summary."""
        namespace = refunds()
        namespace.metadata = (
            '{"heading": "Refunds", "at": [1, 2], "v": [3, 0, 0, 0, 0, 0, 0, 0, 4], "deep": {"a": null}}'
        )
        assert picture(of(namespace), "handbook", SMALL_TERMINAL, "j", "enter", "G")

    @SIZES
    def test_text_of_all_widths(self, picture: Picture, size: tuple[int, int]) -> None:
        """Lines break between characters of any width, never inside one."""
        namespace = FakeNamespace("文書", texts=UNICODE, lengths_=[len(text) for _, text in UNICODE])
        assert picture(of(namespace), "文書", size, "j", "enter")

    @SIZES
    def test_what_can_be_copied(self, picture: Picture, size: tuple[int, int]) -> None:
        """A letter for each."""
        assert picture(of(refunds()), "handbook", size, "y")


@SIZES
def test_a_name_is_found_in_the_sources(picture: Picture, size: tuple[int, int]) -> None:
    """Only rows with it in their name, and what they are in."""
    assert picture(scenes.loaded(), "handbook", size, "escape", "slash", *"ch")
