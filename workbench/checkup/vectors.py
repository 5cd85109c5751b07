"""Vectors that no search can ever rank: missing, of another length, not finite, or zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checkup.report import Code, Finding, VectorVerdict
from workbench.checkup.wording import counted, of_all, verb

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.index.model import Namespace, VectorHealth


def judge_vectors(namespace: Namespace, now_ms: int, job: Job | None = None) -> VectorVerdict:
    """Scan the vectors once and say which rows a search can never reach."""
    health = namespace.health(now_ms, job)
    return VectorVerdict(health, tuple(_findings(health)))


def _findings(health: VectorHealth) -> list[Finding]:
    judges = (_missing, _wrong_dims, _non_finite, _zero)
    return [finding for judge in judges if (finding := judge(health)) is not None]


def _missing(health: VectorHealth) -> Finding | None:
    number = health.missing
    if number == 0:
        return None
    message = (
        f"{of_all(number, health.count, 'row')} {verb(number, 'has', 'have')} no vector: "
        f"no search can ever find {verb(number, 'it', 'them')}"
    )
    fix = "embed these chunks again; a failed or empty answer of the embedder is the usual cause"
    return Finding(Code.MISSING_VECTORS, message, fix)


def _wrong_dims(health: VectorHealth) -> Finding | None:
    number = health.wrong_dims
    if number == 0:
        return None
    message = (
        f"{of_all(number, health.count, 'row')} {verb(number, 'holds a vector', 'hold vectors')} of another length "
        f"than {health.dims or 0:,}: {verb(number, 'it', 'they')} cannot be compared with a query, "
        "and some stores fail the whole search"
    )
    fix = "find out which embedder wrote them, then re-index these chunks with the one of the namespace"
    return Finding(Code.WRONG_DIMS, message, fix)


def _non_finite(health: VectorHealth) -> Finding | None:
    number = health.non_finite
    if number == 0:
        return None
    message = (
        f"{counted(number, 'vector')} {verb(number, 'holds', 'hold')} a NaN, an infinity or a NULL: the similarity is "
        "not a number, and some stores rank such rows first or fail the whole search"
    )
    fix = "embed these chunks again, and store an answer of the embedder only when every element is finite"
    return Finding(Code.NON_FINITE_VECTORS, message, fix)


def _zero(health: VectorHealth) -> Finding | None:
    number = health.zero
    if number == 0:
        return None
    message = (
        f"{counted(number, 'vector')} {verb(number, 'is', 'are')} zero in every element: without a direction "
        "nothing can be compared, and some stores rank such rows first"
    )
    fix = "embed these chunks again; a failed request stored as zeros is the usual cause"
    return Finding(Code.ZERO_VECTORS, message, fix)
