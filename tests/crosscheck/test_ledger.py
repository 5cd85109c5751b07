"""The ledger's keys held against opened indexes: which rows to mark, by name or by where the keys are."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.routing.scenes import NATIVE, SPARE, attempt, namespace, replayed
from workbench.core.ceiling import ChunkCeiling
from workbench.core.job import Job
from workbench.crosscheck.indexed import MOST_LOOKED_UP, IndexedNamespace
from workbench.crosscheck.ledger import contaminated_ids, join_ledger
from workbench.index.model import Chunk
from workbench.routing.ledger import Ledger


@dataclass
class Shelf:
    """Chunks by id, and how often one was asked for."""

    ids: set[str]
    asked: list[str] = field(default_factory=list)

    def chunk(self, id: str, job: Job | None = None) -> Chunk | None:
        self.asked.append(id)
        return Chunk(id, None, None, None, None, None, None, None) if id in self.ids else None


def shelf(name: str, *ids: str, source: str = "index.duckdb") -> IndexedNamespace:
    return IndexedNamespace(source, name, None, ChunkCeiling(2000, "default"), len(ids), Shelf(set(ids)))


def ledger(*keys: str) -> Ledger:
    """Give the ledger of one call that wrote foreign vectors under these keys."""
    more = {"namespace": "docs", "purpose": "document", "input.count": len(keys), "keys": list(keys)}
    return replayed(
        namespace(),
        attempt("primary", "error", 0, "c", made=NATIVE) | more,
        attempt("fallback", "ok", 0, "c", made=SPARE) | more,
    ).ledger


def test_rows_of_the_namespace_of_that_name_are_found() -> None:
    (found,) = join_ledger(ledger("a", "b", "c"), [shelf("other", "a", "b"), shelf("docs", "a", "c")])
    assert (found.namespace, found.ids, found.absent, found.searched) == ("docs", ("a", "c"), 1, False)


def test_every_index_with_that_namespace_is_looked_into() -> None:
    found = join_ledger(ledger("a"), [shelf("docs", "a"), shelf("docs", source="copy.duckdb")])
    assert [(each.source, each.ids) for each in found] == [("index.duckdb", ("a",)), ("copy.duckdb", ())]


def test_without_that_name_the_namespace_that_holds_most_of_the_keys_is_taken() -> None:
    (found,) = join_ledger(ledger("a", "b"), [shelf("one", "a"), shelf("two", "a", "b")])
    assert (found.namespace, found.searched) == ("two", True)


def test_keys_that_no_index_has_are_absent() -> None:
    (found,) = join_ledger(ledger("a", "b"), [shelf("one")])
    assert (found.source, found.ids, found.absent) == (None, (), 2)


def test_ids_to_mark_are_those_of_one_namespace_of_one_index() -> None:
    found = join_ledger(ledger("a", "b"), [shelf("docs", "a"), shelf("docs", "b", source="copy.duckdb")])
    assert contaminated_ids(found, "index.duckdb", "docs") == {"a"}
    assert contaminated_ids(found, "copy.duckdb", "docs") == {"b"}
    assert contaminated_ids(found, "index.duckdb", "other") == frozenset()


def test_look_ups_are_bounded_and_what_was_left_out_is_counted() -> None:
    keys = [f"k{number}" for number in range(MOST_LOOKED_UP + 5)]
    place = shelf("docs", *keys)
    (found,) = join_ledger(ledger(*keys), [place])
    assert (len(found.ids), found.absent, found.not_looked_up) == (MOST_LOOKED_UP, 0, 5)


def test_a_clean_ledger_asks_no_index() -> None:
    place = shelf("docs", "a")
    clean = replayed(namespace(), attempt("primary", "ok", 0, "c", made=NATIVE, namespace="docs", keys=["a"])).ledger
    assert join_ledger(clean, [place]) == ()
    assert isinstance(place.chunks, Shelf)
    assert place.chunks.asked == []
