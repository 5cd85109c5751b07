"""What a foreign file records about the embedders of its tables: a registry, a settings table, comments."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.core.fingerprint import Fingerprint, parse_fingerprint
from workbench.index.adapters.catalog import Column, Table
from workbench.index.adapters.sampling import Sample
from workbench.index.sql import quoted

if TYPE_CHECKING:
    import duckdb

    from workbench.index.mapping import TableMapping

MAX_LABELS = 1_000
"""Rows of a registry that are read; a table with more is no registry."""

_FINGERPRINTS = ("embedder_fp", "fingerprint", "embedder_fingerprint", "embedding_fingerprint")
_MODELS = ("embedder", "embedding_model", "model")
_DIMS = ("dims", "dim", "dimension", "dimensions")
_CEILINGS = ("max_input_chars", "max_chunk_chars", "max_chars")
_FINGERPRINT = re.compile(r"(.+)@([1-9][0-9]{0,5})", re.DOTALL)
_MIN_PREFIX = 3


@dataclass(frozen=True, slots=True)
class Label:
    """One row of a registry: a namespace, what made its vectors, and how much of a text that reads."""

    namespace: str
    fingerprint: Fingerprint | None
    dims: int | None
    max_input_chars: int | None


@dataclass(frozen=True, slots=True)
class Located:
    """A mapping, and the length of its vectors as declared or as sampled."""

    mapping: TableMapping
    dims: int | None


def sampled_dims(column: Column, sample: Sample) -> int | None:
    """Return the declared length, else the most frequent one of the sample."""
    if column.vector_type is not None and column.vector_type[1] is not None:
        return column.vector_type[1]
    lengths = Counter(row.length for row in sample.vectors.get(column.name, ()))
    return min(lengths, key=lambda length: (-lengths[length], length)) if lengths else None


def find_registry(tables: Sequence[tuple[Table, Sample]]) -> Table | None:
    """Find the registry among the tables without vectors: by its name and columns, else by a column of fingerprints."""
    small = [(table, sample) for table, sample in tables if table.rows <= MAX_LABELS]
    for table, _ in small:
        if table.column("namespace") and _said_by_name(table):
            return table
    for table, sample in small:
        if _said_by_content(table, sample) is not None:
            return table
    return None


def _said_by_name(table: Table) -> Column | None:
    """Find the column of fingerprints, or one of model ids beside their lengths."""
    return table.column(*_FINGERPRINTS) or (table.column(*_MODELS) if table.column(*_DIMS) else None)


def _said_by_content(table: Table, sample: Sample) -> tuple[Column, Column] | None:
    """Find the column of names and that of fingerprints, when every sampled value is one."""
    texts = [column for column in table.columns if column.type == "VARCHAR"]
    said = [column for column in texts if _all_fingerprints(sample, column)]
    names = [column for column in texts if column not in said and _all_differ(sample, column)]
    return (names[0], said[0]) if len(said) == 1 and names else None


def _all_fingerprints(sample: Sample, column: Column) -> bool:
    values = sample.texts.get(column.name, ())
    return bool(values) and all(_FINGERPRINT.fullmatch(value.start) for value in values)


def _all_differ(sample: Sample, column: Column) -> bool:
    values = [value.start for value in sample.texts.get(column.name, ())]
    return bool(values) and len(set(values)) == len(values) == sample.rows


def read_labels(cursor: duckdb.DuckDBPyConnection, table: Table, sample: Sample) -> tuple[Label, ...]:
    """Read the rows of a registry."""
    name, said = table.column("namespace"), _said_by_name(table)
    if name is None or said is None:
        by_content = _said_by_content(table, sample)
        if by_content is None:
            return ()
        name, said = by_content
    numbers = [table.column(*_DIMS), table.column(*_CEILINGS)]
    read = ", ".join("NULL" if column is None else f"TRY_CAST({quoted(column.name)} AS BIGINT)" for column in numbers)
    rows = cursor.execute(
        f"SELECT left({quoted(name.name)}::VARCHAR, 1000), left({quoted(said.name)}::VARCHAR, 1000), {read}"
        f" FROM {table.qualified} LIMIT {MAX_LABELS}"
    ).fetchall()
    return tuple(_label(*row) for row in rows if row[0] is not None)


def _label(namespace: str, said: str | None, dims: int | None, ceiling: int | None) -> Label:
    fingerprint = None
    if said is not None and (_FINGERPRINT.fullmatch(said) or dims is None):
        fingerprint = parse_fingerprint(said)
    elif said:
        fingerprint = Fingerprint(said, dims or 0)
    if dims is None and fingerprint is not None and fingerprint.dims > 0:
        dims = int(fingerprint.dims)
    return Label(namespace, fingerprint, dims, ceiling if ceiling is not None and ceiling > 0 else None)


def join_labels(located: Sequence[Located], labels: Sequence[Label], registry: str) -> list[TableMapping]:
    """Give each mapping the record that belongs to it: by name, else by prefix, else the only one of its length."""
    left = list(labels)
    chosen: dict[int, Label] = {}
    for fits in (_same_name, _same_prefix):
        for place, one in enumerate(located):
            if place not in chosen:
                found = [label for label in left if fits(one, label)]
                if len(found) == 1 or (found and fits is _same_name):
                    chosen[place] = found[0]
                    left.remove(found[0])
    for label in list(left):
        places = [place for place, one in enumerate(located) if place not in chosen and one.dims == label.dims]
        rivals = [other for other in left if other.dims == label.dims]
        if label.dims is not None and len(places) == 1 and len(rivals) == 1:
            chosen[places[0]] = label
    return [_recorded(one.mapping, chosen.get(place), registry) for place, one in enumerate(located)]


def _same_name(one: Located, label: Label) -> bool:
    names = (one.mapping.namespace, one.mapping.table, f"{one.mapping.schema}.{one.mapping.table}")
    return label.namespace in names


def _same_prefix(one: Located, label: Label) -> bool:
    if label.dims is not None and one.dims is not None and label.dims != one.dims:
        return False
    table, said = one.mapping.table.lower(), label.namespace.lower()
    return min(len(table), len(said)) >= _MIN_PREFIX and (table.startswith(said) or said.startswith(table))


def _recorded(mapping: TableMapping, label: Label | None, registry: str) -> TableMapping:
    if label is None:
        return replace(mapping, keeps_records=True)
    note = f"table {registry} records it as namespace {label.namespace}"
    return replace(
        mapping,
        keeps_records=True,
        recorded=label.fingerprint,
        recorded_dims=label.dims,
        max_input_chars=label.max_input_chars,
        notes=(*mapping.notes, note),
    )


def comment_fingerprint(table: Table, column: Column, dims: int | None) -> Fingerprint | None:
    """Read a comment of the table or its vector column that is a fingerprint of the right length, and nothing else."""
    for comment in (column.comment, table.comment):
        if comment is not None and _FINGERPRINT.fullmatch(comment.strip()):
            said = parse_fingerprint(comment.strip())
            if said.id is not None and said.dims == dims:
                return said
    return None


def settings_model(cursor: duckdb.DuckDBPyConnection, tables: Sequence[Table]) -> tuple[str, str] | None:
    """Find a table of keys and JSON values whose entry ``embeddings`` names a model; gives the model and the table."""
    for table in tables:
        key, value = table.column("key"), table.column("value")
        if len(table.columns) != 2 or key is None or value is None or table.rows > MAX_LABELS:
            continue
        row = cursor.execute(
            f"SELECT left({quoted(value.name)}::VARCHAR, 10000) FROM {table.qualified}"
            f" WHERE {quoted(key.name)}::VARCHAR = 'embeddings' LIMIT 1"
        ).fetchone()
        model = _model_in(row[0]) if row is not None and row[0] is not None else None
        if model is not None:
            return model, table.shown
    return None


def _model_in(value: str) -> str | None:
    try:
        settings = json.loads(value)
    except (ValueError, RecursionError):
        return None
    parameters = settings.get("params") if isinstance(settings, dict) else None
    model = parameters.get("model") if isinstance(parameters, dict) else None
    return model if isinstance(model, str) and model else None
