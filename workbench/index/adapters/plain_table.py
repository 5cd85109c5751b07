"""Any table with a vector column, read as a namespace: the layout of nobody in particular."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.index.adapters.catalog import Column, Table
from workbench.index.adapters.roles import Roles
from workbench.index.mapping import TableMapping

ADAPTER = "plain-table"
_ALTERNATIVE = "keep the vectors of the other embedder in another table"


def namespace_name(table: Table, column: Column, vectors: Sequence[Column]) -> str:
    """``table``, ``schema.table`` outside main, and with the column when the table has several vector columns."""
    return table.shown if len(vectors) == 1 else f"{table.shown}.{column.name}"


def map_table(
    table: Table,
    column: Column,
    vectors: Sequence[Column],
    roles: Roles,
    *,
    adapter: str = ADAPTER,
    alternative: str = _ALTERNATIVE,
    no_text: str | None = None,
) -> TableMapping:
    """Make the mapping of one vector column; ``no_text`` says where the text is when the table holds none."""
    assert column.vector_type is not None
    element, dims = column.vector_type
    return TableMapping(
        namespace=namespace_name(table, column, vectors),
        adapter=adapter,
        schema=table.schema,
        table=table.name,
        vector=column.name,
        element_type=element,
        fixed_dims=dims,
        id=roles.id,
        id_unique=roles.id_unique,
        text=roles.text,
        no_text=no_text if roles.text is None else None,
        metadata=roles.metadata,
        source=roles.source,
        model=roles.model,
        model_kind=roles.model_kind,
        alternative=alternative,
        notes=roles.notes,
    )
