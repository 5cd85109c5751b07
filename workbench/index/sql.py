"""The few SQL fragments that every query over an attached file shares.

The file is attached as ``ix`` and never USEd, so that its own macros and views cannot stand in for functions.
"""

from __future__ import annotations

CATALOG = "ix"
"""The name under which a DuckDB file is attached."""

SUPPLEMENTARY = r"[\x{10000}-\x{10FFFF}]"


def quoted(name: str) -> str:
    """Write a catalogue name as an SQL identifier, whatever characters it holds."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """Write a text as an SQL literal, for a statement that is shown and not run here; NUL has no literal."""
    parts = ["'" + part.replace("'", "''") + "'" for part in value.split("\0")]
    return parts[0] if len(parts) == 1 else "(" + " || chr(0) || ".join(parts) + ")"


def qualified(schema: str, table: str) -> str:
    """Name a table of the attached file, fully qualified."""
    return f"{quoted(CATALOG)}.{quoted(schema)}.{quoted(table)}"


def utf16_length(text: str) -> str:
    """Write the SQL expression for the UTF-16 length of the SQL expression ``text``.

    DuckDB's ``length`` counts code points; each one outside the BMP is two code units. The regular expressions run
    only on rows with at least three more bytes than code points, since a character outside the BMP has four bytes.
    """
    return (
        f"(length({text}) + CASE WHEN strlen({text}) - length({text}) >= 3"
        f" AND regexp_matches({text}, '{SUPPLEMENTARY}')"
        f" THEN length(regexp_replace({text}, '[^\\x{{10000}}-\\x{{10FFFF}}]+', '', 'g')) ELSE 0 END)"
    )
