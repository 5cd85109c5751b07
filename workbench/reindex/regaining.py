"""What a re-index gives back: texts that were never read, and the ranks at which they find their chunks, then and now.

Reported beside the gate and never part of it: what cannot be measured is said, and changes nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.core.fingerprint import Fingerprint, parse_fingerprint
from workbench.embedders.failures import EmbedderError
from workbench.embedders.models import resolve_index_ceiling
from workbench.embedders.opening import LOCAL, open_embedder
from workbench.embedders.tokens import counter_of
from workbench.index.health import namespace_dims
from workbench.index.model import SourceError
from workbench.index.workspace import Member, together
from workbench.reindex.comparing import built_vectors, living_vectors, neighbour_overlap, ranks
from workbench.reindex.copying import SIB
from workbench.reindex.living import find, rows
from workbench.reindex.model import Regained, Verification
from workbench.reindex.proving import LostText, embed_queries, lost_text

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.job import Job
    from workbench.embedders.protocol import BuildingProvider, EmbeddingProvider
    from workbench.index.mapping import TableMapping
    from workbench.reindex.model import Settings

MOST = 20
"""Once-lost texts that are searched for."""

NOT_AT_HAND = "the old embedder is not at hand"
NOT_ASKED = "the index is being written by another program"

_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class _Before:
    """The living namespace as it is compared: what it lost, and the embedder that its vectors name."""

    lost: tuple[LostText, ...] = ()
    fingerprint: Fingerprint | None = None


async def reported(
    index: str, sibling: str, settings: Settings, provider: EmbeddingProvider, verification: Verification
) -> Verification:
    """Add to a verification which lost texts come back at which rank, and how far the neighbours stayed the same.

    Up to 20 lost texts are sent to the provider as queries, as the plan says. Ranks before are measured where the old
    embedder runs on this machine: nothing is sent to a server for them. Neither file may be open in this process.
    """
    try:
        before = await asyncio.to_thread(_before, index, settings)
    except SourceError:
        return replace(verification, not_measured=NOT_ASKED)
    now = await _queries(provider, before.lost)
    then, why = await _then(before)
    try:
        return await asyncio.to_thread(_compared, index, sibling, settings, verification, before, (then, why, now))
    except SourceError:
        return replace(verification, not_measured=NOT_ASKED)


async def _queries(provider: EmbeddingProvider | None, lost: tuple[LostText, ...]) -> list[NDArray[np.float64]] | None:
    if provider is None or not lost:
        return None
    try:
        return await embed_queries(provider, [each.query for each in lost])
    except EmbedderError:
        return None


async def _then(before: _Before) -> tuple[list[NDArray[np.float64]] | None, str | None]:
    """Embed the lost texts with the embedder that built the living namespace, if it runs here."""
    old = None if before.fingerprint is None or not before.lost else embedder_here(before.fingerprint)
    if old is None:
        return None, NOT_AT_HAND if before.lost else None
    try:
        found = await _queries(old, before.lost)
    finally:
        await old.dispose()
    return found, None if found is not None else NOT_AT_HAND


def embedder_here(fingerprint: Fingerprint) -> BuildingProvider | None:
    """Give the embedder of this very fingerprint that is installed on this machine; None where there is none."""
    known = next((each for each in LOCAL if each.known.fingerprint == fingerprint), None)
    if known is None:
        return None
    try:
        return open_embedder(known)
    except EmbedderError:
        return None


def _before(index: str, settings: Settings, job: Job | None = None) -> _Before:
    with together(Member("ix", index)) as workspace, workspace.cursor(job) as cursor:
        mapping = find(cursor, settings.namespace)
        fingerprint = mapping.recorded
        return _Before(_lost(cursor, mapping, fingerprint), fingerprint)


def _lost(
    cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, fingerprint: Fingerprint | None
) -> tuple[LostText, ...]:
    """Find what the living namespace never read, the longest first."""
    ceiling = resolve_index_ceiling(None, mapping.max_input_chars, fingerprint).chars
    longer = cursor.execute(
        f"SELECT id, text FROM {rows(mapping)} WHERE char_count > ? ORDER BY char_count DESC, seq LIMIT {_LOOKED_AT}",
        [ceiling],
    ).fetchall()
    counter = None if fingerprint is None else counter_of(fingerprint)
    found = (lost_text(id, text, ceiling, counter) for id, text in longer)
    return tuple(each for each in found if each is not None)[:MOST]


_Asked = tuple[list["NDArray[np.float64]"] | None, str | None, list["NDArray[np.float64]"] | None]
"""Queries of the old embedder, why there are none, and queries of the new one."""


def _compared(
    index: str, sibling: str, settings: Settings, verification: Verification, before: _Before, asked: _Asked
) -> Verification:
    then, why, now = asked
    ids = [each.id for each in before.lost]
    built = built_vectors(int(parse_fingerprint(settings.fingerprint).dims), SIB)
    with together(Member("ix", index), Member(SIB, sibling)) as workspace, workspace.cursor() as cursor:
        mapping = find(cursor, settings.namespace)
        dims = namespace_dims(cursor, mapping)
        if dims is None:
            return verification
        living = living_vectors(mapping, dims)
        old = None if then is None else ranks(cursor, living, list(zip(ids, then, strict=True)))
        new = None if now is None else ranks(cursor, built, list(zip(ids, now, strict=True)))
        overlap = neighbour_overlap(cursor, living, built, SIB)
    regained = (
        ()
        if new is None
        else tuple(
            Regained(
                id,
                None if old is None else old[0][place],
                new[0][place],
                of=new[1] if old is None else old[1],
                measured=old is not None,
            )
            for place, id in enumerate(ids)
        )
    )
    return replace(verification, neighbour_overlap=overlap, regained=regained, not_measured=why)
