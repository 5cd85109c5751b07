"""Whose file an index is, and with it how a build comes in, how it is taken back, and what is left of the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.index.opening import attach
from workbench.index.schema import is_native
from workbench.reindex import foreign, generations, swapping
from workbench.reindex.generations import NamespaceGenerations
from workbench.reindex.lost_indexes import METRICS, lost_indexes
from workbench.reindex.model import ReindexError

if TYPE_CHECKING:
    from workbench.index.job import Job
    from workbench.reindex.model import Settings
    from workbench.reindex.swapping import Swapped


def is_foreign(index: str) -> bool:
    """Whether another program wrote the file. Raises SourceError."""
    with attach(index) as attachment, attachment.cursor() as cursor:
        return not is_native(cursor)


def swap(index: str, sibling: str, settings: Settings, run_id: str, now_ms: int, job: Job | None = None) -> Swapped:
    """Put a verified build in place; see swapping.swap and foreign.swap."""
    if is_foreign(index):
        return foreign.swap(index, sibling, settings, now_ms, job)
    return swapping.swap(index, sibling, settings, run_id, now_ms, job)


def refuse_unasked(index: str, hnsw_metric: str | None) -> None:
    """Refuse to begin what would lose an index whose options nobody knows any more; raises ReindexError."""
    lost = lost_indexes(index) if is_foreign(index) else ()
    if lost and hnsw_metric is None:
        named = ", ".join(f"{each.name} on {each.table}" for each in lost)
        raise ReindexError(
            f"this file has HNSW indexes ({named}), which cannot be made here and whose metric the file does not keep; "
            f"say it with --hnsw-metric ({', '.join(METRICS)}): the new file is without them, and the "
            "statements that make them again are given"
        )


def came_from(index: str, settings: Settings, run_id: str, path: str, now_ms: int) -> Swapped | None:
    """Say whether what answers is this very build: then its swap was done already."""
    if is_foreign(index):
        return foreign.came_from(index, settings, path, now_ms)
    return swapping.came_from(index, settings, run_id, path)


def namespaces(index: str) -> tuple[NamespaceGenerations, ...]:
    """Give the namespaces of an index with their generations; a foreign file keeps none."""
    if is_foreign(index):
        return tuple(NamespaceGenerations(name, None, ()) for name, _ in foreign.namespaces(index))
    return generations.generations(index)


def drop_retired(index: str, namespace: str) -> int:
    """Drop the generations of a namespace that do not answer any more; a foreign file keeps files instead."""
    return 0 if is_foreign(index) else generations.drop_retired(index, namespace)


def fingerprint_of(index: str, namespace: str) -> str | None:
    """Say what made the living vectors of a namespace, as far as anything says."""
    if is_foreign(index):
        return dict(foreign.namespaces(index)).get(namespace)
    found = next((each for each in generations.generations(index) if each.namespace == namespace), None)
    active = None if found is None else next((g for g in found.generations if g.generation == found.active), None)
    return None if active is None else active.fingerprint
