"""What a command line does to its process is undone after each test that runs one in this process."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    logger = logging.getLogger("workbench")
    propagate, handlers = logger.propagate, list(logger.handlers)
    yield
    logger.propagate, logger.handlers = propagate, handlers
