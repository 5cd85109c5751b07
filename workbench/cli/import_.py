"""`workbench import`: namespaces of any readable index, copied into a native file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from workbench.cli import options
from workbench.cli.output import Sign, stderr, stdout

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.reindex.importing import Imported

_FOUND = 1
_UNREADABLE = 2
_SHOWN = 10


@click.command("import")
@click.argument("source", metavar="SRC", callback=options.read_path)
@click.argument("target", metavar="DEST.duckdb", callback=options.read_path)
@click.option("--namespace", "names", metavar="NAME", multiple=True, help="Only this one; may be given several times.")
@options.json_output
def command(source: str, target: str, names: tuple[str, ...], as_json: bool) -> int:
    """Copy any readable index into a native file; the source is only read.

    A new file is made whole or not at all, and one that is there takes each namespace whole or not at all. Every row
    comes in. A vector that the file cannot keep stays out and is named. Exit code 0: all is as it was. 1: refused, or
    something was left out or renamed. 2: wrong usage, or unreadable. 3: it could not be written.
    """
    from workbench.cli.waiting import interruptible
    from workbench.index.model import SourceError
    from workbench.index.writing import WriteError
    from workbench.reindex.importing import UnknownNamespaces, import_index
    from workbench.reindex.model import ReindexError

    def begins(name: str, count: int) -> None:
        stderr().transient(f"importing {name}: {count:,} chunks")

    def work(job: Job) -> tuple[Imported, ...]:
        return import_index(source, target, names, time.time_ns() // 1_000_000, job, begins)

    try:
        done = interruptible(work)
    except UnknownNamespaces as error:
        raise options.unknown_namespace(error.name, error.known) from None
    except SourceError as error:
        stderr().verdict(Sign.ERROR, error.message, indent=0)
        return _UNREADABLE
    except ReindexError as error:
        stderr().verdict(Sign.ERROR, str(error), indent=0)
        return _FOUND
    except WriteError as error:
        stderr().verdict(Sign.ERROR, f"not imported: {error}", indent=0)
        return 3
    finally:
        stderr().clear_transient()
    if as_json:
        stdout().json_document(_document(source, target, done))
    else:
        _write(target, done)
    return 0 if all(each.whole for each in done) else _FOUND


def _document(source: str, target: str, done: tuple[Imported, ...]) -> dict[str, Any]:
    return {
        "source": source,
        "path": target,
        "namespaces": [
            {
                "name": each.name,
                "count": each.count,
                "vectors": each.vectors,
                "fingerprint": each.fingerprint,
                "left_out": [{"id": id, "reason": reason} for id, reason in each.left_out],
                "not_listed": each.left_out_count - len(each.left_out),
                "renamed": each.renamed,
                "repaired": each.repaired,
            }
            for each in done
        ],
    }


def _write(target: str, done: tuple[Imported, ...]) -> None:
    out = stdout()
    out.row(f"imported into {target}", f"{len(done):,} {'namespace' if len(done) == 1 else 'namespaces'}")
    for each in done:
        made_by = each.fingerprint or "no vector yet"
        out.verdict(Sign.OK, f"{each.name}: {each.count:,} chunks, {each.vectors:,} with a vector, {made_by}")
        for id, reason in each.left_out[:_SHOWN]:
            out.verdict(Sign.WARNING, f"{id}: {reason}; the row is kept without it", indent=4)
        more = each.left_out_count - min(_SHOWN, len(each.left_out))
        if more:
            out.verdict(Sign.WARNING, f"{more:,} more vectors were left out; --json names up to 1,000", indent=4)
        if each.renamed:
            out.verdict(Sign.WARNING, f"{each.renamed:,} rows had the id of an earlier one and got a number", indent=4)
        if each.repaired:
            out.verdict(Sign.WARNING, f"{each.repaired:,} rows held bytes that are no text: replaced", indent=4)
