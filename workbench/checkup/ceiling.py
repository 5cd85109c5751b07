"""How much of each chunk the embedder read: which ceiling holds, what lies beyond it, what might."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checkup.report import CeilingVerdict, Clipped, ClippedChunk, Code, Finding, FingerprintVerdict
from workbench.checkup.wording import counted, of_all, share, verb
from workbench.core.ceiling import ChunkCeiling
from workbench.embedders.models import model_table, resolve_index_ceiling

if TYPE_CHECKING:
    from workbench.checkup.options import CheckOptions
    from workbench.index.job import Job
    from workbench.index.model import LengthAnswers, Namespace

_WHOSE = {
    "explicit": "as given",
    "embedder": "declared by the embedder",
    "registry": "from the model table",
    "default": "the default, since nothing declares one",
}


def ceiling_of(namespace: Namespace, known: FingerprintVerdict, options: CheckOptions) -> ChunkCeiling:
    """Find the ceiling: explicit, else of the embedder or the namespace's record, else the table's, else 2,000."""
    declared = namespace.max_input_chars if options.embedder is None else options.embedder
    return resolve_index_ceiling(options.explicit_ceiling, declared, known.model)


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
    lengths = namespace.lengths(token_limit(known, options), job)
    if lengths is None:
        return CeilingVerdict(ceiling, None, namespace.no_text or "no text is stored")
    clipped = clip(lengths, ceiling)
    recorded = options.embedder is None
    return CeilingVerdict(ceiling, clipped, None, _findings(clipped, ceiling, recorded=recorded))


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


def _findings(clipped: Clipped, ceiling: ChunkCeiling, *, recorded: bool) -> tuple[Finding, ...]:
    number = clipped.count
    if number == 0:
        return ()
    whose = "as the namespace records" if ceiling.source == "embedder" and recorded else _WHOSE[ceiling.source]
    message = (
        f"{of_all(number, clipped.total, 'chunk')} {verb(number, 'is', 'are')} longer than "
        f"{counted(ceiling.chars, 'character')} ({whose}): {counted(clipped.lost_chars, 'character')} "
        f"({share(clipped.lost_chars, clipped.total_chars)} of the text) {verb(clipped.lost_chars, 'was', 'were')} "
        "never read, and no search can find what stands there"
    )
    fix = "split these chunks below the ceiling and index them again"
    if ceiling.source in ("default", "registry"):
        fix += "; if the embedder reads more, give its real limit with --max-chunk-chars"
    return (Finding(Code.CLIPPED_CHUNKS, message, fix),)
