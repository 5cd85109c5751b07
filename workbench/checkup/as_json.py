"""The typed report as the plain values that `check --json` writes: every key of the contract, and a few more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.core.fingerprint import fingerprint_text

if TYPE_CHECKING:
    from workbench.checkup.report import (
        CheckReport,
        Clipped,
        Finding,
        IncomingVerdict,
        NamespaceReport,
        SourceReport,
        VectorVerdict,
    )
    from workbench.index.model import NormSpread

JsonObject = dict[str, object]


def check_as_json(report: CheckReport) -> JsonObject:
    """Write the whole document."""
    totals = report.totals
    return {
        "sources": [source_as_json(source) for source in report.sources],
        "findings": {"error": totals.error, "warning": totals.warning, "info": totals.info},
        "skipped": [{"folder": skipped.folder, "count": skipped.count} for skipped in report.skipped],
    }


def source_as_json(source: SourceReport) -> JsonObject:
    """Write one source; ``findings`` and ``notes`` of the file itself stand beside those of its namespaces."""
    return {
        "path": source.path,
        "container": source.container,
        "adapter": source.adapter,
        "readable": source.readable,
        "problem": None if source.problem is None else source.problem.value,
        "message": source.message,
        "namespaces": [namespace_as_json(namespace) for namespace in source.namespaces],
        "findings": [_finding(finding) for finding in source.findings],
        "notes": list(source.notes),
    }


def namespace_as_json(report: NamespaceReport) -> JsonObject:
    """Write one namespace."""
    known = report.fingerprints
    health = report.vectors.health
    ceiling = report.ceiling
    return {
        "name": report.name,
        "adapter": report.adapter,
        "fingerprint": None if known.recorded is None else fingerprint_text(known.recorded),
        "fingerprints": [{"fingerprint": each.fingerprint, "count": each.count} for each in known.counts],
        "count": health.count,
        "dims": health.dims,
        "ceiling": {"chars": ceiling.ceiling.chars, "source": ceiling.ceiling.source},
        "clipped": None if ceiling.clipped is None else _clipped(ceiling.clipped),
        "vectors": _vectors(report.vectors),
        "incoming": None if report.incoming is None else incoming_as_json(report.incoming),
        "findings": [_finding(finding) for finding in report.findings],
        "duplicates": {"ids": report.duplicates.duplicates.ids, "rows": report.duplicates.duplicates.rows},
        "guesses": list(known.guesses),
        "text_note": ceiling.text_note,
        "notes": [*report.notes, *known.notes, *ceiling.notes],
    }


def incoming_as_json(verdict: IncomingVerdict) -> JsonObject:
    """Write the verdict on the incoming embedder."""
    return {
        "fingerprint": verdict.fingerprint,
        "conflict": verdict.conflict,
        "compared": verdict.compared.value,
        "same_model": verdict.same_model,
        "message": verdict.message,
        "against": verdict.against,
    }


def _clipped(clipped: Clipped) -> JsonObject:
    exact = clipped.exact
    return {
        "count": clipped.count,
        "total": clipped.total,
        "lost_chars": clipped.lost_chars,
        "total_chars": clipped.total_chars,
        "chunks": [{"id": each.id, "chars": each.chars, "lost": each.lost} for each in clipped.chunks],
        "not_listed": clipped.not_listed,
        "possible": clipped.possible,
        "exact": None
        if exact is None
        else {"tokenizer": exact.tokenizer, "count": exact.count, "lost_chars": exact.lost_chars},
        "basis": clipped.basis,
    }


def _vectors(verdict: VectorVerdict) -> JsonObject:
    health = verdict.health
    return {
        "missing": health.missing,
        "zero": health.zero,
        "non_finite": health.non_finite,
        "wrong_dims": health.wrong_dims,
        "expired": health.expired,
        "norm": None if health.norm is None else _norm(health.norm),
    }


def _norm(norm: NormSpread) -> JsonObject:
    return {"min": _finite(norm.min), "median": _finite(norm.median), "max": _finite(norm.max)}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _finding(finding: Finding) -> JsonObject:
    return {
        "code": finding.code.value,
        "severity": finding.severity.value,
        "message": finding.message,
        "fix": finding.fix,
    }
