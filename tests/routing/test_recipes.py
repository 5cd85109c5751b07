"""The recipe of the README for another breaker: what its listener writes is replayed without a doubt."""

from __future__ import annotations

import json
import re
import time
import types
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.routing.opening import open_routing_log
from workbench.routing.replay import replay_log

README = Path(__file__).resolve().parents[2] / "README.md"


class _Breaker:
    """Counts failures in a row and tells its listeners, in the order in which pybreaker does."""

    def __init__(self, *, fail_max: int, reset_timeout: float, listeners: list[Any]) -> None:
        self._fail_max, self._reset_timeout, self._listeners = fail_max, reset_timeout, listeners
        self._failures, self._opened = 0, -float("inf")

    def call(self, func: Callable[..., object], *args: object) -> object:
        if time.time() < self._opened + self._reset_timeout:
            raise RuntimeError("open")
        for listener in self._listeners:
            listener.before_call(self, func, *args)
        try:
            value = func(*args)
        except Exception as error:
            self._failures += 1
            for listener in self._listeners:
                listener.failure(self, error)
            if self._failures >= self._fail_max:
                self._opened = time.time()
            raise
        self._failures = 0
        for listener in self._listeners:
            listener.success(self)
        return value


def test_the_listener_for_pybreaker_writes_a_log_that_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```py\n(.*?)^```", README.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    (recipe,) = (block for block in blocks if "pybreaker" in block)
    stand_in = types.SimpleNamespace(CircuitBreakerListener=object, CircuitBreaker=_Breaker)
    down = {"now": False}

    def primary(texts: list[str]) -> list[list[float]]:
        if down["now"]:
            raise TimeoutError
        return [[1.0]] * len(texts)

    names: dict[str, Any] = {
        "pybreaker": stand_in, "json": json, "time": time, "uuid": uuid, "primary": primary,
        "fallback": lambda texts: [[0.5]] * len(texts),
    }  # fmt: skip
    exec(recipe, names)
    for n in range(8):
        down["now"] = n >= 2
        names["embed"](["a text"], [f"k{n}"])
    assert b"a text" not in (tmp_path / "routing.jsonl").read_bytes()
    with open_routing_log(tmp_path / "routing.jsonl") as log:
        replay = replay_log(log.records)
    assert not len(replay.divergences)
    assert [each.warn for each in replay.transitions] == ["primary->fallback"]
    (row,) = replay.ledger.rows
    assert (row.native, row.foreign_same_dims, set(row.keys)) == (2, 6, {f"k{n}" for n in range(2, 8)})
