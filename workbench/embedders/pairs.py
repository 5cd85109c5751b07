"""Two embedders that stand in for each other: whether their vectors may meet, and the refusal to write when not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from workbench.core.fingerprint import Conflict, Fingerprint, conflict_reason, fingerprint_conflict, fingerprint_text


class Named(Protocol):
    """What is asked of an embedder here; a provider is one, and so may be its configuration."""

    @property
    def model_id(self) -> str:
        """The id of its fingerprint."""

    @property
    def dimensions(self) -> int | None:
        """The length of its vectors; None while unknown."""


@dataclass(frozen=True, slots=True)
class PairConflict:
    """A primary and a fallback whose vectors cannot live together.

    Attributes:
        primary: its model id and length, as text (``?`` for a length that is not known yet).
        fallback: the same of the one that stands in.
        problem: ``dimensions`` or ``model``, as ``fingerprint_conflict`` says it.
    """

    primary: str
    fallback: str
    problem: Conflict

    @property
    def message(self) -> str:
        """The conflict in one sentence, for whoever reads the configuration."""
        return (
            f"'{self.primary}' falls back to '{self.fallback}', which is another embedder "
            f"({self.problem}: {conflict_reason(self.problem)})"
        )


class EmbedderPairError(Exception):
    """A pair of conflicting embedders was about to write vectors. Nothing was done.

    Attributes:
        code: always ``ERR_EMBEDDER_PAIR``.
        conflict: the pair.
        namespace: where it would have written, None when that is not decided yet.
    """

    code: str = "ERR_EMBEDDER_PAIR"

    def __init__(self, conflict: PairConflict, namespace: str | None = None) -> None:
        self.conflict = conflict
        self.namespace = namespace
        where = "an index" if namespace is None else f"namespace '{namespace}'"
        super().__init__(
            f"refused to write to {where} with a fallback: {conflict.message}. Vectors of the fallback would be "
            f"stored under the primary's name. Ways out: write with '{conflict.primary}' alone; name a fallback that "
            "serves the same model from another host; or give each embedder a namespace of its own. For queries that "
            "nothing stores the pair may stay."
        )

    def __reduce__(self) -> tuple[type[EmbedderPairError], tuple[PairConflict, str | None]]:
        """Rebuild from the arguments, not from the message, when pickled or copied."""
        return type(self), (self.conflict, self.namespace)


def pair_conflict(primary: Named, fallback: Named) -> PairConflict | None:
    """Say why the vectors of two embedders cannot live together, None when they can.

    A length that is not known yet is taken to be the other's: then the ids alone decide.
    """
    ours, theirs = primary.dimensions, fallback.dimensions
    problem = fingerprint_conflict(
        Fingerprint(primary.model_id, _known(ours, theirs)), Fingerprint(fallback.model_id, _known(theirs, ours))
    )
    return None if problem is None else PairConflict(name_of(primary), name_of(fallback), problem)


def conflict_in(embedder: object) -> PairConflict | None:
    """Give the conflict of an embedder that is composed of others; None when it has none or is not composed."""
    conflict = getattr(embedder, "conflict", None)
    return conflict if isinstance(conflict, PairConflict) else None


def refuse_mixed_write(embedder: object, namespace: str | None = None) -> None:
    """Let an embedder write only when all of its vectors live in one space; ask before anything is embedded.

    Raises:
        EmbedderPairError: when it is composed of embedders that conflict.
    """
    conflict = conflict_in(embedder)
    if conflict is not None:
        raise EmbedderPairError(conflict, namespace)


def _known(dims: int | None, other: int | None) -> int:
    return next((known for known in (dims, other) if known is not None), 0)


def name_of(embedder: Named) -> str:
    """Write ``<id>@<dims>``, with ``?`` for a length that is not known yet."""
    if embedder.dimensions is None:
        return f"{embedder.model_id}@?"
    return fingerprint_text(Fingerprint(embedder.model_id, embedder.dimensions))
