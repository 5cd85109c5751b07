"""The gate before a swap: what must hold of a built generation, and what is reported of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.index.schema import first_row
from workbench.reindex.model import Check, Fate, Verification
from workbench.reindex.sibling import KEYS, QUARANTINED, ROWS, VECTORS, Sibling, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.embedders.protocol import BuildingProvider

PROBES = 20
"""Chunks that are embedded again and must land on themselves."""

LANDS_AT = 0.99

# In single numbers squares of usable vectors overflow and vanish: such rows are looked at again, number by number.
_PATIENTLY = "sqrt(list_sum(list_transform(embedding::FLOAT[], lambda x: x::DOUBLE * x::DOUBLE)))"


async def verify(sibling: Sibling, provider: BuildingProvider, job: Job | None = None) -> Verification:
    """Check the built generation whole, and embed a few chunks of it again. Raises EmbedderError from the probes."""
    return Verification((*standing_checks(sibling, job), await _self_probe(sibling, provider)))


def standing_checks(sibling: Sibling, job: Job | None = None) -> tuple[Check, ...]:
    """Check counts, keys, text hashes and every vector; nothing is sent."""
    with sibling.cursor(job) as cursor:
        counts = first_row(
            cursor,
            f"SELECT (SELECT count(*) FROM {table(ROWS)} WHERE text IS NOT NULL AND text <> ''),"
            f" (SELECT count(*) FROM {table(VECTORS)}), (SELECT count(*) FROM {table(QUARANTINED)}),"
            f" (SELECT count(DISTINCT seq) FROM {table(VECTORS)}),"
            f" (SELECT count(*) FROM {table(VECTORS)} v ANTI JOIN {table(ROWS)} r USING (seq))",
        )
        keys = first_row(
            cursor,
            f"SELECT (SELECT count(*) FROM {table(KEYS)}),"
            f" (SELECT count(*) FROM {table(KEYS)} k ANTI JOIN {table(ROWS)} r ON r.source_id = k.id),"
            f" (SELECT count(*) FROM {table(ROWS)} r LEFT JOIN {table(KEYS)} k ON k.id = r.source_id"
            f" WHERE k.id IS NULL OR (r.id <> k.id AND k.fate <> '{Fate.RESPLIT}')),"
            f" (SELECT count(*) - count(DISTINCT id) FROM {table(ROWS)})",
        )
        hashes = first_row(
            cursor,
            f"SELECT count(*) FROM {table(ROWS)} WHERE content_hash IS NOT NULL AND text IS NOT NULL"
            " AND content_hash <> sha256(text)",
        )
        health = first_row(
            cursor,
            f"SELECT count(*), count(*) FILTER (n > 0 AND isfinite(n)), min(n), median(n), max(n)"
            f" FROM (SELECT CASE WHEN isfinite(p) AND p > 0 THEN sqrt(p) ELSE {_PATIENTLY} END AS n FROM"
            f" (SELECT embedding, TRY(array_inner_product(embedding, embedding)) AS p FROM {table(VECTORS)}))",
        )
    assert counts is not None
    assert keys is not None
    assert hashes is not None
    assert health is not None
    wanted, vectors, quarantined, distinct, stray = counts
    total, lost, unknown, doubled = keys
    return (
        Check(
            "counts",
            vectors + quarantined == wanted and distinct == vectors and not stray,
            f"{vectors:,} vectors and {quarantined:,} quarantined for {wanted:,} texts",
        ),
        Check(
            "keys", not lost and not unknown and not doubled, f"{total:,} chunks, {lost:,} lost, {doubled:,} doubled"
        ),
        Check("texts", not hashes[0], f"{hashes[0]:,} texts differ from their hash"),
        Check("fingerprint", True, f"{sibling.settings.fingerprint}, by the column's type and every answer"),
        Check(
            "vectors",
            health[0] == health[1],
            f"{health[1]:,} of {health[0]:,} usable"
            + ("" if health[2] is None else f", norms {health[2]:.4g} to {health[4]:.4g}"),
        ),
    )


async def _self_probe(sibling: Sibling, provider: BuildingProvider) -> Check:
    """Embed up to 20 chunks again: each must land on its own vector."""
    probes = _sample(sibling)
    if not probes:
        return Check("self-probe", True, "no vector to probe")
    answered = await provider.embed_batch([text for text, _ in probes], purpose="document")
    scores = [
        -1.0 if vector is None else _cosine(np.asarray(vector, np.float64), stored)
        for vector, (_, stored) in zip(answered, probes, strict=True)
    ]
    low = sum(score < LANDS_AT for score in scores)
    return Check(
        "self-probe",
        low == 0,
        f"{len(scores) - low} of {len(scores)} embedded again land on themselves at {LANDS_AT} or better "
        f"(lowest {min(scores):.4f})",
    )


def _sample(sibling: Sibling) -> list[tuple[str, NDArray[np.float64]]]:
    with sibling.cursor() as cursor:
        rows = cursor.execute(
            f"SELECT r.text, v.embedding::FLOAT[] FROM {table(ROWS)} r JOIN {table(VECTORS)} v USING (seq)"
            f" ORDER BY hash(r.seq) LIMIT {PROBES}"
        ).fetchall()
    return [(text, np.asarray(vector, np.float64)) for text, vector in rows]


def _cosine(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    if a.shape != b.shape:
        return -1.0
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b / scale) if scale else -1.0
