"""Retrieved documents in the spellings of the frameworks: ids, scores, texts, origins, and who embedded them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.recordings.model import Candidate, LoadedEntry
from workbench.recordings.readers.lenient import as_number, as_object, as_text, unwrapped

_IDS = ("id", "_id", "id_", "doc_id", "chunk_id", "node_id")
_TEXTS = ("content", "page_content", "text", "pageContent")
_SCORES = ("score", "_score", "relevance_score", "similarity")
_DOCUMENTS = ("docUri", "doc_uri", "source", "document", "file_name", "filename", "file_path", "uri", "url", "title")
_PAGES = ("page", "page_number", "page_label")
_HEADINGS = ("heading", "section", "header", "Header 1")
_LISTS = ("documents", "docs", "nodes", "matches", "results", "hits", "output", "chunks", "data")
_MODELS = ("embedder_fp", "embedder", "embedding_model", "embeddingModel", "embedder_id", "embedderId", "index")
_FINGERPRINT = re.compile(r"(.+)@([1-9][0-9]{0,6})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """One document as a retriever gave it back."""

    id: str | None
    text: str | None
    score: float | None
    metadata: dict[str, object]

    @property
    def identity(self) -> tuple[str, str] | None:
        """What tells it from others: its id, else its text."""
        if self.id is not None:
            return "id", self.id
        return None if self.text is None else ("text", self.text)

    def candidate(self, rank: int | None, *, admitted: bool | None = None, reason: str | None = None) -> Candidate:
        """Give it as a candidate."""
        return Candidate(
            id=self.id,
            rank=rank,
            score=self.score,
            admitted=admitted,
            reason=reason,
            document=_first(self.metadata, _DOCUMENTS),
            page=_first(self.metadata, _PAGES),
            heading=_first(self.metadata, _HEADINGS),
            text=self.text,
        )


def document_of(value: object) -> FoundDocument:
    """Read one document: an object of any known spelling, one wrapped in ``document`` or ``node``, or a bare text."""
    value = unwrapped(value)
    if not isinstance(value, dict):
        return FoundDocument(None, as_text(value), None, {})
    fields = {key.removeprefix("document."): part for key, part in value.items()}
    for wrapper in ("document", "node"):
        inner = unwrapped(fields.get(wrapper))
        if isinstance(inner, dict):
            fields = {
                **{key.removeprefix("document."): part for key, part in inner.items()},
                **_without(fields, wrapper),
            }
    metadata = as_object(fields.get("metadata")) or as_object(fields.get("meta"))
    score = next((as_number(fields[key]) for key in _SCORES if key in fields), None)
    return FoundDocument(
        id=_first(fields, _IDS),
        text=_first(fields, _TEXTS),
        score=score
        if score is not None
        else next((as_number(metadata[key]) for key in _SCORES if key in metadata), None),
        metadata={**{key: part for key, part in fields.items() if key in _DOCUMENTS}, **metadata},
    )


def documents_in(value: object) -> list[FoundDocument]:
    """Find the list of documents in what a retriever returned: the list itself, or under one of its usual keys."""
    for _ in range(3):
        value = unwrapped(value)
        if isinstance(value, list):
            documents = [document_of(each) for each in value]
            return [each for each in documents if each.identity is not None]
        if not isinstance(value, dict):
            return []
        value = next((value[key] for key in _LISTS if isinstance(unwrapped(value.get(key)), list | dict)), None)
    return []


def entry_of(document: FoundDocument) -> LoadedEntry | None:
    """Read which embedder made the vector of a document, where its metadata says so."""
    for key in _MODELS:
        said = as_text(document.metadata.get(key))
        if said is None:
            continue
        match = _FINGERPRINT.fullmatch(said)
        if match is not None:
            return LoadedEntry(document.id, match[1], int(match[2]))
        if key != "index":
            return LoadedEntry(document.id, said, None)
    return None


def _first(fields: dict[str, object], keys: tuple[str, ...]) -> str | None:
    return next((text for key in keys if (text := as_text(fields.get(key))) is not None), None)


def _without(fields: dict[str, object], key: str) -> dict[str, object]:
    return {name: part for name, part in fields.items() if name != key and part is not None}
