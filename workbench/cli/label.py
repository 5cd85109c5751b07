"""`workbench label`: says which embedder built a namespace that does not say so itself, and proves it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from workbench.cli import options
from workbench.cli.output import Sign, is_terminal, stderr, stdout
from workbench.core.fingerprint import Fingerprint, fingerprint_text

if TYPE_CHECKING:
    from workbench.embedders.protocol import BuildingProvider
    from workbench.reindex.labelling import Claim, Proof

_REFUSED = 1
_UNREADABLE = 2


@click.command("label")
@click.argument("index", metavar="INDEX", callback=options.read_path)
@click.option("--namespace", metavar="NAME", required=True, help="Which namespace is labelled.")
@click.option(
    "--fingerprint",
    metavar="ID@DIMS",
    required=True,
    callback=options.read_incoming,
    help="The embedder that built it, and the length of its vectors.",
)
@click.option(
    "--prove", metavar="EMBEDDER", help="Embed up to three stored chunks again: they must land on themselves."
)
@click.option("--yes", is_flag=True, help="Send these chunks without asking.")
@options.json_output
def command(index: str, namespace: str, fingerprint: Fingerprint, prove: str | None, yes: bool, as_json: bool) -> int:
    """Say which embedder built a namespace that does not say so itself. Nothing that the file says is overruled.

    A native index records it. For a file of another program it is kept in your own data folder, and the file stays as
    it is. Exit code 0: recorded. 1: refused, or the proof failed. 2: wrong usage, or unreadable.
    """
    from workbench.embedders.failures import EmbedderError
    from workbench.index.model import SourceError
    from workbench.reindex.labelling import record
    from workbench.reindex.model import ReindexError

    if fingerprint.id is None:
        raise click.UsageError("--fingerprint must name the embedder: ?@DIMS says what the file says already")
    try:
        claimed = _claimed(index, namespace, fingerprint)
        proof = None if prove is None else _proved(claimed, prove, yes=yes)
        place = record(claimed, proof, time.time_ns() // 1_000_000) if proof is None or proof.ok else None
    except SourceError as error:
        stderr().verdict(Sign.ERROR, error.message, indent=0)
        return _UNREADABLE
    except (ReindexError, EmbedderError) as error:
        stderr().verdict(Sign.ERROR, str(error), indent=0)
        return _REFUSED
    if as_json:
        stdout().json_document(_document(claimed, proof, place))
    else:
        _write(claimed, proof, place)
    return _REFUSED if place is None else 0


def _claimed(index: str, namespace: str, fingerprint: Fingerprint) -> Claim:
    from workbench.cli.waiting import interruptible
    from workbench.index.model import Problem, SourceError
    from workbench.index.opening import sniff
    from workbench.reindex.labelling import Claim, claim
    from workbench.reindex.sibling import refuse_unfinished

    refuse_unfinished(index)
    if sniff(index).container != "duckdb":
        raise SourceError(
            Problem.NOT_AN_INDEX,
            f"{index} is a SQLite index, which keeps its own records; import it into a native file to change them",
            container="sqlite",
        )
    found = interruptible(lambda job: claim(index, namespace, fingerprint, job))
    if not isinstance(found, Claim):
        raise options.unknown_namespace(namespace, found)
    return found


def _proved(claimed: Claim, name: str, *, yes: bool) -> Proof:
    from workbench.cli.embedders import Narration, declared_by, open_named
    from workbench.cli.waiting import interruptible
    from workbench.core.coroutines import run_in_job
    from workbench.reindex.labelling import prove, refuse_other_embedder
    from workbench.reindex.model import ReindexError

    refuse_other_embedder(claimed.fingerprint, name, declared_by(name).fingerprint)
    if not claimed.chunks:
        raise ReindexError(
            f"nothing can be proved: '{claimed.mapping.namespace}' holds no chunk with both a text and a usable "
            "vector; leave --prove out to label it unproved"
        )
    provider = open_named(name)
    _agree(claimed, name, provider, yes=yes)
    provider.watch(Narration())

    async def work() -> Proof:
        try:
            return await prove(claimed, name, provider)
        finally:
            await provider.dispose()

    return interruptible(lambda job: run_in_job(work, job))


def _agree(claimed: Claim, name: str, provider: BuildingProvider, *, yes: bool) -> None:
    """Say what is sent where, and let a person at a terminal agree; a pipe never does."""
    chars = sum(len(chunk.text) for chunk in claimed.chunks)
    where = "nothing leaves this machine" if provider.host is None else f"they go to {provider.host}"
    stderr().verdict(
        Sign.NOTE if provider.host is None else Sign.WARNING,
        f"{len(claimed.chunks)} stored chunks ({chars:,} characters) are embedded with '{name}'; {where}",
        indent=0,
    )
    if yes:
        return
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise click.UsageError("nothing was sent: confirm at a terminal, or add --yes (a pipe cannot confirm)")
    if not click.confirm("embed them?", default=False, err=True):
        raise click.UsageError("nothing was sent, nothing was labelled")


def _write(claimed: Claim, proof: Proof | None, place: str | None) -> None:
    out, said = stdout(), fingerprint_text(claimed.fingerprint)
    out.row(f"label {claimed.mapping.namespace}", said)
    for id, score in () if proof is None else proof.scores:
        out.verdict(Sign.OK if score >= 0.99 else Sign.ERROR, f"{id} lands on itself at {score:.4f}")
    if place is None:
        out.verdict(Sign.ERROR, f"these vectors were not made by {said} from the texts that are stored; not labelled")
    elif claimed.native:
        out.verdict(Sign.OK, f"recorded in {place}")
    else:
        out.verdict(Sign.OK, f"the file is as it was; the label is kept in {place}")
    if place is not None and proof is None:
        out.verdict(Sign.NOTE, "not proved: --prove EMBEDDER embeds up to three stored chunks again")


def _document(claimed: Claim, proof: Proof | None, place: str | None) -> dict[str, Any]:
    shown = None
    if proof is not None:
        chunks = [{"id": id, "score": score} for id, score in proof.scores]
        shown = {"embedder": proof.embedder, "ok": proof.ok, "chunks": chunks}
    return {
        "namespace": claimed.mapping.namespace,
        "fingerprint": fingerprint_text(claimed.fingerprint),
        "before": claimed.before,
        "labelled": place is not None,
        "kept": None if place is None else "index" if claimed.native else "data-folder",
        "path": place,
        "proof": shown,
    }
