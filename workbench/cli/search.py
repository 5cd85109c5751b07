"""`workbench search`: the exact nearest chunks in one namespace, refused when the embedder is another."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from workbench.checkup.options import CheckOptions, KnownEmbedder
from workbench.cli import options
from workbench.cli.output import Sign, stderr, stdout
from workbench.core.fingerprint import (
    EmbedderMismatchError,
    Fingerprint,
    fingerprint_conflict,
    fingerprint_text,
    parse_fingerprint,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.checkup.report import FingerprintVerdict
    from workbench.cli.search_text import Answer
    from workbench.core.job import Job
    from workbench.index.model import IndexSource, Namespace, SearchResult


@dataclass(frozen=True, slots=True)
class _Question:
    """What is searched for: a vector from a file, that of a stored chunk, or a text; and the embedder named."""

    like: str | None
    file: str | None
    text: str | None
    embedder: KnownEmbedder | None
    incoming: Fingerprint | None
    k: int


@click.command("search")
@click.argument("index", metavar="INDEX", callback=options.read_path)
@click.option("--namespace", "name", metavar="NAME", help="Where to search; may be left out when there is only one.")
@click.option("--like", metavar="ID", help="Search with the vector of this stored chunk, which is left out.")
@click.option(
    "--vector", "file", metavar="FILE", help="Search with this vector: a JSON list, or a .npy of one dimension."
)
@options.incoming
@click.option("--text", metavar="T", help="Search with the embedding of this text; needs --embedder.")
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
    from workbench.cli.search_text import answer_as_json, refusal_as_json, write_answer
    from workbench.cli.waiting import interruptible
    from workbench.embedders.failures import EmbedderError
    from workbench.index.model import SourceError

    question = _Question(like, file, text, embedder, incoming or (embedder.fingerprint if embedder else None), k)
    _check_usage(question)
    try:
        answer = interruptible(lambda job: _search(index, name, question, job))
    except SourceError as error:
        stderr().verdict(Sign.ERROR, error.message, indent=0)
        return 2
    except EmbedderError as error:
        stderr().verdict(Sign.ERROR, str(error), indent=0)
        return 2
    except EmbedderMismatchError as refused:
        stderr().verdict(Sign.ERROR, str(refused), indent=0)
        if as_json:
            stdout().json_document(refusal_as_json(refused))
        return 1
    if as_json:
        stdout().json_document(answer_as_json(answer))
    else:
        write_answer(stdout(), answer)
    return 0


def _check_usage(question: _Question) -> None:
    given = [each for each in (question.text, question.like, question.file) if each is not None]
    if len(given) != 1:
        raise click.UsageError("give exactly one of --like ID, --vector FILE, --text T")
    if question.text is not None and question.embedder is None:
        raise click.UsageError("--text needs --embedder NAME: which embedder makes the text a vector")
    if question.text is not None and not question.text.strip():
        raise click.UsageError("--text is empty: there is nothing to search for")
    if question.file is not None and question.incoming is None:
        raise click.UsageError("--vector needs --incoming ID@DIMS: which embedder made the vector (?@DIMS if unknown)")


def _search(index: str, name: str | None, question: _Question, job: Job) -> Answer:
    from workbench.checkup.ceiling import ceiling_of
    from workbench.checkup.fingerprints import judge_fingerprints
    from workbench.checkup.incoming import judge_incoming, refusal
    from workbench.cli.search_text import Answer
    from workbench.sources import open_source

    asked = _vector_of_file(question)
    with open_source(index) as source, source.hold():
        namespace = _namespace(source, name)
        known = judge_fingerprints(namespace, job)
        refused = None if question.incoming is None else refusal(namespace, known, question.incoming)
        if refused is not None:
            raise refused
        incoming, vector = asked or _vector_of_text(question, job) or _vector_of_chunk(namespace, question, job)
        refused = refusal(namespace, known, incoming)
        if refused is not None:
            raise refused
        # A stored chunk that names no model is of the one that its namespace names.
        of_namespace = known.model.id if question.like is not None and known.model is not None else None
        model = of_namespace if incoming.id is None else incoming.id
        try:
            result = _nearest(namespace, vector, question, model, job)
        except ValueError:
            # The record agrees with the query, and what is stored has another length than the record says.
            raise _other_length(namespace, known, incoming) from None
        return Answer(
            namespace=namespace.name,
            incoming=judge_incoming(namespace, known, incoming),
            ceiling=ceiling_of(namespace, known, CheckOptions()),
            result=result,
        )


def _other_length(namespace: Namespace, known: FingerprintVerdict, incoming: Fingerprint) -> EmbedderMismatchError:
    stored = known.counts[0].fingerprint if known.counts else f"?@{namespace.declared_dims}"
    return EmbedderMismatchError(
        namespace.name, stored, fingerprint_text(incoming), "dimensions", "search", namespace.alternative
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


def _vector_of_text(question: _Question, job: Job) -> tuple[Fingerprint, NDArray[np.float64]] | None:
    """Embed the text of the question, which its embedder was named for; gives None when it asks by another way.

    Raises EmbedderError when the embedder gives no vector.
    """
    from workbench.cli.asking import embed_query

    if question.text is None or question.embedder is None:
        return None
    return embed_query(question.embedder.name, question.text, job)


def _vector_of_chunk(namespace: Namespace, question: _Question, job: Job) -> tuple[Fingerprint, NDArray[np.float64]]:
    """Take the vector of a stored chunk; its maker is whom the chunk names, else the one that was given.

    Raises EmbedderMismatchError when the chunk names another one than was given.
    """
    id = str(question.like)
    chunk = namespace.chunk(id, job)
    if chunk is None:
        raise click.UsageError(f"there is no chunk {id} in namespace {namespace.name}")
    vector = namespace.vector(id, job)
    if vector is None or vector.size == 0:
        raise click.UsageError(f"chunk {id} has no vector to search with")
    said = None if chunk.fingerprint is None else parse_fingerprint(chunk.fingerprint).id
    own, given = Fingerprint(said, int(vector.size)), question.incoming
    if given is None:
        return own, vector
    problem = fingerprint_conflict(own, given)
    if problem is not None:
        texts = fingerprint_text(own), fingerprint_text(given)
        raise EmbedderMismatchError(namespace.name, *texts, problem, "search", namespace.alternative)
    return (own if own.id is not None else given), vector


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
