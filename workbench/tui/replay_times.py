"""From what a user types to a call: its number, or a time of day or moment in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.routing.replay import Replay

_DAY_MS = 86_400_000.0
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?", re.ASCII)


def call_at(replay: Replay, typed: str, now: int) -> int | None:
    """Give the ``n`` that is meant, None when nothing is. ``now`` is where the user stands: a time is of that day."""
    text = typed.strip().removesuffix("UTC").removesuffix("Z").strip()
    plain = text.replace(",", "").removeprefix("call").strip()
    if plain.isascii() and plain.isdigit():
        n = int(plain) if len(plain) < 18 else 0
        return n if 1 <= n <= replay.count else None
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        hours, minutes, seconds = int(clock[1]), int(clock[2]), float(clock[3] or 0)
        if hours > 23 or minutes > 59 or seconds >= 60:
            return None
        return _on_a_day(replay, ((hours * 60 + minutes) * 60 + seconds) * 1_000, now)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return replay.at(moment.timestamp() * 1_000)


def _on_a_day(replay: Replay, of_day: float, now: int) -> int:
    """Choose the day of the call at hand, else the first day of the log on which there is such a time."""
    columns = replay.columns
    begun, ended = float(columns.started_ms.min()), float(columns.ended_ms.max())
    here = float(columns.started_ms[now - 1]) // _DAY_MS * _DAY_MS + of_day
    if begun <= here <= ended:
        return replay.at(here)
    first = begun // _DAY_MS * _DAY_MS + of_day
    return replay.at(first if begun <= first else first + _DAY_MS if first + _DAY_MS <= ended else here)
