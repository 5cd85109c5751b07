"""Files as other programs write them, small, with vectors of an embedder that nobody names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from tests.embedders.misbehaving_server import Hashing, MisbehavingServer

TEXTS = tuple(f"note {number}: {word} beside the {place}" for number, (word, place) in enumerate(
    [("boats", "harbour"), ("lamps", "tower"), ("bread", "oven"), ("nets", "quay"), ("bells", "crossing"),
     ("gulls", "roof"), ("ropes", "deck"), ("charts", "table")]))  # fmt: skip


def old_vector(number: int, dims: int = 16) -> NDArray[np.float32]:
    """Make the vector that a row had before: of an embedder that nobody names."""
    return np.random.default_rng(number).normal(size=dims).astype(np.float32)


def true_vector(text: str) -> NDArray[np.float32]:
    """Make the vector that the test server gives for a text."""
    return Hashing().embed(text)


def langchain(path: Path, vectors: list[NDArray[np.float32]] | None = None) -> Path:
    """Write a LangChain table, with one row without a text and one whose text is empty."""
    given = vectors or [old_vector(number) for number in range(len(TEXTS))]
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE embeddings (id VARCHAR PRIMARY KEY, text VARCHAR, embedding FLOAT[], metadata VARCHAR)"
        )
        for number, (text, vector) in enumerate(zip(TEXTS, given, strict=True)):
            row = [f"k{number}", text, vector.tolist(), json.dumps({"page": number})]
            connection.execute("INSERT INTO embeddings VALUES (?, ?, ?, ?)", row)
        connection.execute("INSERT INTO embeddings VALUES ('no-text', NULL, ?, '{}')", [given[0].tolist()])
        connection.execute("INSERT INTO embeddings VALUES ('empty', '', NULL, '{}')")
    return path


def llamaindex(path: Path) -> Path:
    """Write a LlamaIndex table whose nodes have metadata that is embedded, and some that is not."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE documents (node_id VARCHAR PRIMARY KEY, text TEXT, embedding FLOAT[16], metadata_ JSON)"
        )
        for number, text in enumerate(TEXTS):
            node = {"id_": f"n{number}", "metadata": {"chapter": f"c{number}", "secret": "no"}, "text": ""}
            node |= {"excluded_embed_metadata_keys": ["secret"], "metadata_template": "{key}: {value}"}
            node |= {"metadata_separator": "\n", "text_template": "{metadata_str}\n\n{content}"}
            metadata = {"chapter": f"c{number}", "_node_content": json.dumps(node), "_node_type": "TextNode"}
            row = [f"n{number}", text, old_vector(number).tolist(), json.dumps(metadata)]
            connection.execute("INSERT INTO documents VALUES (?, ?, ?::FLOAT[16], ?)", row)
    return path


def plain(path: Path) -> Path:
    """Write a table as somebody made by hand: everything that a copy must not lose, among other tables and views."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SEQUENCE numbers START 100")
        connection.execute(
            "CREATE TABLE notes (chapter INTEGER, body VARCHAR NOT NULL, number INTEGER DEFAULT nextval('numbers'),"
            " emb FLOAT[16] NOT NULL, shout VARCHAR GENERATED ALWAYS AS (upper(body)), CHECK (length(body) > 0))"
        )
        connection.execute("COMMENT ON COLUMN notes.emb IS 'old-model@16'")
        connection.execute('CREATE INDEX "by chapter" ON notes (chapter)')
        connection.execute("CREATE TABLE authors (id INTEGER PRIMARY KEY, name VARCHAR)")
        connection.execute("CREATE TABLE wrote (author INTEGER REFERENCES authors (id), chapter INTEGER)")
        connection.execute("CREATE VIEW long_notes AS SELECT body FROM notes WHERE length(body) > 20")
        connection.execute("INSERT INTO authors VALUES (1, 'Ada')")
        connection.execute("INSERT INTO wrote VALUES (1, 2)")
        for number, text in enumerate([*TEXTS, TEXTS[0]]):
            row = [number % 3, text, old_vector(number).tolist()]
            connection.execute("INSERT INTO notes (chapter, body, emb) VALUES (?, ?, ?::FLOAT[16])", row)
        connection.execute("DELETE FROM notes WHERE number = 103")
    return path


def rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    """Ask a file something, read-only."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(statement).fetchall()


def configure(home: Path, server: MisbehavingServer, model: str = "test-embedder") -> None:
    """Name the test server ``near`` in the user's own configuration."""
    folder = home / ".config" / "workbench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "workbench.toml").write_text(
        f'[embedders.near]\nkind = "openai"\nmodel = "{model}"\ndimensions = 64\nbase_url = "{server.url}/v1"\n'
    )
