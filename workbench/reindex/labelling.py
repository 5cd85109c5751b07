"""Saying which embedder built a namespace that does not say so itself, and proving it on a few of its chunks.

A native file records it in its registry; for a foreign file it is kept in the user's data folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from workbench.core.fingerprint import Fingerprint, fingerprint_conflict, fingerprint_text, parse_fingerprint
from workbench.embedders.models import model_table
from workbench.index.adapters import labels_kept, llamaindex
from workbench.index.adapters.detect import detect
from workbench.index.adapters.llamaindex_nodes import embedded_text
from workbench.index.expressions import Expressions
from workbench.index.opening import attach, translate
from workbench.index.schema import GENERATIONS, NAMESPACES, SCHEMA, first_row, refuse_unknown_version
from workbench.index.sql import qualified
from workbench.index.table import DuckDBNamespace
from workbench.index.workspace import Access, Member, together
from workbench.index.writing import transaction
from workbench.reindex.model import ReindexError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.embedders.protocol import BuildingProvider
    from workbench.index.mapping import TableMapping

CHUNKS = 3
"""How many stored chunks are embedded for a proof at most."""

LANDS_AT = 0.99

_LONGEST = 4_000
"""Shorter texts are preferred for a proof, in UTF-8 bytes: they cost less, and no embedder clips them unseen."""

_LOOKED_AT = 16


@dataclass(frozen=True, slots=True, eq=False)
class StoredChunk:
    """One chunk that a proof embeds: its id, what its producer embedded, and the vector that is stored."""

    id: str
    text: str
    vector: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Claim:
    """A namespace, and the embedder that is said to have built it; nothing speaks against it.

    ``mapping`` is as the file itself speaks, without the user's labels; ``before`` is the label that it had.
    """

    index: str
    native: bool
    mapping: TableMapping
    fingerprint: Fingerprint
    before: str | None
    chunks: tuple[StoredChunk, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """How close each chunk came to its own vector when it was embedded again, as cosine; -1 where none came back."""

    embedder: str
    scores: tuple[tuple[str, float], ...]

    @property
    def ok(self) -> bool:
        """Whether all of them land on themselves."""
        return bool(self.scores) and all(score >= LANDS_AT for _, score in self.scores)


def claim(index: str, namespace: str, fingerprint: Fingerprint, job: Job | None = None) -> Claim | tuple[str, ...]:
    """Hold what is said of a namespace against what it says itself; gives the names there are when it is not there.

    Raises:
        ReindexError: it names another embedder, or its vectors are of another length; nothing was changed.
        SourceError: the index cannot be read.
    """
    try:
        with attach(index) as attachment, attachment.hold(), attachment.cursor(job) as cursor:
            refuse_unknown_version(cursor, attachment.path)
            detection = detect(cursor, names_a_model)
            mapping = next((each for each in detection.mappings if each.namespace == namespace), None)
            if mapping is None:
                return tuple(each.namespace for each in detection.mappings)
            kept = None if detection.native else labels_kept.find(cursor, attachment.path, mapping)
            said = DuckDBNamespace(attachment, mapping).fingerprints(job)
            _refuse_other(mapping, fingerprint, [parse_fingerprint(each.fingerprint) for each in said])
            if not detection.native and mapping.model is not None:
                raise ReindexError(
                    f"every row of '{namespace}' has a place for its model ({mapping.model}), and this program does "
                    "not write into the tables of others; fill it with the program that wrote the file"
                )
            before = None if kept is None else kept.fingerprint
            chunks = _chunks(cursor, mapping)
            return Claim(index, detection.native, mapping, fingerprint, before, chunks)
    except duckdb.Error as error:
        raise translate(error, index) from error


async def prove(claimed: Claim, name: str, provider: BuildingProvider) -> Proof:
    """Embed the chunks of a claim again. Raises EmbedderError."""
    texts = [chunk.text for chunk in claimed.chunks]
    answered = await provider.embed_batch(texts, purpose="document") if texts else []
    scores = [
        (chunk.id, -1.0 if vector is None else _cosine(np.asarray(vector, np.float64), chunk.vector))
        for chunk, vector in zip(claimed.chunks, answered, strict=True)
    ]
    return Proof(name, tuple(scores))


def refuse_other_embedder(claimed: Fingerprint, embedder: str, own: Fingerprint) -> None:
    """Refuse a proof by an embedder that is not the one which is claimed; raises ReindexError."""
    if fingerprint_conflict(claimed, own) is None:
        return
    both = claimed.id is not None and own.id is not None and claimed.dims == own.dims
    if both and model_table().same_space(str(claimed.id), str(own.id)):
        return
    raise ReindexError(
        f"'{embedder}' is {fingerprint_text(own)}, so it cannot prove {fingerprint_text(claimed)}; name the embedder "
        "that you mean, or leave --prove out"
    )


def record(claimed: Claim, proof: Proof | None, now_ms: int) -> str:
    """Keep what was claimed; says where: the index itself, or the file of the label.

    Raises:
        ReindexError: the namespace changed meanwhile, or the label cannot be written.
        SourceError: a native file is held by another program; it is named.
    """
    if claimed.native:
        _record(claimed)
        return claimed.index
    with attach(claimed.index) as attachment, attachment.cursor() as cursor:
        kept = labels_kept.label(
            cursor,
            os.path.realpath(claimed.index),
            claimed.mapping,
            fingerprint_text(claimed.fingerprint),
            now_ms,
            proved_with=None if proof is None else proof.embedder,
        )
    if not kept.anchors:
        raise ReindexError(f"'{claimed.mapping.namespace}' holds no vector that the label could be known by")
    try:
        return labels_kept.keep(kept)
    except OSError as error:
        raise ReindexError(f"the label cannot be kept in {labels_kept.folder()}: {error.strerror}") from error


def _record(claimed: Claim) -> None:
    namespaces, generations = qualified(SCHEMA, NAMESPACES), qualified(SCHEMA, GENERATIONS)
    text, name = fingerprint_text(claimed.fingerprint), claimed.mapping.namespace
    with together(Member("ix", claimed.index, Access.WRITE)) as workspace, workspace.cursor() as cursor:
        with transaction(cursor):
            row = first_row(
                cursor,
                f"SELECT g.generation, g.embedder_fp, g.table_name FROM {namespaces} n JOIN {generations} g"
                " ON g.generation = n.active_generation AND g.namespace = n.namespace WHERE n.namespace = ?",
                [name],
            )
            if row is None or row[2] != claimed.mapping.table:
                raise ReindexError(f"namespace '{name}' changed meanwhile; nothing was recorded: label it again")
            if row[1] is not None and fingerprint_conflict(parse_fingerprint(row[1]), claimed.fingerprint):
                raise ReindexError(f"namespace '{name}' says {row[1]} by now; nothing was recorded")
            cursor.execute(
                f"UPDATE {generations} SET embedder_fp = ?, dims = ? WHERE generation = ?",
                [text, int(claimed.fingerprint.dims), row[0]],
            )
        cursor.execute("CHECKPOINT ix")


def _refuse_other(mapping: TableMapping, claimed: Fingerprint, said: list[Fingerprint]) -> None:
    """Refuse a claim that the file itself denies."""
    for stored in (*(() if mapping.recorded is None else (mapping.recorded,)), *said):
        problem = fingerprint_conflict(stored, claimed)
        if problem is None:
            continue
        what = "records" if stored is mapping.recorded else "holds vectors of"
        why = "of another length" if problem == "dimensions" else "another embedder"
        raise ReindexError(
            f"'{mapping.namespace}' {what} {fingerprint_text(stored)}, {why} than {fingerprint_text(claimed)}; "
            "nothing was changed: a label says what is not said, it overrules nothing"
        )
    if not said:
        raise ReindexError(
            f"'{mapping.namespace}' holds no vector, so there is nothing to label; its first one decides"
        )


def _chunks(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> tuple[StoredChunk, ...]:
    """Choose chunks of different texts from all over the table, those of usual length first."""
    if mapping.text is None or mapping.vector is None:
        return ()
    sql = Expressions(mapping)
    metadata = sql.optional(mapping.metadata) if mapping.adapter == llamaindex.ADAPTER else "NULL::VARCHAR"
    size = f"list_sum(list_transform({sql.vector}::DOUBLE[], lambda x: abs(x)))"
    rows = cursor.execute(
        f"SELECT {sql.id}, {sql.text}, {metadata}, {sql.vector}::DOUBLE[] FROM {sql.table}"
        f" WHERE {sql.text} <> '' AND {sql.length} > 0 AND isfinite({size}) AND {size} > 0"
        f" ORDER BY strlen({sql.text}) > {_LONGEST}, hash({sql.id}), {sql.order} LIMIT {_LOOKED_AT}"
    ).fetchall()
    chosen = {text: (id, said, vector) for id, text, said, vector in reversed(rows) if None not in vector}
    return tuple(
        StoredChunk(id, embedded_text(text, said), np.asarray(vector, np.float64))
        for text, (id, said, vector) in list(chosen.items())[-CHUNKS:]
    )


def _cosine(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    if a.shape != b.shape:
        return -1.0
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b / scale) if scale else -1.0


def names_a_model(text: str) -> bool:
    """Whether the model table lists a text as an id, which tells a column of models from other short texts."""
    return model_table().find(text) is not None
