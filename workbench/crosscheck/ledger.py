"""The ledger of a routing log held against opened indexes: which rows hold the foreign vectors that it tells of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.crosscheck.indexed import LookUps, named

if TYPE_CHECKING:
    from workbench.core.job import Job
    from workbench.crosscheck.indexed import IndexedNamespace
    from workbench.routing.ledger import Ledger, LedgerRow

_TRIED_KEYS = 20


@dataclass(frozen=True, slots=True)
class ContaminatedRows:
    """What an opened index holds of the keys that a ledger lists for one namespace.

    Attributes:
        ledger: the row of the ledger.
        source: the path of the index, None when no opened index has the namespace nor its keys.
        namespace: its name there.
        searched: no opened index has a namespace of that name, the keys were looked for.
        ids: the keys that are rows there, in the order of the ledger: what Chunks marks.
        absent: how many keys are no row: rejected by the store, or deleted since.
        not_looked_up: keys beyond the most that are looked up.
    """

    ledger: LedgerRow
    source: str | None
    namespace: str | None
    searched: bool
    ids: tuple[str, ...]
    absent: int
    not_looked_up: int


def join_ledger(
    ledger: Ledger, indexes: Sequence[IndexedNamespace], job: Job | None = None
) -> tuple[ContaminatedRows, ...]:
    """Look the keys of every contaminated namespace up, each index of that name apart.

    Raises SourceError when an index cannot be read, Cancelled when the job was given up.
    """
    found: list[ContaminatedRows] = []
    for row in ledger.rows:
        if row.keys:
            found += _joined(row, indexes, job)
    return tuple(found)


def contaminated_ids(joined: Sequence[ContaminatedRows], source: str, namespace: str) -> frozenset[str]:
    """Give the ids of an index's namespace that hold a foreign vector by what the ledgers say."""
    return frozenset(id for each in joined if each.source == source and each.namespace == namespace for id in each.ids)


def _joined(row: LedgerRow, indexes: Sequence[IndexedNamespace], job: Job | None) -> Iterator[ContaminatedRows]:
    by_name = named(indexes, row.namespace)
    places = by_name or _holding(row, indexes, job)
    if not places:
        yield ContaminatedRows(row, None, None, False, (), len(row.keys), 0)
    for place in places:
        look_ups = LookUps(job)
        ids = tuple(key for key in row.keys if look_ups.chunk(place, key) is not None)
        yield ContaminatedRows(
            ledger=row,
            source=place.source,
            namespace=place.name,
            searched=not by_name,
            ids=ids,
            absent=len(row.keys) - len(ids) - look_ups.left_out,
            not_looked_up=look_ups.left_out,
        )


def _holding(row: LedgerRow, indexes: Sequence[IndexedNamespace], job: Job | None) -> list[IndexedNamespace]:
    """Find the namespace that holds most of the first keys."""
    best: IndexedNamespace | None = None
    most = 0
    look_ups = LookUps(job)
    for namespace in indexes:
        held = sum(look_ups.chunk(namespace, key) is not None for key in row.keys[:_TRIED_KEYS])
        if held > most:
            best, most = namespace, held
    return [] if best is None else [best]
