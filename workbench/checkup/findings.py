"""What can be found wrong: codes, how bad each is, and one finding in words. Light, so that a screen is drawn soon."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is, worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Code(StrEnum):
    """Every finding about an index, a recording or a routing log, in the order in which one severity's are told."""

    EMBEDDER_MISMATCH = "embedder-mismatch"
    MIXED_FINGERPRINTS = "mixed-fingerprints"
    UNREADABLE_SOURCE = "unreadable-source"
    CONTAMINATED_BY_FALLBACK = "contaminated-by-fallback"
    WRONG_SPACE_RETRIEVAL = "wrong-space-retrieval"
    RETRIEVED_CLIPPED = "retrieved-clipped"
    CLIPPED_CHUNKS = "clipped-chunks"
    NON_FINITE_VECTORS = "non-finite-vectors"
    ZERO_VECTORS = "zero-vectors"
    WRONG_DIMS = "wrong-dims"
    MISSING_VECTORS = "missing-vectors"
    DUPLICATE_IDS = "duplicate-ids"
    FINGERPRINT_LOST = "fingerprint-lost"
    INCOMPLETE_RECORDING = "incomplete-recording"
    VECTORS_NOT_SUMMARISED = "vectors-not-summarised"
    FINGERPRINT_UNKNOWN = "fingerprint-unknown"


RECORDING_CODES = frozenset(
    {
        Code.WRONG_SPACE_RETRIEVAL,
        Code.RETRIEVED_CLIPPED,
        Code.INCOMPLETE_RECORDING,
        Code.VECTORS_NOT_SUMMARISED,
    }
)
"""Codes that arise only from recordings."""

ROUTING_CODES = frozenset({Code.CONTAMINATED_BY_FALLBACK})
"""Codes that arise only from routing logs."""

_ERRORS = frozenset({Code.EMBEDDER_MISMATCH, Code.MIXED_FINGERPRINTS, Code.UNREADABLE_SOURCE})
_ORDER = {code: place for place, code in enumerate(Code)}
_RANK = {severity: place for place, severity in enumerate(Severity)}


def severity_of(code: Code) -> Severity:
    """Look up the severity that a code always has."""
    if code in _ERRORS:
        return Severity.ERROR
    return Severity.INFO if code is Code.FINGERPRINT_UNKNOWN else Severity.WARNING


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: what and how much with its consequence, and the way out."""

    code: Code
    message: str
    fix: str

    @property
    def severity(self) -> Severity:
        """As the code has it."""
        return severity_of(self.code)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors, then warnings, then infos; within one severity in the order of Code."""
    return tuple(sorted(findings, key=lambda each: (_RANK[each.severity], _ORDER[each.code])))
