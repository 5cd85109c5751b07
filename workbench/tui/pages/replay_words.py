"""Durations, thresholds and kinds of oddity of a replay, in as few words as its rows have room for."""

from __future__ import annotations

import math

from workbench.checkup.wording import duration_text
from workbench.routing.calls import Flag

_LONGEST_MS = 1e15

_ODD = {
    Flag.CLOCK_BACK: "the clock went back",
    Flag.RESTARTED: "first after a start",
    Flag.UNFINISHED: "the log ends before the rescue",
    Flag.OVERLAPS: "beside other calls",
    Flag.ABORT_COUNTED: "given up by the caller, counted",
    Flag.BY_ADJACENCY: "paired by adjacency",
    Flag.RETRIED: "a leg asked again and again",
}


def span_text(ms: float) -> str:
    """Write a cooldown as people say it: ``5 min``, ``90 s``, ``2 h 10 min``."""
    if not math.isfinite(ms) or not 0 <= ms < _LONGEST_MS:
        return "for ever" if ms == math.inf else f"{ms:g} ms"
    if ms < 1_000 or ms % 1_000:
        return f"{ms:.0f} ms" if ms % 1 == 0 and ms < 10_000 else duration_text(ms)
    seconds = int(ms // 1_000)
    if seconds <= 120 and seconds % 60:
        return f"{seconds} s"
    hours, rest = divmod(seconds, 3_600)
    parts = [(hours, "h"), (rest // 60, "min"), (rest % 60, "s")]
    return " ".join(f"{count:,} {unit}" for count, unit in parts if count) or "0 s"


def clock_text(ms: float) -> str:
    """Write what is left of a window: ``3:12``, ``1:02:40``."""
    if not math.isfinite(ms) or ms >= _LONGEST_MS:
        return "for ever"
    minutes, seconds = divmod(math.ceil(ms / 1_000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def threshold_text(threshold: float) -> str:
    """Write a threshold; whatever is no plain number as it is."""
    plain = math.isfinite(threshold) and abs(threshold) < _LONGEST_MS and threshold == math.floor(threshold)
    return f"{threshold:,.0f}" if plain else "never" if threshold == math.inf else f"{threshold:g}"


def odd_text(flags: Flag) -> str:
    """Say what is odd about a call, the worst first; empty when nothing is."""
    return ", ".join(word for flag, word in _ODD.items() if flags & flag)


def read_span(typed: str) -> float | None:
    """Read a cooldown, in milliseconds: ``90 s``, ``5 min``, ``1.5 h``, ``250 ms``; a number alone is seconds."""
    text = typed.strip().lower().replace(",", "")
    for unit, factor in (
        ("ms", 1.0),
        ("min", 60_000.0),
        ("h", 3_600_000.0),
        ("m", 60_000.0),
        ("s", 1_000.0),
        ("", 1_000.0),
    ):
        if text.endswith(unit):
            number = read_number(text.removesuffix(unit) if unit else text)
            return None if number is None or not 0 <= number * factor < _LONGEST_MS else number * factor
    return None


def read_number(typed: str) -> float | None:
    """Read a threshold; ``inf`` never opens."""
    try:
        number = float(typed.strip().replace(",", ""))
    except ValueError:
        return None
    return None if math.isnan(number) else number
