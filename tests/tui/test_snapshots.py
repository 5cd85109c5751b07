"""Pictures of the screens: what must be seen stands in the sentence of each test."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import PurePath
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui import scenes
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, draw_anew, press_each
from tests.tui.fakes import FakeNamespace, FakeReader, FakeSource
from workbench.core.fingerprint import Fingerprint
from workbench.index.model import FingerprintCount
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.main import MainScreen
from workbench.tui.widgets.sources import SourcesTree

Compare = Callable[..., bool]
SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])


@pytest.fixture
def picture(snap_compare: Compare) -> Compare:
    """Compare the app over a reader once ``ready`` holds and ``keys`` were pressed."""

    def compare(
        reader: FakeReader,
        size: tuple[int, int],
        *keys: str,
        on: str | None = None,
        paths: tuple[str, ...] | None = None,
        reading: bool = False,
        **options: Any,  # noqa: ANN401 (whatever the app takes)
    ) -> bool:
        app = WorkbenchApp(tuple(reader.paths) if paths is None else paths, reader, **options)
        return snap_compare(app, terminal_size=size, run_before=_ready(on, keys, reading))

    return compare


def _ready(on: str | None, keys: tuple[str, ...], reading: bool) -> Callable[[Pilot[int]], Awaitable[None]]:
    async def run_before(pilot: Pilot[int]) -> None:
        main = pilot.app.screen
        assert isinstance(main, MainScreen)
        for _ in range(1_000):
            await pilot.pause(0.01)
            rows = main.query_one(SourcesTree).rows
            if main.settled or (reading and any("%" in row.tag for row in rows)):
                break
        tree = main.query_one(SourcesTree)
        if on is not None:
            tree.move_to(next(place for place, row in enumerate(tree.rows) if row.name == on))
        await press_each(pilot, *keys)
        await pilot.pause()
        for _ in range(1_000):
            if reading or main.settled:
                break
            await pilot.pause(0.01)
        await pilot.pause()
        await draw_anew(pilot)

    return run_before


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Open it when the test is over, so that no thread waits for ever."""
    event = threading.Event()
    yield event
    event.set()


class TestLoaded:
    """Everything is read."""

    @SIZES
    def test_a_clipped_namespace(self, picture: Compare, size: tuple[int, int]) -> None:
        """The verdict first, concerns worst first, the ceiling line through the histogram."""
        assert picture(scenes.loaded(), size, on="handbook")

    @SIZES
    def test_a_refused_embedder(self, picture: Compare, size: tuple[int, int]) -> None:
        """Refused in the header, on every row of the tree, in banner and table; worst first."""
        assert picture(scenes.loaded(), size, "s", on="handbook", incoming=scenes.LARGE)

    @SIZES
    def test_two_spaces_in_one(self, picture: Compare, size: tuple[int, int]) -> None:
        """Which fingerprints, and how many vectors each."""
        assert picture(scenes.loaded(), size, on="legacy-faq")

    @SIZES
    def test_the_detail_with_the_focus(self, picture: Compare, size: tuple[int, int]) -> None:
        """At 80 columns it has the whole width; its cursor row is tinted, the tree's is not."""
        assert picture(scenes.loaded(), size, "enter", "j", on="handbook")

    @SIZES
    def test_a_source_as_a_whole(self, picture: Compare, size: tuple[int, int]) -> None:
        """Its namespaces worst first, where it is, that it is only read."""
        assert picture(scenes.loaded(), size, on="index.duckdb")

    def test_light(self, picture: Compare) -> None:
        """The light theme: warm paper, the same weights."""
        assert picture(scenes.loaded(), LARGE_TERMINAL, on="handbook", theme="workbench-light")

    def test_ascii(self, picture: Compare) -> None:
        """Every sign has a seven-bit form, and the columns still line up."""
        assert picture(scenes.loaded(), SMALL_TERMINAL, on="handbook", ascii_only=True)

    @pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light", "textual-light", "nord"])
    def test_other_themes(self, picture: Compare, theme: str) -> None:
        """Legible under themes that know nothing of this program."""
        assert picture(scenes.loaded(), SMALL_TERMINAL, on="handbook", theme=theme, incoming=scenes.LARGE)

    def test_without_colours(self, picture: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
        """NO_COLOR: signs, words and weight carry all of it."""
        monkeypatch.setenv("NO_COLOR", "1")
        assert picture(scenes.loaded(), SMALL_TERMINAL, on="handbook", incoming=scenes.LARGE)

    @SIZES
    def test_names_of_all_widths(self, picture: Compare, size: tuple[int, int]) -> None:
        """CJK, emoji and combining marks: counts and tags stand in one column all the same."""
        names = ("日本語のマニュアル", "emoji 👩\u200d🔬 lab", "cafe\u0301 au lait", "plain")
        source = FakeSource("文書.duckdb", tuple(FakeNamespace(name) for name in names))
        assert picture(FakeReader({"文書.duckdb": source}), size, "j")


class TestVectors:
    """The vectors of a namespace."""

    @SIZES
    def test_unusable_ones(self, picture: Compare, size: tuple[int, int]) -> None:
        """What they do to a search first; each row with its reason, the one under the cursor in a sentence."""
        assert picture(scenes.unusable(), size, "4", "down", "down", "down", on="faq")

    @SIZES
    def test_usable_ones(self, picture: Compare, size: tuple[int, int]) -> None:
        """One calm line, the norms."""
        assert picture(scenes.loaded(), size, "4", on="changelog")

    @SIZES
    def test_two_spaces(self, picture: Compare, size: tuple[int, int]) -> None:
        """Each with a letter, a count and a share."""
        assert picture(scenes.loaded(), size, "4", on="legacy-faq")

    def test_light(self, picture: Compare) -> None:
        """The light theme."""
        assert picture(scenes.unusable(), LARGE_TERMINAL, "4", on="faq", theme="workbench-light")

    def test_ascii(self, picture: Compare) -> None:
        """Seven-bit signs."""
        assert picture(scenes.unusable(), SMALL_TERMINAL, "4", on="faq", ascii_only=True)


class TestNothingOpen:
    """Nothing was opened."""

    @SIZES
    def test_what_to_press_first(self, picture: Compare, size: tuple[int, int]) -> None:
        """The keys, and what can be read."""
        assert picture(FakeReader({}), size)


class TestReading:
    """Something is being read."""

    @SIZES
    def test_how_far_it_is(self, picture: Compare, size: tuple[int, int], gate: threading.Event) -> None:
        """Named and counted, with the key that stops it; what is read already shows its verdict."""
        assert picture(scenes.loading(gate), size, on="changelog", reading=True)


class TestUnreadable:
    """Something cannot be opened."""

    @SIZES
    def test_locked(self, picture: Compare, size: tuple[int, int]) -> None:
        """Who holds it, that the file is fine, what to do; the others are open."""
        assert picture(scenes.loaded(), size, on="archive.duckdb")


class TestFloating:
    """What floats above the main screen."""

    @SIZES
    def test_help(self, picture: Compare, size: tuple[int, int]) -> None:
        """Every key and what it does."""
        assert picture(scenes.loaded(), size, "question_mark")

    @SIZES
    def test_a_path_that_is_not_there(self, picture: Compare, size: tuple[int, int]) -> None:
        """Said while typing."""
        assert picture(FakeReader({}), size, "o", *"nowhere")


class TestIncoming:
    """The incoming embedder, while it is typed."""

    @SIZES
    @pytest.mark.parametrize(
        "text",
        ["", "3-lar", "text-embedding-ada-002@1536", "text-embedding-3-large@3072", "@1536", "3-small@1536"],
        ids=["nothing", "part", "model", "dimensions", "anonymous", "same-model-other-spelling"],
    )
    def test_typed(self, picture: Compare, size: tuple[int, int], text: str) -> None:
        """The verdict, both fingerprints part by part, why, the ways out, and what it does to every namespace."""
        assert picture(scenes.loaded(), size, "i", *text, on="handbook")

    @SIZES
    def test_picked(self, picture: Compare, size: tuple[int, int]) -> None:
        """The row under the cursor stands in the line and is judged; each other one has its verdict."""
        assert picture(scenes.loaded(), size, "i", *"3-small", "down", on="handbook")

    @SIZES
    def test_of_all_widths(self, picture: Compare, size: tuple[int, int]) -> None:
        """CJK, emoji and combining marks: models and numbers stand in their columns all the same."""
        named = (("日本語のマニュアル", "文書/埋め込み"), ("emoji 👩\u200d🔬 lab", "labo-é"), ("plain", "x" * 70))
        spaces = tuple(
            FakeNamespace(name, recorded=Fingerprint(model, 4), counts=(FingerprintCount(f"{model}@4", 2),))
            for name, model in named
        )
        reader = FakeReader({"文書.duckdb": FakeSource("文書.duckdb", spaces)})
        assert picture(reader, size, "i", *"@4", on="plain")

    @pytest.mark.parametrize("theme", ["workbench-light", "ansi-dark", "textual-light"])
    def test_themes(self, picture: Compare, theme: str) -> None:
        """What is behind is dimmed, and the banner legible."""
        assert picture(scenes.loaded(), LARGE_TERMINAL, "i", *"x@1536", on="handbook", theme=theme)

    def test_ascii(self, picture: Compare) -> None:
        """Seven-bit signs keep their columns."""
        assert picture(scenes.loaded(), SMALL_TERMINAL, "i", *"x@1536", on="handbook", ascii_only=True)


def test_pictures_are_named_svg() -> None:
    """Another version of the plugin silently writes .raw files, which nobody looks at."""
    folder = PurePath(__file__).parent / "__snapshots__" / "test_snapshots"
    from pathlib import Path

    names = {path.suffix for path in Path(folder).iterdir()} if Path(folder).exists() else {".svg"}
    assert names == {".svg"}
