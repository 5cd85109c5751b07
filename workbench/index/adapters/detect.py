"""Which namespaces an attached DuckDB file holds, by the look of its base tables; the first layout that fits wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.core.fingerprint import Fingerprint
from workbench.index.adapters import langchain, llamaindex
from workbench.index.adapters.catalog import MAX_TABLES, Column, Table, base_tables
from workbench.index.adapters.elsewhere import encoded_vectors, where_text_is
from workbench.index.adapters.labels import (
    Located,
    comment_fingerprint,
    find_registry,
    join_labels,
    read_labels,
    sampled_dims,
    settings_model,
)
from workbench.index.adapters.native import native_mappings, native_notes
from workbench.index.adapters.plain_table import map_table
from workbench.index.adapters.roles import find_roles, text_column
from workbench.index.adapters.sampling import EMPTY_SAMPLE, Sample, take_sample
from workbench.index.adapters.vector_test import is_vector_column
from workbench.index.schema import is_native

if TYPE_CHECKING:
    import duckdb

    from workbench.index.mapping import TableMapping


@dataclass(frozen=True, slots=True)
class Detection:
    """What was recognised in one file.

    Attributes:
        native: the file is one of ours.
        mappings: the namespaces, in the order of the file.
        remarks: what was seen and cannot be read, one sentence each.
        unreadable: whether some remark is about vectors that cannot be read yet.
        tables: the names of all base tables.
        texts: where texts stand, as ``table.column``.
    """

    native: bool
    mappings: tuple[TableMapping, ...]
    remarks: tuple[str, ...] = ()
    unreadable: bool = False
    tables: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(slots=True)
class _Looked:
    """One table, what was sampled of it, and its vector columns."""

    table: Table
    sample: Sample
    vectors: tuple[Column, ...] = ()
    remarks: list[str] = field(default_factory=list)


def _never(model: str) -> bool:
    return False


def detect(cursor: duckdb.DuckDBPyConnection, known_model: Callable[[str], bool] = _never) -> Detection:
    """Recognise the namespaces of an attached file.

    ``known_model`` says whether a string is the id of an embedding model; it helps with columns of unknown names.
    Only samples are read: the cost grows with the number of tables, not with their rows.
    """
    if is_native(cursor):
        return Detection(True, tuple(native_mappings(cursor)), native_notes(cursor))
    tables, more = base_tables(cursor)
    looked = [_look(cursor, table) for table in tables]
    mappings = _mappings(cursor, looked, known_model)
    encoded = [remark for one in looked for remark in encoded_vectors(cursor, one.table, one.sample)]
    remarks = [remark for one in looked for remark in one.remarks] + encoded
    if more:
        remarks.append(f"the file has more than {MAX_TABLES:,} tables; the others were not looked into")
    return Detection(
        native=False,
        mappings=tuple(_distinct(mappings)),
        remarks=tuple(remarks),
        unreadable=any(one.remarks for one in looked) or bool(encoded),
        tables=tuple(table.shown for table in tables),
        texts=tuple(
            f"{one.table.shown}.{text}"
            for one in looked
            if one.sample.rows and (text := text_column(one.table, one.sample)) is not None
        ),
    )


def mappings(cursor: duckdb.DuckDBPyConnection) -> list[TableMapping]:
    """Give the namespaces of an attached file."""
    return list(detect(cursor).mappings)


def _look(cursor: duckdb.DuckDBPyConnection, table: Table) -> _Looked:
    own = table.column("rowid")
    if own is not None and table.primary_key != (own.name,):
        return _Looked(table, EMPTY_SAMPLE, (), _hidden_rows(table))
    sample = take_sample(cursor, table)
    vectors = tuple(column for column in table.columns if is_vector_column(column, sample.vectors.get(column.name, ())))
    return _Looked(table, sample, vectors)


def _hidden_rows(table: Table) -> list[str]:
    """Say so when a column named like the row number takes its place: rows cannot be told apart then."""
    if not any(column.vector_type for column in table.columns):
        return []
    return [f"table {table.shown}: its own column rowid hides the number of each row, so it is not readable yet"]


def _mappings(
    cursor: duckdb.DuckDBPyConnection, looked: Sequence[_Looked], known_model: Callable[[str], bool]
) -> list[TableMapping]:
    others = [(one.table, one.sample) for one in looked if not one.vectors]
    located = [
        Located(mapping, sampled_dims(column, one.sample))
        for one in looked
        for column, mapping in _of_table(one, others, known_model)
    ]
    registry = find_registry(others) if located else None
    if registry is not None:
        sample = next(sample for table, sample in others if table is registry)
        labels = read_labels(cursor, registry, sample)
        return join_labels(located, labels, registry.shown)
    found = [one.mapping for one in located]
    if len(found) == 1 and found[0].recorded is None and located[0].dims is not None:
        model = settings_model(cursor, [table for table, _ in others])
        if model is not None:
            note = f"the embedder is named by the settings in table {model[1]}"
            recorded = Fingerprint(model[0], located[0].dims)
            found = [replace(found[0], recorded=recorded, notes=(*found[0].notes, note))]
    return found


def _of_table(
    one: _Looked, others: Sequence[tuple[Table, Sample]], known_model: Callable[[str], bool]
) -> list[tuple[Column, TableMapping]]:
    if not one.vectors:
        return []
    roles = find_roles(one.table, one.sample, known_model)
    no_text = None if roles.text is not None else where_text_is(one.table, others)
    adapter, alternative = None, ""
    if llamaindex.is_llamaindex(one.table, one.sample, one.vectors):
        adapter, alternative = llamaindex.ADAPTER, llamaindex.ALTERNATIVE
        node = llamaindex.node_column(one.table, one.sample)
        roles = replace(roles, metadata=node or roles.metadata, notes=(*roles.notes, llamaindex.NOTE))
    elif langchain.is_langchain(one.table, one.sample, one.vectors, roles):
        adapter, alternative = langchain.ADAPTER, langchain.ALTERNATIVE
    found = []
    for column in one.vectors:
        if adapter is None:
            mapping = map_table(one.table, column, one.vectors, roles, no_text=no_text)
        else:
            mapping = map_table(
                one.table, column, one.vectors, roles, adapter=adapter, alternative=alternative, no_text=no_text
            )
        said = comment_fingerprint(one.table, column, sampled_dims(column, one.sample))
        if said is not None:
            mapping = replace(mapping, recorded=said, notes=(*mapping.notes, "the embedder is named by a comment"))
        found.append((column, mapping))
    return found


def _distinct(found: Sequence[TableMapping]) -> list[TableMapping]:
    """Tell apart namespaces that would have one name, as table ``a.b`` and table ``b`` of schema ``a``."""
    used: set[str] = set()
    distinct = []
    for mapping in found:
        name, again = mapping.namespace, 2
        while name in used:
            name, again = f"{mapping.namespace} ({again})", again + 1
        used.add(name)
        distinct.append(replace(mapping, namespace=name))
    return distinct
