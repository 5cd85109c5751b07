"""What was searched for, standing out in a row that is drawn."""

from __future__ import annotations

import re
from dataclasses import replace

from workbench.tui.draw import Line, Span, Tone


def pattern_of(needle: str) -> re.Pattern[str] | None:
    """Give what finds a text in letters of any case; None where nothing is searched for."""
    return re.compile(re.escape(needle), re.IGNORECASE) if needle else None


def mark(line: Line, pattern: re.Pattern[str] | None) -> Line:
    """Make every place with the text bold and accented; a place within one span is found, as a key or a value is."""
    if pattern is None:
        return line
    made: list[Span] = []
    for span in line.spans:
        at = 0
        for found in pattern.finditer(span.text):
            if found.start() > at:
                made.append(replace(span, text=span.text[at : found.start()]))
            made.append(replace(span, text=found.group(), tone=Tone.ACCENT, bold=True))
            at = found.end()
        if at < len(span.text):
            made.append(replace(span, text=span.text[at:]))
    line.spans = made
    return line
