"""The living namespace as rows that a re-index takes: those of a native table, or of another program's in its place.

Both have the columns of a native chunk table. A foreign row is known by its id where that tells it from all others,
else by its text as well; what is embedded of it is what its producer would embed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.fingerprint import fingerprint_text, parse_fingerprint
from workbench.embedders.models import model_table
from workbench.index.adapters import llamaindex, native
from workbench.index.adapters.detect import detect
from workbench.index.adapters.llamaindex_nodes import embedded_text
from workbench.index.expressions import Expressions
from workbench.index.schema import CHUNK_COLUMNS, base_tables, first_row, is_native
from workbench.index.sql import CATALOG, quoted, utf16_length
from workbench.reindex.model import ReindexError

if TYPE_CHECKING:
    import duckdb

    from workbench.index.mapping import TableMapping

_EMBEDDED = "workbench_embedded_text"
_ELEMENTS = ("FLOAT", "DOUBLE")
_SHOWN_DIGEST = 12
_IMPORT = "import the namespace into a native file (workbench import), and re-index there"


def is_foreign(mapping: TableMapping) -> bool:
    """Whether another program wrote the table, and goes on reading it."""
    return mapping.adapter != native.ADAPTER


def names_a_model(text: str) -> bool:
    """Whether the model table lists a text as an id, which tells a column of models from other short texts."""
    return model_table().find(text) is not None


def find(cursor: duckdb.DuckDBPyConnection, namespace: str) -> TableMapping:
    """Find a namespace that can be built again in the attached index (``ix``); its rows can be read on this cursor.

    Raises ReindexError when it is not there, or when it cannot be built again where it is.
    """
    if not is_native(cursor):
        return _foreign(cursor, namespace)
    found = next(iter(native.native_mappings(cursor, namespace)), None)
    if found is None:
        raise ReindexError(f"there is no namespace '{namespace}' in this index any more; nothing was changed")
    columns = base_tables(cursor, [found.table]).get(found.table, {})
    missing = sorted(name for name, kind in CHUNK_COLUMNS.items() if columns.get(name) != kind)
    if missing or not found.id_unique:
        lacks = f"the columns {', '.join(missing)}" if missing else "a primary key on id"
        raise ReindexError(
            f"the table '{found.table}' of namespace '{namespace}' lacks {lacks} as this program writes it, so it is "
            "not touched; import the namespace into a new file, and re-index there"
        )
    return found


def refuse_resplit(mapping: TableMapping, resplit: bool) -> None:
    """Refuse to put pieces into the table of another program, which would not know them; raises ReindexError."""
    if resplit and is_foreign(mapping):
        raise ReindexError(
            f"'{mapping.namespace}' belongs to another program, which would not know pieces of its chunks; re-index it "
            f"without --resplit, or {_IMPORT}"
        )


def rows(mapping: TableMapping, catalog: str = CATALOG) -> str:
    """Write what stands behind FROM for the rows of a namespace, with the columns of a native chunk table.

    ``seq`` of a foreign row is its row number in that file. The file is attached as ``catalog``.
    """
    place = f"{quoted(catalog)}.{quoted(mapping.schema)}.{quoted(mapping.table)}"
    if not is_foreign(mapping):
        return place
    own = {"seq": "n", "id": _key(mapping), "text": "text", "content_hash": "sha256(text)"}
    own |= {"char_count": utf16_length("text"), "byte_count": "strlen(text)"}
    columns = ", ".join(f"{own.get(name, 'NULL')}::{kind} AS {name}" for name, kind in CHUNK_COLUMNS.items())
    text = Expressions(mapping).text
    if mapping.adapter == llamaindex.ADAPTER and mapping.metadata is not None:
        text = f"{_EMBEDDED}({text}, coalesce({quoted(mapping.metadata)}::VARCHAR, ''))"
    id = Expressions(mapping).optional(mapping.id)
    return f"(SELECT {columns} FROM (SELECT rowid AS n, {id} AS id, {text} AS text FROM {place}))"


def vector_type(mapping: TableMapping, dims: int) -> str:
    """Name the type of the vector column after the cure: as it was, of the new length where the type says one."""
    return f"{mapping.element_type}[{dims if mapping.fixed_dims is not None else ''}]"


def comment_of(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> str | None:
    """Give the comment of the vector column or the table that records the embedder; None where none does."""
    if mapping.recorded is None:
        return None
    said = fingerprint_text(mapping.recorded)
    for place, comment in _comments(cursor, mapping).items():
        if comment is not None and comment.strip() == said:
            return place
    return None


def _comments(cursor: duckdb.DuckDBPyConnection, mapping: TableMapping) -> dict[str, str | None]:
    where = "database_name = ? AND schema_name = ? AND table_name = ?"
    values = [CATALOG, mapping.schema, mapping.table]
    column = first_row(
        cursor, f"SELECT comment FROM duckdb_columns() WHERE {where} AND column_name = ?", [*values, mapping.vector]
    )
    table = first_row(cursor, f"SELECT comment FROM duckdb_tables() WHERE {where}", values)
    return {"COLUMN": column[0] if column else None, "TABLE": table[0] if table else None}


def _key(mapping: TableMapping) -> str:
    """Write the id of a row: its own where no other row has it, else with its text's digest and a number.

    Rows of one id and one text get one vector, so it does not matter which of them is which.
    """
    if mapping.id is not None and mapping.id_unique:
        return "id"
    digest = f"left(coalesce(md5(text), '-'), {_SHOWN_DIGEST})"
    number = f"row_number() OVER (PARTITION BY id, {digest} ORDER BY n)"
    return (
        "CASE WHEN id IS NOT NULL AND count(*) OVER (PARTITION BY id) = 1 THEN id"
        f" ELSE concat(coalesce(id, 'row'), ' [', {digest}, ' ', {number}, ']') END"
    )


def _foreign(cursor: duckdb.DuckDBPyConnection, namespace: str) -> TableMapping:
    mappings = detect(cursor, names_a_model).mappings
    found = next((each for each in mappings if each.namespace == namespace), None)
    if found is None:
        raise ReindexError(f"there is no namespace '{namespace}' in this index any more; nothing was changed")
    _refuse_unfit(cursor, found)
    if found.adapter == llamaindex.ADAPTER and found.metadata is not None:
        _teach(cursor)
    if not found.id_unique:
        doubled = first_row(cursor, f"SELECT count(*) - count(DISTINCT id) FROM {rows(found)}")
        if doubled is None or doubled[0]:
            raise ReindexError(f"the rows of '{namespace}' cannot be told apart by id and text; {_IMPORT}")
    return found


def _refuse_unfit(cursor: duckdb.DuckDBPyConnection, found: TableMapping) -> None:
    """Refuse what cannot be cured in place so that its producer goes on reading it; raises ReindexError."""
    name = f"'{found.namespace}'"
    if found.text is None:
        raise ReindexError(f"{name} has no text to embed ({found.no_text or 'none is stored'}); nothing was changed")
    if found.element_type not in _ELEMENTS:
        raise ReindexError(
            f"the vectors of {name} are {found.element_type}, and what an embedder gives does not fit in; {_IMPORT}"
        )
    if found.keeps_records or (found.recorded is not None and comment_of(cursor, found) is None):
        raise ReindexError(
            f"a table of this file records the embedder of {name}, and this program does not rewrite the records of "
            f"another; {_IMPORT}"
        )
    where = "database_name = ? AND schema_name = ? AND table_name = ?"
    row = first_row(
        cursor,
        f"SELECT is_nullable FROM duckdb_columns() WHERE {where} AND column_name = ?",
        [CATALOG, found.schema, found.table, found.vector],
    )
    if row is not None and not row[0]:
        sql = Expressions(found)
        without = first_row(cursor, f"SELECT count(*) FROM {sql.table} WHERE {sql.text} IS NULL OR {sql.text} = ''")
        if without is not None and without[0]:
            raise ReindexError(
                f"every row of {name} must have a vector, and {without[0]:,} have no text to make one from; {_IMPORT}"
            )


def _teach(cursor: duckdb.DuckDBPyConnection) -> None:
    """Let SQL on this connection make the text that LlamaIndex embeds of a row."""
    import duckdb

    def embedded(text: str, metadata: str) -> str:
        return embedded_text(text, metadata) if text else text

    known = first_row(cursor, "SELECT count(*) FROM duckdb_functions() WHERE function_name = ?", [_EMBEDDED])
    if known is not None and known[0]:
        return
    text = duckdb.sqltype("VARCHAR")
    cursor.create_function(_EMBEDDED, embedded, [text, text], text)


def dims_of(fingerprint: str) -> int:
    """Give the length that a fingerprint's text names."""
    return int(parse_fingerprint(fingerprint).dims)
