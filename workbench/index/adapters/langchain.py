"""Recognises a table that LangChain's DuckDB store wrote, under whatever table and column names."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.index.adapters.catalog import Column, Table
from workbench.index.adapters.roles import Roles, holds_json
from workbench.index.adapters.sampling import Sample

ADAPTER = "langchain"
ALTERNATIVE = "give the store another table_name for the other embedder"

_DEFAULT_NAMES = frozenset({"id", "text", "embedding", "metadata"})


def is_langchain(table: Table, sample: Sample, vectors: Sequence[Column], roles: Roles) -> bool:
    """Say whether a table is of that layout.

    Exactly one vector column, a ``FLOAT[]``; a VARCHAR key, a VARCHAR text, and a VARCHAR that holds JSON objects.
    A table without rows, or whose metadata is all NULL, is recognised by the names that the store gives by itself.
    """
    if [column.type for column in vectors] != ["FLOAT[]"]:
        return False
    types = {column.name: column.type for column in table.columns}
    if any(role is None or types.get(role) != "VARCHAR" for role in (roles.id, roles.text, roles.metadata)):
        return False
    assert roles.metadata is not None
    values = sample.texts.get(roles.metadata, ())
    return holds_json(values) if values else {name.lower() for name in types} == _DEFAULT_NAMES
