"""What a check-up says: findings, and the typed verdicts that `check --json` prints and the screens show.

Lengths are in UTF-16 code units, times in epoch milliseconds. Strings of files are kept exactly as they are; whoever
draws them makes them inert.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from workbench.checkup.findings import Code as Code
from workbench.checkup.findings import Finding as Finding
from workbench.checkup.findings import Severity as Severity
from workbench.checkup.findings import severity_of as severity_of
from workbench.checkup.findings import worst_first as worst_first
from workbench.core.fingerprint import fingerprint_text

if TYPE_CHECKING:
    from workbench.core.ceiling import ChunkCeiling
    from workbench.core.fingerprint import Fingerprint
    from workbench.index.model import DuplicateIds, FingerprintCount, Problem, VectorHealth


@dataclass(frozen=True, slots=True)
class FingerprintVerdict:
    """What a namespace says of its embedder, and what its vectors say.

    Attributes:
        recorded: what a registry or the file's metadata records; None when nothing says.
        counts: what the vectors say, most frequent first; anonymous ones as ``?@<length>``.
        count: rows, with and without a vector.
        model: the one model that the record, or else every vector, names; None when none or several are named.
        guesses: models of the table with the same length, offered when nothing names one.
        notes: what is odd and no finding, each one sentence.
    """

    recorded: Fingerprint | None
    counts: tuple[FingerprintCount, ...]
    count: int
    model: Fingerprint | None
    guesses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def shown(self) -> str | None:
        """The one fingerprint that stands for the namespace: recorded, else the most frequent that names a model."""
        if self.recorded is not None:
            return fingerprint_text(self.recorded)
        named = [each for each in self.counts if not each.fingerprint.startswith("?@")]
        return next((each.fingerprint for each in (*named, *self.counts)), None)


class Compared(StrEnum):
    """What decided about an incoming embedder."""

    BOTH = "both"
    DIMS = "dims"


@dataclass(frozen=True, slots=True)
class IncomingVerdict:
    """Whether an embedder that is about to be used fits a namespace.

    Attributes:
        fingerprint: the incoming one, as text.
        against: the fingerprint it was held against, as text; None when nothing is known, not even a length.
        conflict: ``dimensions``, ``model`` or None.
        compared: ``dims`` when one side is anonymous.
        same_model: the model table lists both spellings as one space.
        message: the refusal, or one sentence saying what was compared.
        reason: the part of the message that says why, without the names and the ways out.
        fits_all: no vector of the namespace says that another embedder made it.
    """

    fingerprint: str
    against: str | None
    conflict: str | None
    compared: Compared
    same_model: bool
    message: str
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    fits_all: bool = True

    @property
    def verified(self) -> bool:
        """Whether both sides name a model, it is the same, and every vector may be of it."""
        return self.conflict is None and self.compared is Compared.BOTH and self.fits_all


@dataclass(frozen=True, slots=True)
class ClippedChunk:
    """One chunk longer than the ceiling, and how much of it was never read."""

    id: str
    chars: int
    lost: int


@dataclass(frozen=True, slots=True)
class ExactClip:
    """The same answer in tokens, given when the model's tokenizer is at hand."""

    tokenizer: str
    count: int
    lost_chars: int


@dataclass(frozen=True, slots=True)
class Clipped:
    """What the ceiling does to a namespace whose texts are stored.

    Attributes:
        count, total: chunks strictly longer than the ceiling, of all chunks, those with empty text too.
        lost_chars, total_chars: code units behind the ceiling, of all.
        chunks: longest first, at most 1,000; ``not_listed`` counts the rest.
        possible: chunks within the ceiling whose bytes could still be more tokens than the model reads.
        basis: ``stored`` when the file keeps the lengths, ``counted`` when the texts were read.
    """

    count: int
    total: int
    lost_chars: int
    total_chars: int
    chunks: tuple[ClippedChunk, ...]
    not_listed: int
    possible: int
    exact: ExactClip | None
    basis: str


@dataclass(frozen=True, slots=True)
class CeilingVerdict:
    """The ceiling that holds for a namespace, and what it clips; ``clipped`` is None where no text is stored.

    ``origin`` says in words whose number the ceiling is; ``notes`` what is odd about it, each one sentence.
    """

    ceiling: ChunkCeiling
    clipped: Clipped | None
    text_note: str | None = None
    findings: tuple[Finding, ...] = ()
    origin: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorVerdict:
    """What a search can do with the vectors."""

    health: VectorHealth
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class DuplicateVerdict:
    """Ids that stand more than once."""

    duplicates: DuplicateIds
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class NamespaceReport:
    """Everything that is said of one namespace."""

    name: str
    adapter: str
    fingerprints: FingerprintVerdict
    incoming: IncomingVerdict | None
    ceiling: CeilingVerdict
    vectors: VectorVerdict
    duplicates: DuplicateVerdict
    notes: tuple[str, ...] = ()

    @property
    def not_judged(self) -> int:
        """How many concerns could not be judged: an incoming embedder by name, clipping without texts."""
        incoming = self.incoming
        unverified = incoming is not None and incoming.conflict is None and incoming.compared is Compared.DIMS
        return unverified + (self.ceiling.text_note is not None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of all concerns, worst first."""
        parts = (self.fingerprints, self.incoming, self.ceiling, self.vectors, self.duplicates)
        return worst_first(finding for part in parts if part is not None for finding in part.findings)


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One PATH, or one source found in a folder: what it is, and its namespaces or why it cannot be read.

    ``not_asked`` counts the namespaces that it has beside those that were asked for by name.
    """

    path: str
    container: str | None
    adapter: str | None = None
    namespaces: tuple[NamespaceReport, ...] = ()
    problem: Problem | None = None
    message: str | None = None
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_asked: int = 0

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Those of the file itself, then those of its namespaces."""
        return self.findings + tuple(finding for namespace in self.namespaces for finding in namespace.findings)

    @property
    def readable(self) -> bool:
        """Whether it could be opened and read to the end."""
        return self.problem is None


@dataclass(frozen=True, slots=True)
class Totals:
    """How many findings of each severity, unreadable sources among the errors."""

    error: int = 0
    warning: int = 0
    info: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """Files of a folder that are no source."""

    folder: str
    count: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What `workbench check` says of all its PATHs, in their order."""

    sources: tuple[SourceReport, ...]
    skipped: tuple[Skipped, ...] = field(default=())

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, source by source."""
        return tuple(finding for source in self.sources for finding in source.all_findings)

    @property
    def totals(self) -> Totals:
        """Counted by severity."""
        severities = [finding.severity for finding in self.findings]
        return Totals(*(severities.count(severity) for severity in Severity))

    @property
    def any_readable(self) -> bool:
        """Whether at least one source could be read."""
        return any(source.readable for source in self.sources)
