"""Labels that the user gave to tables of foreign files: kept in the user's data folder, never in the file.

A label is about vectors, so it is known by some of them and not by a path: a path alone would mislabel a file that was
rewritten in its place, and an inode says nothing of a copy, nor of a file that was replaced by a rename. Up to eight
rows are kept as anchors, each its id and a digest of its vector. Under the path that was labelled, half of them must
still be as they were, so that rows may come, go and change; a file of any other path must hold all of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.fingerprint import parse_fingerprint
from workbench.index.expressions import Expressions

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from workbench.index.mapping import TableMapping

ANCHORS = 8
"""Rows that a label is known by."""

LABELLED, REINDEXED = "labelled by you", "re-indexed"

_MOST_FILES = 2_000
_MOST_BYTES = 64 * 1024
_MOST_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Anchor:
    """One row by its id and the SHA-256 of its vector's numbers."""

    id: str
    digest: str


@dataclass(frozen=True, slots=True)
class KeptLabel:
    """What made the vectors of one column of a foreign file, and who says so.

    Attributes:
        path: the real path of the file when it was labelled.
        column: schema, table and column of the vectors.
        fingerprint: ``<id>@<dims>``.
        said: LABELLED or REINDEXED; ``at_ms`` when, in epoch milliseconds.
        proved_with: the embedder that made the same vectors again; None when nobody tried.
        max_input_chars: how much of a text it read, where that is known.
        anchors: the rows that it is known by.
    """

    path: str
    column: tuple[str, str, str]
    fingerprint: str
    said: str
    at_ms: int
    proved_with: str | None
    max_input_chars: int | None
    anchors: tuple[Anchor, ...]

    @property
    def note(self) -> str:
        """One sentence on where the record comes from."""
        day = datetime.fromtimestamp(self.at_ms / 1000, UTC).date().isoformat()
        proof = f", proved with {self.proved_with}" if self.proved_with is not None else ", not proved"
        return f"{self.said} on {day} as {self.fingerprint}{'' if self.said == REINDEXED else proof}"


def folder() -> Path:
    """Where labels are kept, one file each."""
    import platformdirs

    return platformdirs.user_data_path("workbench", appauthor=False) / "labels"


def label(
    cursor: duckdb.DuckDBPyConnection,
    real: str,
    mapping: TableMapping,
    fingerprint: str,
    at_ms: int,
    *,
    said: str = LABELLED,
    proved_with: str | None = None,
    max_input_chars: int | None = None,
) -> KeptLabel:
    """Make the label of one mapping in an attached file; it is kept by ``keep``."""
    anchors = _anchors(cursor, mapping)
    return KeptLabel(real, _column(mapping), fingerprint, said, at_ms, proved_with, max_input_chars, anchors)


def keep(kept: KeptLabel) -> str:
    """Write a label; gives its file. Raises OSError.

    Others of the same column stay: the latest that holds counts, and after a roll back that is an earlier one again.
    """
    target = _file_of(kept)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    try:
        aside.write_text(json.dumps(asdict(kept)), "utf-8")
        os.replace(aside, target)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()
    return str(target)


def labelled(
    cursor: duckdb.DuckDBPyConnection, path: str, mappings: Sequence[TableMapping]
) -> tuple[TableMapping, ...]:
    """Give the mappings of an attached foreign file with the records that the user's labels add to them."""
    kept = _all()
    if not kept:
        return tuple(mappings)
    real = os.path.realpath(path)
    return tuple(_labelled(cursor, real, mapping, kept) for mapping in mappings)


def find(cursor: duckdb.DuckDBPyConnection, path: str, mapping: TableMapping) -> KeptLabel | None:
    """Find the label that holds for a mapping: that of this very path first, else the latest."""
    return _find(cursor, os.path.realpath(path), mapping, _all())


def _labelled(
    cursor: duckdb.DuckDBPyConnection, real: str, mapping: TableMapping, kept: Sequence[KeptLabel]
) -> TableMapping:
    if mapping.recorded is not None or mapping.model is not None:
        return mapping  # the file speaks for itself
    found = _find(cursor, real, mapping, kept)
    if found is None:
        return mapping
    return replace(
        mapping,
        recorded=parse_fingerprint(found.fingerprint),
        max_input_chars=mapping.max_input_chars or found.max_input_chars,
        notes=(*mapping.notes, found.note),
    )


def _find(
    cursor: duckdb.DuckDBPyConnection, real: str, mapping: TableMapping, kept: Sequence[KeptLabel]
) -> KeptLabel | None:
    candidates = [each for each in kept if each.column == _column(mapping) and _fits(each, mapping)]
    if not candidates:
        return None
    candidates.sort(key=lambda each: (each.path == real, each.at_ms), reverse=True)
    wanted = list(dict.fromkeys(anchor.id for each in candidates for anchor in each.anchors))
    here = _digests(cursor, mapping, wanted)
    for each in candidates:
        same = sum(anchor.digest in here.get(anchor.id, ()) for anchor in each.anchors)
        if same and (same == len(each.anchors) or (each.path == real and 2 * same >= len(each.anchors))):
            return each
    return None


def _fits(kept: KeptLabel, mapping: TableMapping) -> bool:
    return mapping.fixed_dims is None or parse_fingerprint(kept.fingerprint).dims == mapping.fixed_dims


def _column(mapping: TableMapping) -> tuple[str, str, str]:
    return mapping.schema, mapping.table, mapping.vector or ""


def _anchors(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> tuple[Anchor, ...]:
    """Take rows from all over the table, the same ones each time."""
    sql = Expressions(mapping)
    rows = cursor.execute(
        f"SELECT {sql.id} FROM {sql.table} WHERE {sql.length} > 0 ORDER BY hash({sql.id}), {sql.id} LIMIT {ANCHORS}"
    ).fetchall()
    here = _digests(cursor, mapping, [id for (id,) in rows])
    return tuple(Anchor(id, digests[0]) for id, digests in here.items())


def _digests(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, ids: Sequence[str]) -> dict[str, list[str]]:
    """Give digests of the vectors of these ids; an id that stands several times has several."""
    sql = Expressions(mapping)
    found = cursor.execute(
        f"SELECT {sql.id} AS id, {sql.vector}::DOUBLE[] AS v FROM {sql.table}"
        f" WHERE {sql.length} > 0 AND {sql.id} IN (SELECT unnest(?::VARCHAR[])) ORDER BY {sql.order}"
        f" LIMIT {4 * max(1, len(ids))}",
        [list(ids)],
    ).fetchnumpy()
    digests: dict[str, list[str]] = {}
    for id, vector in zip(found["id"], found["v"], strict=True):
        digests.setdefault(str(id), []).append(_digest(np.ma.filled(np.ma.asarray(vector, dtype=np.float64), np.nan)))
    return digests


def _digest(vector: NDArray[np.float64]) -> str:
    return hashlib.sha256(np.ascontiguousarray(vector, "<f8").tobytes()).hexdigest()


def _file_of(kept: KeptLabel) -> Path:
    of = "\0".join([kept.path, *kept.column, kept.fingerprint])
    return folder() / f"{hashlib.sha256(of.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"


def _all() -> list[KeptLabel]:
    """Read every label that is whole; what else lies there is passed over."""
    try:
        with os.scandir(folder()) as entries:
            files = sorted(entry.path for entry in entries if entry.name.endswith(".json"))[:_MOST_FILES]
    except OSError:
        return []
    return [found for each in files if (found := _read(each)) is not None]


def _read(path: str) -> KeptLabel | None:
    try:
        with open(path, encoding="utf-8") as file:
            said: Any = json.loads(file.read(_MOST_BYTES))
        ceiling, proved = said["max_input_chars"], said["proved_with"]
        schema, table, column = (str(each) for each in said["column"])
        fingerprint = str(said["fingerprint"])[:_MOST_CHARS]
        parse_fingerprint(fingerprint)
        return KeptLabel(
            path=str(said["path"]),
            column=(schema, table, column),
            fingerprint=fingerprint,
            said=REINDEXED if said["said"] == REINDEXED else LABELLED,
            at_ms=min(max(0, int(said["at_ms"])), 2**42),
            proved_with=None if proved is None else str(proved)[:_MOST_CHARS],
            max_input_chars=None if ceiling is None else int(ceiling),
            anchors=tuple(Anchor(str(each["id"]), str(each["digest"])) for each in said["anchors"][:ANCHORS]),
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
