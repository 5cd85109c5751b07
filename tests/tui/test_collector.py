"""The garbage collector stays out of the way of long readings, and comes back after the last of them."""

from __future__ import annotations

import gc

import pytest

from workbench.tui import collector


def test_nothing_is_collected_until_the_last_reading_is_done() -> None:
    with collector.held_back():
        with collector.held_back():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_reading_that_fails_lets_the_collector_come_back() -> None:
    with pytest.raises(KeyError), collector.held_back():
        raise KeyError
    assert gc.isenabled()
