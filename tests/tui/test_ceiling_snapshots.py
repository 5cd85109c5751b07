"""Pictures of the Ceiling view: what must be seen stands in the sentence of each test."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator

import pytest
from textual.pilot import Pilot

from tests.tui import clipped_scene, scenes
from tests.tui.clipped_scene import Written, only
from tests.tui.driving import LARGE_TERMINAL, SMALL_TERMINAL, draw_anew, press_each
from tests.tui.fakes import FakeNamespace
from workbench.checkup.exact import ExactCut
from workbench.checkup.proof import Proof
from workbench.checkup.report import ExactClip
from workbench.core.fingerprint import Fingerprint
from workbench.embedders.opening import LOCAL
from workbench.index.model import FingerprintCount
from workbench.reindex.proving import Rank
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.main import MainScreen
from workbench.tui.views.ceiling import Ceiling

Picture = Callable[..., bool]
SIZES = pytest.mark.parametrize("size", [SMALL_TERMINAL, LARGE_TERMINAL], ids=["80x24", "120x40"])


@pytest.fixture
def picture(snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> Picture:
    """Compare the view of a namespace once ``ready`` is on it; keys are pressed when ``first``, else it, is there."""
    monkeypatch.setattr("workbench.tui.views.ceiling.perf_counter", lambda: 0.0)

    def compare(
        namespace: FakeNamespace,
        size: tuple[int, int],
        *keys: str,
        ready: str = "",
        first: str | None = None,
        **options: object,
    ) -> bool:
        app = WorkbenchApp(("support/index.duckdb",), only(namespace), **options)  # type: ignore[arg-type]
        return snap_compare(app, terminal_size=size, run_before=_ready(namespace, keys, ready, first))

    return compare


def _ready(
    namespace: FakeNamespace, keys: tuple[str, ...], ready: str, first: str | None
) -> Callable[[Pilot[int]], Awaitable[None]]:
    async def run_before(pilot: Pilot[int]) -> None:
        main = pilot.app.screen
        assert isinstance(main, MainScreen)
        await _until(pilot, lambda: main.settled)
        await pilot.press("j", "3")
        texts = "stopped reading here" if isinstance(namespace, Written) and namespace.written else ""

        def there(wanted: str = ready or texts) -> bool:
            return any(wanted in each.canvas.text for each in main.query(Ceiling))

        await _until(pilot, lambda: there(first or ready or texts))
        await press_each(pilot, *keys)
        await _until(pilot, there)
        await _until(pilot, lambda: main.settled or "so far" in ready)
        await draw_anew(pilot)

    return run_before


async def _until(pilot: Pilot[int], true: Callable[[], bool]) -> None:
    for _ in range(1_000):
        await pilot.pause(0.01)
        if true():
            return
    raise AssertionError("the view never came to what is to be seen")


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Open it when the test is over, so that no thread waits for ever."""
    event = threading.Event()
    yield event
    event.set()


@SIZES
def test_clipped_chunks(picture: Picture, size: tuple[int, int]) -> None:
    """One line through histogram, rule and bars; the chunk opened at its cut."""
    assert picture(clipped_scene.handbook(), size)


@SIZES
def test_moved(picture: Picture, size: tuple[int, int]) -> None:
    """A what-if that says so, with the key that leads back; how fast it was answered."""
    assert picture(clipped_scene.handbook(), size, *["plus"] * 8, "j")


@SIZES
def test_the_whole_text(picture: Picture, size: tuple[int, int]) -> None:
    """The chunk has the view, read above the line, lost below it."""
    assert picture(clipped_scene.handbook(), size, "enter")


@SIZES
def test_possibly_clipped(picture: Picture, size: tuple[int, int]) -> None:
    """Certainly, possibly, not: in words and on the axis."""
    namespace = clipped_scene.handbook(
        recorded=Fingerprint("text-embedding-3-small", 1536),
        counts=(FingerprintCount(scenes.SMALL, 8_214),),
        max_input_chars=2_000,
        over={f"chunk-{place}": True for place in range(3_000, 3_020)},
    )
    assert picture(namespace, size)


@SIZES
def test_nothing_clipped(picture: Picture, size: tuple[int, int]) -> None:
    """Calm: a tick, the lengths, how near the longest is."""
    assert picture(FakeNamespace("fine", lengths_=scenes.bell(1_120, 900, 900)), size, ready="read to its end")


@SIZES
def test_no_text(picture: Picture, size: tuple[int, int]) -> None:
    """Why nobody can say, and what that means."""
    assert picture(FakeNamespace("bare", no_text="the texts are in another file"), size, ready="nobody can say")


@SIZES
def test_lengths_being_read(picture: Picture, size: tuple[int, int], gate: threading.Event) -> None:
    """How far it is, and the key that stops it."""
    assert picture(clipped_scene.handbook(lengths_gate=gate), size, ready="412 of 1,004 rows so far")


@SIZES
def test_text_of_all_widths(picture: Picture, size: tuple[int, int]) -> None:
    """CJK, emoji, combining marks and what only looks like a command: columns stand, nothing is torn or obeyed."""
    pieces = (
        "日本語のマニュアルはここにあります。",
        "emoji 👩\u200d🔬 lab ",
        "cafe\u0301 au lait ",
        "\x1b[31mred\x1b[0m \u202e ",
    )
    texts = {f"文書/手引き.md#{place}": "".join(pieces) * (40 + 9 * place) for place in range(4)}
    assert picture(Written("unicode", written=texts, lengths_=scenes.bell(60, 700, 500)), size)


def test_light(picture: Picture) -> None:
    """Warm paper, the same weights."""
    assert picture(clipped_scene.handbook(), LARGE_TERMINAL, theme="workbench-light")


def test_ascii(picture: Picture) -> None:
    """Every sign has a seven-bit form, and the line is still one line."""
    assert picture(clipped_scene.handbook(), SMALL_TERMINAL, ascii_only=True)


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
def test_ansi(picture: Picture, theme: str) -> None:
    """Lost text has no ground of its own there: gutter, sign and weight carry it."""
    assert picture(clipped_scene.handbook(), SMALL_TERMINAL, theme=theme)


def test_without_colours(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR: another fill, another bar, another gutter."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert picture(clipped_scene.handbook(), SMALL_TERMINAL)


@SIZES
def test_what_was_proved(picture: Picture, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the text of the chunk: the rank at which its own lost text finds it, and what it should be."""
    rank = Rank("guide/refunds.md#4", 41, 1_000, 8_214)
    words = "Exceptions apply when the order was made to measure, opened and not resealable."
    monkeypatch.setattr("workbench.checkup.proof.embedder_for", lambda *_: LOCAL[0])
    monkeypatch.setattr("workbench.checkup.proof.prove", lambda *given: given[-1](Proof(rank.id, rank, words)))
    assert picture(clipped_scene.handbook(), size, "p", ready="Proof", first="stopped reading here")


@SIZES
def test_characters_and_tokens(picture: Picture, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both answers on one row, the cut where the tokens end and not at the ceiling."""
    exact = ExactClip("all-MiniLM-L6-v2", 512, 402_118)
    monkeypatch.setattr("workbench.checkup.ceiling.exact_clip", lambda *_: (exact, ()))
    monkeypatch.setattr("workbench.tui.views.ceiling.exact_cut", lambda *_: ExactCut(exact.tokenizer, 1_874))
    assert picture(clipped_scene.handbook(), size)
