"""Reports of tests go nowhere but into the test's own folder; one test server a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedders.misbehaving_server import MisbehavingServer, serving
from tests.reindex.scene import make_index


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    """Serve until the test ends."""
    with serving() as running:
        yield running


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Make an index of 100 chunks."""
    return make_index(tmp_path / "index.duckdb")
