"""`workbench check`: every verdict about the given indexes, as text or as one JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from workbench.checkup.options import CheckOptions, KnownEmbedder
from workbench.checkup.report import CheckReport, Code, Severity
from workbench.cli import options
from workbench.cli.output import Output, stderr, stdout
from workbench.core.fingerprint import Fingerprint

if TYPE_CHECKING:
    from workbench.core.job import Job

_CODES = frozenset(code.value for code in Code)


def _read_codes(_ctx: click.Context, _param: click.Parameter, value: str | None) -> frozenset[str]:
    if value is None:
        return frozenset()
    codes = [code.strip() for code in value.split(",")]
    for code in codes:
        if code not in _CODES:
            raise click.BadParameter(f"'{code}' is no finding code; they are {', '.join(sorted(_CODES))}")
    return frozenset(codes)


@click.command("check")
@click.argument("paths", nargs=-1, metavar="PATH...", callback=options.read_path)
@click.option("--namespace", "namespaces", multiple=True, metavar="NAME", help="Only this namespace; may be repeated.")
@options.incoming
@options.max_chunk_chars
@options.embedder
@click.option(
    "--fail-on", "fail_on", metavar="CODES", callback=_read_codes, help="Findings that give exit code 1, by comma."
)
@click.option(
    "--routing-log", "routing_logs", multiple=True, metavar="LOG",
    help="A routing log, held against the indexes; may be repeated.",
)  # fmt: skip
@options.json_output
def command(
    paths: tuple[str, ...],
    namespaces: tuple[str, ...],
    incoming: Fingerprint | None,
    max_chunk_chars: int | None,
    embedder: KnownEmbedder | None,
    fail_on: frozenset[str],
    routing_logs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Say which embedder built each namespace, whether the incoming one fits, and what no search can reach.

    Exit code 0: nothing found. 1: a finding of severity warning or worse, or one of --fail-on. 2: nothing could be
    read, or wrong usage.
    """
    if not paths and not routing_logs:
        raise click.UsageError("Missing argument 'PATH...'.")
    from workbench.checkup.as_json import check_as_json
    from workbench.cli.verdict_text import write_report
    from workbench.cli.waiting import interruptible

    asked = CheckOptions(incoming, max_chunk_chars, embedder, namespaces)
    progress = _Progress(stderr())
    try:
        report = interruptible(lambda job: _check(paths, routing_logs, asked, job, progress), progress.rows)
    finally:
        progress.end()
    if as_json:
        stdout().json_document(check_as_json(report))
    else:
        write_report(stdout(), report)
    return exit_code(report, fail_on)


def _check(
    paths: tuple[str, ...], routing_logs: tuple[str, ...], asked: CheckOptions, job: Job, progress: _Progress
) -> CheckReport:
    # Imported here, in the thread that works: an interrupt in the middle of a driver's first import ends the process.
    from workbench.sources import UnknownNamespace, check_paths

    try:
        return check_paths(paths, asked, job=job, on_source=progress.source, routing_logs=routing_logs)
    except UnknownNamespace as error:
        raise options.unknown_namespace(error.name, error.known) from None


class _Progress:
    """One line on the terminal that says what is being read, and how far."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._path = ""

    def source(self, path: str) -> None:
        """Begin with a source."""
        self._path = path
        self._out.transient(f"reading {path}")

    def rows(self, done: int, total: int) -> None:
        """Say how many rows one of its reads has behind it."""
        self._out.transient(f"reading {self._path}: {done:,} of {total:,} rows")

    def end(self) -> None:
        """Take the line away."""
        self._out.clear_transient()


def exit_code(report: CheckReport, fail_on: frozenset[str] = frozenset()) -> int:
    """Give 2 when no source could be read, 1 when something was found that counts, else 0."""
    if not report.any_readable:
        return 2
    counts = (
        finding.severity in (Severity.ERROR, Severity.WARNING) or finding.code.value in fail_on
        for finding in report.findings
    )
    return 1 if any(counts) else 0
