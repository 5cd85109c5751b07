"""Which columns of a foreign table play which part: id, text, model, source, metadata. Guesses are said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from workbench.index.adapters.catalog import Column, Table
from workbench.index.adapters.sampling import Sample, TextSample, is_text
from workbench.index.mapping import ModelColumn

_IDS = ("id", "_id", "chunk_id", "node_id", "uuid", "key", "pk", "row_id", "record_id", "passage_id", "doc_id")
_TEXTS = (
    "text",
    "content",
    "chunk_text",
    "page_content",
    "body",
    "chunk",
    "passage",
    "document",
    "doc_text",
    "code",
    "paragraph",
    "sentence",
)
_MODELS = (
    "embedder_fp",
    "embedder_fingerprint",
    "embedding_fingerprint",
    "embed_fingerprint",
    "fingerprint",
    "embedding_model",
    "embed_model",
    "embedder",
    "embedder_id",
    "embedding_model_id",
    "embedding_model_name",
    "model",
    "model_name",
    "model_id",
)
_SOURCES = ("source", "source_uri", "uri", "url", "path", "file_path", "file", "filename", "origin", "doc", "document")
_METADATA = ("metadata", "metadata_", "meta")
_NOT_TEXT = frozenset(
    (*_IDS, *_MODELS, "provider", "source", "source_uri", "uri", "url", "path", "file_path", "file", "filename")
) | frozenset(("origin", "hash", "content_hash", "title", "context", "heading", "name", "tags", "lang", "language"))

_FINGERPRINT = re.compile(r"(.+)@([0-9]+)", re.DOTALL)
# Families of embedding models, as their ids are spelled: enough to see that a column of unknown name holds such ids.
_FAMILIES = re.compile(
    r"embed|minilm|mpnet|\bbge\b|\be5\b|\bgte\b|nomic|mxbai|jina|potion|model2vec|wordllama|voyage|arctic|ada-002|titan",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\x21-\x7e]*")
_LOW_CARDINALITY = 8
_MOST = 0.9
_VARIED = 0.3


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns of one table by part; see TableMapping."""

    id: str | None
    id_unique: bool
    text: str | None
    model: str | None
    model_kind: ModelColumn
    source: str | None
    metadata: str | None
    notes: tuple[str, ...]


def find_roles(table: Table, sample: Sample, known_model: Callable[[str], bool]) -> Roles:
    """Find the parts of a table's columns: by constraint, then by name, then by what the sampled values look like."""
    id, unique, id_note = _find_id(table, sample)
    model, kind, model_note = _find_model(table, sample, known_model, id)
    metadata = _find_metadata(table, sample)
    text, text_note = _find_text(table, sample, {name for name in (id, model, metadata) if name is not None})
    source = next((c.name for c in _named(table, _SOURCES) if c.holds_strings and c.name not in (text, id)), None)
    notes = tuple(note for note in (id_note, text_note, model_note) if note is not None)
    return Roles(id, unique, text, model, kind, source, metadata, notes)


def _named(table: Table, names: Iterable[str]) -> list[Column]:
    return [found for name in names if (found := table.column(name)) is not None]


def _find_id(table: Table, sample: Sample) -> tuple[str | None, bool, str | None]:
    if len(table.primary_key) == 1:
        return table.primary_key[0], True, None
    if len(table.primary_key) > 1:
        key = ", ".join(table.primary_key)
        return None, False, f"the primary key has several columns ({key}), so rows go by their row number"
    plain = [column for column in table.columns if column.type != "JSON" and column.vector_type is None]
    for name in _IDS:
        found = table.column(name)
        if found in plain and found is not None and (name == "id" or _looks_unique(found, sample)):
            return found.name, found.name in table.unique, None
    unique = [column.name for column in plain if column.name in table.unique]
    if unique:
        return unique[0], True, f"column {unique[0]} is taken for the id: a constraint makes it unique"
    for place, column in enumerate(table.columns):
        ends_like_id = column.name.lower().endswith(("_id", "id"))
        if column not in plain or column.name.lower() in _NOT_TEXT:
            continue
        may_be_id = column.holds_strings or column.type == "UUID" or ends_like_id or place == 0
        if may_be_id and _looks_unique(column, sample):
            return column.name, False, f"column {column.name} is taken for the id: its values differ"
    return None, False, "no column looks like an id, so rows go by their row number"


def _looks_unique(column: Column, sample: Sample) -> bool:
    """Nearly all sampled values differ, and strings are single words: prose is no id."""
    if is_text(column):
        values: Sequence[str] = [value.start for value in sample.texts.get(column.name, ())]
        if not _single_words(values):
            return False
    else:
        values = sample.others.get(column.name, ())
    return len(values) >= _MOST * sample.rows > 0 and len(set(values)) >= _MOST * len(values)


def _single_words(values: Sequence[str]) -> bool:
    return sum(_WORD.fullmatch(value) is not None for value in values) >= _MOST * len(values)


def _find_metadata(table: Table, sample: Sample) -> str | None:
    for column in _named(table, _METADATA):
        if is_text(column):
            return column.name
    for column in table.columns:
        if column.type == "JSON" or holds_json(sample.texts.get(column.name, ())):
            return column.name
    return None


def holds_json(values: Sequence[TextSample]) -> bool:
    """Whether nearly all sampled strings are JSON objects."""
    return bool(values) and sum(value.json_object for value in values) >= _MOST * len(values)


def _find_model(
    table: Table, sample: Sample, known_model: Callable[[str], bool], id: str | None
) -> tuple[str | None, ModelColumn, str | None]:
    for column in _named(table, _MODELS):
        if column.holds_strings and column.name != id:
            values = [value.start for value in sample.texts.get(column.name, ())]
            return column.name, _kind(values), None
    guesses: list[tuple[bool, int, int, str]] = []
    for place, column in enumerate(table.columns):
        values = [value.start for value in sample.texts.get(column.name, ())]
        distinct = {value for value in values if value not in ("", "?")}
        few = 0 < len(distinct) <= _LOW_CARDINALITY and len(values) > 1 and _single_words(values)
        if not column.holds_strings or column.name == id or not few:
            continue
        fingerprints = _kind(values) is ModelColumn.FINGERPRINT
        if fingerprints or all(known_model(value) or _looks_like_model(value) for value in distinct):
            # A column of providers can look like one of models (voyage-ai beside voyage-code-3): the longer wins.
            guesses.append((fingerprints, sum(map(len, distinct)) // len(distinct), -place, column.name))
    if not guesses:
        return None, ModelColumn.MODEL_ID, None
    fingerprints, _, _, name = max(guesses)
    note = f"column {name} is taken for the embedding model's name: its values look like such"
    return name, ModelColumn.FINGERPRINT if fingerprints else ModelColumn.MODEL_ID, note


def _kind(values: Sequence[str]) -> ModelColumn:
    said = [value for value in values if value]
    matching = sum(_FINGERPRINT.fullmatch(value) is not None for value in said)
    return ModelColumn.FINGERPRINT if said and matching >= _MOST * len(said) else ModelColumn.MODEL_ID


def _looks_like_model(value: str) -> bool:
    """Whether a word names a family of models and a version or size of it; a bare word is rather a provider."""
    return _FAMILIES.search(value) is not None and re.search(r"[-:/_0-9]", value) is not None


def _find_text(table: Table, sample: Sample, taken: set[str]) -> tuple[str | None, str | None]:
    candidates = [column for column in table.columns if column.holds_strings and column.name not in taken]
    if not table.rows:
        named = [column for column in _named(table, _TEXTS) if column in candidates]
        return (named[0].name if named else None), None
    for column in _named(table, _TEXTS):
        values = sample.texts.get(column.name, ())
        if column in candidates and values and not (_is_code_like(values) and column.name.lower() == "document"):
            return column.name, None
    best: tuple[float, str] | None = None
    for column in candidates:
        values = sample.texts.get(column.name, ())
        if column.name.lower() in _NOT_TEXT or not _is_prose(values):
            continue
        average = sum(value.bytes for value in values) / len(values)
        if best is None or average > best[0]:
            best = average, column.name
    if best is None:
        return None, None
    return best[1], f"column {best[1]} is taken for the text: it holds the longest strings"


def _is_code_like(values: Sequence[TextSample]) -> bool:
    """Single words: paths, hashes, links."""
    return _single_words([value.start for value in values])


def _is_prose(values: Sequence[TextSample]) -> bool:
    if not values or holds_json(values) or _is_code_like(values):
        return False
    starts = [value.start for value in values]
    if sum(start.lstrip().startswith("[") for start in starts) >= _MOST * len(starts):
        return False
    return len(values) < 4 or len(set(starts)) >= _VARIED * len(starts)


def text_column(table: Table, sample: Sample) -> str | None:
    """Return the column that holds the texts of a table, whatever else it holds."""
    text, _ = _find_text(table, sample, set())
    return text
