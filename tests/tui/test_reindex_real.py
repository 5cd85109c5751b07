"""The whole guide over real files: with embedders of a test always, with those that are installed where they are."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.tui.driving import LARGE_TERMINAL, Driver
from workbench.core.fingerprint import Fingerprint
from workbench.embedders.activity import Observer, RequestSent, unobserved
from workbench.embedders.batching import BatchLimits
from workbench.embedders.configured import Configured, LocalEmbedder
from workbench.embedders.known import KnownEmbedder
from workbench.embedders.protocol import PrefixPolicy, ProviderHealth, Purpose, Vector
from workbench.index.opening import attach
from workbench.index.store import Entry, VectorStore
from workbench.trust import Configuration
from workbench.tui.app import WorkbenchApp
from workbench.tui.guide import Guide, Step
from workbench.tui.reading import FileReader
from workbench.tui.reindexing import EngineReindexer
from workbench.tui.screens.main import MainScreen
from workbench.tui.screens.reindex import ReindexScreen

TEXTS = [f"note {place} " * (40 if place == 4 else 3) for place in range(9)]
SAMPLE = Path(__file__).parents[2] / "sample_data" / "index.duckdb"
needs_local = pytest.mark.skipif(
    importlib.util.find_spec("wordllama") is None, reason="the extra 'local' is not installed"
)


class Letters:
    """Counts letters: a vector of 26 numbers that any text decides; what it was asked is kept."""

    kind, model_id, dimensions, max_input_chars, last_error = "letters", "letters", 26, 5_000, None
    host, counter, answered_model = None, None, "letters"
    batch_limits, policy = BatchLimits(4, 100_000), PrefixPolicy()

    def __init__(self) -> None:
        self.sent: list[str] = []
        self._observer: Observer = unobserved

    def watch(self, observer: Observer) -> None:
        self._observer = observer

    async def embed(self, text: str, *, purpose: Purpose) -> Vector | None:
        return (await self.embed_batch([text], purpose=purpose))[0]

    async def embed_batch(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector | None]:
        self._observer(RequestSent(len(texts), sum(map(len, texts)), 1))
        self.sent += texts
        return [[1.0 + text.lower().count(chr(97 + at)) for at in range(26)] for text in texts]

    async def healthcheck(self) -> ProviderHealth:
        return ProviderHealth(True, self.kind, self.model_id, 26)

    async def dispose(self) -> None:
        pass


LETTERS = LocalEmbedder(KnownEmbedder("letters", Fingerprint("letters", 26), 5_000), "local")


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Letters:
    """Make the one provider of the engine, which is thought to be installed."""
    monkeypatch.setattr("workbench.embedders.opening.is_installed", lambda embedder: True)
    return Letters()


def engine(letters: Letters) -> EngineReindexer:
    def opened(configured: Configured, warn: object) -> Letters:
        return letters

    return EngineReindexer(lambda: Configuration((), {"letters": LETTERS}, ()), opened)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Nine chunks of another embedder, one of them long."""
    path = tmp_path / "index.duckdb"
    with VectorStore.open(path, read_only=False) as store:
        store.create_namespace("notes", max_input_chars=100)
        entries = [
            Entry(f"n{place}", f"note {place} " * (40 if place == 4 else 3), [1.0, float(place)]) for place in range(9)
        ]
        store.put_many("notes", entries, embedder_id="old")
    return path


@asynccontextmanager
async def opened(path: Path, reindexer: EngineReindexer | None, namespace: str) -> AsyncIterator[Driver]:
    app = WorkbenchApp((str(path),), FileReader())
    async with app.run_test(size=LARGE_TERMINAL) as pilot:
        driver = Driver(app, pilot)
        if reindexer is not None:
            driver.main.reindexer = reindexer
        await driver.until_read()
        await driver.go_to(namespace)
        await driver.press("r")
        await driver.until(lambda: isinstance(app.screen, ReindexScreen))
        await rest(driver)
        yield driver


def guide(app: Driver) -> Guide:
    screen = app.app.screen
    assert isinstance(screen, ReindexScreen), app.text
    return screen.guide


async def rest(app: Driver) -> None:
    await app.until(lambda: not isinstance(app.app.screen, ReindexScreen) or not app.app.screen.guide.busy)


async def confirm_and_build(app: Driver, name: str) -> None:
    await app.press("enter")
    await rest(app)
    await app.press("enter")
    await app.until(lambda: app.app.focused is not None and app.app.focused.id == "guide-name")
    await app.press(*name, "enter")
    await rest(app)


def bytes_of(path: Path, namespace: str) -> list[tuple[str, bytes]]:
    """Every id with its vector, to the bit, of the generation that answers."""
    with attach(path) as attachment, attachment.cursor() as cursor:
        row = cursor.execute(
            "SELECT g.table_name FROM ix.main.vector_namespaces n JOIN ix.main.generations g"
            " ON g.generation = n.active_generation WHERE n.namespace = ?",
            [namespace],
        ).fetchone()
        assert row is not None
        rows = cursor.execute(f'SELECT id, embedding::FLOAT[] FROM ix.main."{row[0]}" ORDER BY id').fetchall()
    return [(id, np.asarray(vector, np.float32).tobytes()) for id, vector in rows if vector is not None]


def beside(path: Path) -> set[str]:
    return {each.name for each in path.parent.glob(path.name + "*")}


async def test_from_choice_to_swap_and_back(index: Path, letters: Letters) -> None:
    before = bytes_of(index, "notes")
    async with opened(index, engine(letters), "notes") as app:
        assert "letters@26" in app.text
        await app.press("enter")
        await rest(app)
        assert "clipped  1 → 0 chunks" in app.text
        assert letters.sent == []
        assert beside(index) == {index.name}
        await app.press("enter")
        await app.until(lambda: app.app.focused is not None and app.app.focused.id == "guide-name")
        assert letters.sent == []
        await app.press(*"notes", "enter")
        await rest(app)
        assert guide(app).step is Step.VERIFY
        assert bytes_of(index, "notes") == before
        await app.press("enter")
        await app.until(lambda: "answers now" in app.text)
        await rest(app)
        assert beside(index) == {index.name}
        await app.until(lambda: app.main.settled)
        space = app.source(index.name).spaces[0]
        assert space.report is not None
        assert space.report.fingerprints.shown == "letters@26"
        await app.press("R")
        await app.until(lambda: "answers again" in app.text)
        await rest(app)
        await app.press("escape")
        await app.until(lambda: isinstance(app.app.screen, MainScreen))
        await app.until_read()
        assert "old@2" in app.text
    assert bytes_of(index, "notes") == before


async def test_left_in_the_build_it_is_found_again_and_pays_only_for_the_rest(index: Path, letters: Letters) -> None:
    class Stopping(Letters):
        """Fails after the first batch, as a server that goes away does."""

        async def embed_batch(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector | None]:
            from workbench.embedders.failures import Unavailable

            if len(self.sent) > 4:
                raise Unavailable("the server went away", attempts=1)
            return await super().embed_batch(texts, purpose=purpose)

    first = Stopping()
    async with opened(index, engine(first), "notes") as app:
        await confirm_and_build(app, "notes")
        assert guide(app).step is Step.BUILD
        assert "the server went away" in app.text
        await app.press("escape")
        await app.until(lambda: isinstance(app.app.screen, MainScreen))
        assert "kept" in app.text
    assert len(beside(index)) == 2
    async with opened(index, engine(letters), "notes") as app:
        assert "begun and not finished" in app.text
        await app.press("enter")
        await rest(app)
        assert guide(app).step is Step.VERIFY, app.text
        await app.press("enter")
        await app.until(lambda: "answers now" in app.text)
        await rest(app)
    built_before = {text for text in first.sent if text in TEXTS}
    assert built_before
    # Verifying sends each of the nine again; only what was missing is sent a second time beside that.
    assert sum(text in TEXTS for text in letters.sent) == 9 + 9 - len(built_before)


@needs_local
async def test_the_clipped_handbook_comes_back_with_the_embedder_that_is_installed(tmp_path: Path) -> None:
    path = tmp_path / "index.duckdb"
    shutil.copy(SAMPLE, path)
    before = bytes_of(path, "handbook")
    async with opened(path, None, "handbook") as app:
        assert "wordllama@256" in app.text
        await app.press("enter")
        await rest(app)
        assert "clipped  7 → 0 chunks" in app.text
        await app.press("enter")
        await app.until(lambda: app.app.focused is not None and app.app.focused.id == "guide-name")
        await app.press(*"handbook", "enter")
        await rest(app)
        assert guide(app).step is Step.VERIFY, app.text
        await app.press("enter")
        await app.until(lambda: "answers now" in app.text)
        await rest(app)
        await app.until(lambda: app.main.settled)
        report = app.source(path.name).spaces[0].report
        assert report is not None
        assert report.ceiling.clipped is not None
        assert (report.fingerprints.shown, report.ceiling.clipped.count) == ("wordllama@256", 0)
        await app.press("R")
        await app.until(lambda: "answers again" in app.text)
        await rest(app)
    assert bytes_of(path, "handbook") == before


async def test_an_embedder_that_is_not_installed_names_its_extra(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.embedders.opening.is_installed", lambda embedder: False)
    async with opened(index, EngineReindexer(lambda: Configuration((), {"letters": LETTERS}, ())), "notes") as app:
        assert "pip install 'vector-workbench[local]'" in app.text
        await app.press("enter")
        assert guide(app).step is Step.CHOOSE
