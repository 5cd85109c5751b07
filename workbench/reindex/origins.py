"""Whose file an index is, and with it how a build comes in, how it is taken back, and what is left of the old one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workbench.index.model import Problem, SourceError
from workbench.index.opening import attach, sniff
from workbench.index.schema import is_native
from workbench.reindex import foreign, generations, swapping
from workbench.reindex.generations import Generation, NamespaceGenerations, RolledBack
from workbench.reindex.leftovers import remove_file
from workbench.reindex.lost_indexes import METRICS, lost_indexes
from workbench.reindex.model import ReindexError
from workbench.reindex.sibling import refuse_unfinished

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.reindex.model import Settings
    from workbench.reindex.swapping import Swapped


def is_foreign(index: str) -> bool:
    """Whether another program wrote the file. Raises SourceError, for SQLite with the way that there is."""
    if sniff(index).container == "sqlite":
        raise SourceError(
            Problem.NOT_READABLE_YET,
            f"{index} is a SQLite file, which is not built again in place; copy it into a native one first: "
            f"workbench import {index} DEST.duckdb",
            container="sqlite",
        )
    refuse_unfinished(index)
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
    """Give the namespaces of an index with their generations, newest first.

    Those of a foreign file are the files that its swaps have kept, numbered from the oldest; it is the newest itself.
    """
    if not is_foreign(index):
        return generations.generations(index)
    files = (*foreign.kept_files(index), os.path.realpath(index))
    held = [foreign.namespaces(each) for each in files]
    found = []
    for name in held[-1]:
        there = [(held_here[name], path) for held_here, path in zip(held, files, strict=True) if name in held_here]
        rows = [
            Generation(
                number, each.fingerprint, "active" if number == len(there) else "retired", each.count, _made(path)
            )
            for number, (each, path) in enumerate(there, 1)
        ]
        found.append(NamespaceGenerations(name, len(rows), tuple(reversed(rows))))
    return tuple(found)


def written_since(index: str, namespace: str) -> tuple[tuple[str, ...], int]:
    """Give ids that a roll back would take out of sight (the first of them), and how many there are."""
    if not is_foreign(index):
        return generations.written_since(index, namespace)
    if not foreign.kept_files(index):
        return (), 0
    found = foreign.written_since(index, namespace)
    return found.written_since, found.written


def roll_back(index: str, namespace: str, now_ms: int) -> RolledBack:
    """Let what was before the last swap answer again; see generations.roll_back and foreign.roll_back."""
    if not is_foreign(index):
        return generations.roll_back(index, namespace, now_ms)
    done = foreign.roll_back(index, namespace)
    number = 1 + len(foreign.kept_files(index))
    return RolledBack(number - 1, number, done.written_since, done.written)


def _made(path: str) -> int:
    return os.stat(path).st_mtime_ns // 1_000_000


def drop_retired(index: str, namespace: str) -> int:
    """Drop the generations of a namespace that do not answer any more, of a foreign file the files it has kept."""
    if not is_foreign(index):
        return generations.drop_retired(index, namespace)
    files = foreign.kept_files(index)
    for path in files:
        remove_file(path)
    return len(files)


def fingerprint_of(index: str, namespace: str) -> str | None:
    """Say what made the living vectors of a namespace, as far as anything says."""
    if is_foreign(index):
        held = foreign.namespaces(index).get(namespace)
        return None if held is None else held.fingerprint
    found = next((each for each in generations.generations(index) if each.namespace == namespace), None)
    active = None if found is None else next((g for g in found.generations if g.generation == found.active), None)
    return None if active is None else active.fingerprint
