"""All verdicts about one namespace, one after the other, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.checkup.ceiling import judge_ceiling
from workbench.checkup.duplicates import judge_duplicates
from workbench.checkup.fingerprints import judge_fingerprints
from workbench.checkup.incoming import judge_incoming
from workbench.checkup.report import (
    CeilingVerdict,
    DuplicateVerdict,
    FingerprintVerdict,
    IncomingVerdict,
    NamespaceReport,
    VectorVerdict,
)
from workbench.checkup.vectors import judge_vectors

if TYPE_CHECKING:
    from workbench.checkup.options import CheckOptions
    from workbench.core.job import Job
    from workbench.index.model import Namespace

Verdict = FingerprintVerdict | IncomingVerdict | CeilingVerdict | VectorVerdict | DuplicateVerdict


def examine(namespace: Namespace, options: CheckOptions, now_ms: int, job: Job | None = None) -> Iterator[Verdict]:
    """Give the verdicts as they are reached: fingerprints, incoming if asked, ceiling, vectors, duplicates."""
    known = judge_fingerprints(namespace, job)
    yield known
    asked = options.asked
    if asked is not None:
        yield judge_incoming(namespace, known, asked)
    yield judge_ceiling(namespace, known, options, job)
    yield judge_vectors(namespace, now_ms, job)
    yield judge_duplicates(namespace, job)


def check_namespace(
    namespace: Namespace, options: CheckOptions, now_ms: int, job: Job | None = None
) -> NamespaceReport:
    """Reach all verdicts about one namespace. ``now_ms`` (epoch milliseconds) decides what has expired.

    Raises SourceError when the file cannot be read to the end, Cancelled when the job was given up.
    """
    known = judge_fingerprints(namespace, job)
    asked = options.asked
    return NamespaceReport(
        name=namespace.name,
        adapter=namespace.adapter,
        fingerprints=known,
        incoming=None if asked is None else judge_incoming(namespace, known, asked),
        ceiling=judge_ceiling(namespace, known, options, job),
        vectors=judge_vectors(namespace, now_ms, job),
        duplicates=judge_duplicates(namespace, job),
        notes=namespace.notes,
    )
