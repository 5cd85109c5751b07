"""How much of each chunk the embedder read: which ceiling holds, what lies beyond it, what might."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.checkup.exact import exact_clip
from workbench.checkup.incoming import refusal
from workbench.checkup.report import CeilingVerdict, Clipped, ClippedChunk, Code, Finding, FingerprintVerdict
from workbench.checkup.wording import counted, of_all, share, verb
from workbench.core.ceiling import ChunkCeiling
from workbench.embedders.models import model_table, resolve_index_ceiling

if TYPE_CHECKING:
    from workbench.checkup.options import CheckOptions, KnownEmbedder
    from workbench.core.job import Job
    from workbench.index.model import LengthAnswers, Namespace

_ORIGINS = {
    "explicit": "as given",
    "embedder": "as the embedder declares",
    "registry": "from the model table",
    "default": "the default: nothing declares one",
}
_BY_RECORD = "as its record declares"


def ceiling_of(namespace: Namespace, known: FingerprintVerdict, options: CheckOptions) -> ChunkCeiling:
    """Find the ceiling: explicit, else of the embedder or the namespace's record, else the table's, else 2,000."""
    embedder = _declaring(namespace, known, options)
    declared = namespace.max_input_chars if embedder is None else embedder
    return resolve_index_ceiling(options.explicit_ceiling, declared, known.model)


def _declaring(namespace: Namespace, known: FingerprintVerdict, options: CheckOptions) -> KnownEmbedder | None:
    """Find the embedder whose declaration counts instead of the record's.

    One that did not build the namespace says nothing of how its chunks were read, so a recorded ceiling stays.
    """
    embedder = options.embedder
    if embedder is None or embedder.max_input_chars is None:
        return None
    if _recorded(namespace) is None:
        return embedder
    return embedder if refusal(namespace, known, embedder.fingerprint) is None else None


def _recorded(namespace: Namespace) -> int | None:
    """Give the ceiling that the namespace's record declares, when it is one."""
    ceiling = resolve_index_ceiling(None, namespace.max_input_chars, None)
    return ceiling.chars if ceiling.source == "embedder" else None


def token_limit(known: FingerprintVerdict, options: CheckOptions) -> int | None:
    """Say how many tokens the model reads, where that is known."""
    if options.embedder is not None:
        return options.embedder.max_input_tokens
    entry = None if known.model is None else model_table().known(known.model)
    return None if entry is None else entry.max_input_tokens


def judge_ceiling(
    namespace: Namespace, known: FingerprintVerdict, options: CheckOptions, job: Job | None = None
) -> CeilingVerdict:
    """Count what lies behind the ceiling. The lengths are kept by the namespace: another ceiling then costs nothing."""
    ceiling = ceiling_of(namespace, known, options)
    embedder = _declaring(namespace, known, options)
    by_record = ceiling.source == "embedder" and embedder is None
    origin = _BY_RECORD if by_record else _ORIGINS[ceiling.source]
    notes = _overridden(namespace, ceiling)
    lengths = namespace.lengths(token_limit(known, replace(options, embedder=embedder)), job)
    if lengths is None:
        return CeilingVerdict(ceiling, None, namespace.no_text or "no text is stored", origin=origin, notes=notes)
    clipped = clip(lengths, ceiling)
    exact, why_not = exact_clip(namespace, known, clipped.total_chars, job)
    if exact is not None:
        clipped = replace(clipped, exact=exact)
    notes += why_not
    return CeilingVerdict(ceiling, clipped, None, _findings(clipped, ceiling, origin), origin, notes)


def _overridden(namespace: Namespace, ceiling: ChunkCeiling) -> tuple[str, ...]:
    recorded = _recorded(namespace)
    if ceiling.source != "explicit" or recorded is None or recorded == ceiling.chars:
        return ()
    return (f"its record declares a ceiling of {counted(recorded, 'character')}; the one that was given holds here",)


def clip(lengths: LengthAnswers, ceiling: ChunkCeiling) -> Clipped:
    """Say what one ceiling does, and list the longest of what it clips."""
    answer = lengths.clip(ceiling.chars)
    listed = tuple(
        ClippedChunk(each.id, each.chars, each.chars - ceiling.chars)
        for each in lengths.longest
        if each.chars > ceiling.chars
    )
    return Clipped(
        count=answer.count,
        total=answer.total,
        lost_chars=answer.lost_chars,
        total_chars=answer.total_chars,
        chunks=listed,
        not_listed=answer.count - len(listed),
        possible=answer.possible,
        exact=None,
        basis=lengths.basis,
    )


def _findings(clipped: Clipped, ceiling: ChunkCeiling, origin: str) -> tuple[Finding, ...]:
    number = clipped.count
    if number == 0:
        return ()
    message = (
        f"{of_all(number, clipped.total, 'chunk')} {verb(number, 'is', 'are')} longer than "
        f"{counted(ceiling.chars, 'character')} ({origin}): {counted(clipped.lost_chars, 'character')} "
        f"({share(clipped.lost_chars, clipped.total_chars)} of the text) {verb(clipped.lost_chars, 'was', 'were')} "
        "never read, and no search can find what stands there"
    )
    fix = "split these chunks below the ceiling and index them again"
    if ceiling.source in ("default", "registry"):
        fix += "; if the embedder reads more, give its real limit with --max-chunk-chars"
    return (Finding(Code.CLIPPED_CHUNKS, message, fix),)
