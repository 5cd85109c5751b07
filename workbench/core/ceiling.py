"""How much of a chunk an embedder reads: which number holds, who says so, and the one warning about the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from workbench.core.numbers import is_number, number_text, to_float

CeilingSource = Literal["explicit", "embedder", "registry", "default"]

DEFAULT_MAX_CHUNK_CHARS = 2_000
"""The ceiling in UTF-16 code units where nobody declares one."""

_SOURCES: dict[str, str] = {
    "explicit": "explicit: as given",
    "embedder": "embedder: as the embedder declares",
    "registry": "registry: from the model table",
    "default": "default: nothing declares one",
}
_RESPLIT = "split the text into smaller pieces (the splitter's maxChars) and index again"


@dataclass(frozen=True, slots=True)
class ChunkCeiling:
    """How many UTF-16 code units of a chunk are read, and who says so. Clipped is strictly longer."""

    chars: int
    source: CeilingSource


def resolve_chunk_ceiling(explicit: object, embedder: object) -> ChunkCeiling:
    """Find the ceiling as the seed library does: the caller's number, else the embedder's, else 2,000.

    ``embedder`` is anything with ``max_input_chars``, or None. A number counts when it is an int or float (no bool),
    finite and above 0; it is then rounded down, so that 0.5 is a ceiling of 0.
    """
    chars = _usable(explicit)
    if chars is not None:
        return ChunkCeiling(chars, "explicit")
    chars = _usable(getattr(embedder, "max_input_chars", None))
    if chars is not None:
        return ChunkCeiling(chars, "embedder")
    return ChunkCeiling(DEFAULT_MAX_CHUNK_CHARS, "default")


def _usable(value: object) -> int | None:
    if not isinstance(value, int | float) or not is_number(value):
        return None
    number = to_float(value)
    return math.floor(number) if 0 < number < math.inf else None


def truncation_warning(
    *,
    caller: str,
    count: int,
    total: int,
    noun: str,
    ceiling: ChunkCeiling,
    embedder_id: str | None = None,
    ids_in: str | None = None,
    resplit_hint: str | None = None,
) -> str:
    """Say that ``count`` of ``total`` texts are longer than the ceiling, whose number that is, and what to do.

    ``ids_in`` says where the ids are; ``resplit_hint`` replaces the advice to split smaller (an empty one removes it).
    """
    who = f"the embedder '{embedder_id}'" if embedder_id else "an embedder that does not name itself"
    raise_it = "if the embedder reads more, state its real limit (maxChunkChars, --max-chunk-chars) and index again"
    hint = _RESPLIT if resplit_hint is None else resplit_hint
    message = (
        f"{caller}: {number_text(count)} of {number_text(total)} {noun}{'' if total == 1 else 's'} longer than the "
        f"{number_text(ceiling.chars)}-character ceiling of {who} ({_SOURCES[ceiling.source]}); what lies beyond is "
        f"stored and shown, but no search can reach it. Ways out: {f'{hint}; or ' if hint else ''}{raise_it}."
    )
    return f"{message} The ids are in {ids_in}." if ids_in else message
