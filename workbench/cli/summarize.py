"""`workbench summarize`: the recording with every vector as its dims and norm, and a report of what that saved."""

from __future__ import annotations

import sys
import tempfile
from typing import IO, TYPE_CHECKING

import click

from workbench.cli import options
from workbench.cli.output import Output, Sign, discard, stderr, stdout

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.recordings.picked import PickedPath
    from workbench.recordings.summarize import Summary

_IN_MEMORY = 1 << 20
_SHOWN_NOTES = 20


_EPILOG = """\b
By default the keys "embedding" and "embeddings" are taken. --wide adds, and the report counts by these names:
  W1  attributes of traces, such as embedding.embeddings.0.embedding.vector
  W2  JSON inside strings, by all of these rules
  W3  base64 of float32
  W4  vectors of int8 or bits
  W5  other usual keys, such as vector or query_embedding
  W6  usual containers, such as embedding.values
  W7  numbers written as text, under one of these keys
  W8  what stands at a --path that you give

\b
A PATH goes from the document, or from each line of JSON Lines, to the vectors:
  results[].dense      that field of every item        [0].v           of the first item only
  by_name.*            every field                     "a.b".v         a key with dots
"""


@click.command("summarize", epilog=_EPILOG)
@click.argument("recording", metavar="REC", callback=options.read_path)
@click.option("-o", "--output", "out", metavar="OUT", callback=options.read_path, help="Where to; stdout without it.")
@click.option("--wide", is_flag=True, help="Also what is likely a vector: other keys, base64, JSON in strings.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="With --wide: a vector stands there; repeatable.")
@click.option("--redact", is_flag=True, help="Mask secrets, by the names of their keys and by how they begin.")
@options.json_output
def command(recording: str, out: str | None, wide: bool, paths: tuple[str, ...], redact: bool, as_json: bool) -> int:
    """Copy a recording with every vector replaced by {dims, norm}; all else stays as it is.

    Exit code 0: written. 1: written, and damaged parts were left out. 2: the recording cannot be read, or wrong usage;
    OUT is then as it was.
    """
    from workbench.cli.waiting import interruptible
    from workbench.recordings.model import RecordingError
    from workbench.recordings.slim import Options
    from workbench.recordings.summarize import CannotWrite, SameFile, summarize_file, summarize_to

    if as_json and out is None:
        raise click.UsageError("--json needs -o OUT, since the copy takes stdout")
    picked = _picked(paths, wide=wide)
    narration = stderr()
    asked = Options(wide=wide, redact=redact)

    def progress(done: int, total: int) -> None:
        narration.transient(f"summarising {recording}: {done:,} bytes written of {total:,} read")

    try:
        if out is not None:
            summary = interruptible(
                lambda job: summarize_file(recording, out, asked, job.progress, paths=picked), progress
            )
        else:
            # Held back until it is whole: half a copy looks like a whole one.
            with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as held:

                def work(job: Job) -> Summary:
                    return summarize_to(recording, held, asked, job.progress, paths=picked)

                summary = interruptible(work, progress)
                _to_stdout(held)
    except RecordingError as error:
        raise click.ClickException(error.message) from None
    except SameFile:
        raise click.UsageError(
            f"{out} is the recording itself, and that is never written over; give another path"
        ) from None
    except CannotWrite as error:
        raise click.ClickException(str(error)) from None
    finally:
        narration.clear_transient()
    if as_json:
        stdout().json_document(summary_as_json(summary))
    else:
        write_report(narration, summary, redact=redact)
    return 1 if summary.left_out else 0


def _picked(paths: tuple[str, ...], *, wide: bool) -> tuple[PickedPath, ...]:
    """Read the user's paths. Raises click.UsageError."""
    if not paths:
        return ()
    from workbench.recordings.picked import PathError, parse_path

    if not wide:
        raise click.UsageError("--path needs --wide, since it is one of the wide rules (W8)")
    try:
        return tuple(parse_path(text) for text in dict.fromkeys(paths))
    except PathError as error:
        raise click.UsageError(f"--path {error}; it is written as in results[].dense") from None


def _to_stdout(held: IO[bytes]) -> None:
    """Write the copy as the bytes that it is."""
    held.seek(0)
    stream = sys.stdout.buffer
    try:
        while piece := held.read(_IN_MEMORY):
            stream.write(piece)
        stream.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def summary_as_json(summary: Summary) -> dict[str, object]:
    """Give the report as the document that ``--json`` writes."""
    return {
        "path": summary.path,
        "format": summary.form,
        "bytes_before": summary.bytes_before,
        "bytes_after": summary.bytes_after,
        "vectors": summary.vectors,
        "by_rule": summary.by_rule,
        "unsummarised_likely": summary.unsummarised_likely,
        "masked": summary.masked,
        "problems": [{"message": note.message, "line": note.line, "byte": note.byte} for note in summary.notes],
    }


def write_report(output: Output, summary: Summary, *, redact: bool) -> None:
    """Write the report as text."""
    rules = ", ".join(f"{count:,} by {rule}" for rule, count in summary.by_rule.items())
    replaced = f"{_count(summary.vectors, 'vector')} replaced" + (f" ({rules})" if rules else "")
    output.verdict(
        Sign.OK, f"{replaced}; {summary.bytes_before:,} bytes before, {summary.bytes_after:,} after", indent=0
    )
    if summary.unsummarised_likely:
        output.verdict(
            Sign.WARNING,
            f"{_count(summary.unsummarised_likely, 'likely vector')} not summarised; --wide replaces them too",
            indent=0,
        )
    if redact:
        output.verdict(Sign.NOTE, f"{_count(summary.masked, 'value')} masked as secret", indent=0)
    for note in summary.notes[:_SHOWN_NOTES]:
        output.verdict(Sign.WARNING if note.left_out else Sign.NOTE, note.message, indent=0)
    if len(summary.notes) > _SHOWN_NOTES:
        output.verdict(Sign.NOTE, f"{len(summary.notes) - _SHOWN_NOTES:,} more such notes", indent=0)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
