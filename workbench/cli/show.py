"""`workbench show`: a recording as text or JSON, joined with indexes where they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from workbench.cli import options
from workbench.cli.output import Sign, stderr, stdout

if TYPE_CHECKING:
    from workbench.checkup.recording_report import RecordingReport
    from workbench.core.job import Job


@click.command("show")
@click.argument("recording", metavar="REC")
@click.option("--index", "indexes", multiple=True, metavar="INDEX", help="The index it searched; may be repeated.")
@options.max_chunk_chars
@click.option("--format", "format", metavar="NAME", help="Read it as this format, whatever was recognised.")
@options.json_output
def command(
    recording: str, indexes: tuple[str, ...], max_chunk_chars: int | None, format: str | None, as_json: bool
) -> int:
    """Show what happened in a recording: steps, retrievals with every candidate, errors. Secrets are masked.

    Exit code 0: shown. 1: damaged parts were left out, or the join with --index found something. 2: nothing could be
    read, or wrong usage.
    """
    from workbench.checkup.recording_json import recording_as_json, steps_as_json
    from workbench.cli.recording_text import write_recording
    from workbench.cli.waiting import interruptible
    from workbench.index.problems import SourceError
    from workbench.recordings.model import RecordingError
    from workbench.recordings.opening import formats

    if format is not None and format not in formats():
        raise click.UsageError(f"'{format}' is no format; they are {', '.join(formats())}")
    try:
        report = interruptible(lambda job: _look_at(recording, indexes, max_chunk_chars, format, job))
    except (RecordingError, SourceError) as error:
        stderr().verdict(Sign.ERROR, error.message, indent=0)
        return 2
    if as_json:
        stdout().json_document_with(recording_as_json(report, steps=False), "steps", steps_as_json(report))
    else:
        write_recording(stdout(), report)
    return exit_code(report)


def _look_at(
    recording: str, indexes: tuple[str, ...], ceiling: int | None, format: str | None, job: Job
) -> RecordingReport:
    # Imported here, in the thread that works: an interrupt in the middle of a driver's first import ends the process.
    from workbench.checkup.options import CheckOptions
    from workbench.sources import show_recording

    return show_recording(recording, indexes, CheckOptions(explicit_ceiling=ceiling), format=format, job=job)


def exit_code(report: RecordingReport) -> int:
    """Give 1 when damaged parts were left out or the join with an index found something, else 0."""
    return 1 if report.damaged or (report.indexes and report.join_findings) else 0
