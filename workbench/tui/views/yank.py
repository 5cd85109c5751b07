"""What can be copied of one row of a listing, and the statement behind the list."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from workbench.index.model import Chunk
from workbench.index.query import Listing
from workbench.index.sql import literal
from workbench.tui.draw import number
from workbench.tui.screens.menu import Choice, Menu

if TYPE_CHECKING:
    from workbench.tui.views import View


def offer(view: View, listing: Listing, place: int, path: str, container: str) -> None:
    """Ask what to copy, and copy it; the chunk is read when its text or row was chosen."""
    choices = (
        Choice("i", "id", f"of row {number(place + 1)}"),
        Choice("t", "text", "the whole of it"),
        Choice("j", "row as JSON", "text and metadata, no vector"),
        Choice("p", "path", "of the file"),
        Choice("s", "SQL", "behind this list, for a DuckDB shell"),
    )

    def chosen(key: str | None) -> None:
        if key == "p":
            view.desk.copy(os.path.abspath(path), "the path")
        elif key == "s":
            view.desk.copy(statement(listing, path, container), "the SQL")
        elif key is not None:
            view.ask("copy", lambda namespace, job: listing.chunk(place, job), lambda chunk: _copy(view, key, chunk))

    view.app.push_screen(Menu("Copy", choices), chosen)


def _copy(view: View, key: str, chunk: Chunk | None) -> None:
    if chunk is None:
        view.desk.say("this chunk is gone from the file")
    elif key == "i":
        view.desk.copy(chunk.id, "the id")
    elif key == "j":
        view.desk.copy(as_json(chunk), "the row")
    elif chunk.text is None:
        view.desk.say("no text is stored with this chunk")
    else:
        view.desk.copy(chunk.text, "the text")


def statement(listing: Listing, path: str, container: str) -> str:
    """Write what lists the same rows in a DuckDB shell, from the ATTACH on."""
    kind = "TYPE sqlite, READ_ONLY" if container == "sqlite" else "READ_ONLY"
    return f"ATTACH {literal(os.path.abspath(path))} AS ix ({kind});\n{listing.sql}\n"


def as_json(chunk: Chunk) -> str:
    """Write a chunk as one JSON object; metadata that is no JSON stays the text it is."""
    metadata: object = chunk.metadata
    if chunk.metadata is not None:
        try:
            metadata = json.loads(chunk.metadata)
        except (ValueError, RecursionError):
            metadata = chunk.metadata
    row = {
        "id": chunk.id,
        "chars": chunk.chars,
        "source": chunk.source,
        "fingerprint": chunk.fingerprint,
        "dims": chunk.dims,
        "norm": chunk.norm,
        "metadata": metadata,
        "text": chunk.text,
    }
    return json.dumps(row, ensure_ascii=False, indent=2)
