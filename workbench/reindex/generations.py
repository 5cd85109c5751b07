"""The generations of a native index after a swap: which there are, back to the one before, and dropping the old."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.index.opening import attach
from workbench.index.schema import GENERATIONS, NAMESPACES, SCHEMA, base_tables, first_row
from workbench.index.sql import qualified
from workbench.index.workspace import Access, Member, together
from workbench.index.writing import transaction
from workbench.reindex.model import ReindexError
from workbench.reindex.swapping import checkpoint

_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation of a namespace, as the registry says; ``state`` is verified, active or retired.

    ``activated_ms`` is when it last began to answer, None where that is not known.
    """

    generation: int
    fingerprint: str | None
    state: str
    count: int
    created_ms: int
    activated_ms: int | None = None


@dataclass(frozen=True, slots=True)
class NamespaceGenerations:
    """A namespace with its generations, newest first."""

    namespace: str
    active: int | None
    generations: tuple[Generation, ...]


@dataclass(frozen=True, slots=True)
class RolledBack:
    """Which generation answers again, and the ids that were written since the swap and are not in it."""

    generation: int
    left: int
    written_since: tuple[str, ...]
    more_written: int


def before(kept: Iterable[Generation], active: int | None) -> Generation | None:
    """Give the generation that rolling back leads to: of those before the active one, the one that answered last."""
    older = [each for each in kept if active is not None and each.generation < active and each.state == "retired"]
    known = [each for each in older if each.activated_ms is not None]
    return max(known or older, key=lambda each: (each.activated_ms or 0, each.generation), default=None)


def generations(index: str) -> tuple[NamespaceGenerations, ...]:
    """Read what the registry keeps of every namespace. Raises SourceError."""
    with attach(index) as attachment, attachment.cursor() as cursor:
        active = cursor.execute(
            f"SELECT namespace, active_generation FROM {qualified(SCHEMA, NAMESPACES)} ORDER BY created_ms, namespace"
        ).fetchall()
        rows = cursor.execute(
            "SELECT namespace, generation, embedder_fp, state, row_count, created_ms, activated_ms"
            f" FROM {qualified(SCHEMA, GENERATIONS)} ORDER BY generation DESC"
        ).fetchall()
    return tuple(
        NamespaceGenerations(name, current, tuple(Generation(*row[1:]) for row in rows if row[0] == name))
        for name, current in active
    )


def written_since(index: str, namespace: str) -> tuple[tuple[str, ...], int]:
    """Give ids that were written after the active generation took over (the first of them), and how many there are."""
    with attach(index) as attachment, attachment.cursor() as cursor:
        row = first_row(
            cursor,
            f"SELECT g.table_name, g.activated_ms FROM {qualified(SCHEMA, NAMESPACES)} n"
            f" JOIN {qualified(SCHEMA, GENERATIONS)} g ON g.generation = n.active_generation WHERE n.namespace = ?",
            [namespace],
        )
        if row is None or row[1] is None or row[0] not in base_tables(cursor, [row[0]]):
            return (), 0
        found = cursor.execute(
            f"SELECT id, count(*) OVER () FROM {qualified(SCHEMA, row[0])} WHERE updated_ms > ?"
            f" ORDER BY updated_ms, seq LIMIT {_LISTED}",
            [row[1]],
        ).fetchall()
    return tuple(id for id, _ in found), int(found[0][1]) if found else 0


def roll_back(index: str, namespace: str, now_ms: int) -> RolledBack:
    """Let the generation before the active one answer again, whole and as it was; nothing is deleted.

    Raises:
        ReindexError: there is no generation to go back to.
        SourceError: locked, when another program holds the index; it is named.
    """
    written, count = written_since(index, namespace)
    namespaces, table = qualified(SCHEMA, NAMESPACES), qualified(SCHEMA, GENERATIONS)
    with together(Member("ix", index, Access.WRITE)) as workspace, workspace.cursor() as cursor:
        with transaction(cursor):
            row = first_row(
                cursor,
                f"SELECT g.generation, g.table_name, n.active_generation FROM {namespaces} n JOIN {table} g"
                " ON g.namespace = n.namespace AND g.state = 'retired' AND g.generation < n.active_generation"
                # The one that answered last: after a roll back and another swap that is not the next lower number.
                " WHERE n.namespace = ? ORDER BY g.activated_ms DESC NULLS LAST, g.generation DESC LIMIT 1",
                [namespace],
            )
            if row is None or row[1] not in base_tables(cursor, [row[1]]):
                raise ReindexError(
                    f"namespace '{namespace}' has no earlier generation to go back to; it was never re-indexed, or the "
                    "old one was discarded"
                )
            cursor.execute(f"UPDATE {table} SET state = 'retired' WHERE generation = ?", [row[2]])
            cursor.execute(
                f"UPDATE {table} SET state = 'active', activated_ms = ? WHERE generation = ?", [now_ms, row[0]]
            )
            cursor.execute(
                f"UPDATE {namespaces} SET active_generation = ?, updated_ms = ? WHERE namespace = ?",
                [row[0], now_ms, namespace],
            )
        checkpoint(cursor)
    _expect(index, namespace, int(row[0]))
    return RolledBack(int(row[0]), int(row[2]), written, count)


def drop_retired(index: str, namespace: str) -> int:
    """Drop the generations of a namespace that do not answer any more; says how many there were."""
    table = qualified(SCHEMA, GENERATIONS)
    with together(Member("ix", index, Access.WRITE)) as workspace, workspace.cursor() as cursor:
        with transaction(cursor):
            rows = cursor.execute(
                f"SELECT generation, table_name FROM {table} WHERE namespace = ? AND generation NOT IN"
                f" (SELECT active_generation FROM {qualified(SCHEMA, NAMESPACES)} WHERE active_generation IS NOT NULL)",
                [namespace],
            ).fetchall()
            for generation, name in rows:
                others = first_row(
                    cursor, f"SELECT count(*) FROM {table} WHERE table_name = ? AND generation <> ?", [name, generation]
                )
                if base_tables(cursor, [name]) and others == (0,):
                    cursor.execute(f"DROP TABLE {qualified(SCHEMA, name)}")
                cursor.execute(f"DELETE FROM {table} WHERE generation = ?", [generation])
        checkpoint(cursor)
    return len(rows)


def _expect(index: str, namespace: str, generation: int) -> None:
    with attach(index) as attachment, attachment.cursor() as cursor:
        row = first_row(
            cursor,
            f"SELECT active_generation FROM {qualified(SCHEMA, NAMESPACES)} WHERE namespace = ?",
            [namespace],
        )
    if row != (generation,):
        raise ReindexError(f"rolling back did not last: {index} still answers with generation {row[0] if row else '?'}")
