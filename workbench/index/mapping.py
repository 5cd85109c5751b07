"""Where in a DuckDB file one namespace's ids, texts, vectors and fingerprints stand: what an adapter finds out.

An adapter only says which column plays which part; all measuring and searching over a mapping is written once
(table.py and the files it uses).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.core.fingerprint import Fingerprint


class ModelColumn(StrEnum):
    """What a per-row model column holds."""

    MODEL_ID = "model-id"
    """The bare id; the length is the vector's."""
    FINGERPRINT = "fingerprint"
    """``<id>@<dims>``; the id is taken from it, the length from the vector itself."""


@dataclass(frozen=True, slots=True)
class TableMapping:
    """One namespace as columns of one base table. Names are exact catalogue names, quoted only where SQL is made.

    Attributes:
        namespace: as users name it.
        adapter: workbench, langchain, llamaindex, plain-table.
        schema, table: the base table.
        vector: the vector column, None when it was never written (a native namespace before its first vector).
        element_type: the column's element type as DuckDB spells it (FLOAT, DOUBLE, TINYINT, …).
        fixed_dims: n of ``T[n]``; None for a list column.
        id: the id column; None means the rowid stands in for it.
        id_unique: a primary key or unique constraint covers exactly the id, so that duplicates cannot be.
        text: the column with the chunk's text; None when it is elsewhere, then ``no_text`` says so.
        no_text: one clause, for example "the table holds vectors only".
        metadata, source, tier, expires_ms: columns, when there are such.
        char_count, byte_count: columns with stored UTF-16 and UTF-8 lengths; believed only after sampling.
        order: the paging key: ``seq`` of a native table, else ``rowid``.
        model, model_kind: the column that names each row's embedder.
        recorded: what a registry or metadata records for the namespace.
        keeps_records: the layout keeps such a record for every namespace.
        recorded_dims: the length that the record declares, where the type does not.
        max_input_chars: the ceiling that the record declares.
        alternative: the second way out of a refusal.
        notes: assumptions and guesses, each one sentence.
    """

    namespace: str
    adapter: str
    schema: str
    table: str
    vector: str | None
    element_type: str = "FLOAT"
    fixed_dims: int | None = None
    id: str | None = None
    id_unique: bool = False
    text: str | None = None
    no_text: str | None = None
    metadata: str | None = None
    source: str | None = None
    tier: str | None = None
    expires_ms: str | None = None
    char_count: str | None = None
    byte_count: str | None = None
    order: str = "rowid"
    model: str | None = None
    model_kind: ModelColumn = ModelColumn.MODEL_ID
    recorded: Fingerprint | None = None
    keeps_records: bool = False
    recorded_dims: int | None = None
    max_input_chars: int | None = None
    alternative: str = "point at another index"
    notes: tuple[str, ...] = field(default=())
