"""Bringing the rows of the living namespace into the sibling, and finding what changed there since.

Rows are copied once and the source is let go, so that others read and write it throughout. Every later look compares
key and digest of all columns but the vector; a changed row is planned anew, one that is gone is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.fingerprint import parse_fingerprint
from workbench.index.schema import CHUNK_COLUMNS, GENERATIONS, NAMESPACES, SCHEMA, first_row
from workbench.index.sql import literal, qualified, quoted
from workbench.index.workspace import Access, Member, together
from workbench.index.writing import transaction
from workbench.reindex import living
from workbench.reindex.model import Fate, ReindexError
from workbench.reindex.sibling import KEYS, QUARANTINED, ROWS, VECTORS, Sibling, table
from workbench.reindex.splitting import Piece, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import duckdb

    from workbench.core.job import Job
    from workbench.embedders.tokens import TokenCounter
    from workbench.index.mapping import TableMapping
    from workbench.reindex.model import Settings

SIB = "sib"
_DIGESTED = tuple(name for name in CHUNK_COLUMNS if name not in ("seq", "id", "read_chars", "embedder_fp"))
_PAGE = 4_096
_MOST_MARKS = 64
_INCOMING = "workbench_pieces"


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows of the living namespace that the sibling does not have as they are, and rows it has that are gone there."""

    changed: int
    gone: int

    @property
    def none(self) -> bool:
        """Whether the sibling stands for the living namespace as it is now."""
        return not self.changed and not self.gone


def keeps(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, settings: Settings) -> str:
    """Write the SQL condition under which a row's vector is kept; ``false`` where nothing can be.

    Its fingerprint, the prefixes and the place where it was made must be the target's, and it must have been read
    whole: what is not known of a vector is a reason to make it again.
    """
    if (
        living.is_foreign(mapping)
        or mapping.vector is None
        or mapping.fixed_dims != parse_fingerprint(settings.fingerprint).dims
    ):
        return "false"
    row = first_row(
        cursor,
        "SELECT coalesce(g.document_prefix, ''), coalesce(g.query_prefix, ''), g.runtime, g.embedder_fp"
        f" FROM {qualified(SCHEMA, NAMESPACES)} n JOIN {qualified(SCHEMA, GENERATIONS)} g"
        " ON g.generation = n.active_generation AND g.namespace = n.namespace WHERE n.namespace = ?",
        [mapping.namespace],
    )
    wanted = (settings.document_prefix, settings.query_prefix, settings.host, settings.fingerprint)
    if row != wanted:
        return "false"
    vector = quoted(mapping.vector)
    usable = f"{vector} IS NOT NULL AND isfinite(list_sum({vector}::FLOAT[])) AND list_sum(list_transform("
    usable += f"{vector}::FLOAT[], lambda x: abs(x))) > 0 AND list_count({vector}::FLOAT[]) = {mapping.fixed_dims}"
    if settings.resplit:
        usable += f" AND char_count <= {int(settings.max_chunk_chars)}"  # else it stays longer than was asked for
    return (
        f"(text <> '' AND embedder_fp = {literal(settings.fingerprint)} AND read_chars >= char_count"
        f" AND content_hash = sha256(text) AND {usable})"
    )


def bring(index: str, sibling: str, settings: Settings, job: Job | None = None) -> Difference:
    """Copy what is new or changed into the sibling and drop what is gone, in one transaction; says how much that was.

    Neither file may be open in this process. Raises SourceError when another program writes the index.
    """
    with (
        together(Member("ix", index), Member(SIB, sibling, Access.WRITE)) as workspace,
        workspace.cursor(job) as cursor,
        transaction(cursor),
    ):
        mapping = living.find(cursor, settings.namespace)
        found = difference(cursor, mapping)
        if not found.none:
            _apply(cursor, mapping, settings)
    return found


def difference(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> Difference:
    """Compare the living namespace (``ix``) with what the sibling (``sib``) took from it."""
    rows_here = living.rows(mapping)
    row = first_row(
        cursor,
        f"SELECT (SELECT count(*) FROM (SELECT id, {digest()} AS digest FROM {rows_here}) l"
        f" ANTI JOIN {table(KEYS, SIB)} k ON k.id = l.id AND k.digest = l.digest),"
        f" (SELECT count(*) FROM {table(KEYS, SIB)} k ANTI JOIN {rows_here} l ON l.id = k.id)",
    )
    assert row is not None
    return Difference(int(row[0]), int(row[1]))


def digest() -> str:
    """Write the SQL expression that tells one state of a row from another: all columns but the vector."""
    parts = ", ".join(f"coalesce(md5({quoted(name)}::VARCHAR), '-')" for name in _DIGESTED)
    return f"md5(concat({parts}))"


def _apply(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping, settings: Settings) -> None:
    living.refuse_resplit(mapping, settings.resplit)
    rows_here = living.rows(mapping)
    keys, rows = table(KEYS, SIB), table(ROWS, SIB)
    cursor.execute(
        f"CREATE TEMP TABLE stale AS SELECT k.id FROM {keys} k"
        f" ANTI JOIN (SELECT id, {digest()} AS digest FROM {rows_here}) l ON l.id = k.id AND l.digest = k.digest"
    )
    stale = f"SELECT seq FROM {rows} WHERE source_id IN (SELECT id FROM stale)"
    for name in (VECTORS, QUARANTINED, ROWS):
        cursor.execute(f"DELETE FROM {table(name, SIB)} WHERE seq IN ({stale})")
    cursor.execute(f"DELETE FROM {keys} WHERE id IN (SELECT id FROM stale)")
    cursor.execute("DROP TABLE stale")
    top = first_row(cursor, f"SELECT coalesce(max(seq), -1) FROM {rows}")
    first = int(top[0]) + 1 if top else 0
    columns = ", ".join(quoted(name) for name in CHUNK_COLUMNS if name != "seq")
    taken = ", ".join(f"l.{quoted(name)}" for name in CHUNK_COLUMNS if name != "seq")
    fate = f"CASE WHEN text IS NULL THEN '{Fate.IMPOSSIBLE}' WHEN text = '' THEN '{Fate.SKIP}' ELSE '{Fate.EMBED}' END"
    cursor.execute(
        f"INSERT INTO {rows} (seq, source_id, {columns})"
        f" SELECT ? + row_number() OVER (ORDER BY l.seq, l.id) - 1, l.id, {taken}"
        f" FROM {rows_here} l ANTI JOIN {keys} k ON k.id = l.id",
        [first],
    )
    cursor.execute(
        f"INSERT INTO {keys} SELECT id, seq, {digest()}, {fate} FROM {rows_here} l ANTI JOIN {keys} k ON k.id = l.id"
    )
    kept = keeps(cursor, mapping, settings)
    if kept != "false":
        cursor.execute(
            f"INSERT INTO {table(VECTORS, SIB)} SELECT r.seq, l.{quoted(mapping.vector or '')}, l.read_chars, true"
            f" FROM (SELECT * FROM {rows_here} WHERE {kept}) l JOIN {rows} r ON r.id = l.id WHERE r.seq >= ?",
            [first],
        )
        cursor.execute(
            f"UPDATE {keys} SET fate = '{Fate.REUSE}' WHERE id IN (SELECT r.source_id FROM {rows} r"
            f" JOIN {table(VECTORS, SIB)} v USING (seq) WHERE v.kept AND r.seq >= ?)",
            [first],
        )


def resplit(sibling: Sibling, most: int, counter: TokenCounter | None = None) -> int:
    """Cut the rows that are longer than ``most`` code units into pieces; says how many were cut.

    Where the embedder's tokens can be counted, a row of more than it reads is cut as well. A piece is ``<id>#1…n``
    with its parent's id and place (``<id>##1…n`` where such an id is taken); the parent's row gives way to its pieces.
    Done again after every look at the source.
    """
    cut, upto = 0, -1
    whole = fits(counter)
    while batch := _maybe_long(sibling, most, counter, upto):
        upto = batch[-1][0]
        split_up = [(seq, id, split(text, most, whole)) for seq, text, id in batch]
        parts = [each for each in split_up if len(each[2]) > 1]
        if parts:
            with sibling.cursor() as cursor, transaction(cursor):
                _replace(cursor, parts)
        cut += len(parts)
    with sibling.cursor() as cursor, transaction(cursor):
        _settle_ids(cursor)
    return cut


def fits(counter: TokenCounter | None) -> Callable[[str], bool] | None:
    """Give what says whether an embedder reads a text whole; None where its tokens cannot be counted."""
    if counter is None or counter.max_tokens is None:
        return None
    return lambda text: counter.cut_at(text) is None


def may_be_long(counter: TokenCounter | None) -> str:
    """Write the SQL condition (``$most``: code units) of rows that are too long, or could be more tokens than fit."""
    most_tokens = None if counter is None else counter.max_tokens
    return "char_count > $most" if most_tokens is None else f"(char_count > $most OR byte_count > {most_tokens - 2})"


def _maybe_long(sibling: Sibling, most: int, counter: TokenCounter | None, upto: int) -> list[tuple[int, str, str]]:
    with sibling.cursor() as cursor:
        return cursor.execute(
            f"SELECT r.seq, r.text, r.id FROM {table(ROWS)} r"
            f" SEMI JOIN (SELECT id FROM {table(KEYS)} WHERE fate = $fate) k ON k.id = r.source_id"
            f" WHERE r.seq > $upto AND {may_be_long(counter)} ORDER BY r.seq LIMIT {_PAGE}",
            {"fate": Fate.EMBED.value, "most": most, "upto": upto},
        ).fetchall()


def _replace(cursor: duckdb.DuckDBPyConnection, parts: list[tuple[int, str, tuple[Piece, ...]]]) -> None:
    """Put pieces in the place of their rows; they keep everything of these but id, text and lengths."""
    top = first_row(cursor, f"SELECT max(seq) FROM {table(ROWS)}")
    first = int(top[0]) + 1 if top else 0
    flat = [(seq, id, number, piece) for seq, id, pieces in parts for number, piece in enumerate(pieces, 1)]
    frame = {
        "seq": np.arange(first, first + len(flat), dtype=np.int64),
        "parent_seq": np.array([seq for seq, _, _, _ in flat], np.int64),
        "id": _objects(f"{id}#{number}" for _, id, number, _ in flat),
        "parent_id": _objects(id for _, id, _, _ in flat),
        "text": _objects(piece.text for _, _, _, piece in flat),
        "char_count": np.array([piece.end - piece.start for _, _, _, piece in flat], np.int64),
        "byte_count": np.array([len(piece.text.encode()) for _, _, _, piece in flat], np.int64),
        "char_start": np.array([piece.start for _, _, _, piece in flat], np.int64),
        "char_end": np.array([piece.end for _, _, _, piece in flat], np.int64),
    }
    cursor.register(_INCOMING, frame)
    own = ["seq", "id::VARCHAR", "parent_id::VARCHAR", "text::VARCHAR"]
    own += ["char_count", "byte_count", "char_start", "char_end"]
    kept = ["source_id", "extra", "metadata", "source_uri", "embedder_fp", "tier"]
    kept += ["expires_ms", "created_ms", "updated_ms"]
    names = [*(name.partition("::")[0] for name in own), "content_hash", *kept]
    values = [*(f"i.{name}" for name in own), "sha256(i.text::VARCHAR)", *(f"r.{name}" for name in kept)]
    cursor.execute(
        f"INSERT INTO {table(ROWS)} ({', '.join(names)}) SELECT {', '.join(values)}"
        f" FROM {_INCOMING} i JOIN {table(ROWS)} r ON r.seq = i.parent_seq ORDER BY i.seq"
    )
    cursor.execute(f"DELETE FROM {table(ROWS)} WHERE seq IN (SELECT parent_seq FROM {_INCOMING})")
    cursor.execute(
        f"UPDATE {table(KEYS)} SET fate = ? WHERE id IN (SELECT parent_id::VARCHAR FROM {_INCOMING})",
        [Fate.RESPLIT.value],
    )
    cursor.unregister(_INCOMING)


def _settle_ids(cursor: duckdb.DuckDBPyConnection) -> None:
    """Give pieces other ids where theirs are those of chunks, or of pieces of another chunk."""
    keys, rows = table(KEYS), table(ROWS)
    pieces = f"SELECT r.seq, r.id, r.source_id FROM {rows} r SEMI JOIN (SELECT id FROM {keys} WHERE fate = $fate) k"
    pieces += " ON k.id = r.source_id"
    doubled = f"SELECT id FROM {rows} GROUP BY id HAVING count(*) > 1"
    for marks in range(2, _MOST_MARKS):
        clashing = cursor.execute(
            f"SELECT DISTINCT source_id FROM ({pieces}) WHERE id IN (SELECT id FROM {keys}) OR id IN ({doubled})",
            {"fate": Fate.RESPLIT.value},
        ).fetchall()
        if not clashing:
            return
        cursor.execute(
            f"UPDATE {rows} SET id = n.source_id || repeat('#', {marks}) || n.number FROM"
            f" (SELECT seq, source_id, row_number() OVER (PARTITION BY source_id ORDER BY seq) AS number"
            f" FROM {rows} WHERE source_id IN (SELECT unnest($clashing::VARCHAR[]))) n"
            f" WHERE {quoted(ROWS)}.seq = n.seq",
            {"clashing": [id for (id,) in clashing]},
        )
    raise ReindexError("the pieces of re-split chunks find no ids that are free; nothing was changed: do not re-split")


def _objects(values: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    given = list(values)
    column = np.empty(len(given), object)
    column[:] = given
    return column
