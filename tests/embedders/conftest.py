"""One test server a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.embedders.misbehaving_server import MisbehavingServer, serving


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    """Serve until the test ends."""
    with serving() as running:
        yield running
