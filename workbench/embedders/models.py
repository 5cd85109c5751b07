"""The model table: what is known of embedding models by id, and the ceiling that it gives where nobody declares one."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from workbench.core.ceiling import ChunkCeiling, resolve_chunk_ceiling
from workbench.core.fingerprint import Fingerprint
from workbench.core.numbers import is_number


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One embedding model under one id.

    Attributes:
        id: the exact spelling; ``aliases`` are others that make the same vectors.
        provider: who makes or serves it.
        dims: the length of its vectors; ``smaller`` are the other lengths it can be asked for.
        max_input_chars: how much it reads, conservatively, in UTF-16 code units.
        max_input_tokens: how much it reads in its own tokens; None when it reads everything.
        overflow: ``error``, ``silent-truncate``, ``error-or-truncate`` or ``unverified``.
        tokenizer: whose tokens these are.
        price_usd: per million input tokens, as read on ``price_read_on`` (ISO date); None when unknown or free.
        document_prefix: what the model expects before a document, ``query_prefix`` before a query.
        space: the name of its embedding space; models of one space may be mixed.
    """

    id: str
    provider: str
    dims: int
    max_input_chars: int
    overflow: str
    space: str
    smaller: tuple[int, ...] = ()
    max_input_tokens: int | None = None
    tokenizer: str | None = None
    price_usd: float | None = None
    price_read_on: str | None = None
    aliases: tuple[str, ...] = ()
    document_prefix: str | None = None
    query_prefix: str | None = None

    def makes(self, dims: float) -> bool:
        """Say whether its vectors can have this length."""
        return dims == self.dims or dims in self.smaller


@dataclass(frozen=True, slots=True)
class ModelTable:
    """Every entry, in the order of the file, found by id or alias. Ids are compared exactly."""

    entries: tuple[ModelEntry, ...]
    _by_spelling: dict[str, ModelEntry] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        spellings: dict[str, ModelEntry] = {}
        for entry in self.entries:
            for spelling in (entry.id, *entry.aliases):
                if spellings.setdefault(spelling, entry) is not entry:
                    raise ValueError(f"the model table lists '{spelling}' twice")
        object.__setattr__(self, "_by_spelling", spellings)

    def find(self, id: str) -> ModelEntry | None:
        """Give the entry of an id or alias."""
        return self._by_spelling.get(id)

    def known(self, fingerprint: Fingerprint) -> ModelEntry | None:
        """Give the entry whose id (or alias) and length of vectors are both those of the fingerprint."""
        entry = None if fingerprint.id is None else self.find(fingerprint.id)
        return entry if entry is not None and entry.makes(fingerprint.dims) else None

    def same_space(self, a: str, b: str) -> bool:
        """Say whether the table lists both ids, and as one embedding space; quantised builds have their own."""
        first, second = self.find(a), self.find(b)
        return first is not None and second is not None and first.space == second.space

    def with_dims(self, dims: float) -> tuple[ModelEntry, ...]:
        """Give the entries whose vectors can have this length: guesses for vectors that name no model."""
        return tuple(entry for entry in self.entries if entry.makes(dims))


@cache
def model_table() -> ModelTable:
    """Read the table that comes with this package; the first call reads the file, later ones cost nothing."""
    text = resources.files("workbench.embedders").joinpath("models.toml").read_text("utf-8")
    return ModelTable(tuple(_entries(tomllib.loads(text)["model"])))


def _entries(rows: Iterable[dict[str, Any]]) -> Iterable[ModelEntry]:
    """Turn the rows of the file into entries; ``like`` fills in the facts of an entry above."""
    facts: dict[str, dict[str, Any]] = {}
    for row in rows:
        own = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        id = str(row["id"])
        like = own.pop("like", None)
        inherited = {} if like is None else dict(facts[str(like)], aliases=(), space=id)
        if "dims" in own:
            inherited.pop("smaller", None)
        facts[id] = {"space": id, **inherited, **own}
        yield ModelEntry(**facts[id])


@dataclass(frozen=True, slots=True)
class _Declared:
    """A bare number in the shape that the seed's rule asks."""

    max_input_chars: object


def resolve_index_ceiling(explicit: object, declared: object, fingerprint: Fingerprint | None) -> ChunkCeiling:
    """Find the ceiling of a namespace: the caller's, the declared one, the model table's, else 2,000.

    ``declared`` is a number, None, or anything with ``max_input_chars`` (an embedder, a namespace's record). The table
    is asked only where the seed's rule would answer ``default``, and only when id and length are both its own; its
    answer has source ``registry``.
    """
    ceiling = resolve_chunk_ceiling(explicit, _Declared(declared) if is_number(declared) else declared)
    if ceiling.source != "default" or fingerprint is None:
        return ceiling
    entry = model_table().known(fingerprint)
    return ceiling if entry is None else ChunkCeiling(entry.max_input_chars, "registry")


def ceiling_of_both(primary: tuple[int | None, Fingerprint], fallback: tuple[int | None, Fingerprint]) -> int | None:
    """Give what two embedders that stand in for each other both read, each by what it declares and its fingerprint.

    One that declares nothing reads what the table says. None when neither declares anything and what the primary's
    fingerprint leads to is short enough for both.
    """
    ours, theirs = (resolve_index_ceiling(None, declared, made).chars for declared, made in (primary, fallback))
    if primary[0] is None and fallback[0] is None and ours <= theirs:
        return None
    return int(min(ours, theirs))
