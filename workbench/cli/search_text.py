"""The answer of a search, as text for people and as the document for scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.checkup.report import Compared
from workbench.checkup.wording import counted, verb
from workbench.cli.output import Sign, Style

if TYPE_CHECKING:
    from workbench.checkup.report import IncomingVerdict
    from workbench.cli.output import Output
    from workbench.core.ceiling import ChunkCeiling
    from workbench.core.fingerprint import EmbedderMismatchError
    from workbench.index.model import Hit, SearchResult

_PREVIEW = 160


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found, asked with which embedder's vector, and how that was compared with the namespace's."""

    namespace: str
    incoming: IncomingVerdict
    ceiling: ChunkCeiling
    result: SearchResult


def answer_as_json(answer: Answer) -> dict[str, object]:
    """Write the whole document."""
    result = answer.result
    return {
        "namespace": answer.namespace,
        "fingerprint": answer.incoming.against,
        "incoming": answer.incoming.fingerprint,
        "hits": [
            {
                "rank": rank,
                "id": hit.id,
                "score": hit.score,
                "chars": hit.chars,
                "lost": _lost(hit, answer.ceiling),
                "text": hit.text,
            }
            for rank, hit in enumerate(result.hits, 1)
        ],
        "left_out": result.left_out,
        "other_model": result.other_model,
        "missing": result.missing,
        "expired": result.expired,
        "compared": answer.incoming.compared.value,
        "ceiling": {"chars": answer.ceiling.chars, "source": answer.ceiling.source},
    }


def refusal_as_json(refused: EmbedderMismatchError) -> dict[str, object]:
    """Write the document of a refused search."""
    return {
        "refused": {
            "code": refused.code,
            "indexed": refused.indexed,
            "incoming": refused.incoming,
            "problem": refused.problem,
            "message": str(refused),
        }
    }


def write_answer(out: Output, answer: Answer) -> None:
    """Write the hits, best first, then what could not take part."""
    result = answer.result
    out.line(f"{answer.namespace} · asked with {answer.incoming.fingerprint}", Style.BOLD)
    if answer.incoming.compared is Compared.DIMS:
        out.verdict(Sign.UNKNOWN, answer.incoming.message, indent=0)
    for rank, hit in enumerate(result.hits, 1):
        lost = _lost(hit, answer.ceiling)
        out.row(f"{rank:>3}  {hit.score:.4f}  {hit.id}", f"{counted(lost, 'character')} never read" if lost else "")
        if hit.text:
            out.paragraph(out.excerpt(hit.text, _PREVIEW), indent=5, style=Style.FAINT)
    if not result.hits:
        out.verdict(Sign.EMPTY, "nothing to rank")
    if result.other_model:
        left_out = f"{counted(result.other_model, 'vector')} of another model {verb(result.other_model, 'was', 'were')}"
        out.verdict(Sign.WARNING, f"{left_out} left out: scores between the vectors of two models mean nothing")
    for number, why in (
        (result.left_out, "left out: zero, not finite, or of another length"),
        (result.missing, "without a vector"),
        (result.expired, "expired and left out"),
    ):
        if number:
            out.verdict(Sign.NOTE, f"{number:,} {why}")


def _lost(hit: Hit, ceiling: ChunkCeiling) -> int | None:
    return None if hit.chars is None else max(0, hit.chars - ceiling.chars)
