"""One chunk on its way into the native index: what may be stored, checked and turned into the types of the file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from workbench.core.numbers import is_number, to_float
from workbench.core.text import utf16_length
from workbench.index.schema import MAX_DIMS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_NAME_SHOWN = 80
_INT64 = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One chunk: its id, its text and, when it is to be found by meaning, its vector.

    Attributes:
        id: unique in its namespace; an entry of the same id replaces the one that is there.
        text: the whole text of the chunk.
        vector: numbers, shape (length,); None or an empty one is stored as no vector.
        metadata: anything that JSON can hold.
        source_uri: the document that the chunk is of.
        tier: a label that a search can be limited to.
        ttl: epoch milliseconds from which on the entry is expired.
        embedder_id: which embedder made the vector; wins over that of the call.
    """

    id: str
    text: str
    vector: ArrayLike | None = None
    metadata: Mapping[str, Any] | Sequence[Any] | None = field(default=None, kw_only=True)
    source_uri: str | None = field(default=None, kw_only=True)
    tier: str | None = field(default=None, kw_only=True)
    ttl: float | None = field(default=None, kw_only=True)
    embedder_id: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class PreparedEntry:
    """An entry as the file keeps it: strings that are valid UTF-8, lengths counted, the vector in float32."""

    id: str
    text: str
    char_count: int
    byte_count: int
    content_hash: str
    vector: NDArray[np.float32] | None
    metadata: str | None
    source_uri: str | None
    tier: str | None
    expires_ms: int | None
    embedder_id: str | None
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """What an import knows of a chunk beyond an entry; ``extra`` is JSON text of what has no place of its own."""

    extra: str | None = None
    parent_id: str | None = None
    char_start: int | None = None
    char_end: int | None = None
    read_chars: int | None = None


def prepare(entry: Entry) -> PreparedEntry:
    """Check one entry and turn it into what is stored.

    Raises:
        ValueError: one sentence that names the id, when something of it cannot be stored as given.
        TypeError: ``entry`` is no Entry.
    """
    if not isinstance(entry, Entry):
        raise TypeError(f"put_many takes entries, not {type(entry).__name__}; make them with workbench.Entry(id, text)")
    encode(entry.id, "the id of an entry")
    owner = f"entry {entry.id[:_NAME_SHOWN]!r}"
    data = encode(entry.text, f"the text of {owner}")
    for name in ("source_uri", "tier", "embedder_id"):
        value = getattr(entry, name)
        if value is not None:
            encode(value, f"the {name} of {owner}")
    return PreparedEntry(
        id=entry.id,
        text=entry.text,
        char_count=utf16_length(entry.text),
        byte_count=len(data),
        content_hash=hashlib.sha256(data).hexdigest(),
        vector=as_float32(entry.vector, f"the vector of {owner}"),
        metadata=_json(entry.metadata, owner),
        source_uri=entry.source_uri,
        tier=entry.tier,
        expires_ms=_expiry(entry.ttl, owner),
        embedder_id=entry.embedder_id,
    )


def encode(value: object, what: str) -> bytes:
    """Give ``value`` in UTF-8, the only form in which the file keeps strings.

    Raises:
        ValueError: one sentence that begins with ``what``, when it is no string or holds half a surrogate pair.
    """
    if not isinstance(value, str):
        raise ValueError(f"{what} must be a string, not {type(value).__name__}")
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{what} holds half a surrogate pair at position {error.start}, which is no text; "
            "repair it where it was cut (str.encode with errors='replace' does)"
        ) from None


def as_float32(vector: ArrayLike | None, what: str) -> NDArray[np.float32] | None:
    """Give a vector in float32, shape (length,), None when it is None or empty.

    NaN, infinity and zero stay as they are; what is beyond float32 becomes infinite, as in the seed library.

    Raises:
        ValueError: one sentence that begins with ``what``: a missing element, no number, another shape, too long.
    """
    if vector is None:
        return None
    try:
        given = np.asarray(vector)
    except (ValueError, TypeError):
        raise ValueError(f"{what} must be a flat list of numbers") from None
    if given.ndim != 1:
        raise ValueError(f"{what} must be a flat list of numbers, and its shape is {given.shape}")
    if given.size == 0:
        return None
    if given.size > MAX_DIMS:
        raise ValueError(f"{what} has {given.size} elements, and the file stores at most {MAX_DIMS}")
    if np.ma.is_masked(vector):
        raise ValueError(_missing_element(what, int(np.flatnonzero(np.ma.getmaskarray(np.ma.asarray(vector)))[0])))
    if given.dtype.kind == "O":
        given = _numbers(given, what)
    if given.dtype.kind not in "iuf":
        raise ValueError(f"{what} must be a flat list of numbers, and holds {given.dtype} values")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return given.astype(np.float32, copy=False)


def _numbers(given: NDArray[Any], what: str) -> NDArray[np.float64]:
    """Read a list that numpy could not type: it holds a None, a huge int, or something that is no number."""
    for position, element in enumerate(given):
        if element is None:
            raise ValueError(_missing_element(what, position))
        if not (is_number(element) or isinstance(element, np.integer | np.floating)):
            raise ValueError(f"element {position} of {what} is no number but {type(element).__name__}")
    return np.array([to_float(element) for element in given], np.float64)


def _missing_element(what: str, position: int) -> str:
    return f"element {position} of {what} is missing (NULL): one such row makes every search fail; embed it again"


def _json(metadata: object, owner: str) -> str | None:
    if metadata is None:
        return None
    try:
        return orjson.dumps(metadata, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    except TypeError as error:
        raise ValueError(f"the metadata of {owner} cannot be written as JSON: {error}") from None


def _expiry(ttl: object, owner: str) -> int | None:
    if ttl is None:
        return None
    if isinstance(ttl, int | float) and is_number(ttl) and math.isfinite(to_float(ttl)) and abs(ttl) <= _INT64:
        # Rounded up: against a whole number of milliseconds both compare alike.
        return min(math.ceil(ttl), _INT64)
    raise ValueError(f"the ttl of {owner} must be epoch milliseconds, not {ttl!r:.80}")
