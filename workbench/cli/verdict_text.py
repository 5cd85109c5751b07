"""A check report as text for people: source by source, namespace by namespace, worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checkup.recording_report import RECORDING
from workbench.checkup.report import Code, Compared, Severity
from workbench.checkup.routing import ROUTING_LOG
from workbench.checkup.wording import counted, in_tokens, norm_text
from workbench.cli.output import Sign, Style
from workbench.core.fingerprint import fingerprint_text

if TYPE_CHECKING:
    from workbench.checkup.report import (
        CheckReport,
        Clipped,
        Finding,
        IncomingVerdict,
        NamespaceReport,
        SourceReport,
    )
    from workbench.cli.output import Output

_SIGNS = {Severity.ERROR: Sign.ERROR, Severity.WARNING: Sign.WARNING, Severity.INFO: Sign.UNKNOWN}
_LISTED_CHUNKS = 3
_ID_COLUMNS = 44


def write_report(out: Output, report: CheckReport) -> None:
    """Write everything, and one line of totals at the end."""
    for source in report.sources:
        _source(out, source, _Refusals())
        out.line()
    for skipped in report.skipped:
        files = counted(skipped.count, "file")
        out.line(f"{files} in {skipped.folder} skipped: neither index nor recording", Style.FAINT)
    out.line(_totals(report), Style.BOLD)


class _Refusals:
    """Tells a refusal at full length once for each source, then only what differs."""

    def __init__(self) -> None:
        self._told: set[str | None] = set()

    def sentence(self, incoming: IncomingVerdict) -> str:
        """Say why the incoming embedder is refused; the ways out stand in the first of a kind."""
        if incoming.conflict not in self._told:
            self._told.add(incoming.conflict)
            return incoming.message
        maybe = "; maybe the same model under another name" if incoming.same_model else ""
        return f"refused likewise ({incoming.conflict}): indexed with '{incoming.against}'{maybe}"


def _source(out: Output, source: SourceReport, refusals: _Refusals) -> None:
    kind = " · ".join(part for part in (source.container, source.adapter) if part)
    out.row(source.path, kind)
    if not source.readable:
        out.verdict(Sign.ERROR, source.message or "cannot be read")
        return
    for note in source.notes:
        out.verdict(Sign.NOTE, note)
    if source.container in (RECORDING, ROUTING_LOG):
        for finding in source.findings:
            out.verdict(_SIGNS[finding.severity], finding.message)
            out.paragraph(finding.fix, indent=5, style=Style.FAINT)
        return
    if not source.namespaces:
        out.verdict(Sign.EMPTY, "none of that name" if source.not_asked else "no namespace")
    for namespace in source.namespaces:
        _namespace(out, namespace, refusals)


def _namespace(out: Output, report: NamespaceReport, refusals: _Refusals) -> None:
    out.line()
    out.row(f"  {report.name}", counted(report.vectors.health.count, "chunk"))
    out.paragraph(_identity(report), indent=2, style=Style.FAINT)
    for finding in report.findings:
        if finding.code is Code.EMBEDDER_MISMATCH and report.incoming is not None:
            out.verdict(Sign.ERROR, refusals.sentence(report.incoming))
        else:
            _finding(out, report, finding)
    for sign, sentence in _in_order(report):
        out.verdict(sign, sentence)
    if report.ceiling.text_note is not None:
        out.verdict(Sign.UNKNOWN, f"clipping cannot be judged: {report.ceiling.text_note}")
    for note in (*report.notes, *report.fingerprints.notes, *report.ceiling.notes):
        out.verdict(Sign.NOTE, note)


def _identity(report: NamespaceReport) -> str:
    """Which embedder it says it has, and the ceiling that was applied."""
    known = report.fingerprints
    ceiling = report.ceiling.ceiling
    if known.recorded is not None:
        embedder = fingerprint_text(known.recorded)
    elif known.counts:
        embedder = known.counts[0].fingerprint
    else:
        embedder = "no vectors yet"
    return f"{embedder}, ceiling {counted(ceiling.chars, 'character')} ({report.ceiling.origin})"


def _finding(out: Output, report: NamespaceReport, finding: Finding) -> None:
    out.verdict(_SIGNS[finding.severity], finding.message)
    clipped = report.ceiling.clipped
    if finding in report.ceiling.findings and clipped is not None:
        _longest(out, clipped)
    out.paragraph(finding.fix, indent=5, style=Style.FAINT)


def _longest(out: Output, clipped: Clipped) -> None:
    for chunk in clipped.chunks[:_LISTED_CHUNKS]:
        id = (
            chunk.id if len(chunk.id) <= _ID_COLUMNS else f"{chunk.id[: _ID_COLUMNS - len(out.ellipsis)]}{out.ellipsis}"
        )
        out.line(f"     {id}  {chunk.chars:,} characters, {chunk.lost:,} lost", Style.FAINT)
    rest = clipped.count - min(_LISTED_CHUNKS, len(clipped.chunks))
    if rest:
        out.line(f"     and {rest:,} more", Style.FAINT)


def _in_order(report: NamespaceReport) -> list[tuple[Sign, str]]:
    """Give a sentence for each concern that was judged and found in order, or that could not be."""
    said: list[tuple[Sign, str]] = []
    if report.incoming is not None and not report.incoming.findings:
        partly = Sign.WARNING if report.incoming.compared is Compared.BOTH else Sign.UNKNOWN
        said.append((Sign.OK if report.incoming.verified else partly, report.incoming.message))
    clipped = report.ceiling.clipped
    if clipped is not None and clipped.count == 0 and clipped.total:
        unsure = clipped.possible and clipped.exact is None
        maybe = f"; {clipped.possible:,} may still be too long in tokens" if unsure else ""
        within = f"no chunk is longer than {counted(report.ceiling.ceiling.chars, 'character')}{maybe}"
        said.append((Sign.OK, within))
    if clipped is not None and clipped.exact is not None and clipped.total:
        sign = Sign.WARNING if clipped.exact.count else Sign.OK
        said.append((sign, in_tokens(clipped.exact, clipped.total)))
    health = report.vectors.health
    usable = health.count - health.missing - health.unusable
    if health.count and not report.vectors.findings:
        every = "the vector" if usable == 1 else f"all {usable:,} vectors"
        rankable = f"a search can rank {every} of {counted(health.dims or 0, 'dimension')}{_norms(report)}"
        said.append((Sign.OK, rankable))
    if health.expired:
        said.append((Sign.NOTE, f"{counted(health.expired, 'chunk')} expired and left out of every search"))
    if health.count == 0:
        said.append((Sign.EMPTY, "empty: nothing is stored yet"))
    return said


def _norms(report: NamespaceReport) -> str:
    norm = report.vectors.health.norm
    if norm is None:
        return ""
    low, high = norm_text(norm.min), norm_text(norm.max)
    return f", norm {low}" if low == high else f", norms {low} to {high}"


def _totals(report: CheckReport) -> str:
    totals = report.totals
    parts = [
        counted(number, noun)
        for number, noun in ((totals.error, "error"), (totals.warning, "warning"), (totals.info, "remark"))
        if number
    ]
    not_judged = sum(namespace.not_judged for source in report.sources for namespace in source.namespaces)
    if not_judged:
        parts.append(f"{not_judged:,} not judged")
    namespaces = sum(len(source.namespaces) for source in report.sources)
    scope = f"{counted(namespaces, 'namespace')} in {counted(len(report.sources), 'source')}"
    return f"{', '.join(parts) if parts else 'nothing found'}: {scope}"
