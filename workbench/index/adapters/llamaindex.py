"""Recognises a table that LlamaIndex's DuckDB store wrote, under whatever table and column names."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.index.adapters.catalog import Column, Table
from workbench.index.adapters.sampling import Sample

ADAPTER = "llamaindex"
ALTERNATIVE = "give the store another table_name or persist_dir for the other embedder"
NOTE = "this store puts metadata in front of the text when it embeds: what was embedded is longer than what is stored"

_NAMES = frozenset({"node_id", "text", "embedding", "metadata_"})
_MOST = 0.9


def is_llamaindex(table: Table, sample: Sample, vectors: Sequence[Column]) -> bool:
    """Say whether a table is of that layout: it has the store's column names, or nodes in a JSON column."""
    if not vectors:
        return False
    return {column.name.lower() for column in table.columns} >= _NAMES or node_column(table, sample) is not None


def node_column(table: Table, sample: Sample) -> str | None:
    """Find the column whose sampled values hold a serialised node."""
    for column in table.columns:
        values = sample.texts.get(column.name, ())
        if values and sum(value.node_content and value.json_object for value in values) >= _MOST * len(values):
            return column.name
    return None
