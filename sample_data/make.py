"""Makes the sample files from the texts and the stored vectors: same content on every run, no embedder needed.

    python sample_data/make.py [FOLDER]

The rows, texts, vectors and times are the same on every run; the bytes of a DuckDB file need not be.

Checked with ``workbench check sample_data --incoming wordllama@256``, every finding code about an index occurs once:

    index.duckdb / handbook    embedder-mismatch, clipped-chunks   built by MiniLM, which reads 1,000 characters
    index.duckdb / almanac     nothing                             wordllama, read whole
    index.duckdb / logbook     missing-vectors                     two entries still wait for theirs
    index.duckdb / visitors    fingerprint-lost                    the record is gone, the vectors still name a model
    index.duckdb / notices     nothing                             emptied; its record still names the model
    keeper.duckdb / letters    mixed-fingerprints, wrong-dims      the model was changed half way
    keeper.duckdb / recipes    zero-vectors, non-finite-vectors, duplicate-ids
    langchain.duckdb           fingerprint-unknown                 this layout names no model
    cut_short.duckdb           unreadable-source                   the first part of a copy that was never finished
    archive.duckdb             contaminated-by-fallback            only routing.jsonl tells; night.py says what happened

and those about a recording in ``recordings/``; ``runs.py`` says where.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from chunks import SampleChunk, read_chunks
from layout import HERE, MINILM, VECTORS, WORDLLAMA
from night import write_night
from runs import make_recordings

from workbench import Entry, VectorStore

Vectors = dict[str, np.ndarray[Any, np.dtype[np.float32]]]

MADE_MS = 1_767_348_000_000
"""When every row was written: 2 January 2026, 10:00 UTC."""
MINILM_CHARS = 1_000
WORDLLAMA_CHARS = 1_000_000
LETTERS_BY_WORDLLAMA = 8
"""How many of the twelve letters were embedded before the model was changed."""
WAITING = 2
"""How many entries at the end of the log have no vector yet."""
KEPT_BYTES = 40_000
"""Where cut_short.duckdb ends."""


def main() -> None:
    """Write all files into the folder given, or beside this script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=HERE)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    minilm, wordllama = read_vectors()
    make_index(folder / "index.duckdb", minilm, wordllama)
    make_keeper(folder / "keeper.duckdb", minilm, wordllama)
    make_langchain(folder / "langchain.duckdb", wordllama)
    make_cut_short(folder / "cut_short.duckdb", folder / "keeper.duckdb")
    make_recordings(folder / "recordings", minilm, wordllama)
    make_archive(folder / "archive.duckdb", folder / "routing.jsonl", wordllama)


def read_vectors() -> tuple[Vectors, Vectors]:
    """Read the stored vectors, by the SHA-256 of their text: (384,) by MiniLM and (256,) by wordllama."""
    with np.load(VECTORS) as stored:
        return (
            dict(zip(stored["minilm_digests"].tolist(), stored["minilm"], strict=True)),
            dict(zip(stored["wordllama_digests"].tolist(), stored["wordllama"], strict=True)),
        )


def make_index(path: Path, minilm: Vectors, wordllama: Vectors) -> None:
    """Write the native index through the store, then plant what the store itself would never do."""
    with tempfile.TemporaryDirectory() as work:
        written = Path(work) / "index.duckdb"
        with VectorStore.open(written, read_only=False) as store:
            handbook = [_entry(chunk, minilm) for chunk in read_chunks("handbook")]
            _fill(store, "handbook", handbook, MINILM, MINILM_CHARS)
            for name in ("almanac", "logbook", "visitors"):
                entries = [_entry(chunk, wordllama) for chunk in read_chunks(f"{name}.md")]
                if name == "logbook":
                    entries[-WAITING:] = [_entry(chunk, None) for chunk in read_chunks("logbook.md")[-WAITING:]]
                _fill(store, name, entries, WORDLLAMA, WORDLLAMA_CHARS)
            taken_down = _entry(read_chunks("visitors.md")[0], wordllama)
            _fill(store, "notices", [taken_down], WORDLLAMA, WORDLLAMA_CHARS)
            store.delete("notices", [taken_down.id])
        with duckdb.connect(str(written)) as connection:
            _stop_the_clock(connection)
            connection.execute("UPDATE generations SET embedder_fp = NULL WHERE namespace = 'visitors'")
        _copy_small(written, path)


def _entry(chunk: SampleChunk, vectors: Vectors | None) -> Entry:
    """One entry of the native index, without a vector where none is given."""
    return Entry(
        chunk.id,
        chunk.text,
        None if vectors is None else vectors[chunk.digest],
        metadata={"title": chunk.title, "heading": chunk.heading},
        source_uri=chunk.source,
    )


def _fill(store: VectorStore, name: str, entries: list[Entry], embedder_id: str, max_input_chars: int) -> None:
    """Make one namespace and write its entries in one batch."""
    store.create_namespace(name, max_input_chars=max_input_chars)
    store.put_many(name, entries, embedder_id=embedder_id)


def _stop_the_clock(connection: duckdb.DuckDBPyConnection, file_id: str = "skerrow-light") -> None:
    """Set every time to the same moment, and the file's own id to a fixed one, so that all runs agree."""
    columns = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() "
        "WHERE NOT internal AND column_name IN ('created_ms', 'updated_ms', 'activated_ms')"
    ).fetchall()
    for table, column in columns:
        connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE "{column}" IS NOT NULL', [MADE_MS])
    connection.execute("UPDATE workbench_meta SET value = ? WHERE key = 'file_id'", [file_id])


def _copy_small(written: Path, path: Path) -> None:
    """Copy a database into a file of small blocks, a tenth of the size for so few rows."""
    with duckdb.connect() as connection:
        connection.execute("ATTACH ? AS written (READ_ONLY)", [str(written)])
        _attach_small(connection, path)
        connection.execute("COPY FROM DATABASE written TO small")


def _attach_small(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Make a file that DuckDB 1.2 and newer open, with the smallest blocks, and attach it as ``small``."""
    path.unlink(missing_ok=True)
    connection.execute("ATTACH ? AS small (STORAGE_VERSION 'v1.2.0', BLOCK_SIZE 16384)", [str(path)])


def make_keeper(path: Path, minilm: Vectors, wordllama: Vectors) -> None:
    """Write two tables as somebody might have made them by hand, each with its own mishaps."""
    with duckdb.connect() as connection:
        _attach_small(connection, path)
        connection.execute(
            "CREATE TABLE small.letters (id VARCHAR PRIMARY KEY, body VARCHAR, model VARCHAR, embedding FLOAT[])"
        )
        for n, chunk in enumerate(read_chunks("letters.md")):
            early = n < LETTERS_BY_WORDLLAMA
            model, vectors = (WORDLLAMA, wordllama) if early else (MINILM, minilm)
            connection.execute(
                "INSERT INTO small.letters VALUES (?, ?, ?, ?::FLOAT[])",
                [chunk.id, chunk.text, model, vectors[chunk.digest].tolist()],
            )
        connection.execute("CREATE TABLE small.recipes (id VARCHAR, body VARCHAR, model VARCHAR, embedding FLOAT[256])")
        for recipe_id, text, vector in _recipes(wordllama):
            connection.execute(
                "INSERT INTO small.recipes VALUES (?, ?, ?, ?::FLOAT[256])", [recipe_id, text, WORDLLAMA, vector]
            )


def _recipes(wordllama: Vectors) -> list[tuple[str, str, list[float]]]:
    """Give the recipes: one stored twice, one with a NaN in its vector, and an empty one whose vector is all zeros."""
    rows = [(chunk.id, chunk.text, wordllama[chunk.digest].tolist()) for chunk in read_chunks("recipes.md")]
    rows.append(rows[2])
    rows[6][2][100] = float("nan")
    rows.append((f"recipes.md#{len(rows)}", "", [0.0] * 256))
    return rows


def make_langchain(path: Path, wordllama: Vectors) -> None:
    """Write the table that LangChain's DuckDB store makes; it records no model anywhere."""
    with duckdb.connect() as connection:
        _attach_small(connection, path)
        connection.execute(
            "CREATE TABLE small.embeddings (id VARCHAR PRIMARY KEY, text VARCHAR, embedding FLOAT[], metadata VARCHAR)"
        )
        for chunk in read_chunks("postcards.md"):
            metadata = json.dumps({"source": chunk.source, "heading": chunk.heading}, ensure_ascii=False)
            connection.execute(
                "INSERT INTO small.embeddings VALUES (?, ?, ?::FLOAT[], ?)",
                [chunk.id, chunk.text, wordllama[chunk.digest].tolist(), metadata],
            )


def make_archive(path: Path, log: Path, wordllama: Vectors) -> None:
    """Write an index through a routed provider, and its routing log."""
    with tempfile.TemporaryDirectory() as work:
        written = Path(work) / "archive.duckdb"
        with VectorStore.open(written, read_only=False) as store:
            write_night(store, log, wordllama)
        with duckdb.connect(str(written)) as connection:
            _stop_the_clock(connection, "skerrow-archive")
        _copy_small(written, path)


def make_cut_short(path: Path, whole: Path) -> None:
    """Keep the first bytes of a file, as a copy does that ran out of disk."""
    path.write_bytes(whole.read_bytes()[:KEPT_BYTES])


if __name__ == "__main__":
    main()
