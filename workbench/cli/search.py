"""`workbench search`: the exact nearest chunks in one namespace, refused when the embedder is another."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from workbench.checkup.options import CheckOptions, KnownEmbedder
from workbench.checkup.wording import counted, verb
from workbench.cli import options
from workbench.cli.output import Sign, Style, stderr, stdout
from workbench.core.fingerprint import EmbedderMismatchError, Fingerprint, fingerprint_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.cli.output import Output
    from workbench.core.ceiling import ChunkCeiling
    from workbench.index.job import Job
    from workbench.index.model import Hit, IndexSource, Namespace, SearchResult

_PREVIEW = 160


@dataclass(frozen=True, slots=True)
class _Question:
    """What is searched for: a vector from a file, or the one of a stored chunk."""

    like: str | None
    file: str | None
    incoming: Fingerprint | None
    k: int


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a search found, and against what."""

    namespace: str
    fingerprint: str | None
    incoming: str
    ceiling: ChunkCeiling
    result: SearchResult


@click.command("search")
@click.argument("index", metavar="INDEX")
@click.option("--namespace", "name", metavar="NAME", help="Where to search; may be left out when there is only one.")
@click.option("--like", metavar="ID", help="Search with the vector of this stored chunk, which is left out.")
@click.option(
    "--vector", "file", metavar="FILE", help="Search with this vector: a JSON list, or a .npy of one dimension."
)
@options.incoming
@click.option("--text", metavar="T", help="Search with the embedding of a text (not available yet).")
@options.embedder
@click.option(
    "-k", "k", metavar="N", default="10", callback=options.read_whole, help="How many hits; 10 when not given."
)
@options.json_output
def command(
    index: str,
    name: str | None,
    like: str | None,
    file: str | None,
    incoming: Fingerprint | None,
    text: str | None,
    embedder: KnownEmbedder | None,
    k: int,
    as_json: bool,
) -> int:
    """Find the exact nearest chunks in one namespace. Zero, non-finite and wrong-length vectors never rank.

    Exit code 0: done. 1: refused, because the vector is of another embedder. 2: wrong usage, or unreadable.
    """
    from workbench.cli.waiting import interruptible
    from workbench.index.model import SourceError

    question = _Question(like, file, incoming or (embedder.fingerprint if embedder else None), k)
    _check_usage(question, text)
    try:
        answer = interruptible(lambda job: _search(index, name, question, job))
    except SourceError as error:
        stderr().verdict(Sign.ERROR, error.message, indent=0)
        return 2
    except EmbedderMismatchError as refused:
        stderr().verdict(Sign.ERROR, str(refused), indent=0)
        if as_json:
            stdout().json_document(_refusal_as_json(refused))
        return 1
    if as_json:
        stdout().json_document(_as_json(answer))
    else:
        _write(stdout(), answer)
    return 0


def _check_usage(question: _Question, text: str | None) -> None:
    given = [each for each in (text, question.like, question.file) if each is not None]
    if len(given) != 1:
        raise click.UsageError("give exactly one of --like ID, --vector FILE, --text T")
    if text is not None:
        raise click.UsageError("--text needs an embedder, and none can be called yet; use --like ID or --vector FILE")
    if question.file is not None and question.incoming is None:
        raise click.UsageError("--vector needs --incoming ID@DIMS: which embedder made the vector (?@DIMS if unknown)")


def _search(index: str, name: str | None, question: _Question, job: Job) -> _Answer:
    from workbench.checkup.ceiling import ceiling_of
    from workbench.checkup.fingerprints import judge_fingerprints
    from workbench.checkup.incoming import held_against, refusal
    from workbench.sources import open_source

    asked = _vector_of_file(question)
    with open_source(index) as source, source.hold():
        namespace = _namespace(source, name)
        known = judge_fingerprints(namespace, job)
        incoming, vector = asked or _vector_of_chunk(namespace, str(question.like), job)
        refused = refusal(namespace, known, incoming)
        if refused is not None:
            raise refused
        model = (
            incoming.id if question.like is None or incoming.id is not None or known.model is None else known.model.id
        )
        result = _nearest(namespace, vector, question, model, job)
        against = held_against(namespace, known)
        return _Answer(
            namespace=namespace.name,
            fingerprint=None if against is None else fingerprint_text(against),
            incoming=fingerprint_text(incoming),
            ceiling=ceiling_of(namespace, known, CheckOptions()),
            result=result,
        )


def _namespace(source: IndexSource, name: str | None) -> Namespace:
    namespaces = source.namespaces()
    names = [namespace.name for namespace in namespaces]
    if name is None:
        if len(namespaces) != 1:
            listed = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
            raise click.UsageError(f"name one of its {len(names):,} namespaces with --namespace: {listed}")
        return namespaces[0]
    if name not in names:
        raise options.unknown_namespace(name, names)
    return namespaces[names.index(name)]


def _vector_of_file(question: _Question) -> tuple[Fingerprint, NDArray[np.float64]] | None:
    from workbench.cli.vector_file import read_vector

    if question.file is None or question.incoming is None:
        return None
    try:
        vector = read_vector(question.file)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if vector.size != question.incoming.dims:
        raise click.UsageError(
            f"{question.file} holds {vector.size:,} numbers, and --incoming says {fingerprint_text(question.incoming)}"
        )
    return question.incoming, vector


def _vector_of_chunk(namespace: Namespace, id: str, job: Job) -> tuple[Fingerprint, NDArray[np.float64]]:
    from workbench.core.fingerprint import parse_fingerprint

    chunk = namespace.chunk(id, job)
    if chunk is None:
        raise click.UsageError(f"there is no chunk {id} in namespace {namespace.name}")
    vector = namespace.vector(id, job)
    if vector is None or vector.size == 0:
        raise click.UsageError(f"chunk {id} has no vector to search with")
    said = None if chunk.fingerprint is None else parse_fingerprint(chunk.fingerprint).id
    return Fingerprint(said, int(vector.size)), vector


def _nearest(
    namespace: Namespace, vector: NDArray[np.float64], question: _Question, model: str | None, job: Job
) -> SearchResult:
    import numpy as np

    if not np.isfinite(vector).all() or not vector.any():
        what = f"the vector of chunk {question.like}" if question.file is None else f"the vector in {question.file}"
        wrong = "is zero in every element" if np.isfinite(vector).all() else "holds a NaN, an infinity or a NULL"
        raise click.UsageError(f"{what} {wrong}: nothing can be compared with it")
    now_ms = time.time_ns() // 1_000_000
    return namespace.search(vector, k=question.k, now_ms=now_ms, without=question.like, model=model, job=job)


def _lost(hit: Hit, ceiling: ChunkCeiling) -> int | None:
    return None if hit.chars is None else max(0, hit.chars - ceiling.chars)


def _as_json(answer: _Answer) -> dict[str, object]:
    result = answer.result
    return {
        "namespace": answer.namespace,
        "fingerprint": answer.fingerprint,
        "incoming": answer.incoming,
        "hits": [
            {
                "rank": rank,
                "id": hit.id,
                "score": hit.score,
                "chars": hit.chars,
                "lost": _lost(hit, answer.ceiling),
                "text": hit.text,
            }
            for rank, hit in enumerate(result.hits, 1)
        ],
        "left_out": result.left_out,
        "other_model": result.other_model,
        "missing": result.missing,
        "expired": result.expired,
        "ceiling": {"chars": answer.ceiling.chars, "source": answer.ceiling.source},
    }


def _refusal_as_json(refused: EmbedderMismatchError) -> dict[str, object]:
    return {
        "refused": {
            "code": refused.code,
            "indexed": refused.indexed,
            "incoming": refused.incoming,
            "problem": refused.problem,
            "message": str(refused),
        }
    }


def _write(out: Output, answer: _Answer) -> None:
    result = answer.result
    out.row(answer.namespace, f"{answer.incoming} in {answer.fingerprint or 'an empty namespace'}")
    for rank, hit in enumerate(result.hits, 1):
        lost = _lost(hit, answer.ceiling)
        out.row(f"{rank:>3}  {hit.score:.4f}  {hit.id}", f"{lost:,} characters never read" if lost else "")
        if hit.text:
            out.paragraph(" ".join(hit.text[:_PREVIEW].split()), indent=5, style=Style.FAINT)
    if not result.hits:
        out.verdict(Sign.EMPTY, "nothing to rank")
    if result.other_model:
        left_out = f"{counted(result.other_model, 'vector')} of another model {verb(result.other_model, 'was', 'were')}"
        out.verdict(Sign.WARNING, f"{left_out} left out: scores between the vectors of two models mean nothing")
    for number, why in (
        (result.left_out, "left out: zero, not finite, or of another length"),
        (result.missing, "without a vector"),
        (result.expired, "expired and left out"),
    ):
        if number:
            out.verdict(Sign.NOTE, f"{number:,} {why}")
