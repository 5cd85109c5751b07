"""How numbers stand in the sentences of verdicts: thousands with a comma, the noun in its number."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.checkup.report import ExactClip


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Write ``1 chunk``, ``8,214 chunks``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def of_all(part: int, whole: int, noun: str, plural: str | None = None) -> str:
    """Write ``6 of 26 chunks``, ``1 of 1 chunk``."""
    return f"{part:,} of {counted(whole, noun, plural)}"


def verb(number: int, singular: str, plural: str) -> str:
    """Choose the form of a verb that goes with a number."""
    return singular if number == 1 else plural


def in_tokens(exact: ExactClip, total: int) -> str:
    """Say what was cut by the model's own tokens: the second answer, beside the one in characters."""
    counted_by = f"counted in tokens ({exact.tokenizer}), which is exact:"
    if not exact.count:
        return f"{counted_by} every chunk was read whole"
    lost = f"{counted(exact.lost_chars, 'character')} {verb(exact.lost_chars, 'was', 'were')} never read"
    return f"{counted_by} {of_all(exact.count, total, 'chunk')} {verb(exact.count, 'is', 'are')} cut, {lost}"


def share(part: int, whole: int) -> str:
    """Write a percentage with one decimal, never 0.0 % of something nor 100.0 % of less than all."""
    if whole == 0:
        return "0 %"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "under 0.1 %"
    if part < whole and percent > 99.9:
        return "over 99.9 %"
    return f"{percent:.1f} %"


def norm_text(norm: float) -> str:
    """Write a norm with four decimals, or in powers of ten where those would say nothing."""
    return f"{norm:.4f}" if norm == 0 or 0.001 <= abs(norm) < 1_000_000 else f"{norm:.3g}"


def duration_text(ms: float) -> str:
    """Write a duration with its unit: 23 µs, 0.2 ms, 396 ms, 12.4 s, 3 min 5 s, 2 h 10 min."""
    if ms < 0.1:
        return f"{ms * 1_000:.0f} µs"
    if ms < 10:
        return f"{ms:.1f} ms"
    if ms < 999.5:
        return f"{ms:.0f} ms"
    if ms < 59_950:
        return f"{ms / 1_000:.1f} s"
    minutes, seconds = divmod(round(ms / 1_000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def size_text(size: int) -> str:
    """Write a number of bytes with its unit, in powers of a thousand."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}" if size < 1_000 * factor else f"{size / factor:,.0f} {unit}"
    return counted(size, "byte")
