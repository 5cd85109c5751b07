"""One JSON text without its vectors, proven to be JSON: the seed's rule, and on demand the wide rules and masking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import orjson

from workbench.recordings import values
from workbench.recordings.edits import edited, string_text
from workbench.recordings.looks import look
from workbench.recordings.repeats import has_repeats
from workbench.recordings.scanner import Damage
from workbench.recordings.secrets import find_secrets
from workbench.recordings.seed_vectors import Replacement, find_by_token, find_vectors, replaced, summary_text
from workbench.recordings.wide import find_wide

_LONG_LINE = 1_000


@dataclass(frozen=True, slots=True)
class Options:
    """What is done to a text besides the seed's rule."""

    wide: bool = False
    redact: bool = False


class Run(Enum):
    """What follows each other in a part of a text."""

    ITEMS = "items"
    """Items of an array."""
    FIELDS = "fields"
    """Fields of an object."""
    LINES = "lines"
    """Whole lines, a value each; the last one without its line feed."""

    @property
    def around(self) -> tuple[bytes, bytes]:
        """The brackets that make one value of them."""
        return (b"{", b"}") if self is Run.FIELDS else (b"[", b"]")


@dataclass(frozen=True, slots=True)
class Slimmed:
    """A text without its vectors.

    Attributes:
        text: the bytes.
        by_rule: how many vectors each rule took.
        likely: how many more the wide rules would take.
        masked: how many strings were masked.
        bracketed: brackets stand around the text that do not belong to it.
        repeated: an object in it has a key twice.
        size: of what it was made of, in bytes; brackets that do not belong to it are not counted.
    """

    text: bytes
    by_rule: dict[str, int]
    likely: int = 0
    masked: int = 0
    bracketed: bool = False
    repeated: bool = False
    size: int = 0

    @property
    def body(self) -> bytes | memoryview:
        """The text as it stands in the copy."""
        return memoryview(self.text)[1:-1] if self.bracketed else self.text

    @property
    def count(self) -> int:
        """Vectors replaced."""
        return sum(self.by_rule.values())


def slimmed(data: bytes, options: Options, *, level: int = 0, proven: bool = False) -> Slimmed | None:
    """Slim one value; None when it is no JSON by the letter, unless ``proven`` says that it is readable all the same.

    The bytes outside of vectors are those of ``data``. Raises Damage when it is not readable though proven.
    """
    value: object
    try:
        found = find_vectors(data)
        text = replaced(data, found)
        value = orjson.loads(text)
    except (orjson.JSONDecodeError, Damage):
        if not proven and level == 0:
            return None
        found = find_by_token(data)
        text = replaced(data, found)
        value = values.loads(text)
    by_rule = _count(found)
    seen = look(value)
    if seen.left_over:  # a key that is spelled with escapes
        found = find_by_token(data)
        text, by_rule = replaced(data, found), _count(found)
        value = values.loads(text)
        seen = look(value)
    repeated = level == 0 and has_repeats(text, seen.keys)
    likely = 0
    if seen.likely:
        vectors, texts = find_wide(value, level=level)
        if options.wide:
            edits = {each.path: summary_text(each.dims, each.norm) for each in vectors}
            edits |= {each.path: string_text(each.text) for each in texts}
            for each in vectors:
                by_rule[each.rule] = by_rule.get(each.rule, 0) + 1
            inside = sum(each.count for each in texts)
            if inside:
                by_rule["W2"] = by_rule.get("W2", 0) + inside
            text = edited(text, edits)
        else:
            likely = len(vectors) + sum(each.count for each in texts)
    masked = 0
    if options.redact:
        secrets = find_secrets(values.loads(text))
        masked = len(secrets)
        text = edited(text, {path: string_text(masked_text) for path, masked_text in secrets.items()})
    return Slimmed(text, by_rule, likely, masked, repeated=repeated, size=len(data))


def slimmed_run(data: bytes, start: int, end: int, run: Run, options: Options) -> Slimmed | None:
    """Slim many values that follow each other in a range, at the cost of one; None when they are not just that.

    The commas or line feeds between them are in the range, what stands around them is not.
    """
    lines = run is Run.LINES
    if options.wide or options.redact:
        return None if lines else _as_one(data, start, end, run, options)
    value: object
    try:
        found = find_vectors(data, start, end)
        text = replaced(data, found, (b"", b"") if lines else run.around, start, end)
        value = _loads_lines(text) if lines else orjson.loads(text)
    except (orjson.JSONDecodeError, Damage):
        return None
    if lines and any(data.find(b"\n", each.start, each.end) >= 0 for each in found):
        return None
    seen = look(value)
    if seen.left_over:
        return None if lines else _as_one(data, start, end, run, options)
    likely = 0
    if seen.likely:
        vectors, texts = find_wide(value)
        likely = len(vectors) + sum(each.count for each in texts)
    return Slimmed(
        text,
        _count(found),
        likely,
        bracketed=not lines,
        repeated=has_repeats(text, seen.keys),
        size=end - start,
    )


def _loads_lines(text: bytes) -> list[object]:
    """Parse each line. Raises orjson's JSONDecodeError."""
    feed = text.find(b"\n")
    if feed < _LONG_LINE:
        return list(map(orjson.loads, text.split(b"\n")))
    # split() looks at each byte by itself, find() does not.
    lines, at, view = [], 0, memoryview(text)
    while feed >= 0:
        lines.append(orjson.loads(view[at:feed]))
        at = feed + 1
        feed = text.find(b"\n", at)
    lines.append(orjson.loads(view[at:]))
    return lines


def _as_one(data: bytes, start: int, end: int, run: Run, options: Options) -> Slimmed | None:
    """Slim them as the one value that brackets make of them."""
    one = slimmed(data[start:end].join(run.around), options)
    return None if one is None else replace(one, bracketed=True, size=end - start)


def _count(found: Sequence[Replacement]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in found:
        counts[each.rule] = counts.get(each.rule, 0) + 1
    return counts
